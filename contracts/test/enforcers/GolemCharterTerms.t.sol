// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Actions, Role} from "../../src/rules/Actions.sol";
import {Charter, CharterTerms} from "../../src/rules/CharterTerms.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {MortalityTimeWindow} from "../../src/rules/MortalityTimeWindow.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {VaultNav} from "../../src/rules/VaultNav.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice Terms that no owner could have meant, and every field read back.
contract GolemCharterTermsTest is CharterCalls {
    uint256 private constant HEADER = 232;
    uint256 private constant LISTING = 26;

    /// @dev Read alone, and as the manager has them read.
    function _malformed(bytes memory reason, bytes memory terms) private {
        vm.expectRevert(reason);
        charterEnforcer.getTermsInfo(terms);
        bytes memory execution = single(ROUTER_02, swap(1e6));
        vm.expectRevert(reason);
        hook(terms, SINGLE_DEFAULT, execution);
    }

    function test_terms_shorter_than_the_header_are_refused() public {
        bytes memory whole = encode(law);
        for (uint256 length = 0; length < HEADER; length++) {
            _malformed(
                abi.encodeWithSelector(CharterTerms.CharterTerms_Length.selector, HEADER, length),
                _cut(whole, length)
            );
        }
    }

    function test_terms_shorter_than_the_head_of_the_listing_are_refused() public {
        bytes memory whole = encode(law);
        for (uint256 length = HEADER; length < HEADER + LISTING; length++) {
            _malformed(_listingLength(LISTING, length - HEADER), _cut(whole, length));
        }
    }

    function test_terms_of_any_length_but_the_one_their_counts_give_are_refused() public {
        bytes memory whole = encode(law);
        uint256 expected = whole.length - HEADER;
        for (uint256 length = HEADER + LISTING; length < whole.length; length++) {
            _malformed(_listingLength(expected, length - HEADER), _cut(whole, length));
        }
        for (uint256 more = 1; more <= 64; more++) {
            _malformed(
                _listingLength(expected, expected + more), bytes.concat(whole, new bytes(more))
            );
        }
    }

    function test_terms_with_no_tokens_and_no_targets_are_whole() public {
        (law.tokens, law.targets) = ("", "");

        charterEnforcer.getTermsInfo(encode(law));
        refuses(
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, ROUTER_02),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_the_most_tokens_and_targets_there_can_be_are_read() public {
        bytes memory targets;
        for (uint160 i = 0; i < 254; i++) {
            targets = bytes.concat(targets, target(address(0x10000 + i), Role.Token));
        }
        law.targets = bytes.concat(targets, target(ROUTER_02, Role.SwapRouter02));
        bytes memory tokens;
        for (uint160 i = 0; i < 253; i++) {
            tokens = bytes.concat(tokens, token(address(0x20000 + i), ethUsd, 18));
        }
        law.tokens = bytes.concat(tokens, law.tokens);

        accepts(ROUTER_02, swap(1e6));
    }

    function testFuzz_a_flag_without_a_meaning_is_refused(uint16 flags) public {
        flags = uint16(within(flags, 8, type(uint16).max));
        law.flags = flags;

        _malformed(_unknownBits(flags, law.classes), encode(law));
    }

    function test_a_class_without_a_meaning_is_refused() public {
        for (uint256 bit = 0; bit < 32; bit++) {
            law.classes = bitOf(bit);
            if (bit == 0 || bit > 17) _malformed(_unknownBits(0, law.classes), encode(law));
            else charterEnforcer.getTermsInfo(encode(law));
        }
    }

    function test_a_slippage_of_more_than_all_is_refused() public {
        law.slippageBps = 10_001;
        _malformed(
            abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, 10_001), encode(law)
        );

        law.slippageBps = 10_000;
        accepts(ROUTER_02, swap(1e6));
    }

    function test_a_share_of_more_than_all_is_refused() public {
        law.navBps = 10_001;
        _malformed(abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, 10_001), encode(law));

        law.navBps = 10_000;
        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev ATK-33.
    function test_an_inverted_window_is_refused_and_one_of_a_second_is_not() public {
        (law.start, law.end) = (NOW, NOW - 1);
        _malformed(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_InvertedWindow.selector, NOW, NOW - 1
            ),
            encode(law)
        );

        law.end = NOW;
        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev Whatever the action, also one that spends nothing.
    function test_a_cap_of_nothing_is_refused() public {
        law.spendCap = 0;
        bytes memory reason = abi.encodeWithSelector(SpendWindow.SpendWindow_ZeroCap.selector);

        refuses(reason, ROUTER_02, swap(1e6));
        refuses(reason, address(USDC), approve(ROUTER_02, 0));
        law.spendCap = 1;
        accepts(address(USDC), approve(ROUTER_02, 0));
    }

    function test_a_bucket_lasts_a_minute_at_least_and_16383_at_most() public {
        uint16[3] memory bad = [0, 16_384, type(uint16).max];
        for (uint256 i = 0; i < bad.length; i++) {
            law.bucketMinutes = bad[i];
            refuses(
                abi.encodeWithSelector(
                    SpendWindow.SpendWindow_BucketLength.selector, bad[i], 16_383
                ),
                ROUTER_02,
                swap(1e6)
            );
        }

        law.bucketMinutes = 1;
        accepts(ROUTER_02, swap(1e6));
        law.bucketMinutes = 16_383;
        accepts(ROUTER_02, swap(1e6));
    }

    function test_a_role_nobody_knows_is_refused() public {
        bytes memory targets = law.targets;
        uint8[5] memory roles = [11, 12, 64, 128, 255];
        for (uint256 i = 0; i < roles.length; i++) {
            law.targets = bytes.concat(abi.encodePacked(ROUTER_02, roles[i]), targets);
            refuses(
                abi.encodeWithSelector(Listing.Listing_Role.selector, ROUTER_02, roles[i]),
                ROUTER_02,
                swap(1e6)
            );
        }
        law.targets = bytes.concat(target(ROUTER_02, Role.None), targets);
        refuses(
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, ROUTER_02),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_of_two_roles_for_one_target_the_first_counts() public {
        law.targets = bytes.concat(law.targets, target(ROUTER_02, Role.Token));

        accepts(ROUTER_02, swap(1e6));
    }

    function testFuzz_every_field_is_read_back(Law memory c, uint8 tokens, uint8 targets)
        public
        view
    {
        (c.flags, c.sections) = (c.flags & 1, "");
        c.classes = c.classes & ALL_CLASSES;
        if (c.end < c.start) (c.start, c.end) = (c.end, c.start);
        c.slippageBps = uint16(within(c.slippageBps, 0, 10_000));
        c.navBps = uint16(within(c.navBps, 0, 10_000));
        c.tokens = new bytes(47 * uint256(tokens));
        c.targets = new bytes(21 * uint256(targets));

        (Charter memory read, bytes memory rest) = charterEnforcer.getTermsInfo(encode(c));

        vm.assertEq(read.golemId, c.golemId, "golemId");
        vm.assertEq(read.owner, c.owner, "owner");
        vm.assertEq(read.epoch, c.epoch, "epoch");
        vm.assertEq(read.generation, c.generation, "generation");
        vm.assertEq(read.bucketMinutes, c.bucketMinutes, "bucketMinutes");
        vm.assertEq(read.slippageBps, c.slippageBps, "slippageBps");
        vm.assertEq(read.registry, c.registry, "registry");
        vm.assertEq(read.classes, c.classes, "classes");
        vm.assertEq(read.staleness, c.staleness, "staleness");
        vm.assertEq(read.account, c.account, "account");
        vm.assertEq(read.spendCap, c.spendCap, "spendCap");
        vm.assertEq(read.beneficiary, c.beneficiary, "beneficiary");
        vm.assertEq(read.start, c.start, "start");
        vm.assertEq(read.agentKey, c.agentKey, "agentKey");
        vm.assertEq(read.end, c.end, "end");
        vm.assertEq(read.nav.vault, c.vault, "vault");
        vm.assertEq(read.nav.bps, c.navBps, "navBps");
        vm.assertEq(read.nav.cap, c.navCap, "navCap");
        vm.assertEq(read.settlementAsset, c.settlementAsset, "settlementAsset");
        vm.assertEq(read.gasCeiling, c.gasCeiling, "gasCeiling");
        vm.assertEq(read.gasDailyCap, c.gasDailyCap, "gasDailyCap");
        vm.assertTrue(read.replicants == (c.flags == 1), "replicants");
        vm.assertEq(rest, listing(c), "listing");
    }

    function _cut(bytes memory whole, uint256 length) private pure returns (bytes memory cut) {
        cut = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            cut[i] = whole[i];
        }
    }

    function _listingLength(uint256 expected, uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Listing.Listing_Length.selector, expected, actual);
    }

    function _unknownBits(uint256 flags, uint256 classes) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(CharterTerms.CharterTerms_UnknownBits.selector, flags, classes);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {Valuation} from "../../src/rules/Valuation.sol";
import {NavBound, VaultNav} from "../../src/rules/VaultNav.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract NavRule {
    function requireBps(uint256 bps) external pure {
        VaultNav.requireBps(bps);
    }

    function check(uint256 value, uint256 most) external pure {
        VaultNav.check(value, most);
    }

    function limit(bytes calldata listing, NavBound memory bound, uint256 word)
        external
        view
        returns (uint256 most, uint256 next)
    {
        return VaultNav.limit(listing, Listing.noAnswers(listing), bound, word);
    }

    function checkpoint(uint256 word, uint256 assets, uint256 nowAt)
        external
        pure
        returns (uint256)
    {
        return VaultNav.checkpoint(word, assets, nowAt);
    }

    function settledAssets(uint256 word, uint256 nowAt) external pure returns (bool, uint256) {
        return VaultNav.settledAssets(word, nowAt);
    }
}

/// @notice A vault that holds what the test says.
contract SaidVault {
    address public asset;
    uint256 public totalAssets;

    constructor(address asset_) {
        asset = asset_;
    }

    function hold(uint256 assets) external {
        totalAssets = assets;
    }
}

contract VaultNavTest is TestBase {
    uint256 private constant NOW = 1_800_000_000;
    address private constant DOLLAR = address(0xd011a2);
    uint256 private constant MOST_ASSETS = type(uint88).max;

    /// @dev The vault at one moment, as the model remembers it.
    struct Sample {
        uint256 time;
        uint256 assets;
    }

    NavRule private _rule;
    SaidVault private _vault;
    PriceAggregator private _feed;
    Sample[] private _samples;

    function setUp() public {
        vm.warp(NOW);
        _rule = new NavRule();
        _vault = new SaidVault(DOLLAR);
        _feed = new PriceAggregator("USD / USD", 8, address(this));
        _feed.set(1e8);
    }

    function testFuzz_a_bound_is_at_most_the_whole(uint256 bps) public {
        _rule.requireBps(within(bps, 0, 10_000));

        bps = within(bps, 10_001, type(uint256).max);
        vm.expectRevert(abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, bps));
        _rule.requireBps(bps);
    }

    function testFuzz_as_much_as_the_limit_passes_and_no_more(uint256 value, uint256 most) public {
        _rule.check(most, most);

        if (value > most) {
            vm.expectRevert(abi.encodeWithSelector(VaultNav.VaultNav_TooMuch.selector, value, most));
        }
        _rule.check(value, most);
    }

    function test_without_a_vault_the_cap_stands_alone() public view {
        for (uint256 word = 0; word < 2; word++) {
            (uint256 most, uint256 next) =
                _rule.limit(_listing(), NavBound(address(0), 1, 500e6), word);
            vm.assertEq(most, 500e6, "limit");
            vm.assertEq(next, word, "nothing is kept");
        }
    }

    function test_without_a_checkpoint_the_cap_stands_alone_and_one_is_made() public {
        _vault.hold(100e6);

        (uint256 most, uint256 next) = _limit(1000, 500e6, 0);

        vm.assertEq(most, 500e6, "limit");
        vm.assertEq(next, (NOW << 88) | 100e6, "the first checkpoint");
    }

    function test_a_checkpoint_counts_from_an_hour_on() public {
        _vault.hold(100e6);
        (, uint256 word) = _limit(1000, 500e6, 0);
        _vault.hold(100_000e6);

        vm.warp(NOW + 3599);
        (uint256 most, uint256 next) = _limit(1000, 500e6, word);
        vm.assertEq(most, 500e6, "not yet settled");
        vm.assertEq(next, word, "and not yet followed");

        vm.warp(NOW + 3600);
        (most, next) = _limit(1000, 500e6, word);
        vm.assertEq(most, 10e6, "a tenth of what it held");
        vm.assertEq(next, (word << 128) | ((NOW + 3600) << 88) | 100_000e6, "followed by a second");
    }

    /// @dev ATK-27: filled or emptied for a moment, the lesser counts.
    function test_the_lesser_of_now_and_then_counts() public {
        uint256 word = (NOW - 3600) << 88 | 1000e6;

        _vault.hold(1_000_000e6);
        (uint256 most,) = _limit(1000, 500e6, word);
        vm.assertEq(most, 100e6, "filled");
        _vault.hold(10e6);
        (most,) = _limit(1000, 500e6, word);
        vm.assertEq(most, 1e6, "emptied");
        _vault.hold(1000e6);
        (most,) = _limit(1000, 99e6, word);
        vm.assertEq(most, 99e6, "the cap is less than both");
    }

    function test_the_newest_settled_checkpoint_counts_not_the_largest() public {
        uint256 older = (NOW - 9000) << 88 | 5000e6;
        uint256 newer = (NOW - 3600) << 88 | 1000e6;
        _vault.hold(9000e6);

        (uint256 most,) = _limit(1000, 5000e6, (older << 128) | newer);
        vm.assertEq(most, 100e6, "the newer");
        newer += 1 << 88;
        (most,) = _limit(1000, 5000e6, (older << 128) | newer);
        vm.assertEq(most, 500e6, "the newer is a second short of an hour");
    }

    function test_more_assets_than_there_is_room_for_are_kept_as_the_most() public view {
        vm.assertEq(_rule.checkpoint(0, MOST_ASSETS - 1, NOW), NOW << 88 | (MOST_ASSETS - 1), "in");
        vm.assertEq(_rule.checkpoint(0, MOST_ASSETS, NOW), NOW << 88 | MOST_ASSETS, "the most");
        vm.assertEq(_rule.checkpoint(0, MOST_ASSETS + 1, NOW), NOW << 88 | MOST_ASSETS, "more");
        vm.assertEq(
            _rule.checkpoint(0, type(uint256).max, NOW), NOW << 88 | MOST_ASSETS, "far more"
        );
    }

    /// @dev Assets so many that their share would not fit the arithmetic: only the kept count.
    function test_a_vault_of_everything_gives_no_more_than_was_kept() public {
        _vault.hold(type(uint256).max);
        (uint256 most, uint256 word) = _limit(10_000, type(uint64).max, 0);
        vm.assertEq(most, type(uint64).max, "the cap alone");

        vm.warp(NOW + 1 hours);
        (most,) = _limit(10_000, type(uint64).max, word);
        vm.assertEq(most, type(uint64).max, "the cap is less than 2^88 units");
    }

    /// @dev ATK-24: a price is needed as soon as the share counts.
    function test_a_share_without_a_price_is_no_limit() public {
        uint256 word = (NOW - 3600) << 88 | 1000e6;
        _feed.set(0);
        vm.expectRevert(
            abi.encodeWithSelector(Valuation.Valuation_Answer.selector, address(_feed), 0)
        );
        _limit(1000, 500e6, word);

        _vault = new SaidVault(address(0xbad));
        vm.expectRevert(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(0xbad))
        );
        _limit(1000, 500e6, word);
    }

    function test_a_vault_without_code_is_no_vault() public {
        vm.expectRevert(bytes(""));
        _rule.limit(_listing(), NavBound(address(0xbad), 1000, 500e6), 0);
    }

    /// @dev A list of samples, of which the last two are kept: a new one once the last is an hour
    ///      old. The limit is the cap, and less where now and the newest kept sample of an hour or
    ///      more say so.
    function testFuzz_the_limit_is_the_models(
        uint16[16] memory pauses,
        uint96[16] memory assets,
        uint16 bps,
        uint64 cap,
        uint64 price
    ) public {
        bps = uint16(within(bps, 0, 10_000));
        uint256 answer = within(price, 1, 1e12);
        uint256 word = 0;
        uint256 time = NOW;
        for (uint256 i = 0; i < pauses.length; i++) {
            // From nothing to two hours, and often just around one.
            time += i % 3 == 0 ? within(pauses[i], 3599, 3600) : within(pauses[i], 0, 7200);
            vm.warp(time);
            // forge-lint: disable-next-line(unsafe-typecast)
            _feed.set(int256(answer));
            _vault.hold(assets[i]);

            (uint256 most, uint256 next) = _limit(bps, cap, word);

            vm.assertEq(most, _modelled(time, assets[i], bps, cap, answer), "limit");
            _remember(time, assets[i]);
            vm.assertEq(next, _packed(), "what is kept");
            word = next;
        }
    }

    function testFuzz_the_settled_checkpoint_is_the_newest_of_an_hour_or_more(
        uint40[2] memory times,
        uint88[2] memory assets,
        uint40 nowAt
    ) public view {
        uint256 word = _word(times[0], assets[0]) << 128 | _word(times[1], assets[1]);

        (bool settled, uint256 found) = _rule.settledAssets(word, nowAt);

        bool newer = times[1] != 0 && uint256(nowAt) >= uint256(times[1]) + 3600;
        bool older = times[0] != 0 && uint256(nowAt) >= uint256(times[0]) + 3600;
        vm.assertTrue(settled == (newer || older), "settled");
        vm.assertEq(found, newer ? assets[1] : older ? assets[0] : 0, "assets");
    }

    function _modelled(uint256 time, uint256 assets, uint256 bps, uint256 cap, uint256 answer)
        private
        view
        returns (uint256)
    {
        uint256 kept = _samples.length < 2 ? _samples.length : 2;
        for (uint256 back = 1; back <= kept; back++) {
            Sample memory sample = _samples[_samples.length - back];
            if (time - sample.time < 1 hours) continue;
            uint256 least = assets < sample.assets ? assets : sample.assets;
            // Six decimals of the token, eight of the feed, six of a dollar.
            uint256 share = least * bps / 10_000 * answer / 1e8;
            return share < cap ? share : cap;
        }
        return cap;
    }

    function _remember(uint256 time, uint256 assets) private {
        if (_samples.length != 0 && time - _samples[_samples.length - 1].time < 1 hours) return;
        _samples.push(Sample(time, assets < MOST_ASSETS ? assets : MOST_ASSETS));
    }

    function _packed() private view returns (uint256 word) {
        uint256 count = _samples.length;
        word = _word(_samples[count - 1].time, _samples[count - 1].assets);
        if (count > 1) {
            word |= _word(_samples[count - 2].time, _samples[count - 2].assets) << 128;
        }
    }

    function _word(uint256 time, uint256 assets) private pure returns (uint256) {
        return time << 88 | assets;
    }

    function _limit(uint256 bps, uint256 cap, uint256 word)
        private
        view
        returns (uint256 most, uint256 next)
    {
        return _rule.limit(_listing(), NavBound(address(_vault), bps, cap), word);
    }

    function _listing() private view returns (bytes memory) {
        return abi.encodePacked(
            address(0),
            uint32(0),
            uint8(1),
            uint8(0),
            abi.encodePacked(DOLLAR, uint8(0), address(_feed), uint8(6), uint8(8), uint32(1 days))
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ExecutionModes} from "../../src/enforcers/ExecutionModes.sol";
import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IWeth} from "../../src/interfaces/ITokens.sol";
import {IMulticall} from "../../src/interfaces/IUniswapV3.sol";
import {
    BATCH_DEFAULT,
    BATCH_TRY,
    ModeCode,
    SINGLE_DEFAULT,
    SINGLE_TRY
} from "../../src/interfaces/ModeCode.sol";
import {Actions, Class} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice Modes of execution, batches, and what is odd in their encoding.
contract GolemCharterShapeTest is CharterCalls {
    // Modes

    function test_one_call_and_a_batch_are_accepted() public {
        accepts(ROUTER_02, swap(100e6));
        accepts(list(call(ROUTER_02, swap(100e6))));

        vm.assertEq(USDC.balanceOf(account), 9_800e6, "sold twice");
    }

    /// @dev ATK-13.
    function test_try_modes_are_refused() public {
        refuses(_mode(SINGLE_TRY), SINGLE_TRY, single(ROUTER_02, swap(100e6)));
        refuses(_mode(BATCH_TRY), BATCH_TRY, abi.encode(list(call(ROUTER_02, swap(100e6)))));
    }

    /// @dev ATK-12: 0xff is delegatecall and 0xfe is staticcall.
    function test_delegatecall_and_staticcall_are_refused() public {
        bytes memory terms = encode(law);
        bytes memory execution = single(ROUTER_02, swap(100e6));
        uint16[4] memory kinds = [0xff00, 0xff01, 0xfe00, 0xfe01];
        for (uint256 i = 0; i < kinds.length; i++) {
            ModeCode mode = ModeCode.wrap(bytes32(uint256(kinds[i]) << 240));

            vm.expectRevert(_mode(mode));
            hook(terms, mode, execution);
        }
    }

    function testFuzz_a_mode_with_any_stray_bit_is_refused(bytes32 word) public {
        vm.assume(word != ModeCode.unwrap(SINGLE_DEFAULT));
        vm.assume(word != ModeCode.unwrap(BATCH_DEFAULT));
        bytes memory terms = encode(law);
        bytes memory execution = single(ROUTER_02, swap(100e6));

        vm.expectRevert(_mode(ModeCode.wrap(word)));
        hook(terms, ModeCode.wrap(word), execution);
    }

    function test_a_mode_with_one_stray_bit_is_refused() public {
        bytes memory terms = encode(law);
        bytes memory execution = single(ROUTER_02, swap(100e6));
        for (uint256 bit = 0; bit < 256; bit++) {
            if (bit == 248) continue;
            ModeCode mode = ModeCode.wrap(bytes32(uint256(1) << bit));

            vm.expectRevert(_mode(mode));
            hook(terms, mode, execution);
        }
    }

    // One call

    /// @dev ATK-16.
    function test_an_execution_shorter_than_target_and_value_is_refused() public {
        bytes memory terms = encode(law);
        bytes memory whole = single(ROUTER_02, "");
        for (uint256 length = 0; length < 52; length++) {
            bytes memory cut = new bytes(length);
            for (uint256 i = 0; i < length; i++) {
                cut[i] = whole[i];
            }

            vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Short.selector, length));
            hook(terms, SINGLE_DEFAULT, cut);
        }
    }

    /// @dev ATK-16.
    function test_a_call_without_a_selector_is_refused() public {
        bytes[4] memory heads = [bytes(""), hex"04", hex"04e4", hex"04e45a"];
        for (uint256 i = 0; i < heads.length; i++) {
            refuses(
                abi.encodeWithSelector(Actions.Actions_NoSelector.selector, ROUTER_02, i),
                ROUTER_02,
                heads[i]
            );
        }
    }

    /// @dev ATK-17.
    function test_coins_beside_a_call_that_needs_none_are_refused() public {
        refuses(
            abi.encodeWithSelector(Actions.Actions_UnexpectedValue.selector, ROUTER_02, 1),
            SINGLE_DEFAULT,
            paid(ROUTER_02, 1, swap(100e6))
        );
        Execution[] memory calls = list(Execution(address(USDC), 1, transfer(human.account, 1)));
        refuses(
            abi.encodeWithSelector(Actions.Actions_UnexpectedValue.selector, address(USDC), 1),
            calls
        );
    }

    /// @dev ATK-15.
    function test_arguments_with_a_byte_more_or_less_are_refused() public {
        bytes memory data = swap(100e6);
        bytes memory shorter = new bytes(data.length - 1);
        for (uint256 i = 0; i < shorter.length; i++) {
            shorter[i] = data[i];
        }
        bytes memory reason = abi.encodeWithSelector(
            Actions.Actions_NotCanonical.selector, ROUTER_02, selectorOf(data)
        );

        refuses(reason, ROUTER_02, bytes.concat(data, hex"00"));
        refuses(reason, ROUTER_02, shorter);
    }

    // Batches

    /// @dev ATK-12.
    function test_an_empty_batch_is_refused() public {
        refuses(_batch(0), new Execution[](0));
    }

    function test_a_batch_of_approval_and_swap_is_really_executed() public {
        vm.prank(account);
        USDC.approve(ROUTER_02, 0);
        uint256 before = WETH.balanceOf(account);

        accepts(list(call(address(USDC), approve(ROUTER_02, 100e6)), call(ROUTER_02, swap(100e6))));

        vm.assertEq(USDC.balanceOf(account), 9_900e6, "sold");
        vm.assertTrue(WETH.balanceOf(account) > before, "bought");
        vm.assertEq(USDC.allowance(account, ROUTER_02), 0, "allowance used up");
        vm.assertEq(spent(), 3052 << 15, "counted once, rounded up to a unit");
    }

    /// @dev ATK-15: a batch has one encoding.
    function test_trailing_bytes_behind_a_batch_are_refused() public {
        bytes memory good = abi.encode(list(call(ROUTER_02, swap(100e6))));

        refuses(_batch(1), BATCH_DEFAULT, bytes.concat(good, new bytes(32)));
        refuses(_batch(1), BATCH_DEFAULT, bytes.concat(good, hex"01"));
    }

    /// @dev The list does not begin at 0x20.
    function test_a_batch_behind_a_gap_is_refused() public {
        bytes memory good = abi.encode(list(call(ROUTER_02, swap(100e6))));
        bytes memory rest = _from(good, 32);

        refuses(_batch(1), BATCH_DEFAULT, bytes.concat(abi.encode(64, 0), rest));
    }

    /// @dev Two calls that are the same bytes: what one reader sees twice, another may see once.
    function test_a_batch_of_overlapping_calls_is_refused() public {
        bytes memory one = abi.encode(list(call(ROUTER_02, swap(100e6))));
        // Offset, length 2, both offsets to the one call behind them.
        bytes memory twice = bytes.concat(abi.encode(32, 2, 64, 64), _from(one, 96));

        refuses(_batch(2), BATCH_DEFAULT, twice);
    }

    /// @dev Calls in another order than their offsets.
    function test_a_batch_with_its_calls_out_of_order_is_refused() public {
        bytes memory one = _from(abi.encode(list(call(ROUTER_02, swap(100e6)))), 96);
        bytes memory out = bytes.concat(abi.encode(32, 2, 64 + one.length, 64), one, one);

        refuses(_batch(2), BATCH_DEFAULT, out);
    }

    /// @dev The data of a call begins elsewhere than behind its head.
    function test_a_call_whose_data_stand_elsewhere_is_refused() public {
        bytes memory data = swap(100e6);
        bytes memory padded = bytes.concat(data, new bytes(28));
        bytes memory odd = bytes.concat(
            abi.encode(32, 1, 32), abi.encode(ROUTER_02, 0, 128, 0), abi.encode(data.length), padded
        );

        refuses(_batch(1), BATCH_DEFAULT, odd);
    }

    function test_dirt_behind_the_data_of_a_call_is_refused() public {
        bytes memory good = abi.encode(list(call(ROUTER_02, swap(100e6))));
        good[good.length - 1] = 0x01;

        refuses(_batch(1), BATCH_DEFAULT, good);
    }

    /// @dev Bytes that are no list at all make the decoder stop, without a word.
    function test_a_batch_that_is_no_list_is_refused() public {
        refuses("", BATCH_DEFAULT, hex"");
        refuses("", BATCH_DEFAULT, abi.encode(uint256(32), uint256(1)));
        refuses("", BATCH_DEFAULT, single(ROUTER_02, swap(100e6)));
    }

    // Sums

    /// @dev C8: each within, together over.
    function test_a_batch_counts_as_a_sum() public {
        uint256 half = CAP / 2;
        law.navCap = type(uint64).max;

        refuses(
            overCap(0, CAP + 1, CAP),
            list(call(ROUTER_02, swap(half)), call(ROUTER_02, swap(half + 1)))
        );
        accepts(list(call(ROUTER_02, swap(half)), call(ROUTER_02, swap(half))));
        vm.assertEq(spent(), CAP, "all of it");
    }

    /// @dev ATK-18: so does a multicall.
    function test_a_multicall_counts_as_a_sum() public {
        uint256 half = CAP / 2;
        law.navCap = type(uint64).max;
        bytes[] memory inner = new bytes[](2);
        (inner[0], inner[1]) = (swap(half), swap(half + 1));

        refuses(overCap(0, CAP + 1, CAP), ROUTER_02, abi.encodeCall(IMulticall.multicall, (inner)));
        inner[1] = swap(half);
        accepts(ROUTER_02, abi.encodeCall(IMulticall.multicall, (inner)));
        vm.assertEq(spent(), CAP, "all of it");
    }

    /// @dev ATK-18.
    function test_a_forbidden_call_inside_a_multicall_is_refused() public {
        bytes[] memory inner = new bytes[](2);
        inner[0] = swap(1e6);
        inner[1] = abi.encodeWithSignature(
            "sweepToken(address,uint256,address)", address(USDC), 0, agent.account
        );

        refuses(
            abi.encodeWithSelector(
                Actions.Actions_UnknownCall.selector, ROUTER_02, bytes4(inner[1])
            ),
            ROUTER_02,
            abi.encodeCall(IMulticall.multicall, (inner))
        );
    }

    function test_the_second_element_of_a_batch_is_judged_like_the_first() public {
        address thief = actor("thief").account;

        refuses(
            wrongRecipient(thief, account),
            list(call(ROUTER_02, swap(1e6)), call(ROUTER_02, sellUsdc(1e6, atTheBound(1e6), thief)))
        );
    }

    // What is priced beforehand never stands behind foreign code

    function test_liquidity_and_deposits_do_not_stand_behind_a_swap() public {
        (uint256 id,) = openPosition(account);
        Execution memory trade = call(ROUTER_02, swap(1e6));
        Execution memory add = call(POSITIONS, mintPosition(0.01e18, 25e6, account));
        Execution memory grow = call(POSITIONS, increase(id, 0.01e18, 25e6));
        Execution memory remove = call(POSITIONS, decrease(id, 1));
        Execution memory save = call(vault, deposit(1e6, account));

        refuses(_order(Class.AddLiquidity), list(trade, add));
        refuses(_order(Class.AddLiquidity), list(trade, grow));
        refuses(_order(Class.RemoveLiquidity), list(trade, remove));
        refuses(_order(Class.Deposit), list(trade, save));
        // Nor with something harmless between them.
        refuses(
            _order(Class.AddLiquidity), list(trade, call(address(USDC), approve(ROUTER_02, 0)), add)
        );
    }

    function test_nor_behind_gas_money_or_a_collect() public {
        (uint256 id,) = openPosition(account);
        Execution memory add = call(POSITIONS, mintPosition(0.01e18, 25e6, account));
        Execution memory save = call(vault, deposit(1e6, account));
        Execution memory pay = Execution({target: agent.account, value: 0, callData: ""});
        Execution memory take = call(POSITIONS, collect(id, account));

        refuses(_order(Class.AddLiquidity), list(pay, add));
        refuses(_order(Class.Deposit), list(pay, save));
        refuses(_order(Class.AddLiquidity), list(take, add));
        refuses(_order(Class.RemoveLiquidity), list(take, call(POSITIONS, decrease(id, 1))));
    }

    function test_they_may_stand_before_it() public {
        (uint256 id,) = openPosition(account);
        Execution memory trade = call(ROUTER_02, swap(1e6));

        accepts(list(call(POSITIONS, mintPosition(0.01e18, 25e6, account)), trade));
        accepts(list(call(POSITIONS, decrease(id, 1)), trade));
        accepts(list(call(vault, deposit(1e6, account)), trade));
    }

    function _order(Class class) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Executions.Executions_Order.selector, class);
    }

    function test_liquidity_beside_liquidity_is_accepted() public {
        (uint256 id, uint128 liquidity) = openPosition(account);

        accepts(
            list(
                call(POSITIONS, decrease(id, liquidity)),
                call(POSITIONS, collect(id, account)),
                call(POSITIONS, burn(id))
            )
        );
        accepts(
            list(
                call(POSITIONS, mintPosition(0.01e18, 25e6, account)),
                call(POSITIONS, mintPosition(0.01e18, 25e6, account))
            )
        );
    }

    // Failures

    /// @dev A failing element undoes what was counted (ATK-13).
    function test_a_failing_element_undoes_the_counters() public {
        accepts(ROUTER_02, swap(1e6));
        uint256 before = spendWord();
        bytes memory failing =
            abi.encodeCall(IWeth.withdraw, (WETH.balanceOf(account) + 1_000 ether));
        law.epoch = 2;

        refuses("", list(call(ROUTER_02, swap(100e6)), call(address(WETH), failing)));

        vm.assertEq(spendWord(), before, "window and epoch as before");
        vm.assertEq(USDC.balanceOf(account), 9_999e6, "sold once");
        law.epoch = 1;
        accepts(ROUTER_02, swap(1e6));
    }

    function test_a_refused_element_undoes_the_counters() public {
        uint256 half = CAP / 2;
        address thief = actor("thief").account;

        for (uint256 i = 0; i < 3; i++) {
            refuses(
                wrongRecipient(thief, account),
                list(
                    call(ROUTER_02, swap(half)),
                    call(ROUTER_02, sellUsdc(1e6, atTheBound(1e6), thief))
                )
            );
        }

        vm.assertEq(spendWord(), 0, "nothing counted");
    }

    function _mode(ModeCode mode) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode);
    }

    function _batch(uint256 count) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Executions.Executions_Batch.selector, count);
    }

    function _from(bytes memory data, uint256 at) private pure returns (bytes memory rest) {
        rest = new bytes(data.length - at);
        for (uint256 i = 0; i < rest.length; i++) {
            rest[i] = data[at + i];
        }
    }
}

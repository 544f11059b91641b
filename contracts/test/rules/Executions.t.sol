// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IKnowledgeMarket} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {
    IMulticall,
    INonfungiblePositionManager,
    ISwapRouter02
} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Action, Actions, Class, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract ExecutionReader {
    function actions(bytes calldata listing, ModeCode mode, bytes calldata execution)
        external
        pure
        returns (Action[] memory)
    {
        return Executions.actions(listing, mode, execution);
    }
}

// forge-lint: disable-start(unsafe-typecast)
// What is narrowed here was drawn, and any value of it will do.

contract ExecutionsTest is TestBase {
    address private constant TOKEN = address(0x7001);
    address private constant WETH = address(0x7002);
    address private constant ROUTER = address(0x7003);
    address private constant POSITIONS = address(0x7004);
    address private constant VAULT = address(0x7005);
    address private constant LIFE = address(0x7006);
    address private constant MARKET = address(0x7008);
    address private constant KEY = address(0x7007);
    address private constant ACCOUNT = address(0xacc);
    uint256 private constant CALLS = 9;

    ExecutionReader private _reader;

    function setUp() public {
        _reader = new ExecutionReader();
    }

    // Single calls

    function test_a_single_call_is_target_value_and_data() public view {
        Action[] memory actions = _single(_transfer(7, 9));

        vm.assertEq(actions.length, 1, "actions");
        vm.assertEq(uint8(actions[0].class), uint8(Class.Transfer), "class");
        vm.assertEq(actions[0].target, TOKEN, "target");
        vm.assertEq(actions[0].recipient, address(7), "recipient");
        vm.assertEq(actions[0].amountOut, 9, "amount");
    }

    function testFuzz_the_value_is_read_whole(uint256 value) public view {
        Action[] memory paid = _single(Execution(KEY, value, ""));
        Action[] memory wrapped = _single(Execution(WETH, value, abi.encodeCall(IWeth.deposit, ())));

        vm.assertEq(paid[0].amountOut, value, "gas money");
        vm.assertEq(wrapped[0].amountOut, value, "wrapped");
    }

    function testFuzz_the_target_is_read_whole(address target) public {
        vm.assume(target < TOKEN || target > KEY);
        vm.expectRevert(abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, target));
        _single(Execution(target, 0, hex"01020304"));
    }

    /// @dev ATK-16.
    function test_less_than_a_target_and_a_value_is_no_call() public {
        bytes memory call = abi.encodePacked(KEY, uint256(1));
        for (uint256 length = 0; length < 52; length++) {
            vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Short.selector, length));
            _reader.actions(_listing(), SINGLE_DEFAULT, _cut(call, length));
        }
        _reader.actions(_listing(), SINGLE_DEFAULT, call);
    }

    function test_less_than_a_selector_is_no_call() public {
        for (uint256 length = 0; length < 4; length++) {
            bytes memory call = abi.encodePacked(TOKEN, uint256(0), new bytes(length));
            vm.expectRevert(
                abi.encodeWithSelector(Actions.Actions_NoSelector.selector, TOKEN, length)
            );
            _reader.actions(_listing(), SINGLE_DEFAULT, call);
        }
    }

    // Batches

    function testFuzz_a_batch_is_its_calls_one_after_the_other(uint256 seed) public {
        Execution[] memory calls = _calls(seed);
        Class late = _late(calls);
        if (late != Class.None) {
            vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Order.selector, late));
            _batch(calls);
            return;
        }

        Action[] memory flat = _batch(calls);

        uint256 at = 0;
        for (uint256 i = 0; i < calls.length; i++) {
            Action[] memory alone = _single(calls[i]);
            for (uint256 j = 0; j < alone.length; j++) {
                _assertSame(flat[at++], alone[j]);
            }
        }
        vm.assertEq(flat.length, at, "no more than those");
    }

    /// @dev The first class, by a search of its own, that is measured beforehand and stands behind a call
    ///      which may run foreign code.
    function _late(Execution[] memory calls) private view returns (Class) {
        for (uint256 i = 0; i < calls.length; i++) {
            Class later = _single(calls[i])[0].class;
            if (
                later != Class.AddLiquidity && later != Class.RemoveLiquidity
                    && later != Class.Deposit && later != Class.GasTopUp
            ) continue;
            for (uint256 j = 0; j < i; j++) {
                Class before = _single(calls[j])[0].class;
                if (before == Class.Deposit && later == Class.Deposit) return later;
                if (before == Class.Swap || before == Class.GasTopUp || before == Class.Settle) {
                    return later;
                }
            }
        }
        return Class.None;
    }

    function test_every_class_behind_every_other() public {
        for (uint256 first = 0; first < CALLS; first++) {
            for (uint256 second = 0; second < CALLS; second++) {
                Execution[] memory calls = new Execution[](2);
                (calls[0], calls[1]) = (_call(first, 1), _call(second, 2));
                // Swap, multicall of swaps, settlement, gas money before removal, deposit and gas money.
                bool refused = (first == 2 || first == 3 || first == 6 || first == 7)
                    && (second == 4 || second == 5 || second == 7);
                // And one deposit only.
                if (first == second && first == 5) refused = true;
                Class late = second == 4
                    ? Class.RemoveLiquidity
                    : second == 5 ? Class.Deposit : Class.GasTopUp;
                if (refused) {
                    vm.expectRevert(
                        abi.encodeWithSelector(Executions.Executions_Order.selector, late)
                    );
                }
                _batch(calls);
            }
        }
    }

    function test_what_else_moves_a_price_comes_before_no_deposit() public {
        Execution[5] memory movers = [
            Execution(MARKET, 0, abi.encodeCall(IKnowledgeMarket.sell, ("", ACCOUNT, KEY))),
            Execution(VAULT, 0, abi.encodeCall(IVault.withdraw, (1, ACCOUNT, ACCOUNT))),
            Execution(VAULT, 0, abi.encodeCall(IVault.redeem, (1, ACCOUNT, ACCOUNT))),
            Execution(
                POSITIONS,
                0,
                abi.encodeCall(
                    INonfungiblePositionManager.collect,
                    (INonfungiblePositionManager.CollectParams(1, ACCOUNT, 1, 1))
                )
            ),
            Execution(LIFE, 0, abi.encodeCall(IGolemLifecycle.spawnReplicant, ("", KEY, "")))
        ];
        for (uint256 i = 0; i < movers.length; i++) {
            Execution[] memory calls = new Execution[](2);
            (calls[0], calls[1]) = (movers[i], _call(5, 1));
            vm.expectRevert(
                abi.encodeWithSelector(Executions.Executions_Order.selector, Class.Deposit)
            );
            _batch(calls);
            (calls[0], calls[1]) = (calls[1], calls[0]);
            _batch(calls);
        }
    }

    function test_a_batch_of_all_there_is() public view {
        Execution[] memory calls = new Execution[](CALLS);
        for (uint256 i = 0; i < CALLS; i++) {
            // What is measured beforehand comes first: 4, 5 and 7 are removal, deposit and gas money.
            uint256 which = (i + 4) % CALLS;
            calls[i] = _call(which == 6 ? 7 : which == 7 ? 6 : which, i + 1);
        }

        Action[] memory flat = _batch(calls);

        Class[11] memory classes = [
            Class.RemoveLiquidity,
            Class.Deposit,
            Class.GasTopUp,
            Class.Settle,
            Class.Disapprove,
            Class.Transfer,
            Class.Wrap,
            Class.Swap,
            Class.Swap,
            Class.Swap,
            Class.Swap
        ];
        vm.assertEq(flat.length, classes.length, "actions");
        for (uint256 i = 0; i < classes.length; i++) {
            vm.assertEq(uint8(flat[i].class), uint8(classes[i]), "class");
        }
    }

    /// @dev ATK-12, ATK-18: what is refused alone is refused among others, wherever it stands.
    function testFuzz_one_call_that_is_refused_refuses_the_batch(uint256 seed, uint256 index)
        public
    {
        Execution[] memory calls = _calls(seed);
        index = within(index, 0, calls.length - 1);
        calls[index] = Execution(address(0xbad), 0, hex"01020304");

        vm.expectRevert(
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, address(0xbad))
        );
        _batch(calls);
    }

    /// @dev ATK-12.
    function test_a_batch_of_nothing_is_refused() public {
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 0));
        _batch(new Execution[](0));
    }

    // Other encodings (ATK-15)

    function testFuzz_bytes_behind_a_batch_are_refused(uint256 seed, uint8 extra) public {
        Execution[] memory calls = _calls(seed);
        uint256 more = within(extra, 1, 96);

        _expectBatch(calls.length);
        _reader.actions(_listing(), BATCH_DEFAULT, bytes.concat(abi.encode(calls), new bytes(more)));
    }

    function testFuzz_a_batch_that_is_cut_is_refused(uint256 seed, uint16 by) public {
        bytes memory whole = abi.encode(_calls(seed));
        bytes memory cut = _cut(whole, whole.length - within(by, 1, whole.length));

        (bool ok,) = address(_reader)
            .call(abi.encodeCall(ExecutionReader.actions, (_listing(), BATCH_DEFAULT, cut)));
        vm.assertFalse(ok, "refused");
    }

    /// @dev Our own encoder writes the canonical form, so that it is the changes which are refused.
    function testFuzz_the_tests_encoder_is_canonical(uint256 seed) public pure {
        Execution[] memory calls = _calls(seed);
        vm.assertEq(_encode(calls, _inOrder(calls.length), 0, 0), abi.encode(calls), "canonical");
    }

    function testFuzz_calls_stored_in_another_order_are_refused(uint256 seed) public {
        Execution[] memory calls = _calls(seed);
        vm.assume(calls.length > 1);
        uint256[] memory order = _inOrder(calls.length);
        (order[0], order[calls.length - 1]) = (order[calls.length - 1], order[0]);
        bytes memory other = _encode(calls, order, 0, 0);
        vm.assertEq(
            abi.encode(abi.decode(other, (Execution[]))), abi.encode(calls), "the same batch"
        );

        _expectBatch(calls.length);
        _reader.actions(_listing(), BATCH_DEFAULT, other);
    }

    function testFuzz_a_gap_before_list_or_calls_is_refused(uint256 seed, bool list) public {
        Execution[] memory calls = _calls(seed);
        bytes memory other = _encode(calls, _inOrder(calls.length), list ? 32 : 0, list ? 0 : 32);
        vm.assertEq(
            abi.encode(abi.decode(other, (Execution[]))), abi.encode(calls), "the same batch"
        );

        _expectBatch(calls.length);
        _reader.actions(_listing(), BATCH_DEFAULT, other);
    }

    function test_two_calls_that_share_their_bytes_are_refused() public {
        Execution[] memory calls = new Execution[](2);
        (calls[0], calls[1]) = (_transfer(7, 9), _transfer(7, 9));
        Execution[] memory one = new Execution[](1);
        one[0] = calls[0];
        bytes memory tail = _cutFront(abi.encode(one), 96);
        bytes memory other =
            bytes.concat(abi.encode(uint256(32), uint256(2), uint256(64), uint256(64)), tail);
        vm.assertEq(
            abi.encode(abi.decode(other, (Execution[]))), abi.encode(calls), "the same batch"
        );

        _expectBatch(2);
        _reader.actions(_listing(), BATCH_DEFAULT, other);
    }

    function test_dirty_padding_is_refused() public {
        Execution[] memory calls = new Execution[](1);
        calls[0] = _transfer(7, 9);
        bytes memory whole = abi.encode(calls);
        // 68 bytes of data end 28 bytes before the end.
        for (uint256 i = 1; i <= 28; i++) {
            bytes memory dirty = _cut(whole, whole.length);
            dirty[whole.length - i] = 0x01;
            _expectBatch(1);
            _reader.actions(_listing(), BATCH_DEFAULT, dirty);
        }
    }

    function test_a_dirty_target_is_refused() public {
        Execution[] memory calls = new Execution[](1);
        calls[0] = _transfer(7, 9);
        bytes memory dirty = abi.encode(calls);
        // Offset, length, offset; the fourth word is the target.
        dirty[3 * 32] = 0x01;

        vm.expectRevert(bytes(""));
        _reader.actions(_listing(), BATCH_DEFAULT, dirty);
    }

    function testFuzz_no_flipped_bit_is_another_encoding_of_the_same(uint256 seed, uint256 bit)
        public
        view
    {
        Execution[] memory calls = _calls(seed);
        bytes memory other = abi.encode(calls);
        bit = within(bit, 0, other.length * 8 - 1);
        other[bit / 8] = other[bit / 8] ^ bytes1(uint8(1 << (bit % 8)));

        try _reader.actions(_listing(), BATCH_DEFAULT, other) returns (Action[] memory flat) {
            Execution[] memory read = abi.decode(other, (Execution[]));
            bytes32 changed = keccak256(abi.encode(read));
            vm.assertTrue(changed != keccak256(abi.encode(calls)), "another batch");
            vm.assertEq(changed, keccak256(other), "and that one's only encoding");
            vm.assertTrue(flat.length >= calls.length, "every call has its action");
        } catch {}
    }

    function testFuzz_noise_is_no_batch(bytes memory noise) public view {
        (bool ok,) = address(_reader)
            .staticcall(abi.encodeCall(ExecutionReader.actions, (_listing(), BATCH_DEFAULT, noise)));
        vm.assertFalse(ok, "refused");
    }

    // Calls

    function _calls(uint256 seed) private pure returns (Execution[] memory calls) {
        calls = new Execution[](seed % 6 + 1);
        for (uint256 i = 0; i < calls.length; i++) {
            uint256 drawn = uint256(keccak256(abi.encode(seed, i)));
            calls[i] = _call(drawn % CALLS, drawn >> 140);
        }
    }

    function _call(uint256 which, uint256 number) private pure returns (Execution memory) {
        if (which == 0) return _transfer(uint160(number), number);
        if (which == 1) return Execution(WETH, number, abi.encodeCall(IWeth.deposit, ()));
        if (which == 2) return Execution(ROUTER, 0, _swap(number));
        if (which == 3) {
            bytes[] memory inner = new bytes[](3);
            (inner[0], inner[1], inner[2]) = (_swap(number), _swap(1), _swap(2));
            return Execution(ROUTER, 0, abi.encodeCall(IMulticall.multicall, (inner)));
        }
        if (which == 4) {
            return Execution(
                POSITIONS,
                0,
                abi.encodeCall(
                    INonfungiblePositionManager.decreaseLiquidity,
                    (INonfungiblePositionManager.DecreaseLiquidityParams(number, 1, 2, 3, 4))
                )
            );
        }
        if (which == 5) {
            return Execution(VAULT, 0, abi.encodeCall(IVault.deposit, (number, ACCOUNT)));
        }
        if (which == 6) {
            bytes32 id = bytes32(number);
            return Execution(LIFE, 0, abi.encodeCall(IGolemLifecycle.settle, (id, id)));
        }
        if (which == 7) return Execution(KEY, number, "");
        return Execution(TOKEN, 0, abi.encodeCall(IToken.approve, (address(uint160(number)), 0)));
    }

    function _transfer(uint160 to, uint256 amount) private pure returns (Execution memory) {
        return Execution(TOKEN, 0, abi.encodeCall(IToken.transfer, (address(to), amount)));
    }

    function _swap(uint256 number) private pure returns (bytes memory) {
        return abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams(TOKEN, WETH, 500, ACCOUNT, number + 1, number, 0))
        );
    }

    function _listing() private pure returns (bytes memory) {
        return abi.encodePacked(
            abi.encodePacked(address(0), uint32(0), uint8(0), uint8(8)),
            abi.encodePacked(TOKEN, uint8(Role.Token), WETH, uint8(Role.Weth)),
            abi.encodePacked(ROUTER, uint8(Role.SwapRouter02)),
            abi.encodePacked(POSITIONS, uint8(Role.PositionManager)),
            abi.encodePacked(VAULT, uint8(Role.Vault), LIFE, uint8(Role.Lifecycle)),
            abi.encodePacked(KEY, uint8(Role.AgentKey), MARKET, uint8(Role.Market))
        );
    }

    function _single(Execution memory call) private view returns (Action[] memory) {
        return _reader.actions(
            _listing(), SINGLE_DEFAULT, abi.encodePacked(call.target, call.value, call.callData)
        );
    }

    function _batch(Execution[] memory calls) private view returns (Action[] memory) {
        return _reader.actions(_listing(), BATCH_DEFAULT, abi.encode(calls));
    }

    // An encoder of its own

    function _inOrder(uint256 count) private pure returns (uint256[] memory order) {
        order = new uint256[](count);
        for (uint256 i = 0; i < count; i++) {
            order[i] = i;
        }
    }

    /// @dev Bodies are stored in `order`; gaps of nothing before the list, or before the bodies.
    function _encode(
        Execution[] memory calls,
        uint256[] memory order,
        uint256 gapBeforeList,
        uint256 gapBeforeCalls
    ) private pure returns (bytes memory) {
        uint256[] memory offsets = new uint256[](calls.length);
        bytes memory bodies = new bytes(gapBeforeCalls);
        for (uint256 i = 0; i < order.length; i++) {
            Execution memory call = calls[order[i]];
            offsets[order[i]] = calls.length * 32 + bodies.length;
            uint256 padding = (32 - call.callData.length % 32) % 32;
            bodies = bytes.concat(
                bodies,
                abi.encode(call.target, call.value, uint256(96), call.callData.length),
                call.callData,
                new bytes(padding)
            );
        }
        bytes memory head = abi.encode(32 + gapBeforeList);
        return bytes.concat(
            head,
            new bytes(gapBeforeList),
            abi.encode(calls.length),
            abi.encodePacked(offsets),
            bodies
        );
    }

    function _cut(bytes memory whole, uint256 length) private pure returns (bytes memory part) {
        part = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            part[i] = whole[i];
        }
    }

    function _cutFront(bytes memory whole, uint256 by) private pure returns (bytes memory part) {
        part = new bytes(whole.length - by);
        for (uint256 i = 0; i < part.length; i++) {
            part[i] = whole[by + i];
        }
    }

    function _expectBatch(uint256 count) private {
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, count));
    }

    function _assertSame(Action memory a, Action memory b) private pure {
        vm.assertEq(keccak256(abi.encode(a)), keccak256(abi.encode(b)), "the same action");
    }
}

// forge-lint: disable-end(unsafe-typecast)

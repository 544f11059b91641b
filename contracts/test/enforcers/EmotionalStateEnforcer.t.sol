// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {EmotionalStateEnforcer} from "../../src/enforcers/EmotionalStateEnforcer.sol";
import {
    Delegation,
    Execution,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {
    IMulticall,
    INonfungiblePositionManager,
    ISwapRouter,
    ISwapRouter02
} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Actions, Class} from "../../src/rules/Actions.sol";
import {EmotionalState, MoodBounds} from "../../src/rules/EmotionalState.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {HiddenCalls} from "../../src/rules/HiddenCalls.sol";
import {EnforcerTest} from "./EnforcerTest.sol";

contract EmotionalStateEnforcerTest is EnforcerTest {
    uint32 private constant STALENESS = 1 days;
    bytes4 private constant SWAP = ISwapRouter02.exactInputSingle.selector;
    bytes4 private constant MINT = INonfungiblePositionManager.mint.selector;

    bytes private _selectors;

    function setUp() public override {
        super.setUp();
        enforcer = new EmotionalStateEnforcer();
        _selectors = abi.encodePacked(MINT, ISwapRouter.exactInputSingle.selector, SWAP);
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(
            law.golemId, law.registry, STALENESS, int8(-50), int8(60), int8(-40), _selectors
        );
    }

    function header() internal pure override returns (uint256) {
        return 59;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            EmotionalStateEnforcer.EmotionalStateEnforcer_TermsLength.selector, 59, actual
        );
    }

    function forbid() internal override {
        _feel(-80, 90, -70);
    }

    function reason() internal pure override returns (bytes memory) {
        return _refused(SWAP, -80, 90, -70);
    }

    // Mood

    /// @dev SPEC C9.
    function test_each_bound_holds_at_itself_and_not_past_it() public {
        _feel(-50, 60, -40);
        accepts(good());
        _feel(-51, 60, -40);
        refuses(_refused(SWAP, -51, 60, -40), good());
        _feel(-50, 61, -40);
        refuses(_refused(SWAP, -50, 61, -40), good());
        _feel(-50, 60, -41);
        refuses(_refused(SWAP, -50, 60, -41), good());
        _feel(100, -100, 100);
        accepts(good());
    }

    function testFuzz_a_mood_is_measured_by_its_bounds(int8 p, int8 a, int8 d) public {
        (p, a, d) = (p % 101, a % 101, d % 101);
        _feel(p, a, d);
        bytes memory made = terms();
        bytes memory execution = packed(good());

        if (p < -50 || a > 60 || d < -40) vm.expectRevert(_refused(SWAP, p, a, d));
        hook(made, SINGLE_DEFAULT, execution);
    }

    function test_what_is_not_listed_passes_in_any_mood() public {
        uint256 id = position();
        accepts(deposit(5e6));
        forbid();

        accepts(callOf(Class.Withdraw, 0));
        accepts(callOf(Class.Transfer, 0));
        accepts(two(removeLiquidity(id), callOf(Class.Collect, id)));
        accepts(callOf(Class.GasTopUp, 0));
        refuses(_refused(MINT, -80, 90, -70), addLiquidity(1e6));
    }

    /// @dev SPEC D10: of what was said too long ago nothing is known.
    function test_an_old_mood_is_none() public {
        vm.warp(NOW + STALENESS);
        accepts(good());
        vm.warp(NOW + STALENESS + 1);
        refuses(
            abi.encodeWithSelector(
                EmotionalState.EmotionalState_Stale.selector,
                SWAP,
                NOW,
                NOW + STALENESS + 1,
                STALENESS
            ),
            good()
        );
        accepts(callOf(Class.Disapprove, 0));

        _feel(0, 0, 0);
        accepts(two(callOf(Class.Approve, 0), good()));
    }

    function test_anothers_mood_is_its_own() public {
        vm.prank(law.owner);
        bytes32 other = registry.register("another", agent.account);
        vm.prank(agent.account);
        registry.updatePad(other, -100, 100, -100);

        accepts(good());
        law.golemId = other;
        refuses(_refused(SWAP, -100, 100, -100), good());
    }

    /// @dev The hook comes before the batch, so calming down is nothing that a batch can begin with, even
    ///      where the owner's account is its own agent.
    function test_a_golem_does_not_calm_itself_in_a_batch() public {
        vm.prank(law.owner);
        registry.attach(law.golemId, law.account);
        vm.prank(law.account);
        registry.updatePad(law.golemId, -80, 90, -70);
        bytes memory calm = abi.encodeCall(IGolemRegistry.updatePad, (law.golemId, 0, 0, 0));

        refuses(reason(), two(Execution(address(registry), 0, calm), good()));
    }

    /// @dev ATK-34. Whatever is called.
    function test_the_unknown_the_dead_and_the_struck_off_do_not_act() public {
        uint256 state = vm.snapshotState();
        law.golemId = keccak256("nobody");
        refuses(_notAlive(), callOf(Class.Disapprove, 0));

        vm.revertToState(state);
        vm.prank(agent.account);
        registry.close(law.golemId);
        refuses(_notAlive(), callOf(Class.Disapprove, 0));

        vm.revertToState(state);
        vm.prank(law.owner);
        registry.deregister(law.golemId);
        refuses(_notAlive(), callOf(Class.Disapprove, 0));
    }

    /// @dev Fail closed.
    function test_a_registry_without_code_says_nothing() public {
        law.registry = address(0xdead);
        refuses("", callOf(Class.Disapprove, 0));
    }

    // Calls that hide calls

    /// @dev ATK-18, at the real routers: calm, each of these is a swap; otherwise none is.
    function test_a_swap_inside_every_form_of_a_multicall() public {
        vm.prank(law.account);
        USDC.approve(router, type(uint256).max);
        bytes[] memory inner = new bytes[](1);
        inner[0] = good().callData;
        bytes[] memory first = new bytes[](2);
        first[0] = abi.encodeWithSignature("refundETH()");
        first[1] = abi.encodeCall(
            ISwapRouter.exactInputSingle,
            (ISwapRouter.ExactInputSingleParams({
                    tokenIn: address(USDC),
                    tokenOut: address(WETH),
                    fee: 500,
                    recipient: law.account,
                    deadline: NOW,
                    amountIn: SOLD,
                    amountOutMinimum: atTheBound(SOLD),
                    sqrtPriceLimitX96: 0
                }))
        );
        Execution[4] memory calls = [
            Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner))),
            Execution(
                ROUTER_02, 0, abi.encodeWithSignature("multicall(uint256,bytes[])", NOW, inner)
            ),
            Execution(
                ROUTER_02,
                0,
                abi.encodeWithSignature(
                    "multicall(bytes32,bytes[])", blockhash(block.number - 1), inner
                )
            ),
            Execution(router, 0, abi.encodeCall(IMulticall.multicall, (first)))
        ];
        for (uint256 i = 0; i < calls.length; i++) {
            uint256 before = USDC.balanceOf(law.account);
            _feel(0, 0, 0);
            accepts(calls[i]);
            vm.assertEq(before - USDC.balanceOf(law.account), SOLD, "sold");

            forbid();
            bytes4 selector = i == 3 ? ISwapRouter.exactInputSingle.selector : SWAP;
            bytes memory why = _refused(selector, -80, 90, -70);
            refuses(why, calls[i]);
            refuses(why, two(callOf(Class.Disapprove, 0), calls[i]));
        }
    }

    /// @dev The real routers do run a multicall inside a multicall.
    function test_a_multicall_inside_a_multicall_is_refused() public {
        bytes[] memory inner = new bytes[](1);
        inner[0] = good().callData;
        bytes[] memory outer = new bytes[](1);
        outer[0] = abi.encodeCall(IMulticall.multicall, (inner));
        Execution memory call =
            Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (outer)));

        accepts(call);
        forbid();
        refuses(
            abi.encodeWithSelector(
                Actions.Actions_UnknownCall.selector, ROUTER_02, IMulticall.multicall.selector
            ),
            call
        );
    }

    function test_a_multicall_of_harmless_calls_passes_in_any_mood() public {
        forbid();
        bytes[] memory inner = new bytes[](2);
        (inner[0], inner[1]) =
        (abi.encodeWithSignature("refundETH()"), abi.encodeWithSignature("refundETH()"));

        accepts(Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner))));
    }

    /// @dev SwapRouter02 mints positions for whoever asks.
    function test_a_routers_call_of_the_position_manager_is_refused() public {
        forbid();
        bytes memory mint =
            abi.encodeWithSignature("callPositionManager(bytes)", addLiquidity(1e6).callData);
        bytes[] memory inner = new bytes[](1);
        inner[0] = mint;

        refuses(_hidden(ROUTER_02, mint), Execution(ROUTER_02, 0, mint));
        refuses(
            _hidden(ROUTER_02, mint),
            Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner)))
        );
    }

    /// @dev ATK-14: the account may call itself, and would swap.
    function test_the_account_does_not_swap_by_calling_itself() public {
        bytes memory one = abi.encodeWithSignature("execute((address,uint256,bytes))", good());
        bytes memory other =
            abi.encodeWithSignature("execute(bytes32,bytes)", SINGLE_DEFAULT, packed(good()));
        accepts(two(Execution(law.account, 0, one), Execution(law.account, 0, other)));
        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 - 2 * SOLD, "it would");

        forbid();
        refuses(_hidden(law.account, one), Execution(law.account, 0, one));
        refuses(
            _hidden(law.account, other),
            two(callOf(Class.Disapprove, 0), Execution(law.account, 0, other))
        );
    }

    /// @dev Below the root the rule does not know the account; it knows the account's entrances.
    function test_nor_below_a_delegation_without_a_caveat() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = root(me(), agent.account, noCaveats());
        Delegation memory leaf =
            child(above, agent, replicant.account, only(address(enforcer), terms()));
        bytes memory wrapped = abi.encodeWithSignature("execute((address,uint256,bytes))", good());
        forbid();

        vm.expectRevert(_hidden(law.account, wrapped));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, single(law.account, wrapped));
        // Gas money for the agent, who is the delegator here, is no message to it.
        redeem(
            replicant.account,
            leaf,
            above,
            SINGLE_DEFAULT,
            abi.encodePacked(agent.account, uint256(1 ether))
        );
    }

    function test_the_manager_is_no_target() public {
        forbid();
        bytes memory data = abi.encodeCall(
            IDelegationManager.redeemDelegations,
            (new bytes[](0), new ModeCode[](0), new bytes[](0))
        );

        refuses(_hidden(address(MANAGER), data), Execution(address(MANAGER), 0, data));
    }

    // Shape

    /// @dev ATK-16: calm, nobody looks; otherwise what cannot be read is refused.
    function test_calldata_shorter_than_a_selector() public {
        for (uint256 length = 0; length < 4; length++) {
            accepts(Execution(address(0xbeef), 0, new bytes(length)));
        }
        forbid();
        accepts(Execution(address(0xbeef), 0, ""));
        for (uint256 length = 1; length < 4; length++) {
            refuses(
                abi.encodeWithSelector(
                    Actions.Actions_NoSelector.selector, address(0xbeef), length
                ),
                Execution(address(0xbeef), 0, new bytes(length))
            );
        }
        _selectors = abi.encodePacked(bytes4(0));
        refuses(_refused(bytes4(0), -80, 90, -70), Execution(address(0xbeef), 1, ""));
    }

    function test_a_batch_is_judged_call_by_call() public {
        forbid();
        Execution memory allowed = callOf(Class.Disapprove, 0);

        refuses(reason(), two(allowed, good()));
        refuses(reason(), two(good(), allowed));
        accepts(two(allowed, allowed));
    }

    function testFuzz_a_listed_call_is_found_anywhere_in_a_batch(uint8 count, uint8 at) public {
        forbid();
        Execution[] memory calls = new Execution[](within(count, 1, 12));
        for (uint256 i = 0; i < calls.length; i++) {
            calls[i] = callOf(Class.Disapprove, 0);
        }
        calls[at % calls.length] = good();
        bytes memory made = terms();

        vm.expectRevert(reason());
        hook(made, BATCH_DEFAULT, abi.encode(calls));
    }

    /// @dev ATK-12, ATK-15, ATK-16.
    function test_an_execution_that_cannot_be_read_is_refused() public {
        forbid();
        bytes memory made = terms();
        bytes memory batch = abi.encode(two(callOf(Class.Disapprove, 0), good()));

        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Short.selector, 51));
        hook(made, SINGLE_DEFAULT, cut(packed(good()), 51));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 0));
        hook(made, BATCH_DEFAULT, abi.encode(new Execution[](0)));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 2));
        hook(made, BATCH_DEFAULT, bytes.concat(batch, hex"00"));
    }

    // Terms

    function test_a_list_of_none_half_or_too_many_selectors_is_refused() public {
        bytes memory execution = packed(good());
        bytes memory whole = terms();
        for (uint256 extra = 0; extra <= 12; extra++) {
            bytes memory part = cut(whole, 59 + extra);
            if (extra == 0 || extra % 4 != 0) {
                vm.expectRevert(
                    abi.encodeWithSelector(EmotionalState.EmotionalState_Selectors.selector, extra)
                );
            }
            hook(part, SINGLE_DEFAULT, execution);
        }
        hook(bytes.concat(whole, new bytes(1008)), SINGLE_DEFAULT, execution);
        vm.expectRevert(
            abi.encodeWithSelector(EmotionalState.EmotionalState_Selectors.selector, 1024)
        );
        hook(bytes.concat(whole, new bytes(1012)), SINGLE_DEFAULT, execution);
    }

    function test_the_last_of_255_selectors_binds() public {
        _selectors = bytes.concat(new bytes(254 * 4), SWAP);
        accepts(good());
        forbid();
        refuses(reason(), good());
    }

    // Every byte is tried as a bound.
    // forge-lint: disable-start(unsafe-typecast)

    function test_bounds_beyond_any_mood_are_refused() public {
        bytes memory execution = packed(good());
        for (uint256 field = 56; field < 59; field++) {
            for (uint256 value = 0; value < 256; value++) {
                bytes memory made = terms();
                made[field] = bytes1(uint8(value));
                if (value > 100 && value < 156) {
                    bytes memory why = abi.encodeWithSelector(
                        EmotionalState.EmotionalState_Bound.selector, int8(uint8(value))
                    );
                    vm.expectRevert(why);
                    EmotionalStateEnforcer(address(enforcer)).getTermsInfo(made);
                    vm.expectRevert(why);
                    hook(made, SINGLE_DEFAULT, execution);
                } else {
                    EmotionalStateEnforcer(address(enforcer)).getTermsInfo(made);
                }
            }
        }
    }

    // forge-lint: disable-end(unsafe-typecast)

    function testFuzz_the_terms_are_read_back(
        bytes32 golemId,
        address register,
        uint32 staleness,
        int8[3] memory pad,
        bytes4[] memory list
    ) public view {
        vm.assume(list.length != 0 && list.length <= 255);
        bytes memory selectors = "";
        for (uint256 i = 0; i < list.length; i++) {
            selectors = bytes.concat(selectors, list[i]);
        }
        for (uint256 i = 0; i < 3; i++) {
            pad[i] = pad[i] % 101;
        }

        (bytes32 id, address at, MoodBounds memory bounds, bytes memory read) = EmotionalStateEnforcer(
                address(enforcer)
            )
            .getTermsInfo(
                abi.encodePacked(golemId, register, staleness, pad[0], pad[1], pad[2], selectors)
            );

        vm.assertEq(id, golemId, "golemId");
        vm.assertEq(at, register, "registry");
        vm.assertEq(bounds.staleness, staleness, "staleness");
        vm.assertEq(bounds.minPleasure, pad[0], "pleasure");
        vm.assertEq(bounds.maxArousal, pad[1], "arousal");
        vm.assertEq(bounds.minDominance, pad[2], "dominance");
        vm.assertEq(read, selectors, "selectors");
    }

    function testFuzz_a_strangers_direct_call_writes_nothing(address stranger) public {
        vm.assume(stranger != address(vm));
        bytes memory made = terms();
        bytes memory execution = packed(good());
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, stranger);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    function _feel(int8 pleasure, int8 arousal, int8 dominance) private {
        vm.prank(agent.account);
        registry.updatePad(law.golemId, pleasure, arousal, dominance);
    }

    function _refused(bytes4 selector, int8 pleasure, int8 arousal, int8 dominance)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            EmotionalState.EmotionalState_OutOfBounds.selector,
            selector,
            pleasure,
            arousal,
            dominance
        );
    }

    function _hidden(address to, bytes memory data) private pure returns (bytes memory) {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(data);
        return abi.encodeWithSelector(HiddenCalls.HiddenCalls_Refused.selector, to, selector);
    }

    function _notAlive() private view returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation} from "../../src/interfaces/IDelegationManager.sol";
import {IMulticall} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {EmotionalState} from "../../src/rules/EmotionalState.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice Moods under a charter.
contract GolemCharterEmotionTest is CharterCalls {
    int8 private constant SAD = -20;
    int8 private constant WILD = 60;
    int8 private constant WEAK = -50;

    function setUp() public override {
        super.setUp();
        _bind(bitOf(uint256(Class.Swap)));
    }

    /// @dev SPEC C9: each bound holds at itself and not past it.
    function test_a_bound_class_needs_a_mood_within_bounds() public {
        _feels(SAD, WILD, WEAK);
        accepts(ROUTER_02, swap(1e6));
        _refusesSwap(SAD - 1, WILD, WEAK);
        _refusesSwap(SAD, WILD + 1, WEAK);
        _refusesSwap(SAD, WILD, WEAK - 1);
        _refusesSwap(-100, 100, -100);
        _feels(100, -100, 100);
        accepts(ROUTER_02, swap(1e6));
    }

    function test_from_every_kind_of_account() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            if (kinds[i] == Kind.Hybrid) continue;
            uint256 state = vm.snapshotState();
            Owner memory from = owner(kinds[i]);
            Law memory its = golem(from);
            (its.flags, its.sections) = (law.flags, law.sections);
            Delegation memory leaf = grant(from, its);
            bytes memory data = sellUsdc(1e6, atTheBound(1e6), from.account);
            vm.prank(agent.account);
            registry.updatePad(its.golemId, SAD - 1, 0, 0);
            vm.expectRevert(_outOfBounds(Class.Swap, SAD - 1, 0, 0));
            act(leaf, ROUTER_02, data);
            vm.prank(agent.account);
            registry.updatePad(its.golemId, SAD, 0, 0);
            act(leaf, ROUTER_02, data);
            vm.revertToState(state);
        }
    }

    function test_without_the_section_no_mood_matters() public {
        (law.flags, law.sections) = (0, "");
        _feels(-100, 100, -100);
        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev A mood traps no money unless its owner binds the way out, too.
    function test_what_is_not_bound_goes_on_in_any_mood() public {
        _feels(-100, 100, -100);
        accepts(address(USDC), transfer(human.account, 1e6));
        accepts(address(USDC), approve(ROUTER_02, 0));
        accepts(vault, deposit(1e6, account));
        _refusesSwap(-100, 100, -100);
    }

    /// @dev By class: no other function, router or multicall is a way around.
    function test_every_way_to_swap_is_bound() public {
        _feels(SAD - 1, 0, 0);
        bytes[] memory inner = new bytes[](1);
        inner[0] = swap(1e6);
        bytes memory reason = _outOfBounds(Class.Swap, SAD - 1, 0, 0);

        refuses(reason, ROUTER_02, abi.encodeCall(IMulticall.multicall, (inner)));
        refuses(
            reason,
            ROUTER_02,
            abi.encodeWithSignature("multicall(uint256,bytes[])", DEADLINE, inner)
        );
        refuses(
            reason,
            list(
                call(address(USDC), approve(ROUTER_02, 1e6)),
                call(address(USDC), transfer(human.account, 1)),
                call(ROUTER_02, swap(1e6))
            )
        );
    }

    function test_each_class_is_bound_by_its_own_bit() public {
        _feels(SAD - 1, 0, 0);
        bytes memory execution = single(address(USDC), transfer(human.account, 1));
        for (uint256 i = 1; i <= uint256(type(Class).max); i++) {
            _bind(bitOf(i));
            bytes memory terms = encode(law);
            if (i == uint256(Class.Transfer)) {
                vm.expectRevert(_outOfBounds(Class.Transfer, SAD - 1, 0, 0));
            }
            hook(terms, SINGLE_DEFAULT, execution);
        }
    }

    function test_a_royalty_is_bound_like_any_transfer() public {
        address author = actor("author").account;
        vm.prank(author);
        bytes32 entry = market.publish("his", bytes32(0), 1_000, address(USDC), 50e6);
        (law.flags, law.sections) =
        (
            ROYALTY | EMOTION,
            bytes.concat(
                royaltySection(1_000),
                emotionSection(SAD, WILD, WEAK, bitOf(uint256(Class.Transfer)))
            )
        );
        bytes memory execution = abi.encode(
            list(call(address(market), sell(entry)), call(address(USDC), transfer(author, 5e6)))
        );
        bytes memory terms = encode(law);

        hook(terms, BATCH_DEFAULT, execution);
        _feels(SAD - 1, 0, 0);
        vm.expectRevert(_outOfBounds(Class.Transfer, SAD - 1, 0, 0));
        hook(terms, BATCH_DEFAULT, execution);
    }

    /// @dev SPEC D10: of a Golem that says nothing, nothing is known. Its swap is refused for the phase
    ///      anyway; what a stale phase allows is not.
    function test_a_mood_older_than_the_charter_allows_is_out_of_bounds() public {
        law.staleness = 1 hours;
        _bind(bitOf(uint256(Class.GasTopUp)));
        bytes memory execution = paid(agent.account, 1, "");
        uint256 told = block.timestamp;

        vm.warp(told + 1 hours);
        accepts(SINGLE_DEFAULT, execution);
        vm.warp(told + 1 hours + 1);
        refuses(
            abi.encodeWithSelector(
                EmotionalState.EmotionalState_ClassStale.selector,
                Class.GasTopUp,
                told,
                told + 1 hours + 1,
                1 hours
            ),
            SINGLE_DEFAULT,
            execution
        );
        _feels(0, 0, 0);
        accepts(SINGLE_DEFAULT, execution);
    }

    /// @dev Another Golem's mood, of the same owner and account, is its own.
    function test_two_golems_feel_apart() public {
        vm.prank(human.account);
        bytes32 other = registry.register("other", agent.account);
        vm.prank(agent.account);
        registry.updatePad(other, -100, 100, -100);
        accepts(ROUTER_02, swap(1e6));
        law.golemId = other;
        refuses(_outOfBounds(Class.Swap, -100, 100, -100), ROUTER_02, swap(1e6));
    }

    /// @dev The owner's new grant, or a higher epoch, does not change how the Golem feels.
    function test_a_new_grant_is_under_the_same_mood() public {
        _feels(-100, 0, 0);
        law.epoch = 2;
        refuses(_outOfBounds(Class.Swap, -100, 0, 0), ROUTER_02, swap(1e6));
    }

    function test_the_section_binds_on_either_link() public {
        Actor memory helper = actor("helper");
        bytes memory execution = single(ROUTER_02, swap(1e6));
        law.flags = EMOTION | REPLICANTS;
        _feels(SAD - 1, 0, 0);
        Delegation memory above = grant(home(), law);
        Delegation memory below = child(above, agent, helper.account, noCaveats());
        vm.expectRevert(_outOfBounds(Class.Swap, SAD - 1, 0, 0));
        redeem(helper.account, below, above, SINGLE_DEFAULT, execution);

        above = root(home(), agent.account, noCaveats());
        below = child(above, agent, helper.account, only(address(charterEnforcer), encode(law)));
        vm.expectRevert(_outOfBounds(Class.Swap, SAD - 1, 0, 0));
        redeem(helper.account, below, above, SINGLE_DEFAULT, execution);
        _feels(SAD, 0, 0);
        redeem(helper.account, below, above, SINGLE_DEFAULT, execution);
    }

    function testFuzz_a_mood_is_within_bounds_or_refused(
        int8[3] memory pad,
        int8[3] memory bound,
        uint32 staleness,
        uint32 age
    ) public {
        for (uint256 i = 0; i < 3; i++) {
            (pad[i], bound[i]) = (pad[i] % 101, bound[i] % 101);
        }
        (law.end, age) = (type(uint40).max, age % 2 hours);
        law.staleness = staleness % 2 hours;
        law.sections =
            emotionSection(bound[0], bound[1], bound[2], bitOf(uint256(Class.Disapprove)));
        _feels(pad[0], pad[1], pad[2]);
        uint256 told = block.timestamp;
        vm.warp(told + age);
        bytes memory terms = encode(law);

        if (age > law.staleness) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    EmotionalState.EmotionalState_ClassStale.selector,
                    Class.Disapprove,
                    told,
                    told + age,
                    law.staleness
                )
            );
        } else if (pad[0] < bound[0] || pad[1] > bound[1] || pad[2] < bound[2]) {
            vm.expectRevert(_outOfBounds(Class.Disapprove, pad[0], pad[1], pad[2]));
        }
        hook(terms, SINGLE_DEFAULT, single(address(USDC), approve(ROUTER_02, 0)));
    }

    function _bind(uint32 classes) private {
        (law.flags, law.sections) = (EMOTION, emotionSection(SAD, WILD, WEAK, classes));
    }

    function _feels(int8 pleasure, int8 arousal, int8 dominance) private {
        vm.prank(agent.account);
        registry.updatePad(law.golemId, pleasure, arousal, dominance);
    }

    function _refusesSwap(int8 pleasure, int8 arousal, int8 dominance) private {
        _feels(pleasure, arousal, dominance);
        refuses(_outOfBounds(Class.Swap, pleasure, arousal, dominance), ROUTER_02, swap(1e6));
    }

    function _outOfBounds(Class class, int8 pleasure, int8 arousal, int8 dominance)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            EmotionalState.EmotionalState_ClassOutOfBounds.selector,
            class,
            pleasure,
            arousal,
            dominance
        );
    }
}

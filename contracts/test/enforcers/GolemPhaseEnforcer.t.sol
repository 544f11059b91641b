// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemPhaseEnforcer} from "../../src/enforcers/GolemPhaseEnforcer.sol";
import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {GolemPhase, Phase} from "../../src/rules/GolemPhase.sol";
import {ListedEnforcerTest} from "./EnforcerTest.sol";

contract GolemPhaseEnforcerTest is ListedEnforcerTest {
    uint32 private constant STALENESS = 1 days;

    function setUp() public override {
        super.setUp();
        enforcer = new GolemPhaseEnforcer();
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(law.golemId, law.registry, STALENESS, listing(law));
    }

    function header() internal pure override returns (uint256) {
        return 56;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemPhaseEnforcer.GolemPhaseEnforcer_TermsLength.selector, 56, actual
        );
    }

    function forbid() internal override {
        _advance(2);
    }

    function reason() internal pure override returns (bytes memory) {
        return _notAllowed(Phase.Conservation, Class.Swap);
    }

    /// @dev SPEC C2 and D18: columns are Thriving to Terminal. Settle of a lively Golem is a matter of
    ///      the rule's own test.
    function test_each_class_in_each_phase() public {
        bytes5[18] memory matrix = [
            // forge-lint: disable-next-line(unsafe-typecast)
            bytes5("-----"),
            "yynny",
            "yynnn",
            "yyyyy",
            "yyyyy",
            "yyyyy",
            "yynnn",
            "yyyyy",
            "yynnn",
            "yyyyy",
            "yynyy",
            "yynyy",
            "yynnn",
            "yyyyn",
            "ynnnn",
            "yynny",
            "yyyyy",
            "yynnn"
        ];
        for (uint8 phase = 0; phase < 5; phase++) {
            if (phase != 0) _advance(phase);
            for (uint8 class = 0; class < matrix.length; class++) {
                bytes1 cell = matrix[class][phase];
                if (cell == "-") continue;
                bytes memory execution = packed(callOf(Class(class), 1));
                bytes memory made = terms();
                if (cell == "n") vm.expectRevert(_notAllowed(Phase(phase), Class(class)));
                hook(made, SINGLE_DEFAULT, execution);
            }
        }
    }

    /// @dev The way down, at the real contracts.
    function test_a_life_from_thriving_to_terminal() public {
        uint256 id = position();
        accepts(good());
        accepts(callOf(Class.Deposit, 0));
        _advance(1);
        accepts(two(increase(id, 1e6), good()));
        refuses(_notAllowed(Phase.Stable, Class.SpawnReplicant), callOf(Class.SpawnReplicant, 0));
        _advance(2);
        refuses(_notAllowed(Phase.Conservation, Class.AddLiquidity), increase(id, 1e6));
        refuses(_notAllowed(Phase.Conservation, Class.Deposit), callOf(Class.Deposit, 0));
        refuses(_notAllowed(Phase.Conservation, Class.Transfer), callOf(Class.Transfer, 0));
        accepts(two(removeLiquidity(id), callOf(Class.Collect, id)));
        accepts(callOf(Class.GasTopUp, 0));
        _advance(3);
        refuses(_notAllowed(Phase.Declining, Class.Swap), good());
        accepts(callOf(Class.Withdraw, 0));
        accepts(callOf(Class.Transfer, 0));
        _advance(4);
        accepts(good());
        refuses(_notAllowed(Phase.Terminal, Class.GasTopUp), callOf(Class.GasTopUp, 0));
        refuses(_notAllowed(Phase.Terminal, Class.Approve), callOf(Class.Approve, 0));
        accepts(callOf(Class.Disapprove, 0));

        vm.assertEq(USDC.allowance(law.account, ROUTER_02), 0, "allowances are back");
    }

    function test_a_batch_is_judged_call_by_call() public {
        _advance(2);
        Execution memory allowed = callOf(Class.Disapprove, 0);

        refuses(reason(), two(allowed, good()));
        refuses(reason(), two(good(), allowed));
        accepts(two(allowed, allowed));
    }

    /// @dev SPEC D10: what was last said too long ago counts as Conservation, and not as less.
    function test_an_old_word_is_conservation_at_best() public {
        vm.warp(NOW + STALENESS);
        accepts(good());
        vm.warp(NOW + STALENESS + 1);
        refuses(reason(), good());
        accepts(callOf(Class.Disapprove, 0));

        vm.prank(agent.account);
        registry.heartbeat(law.golemId, "audit");
        vm.prank(agent.account);
        registry.updateVitality(law.golemId, 0, 9000);
        accepts(callOf(Class.Approve, 0));
    }

    function test_an_old_word_of_a_later_phase_stays_what_it_is() public {
        _advance(4);
        vm.warp(NOW + 365 days);

        refuses(_notAllowed(Phase.Terminal, Class.GasTopUp), callOf(Class.GasTopUp, 0));
    }

    function test_another_golems_phase_is_its_own() public {
        vm.prank(law.owner);
        bytes32 other = registry.register("another", agent.account);
        vm.prank(law.owner);
        registry.advance(other, 4);

        accepts(callOf(Class.Approve, 0));
        accepts(good());
    }

    /// @dev ATK-34.
    function test_the_unknown_the_dead_and_the_struck_off_do_not_act() public {
        uint256 state = vm.snapshotState();
        law.golemId = keccak256("nobody");
        refuses(_notAlive(), good());

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
        refuses("", good());
    }

    function testFuzz_the_terms_are_read_back(bytes32 golemId, address register, uint32 staleness)
        public
        view
    {
        bytes memory listed = listing(law);

        (bytes32 id, address at, uint32 age, bytes memory rest) = GolemPhaseEnforcer(
                address(enforcer)
            ).getTermsInfo(abi.encodePacked(golemId, register, staleness, listed));

        vm.assertEq(id, golemId, "golemId");
        vm.assertEq(at, register, "registry");
        vm.assertEq(age, staleness, "staleness");
        vm.assertEq(rest, listed, "listing");
    }

    function testFuzz_a_strangers_direct_call_writes_nothing(address stranger) public {
        vm.assume(stranger != address(vm));
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(
            terms(), "", SINGLE_DEFAULT, packed(good()), bytes32(0), law.account, stranger
        );

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    function _advance(uint8 phase) private {
        vm.prank(law.owner);
        registry.advance(law.golemId, phase);
    }

    function _notAllowed(Phase phase, Class class) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GolemPhase.GolemPhase_NotAllowed.selector, phase, class);
    }

    function _notAlive() private view returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId);
    }
}

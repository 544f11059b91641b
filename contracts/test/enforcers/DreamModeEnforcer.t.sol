// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {DreamModeEnforcer} from "../../src/enforcers/DreamModeEnforcer.sol";
import {ICaveatEnforcer} from "../../src/interfaces/ICaveatEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {BATCH_DEFAULT, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {EnforcerTest} from "./EnforcerTest.sol";

contract DreamModeEnforcerTest is EnforcerTest {
    function setUp() public override {
        super.setUp();
        enforcer = new DreamModeEnforcer();
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(law.golemId, law.registry);
    }

    function header() internal pure override returns (uint256) {
        return 52;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            DreamModeEnforcer.DreamModeEnforcer_TermsLength.selector, 52, actual
        );
    }

    function forbid() internal override {
        _dream(law.golemId, true);
    }

    function reason() internal view override returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_Dreaming.selector, law.golemId);
    }

    function test_longer_terms_are_refused() public {
        for (uint256 length = 53; length < 120; length++) {
            vm.expectRevert(tooShort(length));
            hook(bytes.concat(terms(), new bytes(length - 52)), SINGLE_DEFAULT, packed(good()));
        }
    }

    /// @dev SPEC C4.
    function test_a_golem_acts_again_when_it_wakes() public {
        accepts(good());
        _dream(law.golemId, true);
        refuses(reason(), good());
        _dream(law.golemId, false);
        accepts(good());
    }

    /// @dev D18: nothing keeps what is left from going home.
    function test_in_terminal_no_dream_counts() public {
        _dream(law.golemId, true);
        vm.prank(law.owner);
        registry.advance(law.golemId, 3);
        refuses(reason(), good());
        vm.prank(law.owner);
        registry.advance(law.golemId, 4);
        accepts(good());
    }

    /// @dev ATK-34: the hook comes before the batch, so waking up is nothing that a batch can begin
    ///      with, even where the owner's account is its own agent.
    function test_a_dreaming_golem_does_not_wake_itself_in_a_batch() public {
        vm.prank(law.owner);
        registry.attach(law.golemId, law.account);
        vm.prank(law.account);
        registry.setDreaming(law.golemId, true);
        bytes memory wake = abi.encodeCall(IGolemRegistry.setDreaming, (law.golemId, false));

        refuses(reason(), two(Execution(address(registry), 0, wake), good()));
    }

    function test_anothers_dream_is_no_obstacle() public {
        vm.prank(law.owner);
        bytes32 other = registry.register("another", agent.account);
        _dream(other, true);

        accepts(good());
    }

    /// @dev ATK-34.
    function test_who_is_not_on_the_register_does_not_act() public {
        Law memory known = law;

        law.golemId = keccak256("nobody");
        refuses(_notAlive(), good());
        law = known;
        accepts(good());
        vm.prank(law.owner);
        registry.deregister(law.golemId);
        refuses(_notAlive(), good());
    }

    function test_the_dead_do_not_act() public {
        vm.prank(agent.account);
        registry.close(law.golemId);
        refuses(_notAlive(), good());
    }

    /// @dev Fail closed.
    function test_a_registry_without_code_says_nothing() public {
        law.registry = address(0xdead);
        refuses("", good());
    }

    function test_an_empty_batch_does_not_get_around_the_dream() public {
        Delegation memory leaf = given(me());
        forbid();
        vm.expectRevert(reason());
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(new Execution[](0)));
    }

    function testFuzz_the_execution_is_not_looked_at(bytes memory noise) public {
        hook(terms(), SINGLE_DEFAULT, noise);
        forbid();
        vm.expectRevert(reason());
        hook(terms(), SINGLE_DEFAULT, noise);
    }

    function testFuzz_the_terms_are_read_back(bytes32 golemId, address register) public view {
        (bytes32 readId, address readRegister) =
            DreamModeEnforcer(address(enforcer)).getTermsInfo(abi.encodePacked(golemId, register));

        vm.assertEq(readId, golemId, "golemId");
        vm.assertEq(readRegister, register, "registry");
    }

    function testFuzz_a_strangers_direct_call_writes_nothing(address stranger) public {
        vm.assume(stranger != address(vm));
        vm.record();
        vm.prank(stranger);
        ICaveatEnforcer(enforcer)
            .beforeHook(terms(), "", SINGLE_DEFAULT, "", bytes32(0), law.account, stranger);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    function _dream(bytes32 golemId, bool dreaming) private {
        vm.prank(agent.account);
        registry.setDreaming(golemId, dreaming);
    }

    function _notAlive() private view returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId);
    }
}

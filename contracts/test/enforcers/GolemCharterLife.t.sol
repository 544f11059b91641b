// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {BATCH_DEFAULT, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {GolemPhase, Phase} from "../../src/rules/GolemPhase.sol";
import {MortalityTimeWindow} from "../../src/rules/MortalityTimeWindow.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice When a Golem may act at all: its window, its entry in the registry, its dreams.
contract GolemCharterLifeTest is CharterCalls {
    // C3: both ends of the window belong to it.

    function test_the_first_second_of_the_window_is_in_it() public {
        vm.warp(law.start - 1);
        refuses(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_NotYetBorn.selector,
                law.start,
                law.start - 1
            ),
            ROUTER_02,
            swap(100e6)
        );

        vm.warp(law.start);
        accepts(ROUTER_02, swap(100e6));
    }

    /// @dev ATK-33.
    function test_the_last_second_of_the_window_is_in_it() public {
        vm.warp(law.end);
        accepts(ROUTER_02, swap(100e6));

        vm.warp(law.end + 1);
        refuses(
            abi.encodeWithSelector(
                MortalityTimeWindow.MortalityTimeWindow_Expired.selector, law.end, law.end + 1
            ),
            ROUTER_02,
            swap(100e6)
        );
    }

    // Registered, and not closed

    function test_a_golem_that_was_never_registered_does_nothing() public {
        law.golemId = registry.golemIdOf(human.account, "another");

        refuses(_notAlive(), ROUTER_02, swap(100e6));
    }

    /// @dev ATK-34.
    function test_a_closed_golem_does_nothing() public {
        vm.prank(agent.account);
        registry.close(law.golemId);

        refuses(_notAlive(), ROUTER_02, swap(100e6));
        refuses(_notAlive(), address(USDC), transfer(human.account, 1));
    }

    function test_a_deregistered_golem_does_nothing() public {
        vm.prank(human.account);
        registry.deregister(law.golemId);

        refuses(_notAlive(), ROUTER_02, swap(100e6));
    }

    /// @dev A registry that is no contract answers nothing: refused, not ignored.
    function test_a_registry_without_code_is_no_registry() public {
        law.registry = actor("no registry").account;

        refuses("", ROUTER_02, swap(100e6));
    }

    // Epochs and generations

    function test_the_lowest_and_the_highest_epoch_of_a_series_are_good() public {
        law.epoch = 0;
        accepts(ROUTER_02, swap(1e6));

        law.epoch = 1_023;
        accepts(ROUTER_02, swap(1e6));
    }

    function test_an_epoch_of_a_series_not_begun_is_refused() public {
        law.epoch = 1_024;

        refuses(_epochRevoked(1_024, 0), ROUTER_02, swap(1e6));
    }

    function test_revoke_ends_every_epoch_of_the_series_in_one_call_of_the_owners_eoa() public {
        accepts(ROUTER_02, swap(1e6));

        vm.prank(human.account);
        registry.revoke(law.golemId);

        refuses(_epochRevoked(1, 1_024), ROUTER_02, swap(1e6));
        law.epoch = 1_023;
        refuses(_epochRevoked(1_023, 1_024), ROUTER_02, swap(1e6));
        law.epoch = 2_048;
        refuses(_epochRevoked(2_048, 1_024), ROUTER_02, swap(1e6));
        law.epoch = 1_024;
        accepts(ROUTER_02, swap(1e6));
    }

    function test_revoke_all_ends_every_grant_of_the_owner_in_one_call_of_his_eoa() public {
        accepts(ROUTER_02, swap(1e6));

        vm.prank(human.account);
        registry.revokeAll();

        refuses(_otherGeneration(0, 1), ROUTER_02, swap(1e6));
        law.generation = 1;
        accepts(ROUTER_02, swap(1e6));
    }

    function test_a_generation_yet_to_come_is_refused() public {
        law.generation = 1;

        refuses(_otherGeneration(1, 0), ROUTER_02, swap(1e6));
    }

    function test_revoke_all_of_another_owner_ends_nothing_here() public {
        vm.prank(actor("somebody").account);
        registry.revokeAll();

        accepts(ROUTER_02, swap(1e6));
    }

    // C4: dreams

    function test_a_dreaming_golem_does_nothing_until_it_wakes() public {
        vm.prank(agent.account);
        registry.setDreaming(law.golemId, true);
        bytes memory asleep =
            abi.encodeWithSelector(GolemLife.GolemLife_Dreaming.selector, law.golemId);

        refuses(asleep, ROUTER_02, swap(1e6));
        refuses(asleep, address(USDC), transfer(human.account, 1));
        refuses(asleep, address(USDC), approve(ROUTER_02, 0));

        vm.prank(agent.account);
        registry.setDreaming(law.golemId, false);
        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev D18: whoever set the dream, what is left goes home.
    function test_a_golem_that_dies_in_a_dream_still_settles() public {
        vm.prank(agent.account);
        registry.setDreaming(law.golemId, true);
        vm.prank(law.owner);
        registry.advance(law.golemId, 4);

        accepts(address(USDC), transfer(human.account, 100e6));
        // And does nothing else.
        bytes memory buys = abi.encodeCall(IVault.deposit, (1e6, law.account));
        refuses(_phaseRefuses(Phase.Terminal, Class.Deposit), vault, buys);
    }

    // Staleness: D10

    function test_news_as_old_as_the_bound_still_count() public {
        law.staleness = 1 hours;

        vm.warp(NOW + 1 hours);
        accepts(ROUTER_02, swap(1e6));

        vm.warp(NOW + 1 hours + 1);
        refuses(_phaseRefuses(Phase.Conservation, Class.Swap), ROUTER_02, swap(1e6));
    }

    function test_a_heartbeat_makes_old_news_new() public {
        law.staleness = 1 hours;
        vm.warp(NOW + 1 hours + 1);

        vm.prank(agent.account);
        registry.heartbeat(law.golemId, "head");

        accepts(ROUTER_02, swap(1e6));
    }

    function test_old_news_never_make_a_golem_livelier() public {
        advanceTo(3);
        law.staleness = 1 hours;
        vm.warp(NOW + 1 hours + 1);

        // Declining sends home; Conservation would not.
        accepts(address(USDC), transfer(human.account, 1e6));
        refuses(_phaseRefuses(Phase.Declining, Class.Swap), ROUTER_02, swap(1e6));
    }

    /// @dev With no age allowed, news count in the second they are written.
    function test_a_staleness_of_zero_allows_the_second_of_the_news_only() public {
        law.staleness = 0;
        accepts(ROUTER_02, swap(1e6));

        vm.warp(NOW + 1);
        refuses(_phaseRefuses(Phase.Conservation, Class.Swap), ROUTER_02, swap(1e6));
    }

    // The owner's pushes

    function test_the_owner_advances_the_phase_and_feeds_it_back() public {
        advanceTo(2);
        refuses(_phaseRefuses(Phase.Conservation, Class.Swap), ROUTER_02, swap(1e6));

        vm.prank(human.account);
        registry.feed(law.golemId, 1);
        accepts(ROUTER_02, swap(1e6));
        refuses(
            _phaseRefuses(Phase.Stable, Class.SpawnReplicant),
            address(lifecycle),
            abi.encodeCall(IGolemLifecycle.spawnReplicant, (law.golemId, agent.account, ""))
        );

        vm.prank(human.account);
        registry.feed(law.golemId, 0);
        accepts(
            address(lifecycle),
            abi.encodeCall(IGolemLifecycle.spawnReplicant, (law.golemId, agent.account, ""))
        );
    }

    /// @dev D9: Terminal never resets.
    function test_terminal_is_not_fed() public {
        advanceTo(4);

        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_CannotFeed.selector, law.golemId, 4, 0
            )
        );
        vm.prank(human.account);
        registry.feed(law.golemId, 0);
    }

    function _notAlive() private view returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId);
    }

    function _epochRevoked(uint256 epoch, uint256 least) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemLife.GolemLife_EpochRevoked.selector, law.golemId, epoch, least
        );
    }

    function _otherGeneration(uint256 named, uint256 current) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemLife.GolemLife_OtherGeneration.selector, human.account, named, current
        );
    }

    function _phaseRefuses(Phase phase, Class class) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GolemPhase.GolemPhase_NotAllowed.selector, phase, class);
    }
}

/// @notice Every class in every phase, by a table written from C2 and D18 and not from the library.
contract GolemCharterPhaseTest is CharterCalls {
    uint256 private _position;

    function setUp() public override {
        super.setUp();
        (_position,) = openPosition(account);
        vm.prank(account);
        IVault(vault).deposit(1_000e6, account);
        vm.deal(account, 5 ether);
    }

    /// @dev One column a phase, Thriving to Terminal: 1 is allowed.
    function _row(Class class) private pure returns (string memory) {
        if (class == Class.Swap) return "11001";
        if (class == Class.AddLiquidity) return "11000";
        if (class == Class.RemoveLiquidity) return "11111";
        if (class == Class.Collect) return "11111";
        if (class == Class.BurnPosition) return "11111";
        if (class == Class.Deposit) return "11000";
        if (class == Class.Withdraw) return "11111";
        if (class == Class.Approve) return "11000";
        if (class == Class.Disapprove) return "11111";
        if (class == Class.Transfer) return "11011";
        if (class == Class.Wrap) return "11011";
        if (class == Class.Unwrap) return "11000";
        if (class == Class.GasTopUp) return "11110";
        if (class == Class.SpawnReplicant) return "10000";
        if (class == Class.Settle) return "11001";
        if (class == Class.Publish) return "11111";
        if (class == Class.Sell) return "11000";
        return "00000";
    }

    function test_every_class_is_allowed_in_exactly_the_phases_of_the_table() public {
        for (uint8 phase = 0; phase <= 4; phase++) {
            if (phase != 0) advanceTo(phase);
            for (uint256 i = 1; i <= uint256(type(Class).max); i++) {
                Class class = Class(i);
                uint256 here = vm.snapshotState();
                if (bytes(_row(class))[phase] == "1") {
                    hook(encode(law), SINGLE_DEFAULT, _example(class));
                } else {
                    refuses(
                        abi.encodeWithSelector(
                            GolemPhase.GolemPhase_NotAllowed.selector, phase, class
                        ),
                        SINGLE_DEFAULT,
                        _example(class)
                    );
                }
                vm.revertToState(here);
            }
        }
    }

    /// @dev The examples are of the classes they stand for: without its bit each is refused by name.
    function test_a_class_without_its_bit_is_refused_and_all_others_stay_allowed() public {
        for (uint256 i = 1; i <= uint256(type(Class).max); i++) {
            Class class = Class(i);
            uint256 here = vm.snapshotState();
            if (class == Class.Settle) advanceTo(4);

            law.classes = ALL_CLASSES & ~bitOf(i);
            refuses(noClass(class), SINGLE_DEFAULT, _example(class));
            // The bit alone is enough for the class.
            law.classes = bitOf(i);
            hook(encode(law), SINGLE_DEFAULT, _example(class));
            vm.revertToState(here);
        }
    }

    function test_a_batch_is_judged_class_by_class() public {
        advanceTo(2);
        Execution[] memory calls = list(
            call(POSITIONS, collect(_position, account)), call(address(USDC), approve(ROUTER_02, 1))
        );

        refuses(
            abi.encodeWithSelector(
                GolemPhase.GolemPhase_NotAllowed.selector, Phase.Conservation, Class.Approve
            ),
            BATCH_DEFAULT,
            abi.encode(calls)
        );
    }

    /// @dev D10: a thief who keeps himself Thriving gains nothing over an owner's push.
    function test_an_agent_cannot_take_back_the_owners_push() public {
        advanceTo(3);

        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemRegistry.GolemRegistry_PhaseBackward.selector, law.golemId, 3, 0
            )
        );
        vm.prank(agent.account);
        registry.updateVitality(law.golemId, 0, 10_000);
    }

    /// @dev One call of each class that nothing but the phase stands against.
    function _example(Class class) private view returns (bytes memory) {
        // To the settlement asset, so that Terminal has nothing against it.
        if (class == Class.Swap) {
            return single(ROUTER_02, sellWeth(0.04e18, 99e6, account));
        }
        if (class == Class.AddLiquidity) {
            return single(POSITIONS, mintPosition(0.01e18, 25e6, account));
        }
        if (class == Class.RemoveLiquidity) return single(POSITIONS, decrease(_position, 1));
        if (class == Class.Collect) return single(POSITIONS, collect(_position, account));
        if (class == Class.BurnPosition) return single(POSITIONS, burn(_position));
        if (class == Class.Deposit) return single(vault, deposit(1e6, account));
        if (class == Class.Withdraw) {
            return single(vault, abi.encodeCall(IVault.withdraw, (1e6, account, account)));
        }
        if (class == Class.Approve) return single(address(USDC), approve(ROUTER_02, 1));
        if (class == Class.Disapprove) return single(address(USDC), approve(ROUTER_02, 0));
        if (class == Class.Transfer) return single(address(USDC), transfer(human.account, 1));
        if (class == Class.Wrap) {
            return paid(address(WETH), 1, abi.encodeCall(IWeth.deposit, ()));
        }
        if (class == Class.Unwrap) {
            return single(address(WETH), abi.encodeCall(IWeth.withdraw, (1)));
        }
        if (class == Class.GasTopUp) return paid(agent.account, 1, "");
        if (class == Class.SpawnReplicant) {
            return single(
                address(lifecycle),
                abi.encodeCall(IGolemLifecycle.spawnReplicant, (law.golemId, agent.account, ""))
            );
        }
        if (class == Class.Settle) {
            return
                single(
                    address(lifecycle), abi.encodeCall(IGolemLifecycle.settle, (law.golemId, ""))
                );
        }
        if (class == Class.Sell) return single(address(market), sell(ownEntry));
        return
            single(address(registry), abi.encodeCall(IGolemRegistry.heartbeat, (law.golemId, "")));
    }
}

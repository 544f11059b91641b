// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemState, GolemWord, GolemWords} from "../../src/registry/GolemWord.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract LifeRule {
    function requireAlive(GolemWord word, bytes32 golemId) external pure {
        GolemLife.requireAlive(word, golemId);
    }

    function requireAwake(GolemWord word, bytes32 golemId) external pure {
        GolemLife.requireAwake(word, golemId);
    }

    function requireEpoch(GolemWord word, bytes32 golemId, uint16 epoch) external pure {
        GolemLife.requireEpoch(word, golemId, epoch);
    }

    function requireGeneration(address owner, uint32 generation, uint32 current) external pure {
        GolemLife.requireGeneration(owner, generation, current);
    }
}

contract GolemLifeTest is TestBase {
    bytes32 private constant ID = "golem";

    LifeRule private _rule;

    function setUp() public {
        _rule = new LifeRule();
    }

    /// @dev ATK-34. Whatever else the word says.
    function testFuzz_alive_is_registered_and_not_closed(GolemState memory state, bytes32 golemId)
        public
    {
        GolemWord word = _word(state);

        if (!state.registered || state.closed) vm.expectRevert(_notAlive(golemId));
        _rule.requireAlive(word, golemId);
    }

    function test_a_golem_nobody_registered_is_not_alive() public {
        vm.expectRevert(_notAlive(ID));
        _rule.requireAlive(GolemWord.wrap(0), ID);
    }

    function test_every_case_of_alive() public {
        for (uint256 flags = 0; flags < 4; flags++) {
            GolemState memory state;
            (state.registered, state.closed) = (flags & 1 != 0, flags & 2 != 0);

            if (flags != 1) vm.expectRevert(_notAlive(ID));
            _rule.requireAlive(_word(state), ID);
        }
    }

    function test_who_dies_does_not_dream() public {
        for (uint8 phase = 0; phase <= GolemWords.TERMINAL; phase++) {
            GolemState memory state;
            (state.dreaming, state.phase) = (true, phase);

            if (phase < 4) {
                vm.expectRevert(abi.encodeWithSelector(GolemLife.GolemLife_Dreaming.selector, ID));
            }
            _rule.requireAwake(_word(state), ID);
        }
    }

    function testFuzz_awake_is_not_dreaming_before_death(GolemState memory state, bytes32 golemId)
        public
    {
        GolemWord word = _word(state);

        if (state.dreaming && state.phase != 4) {
            vm.expectRevert(abi.encodeWithSelector(GolemLife.GolemLife_Dreaming.selector, golemId));
        }
        _rule.requireAwake(word, golemId);
    }

    /// @dev A series is 1,024 epochs from the minimum on; 65,535 is never one.
    function testFuzz_an_epoch_is_good_in_its_series(uint16 lowest, uint16 epoch) public {
        bool good = epoch >= lowest && uint256(epoch) < uint256(lowest) + 1024 && epoch < 65_535;

        if (!good) vm.expectRevert(_revoked(epoch, lowest));
        _rule.requireEpoch(_since(lowest), ID, epoch);
    }

    function test_the_ends_of_a_series() public {
        _rule.requireEpoch(_since(2048), ID, 2048);
        _rule.requireEpoch(_since(2048), ID, 3071);
        _rule.requireEpoch(_since(64_512), ID, 65_534);

        vm.expectRevert(_revoked(2047, 2048));
        _rule.requireEpoch(_since(2048), ID, 2047);
        vm.expectRevert(_revoked(3072, 2048));
        _rule.requireEpoch(_since(2048), ID, 3072);
        vm.expectRevert(_revoked(65_535, 64_512));
        _rule.requireEpoch(_since(64_512), ID, 65_535);
    }

    function testFuzz_only_the_current_generation_is_good(
        address owner,
        uint32 generation,
        uint32 current
    ) public {
        _rule.requireGeneration(owner, current, current);

        if (generation != current) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    GolemLife.GolemLife_OtherGeneration.selector, owner, generation, current
                )
            );
        }
        _rule.requireGeneration(owner, generation, current);
    }

    function _since(uint16 lowest) private pure returns (GolemWord) {
        GolemState memory state;
        state.registered = true;
        state.minEpoch = lowest;
        return _word(state);
    }

    /// @dev Brings fuzzed fields into the ranges that a word has room for.
    function _word(GolemState memory state) private pure returns (GolemWord) {
        state.phase %= 5;
        state.score %= 10_001;
        (state.pleasure, state.arousal, state.dominance) = (100, -100, 0);
        return GolemWords.pack(state);
    }

    function _notAlive(bytes32 golemId) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, golemId);
    }

    function _revoked(uint256 epoch, uint256 lowest) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GolemLife.GolemLife_EpochRevoked.selector, ID, epoch, lowest);
    }
}

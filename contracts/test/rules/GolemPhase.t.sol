// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class} from "../../src/rules/Actions.sol";
import {GolemPhase, Phase} from "../../src/rules/GolemPhase.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract PhaseRule {
    function check(Phase phase, Class class) external pure {
        GolemPhase.check(phase, class);
    }

    function allowed(Phase phase) external pure returns (uint256) {
        return GolemPhase.allowed(phase);
    }
}

/// @notice SPEC C2 and D18, cell by cell.
contract GolemPhaseTest is TestBase {
    /// @dev What a class may in Thriving, Stable, Conservation, Declining and Terminal: y or n.
    struct PhaseRow {
        Class class;
        bytes5 cells;
    }

    PhaseRule private _rule;

    function setUp() public {
        _rule = new PhaseRule();
    }

    function test_the_matrix_is_the_one_of_the_specification() public {
        PhaseRow[] memory rows = _matrix();
        for (uint256 i = 0; i < rows.length; i++) {
            for (uint8 phase = 0; phase < 5; phase++) {
                _assertCell(Phase(phase), rows[i].class, rows[i].cells[phase] == "y");
            }
        }
    }

    /// @dev SPEC C2: in Thriving everything, in Stable everything but children. Nobody is worse off
    ///      when a Golem signs off early.
    function test_a_lively_golem_may_sign_off() public view {
        _rule.check(Phase.Thriving, Class.Settle);
        _rule.check(Phase.Stable, Class.Settle);
    }

    function test_the_matrix_has_a_row_for_every_class() public pure {
        PhaseRow[] memory rows = _matrix();

        vm.assertEq(rows.length, uint256(type(Class).max) + 1, "rows");
        for (uint256 i = 0; i < rows.length; i++) {
            vm.assertEq(uint256(rows[i].class), i, "each class once, in order");
        }
    }

    function test_what_nobody_classed_is_allowed_in_no_phase() public {
        for (uint8 phase = 0; phase <= uint8(type(Phase).max); phase++) {
            _assertCell(Phase(phase), Class.None, false);
        }
    }

    /// @dev A later phase takes away; the two that give are the way home and the settlement.
    function test_a_phase_gives_nothing_that_the_one_before_did_not_but_the_way_out() public view {
        uint256 home = _bit(Class.Transfer) | _bit(Class.Wrap);
        uint256 last = _bit(Class.Swap) | _bit(Class.Settle);

        vm.assertEq(_gained(Phase.Thriving, Phase.Stable), 0, "Stable");
        vm.assertEq(_gained(Phase.Stable, Phase.Conservation), 0, "Conservation");
        vm.assertEq(_gained(Phase.Conservation, Phase.Declining), home, "Declining");
        vm.assertEq(_gained(Phase.Declining, Phase.Terminal), last, "Terminal");
    }

    function test_no_phase_has_a_bit_that_is_no_class() public view {
        uint256 known = (1 << (uint256(type(Class).max) + 1)) - 2;
        for (uint8 phase = 0; phase <= uint8(type(Phase).max); phase++) {
            vm.assertEq(_rule.allowed(Phase(phase)) & ~known, 0, "stray bits");
        }
    }

    /// @dev The two cells of Settle that {test_a_lively_golem_may_sign_off} is about are left to it.
    function _assertCell(Phase phase, Class class, bool allowed) private {
        if (class == Class.Settle && phase <= Phase.Stable) return;
        if (!allowed) {
            vm.expectRevert(
                abi.encodeWithSelector(GolemPhase.GolemPhase_NotAllowed.selector, phase, class)
            );
        }
        _rule.check(phase, class);
    }

    function _gained(Phase before, Phase afterwards) private view returns (uint256) {
        return _rule.allowed(afterwards) & ~_rule.allowed(before);
    }

    function _bit(Class class) private pure returns (uint256) {
        return 1 << uint256(class);
    }

    function _matrix() private pure returns (PhaseRow[] memory rows) {
        rows = new PhaseRow[](18);
        rows[0] = PhaseRow(Class.None, "nnnnn");
        rows[1] = PhaseRow(Class.Swap, "yynny");
        rows[2] = PhaseRow(Class.AddLiquidity, "yynnn");
        rows[3] = PhaseRow(Class.RemoveLiquidity, "yyyyy");
        rows[4] = PhaseRow(Class.Collect, "yyyyy");
        rows[5] = PhaseRow(Class.BurnPosition, "yyyyy");
        rows[6] = PhaseRow(Class.Deposit, "yynnn");
        rows[7] = PhaseRow(Class.Withdraw, "yyyyy");
        rows[8] = PhaseRow(Class.Approve, "yynnn");
        rows[9] = PhaseRow(Class.Disapprove, "yyyyy");
        rows[10] = PhaseRow(Class.Transfer, "yynyy");
        rows[11] = PhaseRow(Class.Wrap, "yynyy");
        rows[12] = PhaseRow(Class.Unwrap, "yynnn");
        rows[13] = PhaseRow(Class.GasTopUp, "yyyyn");
        rows[14] = PhaseRow(Class.SpawnReplicant, "ynnnn");
        rows[15] = PhaseRow(Class.Settle, "yynny");
        rows[16] = PhaseRow(Class.Publish, "yyyyy");
        rows[17] = PhaseRow(Class.Sell, "yynnn");
    }
}

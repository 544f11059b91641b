// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class} from "./Actions.sol";

/// @notice How far a Golem's life has gone. Lower is livelier; it only ever rises.
enum Phase {
    Thriving,
    Stable,
    Conservation,
    Declining,
    Terminal
}

/// @notice What a Golem may still do in each phase of its life.
/// @dev One bit per class, one word per phase; a class without a bit is refused. Self-reported phases bind
///      an honest Golem; against a thief only the owner's own push counts (SPEC D10).
library GolemPhase {
    /// @notice The phase does not allow this kind of action.
    error GolemPhase_NotAllowed(Phase phase, Class class);

    uint256 private constant UNWIND = (1 << uint256(Class.RemoveLiquidity))
        | (1 << uint256(Class.Collect)) | (1 << uint256(Class.BurnPosition))
        | (1 << uint256(Class.Withdraw)) | (1 << uint256(Class.Disapprove))
        | (1 << uint256(Class.Publish));

    uint256 private constant TRADE = UNWIND | (1 << uint256(Class.Swap))
        | (1 << uint256(Class.AddLiquidity)) | (1 << uint256(Class.Deposit))
        | (1 << uint256(Class.Approve)) | (1 << uint256(Class.Transfer))
        | (1 << uint256(Class.Wrap)) | (1 << uint256(Class.Unwrap)) | (1 << uint256(Class.GasTopUp))
        | (1 << uint256(Class.Settle)) | (1 << uint256(Class.Sell));

    /// @notice Everything, children included.
    uint256 internal constant THRIVING = TRADE | (1 << uint256(Class.SpawnReplicant));
    /// @notice Everything but children.
    uint256 internal constant STABLE = TRADE;
    /// @notice Positions are closed, none is opened; gas to do so may be fetched.
    uint256 internal constant CONSERVATION = UNWIND | (1 << uint256(Class.GasTopUp));
    /// @notice The same, and what is free goes home; ether goes as wrapped ether.
    uint256 internal constant DECLINING =
        CONSERVATION | (1 << uint256(Class.Transfer)) | (1 << uint256(Class.Wrap));
    /// @notice Settlement alone: close, convert, send home, sign off (SPEC D18).
    uint256 internal constant TERMINAL = UNWIND | (1 << uint256(Class.Transfer))
        | (1 << uint256(Class.Wrap)) | (1 << uint256(Class.Swap)) | (1 << uint256(Class.Settle));

    /// @notice Classes a phase allows, a bit each.
    function allowed(Phase phase) internal pure returns (uint256) {
        if (phase == Phase.Thriving) return THRIVING;
        if (phase == Phase.Stable) return STABLE;
        if (phase == Phase.Conservation) return CONSERVATION;
        if (phase == Phase.Declining) return DECLINING;
        return TERMINAL;
    }

    /// @notice Refuses what the phase does not allow.
    function check(Phase phase, Class class) internal pure {
        if (allowed(phase) & (1 << uint256(class)) == 0) {
            revert GolemPhase_NotAllowed(phase, class);
        }
    }
}

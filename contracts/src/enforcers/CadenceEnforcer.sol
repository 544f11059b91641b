// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {Cadence, Redemptions} from "../rules/Cadence.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Lets a Golem act so many times in any period, and no more: once a week, where the period is
///         seven days and the count one.
/// @dev Terms: golemId 32 ‖ period u32 in seconds ‖ count u8, 37 bytes. Modes: single and batch, as the
///      rule never looks at the execution. Each execution of a redemption counts one; a batch is one.
///
///      State is keyed by manager, delegator and golemId: children of one grant share it, and feed,
///      rotation and re-grant refill nothing (SPEC D17). Anyone may call a hook, and writes under his
///      own address only.
///
///      Two of these caveats on one link, for one Golem, count each execution twice: they refuse early,
///      never late.
///
///      Not promised: anything about what is executed, or for how much; that an earlier grant with a
///      faster cadence is dead; nor a clock better than the block's, which its producer can shift by
///      seconds.
contract CadenceEnforcer is CaveatEnforcer {
    mapping(
        address manager
            => mapping(address delegator => mapping(bytes32 golemId => Redemptions redemptions))
    ) private _redemptions;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata,
        bytes32,
        address delegator,
        address
    ) public override onlyDefaultExecutionMode(mode) {
        (bytes32 golemId, uint32 period, uint8 count) = getTermsInfo(terms);
        Cadence.record(_redemptions[msg.sender][delegator][golemId], period, count, block.timestamp);
    }

    /// @notice First second at which these terms let the Golem act again; past or zero means now.
    function dueAt(address manager, address delegator, bytes calldata terms)
        external
        view
        returns (uint256)
    {
        (bytes32 golemId, uint32 period, uint8 count) = getTermsInfo(terms);
        return Cadence.dueAt(_redemptions[manager][delegator][golemId], period, count);
    }

    /// @notice How many times the Golem acted, under every grant that carried this caveat.
    function redemptionsOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256)
    {
        return Cadence.total(_redemptions[manager][delegator][golemId]);
    }

    /// @notice Reads terms, refusing those that no redemption could satisfy, or any.
    /// @return golemId Whose redemptions are counted.
    /// @return period Seconds.
    /// @return count Most redemptions in any period of that length.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (bytes32 golemId, uint32 period, uint8 count)
    {
        return Cadence.decode(terms);
    }
}

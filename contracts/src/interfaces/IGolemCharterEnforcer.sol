// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "./ModeCode.sol";
import {Class} from "../rules/Actions.sol";
import {Charter} from "../rules/CharterTerms.sol";

/// @notice What the charter says when it refuses, what it tells when it does not, and what it remembers.
///         Refusals of single rules are those of their libraries.
interface IGolemCharterEnforcer {
    /// @notice Somebody else than the agent's key redeems.
    error GolemCharter_Redeemer(address redeemer, address agentKey);
    /// @notice The owner's charter has no such class.
    error GolemCharter_Class(Class class);
    /// @notice The account, the manager and this contract are nobody's targets; the registry only to
    ///         publish.
    error GolemCharter_ForbiddenTarget(address target);
    /// @notice Value would go to somebody else than the account, or the beneficiary of a sweep.
    error GolemCharter_Recipient(address recipient, address expected);
    /// @notice Tokens or shares of somebody else than the account would be used.
    error GolemCharter_Source(address source, address account);
    /// @notice An approval to a spender that may pull for others than its caller.
    error GolemCharter_Spender(address token, address spender);
    /// @notice The call speaks of another Golem.
    error GolemCharter_OtherGolem(bytes32 golemId, bytes32 expected);
    /// @notice A dying Golem converts to one asset only, and not from it.
    error GolemCharter_SettlementAsset(address tokenOut, address tokenIn, address settlementAsset);
    /// @notice The agent's key would hold more gas money than its ceiling, in wei.
    error GolemCharter_GasCeiling(uint256 balance, uint256 ceiling);
    /// @notice More gas money than is left of the day's, in gwei.
    error GolemCharter_GasDailyCap(uint256 amount, uint256 room, uint256 cap);
    /// @notice Neither a hook of the framework nor a view.
    error GolemCharter_UnknownCall(bytes4 selector);

    /// @notice The framework asks before it executes; the charter refuses, or counts.
    function beforeHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata execution,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) external;

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        external
        pure
        returns (Charter memory charter, bytes calldata listing);

    /// @notice The spend window and epoch of one Golem, as {SpendWindow} packs them.
    function spendWindowOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256);

    /// @notice The window of gas money, in gwei, as {SpendWindow} packs it.
    function gasWindowOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256);

    /// @notice Checkpoints of the vault's assets, as {VaultNav} packs them.
    function navCheckpointsOf(address manager, address delegator, bytes32 golemId, address vault)
        external
        view
        returns (uint256);

    /// @notice What a dying Golem converts to, epoch u16 above address; zero before its first redemption in
    ///         Terminal.
    function settlementOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256);
}

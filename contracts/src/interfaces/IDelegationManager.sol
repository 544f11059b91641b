// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "./ModeCode.sol";

/// @notice A rule and its bound. The signature covers `enforcer` and `terms`; `args` belong to the
///         redeemer.
struct Caveat {
    address enforcer;
    bytes terms;
    bytes args;
}

/// @notice One link: `delegator` lets `delegate` act for it within `caveats`.
/// @dev `authority` is ROOT_AUTHORITY, or the hash of the link above. `signature` is not hashed.
struct Delegation {
    address delegate;
    address delegator;
    bytes32 authority;
    Caveat[] caveats;
    uint256 salt;
    bytes signature;
}

/// @notice One call of a batch.
struct Execution {
    address target;
    uint256 value;
    bytes callData;
}

/// @dev Authority of a delegation that the executing account itself granted.
bytes32 constant ROOT_AUTHORITY = bytes32(type(uint256).max);

/// @dev Delegate that stands for anybody.
address constant ANY_DELEGATE = address(0xa11);

/// @dev EIP-712 type of a caveat.
bytes32 constant CAVEAT_TYPEHASH = keccak256("Caveat(address enforcer,bytes terms)");

/// @dev EIP-712 type of a delegation.
bytes32 constant DELEGATION_TYPEHASH = keccak256(
    "Delegation(address delegate,address delegator,bytes32 authority,Caveat[] caveats,uint256 salt)"
    "Caveat(address enforcer,bytes terms)"
);

/// @notice The part of the framework's DelegationManager (1.3.0) that Bardo speaks to.
interface IDelegationManager {
    /// @notice The delegation, or a link above it, was switched off.
    error CannotUseADisabledDelegation();
    /// @notice The redeemer is not the leaf's delegate, or a link was not granted by one.
    error InvalidDelegate();
    /// @notice Only the delegator of a link may switch it.
    error InvalidDelegator();
    /// @notice A link does not name the one above it.
    error InvalidAuthority();
    /// @notice A delegator without code did not sign this.
    error InvalidEOASignature();
    /// @notice A delegator with code does not stand by this signature.
    error InvalidERC1271Signature();
    /// @notice Contexts, modes and executions differ in number.
    error BatchDataLengthMismatch();
    /// @notice It was switched off already.
    error AlreadyDisabled();
    /// @notice It was not switched off.
    error AlreadyEnabled();

    /// @notice A link was used; emitted once per link.
    event RedeemedDelegation(
        address indexed rootDelegator, address indexed redeemer, Delegation delegation
    );
    /// @notice A link was switched off.
    event DisabledDelegation(
        bytes32 indexed delegationHash,
        address indexed delegator,
        address indexed delegate,
        Delegation delegation
    );
    /// @notice A link was switched on again.
    event EnabledDelegation(
        bytes32 indexed delegationHash,
        address indexed delegator,
        address indexed delegate,
        Delegation delegation
    );

    /// @notice Executes from the root delegators' accounts what the chains of delegations allow.
    /// @param permissionContexts Per tuple, the ABI-encoded Delegation[], leaf first.
    /// @param modes Per tuple, how to execute.
    /// @param executionCallDatas Per tuple, what to execute.
    function redeemDelegations(
        bytes[] calldata permissionContexts,
        ModeCode[] calldata modes,
        bytes[] calldata executionCallDatas
    ) external;

    /// @notice Switches a link off, and so everything below it. By its delegator only.
    function disableDelegation(Delegation calldata delegation) external;

    /// @notice Switches a link on again. By its delegator only.
    function enableDelegation(Delegation calldata delegation) external;

    /// @notice Whether a link is switched off.
    function disabledDelegations(bytes32 delegationHash) external view returns (bool);

    /// @notice EIP-712 struct hash, without domain: the same on every chain.
    function getDelegationHash(Delegation calldata delegation) external pure returns (bytes32);

    /// @notice EIP-712 domain separator of the manager on this chain.
    function getDomainHash() external view returns (bytes32);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice How the owner's account is asked to execute, in the word ERC-7579 defines.
/// @dev Byte 0 is the call type, byte 1 what happens when a call fails; 4 unused bytes, a 4-byte
///      selector and a 22-byte payload follow, which the framework's accounts do not read.
type ModeCode is bytes32;

using {equals as ==, differs as !=} for ModeCode global;

/// @dev One call; its failure undoes the redemption.
ModeCode constant SINGLE_DEFAULT = ModeCode.wrap(bytes32(0));

/// @dev One call; its failure is only reported by an event.
ModeCode constant SINGLE_TRY = ModeCode.wrap(bytes32(uint256(0x0001) << 240));

/// @dev Several calls; the failure of any one undoes the redemption.
ModeCode constant BATCH_DEFAULT = ModeCode.wrap(bytes32(uint256(0x0100) << 240));

/// @dev Several calls; those that fail are only reported by an event.
ModeCode constant BATCH_TRY = ModeCode.wrap(bytes32(uint256(0x0101) << 240));

/// @dev Whole words are compared, so that a bit nobody has given a meaning is never ignored.
function equals(ModeCode a, ModeCode b) pure returns (bool) {
    return ModeCode.unwrap(a) == ModeCode.unwrap(b);
}

/// @dev See {equals}.
function differs(ModeCode a, ModeCode b) pure returns (bool) {
    return ModeCode.unwrap(a) != ModeCode.unwrap(b);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice The cheatcodes of forge that our tests use, and no others.
interface Vm {
    // The world
    function warp(uint256 timestamp) external;
    function chainId(uint256 id) external;
    function etch(address target, bytes calldata code) external;
    function deal(address account, uint256 balance) external;
    function loadAllocs(string calldata path) external;
    function setEvmVersion(string calldata name) external;
    function snapshotState() external returns (uint256 id);
    function revertToState(uint256 id) external returns (bool);
    function pauseGasMetering() external;

    function deployCode(string calldata artifact) external returns (address);

    // Who acts
    function addr(uint256 key) external pure returns (address);
    function label(address account, string calldata name) external;
    function prank(address sender) external;
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);

    // What is expected
    function assume(bool condition) external pure;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function expectEmit(address emitter) external;
    function record() external;
    function accesses(address target)
        external
        view
        returns (bytes32[] memory reads, bytes32[] memory writes);
    function assertTrue(bool condition, string calldata reason) external pure;
    function assertFalse(bool condition, string calldata reason) external pure;
    function assertEq(uint256 left, uint256 right, string calldata reason) external pure;
    function assertEq(int256 left, int256 right, string calldata reason) external pure;
    function assertEq(address left, address right, string calldata reason) external pure;
    function assertEq(bytes32 left, bytes32 right, string calldata reason) external pure;
    function assertEq(bytes calldata left, bytes calldata right, string calldata reason)
        external
        pure;
    function assertEq(string calldata left, string calldata right, string calldata reason)
        external
        pure;

    // Files
    function readFile(string calldata path) external view returns (string memory);
    function keyExistsJson(string calldata json, string calldata path) external view returns (bool);
    function parseJsonString(string calldata json, string calldata path)
        external
        pure
        returns (string memory);
    function parseJsonAddress(string calldata json, string calldata path)
        external
        pure
        returns (address);
    function parseJsonUint(string calldata json, string calldata path)
        external
        pure
        returns (uint256);
    function parseJsonBytes(string calldata json, string calldata path)
        external
        pure
        returns (bytes memory);
    function parseJsonTypeArray(
        string calldata json,
        string calldata path,
        string calldata typeDescription
    ) external pure returns (bytes memory);
    function toString(uint256 value) external pure returns (string memory);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Vm} from "./Vm.sol";

/// @notice What every test needs: cheatcodes and named actors with keys.
abstract contract TestBase {
    struct Actor {
        address account;
        uint256 key;
    }

    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    /// @dev The same name is the same actor in every test.
    function actor(string memory name) internal returns (Actor memory made) {
        made.key = uint256(keccak256(bytes(name)));
        made.account = vm.addr(made.key);
        vm.label(made.account, name);
    }

    /// @dev 65 bytes, as wallets give them.
    function signed(Actor memory signer, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(signer.key, digest);
        return abi.encodePacked(r, s, v);
    }

    /// @dev Folds a fuzzed value into `low`..`high`, both included.
    function within(uint256 value, uint256 low, uint256 high) internal pure returns (uint256) {
        uint256 width = high - low;
        return width == type(uint256).max ? value : low + value % (width + 1);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ISwapRouter02} from "../../src/interfaces/IUniswapV3.sol";
import {Action, Role} from "../../src/rules/Actions.sol";
import {TestBase} from "../TestBase.sol";
import {Decoder} from "./Actions.t.sol";

contract ActionsPathTest is TestBase {
    address private constant ROUTER = address(0x50);
    address private constant HOME = address(0x51);

    /// @dev Thirteen pools make 319 bytes, a byte short of whole words; sixteen come round to other lengths.
    function test_the_ends_of_a_path_of_any_length() public {
        Decoder decoder = new Decoder();
        bytes memory path = abi.encodePacked(address(0x1000));
        for (uint160 pools = 1; pools <= 40; pools++) {
            path = bytes.concat(path, abi.encodePacked(uint24(500), address(0x1000 + pools)));
            bytes memory data = abi.encodeCall(
                ISwapRouter02.exactInput, (ISwapRouter02.ExactInputParams(path, HOME, 2, 1))
            );

            Action[] memory actions = decoder.decode(Role.SwapRouter02, ROUTER, 0, data);

            vm.assertEq(actions[0].tokenOut, address(0x1000), "first");
            vm.assertEq(actions[0].tokenIn, address(0x1000 + pools), "last");
        }
    }
}

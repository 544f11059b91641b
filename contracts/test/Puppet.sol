// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Execution} from "../src/interfaces/IDelegationManager.sol";

/// @notice A thief's contract: several calls in one transaction, and more when it is paid or called by a
///         token of his. It can be the agent's key itself.
contract Puppet {
    Execution[] private _whenPaid;

    /// @notice Makes the calls, all of them or none.
    function run(Execution[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            _call(calls[i].target, calls[i].value, calls[i].callData);
        }
    }

    /// @notice What it does the next time coins arrive, or {poke} is called.
    function plan(Execution[] calldata calls) external {
        delete _whenPaid;
        for (uint256 i = 0; i < calls.length; i++) {
            _whenPaid.push(calls[i]);
        }
    }

    /// @notice Does what was planned, once.
    function poke() public {
        Execution[] memory planned = _whenPaid;
        delete _whenPaid;
        for (uint256 i = 0; i < planned.length; i++) {
            _call(planned[i].target, planned[i].value, planned[i].callData);
        }
    }

    receive() external payable {
        poke();
    }

    function _call(address to, uint256 value, bytes memory data) private {
        Address.functionCallWithValue(to, data, value);
    }
}

/// @notice A token whose transfers wake a puppet.
contract WakingToken {
    mapping(address holder => uint256 amount) public balanceOf;
    mapping(address holder => mapping(address spender => uint256 amount)) public allowance;
    Puppet private immutable _puppet;
    address private immutable _waking;

    /// @param waking Transfers to this address wake the puppet.
    constructor(Puppet puppet, address waking) {
        (_puppet, _waking) = (puppet, waking);
        balanceOf[address(puppet)] = 1e30;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return _move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        return _move(from, to, amount);
    }

    function _move(address from, address to, uint256 amount) private returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        if (to == _waking) _puppet.poke();
        return true;
    }
}

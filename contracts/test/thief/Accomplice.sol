// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ICaveatEnforcer} from "../../src/interfaces/ICaveatEnforcer.sol";
import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IToken} from "../../src/interfaces/ITokens.sol";

/// @notice What a thief of a session key has on his side: several calls in one transaction, and calls
///         that wait until somebody touches him.
/// @dev Works as the code of the key itself (EIP-7702), which gas money then wakes; as a token, which
///      every transfer wakes; and as a caveat of a child, which its hook wakes. For tests only: anybody
///      may use it.
contract Accomplice {
    Execution[] private _plan;

    receive() external payable {
        _act();
    }

    /// @dev As a token it has as much as anybody asks for, more from call to call, so that every pool
    ///      believes it was paid; and it never fails.
    fallback() external {
        if (msg.data.length == 36) {
            uint256 fortune = ~(gasleft() << 100);
            assembly ("memory-safe") {
                mstore(0, fortune)
                return(0, 32)
            }
        }
        // Not `transferFrom`, `approve` or another hook.
        if (msg.sig == IToken.transfer.selector || msg.sig == ICaveatEnforcer.beforeHook.selector) {
            _act();
        }
        assembly ("memory-safe") {
            mstore(0, 1)
            return(0, 32)
        }
    }

    /// @notice Remembers calls for the moment in which he is touched.
    function wait(Execution[] calldata plan) external {
        delete _plan;
        for (uint256 i = 0; i < plan.length; i++) {
            _plan.push(plan[i]);
        }
    }

    /// @notice Makes all of these calls now, or none.
    function run(Execution[] calldata plan) external {
        for (uint256 i = 0; i < plan.length; i++) {
            _call(plan[i]);
        }
    }

    /// @dev Once: what he does touches him again.
    function _act() private {
        Execution[] memory plan = _plan;
        delete _plan;
        for (uint256 i = 0; i < plan.length; i++) {
            _call(plan[i]);
        }
    }

    function _call(Execution memory step) private {
        (bool done, bytes memory answer) = step.target.call{value: step.value}(step.callData);
        if (done) return;
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }
}

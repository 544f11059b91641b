// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {GolemWord} from "../registry/GolemWord.sol";
import {GolemLife} from "../rules/GolemLife.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Keeps a dreaming Golem from acting, whatever its runtime believes, until it dies.
/// @dev Terms: golemId 32 ‖ registry 20, 52 bytes; twin `DreamMode` in Rust. Modes: single and batch, as
///      the rule never looks at the execution. There is no state. In Terminal no dream counts: what a dying
///      Golem may do is for the phase's rule to say.
///
///      Not promised: anything against a thief of the key, who wakes the Golem himself.
contract DreamModeEnforcer is CaveatEnforcer {
    /// @notice Malformed terms: not `expected` bytes long.
    error DreamModeEnforcer_TermsLength(uint256 expected, uint256 actual);

    uint256 private constant TERMS_LENGTH = 52;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata,
        bytes32,
        address,
        address
    ) public view override onlyDefaultExecutionMode(mode) {
        (bytes32 golemId, address registry) = getTermsInfo(terms);
        GolemWord word = IGolemRegistry(registry).word(golemId);
        GolemLife.requireAlive(word, golemId);
        GolemLife.requireAwake(word, golemId);
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (bytes32 golemId, address registry)
    {
        if (terms.length != TERMS_LENGTH) {
            revert DreamModeEnforcer_TermsLength(TERMS_LENGTH, terms.length);
        }
        golemId = bytes32(terms[0:32]);
        registry = address(bytes20(terms[32:52]));
    }
}

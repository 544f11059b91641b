// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {CoSignature, Threshold} from "../rules/Threshold.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Lets an execution through when enough of the owner's named signers signed it: a council of
///         which two of three must agree. Their signatures come with the redemption.
/// @dev Terms and args: see {Threshold}. Modes: single and batch; a batch is signed as a whole.
///
///      The redeemer chooses the args, and can choose nothing with them: signatures are over manager,
///      link, mode, execution, nonce and deadline, on this chain and for this enforcer. A nonce is used
///      once per manager and link, also by an execution that somebody else below the link redeems.
///      State is keyed by the link's hash and not by Golem (SPEC D17), because signatures are. Anyone
///      may call a hook, and uses nonces up under his own address only.
///
///      Two of these caveats on one link need two nonces, and so signatures of their own.
///
///      Not promised: that signers understood the bytes they signed; who of the delegates below the
///      link redeems, and when before the deadline; that a signature can be taken back before it.
contract ThresholdEnforcer is CaveatEnforcer {
    mapping(
        address manager => mapping(bytes32 delegationHash => mapping(uint256 page => uint256 bits))
    ) private _nonces;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata execution,
        bytes32 delegationHash,
        address,
        address
    ) public override onlyDefaultExecutionMode(mode) {
        CoSignature memory agreed;
        agreed.manager = msg.sender;
        agreed.delegationHash = delegationHash;
        agreed.mode = mode;
        agreed.executionHash = keccak256(execution);
        _check(terms, args, agreed);
        Threshold.use(_nonces[msg.sender][delegationHash], agreed.nonce);
    }

    /// @notice What a signer signs, on this chain.
    /// @param manager Who will call the hook: the DelegationManager.
    /// @param execution As it will be redeemed, to the byte.
    /// @param deadline Last second at which it may be.
    function digestOf(
        address manager,
        bytes32 delegationHash,
        ModeCode mode,
        bytes calldata execution,
        uint256 nonce,
        uint40 deadline
    ) external view returns (bytes32) {
        CoSignature memory agreed = CoSignature(
            manager, delegationHash, mode, keccak256(execution), nonce, deadline
        );
        return Threshold.digestOf(Threshold.domainOf(address(this)), agreed);
    }

    /// @notice Whether a nonce was used.
    function isNonceUsed(address manager, bytes32 delegationHash, uint256 nonce)
        external
        view
        returns (bool)
    {
        return Threshold.isUsed(_nonces[manager][delegationHash], nonce);
    }

    /// @notice Reads terms, refusing what is malformed.
    /// @return needed How many must sign.
    /// @return signers Who may, ascending.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (uint8 needed, address[] memory signers)
    {
        return Threshold.decode(terms);
    }

    /// @dev Nonce and deadline are the redeemer's to say, and the signers' to have signed.
    function _check(bytes calldata terms, bytes calldata args, CoSignature memory agreed)
        private
        view
    {
        (uint8 needed, address[] memory signers) = getTermsInfo(terms);
        bytes calldata signatures;
        (agreed.nonce, agreed.deadline, signatures) = Threshold.decodeArgs(args, needed);
        Threshold.requireInTime(agreed.deadline, block.timestamp);
        bytes32 digest = Threshold.digestOf(Threshold.domainOf(address(this)), agreed);
        Threshold.check(digest, signatures, signers);
    }
}

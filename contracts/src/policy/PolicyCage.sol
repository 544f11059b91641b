// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice What an owner wants his Golem's runtime to hold itself to. A zero allows nothing; it never
///         means "no limit".
struct Policy {
    /// @dev Of the document that the runtime must have at boot, byte for byte.
    bytes32 constitutionHash;
    /// @dev Most of the holdings' value that may be in one asset.
    uint16 concentrationBps;
    /// @dev Farthest that the holdings' value may fall below its highest.
    uint16 drawdownBps;
    /// @dev Micro-dollars in one transaction; in the life of one session key; in a day.
    uint64 spendPerTransaction;
    uint64 spendPerSession;
    uint64 spendPerDay;
    /// @dev Ascending. Address zero is the chain's own coin.
    address[] assets;
}

/// @notice Where a Golem's runtime reads, at boot, the constitution and the limits that its owner
///         published (SPEC C14).
/// @dev A getter, not a guard: nothing here stops a call, and a thief of the agent's key never asks. What
///      binds him is the charter, and {HoldingsEnforcer} for positions and drawdown. A runtime that
///      finds no policy, or another constitution than its own, does not start.
///
///      Only the owner publishes, because the Golem's id is made from the caller. Whoever can make the
///      owner's account call is the owner here; a charter has no role for this contract, so a Golem
///      under one cannot. Versions count from 1 and never go back; an older one is in its event.
contract PolicyCage {
    /// @notice The owner published nothing for this Golem.
    error PolicyCage_NoPolicy(bytes32 golemId);
    /// @notice Zero is no constitution.
    error PolicyCage_NoConstitution(bytes32 golemId);
    /// @notice A share of the holdings goes up to `max`.
    error PolicyCage_ConcentrationBps(uint256 bps, uint256 max);
    /// @notice Holdings can fall by `max`, not more.
    error PolicyCage_DrawdownBps(uint256 bps, uint256 max);
    /// @notice One transaction could spend more than a whole session.
    error PolicyCage_OverSession(uint256 perTransaction, uint256 perSession);
    /// @notice One transaction could spend more than a whole day.
    error PolicyCage_OverDay(uint256 perTransaction, uint256 perDay);
    /// @notice A list has up to `max` assets.
    error PolicyCage_TooManyAssets(uint256 count, uint256 max);
    /// @notice The asset at `index` is not above the one before it.
    error PolicyCage_NotAscending(uint256 index, address asset, address before);

    /// @notice The owner published a policy; it counts from now on, and no other.
    event PolicyPublished(
        bytes32 indexed golemId,
        address indexed owner,
        uint64 indexed version,
        bytes32 policyHash,
        Policy policy
    );

    /// @dev What is known of one Golem.
    struct Entry {
        uint64 version;
        Policy policy;
    }

    /// @notice Longest list of assets.
    uint256 public constant MAX_ASSETS = 32;
    /// @notice The whole, in basis points.
    uint256 public constant MAX_BPS = 10_000;
    /// @notice EIP-712 type of what {hashOf} hashes.
    bytes32 public constant POLICY_TYPEHASH = keccak256(
        "Policy(bytes32 golemId,uint64 version,bytes32 constitutionHash,uint16 concentrationBps,"
        "uint16 drawdownBps,uint64 spendPerTransaction,uint64 spendPerSession,uint64 spendPerDay,"
        "address[] assets)"
    );

    mapping(bytes32 golemId => Entry) private _entries;

    /// @notice Publishes the policy of the caller's Golem, in place of the one before.
    /// @param salt What the golemId was made from.
    function publish(bytes32 salt, Policy calldata policy)
        external
        returns (bytes32 golemId, uint64 version)
    {
        // As the registry makes it, whose own bytecode a shared function would change.
        golemId = keccak256(abi.encode(msg.sender, salt));
        _check(golemId, policy);

        Entry storage entry = _entries[golemId];
        version = entry.version + 1;
        entry.version = version;
        entry.policy = policy;
        emit PolicyPublished(golemId, msg.sender, version, hashOf(golemId, version, policy), policy);
    }

    /// @notice All there is, in one read: the policy, which one it is, and a hash over both.
    function policyOf(bytes32 golemId)
        external
        view
        returns (Policy memory policy, uint64 version, bytes32 policyHash)
    {
        version = _entries[golemId].version;
        if (version == 0) revert PolicyCage_NoPolicy(golemId);
        policy = _entries[golemId].policy;
        policyHash = hashOf(golemId, version, policy);
    }

    /// @notice How often the owner published; zero for never.
    function versionOf(bytes32 golemId) external view returns (uint64) {
        return _entries[golemId].version;
    }

    /// @notice Commits to a policy, its version and its Golem: an EIP-712 struct hash.
    /// @dev There is no domain: the hash is to be compared, not signed.
    function hashOf(bytes32 golemId, uint64 version, Policy memory policy)
        public
        pure
        returns (bytes32)
    {
        bytes memory which = abi.encode(POLICY_TYPEHASH, golemId, version, policy.constitutionHash);
        bytes memory limits = abi.encode(
            policy.concentrationBps,
            policy.drawdownBps,
            policy.spendPerTransaction,
            policy.spendPerSession,
            policy.spendPerDay,
            keccak256(abi.encodePacked(policy.assets))
        );
        return keccak256(bytes.concat(which, limits));
    }

    /// @dev A session may be shorter or longer than a day, so neither of the two bounds the other. One
    ///      transaction above either would be a limit that is none: a slip of the units.
    function _check(bytes32 golemId, Policy calldata policy) private pure {
        if (policy.constitutionHash == bytes32(0)) revert PolicyCage_NoConstitution(golemId);
        if (policy.concentrationBps > MAX_BPS) {
            revert PolicyCage_ConcentrationBps(policy.concentrationBps, MAX_BPS);
        }
        if (policy.drawdownBps > MAX_BPS) {
            revert PolicyCage_DrawdownBps(policy.drawdownBps, MAX_BPS);
        }
        uint64 once = policy.spendPerTransaction;
        if (once > policy.spendPerSession) {
            revert PolicyCage_OverSession(once, policy.spendPerSession);
        }
        if (once > policy.spendPerDay) revert PolicyCage_OverDay(once, policy.spendPerDay);
        _checkAssets(policy.assets);
    }

    /// @dev One list for one set: none twice, and one hash.
    function _checkAssets(address[] calldata assets) private pure {
        if (assets.length > MAX_ASSETS) {
            revert PolicyCage_TooManyAssets(assets.length, MAX_ASSETS);
        }
        for (uint256 i = 1; i < assets.length; i++) {
            if (assets[i] <= assets[i - 1]) {
                revert PolicyCage_NotAscending(i, assets[i], assets[i - 1]);
            }
        }
    }
}

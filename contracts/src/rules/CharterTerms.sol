// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class} from "./Actions.sol";
import {Listing} from "./Listing.sol";
import {MaxSlippage} from "./MaxSlippage.sol";
import {MortalityTimeWindow} from "./MortalityTimeWindow.sol";
import {NavBound, VaultNav} from "./VaultNav.sol";

/// @notice What an owner signs for one Golem: who, where, what, how much, from when until when. Dollars
///         are micro-dollars, gas money is in gwei.
struct Charter {
    bytes32 golemId;
    /// @dev The owner's EOA.
    address owner;
    uint16 epoch;
    uint32 generation;
    uint16 bucketMinutes;
    uint256 slippageBps;
    address registry;
    /// @dev One bit for each {Class} that is allowed.
    uint256 classes;
    /// @dev Seconds after which what the registry says of the Golem is old.
    uint256 staleness;
    /// @dev The executor: recipient of everything.
    address account;
    uint64 spendCap;
    /// @dev Where sweeps go.
    address beneficiary;
    uint64 start;
    address agentKey;
    uint64 end;
    NavBound nav;
    address settlementAsset;
    uint64 gasCeiling;
    uint64 gasDailyCap;
    /// @dev Whether children may redeem as well.
    bool replicants;
}

/// @notice Reads a charter's terms.
/// @dev Terms, 232 bytes: golemId 32 | owner 20 ‖ epoch u16 ‖ generation u32 ‖ bucketMinutes u16 ‖
///      slippageBps u16 ‖ navBps u16 | account 20 ‖ spendCap u64 ‖ staleness u32 | beneficiary 20 ‖
///      start u40 ‖ end u40 ‖ flags u16 | agentKey 20 ‖ navCap u64 ‖ classes u32 | vault 20 ‖ gasCeiling
///      u48 ‖ gasDailyCap u48 | registry 20 ‖ settlementAsset 20; then a {Listing}. Twin:
///      `GolemCharter` in Rust. In words where it can be: a redemption pays for every slice.
library CharterTerms {
    /// @notice Malformed terms: shorter than what every charter has.
    error CharterTerms_Length(uint256 least, uint256 actual);
    /// @notice Malformed terms: a bit that has no meaning.
    error CharterTerms_UnknownBits(uint256 flags, uint256 classes);

    uint256 internal constant HEADER = 232;

    uint256 private constant REPLICANTS = 1;
    uint256 private constant CLASSES = (1 << (uint256(type(Class).max) + 1)) - 2;

    // Narrowing is how a field is cut out of a word: what stands above it falls away.
    // forge-lint: disable-start(unsafe-typecast)

    /// @notice Reads the fixed part, refusing what no owner could have meant.
    function read(bytes calldata terms) internal pure returns (Charter memory charter) {
        if (terms.length < HEADER) revert CharterTerms_Length(HEADER, terms.length);
        Listing.requireWhole(terms[HEADER:]);
        uint256 flags;
        {
            (bytes32 golemId, uint256 grant, uint256 account) =
                abi.decode(terms[:96], (bytes32, uint256, uint256));
            charter.golemId = golemId;
            charter.owner = address(uint160(grant >> 96));
            charter.epoch = uint16(grant >> 80);
            charter.generation = uint32(grant >> 48);
            charter.bucketMinutes = uint16(grant >> 32);
            charter.slippageBps = uint16(grant >> 16);
            charter.nav.bps = uint16(grant);
            charter.account = address(uint160(account >> 96));
            charter.spendCap = uint64(account >> 32);
            charter.staleness = uint32(account);
        }
        {
            (uint256 beneficiary, uint256 agentKey, uint256 vault) =
                abi.decode(terms[96:192], (uint256, uint256, uint256));
            charter.beneficiary = address(uint160(beneficiary >> 96));
            charter.start = uint40(beneficiary >> 56);
            charter.end = uint40(beneficiary >> 16);
            flags = uint16(beneficiary);
            charter.replicants = flags == REPLICANTS;
            charter.agentKey = address(uint160(agentKey >> 96));
            charter.nav.cap = uint64(agentKey >> 32);
            charter.classes = uint32(agentKey);
            charter.nav.vault = address(uint160(vault >> 96));
            charter.gasCeiling = uint48(vault >> 48);
            charter.gasDailyCap = uint48(vault);
        }
        // Two addresses of 20 bytes, read from the front and from the back.
        charter.registry = address(uint160(abi.decode(terms[192:224], (uint256)) >> 96));
        charter.settlementAsset = address(uint160(abi.decode(terms[HEADER - 32:HEADER], (uint256))));

        if (flags > REPLICANTS || charter.classes & ~CLASSES != 0) {
            revert CharterTerms_UnknownBits(flags, charter.classes);
        }
        MortalityTimeWindow.requireOrdered(charter.start, charter.end);
        MaxSlippage.requireBps(charter.slippageBps);
        VaultNav.requireBps(charter.nav.bps);
    }

    // forge-lint: disable-end(unsafe-typecast)
}

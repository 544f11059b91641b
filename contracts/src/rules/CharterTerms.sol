// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class} from "./Actions.sol";
import {EmotionalState, MoodBounds} from "./EmotionalState.sol";
import {KnowledgeRoyalty} from "./KnowledgeRoyalty.sol";
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
    /// @dev Section royalty: how much of a price those who wrote the knowledge may take. Without it, nothing.
    uint256 maxRoyaltyBps;
    /// @dev Section emotion as it stands in the terms, see {CharterTerms.mood}; zero without it.
    uint256 emotion;
}

/// @notice Reads a charter's terms.
/// @dev Terms, 232 bytes: golemId 32 | owner 20 ‖ epoch u16 ‖ generation u32 ‖ bucketMinutes u16 ‖
///      slippageBps u16 ‖ navBps u16 | account 20 ‖ spendCap u64 ‖ staleness u32 | beneficiary 20 ‖
///      start u40 ‖ end u40 ‖ flags u16 | agentKey 20 ‖ navCap u64 ‖ classes u32 | vault 20 ‖ gasCeiling
///      u48 ‖ gasDailyCap u48 | registry 20 ‖ settlementAsset 20; then the sections that flags name, in the
///      order of their bits; then a {Listing}. Flags: 1 children redeem, 2 section royalty: maxRoyaltyBps
///      u16; 4 section emotion: minPleasure i8 ‖ maxArousal i8 ‖ minDominance i8 ‖ classes u32. Twin:
///      `GolemCharter` in Rust. In words where it can be: a redemption pays for every slice.
library CharterTerms {
    /// @notice Malformed terms: shorter than what every charter has, or than its sections make it.
    error CharterTerms_Length(uint256 least, uint256 actual);
    /// @notice Malformed terms: a bit that has no meaning.
    error CharterTerms_UnknownBits(uint256 flags, uint256 classes);

    uint256 internal constant HEADER = 232;

    uint256 private constant REPLICANTS = 1;
    uint256 private constant ROYALTY = 2;
    uint256 private constant EMOTION = 4;
    uint256 private constant FLAGS = REPLICANTS | ROYALTY | EMOTION;
    uint256 private constant ROYALTY_LENGTH = 2;
    uint256 private constant EMOTION_LENGTH = 7;
    uint256 private constant CLASSES = (1 << (uint256(type(Class).max) + 1)) - 2;

    // Narrowing is how a field is cut out of a word: what stands above it falls away.
    // forge-lint: disable-start(unsafe-typecast)

    /// @notice Reads all of it, refusing what no owner could have meant.
    /// @return charter Header and sections.
    /// @return listing What follows them; it is whole.
    function read(bytes calldata terms)
        internal
        pure
        returns (Charter memory charter, bytes calldata listing)
    {
        if (terms.length < HEADER) revert CharterTerms_Length(HEADER, terms.length);
        uint256 word = _word(terms, 0);
        charter.golemId = bytes32(word);
        word = _word(terms, 32);
        charter.owner = address(uint160(word >> 96));
        charter.epoch = uint16(word >> 80);
        charter.generation = uint32(word >> 48);
        charter.bucketMinutes = uint16(word >> 32);
        charter.slippageBps = uint16(word >> 16);
        charter.nav.bps = uint16(word);
        word = _word(terms, 64);
        charter.account = address(uint160(word >> 96));
        charter.spendCap = uint64(word >> 32);
        charter.staleness = uint32(word);
        word = _word(terms, 128);
        charter.agentKey = address(uint160(word >> 96));
        charter.nav.cap = uint64(word >> 32);
        charter.classes = uint32(word);
        word = _word(terms, 160);
        charter.nav.vault = address(uint160(word >> 96));
        charter.gasCeiling = uint48(word >> 48);
        charter.gasDailyCap = uint48(word);
        // Two addresses of 20 bytes, read from the front and from the back.
        charter.registry = address(uint160(_word(terms, 192) >> 96));
        charter.settlementAsset = address(uint160(_word(terms, HEADER - 32)));
        word = _word(terms, 96);
        charter.beneficiary = address(uint160(word >> 96));
        charter.start = uint40(word >> 56);
        charter.end = uint40(word >> 16);
        uint256 flags = uint16(word);
        charter.replicants = flags & REPLICANTS != 0;

        if (flags > FLAGS || charter.classes & ~CLASSES != 0) {
            revert CharterTerms_UnknownBits(flags, charter.classes);
        }
        MortalityTimeWindow.requireOrdered(charter.start, charter.end);
        MaxSlippage.requireBps(charter.slippageBps);
        VaultNav.requireBps(charter.nav.bps);
        listing = terms[flags > REPLICANTS ? _sections(terms, charter, flags) : HEADER:];
        Listing.requireWhole(listing);
    }

    /// @notice How the Golem has to feel, and the classes of action that it binds, a bit each.
    function mood(Charter memory charter)
        internal
        pure
        returns (MoodBounds memory bounds, uint256 classes)
    {
        uint256 word = charter.emotion;
        bounds.minPleasure = int8(uint8(word >> 48));
        bounds.maxArousal = int8(uint8(word >> 40));
        bounds.minDominance = int8(uint8(word >> 32));
        bounds.staleness = uint32(charter.staleness);
        classes = uint32(word);
    }

    /// @return at Where the listing begins.
    function _sections(bytes calldata terms, Charter memory charter, uint256 flags)
        private
        pure
        returns (uint256 at)
    {
        at = HEADER + (flags & ROYALTY == 0 ? 0 : ROYALTY_LENGTH)
            + (flags & EMOTION == 0 ? 0 : EMOTION_LENGTH);
        if (terms.length < at) revert CharterTerms_Length(at, terms.length);
        if (flags & ROYALTY != 0) {
            charter.maxRoyaltyBps = uint16(_word(terms, HEADER + ROYALTY_LENGTH - 32));
            KnowledgeRoyalty.requireBps(charter.maxRoyaltyBps);
        }
        if (flags & EMOTION != 0) {
            // The last section: a word that ends with it.
            charter.emotion = uint56(_word(terms, at - 32));
            (MoodBounds memory bounds, uint256 classes) = mood(charter);
            EmotionalState.requireBounds(bounds);
            EmotionalState.requireClasses(classes);
        }
    }

    /// @dev 32 bytes from `at` on, of terms that are as long: their callers look once for many.
    function _word(bytes calldata terms, uint256 at) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := calldataload(add(terms.offset, at))
        }
    }

    // forge-lint: disable-end(unsafe-typecast)
}

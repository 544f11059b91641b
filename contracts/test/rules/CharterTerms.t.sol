// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class, Role} from "../../src/rules/Actions.sol";
import {Charter, CharterTerms} from "../../src/rules/CharterTerms.sol";
import {EmotionalState, MoodBounds} from "../../src/rules/EmotionalState.sol";
import {KnowledgeRoyalty} from "../../src/rules/KnowledgeRoyalty.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {MortalityTimeWindow} from "../../src/rules/MortalityTimeWindow.sol";
import {VaultNav} from "../../src/rules/VaultNav.sol";
import {PricedToken} from "../../src/rules/Valuation.sol";
import {TestBase} from "../TestBase.sol";
import {ListingReader} from "./Listing.t.sol";

/// @dev An internal library is judged through a contract that calls it.
contract CharterReader {
    function read(bytes calldata terms) external pure returns (Charter memory charter) {
        (charter,) = CharterTerms.read(terms);
    }

    function listingOf(bytes calldata terms) external pure returns (bytes memory) {
        (, bytes calldata listing) = CharterTerms.read(terms);
        return listing;
    }

    function moodOf(bytes calldata terms) external pure returns (MoodBounds memory, uint256) {
        (Charter memory charter,) = CharterTerms.read(terms);
        return CharterTerms.mood(charter);
    }
}

// forge-lint: disable-start(unsafe-typecast)
// What is narrowed here fits by the loop it stands in, or was bounded by the test.

contract CharterTermsTest is TestBase {
    uint256 private constant HEADER = 232;

    /// @dev Every field as wide as it is in the terms.
    struct Fields {
        bytes32 golemId;
        address owner;
        uint16 epoch;
        uint32 generation;
        uint16 bucketMinutes;
        uint16 slippageBps;
        uint16 navBps;
        address account;
        uint64 spendCap;
        uint32 staleness;
        address beneficiary;
        uint40 start;
        uint40 end;
        uint16 flags;
        address agentKey;
        uint64 navCap;
        uint32 classes;
        address vault;
        uint48 gasCeiling;
        uint48 gasDailyCap;
        address registry;
        address settlementAsset;
    }

    CharterReader private _reader;

    function setUp() public {
        _reader = new CharterReader();
    }

    function testFuzz_every_field_is_read_where_it_was_put(
        Fields memory f,
        uint8 tokens,
        uint8 targets
    ) public view {
        f = _meant(f);

        Charter memory c = _reader.read(_encode(f, _listing(tokens % 8, targets % 8)));

        _assertSame(c, f, "fuzzed");
    }

    /// @dev One field full of ones at a time: none shows in another.
    function test_no_field_runs_into_its_neighbour() public view {
        uint256[2][22] memory layout = _layout();
        for (uint256 i = 0; i < layout.length; i++) {
            bytes memory terms = bytes.concat(new bytes(HEADER), _listing(0, 0));
            for (uint256 at = 0; at < layout[i][1]; at++) {
                terms[layout[i][0] + at] = 0xff;
            }
            Fields memory f = _fieldsOf(terms);
            // Where all ones are no value, the most that is one.
            f = _meant(f);
            if (i == 11) f.end = f.start;

            _assertSame(_reader.read(_encode(f, _listing(0, 0))), f, "one field");
        }
    }

    function test_terms_of_every_length_below_a_charters_are_refused() public {
        bytes memory whole = _encode(_plain(), _listing(0, 0));
        for (uint256 length = 0; length < HEADER; length++) {
            vm.expectRevert(
                abi.encodeWithSelector(CharterTerms.CharterTerms_Length.selector, HEADER, length)
            );
            _reader.read(_cut(whole, length));
        }
        for (uint256 length = HEADER; length < HEADER + 26; length++) {
            vm.expectRevert(_listingLength(26, length - HEADER));
            _reader.read(_cut(whole, length));
        }
        _reader.read(whole);
    }

    function test_a_listing_that_is_not_whole_is_refused() public {
        bytes memory whole = _encode(_plain(), _listing(2, 3));
        uint256 expected = 26 + 2 * 47 + 3 * 21;

        for (uint256 length = HEADER + 26; length < whole.length; length++) {
            vm.expectRevert(_listingLength(expected, length - HEADER));
            _reader.read(_cut(whole, length));
        }
        for (uint256 extra = 1; extra < 50; extra++) {
            vm.expectRevert(_listingLength(expected, expected + extra));
            _reader.read(bytes.concat(whole, new bytes(extra)));
        }
        _reader.read(whole);
    }

    function testFuzz_a_bit_without_a_meaning_is_refused(uint16 flags, uint32 classes) public {
        Fields memory f = _plain();
        (f.flags, f.classes) = (flags, classes);

        if (flags > 7 || (classes | 0x3fffe) != 0x3fffe) {
            vm.expectRevert(_unknownBits(flags, classes));
        }
        _reader.read(bytes.concat(_encode(f, _sections(flags)), _listing(0, 0)));
    }

    /// @dev Bit 0 would be the class of what nobody classed.
    function test_each_bit_of_the_classes_and_of_the_flags() public {
        for (uint256 bit = 0; bit < 32; bit++) {
            Fields memory f = _plain();
            f.classes = uint32(1 << bit);
            if (bit == 0 || bit > uint256(type(Class).max)) {
                vm.expectRevert(_unknownBits(0, f.classes));
            }
            _reader.read(_encode(f, _listing(0, 0)));
        }
        for (uint256 bit = 0; bit < 16; bit++) {
            Fields memory f = _plain();
            f.flags = uint16(1 << bit);
            if (bit > 2) vm.expectRevert(_unknownBits(f.flags, f.classes));
            _reader.read(bytes.concat(_encode(f, _sections(f.flags)), _listing(0, 0)));
        }
    }

    // Sections

    function testFuzz_sections_are_read_where_they_were_put(
        Fields memory f,
        uint256 drawn,
        int8[3] memory bounds,
        uint8 targets
    ) public view {
        f = _meant(f);
        f.flags = uint16(drawn % 8);
        uint16 bps = uint16(drawn >> 16) % 10_001;
        uint32 classes = uint32(drawn >> 32) & 0x3fffe;
        if (classes == 0) classes = 2;
        for (uint256 i = 0; i < 3; i++) {
            bounds[i] = bounds[i] % 101;
        }
        bytes memory listing = _listing(1, targets % 4);
        bytes memory sections;
        if (f.flags & 2 != 0) sections = abi.encodePacked(bps);
        if (f.flags & 4 != 0) {
            sections = abi.encodePacked(sections, bounds[0], bounds[1], bounds[2], classes);
        }
        bytes memory terms = bytes.concat(_encode(f, sections), listing);

        Charter memory c = _reader.read(terms);

        _assertSame(c, f, "with sections");
        vm.assertEq(_reader.listingOf(terms), listing, "listing");
        vm.assertEq(c.maxRoyaltyBps, f.flags & 2 != 0 ? bps : 0, "maxRoyaltyBps");
        if (f.flags & 4 == 0) {
            vm.assertEq(c.emotion, 0, "emotion");
            return;
        }
        (MoodBounds memory mood, uint256 bound) = _reader.moodOf(terms);
        vm.assertEq(int256(mood.minPleasure), bounds[0], "minPleasure");
        vm.assertEq(int256(mood.maxArousal), bounds[1], "maxArousal");
        vm.assertEq(int256(mood.minDominance), bounds[2], "minDominance");
        vm.assertEq(mood.staleness, f.staleness, "staleness");
        vm.assertEq(bound, classes, "moodClasses");
    }

    function test_terms_of_every_length_below_their_sections_are_refused() public {
        for (uint16 flags = 2; flags < 8; flags++) {
            Fields memory f = _plain();
            f.flags = flags;
            bytes memory head = _encode(f, _sections(flags));
            bytes memory whole = bytes.concat(head, _listing(0, 0));
            for (uint256 length = HEADER; length < head.length; length++) {
                vm.expectRevert(
                    abi.encodeWithSelector(
                        CharterTerms.CharterTerms_Length.selector, head.length, length
                    )
                );
                _reader.read(_cut(whole, length));
            }
            for (uint256 length = head.length; length < whole.length; length++) {
                vm.expectRevert(_listingLength(26, length - head.length));
                _reader.read(_cut(whole, length));
            }
            _reader.read(whole);
            vm.expectRevert(_listingLength(26, 27));
            _reader.read(bytes.concat(whole, hex"00"));
        }
    }

    function testFuzz_a_royalty_beyond_the_whole_is_refused(uint16 bps) public {
        Fields memory f = _plain();
        f.flags = 2;
        if (bps > 10_000) {
            vm.expectRevert(
                abi.encodeWithSelector(KnowledgeRoyalty.KnowledgeRoyalty_Bps.selector, bps)
            );
        }
        _reader.read(bytes.concat(_encode(f, abi.encodePacked(bps)), _listing(0, 0)));
    }

    function test_the_whole_is_a_royalty_and_one_more_is_none() public {
        Fields memory f = _plain();
        f.flags = 2;
        _reader.read(bytes.concat(_encode(f, abi.encodePacked(uint16(10_000))), _listing(0, 0)));
        vm.expectRevert(
            abi.encodeWithSelector(KnowledgeRoyalty.KnowledgeRoyalty_Bps.selector, 10_001)
        );
        _reader.read(bytes.concat(_encode(f, abi.encodePacked(uint16(10_001))), _listing(0, 0)));
    }

    function test_no_bound_is_beyond_a_mood() public {
        Fields memory f = _plain();
        f.flags = 4;
        int8[6] memory tried = [int8(-100), 0, 100, -101, 101, type(int8).min];
        for (uint256 i = 0; i < tried.length; i++) {
            for (uint256 field = 0; field < 3; field++) {
                int8[3] memory b;
                b[field] = tried[i];
                bytes memory section = abi.encodePacked(b[0], b[1], b[2], uint32(2));
                if (i > 2) {
                    vm.expectRevert(
                        abi.encodeWithSelector(
                            EmotionalState.EmotionalState_Bound.selector, tried[i]
                        )
                    );
                }
                _reader.read(bytes.concat(_encode(f, section), _listing(0, 0)));
            }
        }
    }

    function testFuzz_a_mood_binds_a_class_at_least_and_none_that_nobody_knows(uint32 classes)
        public
    {
        Fields memory f = _plain();
        f.flags = 4;
        if (classes == 0 || (classes | 0x3fffe) != 0x3fffe) {
            vm.expectRevert(
                abi.encodeWithSelector(EmotionalState.EmotionalState_Classes.selector, classes)
            );
        }
        _reader.read(bytes.concat(_encode(f, abi.encodePacked(bytes3(0), classes)), _listing(0, 0)));
    }

    function test_each_class_can_be_bound_to_a_mood() public {
        Fields memory f = _plain();
        f.flags = 4;
        for (uint256 bit = 0; bit <= 32; bit++) {
            // The last is none at all.
            uint32 classes = bit == 32 ? 0 : uint32(1 << bit);
            if (bit == 0 || bit > uint256(type(Class).max)) {
                vm.expectRevert(
                    abi.encodeWithSelector(EmotionalState.EmotionalState_Classes.selector, classes)
                );
            }
            _reader.read(
                bytes.concat(_encode(f, abi.encodePacked(bytes3(0), classes)), _listing(0, 0))
            );
        }
    }

    /// @dev Sections that an owner can mean, for those of the flags that name one.
    function _sections(uint16 flags) private pure returns (bytes memory sections) {
        if (flags & 2 != 0) sections = abi.encodePacked(uint16(2_000));
        if (flags & 4 != 0) sections = abi.encodePacked(sections, bytes3(0x01ff05), uint32(6));
    }

    // Bounds

    function testFuzz_a_window_that_ends_before_it_starts_is_refused(uint40 start, uint40 end)
        public
    {
        Fields memory f = _plain();
        (f.start, f.end) = (start, end);

        if (end < start) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    MortalityTimeWindow.MortalityTimeWindow_InvertedWindow.selector, start, end
                )
            );
        }
        _reader.read(_encode(f, _listing(0, 0)));
    }

    function test_a_window_of_one_second_is_a_window() public view {
        Fields memory f = _plain();
        (f.start, f.end) = (7, 7);
        _reader.read(_encode(f, _listing(0, 0)));
    }

    function testFuzz_bounds_beyond_the_whole_are_refused(uint16 slippage, uint16 nav) public {
        Fields memory f = _plain();
        (f.slippageBps, f.navBps) = (slippage, nav);

        if (slippage > 10_000) {
            vm.expectRevert(abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, slippage));
        } else if (nav > 10_000) {
            vm.expectRevert(abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, nav));
        }
        _reader.read(_encode(f, _listing(0, 0)));
    }

    function test_the_whole_is_a_bound_and_one_more_is_none() public {
        Fields memory f = _plain();
        (f.slippageBps, f.navBps) = (10_000, 10_000);
        _reader.read(_encode(f, _listing(0, 0)));

        (f.slippageBps, f.navBps) = (10_001, 10_000);
        vm.expectRevert(abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, 10_001));
        _reader.read(_encode(f, _listing(0, 0)));
        (f.slippageBps, f.navBps) = (10_000, 10_001);
        vm.expectRevert(abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, 10_001));
        _reader.read(_encode(f, _listing(0, 0)));
    }

    // Another way to write and to read terms

    /// @dev Offset and length of each field, in the order of {Fields}.
    function _layout() private pure returns (uint256[2][22] memory at) {
        uint8[22] memory lengths =
            [32, 20, 2, 4, 2, 2, 2, 20, 8, 4, 20, 5, 5, 2, 20, 8, 4, 20, 6, 6, 20, 20];
        uint256 offset = 0;
        for (uint256 i = 0; i < 22; i++) {
            at[i] = [offset, uint256(lengths[i])];
            offset += lengths[i];
        }
    }

    function _encode(Fields memory f, bytes memory listing) private pure returns (bytes memory) {
        // A struct of static fields is as many words.
        uint256[22] memory words = abi.decode(abi.encode(f), (uint256[22]));
        uint256[2][22] memory layout = _layout();
        bytes memory terms = new bytes(HEADER);
        for (uint256 i = 0; i < 22; i++) {
            uint256 rest = words[i];
            for (uint256 at = layout[i][0] + layout[i][1]; at > layout[i][0]; at--) {
                terms[at - 1] = bytes1(uint8(rest));
                rest >>= 8;
            }
        }
        return bytes.concat(terms, listing);
    }

    function _fieldsOf(bytes memory terms) private pure returns (Fields memory) {
        uint256[22] memory words;
        uint256[2][22] memory layout = _layout();
        for (uint256 i = 0; i < 22; i++) {
            for (uint256 at = 0; at < layout[i][1]; at++) {
                words[i] = words[i] * 256 + uint8(terms[layout[i][0] + at]);
            }
        }
        return abi.decode(abi.encode(words), (Fields));
    }

    function _listing(uint8 tokens, uint8 targets) private pure returns (bytes memory listing) {
        listing = abi.encodePacked(address(0x5e9), uint32(3600), tokens, targets);
        for (uint160 i = 1; i <= tokens; i++) {
            listing = abi.encodePacked(
                listing,
                address(i),
                uint8(Role.Weth),
                address(i << 20),
                uint8(6),
                uint8(8),
                uint32(i)
            );
        }
        for (uint160 i = 1; i <= targets; i++) {
            listing = abi.encodePacked(listing, address(i), uint8(Role.Token));
        }
    }

    /// @dev Folds fuzzed fields into what an owner can mean.
    function _meant(Fields memory f) private pure returns (Fields memory) {
        f.slippageBps = uint16(within(f.slippageBps, 0, 10_000));
        f.navBps = uint16(within(f.navBps, 0, 10_000));
        f.flags = f.flags & 1;
        f.classes = f.classes & 0x3fffe;
        if (f.end < f.start) (f.start, f.end) = (f.end, f.start);
        return f;
    }

    function _plain() private pure returns (Fields memory f) {
        f.golemId = "golem";
        f.end = 1;
        f.classes = 2;
    }

    function _cut(bytes memory whole, uint256 length) private pure returns (bytes memory part) {
        part = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            part[i] = whole[i];
        }
    }

    function _assertSame(Charter memory c, Fields memory f, string memory name) private pure {
        vm.assertEq(c.golemId, f.golemId, string.concat(name, ": golemId"));
        vm.assertEq(c.owner, f.owner, string.concat(name, ": owner"));
        vm.assertEq(c.epoch, f.epoch, string.concat(name, ": epoch"));
        vm.assertEq(c.generation, f.generation, string.concat(name, ": generation"));
        vm.assertEq(c.bucketMinutes, f.bucketMinutes, string.concat(name, ": bucketMinutes"));
        vm.assertEq(c.slippageBps, f.slippageBps, string.concat(name, ": slippageBps"));
        vm.assertEq(c.nav.bps, f.navBps, string.concat(name, ": navBps"));
        vm.assertEq(c.account, f.account, string.concat(name, ": account"));
        vm.assertEq(c.spendCap, f.spendCap, string.concat(name, ": spendCap"));
        vm.assertEq(c.staleness, f.staleness, string.concat(name, ": staleness"));
        vm.assertEq(c.beneficiary, f.beneficiary, string.concat(name, ": beneficiary"));
        vm.assertEq(c.start, f.start, string.concat(name, ": start"));
        vm.assertEq(c.end, f.end, string.concat(name, ": end"));
        vm.assertTrue(c.replicants == (f.flags % 2 == 1), string.concat(name, ": replicants"));
        vm.assertEq(c.agentKey, f.agentKey, string.concat(name, ": agentKey"));
        vm.assertEq(c.nav.cap, f.navCap, string.concat(name, ": navCap"));
        vm.assertEq(c.classes, f.classes, string.concat(name, ": classes"));
        vm.assertEq(c.nav.vault, f.vault, string.concat(name, ": vault"));
        vm.assertEq(c.gasCeiling, f.gasCeiling, string.concat(name, ": gasCeiling"));
        vm.assertEq(c.gasDailyCap, f.gasDailyCap, string.concat(name, ": gasDailyCap"));
        vm.assertEq(c.registry, f.registry, string.concat(name, ": registry"));
        vm.assertEq(c.settlementAsset, f.settlementAsset, string.concat(name, ": settlement"));
    }

    function _unknownBits(uint256 flags, uint256 classes) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(CharterTerms.CharterTerms_UnknownBits.selector, flags, classes);
    }

    function _listingLength(uint256 expected, uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Listing.Listing_Length.selector, expected, actual);
    }
}

// forge-lint: disable-end(unsafe-typecast)

/// @notice A feed that always answers, so that what a listing says of it can be read.
contract AnyFeed {
    uint8 public immutable decimals;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (1, 1, block.timestamp, block.timestamp, 1);
    }
}

/// @notice The terms that the Rust twins read alike: `node testdata/vectors/charter.mjs`.
contract CharterVectorsTest is TestBase {
    struct VectorToken {
        address token;
        uint8 role;
        address feed;
        uint8 tokenDecimals;
        uint8 feedDecimals;
        uint32 maxAge;
    }

    struct VectorTarget {
        address target;
        uint8 role;
    }

    struct VectorListing {
        address sequencerFeed;
        uint32 sequencerGrace;
        VectorToken[] tokens;
        VectorTarget[] targets;
    }

    struct NamedListing {
        string name;
        address sequencerFeed;
        uint32 sequencerGrace;
        VectorToken[] tokens;
        VectorTarget[] targets;
        bytes terms;
    }

    struct VectorCharter {
        string name;
        bytes32 golemId;
        address owner;
        uint16 epoch;
        uint32 generation;
        uint16 bucketMinutes;
        uint16 slippageBps;
        uint16 navBps;
        address account;
        uint64 spendCap;
        uint32 staleness;
        address beneficiary;
        uint40 start;
        uint40 end;
        uint16 flags;
        address agentKey;
        uint64 navCap;
        uint32 classes;
        address vault;
        uint48 gasCeiling;
        uint48 gasDailyCap;
        address registry;
        address settlementAsset;
        uint16 maxRoyaltyBps;
        int8 minPleasure;
        int8 maxArousal;
        int8 minDominance;
        uint32 moodClasses;
        VectorListing listing;
        bytes terms;
    }

    struct Malformed {
        string name;
        bytes terms;
        string error;
        int256[] numbers;
    }

    struct UnknownRole {
        string name;
        address target;
        uint8 role;
        bytes terms;
    }

    string private constant ENTRIES =
        "VectorToken(address token,uint8 role,address feed,uint8 tokenDecimals,uint8 feedDecimals,uint32 maxAge)VectorTarget(address target,uint8 role)";
    string private constant NAMED_LISTING =
        "NamedListing(string name,address sequencerFeed,uint32 sequencerGrace,VectorToken[] tokens,VectorTarget[] targets,bytes terms)";
    string private constant CHARTER =
        "VectorCharter(string name,bytes32 golemId,address owner,uint16 epoch,uint32 generation,uint16 bucketMinutes,uint16 slippageBps,uint16 navBps,address account,uint64 spendCap,uint32 staleness,address beneficiary,uint40 start,uint40 end,uint16 flags,address agentKey,uint64 navCap,uint32 classes,address vault,uint48 gasCeiling,uint48 gasDailyCap,address registry,address settlementAsset,uint16 maxRoyaltyBps,int8 minPleasure,int8 maxArousal,int8 minDominance,uint32 moodClasses,VectorListing listing,bytes terms)VectorListing(address sequencerFeed,uint32 sequencerGrace,VectorToken[] tokens,VectorTarget[] targets)";
    string private constant MALFORMED =
        "Malformed(string name,bytes terms,string error,int256[] numbers)";
    string private constant UNKNOWN_ROLE =
        "UnknownRole(string name,address target,uint8 role,bytes terms)";

    CharterReader private _reader;
    ListingReader private _listings;
    string private _json;

    function setUp() public {
        vm.warp(1_800_000_000);
        _reader = new CharterReader();
        _listings = new ListingReader();
        _json = vm.readFile("../testdata/vectors/charter.json");
    }

    function test_every_charter_says_what_the_vectors_say() public {
        VectorCharter[] memory vectors = abi.decode(
            vm.parseJsonTypeArray(_json, "$.charters", string.concat(CHARTER, ENTRIES)),
            (VectorCharter[])
        );
        vm.assertTrue(vectors.length >= 140, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            VectorCharter memory v = vectors[i];
            Charter memory c = _reader.read(v.terms);
            _assertWho(c, v);
            _assertWhat(c, v);
            _assertSections(c, v);
            bytes memory listing = _reader.listingOf(v.terms);
            uint256 sections = (v.flags & 2 == 0 ? 0 : 2) + (v.flags & 4 == 0 ? 0 : 7);
            vm.assertEq(listing, _tail(v.terms, 232 + sections), string.concat(v.name, ": rest"));
            _assertListing(v.name, v.listing, listing);
        }
    }

    function test_every_malformed_charter_is_refused_for_its_reason() public {
        Malformed[] memory vectors = _malformed("$.malformedCharters");
        vm.assertTrue(vectors.length >= 100, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            vm.expectRevert(_error(vectors[i]));
            _reader.read(vectors[i].terms);
        }
    }

    function test_every_listing_says_what_the_vectors_say() public {
        NamedListing[] memory vectors = abi.decode(
            vm.parseJsonTypeArray(_json, "$.listings", string.concat(NAMED_LISTING, ENTRIES)),
            (NamedListing[])
        );
        vm.assertTrue(vectors.length >= 25, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            NamedListing memory v = vectors[i];
            VectorListing memory l =
                VectorListing(v.sequencerFeed, v.sequencerGrace, v.tokens, v.targets);
            _assertListing(v.name, l, v.terms);
        }
    }

    function test_every_malformed_listing_is_refused_for_its_reason() public {
        Malformed[] memory vectors = _malformed("$.malformedListings");
        vm.assertTrue(vectors.length >= 20, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            vm.expectRevert(_error(vectors[i]));
            _listings.requireWhole(vectors[i].terms);
        }
    }

    /// @dev Where Rust is stricter: here such a role is refused when its target is called.
    function test_a_role_nobody_knows_is_refused_when_its_target_is_called() public {
        UnknownRole[] memory vectors = abi.decode(
            vm.parseJsonTypeArray(_json, "$.unknownRoles", UNKNOWN_ROLE), (UnknownRole[])
        );
        vm.assertTrue(vectors.length >= 7, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            UnknownRole memory v = vectors[i];
            _listings.requireWhole(v.terms);
            if (v.role != 0) {
                vm.expectRevert(
                    abi.encodeWithSelector(Listing.Listing_Role.selector, v.target, v.role)
                );
            }
            Role role = _listings.role(v.terms, v.target);
            if (v.role == 0) vm.assertEq(uint8(role), uint8(Role.None), v.name);
        }
    }

    function _assertWho(Charter memory c, VectorCharter memory v) private pure {
        vm.assertEq(c.golemId, v.golemId, string.concat(v.name, ": golemId"));
        vm.assertEq(c.owner, v.owner, string.concat(v.name, ": owner"));
        vm.assertEq(c.epoch, v.epoch, string.concat(v.name, ": epoch"));
        vm.assertEq(c.generation, v.generation, string.concat(v.name, ": generation"));
        vm.assertEq(c.account, v.account, string.concat(v.name, ": account"));
        vm.assertEq(c.beneficiary, v.beneficiary, string.concat(v.name, ": beneficiary"));
        vm.assertEq(c.agentKey, v.agentKey, string.concat(v.name, ": agentKey"));
        vm.assertTrue(c.replicants == (v.flags % 2 == 1), string.concat(v.name, ": flags"));
        vm.assertEq(c.registry, v.registry, string.concat(v.name, ": registry"));
        vm.assertEq(c.settlementAsset, v.settlementAsset, string.concat(v.name, ": asset"));
    }

    function _assertWhat(Charter memory c, VectorCharter memory v) private pure {
        vm.assertEq(c.bucketMinutes, v.bucketMinutes, string.concat(v.name, ": bucketMinutes"));
        vm.assertEq(c.slippageBps, v.slippageBps, string.concat(v.name, ": slippageBps"));
        vm.assertEq(c.nav.bps, v.navBps, string.concat(v.name, ": navBps"));
        vm.assertEq(c.nav.cap, v.navCap, string.concat(v.name, ": navCap"));
        vm.assertEq(c.nav.vault, v.vault, string.concat(v.name, ": vault"));
        vm.assertEq(c.spendCap, v.spendCap, string.concat(v.name, ": spendCap"));
        vm.assertEq(c.staleness, v.staleness, string.concat(v.name, ": staleness"));
        vm.assertEq(c.start, v.start, string.concat(v.name, ": start"));
        vm.assertEq(c.end, v.end, string.concat(v.name, ": end"));
        vm.assertEq(c.classes, v.classes, string.concat(v.name, ": classes"));
        vm.assertEq(c.gasCeiling, v.gasCeiling, string.concat(v.name, ": gasCeiling"));
        vm.assertEq(c.gasDailyCap, v.gasDailyCap, string.concat(v.name, ": gasDailyCap"));
    }

    function _assertSections(Charter memory c, VectorCharter memory v) private view {
        vm.assertEq(c.maxRoyaltyBps, v.maxRoyaltyBps, string.concat(v.name, ": maxRoyaltyBps"));
        vm.assertTrue(
            (c.emotion != 0) == (v.flags & 4 != 0), string.concat(v.name, ": section of emotion")
        );
        (MoodBounds memory mood, uint256 classes) = _reader.moodOf(v.terms);
        vm.assertEq(int256(mood.minPleasure), v.minPleasure, string.concat(v.name, ": pleasure"));
        vm.assertEq(int256(mood.maxArousal), v.maxArousal, string.concat(v.name, ": arousal"));
        vm.assertEq(int256(mood.minDominance), v.minDominance, string.concat(v.name, ": dominance"));
        vm.assertEq(mood.staleness, v.staleness, string.concat(v.name, ": mood's staleness"));
        vm.assertEq(classes, v.moodClasses, string.concat(v.name, ": moodClasses"));
    }

    /// @dev The sequencer is asked before a price, so it has to answer here: as one that is up.
    function _assertListing(string memory name, VectorListing memory l, bytes memory terms)
        private
    {
        _listings.requireWhole(terms);
        (uint256 tokens, uint256 targets,) = _listings.counts(terms);
        vm.assertEq(tokens, l.tokens.length, string.concat(name, ": tokens"));
        vm.assertEq(targets, l.targets.length, string.concat(name, ": targets"));
        vm.assertEq(
            _head(terms, 24),
            abi.encodePacked(l.sequencerFeed, l.sequencerGrace),
            string.concat(name, ": sequencer")
        );
        bytes memory quiet = bytes.concat(new bytes(24), _tail(terms, 24));
        for (uint256 i = 0; i < tokens && i < 64; i++) {
            _assertToken(name, l, quiet, l.tokens[i].token);
        }
        for (uint256 i = 0; i < targets && i < 64; i++) {
            address at = l.targets[i].target;
            vm.assertEq(
                uint8(_listings.role(terms, at)), _roleOf(l, at), string.concat(name, ": role")
            );
        }
    }

    /// @dev The first target of this name, or else the first token.
    function _roleOf(VectorListing memory l, address at) private pure returns (uint8) {
        for (uint256 i = 0; i < l.targets.length; i++) {
            if (l.targets[i].target == at) return l.targets[i].role;
        }
        for (uint256 i = 0; i < l.tokens.length; i++) {
            if (l.tokens[i].token == at) return l.tokens[i].role;
        }
        return 0;
    }

    function _assertToken(
        string memory name,
        VectorListing memory l,
        bytes memory terms,
        address token
    ) private {
        uint256 first = 0;
        while (l.tokens[first].token != token) first++;
        VectorToken memory t = l.tokens[first];
        vm.etch(t.feed, address(new AnyFeed(t.feedDecimals)).code);

        (PricedToken memory priced,) = _listings.quote(terms, token);

        vm.assertEq(
            uint8(_listings.role(terms, token)), _roleOf(l, token), string.concat(name, ": role")
        );
        vm.assertEq(priced.token, t.token, string.concat(name, ": token"));
        vm.assertEq(priced.feed, t.feed, string.concat(name, ": feed"));
        vm.assertEq(priced.tokenDecimals, t.tokenDecimals, string.concat(name, ": decimals"));
        vm.assertEq(priced.feedDecimals, t.feedDecimals, string.concat(name, ": feed decimals"));
        vm.assertEq(priced.maxAge, t.maxAge, string.concat(name, ": maxAge"));
    }

    function _malformed(string memory path) private view returns (Malformed[] memory) {
        return abi.decode(vm.parseJsonTypeArray(_json, path, MALFORMED), (Malformed[]));
    }

    function _error(Malformed memory v) private pure returns (bytes memory) {
        bytes32 kind = keccak256(bytes(v.error));
        bytes4 selector;
        if (kind == keccak256("CharterLength")) {
            selector = CharterTerms.CharterTerms_Length.selector;
        } else if (kind == keccak256("ListingLength")) {
            selector = Listing.Listing_Length.selector;
        } else if (kind == keccak256("UnknownBits")) {
            selector = CharterTerms.CharterTerms_UnknownBits.selector;
        } else if (kind == keccak256("InvertedWindow")) {
            selector = MortalityTimeWindow.MortalityTimeWindow_InvertedWindow.selector;
        } else if (kind == keccak256("SlippageBps")) {
            selector = MaxSlippage.MaxSlippage_Bps.selector;
        } else if (kind == keccak256("RoyaltyBps")) {
            selector = KnowledgeRoyalty.KnowledgeRoyalty_Bps.selector;
        } else if (kind == keccak256("MoodBound")) {
            selector = EmotionalState.EmotionalState_Bound.selector;
        } else if (kind == keccak256("MoodClasses")) {
            selector = EmotionalState.EmotionalState_Classes.selector;
        } else {
            vm.assertEq(v.error, "NavBps", v.name);
            selector = VaultNav.VaultNav_Bps.selector;
        }
        return bytes.concat(selector, abi.encodePacked(v.numbers));
    }

    function _head(bytes memory whole, uint256 length) private pure returns (bytes memory part) {
        part = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            part[i] = whole[i];
        }
    }

    function _tail(bytes memory whole, uint256 from) private pure returns (bytes memory part) {
        part = new bytes(whole.length - from);
        for (uint256 i = 0; i < part.length; i++) {
            part[i] = whole[from + i];
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Role} from "../../src/rules/Actions.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {PricedToken, Valuation} from "../../src/rules/Valuation.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract ListingReader {
    using Listing for bytes;

    function requireWhole(bytes calldata listing) external pure {
        listing.requireWhole();
    }

    function counts(bytes calldata listing) external pure returns (uint256, uint256, uint256) {
        return (listing.tokenCount(), listing.targetCount(), listing.noAnswers().length);
    }

    function role(bytes calldata listing, address target) external pure returns (Role) {
        return listing.role(target);
    }

    function requireToken(bytes calldata listing, address token) external pure {
        listing.requireToken(token);
    }

    function quote(bytes calldata listing, address token)
        external
        view
        returns (PricedToken memory, uint256)
    {
        return listing.quote(listing.noAnswers(), token);
    }

    function valueOut(bytes calldata listing, address token, uint256 amount)
        external
        view
        returns (uint256)
    {
        return listing.valueOut(listing.noAnswers(), token, amount);
    }

    function valueIn(bytes calldata listing, address token, uint256 amount)
        external
        view
        returns (uint256)
    {
        return listing.valueIn(listing.noAnswers(), token, amount);
    }

    /// @dev Several questions with the same answers.
    function quotes(bytes calldata listing, address[] calldata tokens)
        external
        view
        returns (uint256[] memory found)
    {
        uint256[] memory answers = listing.noAnswers();
        found = new uint256[](tokens.length);
        for (uint256 i = 0; i < tokens.length; i++) {
            (, found[i]) = listing.quote(answers, tokens[i]);
        }
    }
}

/// @notice A feed of one slot: as many reads as it was asked.
contract OneSlotFeed {
    uint8 public immutable decimals;
    int256 private _answer;

    constructor(uint8 decimals_, int256 answer) {
        decimals = decimals_;
        _answer = answer;
    }

    function set(int256 answer) external {
        _answer = answer;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (1, _answer, block.timestamp, block.timestamp, 1);
    }
}

/// @notice An uptime feed of one slot.
contract OneSlotUptime {
    int256 private _answer;
    uint256 private immutable _since;

    constructor(uint256 since) {
        _since = since;
    }

    function set(int256 answer) external {
        _answer = answer;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (1, _answer, _since, block.timestamp, 1);
    }
}

// forge-lint: disable-start(unsafe-typecast)
// What is narrowed here was drawn, and any value of it will do.

contract ListingTest is TestBase {
    uint256 private constant NOW = 1_800_000_000;
    /// @dev Few enough that they meet.
    uint160 private constant NAMES = 6;

    struct Token {
        address token;
        uint8 role;
        address feed;
        uint8 tokenDecimals;
        uint8 feedDecimals;
        uint32 maxAge;
    }

    struct Target {
        address target;
        uint8 role;
    }

    ListingReader private _reader;
    OneSlotFeed[4] private _feeds;

    function setUp() public {
        vm.warp(NOW);
        _reader = new ListingReader();
        _feeds = [
            new OneSlotFeed(8, 2500e8),
            new OneSlotFeed(0, 1),
            new OneSlotFeed(18, 1e18),
            new OneSlotFeed(255, type(int96).max)
        ];
    }

    function testFuzz_every_lookup_is_a_naive_search(uint256 seed) public {
        Token[] memory tokens = _tokens(seed);
        Target[] memory targets = _targets(seed);
        bytes memory listing = _encode(address(0), 0, tokens, targets);

        _reader.requireWhole(listing);
        (uint256 first, uint256 second, uint256 answers) = _reader.counts(listing);
        vm.assertEq(first, tokens.length, "tokens");
        vm.assertEq(second, targets.length, "targets");
        vm.assertEq(answers, tokens.length + 1, "answers");
        // One name more than there are: a stranger.
        for (uint160 name = 0; name <= NAMES; name++) {
            _assertRole(listing, tokens, targets, _name(name));
            _assertToken(listing, tokens, _name(name));
        }
    }

    function test_the_first_of_two_targets_counts() public view {
        Target[] memory targets = new Target[](3);
        targets[0] = Target(address(7), uint8(Role.Token));
        targets[1] = Target(address(8), uint8(Role.Vault));
        targets[2] = Target(address(7), uint8(Role.SwapRouter));
        bytes memory listing = _encode(address(0), 0, new Token[](0), targets);

        vm.assertEq(uint8(_reader.role(listing, address(7))), uint8(Role.Token), "first");
        vm.assertEq(uint8(_reader.role(listing, address(8))), uint8(Role.Vault), "between");
    }

    function test_a_tokens_role_counts_behind_those_of_targets() public {
        Token[] memory tokens = _some(4);
        (tokens[1].role, tokens[2].role, tokens[3].role) = (0, 11, uint8(Role.Weth));
        tokens[3].token = tokens[0].token;
        Target[] memory targets = new Target[](1);
        targets[0] = Target(address(99), uint8(Role.Vault));
        bytes memory listing = _encode(address(0), 0, tokens, targets);

        vm.assertEq(uint8(_reader.role(listing, address(7))), uint8(Role.Token), "first");
        vm.assertEq(uint8(_reader.role(listing, address(8))), uint8(Role.None), "priced alone");
        _reader.quote(listing, address(8));
        vm.assertEq(uint8(_reader.role(listing, address(99))), uint8(Role.Vault), "target");
        vm.expectRevert(abi.encodeWithSelector(Listing.Listing_Role.selector, address(9), 11));
        _reader.role(listing, address(9));

        targets[0].target = address(7);
        listing = _encode(address(0), 0, tokens, targets);
        vm.assertEq(uint8(_reader.role(listing, address(7))), uint8(Role.Vault), "both");
    }

    function test_the_first_of_two_feeds_counts() public view {
        Token[] memory tokens = new Token[](2);
        tokens[0] = Token(address(7), uint8(Role.Token), address(_feeds[0]), 18, 8, 1);
        tokens[1] = Token(address(7), uint8(Role.Token), address(_feeds[1]), 6, 0, 2);
        bytes memory listing = _encode(address(0), 0, tokens, new Target[](0));

        (PricedToken memory priced, uint256 answer) = _reader.quote(listing, address(7));

        vm.assertEq(priced.feed, address(_feeds[0]), "feed");
        vm.assertEq(answer, 2500e8, "answer");
    }

    /// @dev An address is compared as a whole: neighbours of it are other addresses.
    function testFuzz_an_address_that_differs_in_one_bit_is_not_listed(address name, uint8 bit)
        public
    {
        address other = address(uint160(name) ^ uint160(1 << (bit % 160)));
        Token[] memory tokens = new Token[](1);
        tokens[0] = Token(name, uint8(Role.Token), address(_feeds[0]), 18, 8, 0);
        Target[] memory targets = new Target[](1);
        targets[0] = Target(name, uint8(Role.Token));
        bytes memory listing = _encode(address(0), 0, tokens, targets);

        vm.assertEq(uint8(_reader.role(listing, name)), uint8(Role.Token), "listed");
        vm.assertEq(uint8(_reader.role(listing, other)), uint8(Role.None), "another");
        _reader.quote(listing, name);
        _reader.requireToken(listing, name);
        vm.expectRevert(abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, other));
        _reader.quote(listing, other);
        vm.expectRevert(abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, other));
        _reader.requireToken(listing, other);
    }

    function test_every_role_there_is_and_none_that_is_not() public {
        for (uint256 byteOfRole = 0; byteOfRole < 256; byteOfRole++) {
            Target[] memory targets = new Target[](1);
            targets[0] = Target(address(7), uint8(byteOfRole));
            bytes memory listing = _encode(address(0), 0, new Token[](0), targets);

            if (byteOfRole > 10) {
                vm.expectRevert(
                    abi.encodeWithSelector(Listing.Listing_Role.selector, address(7), byteOfRole)
                );
            }
            Role role = _reader.role(listing, address(7));
            if (byteOfRole <= 10) vm.assertEq(uint8(role), byteOfRole, "role");
            vm.assertEq(uint8(_reader.role(listing, address(8))), uint8(Role.None), "unlisted");
        }
    }

    function test_every_other_length_is_refused() public {
        bytes memory whole = _encode(address(9), 1, _some(2), new Target[](3));

        for (uint256 length = 0; length < whole.length + 64; length++) {
            if (length != whole.length) _assertLength(whole, length);
        }
        _reader.requireWhole(whole);
    }

    function testFuzz_every_other_length_is_refused(uint256 seed, uint256 length) public {
        bytes memory whole = _encode(address(9), 1, _tokens(seed), _targets(seed));
        length = within(length, 0, whole.length + 64);
        vm.assume(length != whole.length);

        _assertLength(whole, length);
        _reader.requireWhole(whole);
    }

    function test_a_listing_may_be_empty_and_as_full_as_its_counts_go() public view {
        bytes memory none = _encode(address(0), 0, new Token[](0), new Target[](0));
        _reader.requireWhole(none);
        vm.assertEq(uint8(_reader.role(none, address(0))), uint8(Role.None), "nothing in it");

        Token[] memory tokens = new Token[](255);
        Target[] memory targets = new Target[](255);
        for (uint160 i = 0; i < 255; i++) {
            tokens[i] =
                Token(address(i + 1), uint8(Role.Token), address(_feeds[0]), 18, 8, uint32(i));
            targets[i] = Target(address(i + 1000), uint8(i % 11));
        }
        bytes memory full = _encode(address(0), 0, tokens, targets);
        _reader.requireWhole(full);
        vm.assertEq(full.length, 26 + 255 * 68, "length");
        (PricedToken memory last,) = _reader.quote(full, address(255));
        vm.assertEq(last.maxAge, 254, "the last token");
        vm.assertEq(uint8(_reader.role(full, address(1254))), 254 % 11, "the last target");
    }

    function test_a_feed_is_read_once_however_often_it_is_asked_for() public {
        Token[] memory tokens = new Token[](2);
        tokens[0] = Token(address(7), uint8(Role.Token), address(_feeds[0]), 18, 8, 0);
        tokens[1] = Token(address(8), uint8(Role.Token), address(_feeds[1]), 6, 0, 0);
        OneSlotUptime uptime = new OneSlotUptime(NOW - 3600);
        bytes memory listing = _encode(address(uptime), 3600, tokens, new Target[](0));
        address[] memory asked = new address[](5);
        (asked[0], asked[1], asked[2], asked[3], asked[4]) =
        (address(7), address(8), address(7), address(8), address(7));
        vm.record();

        uint256[] memory found = _reader.quotes(listing, asked);

        vm.assertEq(found[0], 2500e8, "answer");
        vm.assertEq(found[3], 1, "answer of the other");
        vm.assertEq(found[4], 2500e8, "answer again");
        vm.assertEq(_reads(address(_feeds[0])), 1, "one feed");
        vm.assertEq(_reads(address(_feeds[1])), 1, "the other");
        vm.assertEq(_reads(address(uptime)), 1, "the sequencer");
    }

    /// @dev ATK-24.
    function test_no_price_counts_while_the_sequencer_is_away() public {
        Token[] memory tokens = new Token[](1);
        tokens[0] = Token(address(7), uint8(Role.Token), address(_feeds[0]), 18, 8, 0);
        OneSlotUptime uptime = new OneSlotUptime(NOW - 3600);
        bytes memory listing = _encode(address(uptime), 3600, tokens, new Target[](0));
        bytes memory longer = _encode(address(uptime), 3601, tokens, new Target[](0));

        _reader.quote(listing, address(7));
        vm.expectRevert(_sequencer(address(uptime), 0, 3601));
        _reader.quote(longer, address(7));
        uptime.set(1);
        vm.expectRevert(_sequencer(address(uptime), 1, 3600));
        _reader.quote(listing, address(7));
    }

    function test_a_grace_of_all_its_bits_is_read_whole() public {
        Token[] memory tokens = new Token[](1);
        tokens[0] = Token(address(7), uint8(Role.Token), address(_feeds[0]), 18, 8, 0);
        OneSlotUptime uptime = new OneSlotUptime(NOW);
        bytes memory listing = _encode(address(uptime), type(uint32).max, tokens, new Target[](0));

        vm.expectRevert(
            abi.encodeWithSelector(
                Valuation.Valuation_Sequencer.selector, address(uptime), 0, NOW, type(uint32).max
            )
        );
        _reader.quote(listing, address(7));
    }

    /// @dev ATK-24, ATK-25: what {Valuation} refuses, and a token without an entry.
    function test_a_token_without_a_good_price_has_no_value() public {
        Token[] memory tokens = new Token[](2);
        tokens[0] = Token(address(7), uint8(Role.Token), address(_feeds[0]), 18, 18, 0);
        tokens[1] = Token(address(8), uint8(Role.Token), address(_feeds[1]), 0, 0, 0);
        bytes memory listing = _encode(address(0), 0, tokens, new Target[](0));

        vm.expectRevert(
            abi.encodeWithSelector(Valuation.Valuation_Decimals.selector, address(_feeds[0]), 18, 8)
        );
        _reader.valueOut(listing, address(7), 0);
        _feeds[1].set(0);
        vm.expectRevert(
            abi.encodeWithSelector(Valuation.Valuation_Answer.selector, address(_feeds[1]), 0)
        );
        _reader.valueIn(listing, address(8), 0);
        vm.expectRevert(abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(9)));
        _reader.valueOut(listing, address(9), 0);
    }

    function test_what_leaves_is_rounded_up_and_what_arrives_down() public view {
        Token[] memory tokens = new Token[](1);
        tokens[0] = Token(address(7), uint8(Role.Token), address(_feeds[0]), 18, 8, 0);
        bytes memory listing = _encode(address(0), 0, tokens, new Target[](0));

        vm.assertEq(_reader.valueOut(listing, address(7), 1e18 + 1), 2500e6 + 1, "up");
        vm.assertEq(_reader.valueIn(listing, address(7), 1e18 + 1), 2500e6, "down");
        vm.assertEq(_reader.valueOut(listing, address(7), 1e18), 2500e6, "even");
    }

    // The naive side

    function _assertLength(bytes memory whole, uint256 length) private {
        uint256 expected = 26 + 47 * uint256(uint8(whole[24])) + 21 * uint256(uint8(whole[25]));
        vm.assertEq(whole.length, expected, "the encoder's own length");
        bytes memory other = new bytes(length);
        for (uint256 i = 0; i < length && i < whole.length; i++) {
            other[i] = whole[i];
        }
        vm.expectRevert(
            abi.encodeWithSelector(
                Listing.Listing_Length.selector, length < 26 ? 26 : expected, length
            )
        );
        _reader.requireWhole(other);
    }

    function _some(uint256 count) private view returns (Token[] memory tokens) {
        tokens = new Token[](count);
        for (uint160 i = 0; i < count; i++) {
            tokens[i] = Token(address(i + 7), uint8(Role.Token), address(_feeds[0]), 18, 8, 0);
        }
    }

    function _assertRole(
        bytes memory listing,
        Token[] memory tokens,
        Target[] memory targets,
        address name
    ) private {
        uint256 expected = uint256(Role.None);
        for (uint256 i = tokens.length; i > 0; i--) {
            if (tokens[i - 1].token == name) expected = tokens[i - 1].role;
        }
        for (uint256 i = targets.length; i > 0; i--) {
            if (targets[i - 1].target == name) expected = targets[i - 1].role;
        }
        if (expected > 10) {
            vm.expectRevert(abi.encodeWithSelector(Listing.Listing_Role.selector, name, expected));
        }
        Role role = _reader.role(listing, name);
        if (expected <= 10) vm.assertEq(uint8(role), expected, "role");
    }

    function _assertToken(bytes memory listing, Token[] memory tokens, address name) private {
        Token memory expected;
        for (uint256 i = tokens.length; i > 0; i--) {
            if (tokens[i - 1].token == name) expected = tokens[i - 1];
        }
        if (expected.feed == address(0)) {
            vm.expectRevert(abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, name));
        }
        (PricedToken memory priced,) = _reader.quote(listing, name);
        if (expected.feed == address(0)) return;
        vm.assertEq(priced.token, expected.token, "token");
        vm.assertEq(priced.feed, expected.feed, "feed");
        vm.assertEq(priced.tokenDecimals, expected.tokenDecimals, "decimals of the token");
        vm.assertEq(priced.feedDecimals, expected.feedDecimals, "decimals of the feed");
        vm.assertEq(priced.maxAge, expected.maxAge, "age");
    }

    function _tokens(uint256 seed) private view returns (Token[] memory tokens) {
        tokens = new Token[](_draw(seed, "tokens", 0) % 9);
        for (uint256 i = 0; i < tokens.length; i++) {
            uint256 drawn = _draw(seed, "token", i);
            OneSlotFeed feed = _feeds[(drawn >> 16) % 4];
            tokens[i] = Token(
                _name(uint160(drawn % NAMES)),
                uint8((drawn >> 96) % 12),
                address(feed),
                uint8(drawn >> 32),
                feed.decimals(),
                uint32(drawn >> 64)
            );
        }
    }

    function _targets(uint256 seed) private pure returns (Target[] memory targets) {
        targets = new Target[](_draw(seed, "targets", 0) % 9);
        for (uint256 i = 0; i < targets.length; i++) {
            uint256 drawn = _draw(seed, "target", i);
            targets[i] = Target(_name(uint160(drawn % NAMES)), uint8((drawn >> 32) % 12));
        }
    }

    function _draw(uint256 seed, string memory what, uint256 i) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, what, i)));
    }

    /// @dev The first is the chain's own coin.
    function _name(uint160 i) private pure returns (address) {
        return i == 0 ? address(0) : address(uint160(uint256(keccak256(abi.encode("name", i)))));
    }

    function _encode(
        address sequencer,
        uint32 grace,
        Token[] memory tokens,
        Target[] memory targets
    ) private pure returns (bytes memory made) {
        made = abi.encodePacked(sequencer, grace, uint8(tokens.length), uint8(targets.length));
        for (uint256 i = 0; i < tokens.length; i++) {
            Token memory t = tokens[i];
            made = bytes.concat(
                made,
                abi.encodePacked(t.token, t.role, t.feed, t.tokenDecimals, t.feedDecimals, t.maxAge)
            );
        }
        for (uint256 i = 0; i < targets.length; i++) {
            made = bytes.concat(made, abi.encodePacked(targets[i].target, targets[i].role));
        }
    }

    function _reads(address feed) private view returns (uint256) {
        (bytes32[] memory reads,) = vm.accesses(feed);
        return reads.length;
    }

    function _sequencer(address feed, int256 answer, uint256 grace)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            Valuation.Valuation_Sequencer.selector, feed, answer, NOW - 3600, grace
        );
    }
}

// forge-lint: disable-end(unsafe-typecast)

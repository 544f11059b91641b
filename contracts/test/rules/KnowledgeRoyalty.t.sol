// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IKnowledgeMarket, Royalty} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken} from "../../src/interfaces/ITokens.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Action, Actions, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {KnowledgeRoyalty} from "../../src/rules/KnowledgeRoyalty.sol";
import {TestBase} from "../TestBase.sol";

/// @notice A market that says what a test wants to hear about one seller's sale.
contract SayingMarket {
    address private constant TOKEN = address(0x70);

    uint256 private _price;
    Royalty[] private _royalties;
    bytes32 private _entryId;
    address private _seller;

    function say(bytes32 entryId, address seller, uint256 price, Royalty[] calldata royalties)
        external
    {
        (_entryId, _seller, _price) = (entryId, seller, price);
        delete _royalties;
        for (uint256 i = 0; i < royalties.length; i++) {
            _royalties.push(royalties[i]);
        }
    }

    function royaltiesOf(bytes32 entryId, address seller)
        external
        view
        returns (address, uint256, Royalty[] memory)
    {
        if (entryId != _entryId || seller != _seller) {
            revert IKnowledgeMarket.KnowledgeMarket_UnknownEntry(entryId);
        }
        return (TOKEN, _price, _royalties);
    }
}

/// @dev An internal library is judged through a contract that calls it.
contract RoyaltyRule {
    function requireBps(uint256 bps) external pure {
        KnowledgeRoyalty.requireBps(bps);
    }

    function due(address market, uint256 maxBps, bytes32 entryId, address seller)
        external
        view
        returns (address, Royalty[] memory)
    {
        return KnowledgeRoyalty.due(market, maxBps, entryId, seller);
    }

    function isSale(address market, address target, bytes calldata data)
        external
        pure
        returns (bool)
    {
        return KnowledgeRoyalty.isSale(market, target, data);
    }

    function checkSale(
        address market,
        uint256 maxBps,
        ModeCode mode,
        bytes calldata execution,
        uint256 count,
        uint256 index
    ) external view returns (uint256) {
        return KnowledgeRoyalty.checkSale(market, maxBps, mode, execution, count, index);
    }

    function checkActions(
        bytes calldata listing,
        uint256 maxBps,
        bytes calldata execution,
        uint256 index
    ) external view returns (address token, uint256 next) {
        Action[] memory actions = Executions.actions(listing, BATCH_DEFAULT, execution);
        return KnowledgeRoyalty.checkActions(maxBps, actions, index);
    }
}

contract KnowledgeRoyaltyTest is TestBase {
    address private constant TOKEN = address(0x70);
    address private constant SELLER = address(0x5e);
    address private constant BUYER = address(0xb0);
    bytes32 private constant ENTRY = "entry";

    RoyaltyRule private _rule;
    SayingMarket private _market;

    function setUp() public {
        _rule = new RoyaltyRule();
        _market = new SayingMarket();
    }

    function testFuzz_a_bound_is_at_most_the_whole(uint256 bps) public {
        if (bps > 10_000) {
            vm.expectRevert(
                abi.encodeWithSelector(KnowledgeRoyalty.KnowledgeRoyalty_Bps.selector, bps)
            );
        }
        _rule.requireBps(bps);
    }

    function test_the_bound_holds_to_the_last_unit() public {
        _say(10_000, 1_500, 500);
        _due(2_000);
        _say(10_000, 1_500, 501);
        vm.expectRevert(_tooMuch(2_001, 10_000, 2_000));
        _due(2_000);
        // Rounding up is more than the bound, too.
        _say(1, 1, 0);
        vm.expectRevert(_tooMuch(1, 1, 9_999));
        _due(9_999);
        _due(10_000);
    }

    /// @dev Whatever a market says: never more than the price, at any bound.
    function testFuzz_royalties_are_bounded_by_the_price(
        uint96 price,
        uint96 one,
        uint96 other,
        uint256 bps
    ) public {
        bps = within(bps, 0, 10_000);
        _say(price, one, other);
        uint256 total = uint256(one) + other;

        bool over = total * 10_000 > uint256(price) * bps;
        if (over) vm.expectRevert(_tooMuch(total, price, bps));
        Royalty[] memory royalties = _due(bps);

        if (over) return;
        vm.assertEq(royalties.length, 2, "as said");
        vm.assertTrue(total <= price, "out of the price");
    }

    function testFuzz_a_sale_is_the_markets_function(address to, bytes memory data) public view {
        bytes memory sale = abi.encodePacked(IKnowledgeMarket.sell.selector, data);
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        bool other = bytes4(data) != IKnowledgeMarket.sell.selector;

        vm.assertTrue(_rule.isSale(to, to, sale), "sale");
        vm.assertTrue(!_rule.isSale(to, to, data) || !other, "another function");
        vm.assertFalse(_rule.isSale(to, address(uint160(to) ^ 1), sale), "another contract");
    }

    function testFuzz_a_sale_ends_behind_its_last_royalty(uint8 before, uint8 behind, uint8 paid)
        public
    {
        (before, behind, paid) = (before % 4, behind % 4, paid % 3);
        _say(100, 10, 5);
        Execution[] memory calls = new Execution[](uint256(before) + 1 + paid + behind);
        for (uint256 i = 0; i < calls.length; i++) {
            calls[i] = Execution(address(7), i, hex"01020304");
        }
        calls[before] = _sale();
        if (paid > 0) calls[before + 1] = _pay(_author(0), 10);
        if (paid > 1) calls[before + 2] = _pay(_author(1), 5);

        if (paid < 2) vm.expectRevert(_missing(_author(paid), paid == 0 ? 10 : 5));
        uint256 next = _rule.checkSale(
            address(_market), 10_000, BATCH_DEFAULT, abi.encode(calls), calls.length, before
        );

        if (paid == 2) vm.assertEq(next, uint256(before) + 3, "next");
    }

    /// @dev One byte of a royalty's call, its target or its value.
    function testFuzz_a_royalty_off_by_a_bit_is_none(uint256 at, uint8 flip) public {
        _say(100, 10, 5);
        Execution[] memory calls = new Execution[](3);
        (calls[0], calls[1], calls[2]) = (_sale(), _pay(_author(0), 10), _pay(_author(1), 5));
        bytes1 mask = bytes1(uint8(within(flip, 1, 255)));
        at = at % 70;
        if (at < 68) calls[2].callData[at] ^= mask;
        else if (at == 68) calls[2].target = address(uint160(TOKEN) ^ uint8(mask));
        else calls[2].value = uint8(mask);

        vm.expectRevert(_missing(_author(1), 5));
        _rule.checkSale(address(_market), 10_000, BATCH_DEFAULT, abi.encode(calls), 3, 0);
    }

    /// @dev One rule in two forms: what a reader of calls says, a reader of actions says too.
    function testFuzz_calls_and_actions_are_judged_alike(uint256 drawn) public {
        _say(100, 10, 5);
        uint256 before = drawn % 3;
        uint256 behind = (drawn >> 8) % 4;
        Execution[] memory calls = new Execution[](before + 1 + behind);
        for (uint256 i = 0; i < calls.length; i++) {
            calls[i] = _almost(i > before ? i - before - 1 : 1, drawn >> (16 + 8 * i));
        }
        calls[before] = _sale();
        bytes memory execution = abi.encode(calls);

        (bool byCalls, bytes memory said) = address(_rule)
            .staticcall(
                abi.encodeCall(
                    _rule.checkSale,
                    (address(_market), 10_000, BATCH_DEFAULT, execution, calls.length, before)
                )
            );
        (bool byActions, bytes memory answer) = address(_rule)
            .staticcall(abi.encodeCall(_rule.checkActions, (_listing(), 10_000, execution, before)));

        // The one call here that no action can be made of is refused before.
        // forge-lint: disable-next-line(unsafe-typecast)
        if (bytes4(answer) == Actions.Actions_Sentinel.selector) return;
        vm.assertTrue(byCalls == byActions, "one accepts and one refuses");
        if (!byCalls) {
            vm.assertEq(said, answer, "in other words");
            return;
        }
        (address token, uint256 next) = abi.decode(answer, (address, uint256));
        vm.assertEq(token, TOKEN, "token");
        vm.assertEq(next, abi.decode(said, (uint256)), "next");
    }

    /// @dev The royalty of that place, or something that looks like it.
    function _almost(uint256 place, uint256 die) private pure returns (Execution memory) {
        (address to, uint256 amount) = (_author(place), place == 0 ? 10 : 5);
        die = die % 16;
        if (die == 0) return _pay(to, amount + 1);
        if (die == 1) return _pay(to, amount - 1);
        if (die == 2) return _pay(BUYER, amount);
        if (die == 3) {
            return Execution(address(0x71), 0, abi.encodeCall(IToken.transfer, (to, amount)));
        }
        if (die == 4) {
            return Execution(TOKEN, 0, abi.encodeCall(IToken.transferFrom, (SELLER, to, amount)));
        }
        if (die == 5) {
            return
                Execution(TOKEN, 0, abi.encodeCall(IToken.transferFrom, (address(0), to, amount)));
        }
        if (die == 6) return Execution(TOKEN, 0, abi.encodeCall(IToken.approve, (to, amount)));
        if (die == 7) return _pay(_author(1 - place % 2), amount);
        return _pay(to, amount);
    }

    function _listing() private view returns (bytes memory) {
        return abi.encodePacked(
            address(0),
            uint32(0),
            uint8(0),
            uint8(3),
            abi.encodePacked(TOKEN, uint8(Role.Token), address(0x71), uint8(Role.Token)),
            abi.encodePacked(address(_market), uint8(Role.Market))
        );
    }

    function test_alone_a_sale_owes_nothing_or_is_refused() public {
        bytes memory execution = abi.encodePacked(address(_market), uint256(0), _sale().callData);

        _say(100, 10, 5);
        vm.expectRevert(_missing(_author(0), 10));
        _rule.checkSale(address(_market), 10_000, SINGLE_DEFAULT, execution, 1, 0);
        _market.say(ENTRY, SELLER, 100, new Royalty[](0));
        vm.assertEq(
            _rule.checkSale(address(_market), 0, SINGLE_DEFAULT, execution, 1, 0), 1, "next"
        );
    }

    function testFuzz_a_sale_of_another_length_is_refused(uint16 length) public {
        length = length % 400;
        vm.assume(length != 96);
        _say(100, 10, 5);
        bytes memory data =
            bytes.concat(abi.encodePacked(IKnowledgeMarket.sell.selector), new bytes(length));

        vm.expectRevert(
            abi.encodeWithSelector(
                KnowledgeRoyalty.KnowledgeRoyalty_NotCanonical.selector, data.length
            )
        );
        _rule.checkSale(
            address(_market),
            10_000,
            SINGLE_DEFAULT,
            abi.encodePacked(address(_market), uint256(0), data),
            1,
            0
        );
    }

    function _say(uint256 price, uint256 one, uint256 other) private {
        Royalty[] memory royalties = new Royalty[](2);
        (royalties[0], royalties[1]) = (Royalty(_author(0), one), Royalty(_author(1), other));
        _market.say(ENTRY, SELLER, price, royalties);
    }

    function _due(uint256 bps) private view returns (Royalty[] memory royalties) {
        (, royalties) = _rule.due(address(_market), bps, ENTRY, SELLER);
    }

    function _sale() private view returns (Execution memory) {
        return Execution(
            address(_market), 0, abi.encodeCall(IKnowledgeMarket.sell, (ENTRY, SELLER, BUYER))
        );
    }

    function _pay(address to, uint256 amount) private pure returns (Execution memory) {
        return Execution(TOKEN, 0, abi.encodeCall(IToken.transfer, (to, amount)));
    }

    function _author(uint256 index) private pure returns (address) {
        return index == 0 ? address(0xa0) : address(0xa1);
    }

    function _missing(address author, uint256 amount) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            KnowledgeRoyalty.KnowledgeRoyalty_Missing.selector, ENTRY, TOKEN, author, amount
        );
    }

    function _tooMuch(uint256 total, uint256 price, uint256 bps)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            KnowledgeRoyalty.KnowledgeRoyalty_TooMuch.selector, ENTRY, total, price, bps
        );
    }
}

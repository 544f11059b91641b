// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {UsdCoin} from "../../local/UsdCoin.sol";
import {IKnowledgeMarket, KnowledgeEntry, Royalty} from "../../src/interfaces/IKnowledgeMarket.sol";
import {KnowledgeMarket} from "../../src/market/KnowledgeMarket.sol";
import {TestBase} from "../TestBase.sol";

/// @notice A token that does as it is told, and seldom what it should.
contract OddToken {
    enum Oddity {
        None,
        KeepsAFee,
        PaysMore,
        SaysFalse,
        SaysNothing,
        CallsBack
    }

    Oddity private immutable _oddity;
    mapping(address holder => uint256 amount) public balanceOf;
    address private _back;
    bytes private _call;

    constructor(Oddity oddity) {
        _oddity = oddity;
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    /// @notice What it calls in the middle of a transfer.
    function plan(address back, bytes calldata call) external {
        (_back, _call) = (back, call);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        if (_oddity == Oddity.SaysFalse) return false;
        balanceOf[from] -= amount;
        if (_oddity == Oddity.KeepsAFee) amount -= 1;
        if (_oddity == Oddity.PaysMore) amount += 1;
        balanceOf[to] += amount;
        if (_oddity == Oddity.SaysNothing) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        if (_oddity == Oddity.CallsBack) {
            (bool done, bytes memory answer) = _back.call(_call);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
        return true;
    }
}

contract KnowledgeMarketTest is TestBase {
    uint96 private constant PRICE = 50e6;

    KnowledgeMarket private _market;
    UsdCoin private _usdc;
    address private _author;
    address private _heir;
    address private _buyer;

    function setUp() public {
        _market = new KnowledgeMarket();
        _usdc = new UsdCoin(address(this));
        _author = actor("author").account;
        _heir = actor("heir").account;
        _buyer = actor("buyer").account;
        _usdc.mint(_buyer, 1_000e6);
        vm.prank(_buyer);
        _usdc.approve(address(_market), type(uint256).max);
    }

    // Publishing

    function testFuzz_an_entry_is_what_its_author_published(
        address author,
        bytes32 content,
        uint16 bps,
        address token,
        uint96 price
    ) public {
        vm.assume(author != address(0) && price != 0);
        bps = bps % 5_001;
        bytes32 id = keccak256(abi.encode(author, content));

        vm.expectEmit(address(_market));
        emit IKnowledgeMarket.Published(id, author, bytes32(0), content, bps, token, price);
        vm.prank(author);
        bytes32 made = _market.publish(content, bytes32(0), bps, token, price);

        KnowledgeEntry memory entry = _market.entryOf(id);
        vm.assertEq(made, id, "id");
        vm.assertEq(_market.entryIdOf(author, content), id, "id of");
        vm.assertEq(entry.author, author, "author");
        vm.assertEq(entry.contentHash, content, "content");
        vm.assertEq(entry.parent, bytes32(0), "parent");
        vm.assertEq(entry.royaltyBps, bps, "royalty");
        vm.assertEq(entry.token, token, "token");
        vm.assertEq(entry.price, price, "price");
        vm.assertEq(entry.publishedAt, block.timestamp, "time");
        vm.assertTrue(_market.hasAccess(id, author), "access");
    }

    function test_an_author_publishes_a_content_once_and_anybody_else_his_own() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 1_000);

        vm.expectRevert(
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_AlreadyPublished.selector, id)
        );
        _publish(_author, "a", bytes32(0), 0);
        vm.assertTrue(_publish(_heir, "a", bytes32(0), 0) != id, "another's");
        vm.assertEq(_market.entryOf(id).royaltyBps, 1_000, "as it was");
    }

    function test_half_a_price_is_the_most_an_author_can_ask_for() public {
        _publish(_author, "a", bytes32(0), 5_000);
        vm.expectRevert(
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_Royalty.selector, 5_001, 5_000)
        );
        _publish(_author, "b", bytes32(0), 5_001);
    }

    function test_a_price_of_nothing_is_none() public {
        vm.expectRevert(IKnowledgeMarket.KnowledgeMarket_NoPrice.selector);
        vm.prank(_author);
        _market.publish("a", bytes32(0), 0, address(_usdc), 0);
        vm.prank(_author);
        _market.publish("a", bytes32(0), 0, address(_usdc), 1);
    }

    function test_a_child_grows_out_of_what_its_author_has() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 1_000);

        vm.expectRevert(_noAccess(id, _heir));
        _publish(_heir, "b", id, 0);
        vm.expectRevert(_unknown("nothing"));
        _publish(_heir, "b", "nothing", 0);
        _bequeath(id, _heir);
        _publish(_heir, "b", id, 0);
    }

    function test_a_child_is_paid_in_its_parents_token() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 1_000);
        _bequeath(id, _heir);

        vm.expectRevert(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_OtherToken.selector, address(7), address(_usdc)
            )
        );
        vm.prank(_heir);
        _market.publish("b", id, 0, address(7), 1);
    }

    // Access

    function test_only_the_author_gives_away_and_only_once() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 1_000);

        vm.expectRevert(
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_NotAuthor.selector, id, _heir)
        );
        vm.prank(_heir);
        _market.bequeath(id, _heir);
        vm.expectRevert(_unknown("nothing"));
        vm.prank(_heir);
        _market.bequeath("nothing", _heir);

        vm.expectEmit(address(_market));
        emit IKnowledgeMarket.Bequeathed(id, _author, _heir);
        _bequeath(id, _heir);
        vm.expectRevert(_hasAccess(id, _heir));
        _bequeath(id, _heir);
        vm.expectRevert(_hasAccess(id, _author));
        _bequeath(id, _author);

        // An heir has it, and cannot hand it on for nothing.
        vm.assertTrue(_market.hasAccess(id, _heir), "heir");
        vm.expectRevert(
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_NotAuthor.selector, id, _heir)
        );
        vm.prank(_heir);
        _market.bequeath(id, _buyer);
    }

    function testFuzz_nobody_has_what_nobody_published(bytes32 id, address account) public {
        vm.assertFalse(_market.hasAccess(id, account), "access");
        vm.assertFalse(_market.hasAccess(id, address(0)), "access of nobody");
        vm.expectRevert(_unknown(id));
        _market.entryOf(id);
        vm.expectRevert(_unknown(id));
        _market.royaltiesOf(id, account);
        vm.expectRevert(_unknown(id));
        _market.order(id, account, block.timestamp);
        vm.expectRevert(_unknown(id));
        _market.sell(id, address(this), account);
    }

    // Sales

    function test_a_sale_moves_the_price_and_gives_access() public {
        bytes32 id = _offered(_author);

        vm.expectEmit(address(_market));
        emit IKnowledgeMarket.Sold(id, _author, _buyer, address(_usdc), PRICE);
        _sell(id, _author);

        vm.assertEq(_usdc.balanceOf(_author), PRICE, "paid");
        vm.assertEq(_usdc.balanceOf(_buyer), 1_000e6 - PRICE, "by the buyer");
        vm.assertEq(_usdc.balanceOf(address(_market)), 0, "the market keeps nothing");
        vm.assertTrue(_market.hasAccess(id, _buyer), "access");
        vm.assertEq(_market.orderOf(id, _author, _buyer), 0, "the order is done");
        vm.expectRevert(_noOrder(id, _author));
        _sell(id, _author);
    }

    function test_a_buyer_sells_on() public {
        bytes32 id = _offered(_author);
        _sell(id, _author);
        _usdc.mint(_heir, PRICE);
        vm.prank(_heir);
        _usdc.approve(address(_market), PRICE);
        vm.prank(_heir);
        _market.order(id, _buyer, block.timestamp);

        vm.prank(_buyer);
        _market.sell(id, _buyer, _heir);

        vm.assertEq(_usdc.balanceOf(_buyer), 1_000e6, "even");
        vm.assertTrue(_market.hasAccess(id, _heir), "access");
    }

    function test_nobody_sells_in_anothers_name() public {
        bytes32 id = _offered(_author);

        vm.expectRevert(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_NotSeller.selector, _author, _heir
            )
        );
        vm.prank(_heir);
        _market.sell(id, _author, _buyer);
        vm.expectRevert(_noOrder(id, _heir));
        _sell(id, _heir);
    }

    function test_an_order_is_for_one_seller_who_has_it_and_a_buyer_who_has_not() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 1_000);

        vm.expectRevert(_noAccess(id, _heir));
        _order(id, _heir, block.timestamp);
        vm.expectRevert(_hasAccess(id, _author));
        vm.prank(_author);
        _market.order(id, _author, block.timestamp);
        _bequeath(id, _heir);
        _order(id, _heir, block.timestamp);
        vm.expectRevert(_noOrder(id, _author));
        _sell(id, _author);
        _sell(id, _heir);
    }

    function test_an_order_is_good_to_its_last_second() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 1_000);
        uint256 start = block.timestamp;

        vm.expectRevert(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_OrderExpiry.selector, start - 1, start
            )
        );
        _order(id, _author, start - 1);
        _order(id, _author, start + 60);
        vm.warp(start + 61);
        vm.expectRevert(_noOrder(id, _author));
        _sell(id, _author);
        vm.warp(start + 60);
        _sell(id, _author);
    }

    function test_an_order_is_taken_back() public {
        bytes32 id = _offered(_author);

        vm.expectRevert(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_NoOrder.selector, id, _author, _heir
            )
        );
        vm.prank(_heir);
        _market.cancel(id, _author);
        vm.expectEmit(address(_market));
        emit IKnowledgeMarket.Ordered(id, _author, _buyer, 0);
        vm.prank(_buyer);
        _market.cancel(id, _author);
        vm.expectRevert(_noOrder(id, _author));
        _sell(id, _author);
    }

    /// @dev Two orders are two promises; the second is not kept for what one has.
    function test_nobody_pays_twice() public {
        bytes32 id = _offered(_author);
        _bequeath(id, _heir);
        _order(id, _heir, block.timestamp);
        _sell(id, _author);

        vm.expectRevert(_hasAccess(id, _buyer));
        _sell(id, _heir);
        vm.assertEq(_usdc.balanceOf(_buyer), 1_000e6 - PRICE, "once");
    }

    function test_a_buyer_who_cannot_pay_gets_nothing() public {
        bytes32 id = _offered(_author);
        vm.prank(_buyer);
        _usdc.approve(address(_market), PRICE - 1);

        (bool sold,) = _trySell(id, _author);
        vm.assertFalse(sold, "refused");
        vm.assertFalse(_market.hasAccess(id, _buyer), "no access");
        vm.prank(_buyer);
        _usdc.approve(address(_market), PRICE);
        _sell(id, _author);
    }

    // Tokens (ATK-26)

    function test_a_token_that_moves_another_amount_sells_nothing() public {
        (bytes32 id,) = _odd(OddToken.Oddity.KeepsAFee);
        vm.expectRevert(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_Payment.selector, PRICE, PRICE - 1
            )
        );
        _sell(id, _author);

        (id,) = _odd(OddToken.Oddity.PaysMore);
        vm.expectRevert(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_Payment.selector, PRICE, PRICE + 1
            )
        );
        _sell(id, _author);
        vm.assertFalse(_market.hasAccess(id, _buyer), "no access");
    }

    function test_a_token_that_says_false_sells_nothing() public {
        (bytes32 id, OddToken token) = _odd(OddToken.Oddity.SaysFalse);
        vm.expectRevert(
            abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(token))
        );
        _sell(id, _author);
    }

    function test_a_token_that_says_nothing_sells() public {
        (bytes32 id, OddToken token) = _odd(OddToken.Oddity.SaysNothing);
        _sell(id, _author);
        vm.assertEq(token.balanceOf(_author), PRICE, "paid");
    }

    function test_no_token_at_all_sells_nothing() public {
        vm.prank(_author);
        bytes32 id = _market.publish("a", bytes32(0), 0, address(0xdead), PRICE);
        _order(id, _author, block.timestamp);

        (bool sold, bytes memory why) = _trySell(id, _author);
        vm.assertFalse(sold, "refused");
        vm.assertEq(why.length, 0, "without a word");
    }

    /// @dev ATK-28: a seller who is called in the middle of his sale makes no other.
    function test_a_sale_inside_a_sale_is_refused() public {
        OddToken token = new OddToken(OddToken.Oddity.CallsBack);
        token.mint(_buyer, 2 * PRICE);
        // The token is its own author and seller, so that its call counts as his.
        vm.prank(address(token));
        bytes32 one = _market.publish("a", bytes32(0), 0, address(token), PRICE);
        vm.prank(address(token));
        bytes32 other = _market.publish("b", bytes32(0), 0, address(token), PRICE);
        _order(one, address(token), block.timestamp);
        _order(other, address(token), block.timestamp);
        token.plan(
            address(_market), abi.encodeCall(IKnowledgeMarket.sell, (other, address(token), _buyer))
        );

        vm.expectRevert(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        vm.prank(address(token));
        _market.sell(one, address(token), _buyer);

        // What is not a sale finds the sale done.
        token.plan(address(_market), abi.encodeCall(IKnowledgeMarket.hasAccess, (one, _buyer)));
        vm.prank(address(token));
        _market.sell(one, address(token), _buyer);
    }

    // Royalties

    /// @dev The table of the market's NatSpec.
    function test_the_table_of_royalties() public {
        address[4] memory writers =
            [actor("w0").account, actor("w1").account, actor("w2").account, actor("w3").account];
        bytes32 id = bytes32(0);
        // Great-grandparent first: 50 %, 8 %, 20 %, 10 %.
        uint16[4] memory rates = [uint16(5_000), 800, 2_000, 1_000];
        for (uint256 i = 0; i < 4; i++) {
            bytes32 parent = id;
            id = _publish(writers[i], "a", parent, rates[i]);
            if (i < 3) {
                vm.prank(writers[i]);
                _market.bequeath(id, writers[i + 1]);
            }
        }

        (address token, uint256 price, Royalty[] memory due) = _market.royaltiesOf(id, _heir);

        vm.assertEq(token, address(_usdc), "token");
        vm.assertEq(price, PRICE, "price");
        vm.assertEq(due.length, 3, "three generations");
        _assertDue(due[0], writers[3], 5e6, "10 % of 50");
        _assertDue(due[1], writers[2], 5e6, "half of 20 %");
        _assertDue(due[2], writers[1], 1e6, "a quarter of 8 %");

        // Whoever sells owes himself nothing.
        (,, due) = _market.royaltiesOf(id, writers[3]);
        vm.assertEq(due.length, 2, "author");
        _assertDue(due[0], writers[2], 5e6, "half of 20 %");
        (,, due) = _market.royaltiesOf(id, writers[2]);
        vm.assertEq(due.length, 2, "parent");
        _assertDue(due[1], writers[1], 1e6, "a quarter of 8 %");
        (,, due) = _market.royaltiesOf(id, writers[0]);
        vm.assertEq(due.length, 3, "too far up to matter");
    }

    function test_an_author_who_asks_for_nothing_is_due_nothing() public {
        bytes32 id = _publish(_author, "a", bytes32(0), 0);
        (,, Royalty[] memory due) = _market.royaltiesOf(id, _heir);
        vm.assertEq(due.length, 0, "none");
    }

    function test_shares_are_rounded_up_and_never_more_than_is_left() public {
        bytes32 parent = _priced(_author, "a", bytes32(0), 1, 3);
        _bequeath(parent, _heir);
        bytes32 id = _priced(_heir, "b", parent, 5_000, 3);
        (,, Royalty[] memory due) = _market.royaltiesOf(id, _buyer);
        _assertDue(due[0], _heir, 2, "half of 3");
        _assertDue(due[1], _author, 1, "a hair of 3");

        bytes32 small = _priced(_heir, "c", parent, 1, 1);
        (,, due) = _market.royaltiesOf(small, _buyer);
        vm.assertEq(due.length, 1, "there is one to share");
        _assertDue(due[0], _heir, 1, "the author first");
    }

    function testFuzz_royalties_are_never_more_than_the_price(
        uint96 price,
        uint16[3] memory bps,
        uint8 who
    ) public {
        price = uint96(within(price, 1, type(uint96).max));
        address[3] memory writers = [_author, _heir, _buyer];
        bytes32 id = bytes32(0);
        for (uint256 i = 0; i < 3; i++) {
            bps[i] = bps[i] % 5_001;
            bytes32 parent = id;
            id = _priced(writers[i], "a", parent, bps[i], price);
            if (i == 2) break;
            vm.prank(writers[i]);
            _market.bequeath(id, writers[i + 1]);
        }
        address seller = who % 4 == 3 ? address(7) : writers[who % 4];

        (,, Royalty[] memory due) = _market.royaltiesOf(id, seller);

        uint256 left = price;
        uint256 at = 0;
        for (uint256 i = 3; i > 0; i--) {
            uint256 divisor = 10_000 * 2 ** (3 - i);
            uint256 exact = uint256(price) * bps[i - 1];
            uint256 share = exact / divisor + (exact % divisor == 0 ? 0 : 1);
            if (share > left) share = left;
            if (share == 0 || writers[i - 1] == seller) continue;
            _assertDue(due[at++], writers[i - 1], share, "share");
            left -= share;
        }
        vm.assertEq(due.length, at, "nobody else");
    }

    // Acting

    function _publish(address author, bytes32 content, bytes32 parent, uint16 bps)
        private
        returns (bytes32)
    {
        return _priced(author, content, parent, bps, PRICE);
    }

    function _priced(address author, bytes32 content, bytes32 parent, uint16 bps, uint96 price)
        private
        returns (bytes32)
    {
        vm.prank(author);
        return _market.publish(content, parent, bps, address(_usdc), price);
    }

    function _bequeath(bytes32 id, address heir) private {
        vm.prank(_author);
        _market.bequeath(id, heir);
    }

    /// @dev Published by the author and ordered from `seller`.
    function _offered(address seller) private returns (bytes32 id) {
        id = _publish(_author, "a", bytes32(0), 1_000);
        _order(id, seller, block.timestamp);
    }

    function _odd(OddToken.Oddity oddity) private returns (bytes32 id, OddToken token) {
        token = new OddToken(oddity);
        token.mint(_buyer, PRICE);
        vm.prank(_author);
        id = _market.publish(bytes32(uint256(oddity)), bytes32(0), 0, address(token), PRICE);
        _order(id, _author, block.timestamp);
    }

    function _order(bytes32 id, address seller, uint256 notAfter) private {
        vm.prank(_buyer);
        _market.order(id, seller, notAfter);
    }

    function _sell(bytes32 id, address seller) private {
        vm.prank(seller);
        _market.sell(id, seller, _buyer);
    }

    function _trySell(bytes32 id, address seller) private returns (bool, bytes memory) {
        vm.prank(seller);
        return address(_market).call(abi.encodeCall(IKnowledgeMarket.sell, (id, seller, _buyer)));
    }

    function _assertDue(Royalty memory due, address author, uint256 amount, string memory why)
        private
        pure
    {
        vm.assertEq(due.author, author, why);
        vm.assertEq(due.amount, amount, why);
    }

    function _unknown(bytes32 id) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_UnknownEntry.selector, id);
    }

    function _noAccess(bytes32 id, address account) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_NoAccess.selector, id, account);
    }

    function _hasAccess(bytes32 id, address account) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_HasAccess.selector, id, account);
    }

    function _noOrder(bytes32 id, address seller) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            IKnowledgeMarket.KnowledgeMarket_NoOrder.selector, id, seller, _buyer
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {UsdCoin} from "../../local/UsdCoin.sol";
import {IKnowledgeMarket, Royalty} from "../../src/interfaces/IKnowledgeMarket.sol";
import {KnowledgeMarket} from "../../src/market/KnowledgeMarket.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Five accounts that publish, give, order, cancel and sell as they please, and a book that says
///         beforehand whether they may.
contract MarketHandler is TestBase {
    struct Page {
        bytes32 id;
        uint256 author;
        /// @dev Index of the parent plus one; 0 for none.
        uint256 parent;
        uint256 bps;
        uint256 price;
    }

    uint256 public constant PEOPLE = 5;
    uint256 private constant START = 1_767_225_600;
    uint256 private constant MOST_PAGES = 12;

    KnowledgeMarket public immutable market = new KnowledgeMarket();
    UsdCoin public immutable usdc;
    /// @notice The first broken promise, if any.
    string public broken;
    uint256 public sold;
    uint256 public refused;

    uint256 private _now = START;
    Page[] private _pages;
    uint256[PEOPLE] private _balances;
    mapping(uint256 page => mapping(uint256 person => bool)) private _has;
    mapping(uint256 page => mapping(uint256 seller => mapping(uint256 buyer => uint256))) private
        _orders;

    constructor() {
        usdc = new UsdCoin(address(this));
        for (uint256 i = 0; i < PEOPLE; i++) {
            _balances[i] = 300e6;
            usdc.mint(person(i), 300e6);
            vm.prank(person(i));
            usdc.approve(address(market), type(uint256).max);
        }
    }

    function person(uint256 index) public pure returns (address) {
        // There are five of them.
        // forge-lint: disable-next-line(unsafe-typecast)
        return address(uint160(0xb00c0 + index));
    }

    function pages() external view returns (uint256) {
        return _pages.length;
    }

    function wait(uint32 time) external {
        _now += within(time, 0, 2 days);
    }

    function publish(uint8 who, uint8 content, uint8 parent, uint16 bps, uint96 price) external {
        if (_pages.length == MOST_PAGES) return;
        Page memory page;
        page.author = who % PEOPLE;
        page.bps = bps % 5_200;
        price = uint96(within(price, 0, 80)) * (price % 3 == 0 ? 1 : 1e6 + 1);
        page.price = price;
        page.parent = parent % 3 == 0 ? 0 : uint256(parent) % (_pages.length + 1);
        bytes32 hash = bytes32(uint256(content % 4));
        page.id = keccak256(abi.encode(person(page.author), hash));

        bool allowed = page.bps <= 5_000 && price != 0
            && (page.parent == 0 || _has[page.parent - 1][page.author]);
        for (uint256 i = 0; i < _pages.length; i++) {
            if (_pages[i].id == page.id) allowed = false;
        }
        bytes32 above = page.parent == 0 ? bytes32(0) : _pages[page.parent - 1].id;
        bytes memory call = abi.encodeCall(
            IKnowledgeMarket.publish, (hash, above, uint16(page.bps), address(usdc), price)
        );
        if (!_did(page.author, call, allowed, "publish")) return;
        _has[_pages.length][page.author] = true;
        _pages.push(page);
    }

    function bequeath(uint8 which, uint8 who, uint8 heir) external {
        if (_pages.length == 0) return;
        uint256 page = which % _pages.length;
        uint256 from = who % 4 == 0 ? who % PEOPLE : _pages[page].author;
        uint256 to = heir % PEOPLE;

        bool allowed = _pages[page].author == from && !_has[page][to];
        bytes memory call = abi.encodeCall(IKnowledgeMarket.bequeath, (_pages[page].id, person(to)));
        if (_did(from, call, allowed, "bequeath")) _has[page][to] = true;
    }

    function order(uint8 which, uint8 from, uint8 who, uint32 time) external {
        if (_pages.length == 0) return;
        (uint256 page, uint256 seller, uint256 buyer) =
            (which % _pages.length, from % PEOPLE, who % PEOPLE);
        uint256 notAfter = _now + within(time, 0, 3 days) - 1 hours;

        bool allowed = _has[page][seller] && !_has[page][buyer] && notAfter >= _now;
        bytes memory call =
            abi.encodeCall(IKnowledgeMarket.order, (_pages[page].id, person(seller), notAfter));
        if (_did(buyer, call, allowed, "order")) _orders[page][seller][buyer] = notAfter;
    }

    function cancel(uint8 which, uint8 from, uint8 who) external {
        if (_pages.length == 0) return;
        (uint256 page, uint256 seller, uint256 buyer) =
            (which % _pages.length, from % PEOPLE, who % PEOPLE);

        bool allowed = _orders[page][seller][buyer] != 0;
        bytes memory call =
            abi.encodeCall(IKnowledgeMarket.cancel, (_pages[page].id, person(seller)));
        if (_did(buyer, call, allowed, "cancel")) _orders[page][seller][buyer] = 0;
    }

    /// @dev Mostly for an order that there is.
    function sell(uint8 which, uint8 from, uint8 to, uint8 name) external {
        if (_pages.length == 0) return;
        (uint256 page, uint256 seller, uint256 buyer) =
            (which % _pages.length, from % PEOPLE, to % PEOPLE);
        for (uint256 i = 0; i < PEOPLE * PEOPLE * _pages.length && name % 8 != 0; i++) {
            if (_orders[page][seller][buyer] != 0) break;
            buyer = (buyer + 1) % PEOPLE;
            if (buyer == to % PEOPLE) seller = (seller + 1) % PEOPLE;
            if (buyer == to % PEOPLE && seller == from % PEOPLE) page = (page + 1) % _pages.length;
        }
        uint256 caller = name % 16 == 1 ? (seller + 1) % PEOPLE : seller;
        uint256 price = _pages[page].price;

        bool allowed = caller == seller && _orders[page][seller][buyer] >= _now
            && !_has[page][buyer] && _balances[buyer] >= price;
        bytes memory call =
            abi.encodeCall(IKnowledgeMarket.sell, (_pages[page].id, person(seller), person(buyer)));
        if (!_did(caller, call, allowed, "sell")) return;
        _orders[page][seller][buyer] = 0;
        _has[page][buyer] = true;
        _balances[buyer] -= price;
        _balances[seller] += price;
        sold++;
    }

    /// @notice Compares everything there is with the book.
    function audit() external view {
        vm.assertEq(usdc.balanceOf(address(market)), 0, "the market holds nothing");
        for (uint256 i = 0; i < PEOPLE; i++) {
            vm.assertEq(usdc.balanceOf(person(i)), _balances[i], "balance");
        }
        for (uint256 page = 0; page < _pages.length; page++) {
            bytes32 id = _pages[page].id;
            vm.assertEq(market.entryOf(id).author, person(_pages[page].author), "author");
            for (uint256 i = 0; i < PEOPLE; i++) {
                vm.assertTrue(market.hasAccess(id, person(i)) == _has[page][i], "access");
                for (uint256 j = 0; j < PEOPLE; j++) {
                    vm.assertEq(
                        market.orderOf(id, person(i), person(j)), _orders[page][i][j], "order"
                    );
                }
                _auditRoyalties(page, i);
            }
        }
    }

    function _auditRoyalties(uint256 page, uint256 seller) private view {
        (, uint256 price, Royalty[] memory due) =
            market.royaltiesOf(_pages[page].id, person(seller));
        vm.assertEq(price, _pages[page].price, "price");
        uint256 left = price;
        uint256 at = 0;
        uint256 divisor = 10_000;
        for (uint256 up = page + 1; up != 0 && divisor <= 40_000; divisor *= 2) {
            Page memory above = _pages[up - 1];
            up = above.parent;
            uint256 share = price * above.bps / divisor;
            if (share * divisor != price * above.bps) share++;
            if (share > left) share = left;
            if (share == 0 || above.author == seller) continue;
            vm.assertEq(due[at].author, person(above.author), "who is due");
            vm.assertEq(due[at].amount, share, "what is due");
            left -= share;
            at++;
        }
        vm.assertEq(due.length, at, "nobody else is due");
    }

    function _did(uint256 who, bytes memory call, bool allowed, string memory what)
        private
        returns (bool done)
    {
        vm.warp(_now);
        vm.prank(person(who));
        (done,) = address(market).call(call);
        if (done != allowed) broken = what;
        if (!done) refused++;
    }
}

contract KnowledgeMarketInvariantTest is TestBase {
    MarketHandler private _handler;

    function setUp() public {
        _handler = new MarketHandler();
    }

    /// @dev Asked by forge: what to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// @dev SPEC C10: what was promised, paid and given is what the book says, and nothing else.
    function invariant_the_market_is_as_the_book_says() public view {
        vm.assertEq(_handler.broken(), "", "allowed or refused against the book");
        _handler.audit();
    }

    /// @dev The book is not empty: a run of this seed sells.
    function test_the_handler_sells() public {
        _handler.publish(0, 0, 0, 1_000, 1);
        _handler.order(0, 0, 1, 1 days);
        _handler.sell(0, 0, 1, 2);
        vm.assertEq(_handler.sold(), 1, "sold");
        vm.assertEq(_handler.broken(), "", "broken");
        _handler.audit();
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {UsdCoin} from "../../local/UsdCoin.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IKnowledgeMarket, Royalty} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken} from "../../src/interfaces/ITokens.sol";
import {IMulticall} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {ExecutionModes} from "../../src/enforcers/ExecutionModes.sol";
import {Actions, Class, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {GolemPhase} from "../../src/rules/GolemPhase.sol";
import {KnowledgeRoyalty} from "../../src/rules/KnowledgeRoyalty.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {CharterCalls} from "../CharterCalls.sol";
import {Puppet, WakingToken} from "../Puppet.sol";

/// @notice Sales under a charter. An insight of 50 dollars, 10 % of it for its author, grew out of another,
///         whose author is due half of 20 %: 5 dollars each, when the account sells it.
contract GolemCharterRoyaltyTest is CharterCalls {
    uint96 private constant PRICE = 50e6;
    uint256 private constant SHARE = 5e6;

    address private _author;
    address private _ancestor;
    address private _thief;
    bytes32 private _insight;

    function setUp() public override {
        super.setUp();
        _author = actor("author").account;
        _ancestor = actor("ancestor").account;
        _thief = actor("thief").account;
        vm.prank(_ancestor);
        bytes32 first = market.publish("first", bytes32(0), 2_000, address(USDC), PRICE);
        vm.prank(_ancestor);
        market.bequeath(first, _author);
        vm.prank(_author);
        _insight = market.publish("insight", first, 1_000, address(USDC), PRICE);
        _allow(2_000);
        _inherit(_insight, _author, account);
        _order(buyer, _insight, account);
        _order(buyer, ownEntry, account);
    }

    /// @dev SPEC C10, C18.
    function test_a_sale_pays_those_who_wrote_it() public {
        accepts(_whole());

        vm.assertEq(USDC.balanceOf(account), 10_000e6 + PRICE - 2 * SHARE, "account");
        vm.assertEq(USDC.balanceOf(_author), SHARE, "author");
        vm.assertEq(USDC.balanceOf(_ancestor), SHARE, "ancestor");
        vm.assertTrue(market.hasAccess(_insight, buyer), "sold");
        vm.assertEq(spent(), 0, "a sale spends nothing");
    }

    function test_from_every_kind_of_account() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            if (kinds[i] == Kind.Hybrid) continue;
            uint256 state = vm.snapshotState();
            Owner memory from = owner(kinds[i]);
            Law memory its = golem(from);
            (its.flags, its.sections) = (ROYALTY, royaltySection(2_000));
            its.targets = target(address(market), Role.Market);
            _inherit(_insight, _author, from.account);
            vm.prank(buyer);
            market.order(_insight, from.account, type(uint256).max);
            Execution[] memory calls = _whole();
            calls[0].callData =
                abi.encodeCall(IKnowledgeMarket.sell, (_insight, from.account, buyer));
            Delegation memory leaf = grant(from, its);

            Execution[] memory short_ = list(calls[0], calls[1]);
            vm.expectRevert(_missing(_ancestor));
            actBatch(leaf, short_);
            actBatch(leaf, calls);

            vm.assertEq(USDC.balanceOf(from.account), 10_000e6 + PRICE - 2 * SHARE, "account");
            vm.assertEq(USDC.balanceOf(_author), SHARE, "author");
            vm.revertToState(state);
        }
    }

    function test_what_the_account_wrote_it_sells_alone() public {
        (law.flags, law.sections) = (0, "");

        accepts(address(market), sell(ownEntry));

        vm.assertEq(USDC.balanceOf(account), 10_000e6 + PRICE, "account");
    }

    function test_without_the_section_no_share_is_agreed_to() public {
        (law.flags, law.sections) = (0, "");
        refuses(_tooMuch(0), _whole());
        (law.flags, law.sections) = (ROYALTY, royaltySection(0));
        refuses(_tooMuch(0), _whole());
    }

    function test_the_owner_bounds_the_share() public {
        _allow(1_999);
        refuses(_tooMuch(1_999), _whole());
        _allow(2_000);
        accepts(_whole());
    }

    function test_a_sale_without_one_of_its_royalties_is_refused() public {
        Execution[] memory calls = _whole();
        refuses(_missing(_author), address(market), sell(_insight));
        refuses(_missing(_author), list(calls[0], calls[2]));
        refuses(_missing(_ancestor), list(calls[0], calls[1]));
        refuses(_missing(_author), list(calls[0], calls[2], calls[1]));
        vm.assertFalse(market.hasAccess(_insight, buyer), "nothing sold");
    }

    function test_a_royalty_is_exact() public {
        Execution[7] memory tried = [
            _pay(_author, SHARE - 1),
            _pay(_author, SHARE + 1),
            _pay(human.account, SHARE),
            call(address(WETH), transfer(_author, SHARE)),
            call(address(USDC), abi.encodeCall(IToken.transferFrom, (account, _author, SHARE))),
            call(address(USDC), approve(ROUTER_02, SHARE)),
            call(address(market), sell(ownEntry))
        ];
        for (uint256 i = 0; i < tried.length; i++) {
            refuses(_missing(_author), list(_sale(), tried[i], _pay(_ancestor, SHARE)));
        }
        bytes memory nobodys = abi.encodeCall(IToken.transferFrom, (address(0), _author, SHARE));
        refuses(
            abi.encodeWithSelector(Actions.Actions_Sentinel.selector, address(USDC), 0),
            list(_sale(), call(address(USDC), nobodys), _pay(_ancestor, SHARE))
        );
        accepts(_whole());
    }

    /// @dev ATK-29: a royalty is let go to others than the beneficiary, and nothing else is.
    function test_no_other_transfer_goes_to_somebody_else() public {
        Execution[] memory calls = _whole();
        bytes memory reason = wrongRecipient(_author, human.account);

        refuses(reason, address(USDC), transfer(_author, SHARE));
        refuses(reason, _join(calls, list(calls[1])));
        refuses(reason, _join(list(calls[1]), calls));
        refuses(reason, list(call(address(market), sell(ownEntry)), calls[1]));
        refuses(reason, _join(list(call(address(market), sell(ownEntry)), calls[1]), calls));
        accepts(_join(calls, list(_pay(human.account, 1))));
    }

    function test_two_sales_do_not_share_a_royalty() public {
        address second = actor("second buyer").account;
        _order(second, _insight, account);
        Execution[] memory one = _whole();
        Execution[] memory two = _whole();
        two[0].callData = abi.encodeCall(IKnowledgeMarket.sell, (_insight, account, second));

        refuses(_missing(_author), _join(list(one[0], two[0]), list(one[1], one[2])));
        refuses(_missing(_author), _join(one, list(two[0])));
        refuses(_missing(_ancestor), _join(one, list(two[0], two[1])));
        accepts(_join(one, two));
        vm.assertEq(USDC.balanceOf(_author), 2 * SHARE, "author");
        vm.assertEq(USDC.balanceOf(account), 10_000e6 + 2 * (PRICE - 2 * SHARE), "account");
    }

    /// @dev ATK-18: a multicall before a sale is several actions of one call; the sale is found behind it.
    function test_a_multicall_before_a_sale_moves_nothing() public {
        bytes[] memory inner = new bytes[](2);
        (inner[0], inner[1]) = (swap(1e6), swap(2e6));
        Execution memory many =
            call(ROUTER_02, abi.encodeWithSignature("multicall(bytes[])", inner));

        refuses(_missing(_author), list(many, _sale()));
        accepts(_join(list(many), _whole()));
        vm.assertEq(USDC.balanceOf(_ancestor), SHARE, "ancestor");
    }

    /// @dev ATK-18: neither a sale nor a royalty hides inside a multicall, of a router or of the market.
    function test_a_sale_inside_a_multicall_is_refused() public {
        bytes[] memory inner = new bytes[](1);
        inner[0] = sell(_insight);
        bytes memory many = abi.encodeCall(IMulticall.multicall, (inner));

        refuses(_unknownCall(address(market), IMulticall.multicall.selector), address(market), many);
        refuses(_unknownCall(ROUTER_02, IKnowledgeMarket.sell.selector), ROUTER_02, many);
    }

    /// @dev To order would let the market pull; to publish and to give away is the owner's.
    function test_the_market_knows_the_account_as_a_seller_only() public {
        bytes[4] memory tried = [
            abi.encodeCall(IKnowledgeMarket.order, (_insight, _thief, type(uint256).max)),
            abi.encodeCall(IKnowledgeMarket.bequeath, (ownEntry, _thief)),
            abi.encodeCall(IKnowledgeMarket.publish, ("x", bytes32(0), 0, address(USDC), 1)),
            abi.encodeCall(IKnowledgeMarket.cancel, (_insight, _thief))
        ];
        for (uint256 i = 0; i < tried.length; i++) {
            refuses(_unknownCall(address(market), selectorOf(tried[i])), address(market), tried[i]);
        }
        refuses(
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_Spender.selector, address(USDC), address(market)
            ),
            address(USDC),
            approve(address(market), 1)
        );
    }

    /// @dev For another seller other shares would be due.
    function test_a_sale_in_another_name_is_refused() public {
        refuses(
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_Source.selector, _author, account
            ),
            address(market),
            abi.encodeCall(IKnowledgeMarket.sell, (_insight, _author, buyer))
        );
    }

    function test_a_market_that_is_not_listed_sells_nothing() public {
        law.targets = target(ROUTER_02, Role.SwapRouter02);
        refuses(
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, address(market)),
            _whole()
        );
    }

    /// @dev Fail closed.
    function test_a_market_without_code_sells_nothing() public {
        law.targets = target(address(0xdead), Role.Market);
        refuses("", address(0xdead), sell(_insight));
    }

    function test_a_sale_needs_its_class_and_its_royalties_theirs() public {
        law.classes = ALL_CLASSES & ~bitOf(uint256(Class.Sell));
        refuses(noClass(Class.Sell), _whole());
        law.classes = ALL_CLASSES & ~bitOf(uint256(Class.Transfer));
        refuses(noClass(Class.Transfer), _whole());
        accepts(address(market), sell(ownEntry));
        law.classes = bitOf(uint256(Class.Sell)) | bitOf(uint256(Class.Transfer));
        accepts(_whole());
    }

    function test_the_old_and_the_dying_sell_nothing() public {
        for (uint8 phase = 1; phase <= 4; phase++) {
            advanceTo(phase);
            uint256 state = vm.snapshotState();
            if (phase == 1) {
                accepts(_whole());
            } else {
                refuses(
                    abi.encodeWithSelector(
                        GolemPhase.GolemPhase_NotAllowed.selector, phase, Class.Sell
                    ),
                    _whole()
                );
            }
            vm.revertToState(state);
        }
    }

    /// @dev ATK-27: a token may ask its holder, and he may trade; so nothing priced before comes behind.
    function test_nothing_that_is_priced_before_stands_behind_a_sale() public {
        refuses(
            abi.encodeWithSelector(Executions.Executions_Order.selector, Class.Deposit),
            _join(_whole(), list(call(vault, deposit(1e6, account))))
        );
        accepts(_join(list(call(vault, deposit(1e6, account))), _whole()));
    }

    function test_single_and_batch_are_the_only_modes() public {
        bytes memory execution = abi.encode(_whole());
        bytes memory terms = encode(law);
        // Try, batch and try, delegatecall, static call.
        bytes2[4] memory modes = [bytes2(0x0001), 0x0101, 0xff00, 0xfe00];
        for (uint256 i = 0; i < modes.length; i++) {
            ModeCode mode = ModeCode.wrap(modes[i]);
            vm.expectRevert(
                abi.encodeWithSelector(
                    ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode
                )
            );
            hook(terms, mode, execution);
        }
        hook(terms, BATCH_DEFAULT, execution);
    }

    // Who tries

    /// @dev ATK-46: the key's thief is author and buyer. What the account pays him, he paid before.
    function test_a_thief_who_publishes_and_buys_gains_nothing() public {
        _fundBuyer(_thief);
        address friend = actor("friend").account;
        vm.prank(_thief);
        bytes32 his = market.publish("his", bytes32(0), 5_000, address(USDC), PRICE);
        _inherit(his, _thief, account);
        _order(friend, his, account);
        _allow(10_000);
        uint256 had = USDC.balanceOf(_thief) + USDC.balanceOf(friend);
        bytes memory sale = abi.encodeCall(IKnowledgeMarket.sell, (his, account, friend));

        accepts(list(call(address(market), sale), _pay(_thief, PRICE / 2)));

        vm.assertEq(USDC.balanceOf(account), 10_000e6 + PRICE / 2, "account");
        vm.assertEq(
            USDC.balanceOf(_thief) + USDC.balanceOf(friend), had - PRICE / 2, "thief and friend"
        );
    }

    /// @dev A sale that fails takes its royalties with it.
    function test_a_sale_that_nobody_ordered_pays_no_royalty() public {
        vm.prank(buyer);
        market.cancel(_insight, account);
        refuses(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_NoOrder.selector, _insight, account, buyer
            ),
            _whole()
        );
        vm.assertEq(USDC.balanceOf(_author), 0, "author");
    }

    /// @dev ATK-27: what is due is asked before the batch.
    function test_an_entry_that_nobody_published_is_not_sold() public {
        bytes32 none = market.entryIdOf(_thief, "later");
        refuses(
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_UnknownEntry.selector, none),
            address(market),
            sell(none)
        );
    }

    /// @dev ATK-25, ATK-26: whatever the author asks to be paid in, the account takes what its owner listed.
    function test_a_price_in_a_token_that_is_not_listed_is_refused() public {
        UsdCoin odd = new UsdCoin(address(this));
        odd.mint(buyer, 100e6);
        vm.prank(_author);
        bytes32 entry = market.publish("odd", bytes32(0), 0, address(odd), PRICE);
        _inherit(entry, _author, account);
        vm.prank(buyer);
        odd.approve(address(market), PRICE);
        vm.prank(buyer);
        market.order(entry, account, type(uint256).max);

        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(odd)),
            address(market),
            sell(entry)
        );
        // A target without a feed is no token that is listed.
        bytes memory targets = law.targets;
        law.targets = bytes.concat(targets, target(address(odd), Role.Token));
        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(odd)),
            address(market),
            sell(entry)
        );
        law.targets = targets;
        law.tokens = bytes.concat(law.tokens, token(address(odd), usdcUsd, 6));
        accepts(address(market), sell(entry));
    }

    /// @dev ATK-28: the token wakes the thief in the middle of the sale, and he is the agent's key. He sells
    ///      again, or takes the royalty once more.
    function test_who_acts_inside_a_sale_gains_nothing() public {
        Puppet puppet = new Puppet();
        WakingToken coin = new WakingToken(puppet, account);
        (address him, uint256 price) = (address(puppet), PRICE);
        law.agentKey = him;
        law.tokens = bytes.concat(law.tokens, token(address(coin), usdcUsd, 6));
        vm.prank(him);
        vm.assertTrue(coin.transfer(account, 1_000e6), "given");
        vm.prank(_thief);
        bytes32 his = market.publish("his", bytes32(0), 2_000, address(coin), PRICE);
        _inherit(his, _thief, account);
        vm.prank(him);
        coin.approve(address(market), type(uint256).max);
        vm.prank(him);
        market.order(his, account, type(uint256).max);
        Delegation memory leaf = grant(home(), law);
        Execution memory royalty = call(address(coin), transfer(_thief, price / 5));
        bytes memory sale = abi.encodeCall(IKnowledgeMarket.sell, (his, account, him));
        Execution memory whole =
            redemption(leaf, BATCH_DEFAULT, abi.encode(list(call(address(market), sale), royalty)));
        Execution memory alone =
            redemption(leaf, SINGLE_DEFAULT, single(royalty.target, royalty.callData));

        puppet.plan(list(whole));
        vm.expectRevert(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        puppet.run(list(whole));
        puppet.plan(list(alone));
        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_Recipient.selector, _thief, law.beneficiary
            )
        );
        puppet.run(list(whole));
        puppet.plan(new Execution[](0));
        puppet.run(list(whole));
        vm.assertEq(coin.balanceOf(account), 1_000e6 + price - price / 5, "account");
        vm.assertEq(coin.balanceOf(_thief), price / 5, "thief");
    }

    /// @dev Two links, and the charter on either.
    function test_the_section_binds_on_either_link() public {
        Actor memory helper = actor("helper");
        bytes memory short_ = abi.encode(list(_sale(), _pay(_author, SHARE)));
        bytes memory whole = abi.encode(_whole());
        law.flags = ROYALTY | REPLICANTS;
        Delegation memory above = grant(home(), law);
        Delegation memory below = child(above, agent, helper.account, noCaveats());
        vm.expectRevert(_missing(_ancestor));
        redeem(helper.account, below, above, BATCH_DEFAULT, short_);
        uint256 state = vm.snapshotState();
        redeem(helper.account, below, above, BATCH_DEFAULT, whole);
        vm.revertToState(state);

        above = root(home(), agent.account, noCaveats());
        below = child(above, agent, helper.account, only(address(charterEnforcer), encode(law)));
        vm.expectRevert(_missing(_ancestor));
        redeem(helper.account, below, above, BATCH_DEFAULT, short_);
        redeem(helper.account, below, above, BATCH_DEFAULT, whole);
    }

    /// @dev Whatever authors ask and owners allow: the account never pays more than a sale brings.
    function testFuzz_the_account_never_pays_for_a_sale(
        uint96 price,
        uint16 bps,
        uint16 above,
        uint16 maxBps
    ) public {
        price = uint96(within(price, 1, 100e6));
        (bps, above, maxBps) = (bps % 5_001, above % 5_001, maxBps % 10_001);
        vm.prank(_ancestor);
        bytes32 parent = market.publish("p", bytes32(0), above, address(USDC), price);
        vm.prank(_ancestor);
        market.bequeath(parent, _author);
        vm.prank(_author);
        bytes32 entry = market.publish("e", parent, bps, address(USDC), price);
        _inherit(entry, _author, account);
        _order(buyer, entry, account);
        _allow(maxBps);
        (,, Royalty[] memory due) = market.royaltiesOf(entry, account);
        Execution[] memory calls = new Execution[](1 + due.length);
        calls[0] = call(address(market), sell(entry));
        uint256 total = 0;
        for (uint256 i = 0; i < due.length; i++) {
            calls[1 + i] = _pay(due[i].author, due[i].amount);
            total += due[i].amount;
        }
        uint256 had = USDC.balanceOf(account);

        if (total * 10_000 > uint256(price) * maxBps) {
            refuses(
                abi.encodeWithSelector(
                    KnowledgeRoyalty.KnowledgeRoyalty_TooMuch.selector, entry, total, price, maxBps
                ),
                calls
            );
            return;
        }
        accepts(calls);
        vm.assertEq(USDC.balanceOf(account), had + price - total, "kept");
    }

    function _allow(uint16 bps) private {
        (law.flags, law.sections) = (ROYALTY, royaltySection(bps));
    }

    function _inherit(bytes32 entry, address author, address heir) private {
        vm.prank(author);
        market.bequeath(entry, heir);
    }

    function _order(address by, bytes32 entry, address seller) private {
        _fundBuyer(by);
        vm.prank(by);
        market.order(entry, seller, type(uint256).max);
    }

    function _fundBuyer(address by) private {
        vm.prank(FAUCET);
        USDC.mint(by, 1_000e6);
        vm.prank(by);
        USDC.approve(address(market), type(uint256).max);
    }

    function _sale() private view returns (Execution memory) {
        return call(address(market), sell(_insight));
    }

    function _pay(address to, uint256 amount) private pure returns (Execution memory) {
        return call(address(USDC), transfer(to, amount));
    }

    function _whole() private view returns (Execution[] memory) {
        return list(_sale(), _pay(_author, SHARE), _pay(_ancestor, SHARE));
    }

    function _join(Execution[] memory one, Execution[] memory two)
        private
        pure
        returns (Execution[] memory all)
    {
        all = new Execution[](one.length + two.length);
        for (uint256 i = 0; i < all.length; i++) {
            all[i] = i < one.length ? one[i] : two[i - one.length];
        }
    }

    function _missing(address author) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            KnowledgeRoyalty.KnowledgeRoyalty_Missing.selector,
            _insight,
            address(USDC),
            author,
            SHARE
        );
    }

    function _tooMuch(uint256 bps) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            KnowledgeRoyalty.KnowledgeRoyalty_TooMuch.selector, _insight, 2 * SHARE, PRICE, bps
        );
    }

    function _unknownCall(address at, bytes4 selector) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_UnknownCall.selector, at, selector);
    }
}

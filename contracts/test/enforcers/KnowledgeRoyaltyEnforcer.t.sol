// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {UsdCoin} from "../../local/UsdCoin.sol";
import {KnowledgeRoyaltyEnforcer} from "../../src/enforcers/KnowledgeRoyaltyEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IKnowledgeMarket} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken} from "../../src/interfaces/ITokens.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {KnowledgeMarket} from "../../src/market/KnowledgeMarket.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {HiddenCalls} from "../../src/rules/HiddenCalls.sol";
import {KnowledgeRoyalty} from "../../src/rules/KnowledgeRoyalty.sol";
import {EnforcerTest} from "./EnforcerTest.sol";

/// @notice Real sales at the real market, for USDC, from real accounts under the real manager.
/// @dev An insight of 50 dollars, 10 % of it for its author, grew out of another, whose author is due half of
///      20 %. The Golem's account inherited it: 5 dollars each.
contract KnowledgeRoyaltyEnforcerTest is EnforcerTest {
    uint96 private constant PRICE = 50e6;
    uint256 private constant SHARE = 5e6;

    KnowledgeMarket private _market;
    uint16 private _maxBps = 2_000;
    address private _author;
    address private _ancestor;
    address private _buyer;
    address private _second;
    bytes32 private _first;
    bytes32 private _insight;

    function setUp() public override {
        super.setUp();
        enforcer = new KnowledgeRoyaltyEnforcer();
        _market = new KnowledgeMarket();
        _author = actor("author").account;
        _ancestor = actor("ancestor").account;
        _buyer = _rich("buyer");
        _second = _rich("second buyer");
        vm.prank(_ancestor);
        _first = _market.publish("first", bytes32(0), 2_000, address(USDC), PRICE);
        vm.prank(_ancestor);
        _market.bequeath(_first, _author);
        vm.prank(_author);
        _insight = _market.publish("insight", _first, 1_000, address(USDC), PRICE);
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(_market, _maxBps);
    }

    function header() internal pure override returns (uint256) {
        return 22;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            KnowledgeRoyaltyEnforcer.KnowledgeRoyaltyEnforcer_TermsLength.selector, 22, actual
        );
    }

    function forbid() internal override {
        _inherit(_insight, _author);
        _order(_buyer, _insight);
    }

    function bad() internal view override returns (Execution memory) {
        return _sale(_insight, _buyer);
    }

    function reason() internal view override returns (bytes memory) {
        return _missing(_author, SHARE);
    }

    // What is due

    /// @dev SPEC C10.
    function test_a_sale_pays_those_who_wrote_it_from_every_kind_of_account() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            uint256 state = vm.snapshotState();
            Owner memory from = owner(kinds[i]);
            if (i != 0) law = golemOf(from);
            forbid();
            Delegation memory leaf = given(from);

            redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(_whole(_buyer)));

            vm.assertEq(USDC.balanceOf(_buyer), 1_000e6 - PRICE, "buyer");
            vm.assertEq(USDC.balanceOf(law.account), 10_000e6 + PRICE - 2 * SHARE, "account");
            vm.assertEq(USDC.balanceOf(_author), SHARE, "author");
            vm.assertEq(USDC.balanceOf(_ancestor), SHARE, "ancestor");
            vm.assertTrue(_market.hasAccess(_insight, _buyer), "access");
            vm.revertToState(state);
        }
    }

    function test_a_sale_without_one_of_its_royalties_is_refused() public {
        forbid();
        Execution[] memory calls = _whole(_buyer);

        refuses(_missing(_author, SHARE), calls[0]);
        refuses(_missing(_author, SHARE), two(calls[0], calls[2]));
        refuses(_missing(_ancestor, SHARE), two(calls[0], calls[1]));
        refuses(_missing(_author, SHARE), _three(calls[0], calls[2], calls[1]));
        vm.assertEq(USDC.balanceOf(_buyer), 1_000e6, "nothing sold");
        accepts(calls);
    }

    function test_a_royalty_is_exact() public {
        forbid();
        UsdCoin other = new UsdCoin(address(this));
        Execution[10] memory tried = [
            _pay(_author, SHARE - 1),
            _pay(_author, SHARE + 1),
            _pay(_author, 0),
            _pay(_buyer, SHARE),
            _pay(agent.account, SHARE),
            Execution(address(other), 0, abi.encodeCall(IToken.transfer, (_author, SHARE))),
            Execution(address(USDC), 1, abi.encodeCall(IToken.transfer, (_author, SHARE))),
            Execution(
                address(USDC),
                0,
                bytes.concat(abi.encodeCall(IToken.transfer, (_author, SHARE)), hex"00")
            ),
            Execution(
                address(USDC), 0, abi.encodeCall(IToken.transferFrom, (law.account, _author, SHARE))
            ),
            Execution(address(USDC), 0, abi.encodeCall(IToken.approve, (_author, SHARE)))
        ];
        for (uint256 i = 0; i < tried.length; i++) {
            refuses(_missing(_author, SHARE), _three(bad(), tried[i], _pay(_ancestor, SHARE)));
            refuses(_missing(_ancestor, SHARE), _three(bad(), _pay(_author, SHARE), tried[i]));
        }
        accepts(_whole(_buyer));
    }

    /// @dev So that royalties come out of what the sale brought, and no transfer is counted for two sales.
    function test_royalties_stand_right_behind_their_sale() public {
        forbid();
        Execution[] memory calls = _whole(_buyer);

        refuses(_missing(_author, SHARE), _three(calls[1], calls[2], calls[0]));
        refuses(_missing(_ancestor, SHARE), _three(calls[2], calls[0], calls[1]));
        refuses(_missing(_author, SHARE), _join(two(calls[0], good()), two(calls[1], calls[2])));
        accepts(_join(two(good(), good()), calls));
    }

    function test_two_sales_do_not_share_a_royalty() public {
        forbid();
        _order(_second, _insight);
        Execution[] memory one = _whole(_buyer);
        Execution[] memory other = _whole(_second);

        refuses(_missing(_author, SHARE), _join(two(one[0], other[0]), two(one[1], one[2])));
        refuses(_missing(_author, SHARE), _join(one, _list(other[0])));
        refuses(_missing(_ancestor, SHARE), _join(one, two(other[0], other[1])));
        accepts(_join(one, other));
        vm.assertEq(USDC.balanceOf(_author), 2 * SHARE, "author");
        vm.assertEq(USDC.balanceOf(_ancestor), 2 * SHARE, "ancestor");
    }

    /// @dev Two tuples are two executions.
    function test_a_royalty_in_another_execution_is_none() public {
        forbid();
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = given(me());
        bytes[] memory contexts = new bytes[](2);
        (contexts[0], contexts[1]) = (abi.encode(chain), abi.encode(chain));
        ModeCode[] memory modes = new ModeCode[](2);
        modes[1] = BATCH_DEFAULT;
        bytes[] memory executions = new bytes[](2);
        executions[0] = packed(bad());
        executions[1] = abi.encode(two(_pay(_author, SHARE), _pay(_ancestor, SHARE)));

        vm.expectRevert(_missing(_author, SHARE));
        vm.prank(agent.account);
        MANAGER.redeemDelegations(contexts, modes, executions);
    }

    function test_an_author_sells_alone_and_owes_only_those_before_him() public {
        vm.prank(law.account);
        bytes32 own = _market.publish("own", bytes32(0), 5_000, address(USDC), PRICE);
        _inherit(_insight, _author);
        vm.prank(law.account);
        bytes32 grown = _market.publish("grown", _insight, 5_000, address(USDC), PRICE);
        _order(_buyer, own);
        _order(_buyer, grown);

        accepts(_sale(own, _buyer));
        // Half of the parent's 10 %, a quarter of the grandparent's 20 %.
        refuses(_missingOf(grown, _author, 2.5e6), _sale(grown, _buyer));
        accepts(_three(_sale(grown, _buyer), _pay(_author, 2.5e6), _pay(_ancestor, 2.5e6)));
        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 + 2 * PRICE - SHARE, "kept");
    }

    function test_the_owner_bounds_what_authors_may_ask_for() public {
        forbid();
        _maxBps = 2_000;
        accepts(_whole(_buyer));
        _order(_second, _insight);
        _maxBps = 1_999;
        refuses(
            abi.encodeWithSelector(
                KnowledgeRoyalty.KnowledgeRoyalty_TooMuch.selector,
                _insight,
                2 * SHARE,
                PRICE,
                1_999
            ),
            _whole(_second)
        );
    }

    // Who tries

    /// @dev The key's thief is author, buyer and redeemer: what the account pays him he paid before.
    function test_a_thief_who_publishes_gains_nothing() public {
        address thief = _rich("thief");
        vm.prank(thief);
        bytes32 his = _market.publish("his", bytes32(0), 5_000, address(USDC), PRICE);
        _inherit(his, thief);
        _order(_buyer, his);
        _maxBps = 5_000;
        uint256 before = USDC.balanceOf(thief) + USDC.balanceOf(_buyer);

        // He, or a friend of his, buys; the account keeps half of every price.
        accepts(two(_sale(his, _buyer), _pay(thief, PRICE / 2)));

        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 + PRICE / 2, "account");
        vm.assertEq(
            USDC.balanceOf(thief) + USDC.balanceOf(_buyer), before - PRICE / 2, "thief and friend"
        );
    }

    /// @dev The royalty is computed for the seller named in the call, and nobody else can sell so.
    function test_a_sale_in_an_authors_name_is_refused_by_the_market() public {
        _inherit(_first, _ancestor);
        _order(_buyer, _first);
        bytes memory data = abi.encodeCall(IKnowledgeMarket.sell, (_first, _ancestor, _buyer));

        refuses(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_NotSeller.selector, _ancestor, law.account
            ),
            Execution(address(_market), 0, data)
        );
    }

    function test_a_sale_that_fails_pays_no_royalty() public {
        _inherit(_insight, _author);

        refuses(
            abi.encodeWithSelector(
                IKnowledgeMarket.KnowledgeMarket_NoOrder.selector, _insight, law.account, _buyer
            ),
            _whole(_buyer)
        );
        vm.assertEq(USDC.balanceOf(_author), 0, "author");
    }

    /// @dev What is judged is the state before the batch.
    function test_an_entry_that_does_not_exist_yet_is_not_sold() public {
        bytes32 id = _market.entryIdOf(law.account, "new");
        bytes memory publish =
            abi.encodeCall(IKnowledgeMarket.publish, ("new", bytes32(0), 0, address(USDC), PRICE));

        refuses(
            abi.encodeWithSelector(IKnowledgeMarket.KnowledgeMarket_UnknownEntry.selector, id),
            two(Execution(address(_market), 0, publish), _sale(id, _buyer))
        );
    }

    function test_other_calls_of_the_market_pass() public {
        bytes memory publish =
            abi.encodeCall(IKnowledgeMarket.publish, ("mine", bytes32(0), 0, address(USDC), PRICE));
        bytes32 mine = _market.entryIdOf(law.account, "mine");
        bytes memory order =
            abi.encodeCall(IKnowledgeMarket.order, (_first, _ancestor, block.timestamp));

        accepts(Execution(address(_market), 0, publish));
        accepts(
            two(
                Execution(
                    address(_market), 0, abi.encodeCall(IKnowledgeMarket.bequeath, (mine, _buyer))
                ),
                Execution(address(_market), 0, order)
            )
        );
        accepts(
            Execution(
                address(_market), 0, abi.encodeCall(IKnowledgeMarket.cancel, (_first, _ancestor))
            )
        );
        vm.assertTrue(_market.hasAccess(mine, _buyer), "given");
    }

    function test_another_market_is_another_matter() public {
        forbid();
        KnowledgeMarket ours = _market;
        Execution memory call = bad();
        _market = new KnowledgeMarket();

        accepts(call);
        vm.assertTrue(ours.hasAccess(_insight, _buyer), "sold there");
    }

    /// @dev Fail closed.
    function test_a_market_without_code_sells_nothing() public {
        _market = KnowledgeMarket(address(0xdead));
        accepts(good());
        refuses("", bad());
    }

    // Calls that hide calls

    /// @dev ATK-14, ATK-18.
    function test_the_account_does_not_sell_by_calling_itself() public {
        forbid();
        bytes memory wrapped = abi.encodeWithSignature("execute((address,uint256,bytes))", bad());
        bytes memory other =
            abi.encodeWithSignature("execute(bytes32,bytes)", SINGLE_DEFAULT, packed(bad()));

        refuses(_hidden(law.account, wrapped), Execution(law.account, 0, wrapped));
        refuses(_hidden(law.account, other), two(good(), Execution(law.account, 0, other)));
        Delegation memory above = root(me(), agent.account, noCaveats());
        Delegation memory leaf = child(above, agent, _buyer, only(address(enforcer), terms()));
        vm.expectRevert(_hidden(law.account, wrapped));
        redeem(_buyer, leaf, above, SINGLE_DEFAULT, single(law.account, wrapped));
        // The account would.
        redeem(agent.account, above, SINGLE_DEFAULT, single(law.account, wrapped));
        vm.assertTrue(_market.hasAccess(_insight, _buyer), "sold");
    }

    /// @dev A grant of the account's to itself, without a caveat.
    function test_nor_by_redeeming_at_the_manager() public {
        forbid();
        Delegation memory own = root(me(), law.account, noCaveats());
        bytes memory redeemed = redemption(own, bad()).data;

        refuses(_hidden(address(MANAGER), redeemed), Execution(address(MANAGER), 0, redeemed));
    }

    // Shape

    /// @dev ATK-15, ATK-16: the market would read a longer call as the same sale.
    function test_a_sale_has_one_encoding() public {
        forbid();
        bytes memory data = bad().callData;
        uint256[5] memory lengths = [uint256(4), 36, 68, 99, 101];
        for (uint256 i = 0; i < lengths.length; i++) {
            bytes memory odd =
                lengths[i] < 100 ? cut(data, lengths[i]) : bytes.concat(data, hex"00");
            refuses(
                abi.encodeWithSelector(
                    KnowledgeRoyalty.KnowledgeRoyalty_NotCanonical.selector, odd.length
                ),
                Execution(address(_market), 0, odd)
            );
        }
        data[36] = 0x01;
        refuses("", Execution(address(_market), 0, data));
    }

    function test_an_execution_that_cannot_be_read_is_refused() public {
        bytes memory made = terms();
        bytes memory batch = abi.encode(two(good(), good()));

        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Short.selector, 51));
        hook(made, SINGLE_DEFAULT, cut(packed(good()), 51));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 0));
        hook(made, BATCH_DEFAULT, abi.encode(new Execution[](0)));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 2));
        hook(made, BATCH_DEFAULT, bytes.concat(batch, hex"00"));
    }

    /// @dev Batches of sales, royalties and other calls in any order, against a reader that keeps a list of
    ///      what is still owed.
    function testFuzz_a_batch_passes_when_every_sale_is_paid_for(uint256 seed) public {
        uint256 count = within(seed, 1, 9);
        Execution[] memory calls = new Execution[](count);
        uint256 owed = 0;
        bool fine = true;
        for (uint256 i = 0; i < count; i++) {
            seed = uint256(keccak256(abi.encode(seed)));
            // Mostly what should come next, so that whole batches are found as well.
            uint256 kind = seed % 8 < 6 ? (owed == 0 ? (seed >> 8) % 2 * 3 : 3 - owed) : seed % 4;
            if (kind == 0) {
                calls[i] = bad();
            } else if (kind == 1) {
                calls[i] = _pay(_author, SHARE);
            } else if (kind == 2) {
                calls[i] = _pay(_ancestor, SHARE);
            } else {
                calls[i] = good();
            }
            // Two are owed after a sale, one after the author's, and then none.
            if (owed != 0 && kind != 3 - owed) fine = false;
            if (owed != 0) owed--;
            else if (kind == 0) owed = 2;
        }
        bytes memory made = terms();
        bytes memory execution = abi.encode(calls);

        if (fine && owed == 0) {
            hook(made, BATCH_DEFAULT, execution);
        } else {
            (bool passed,) = address(enforcer)
                .call(
                    abi.encodeCall(
                        enforcer.beforeHook,
                        (made, "", BATCH_DEFAULT, execution, "", law.account, agent.account)
                    )
                );
            vm.assertFalse(passed, "a sale was not paid for");
        }
    }

    // Terms

    function test_longer_terms_are_refused() public {
        bytes memory whole = terms();
        bytes memory execution = packed(good());
        for (uint256 length = 23; length < 90; length++) {
            vm.expectRevert(tooShort(length));
            hook(bytes.concat(whole, new bytes(length - 22)), SINGLE_DEFAULT, execution);
        }
    }

    function test_more_than_the_whole_is_refused() public {
        _maxBps = 10_000;
        accepts(good());
        _maxBps = 10_001;
        refuses(
            abi.encodeWithSelector(KnowledgeRoyalty.KnowledgeRoyalty_Bps.selector, 10_001), good()
        );
    }

    function testFuzz_the_terms_are_read_back(address market, uint16 bps) public view {
        bps = bps % 10_001;
        (address read, uint16 most) =
            KnowledgeRoyaltyEnforcer(address(enforcer)).getTermsInfo(abi.encodePacked(market, bps));

        vm.assertEq(read, market, "market");
        vm.assertEq(most, bps, "bps");
    }

    function testFuzz_a_strangers_direct_call_writes_nothing(address stranger) public {
        vm.assume(stranger != address(vm) && stranger != address(_market));
        vm.assume(stranger != address(USDC));
        bytes memory made = terms();
        bytes memory execution = abi.encode(_whole(_buyer));
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(made, "", BATCH_DEFAULT, execution, bytes32(0), law.account, stranger);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    // Acting

    function _rich(string memory name) private returns (address account) {
        account = actor(name).account;
        vm.prank(FAUCET);
        USDC.mint(account, 1_000e6);
        vm.prank(account);
        USDC.approve(address(_market), type(uint256).max);
    }

    function _inherit(bytes32 entryId, address author) private {
        vm.prank(author);
        _market.bequeath(entryId, law.account);
    }

    function _order(address buyer, bytes32 entryId) private {
        vm.prank(buyer);
        _market.order(entryId, law.account, block.timestamp + 1 days);
    }

    function _sale(bytes32 entryId, address buyer) private view returns (Execution memory) {
        return Execution(
            address(_market),
            0,
            abi.encodeCall(IKnowledgeMarket.sell, (entryId, law.account, buyer))
        );
    }

    function _pay(address to, uint256 amount) private pure returns (Execution memory) {
        return Execution(address(USDC), 0, abi.encodeCall(IToken.transfer, (to, amount)));
    }

    /// @dev The insight's sale with all it owes.
    function _whole(address buyer) private view returns (Execution[] memory) {
        return _three(_sale(_insight, buyer), _pay(_author, SHARE), _pay(_ancestor, SHARE));
    }

    function _list(Execution memory one) private pure returns (Execution[] memory calls) {
        calls = new Execution[](1);
        calls[0] = one;
    }

    function _three(Execution memory one, Execution memory other, Execution memory last)
        private
        pure
        returns (Execution[] memory)
    {
        return _join(two(one, other), _list(last));
    }

    function _join(Execution[] memory one, Execution[] memory other)
        private
        pure
        returns (Execution[] memory calls)
    {
        calls = new Execution[](one.length + other.length);
        for (uint256 i = 0; i < calls.length; i++) {
            calls[i] = i < one.length ? one[i] : other[i - one.length];
        }
    }

    function _missing(address author, uint256 amount) private view returns (bytes memory) {
        return _missingOf(_insight, author, amount);
    }

    function _missingOf(bytes32 entryId, address author, uint256 amount)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            KnowledgeRoyalty.KnowledgeRoyalty_Missing.selector,
            entryId,
            address(USDC),
            author,
            amount
        );
    }

    function _hidden(address to, bytes memory data) private pure returns (bytes memory) {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(data);
        return abi.encodeWithSelector(HiddenCalls.HiddenCalls_Refused.selector, to, selector);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {YieldVault} from "../../local/YieldVault.sol";
import {HoldingsEnforcer} from "../../src/enforcers/HoldingsEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {ISwapRouter02} from "../../src/interfaces/IUniswapV3.sol";
import {ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class, Role} from "../../src/rules/Actions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {Phase} from "../../src/rules/GolemPhase.sol";
import {Holdings, HoldingsBound} from "../../src/rules/Holdings.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {Valuation} from "../../src/rules/Valuation.sol";
import {ITestToken} from "../CharterTest.sol";
import {Puppet} from "../Puppet.sol";
import {OneTransaction} from "./EnforcerTest.sol";
import {HoldingsNestingTest} from "./HoldingsNestingTest.sol";

/// @notice Owes an account what it has; anybody may call it in.
contract Debt {
    IERC20 private immutable TOKEN;
    address private immutable TO;

    constructor(address token, address to) {
        (TOKEN, TO) = (IERC20(token), to);
    }

    function pay() external {
        require(TOKEN.transfer(TO, TOKEN.balanceOf(address(this))), "paid");
    }
}

contract HoldingsEnforcerTest is HoldingsNestingTest {
    /// @dev The after hook is the rule; without a before hook it refuses.
    function testFuzz_the_other_hooks_look_at_nothing(bytes memory noise, bytes32 word, address who)
        public
        override
    {
        ModeCode mode = ModeCode.wrap(word);
        vm.record();

        enforcer.beforeAllHook(noise, noise, mode, noise, word, who, who);
        enforcer.afterAllHook(noise, noise, mode, noise, word, who, who);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    /// @dev EIP-170; forge's own chain would not say so.
    function test_its_code_is_small_enough_for_a_chain() public view {
        vm.assertTrue(address(enforcer).code.length <= 24_576, "code size");
    }

    function test_nothing_ends_that_has_not_begun() public {
        bytes memory made = terms();
        bytes memory execution = packed(good());
        vm.expectRevert(
            abi.encodeWithSelector(HoldingsEnforcer.HoldingsEnforcer_NotBegun.selector, law.golemId)
        );
        vm.prank(address(MANAGER));
        enforcer.afterHook(
            made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, agent.account
        );
    }

    // The share of a position (SPEC C2, C13)

    function test_a_position_is_bought_to_its_share_and_not_a_micro_dollar_beyond() public {
        _boundAt(thrivingBps);
    }

    function test_the_share_is_smaller_in_stable() public {
        advance(1);
        _boundAt(stableBps);
    }

    /// @dev Cash such that what is bought is worth the share exactly, and then a micro-dollar less.
    function _boundAt(uint256 bps) private {
        uint256 spend = 1_000e6;
        uint256 weth = brings(spend);
        // The least total of which this is no more than the share.
        uint256 total = (down(weth) * 10_000 + bps - 1) / bps;
        setUsdc(total - down(weth) + spend - 1);
        refuses(tooLarge(ETHER, down(weth), down(weth) - 1), buy(spend));
        setUsdc(total - down(weth) + spend);
        accepts(buy(spend));

        vm.assertEq(mark(), total - down(weth) + spend, "what there was before is the mark");
    }

    function test_a_batch_is_judged_as_a_whole() public {
        refusesAs(Holdings.Holdings_TooLarge.selector, two(buy(1_600e6), buy(1_600e6)));
        accepts(two(buy(1_400e6), buy(1_400e6)));
    }

    /// @dev Bought and sold in one batch is not held.
    function test_what_is_sold_in_the_same_batch_is_not_held() public {
        uint256 weth = brings(4_000e6);
        accepts(two(buy(4_000e6), sellWeth(weth)));
        vm.assertEq(WETH.balanceOf(law.account), 0, "nothing held");
    }

    function test_a_price_that_moved_does_not_keep_anybody_from_selling() public {
        // The pool does not follow the feed here, and this is not about loss.
        drawdownBps = 10_000;
        accepts(buy(2_000e6));
        // From a fifth to more than a half.
        setPrice(ethUsd, 12_500e8);
        accepts(sellWeth(1e15));
        uint256 weth = WETH.balanceOf(law.account);
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(1e6));
        vm.assertEq(WETH.balanceOf(law.account), weth, "no more of it");
        accepts(sellWeth(weth));
    }

    /// @dev Somebody gave the account what is now too large a part of it.
    function test_what_was_given_may_be_sold_and_not_added_to() public {
        wrap(5 ether);
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(1e6));
        accepts(sellWeth(1 ether));
    }

    function test_another_position_can_grow_beside_one_that_is_too_large() public {
        wrap(5 ether);
        accepts(deposit(1_000e6));
    }

    function test_a_share_of_nothing_allows_nothing_and_the_whole_everything() public {
        thrivingBps = 0;
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(1e6));
        thrivingBps = 10_000;
        accepts(buy(9_000e6));
    }

    // Ether is one position

    function test_ether_and_wrapped_ether_are_one_position() public {
        law.tokens = bytes.concat(law.tokens, token(address(0), ethUsd, 18));
        // 25,000 of 35,000 dollars are ether that the account has not wrapped.
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(1e6));
        vm.deal(law.account, 0.9 ether);
        accepts(buy(700e6));
        uint256 weth = brings(2_000e6);
        uint256 total = 9_300e6 - 2_000e6 + down(WETH.balanceOf(law.account) + weth) + 2_250e6;
        refuses(
            tooLarge(
                ETHER, down(WETH.balanceOf(law.account) + weth) + 2_250e6, total * 3_000 / 10_000
            ),
            buy(2_000e6)
        );
    }

    function test_wrapping_among_other_calls_is_no_growth() public {
        law.tokens = bytes.concat(law.tokens, token(address(0), ethUsd, 18));
        vm.deal(law.account, 10 ether);
        wrap(1 ether);
        Execution memory wraps =
            Execution(address(WETH), 5 ether, abi.encodeCall(IWeth.deposit, ()));
        // Much more of WETH, less of ether.
        accepts(two(wraps, sellWeth(1 ether)));
    }

    /// @dev Only what is listed counts; the owner left the coin out.
    function test_a_coin_that_is_not_listed_counts_as_nothing() public {
        vm.deal(law.account, 1_000_000 ether);
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(3_100e6));
        accepts(buy(2_900e6));
        vm.assertEq(mark(), 10_000e6, "dollars alone");
    }

    function test_cash_is_no_position() public {
        wrap(4 ether);
        setUsdc(0);
        accepts(sellWeth(2 ether));
        vm.assertTrue(USDC.balanceOf(law.account) > 4_900e6, "half and more");
    }

    function test_cash_may_be_ether() public {
        law.settlementAsset = address(0);
        // In either form.
        accepts(buy(9_000e6));
        refusesAs(Holdings.Holdings_TooLarge.selector, sellWeth(3 ether));
    }

    // Vaults

    function test_shares_of_a_vault_are_a_position_of_their_own() public {
        accepts(deposit(3_000e6));
        refusesAs(Holdings.Holdings_TooLarge.selector, deposit(1e6));
        // Beside it there is room for ether.
        accepts(buy(2_900e6));
    }

    /// @dev What lies in a vault comes home by a withdrawal, which no limit on growth may keep it from: so it counts
    ///      when more of the same is bought.
    function test_what_lies_in_vaults_counts_when_more_of_its_asset_is_bought() public {
        vm.deal(law.account, 0);
        YieldVault lair = new YieldVault(IERC20(address(WETH)), "lair", "LAIR", 0);
        law.targets = bytes.concat(law.targets, target(address(lair), Role.Vault));
        vm.prank(law.account);
        WETH.approve(address(lair), type(uint256).max);
        accepts(buy(2_980e6));
        uint256 bought = WETH.balanceOf(law.account);
        bytes memory hide = abi.encodeCall(IVault.deposit, (bought, law.account));
        accepts(Execution(address(lair), 0, hide));

        refusesAs(Holdings.Holdings_TooLarge.selector, buy(100e6));
        // Up to its share there is room.
        accepts(buy(10e6));
        // Nor in one execution that hides as much as it buys.
        Execution[] memory both = new Execution[](2);
        hide = abi.encodeCall(IVault.deposit, (WETH.balanceOf(law.account), law.account));
        both[0] = Execution(address(lair), 0, hide);
        both[1] = buy(1_000e6);
        refusesAs(Holdings.Holdings_TooLarge.selector, both);
        uint256 shares = lair.balanceOf(law.account);
        bytes memory back = abi.encodeCall(IVault.redeem, (shares, law.account, law.account));
        accepts(Execution(address(lair), 0, back));
        uint256 ether_ = down(WETH.balanceOf(law.account));
        uint256 total = ether_ + USDC.balanceOf(law.account);
        vm.assertTrue(ether_ * 10_000 <= total * thrivingBps, "within its share");
    }

    /// @dev A vault of a vault's shares leads to the same home.
    function test_vaults_of_vaults_hide_nothing() public {
        vm.deal(law.account, 0);
        YieldVault inner = new YieldVault(IERC20(address(WETH)), "inner", "IN", 0);
        YieldVault outer = new YieldVault(IERC20(address(inner)), "outer", "OUT", 0);
        law.tokens = bytes.concat(law.tokens, token(address(inner), ethUsd, 18));
        law.targets = bytes.concat(
            law.targets, target(address(inner), Role.Vault), target(address(outer), Role.Vault)
        );
        vm.prank(law.account);
        WETH.approve(address(inner), type(uint256).max);
        vm.prank(law.account);
        inner.approve(address(outer), type(uint256).max);
        accepts(buy(2_900e6));
        uint256 bought = WETH.balanceOf(law.account);
        accepts(Execution(address(inner), 0, abi.encodeCall(IVault.deposit, (bought, law.account))));
        uint256 shares = inner.balanceOf(law.account);
        accepts(Execution(address(outer), 0, abi.encodeCall(IVault.deposit, (shares, law.account))));

        refusesAs(Holdings.Holdings_TooLarge.selector, buy(200e6));
    }

    /// @dev Up to four of them on ether or on cash, each listed as a token or as a target: what was bought and
    ///      hidden counts at every vault on the way.
    function testFuzz_a_chain_of_vaults_is_one_family(uint8 depth, uint8 asTokens, bool onCash)
        public
    {
        depth = uint8(within(depth, 1, 4));
        vm.deal(law.account, 0);
        law.targets = target(ROUTER_02, Role.SwapRouter02);
        address[] memory chain = new address[](depth + 1);
        chain[0] = onCash ? address(USDC) : address(WETH);
        for (uint256 i = 1; i <= depth; i++) {
            chain[i] = _vaultOf(chain[i - 1], asTokens >> i & 1 == 1);
        }
        if (!onCash) accepts(buy(2_900e6));
        uint256 all = onCash ? 2_900e6 : WETH.balanceOf(law.account);
        for (uint256 i = 1; i <= depth; i++) {
            accepts(_into(chain[i], all));
            all = IERC20(chain[i]).balanceOf(law.account);
        }

        Execution memory more = onCash ? _into(chain[1], 200e6) : buy(200e6);
        refusesAs(Holdings.Holdings_TooLarge.selector, more);
        accepts(onCash ? _into(chain[1], 50e6) : buy(50e6));
    }

    /// @dev Two outer vaults hide two parts of one inner: all of it comes home to the inner one.
    function test_what_several_vaults_hide_counts_for_the_one_they_share() public {
        vm.deal(law.account, 0);
        address inner = _vaultOf(address(USDC), true);
        address[2] memory outer = [_vaultOf(inner, false), _vaultOf(inner, false)];
        accepts(_into(inner, 2_900e6));
        accepts(_into(outer[0], IERC20(inner).balanceOf(law.account)));

        refusesAs(Holdings.Holdings_TooLarge.selector, _into(inner, 2_900e6));
        accepts(_into(inner, 50e6));
        accepts(_into(outer[1], IERC20(inner).balanceOf(law.account)));
        refusesAs(Holdings.Holdings_TooLarge.selector, _into(inner, 100e6));
    }

    /// @dev A family beyond its share may not gather in one of its vaults either.
    function test_a_family_beyond_its_share_is_not_put_into_one_vault() public {
        vm.deal(law.account, 0);
        address lair = _vaultOf(address(WETH), false);
        vm.deal(law.account, 4 ether);
        wrap(4 ether);
        uint256 half = WETH.balanceOf(law.account);

        refusesAs(Holdings.Holdings_TooLarge.selector, _into(lair, half));
        accepts(_into(lair, half / 4));
    }

    /// @dev Shares of shares are worth what all the books say, and not what a feed of the inner ones would.
    function test_shares_of_shares_are_worth_what_the_books_on_the_way_say() public {
        vm.deal(law.account, 0);
        address inner = _vaultOf(address(WETH), true);
        address outer = _vaultOf(inner, false);
        vm.deal(address(this), 50 ether);
        IWeth(address(WETH)).deposit{value: 50 ether}();
        WETH.approve(inner, 10 ether);
        IVault(inner).deposit(10 ether, address(this));
        // It earned: a share of it is five ether.
        vm.assertTrue(IERC20(address(WETH)).transfer(inner, 40 ether), "earned");
        accepts(buy(2_900e6));
        accepts(_into(inner, WETH.balanceOf(law.account)));
        accepts(_into(outer, IERC20(inner).balanceOf(law.account)));

        refusesAs(Holdings.Holdings_TooLarge.selector, buy(200e6));
    }

    /// @dev A vault of this asset, which the account listed and approved.
    function _vaultOf(address asset, bool asToken) private returns (address made) {
        made = address(new YieldVault(IERC20(asset), "lair", "LAIR", 0));
        if (asToken) {
            bytes memory decimals = abi.encodePacked(uint8(18), uint8(8), uint32(30 days));
            law.tokens =
                bytes.concat(law.tokens, abi.encodePacked(made, Role.Vault, ethUsd, decimals));
        } else {
            law.targets = bytes.concat(law.targets, target(made, Role.Vault));
        }
        vm.prank(law.account);
        IToken(asset).approve(made, type(uint256).max);
    }

    function _into(address lair, uint256 amount) private view returns (Execution memory) {
        return Execution(lair, 0, abi.encodeCall(IVault.deposit, (amount, law.account)));
    }

    /// @dev Ether and wrapped ether are one position while both are looked at.
    function test_nothing_is_unwrapped_unless_coins_are_listed() public {
        vm.deal(law.account, 0);
        drawdownBps = 10_000;
        bytes memory plain = token(address(USDC), usdcUsd, 6);
        bytes memory wrapped = token(address(WETH), ethUsd, 18);
        law.tokens = bytes.concat(plain, wrapped);
        law.targets = bytes.concat(law.targets, target(address(WETH), Role.Weth));
        accepts(buy(2_900e6));
        uint256 bought = WETH.balanceOf(law.account);
        Execution memory unwrap =
            Execution(address(WETH), 0, abi.encodeCall(IWeth.withdraw, (bought)));
        bytes memory why = abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, ETHER);
        refuses(why, unwrap);
        refuses(why, two(callOf(Class.Approve, 0), unwrap));

        law.tokens = bytes.concat(plain, wrapped, token(ETHER, ethUsd, 18));
        accepts(unwrap);
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(200e6));
    }

    /// @dev A vault of another asset says nothing of this one.
    function test_a_vault_of_cash_leaves_room_for_ether() public {
        accepts(deposit(3_000e6));
        accepts(buy(2_980e6));
    }

    function test_a_vault_is_worth_what_its_books_say() public {
        accepts(deposit(2_000e6));
        uint256 shares = _shares();
        uint256 assets = IVault(vault).convertToAssets(shares);
        // It earns half of what it has.
        uint256 earned = IVault(vault).totalAssets() / 2;
        vm.prank(FAUCET);
        USDC.mint(vault, earned);
        uint256 worth = IVault(vault).convertToAssets(shares);
        vm.assertTrue(worth > assets * 149 / 100, "earned");

        accepts(buy(10e6));
        vm.assertEq(mark(), 8_000e6 + worth, "the mark knows it");
    }

    function test_a_vault_listed_as_a_token_too_counts_once() public {
        law.tokens = bytes.concat(law.tokens, token(vault, ethUsd, 12));
        accepts(deposit(2_000e6));
        accepts(buy(10e6));
        vm.assertEq(mark(), 10_000e6, "once, and by its books");
    }

    function test_shares_of_a_vault_whose_asset_is_not_listed_have_no_price() public {
        accepts(deposit(1_000e6));
        law.tokens = token(address(WETH), ethUsd, 18);
        law.settlementAsset = address(WETH);
        wrap(1 ether);
        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(USDC)),
            sellWeth(1e15)
        );
    }

    function test_a_listing_that_repeats_itself_counts_once() public {
        law.tokens = bytes.concat(law.tokens, token(address(USDC), ethUsd, 6), law.tokens);
        law.targets = bytes.concat(law.targets, law.targets);
        accepts(buy(2_900e6));
        vm.assertEq(mark(), 10_000e6, "the first entry");
    }

    // Phases (SPEC C2)

    function test_from_conservation_on_nothing_grows_and_everything_can_be_sold() public {
        wrap(1 ether);
        for (uint8 phase = 2; phase <= 4; phase++) {
            advance(phase);
            refuses(noGrowth(ETHER, Phase(phase)), buy(1e6));
            refuses(noGrowth(vault, Phase(phase)), deposit(1e6));
            accepts(sellWeth(1e16));
        }
    }

    /// @dev SPEC C2: what a dying Golem closes comes back as it is, ether too.
    function test_from_conservation_on_positions_come_home() public {
        uint256 id = position();
        accepts(deposit(1_000e6));
        advance(2);
        accepts(removeLiquidity(id));
        accepts(callOf(Class.Collect, id));
        accepts(callOf(Class.Withdraw, 0));
        advance(4);
        accepts(callOf(Class.Withdraw, 0));
        accepts(callOf(Class.Transfer, 0));
    }

    function test_a_phase_nobody_has_reported_for_long_is_conservation() public {
        law.staleness = 1 days;
        vm.warp(NOW + 1 days);
        accepts(buy(1e6));
        vm.warp(NOW + 1 days + 1);
        refuses(noGrowth(ETHER, Phase.Conservation), buy(1e6));
    }

    function test_the_dead_and_the_unknown_hold_nothing_new() public {
        vm.prank(agent.account);
        registry.close(law.golemId);
        refuses(
            abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId), buy(1e6)
        );
        law.golemId = keccak256("nobody");
        refuses(
            abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId), buy(1e6)
        );
    }

    /// @dev ATK-27: who moves the phase in the same execution is bound by the new one.
    function test_a_phase_moved_in_the_same_batch_counts() public {
        vm.prank(law.owner);
        registry.attach(law.golemId, law.account);
        Execution memory moves = Execution(
            address(registry),
            0,
            abi.encodeWithSignature("updateVitality(bytes32,uint8,uint16)", law.golemId, 2, 1)
        );
        refuses(noGrowth(ETHER, Phase.Conservation), two(moves, buy(1e6)));
        refuses(noGrowth(ETHER, Phase.Conservation), two(buy(1e6), moves));
    }

    // Drawdown

    function test_at_the_floor_a_golem_trades_and_a_micro_dollar_below_it_only_closes() public {
        accepts(buy(1e6));
        uint256 top = mark();
        uint256 weth = WETH.balanceOf(law.account);
        uint256 bought = brings(100e6);
        uint256 least = (top * 8_500 + 9_999) / 10_000;
        // After the purchase the account is worth the floor, or a micro-dollar less.
        uint256 usdc = least - down(weth + bought) + 100e6;
        setUsdc(usdc - 1);
        refuses(drawdown(ETHER, least - 1, least), buy(100e6));
        accepts(sellWeth(weth / 2));
        vm.assertEq(mark(), top, "selling moves no mark");
        setUsdc(usdc + 1e6);
        accepts(buy(100e6));
    }

    function test_below_the_floor_what_is_given_is_paid_for() public {
        wrap(2 ether);
        accepts(sellWeth(1e15));
        setUsdc(3_000e6);
        uint256 weth = 1e17;
        // The pool pays 2,500 less its fee; by the feed that is one percent too little, and a bit.
        setPrice(ethUsd, 2_530e8);
        refusesAs(Holdings.Holdings_Loss.selector, sellWeth(weth));
        setPrice(ethUsd, 2_520e8);
        // What came of it would do, and is not what was asked for.
        refuses(tooMuchLost(252e6, 0), sellWeth(weth));
        refuses(tooMuchLost(252e6, 249_479_999), sellWeth(weth, 249_479_999));
        accepts(sellWeth(weth, 249_480_000));
    }

    /// @dev What somebody owes the account, and anybody may call in, pays for no loss of the same execution; whether
    ///      that is a sale below its price or a purchase that is sold again (ATK-28).
    function test_below_the_floor_income_pays_for_no_loss() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        wrap(2 ether);
        accepts(buy(100e6));
        setUsdc(1_000e6);
        // The pool pays 2,500, four percent less than the feed says.
        setPrice(ethUsd, 2_600e8);
        Execution memory wake = _owed(1_000e6);
        refuses(tooMuchLost(5_200e6, 0), two(wake, sellWeth(2 ether)));
        refusesAs(Holdings.Holdings_Drawdown.selector, two(wake, buy(100e6)));
        Execution[] memory round = new Execution[](3);
        (round[0], round[1], round[2]) = (wake, buy(100e6), sellWeth(brings(100e6)));
        refuses(tooMuchLost(100e6, 0), round);
        accepts(wake);
        vm.assertEq(USDC.balanceOf(law.account), 2_000e6, "it was owed");
    }

    /// @dev Nor does it lift anybody above the floor that he began below: then all of it could be lost (ATK-28).
    function test_who_began_below_the_floor_is_not_lifted_by_income() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        vm.deal(law.account, 1);
        accepts(buy(1e6));
        setUsdc(8_400e6);
        Execution memory wake = _owed(3_000e6);
        refusesAs(Holdings.Holdings_Drawdown.selector, two(wake, buy(2_900e6)));
        // Paid before, it is there to be traded with.
        accepts(wake);
        accepts(buy(2_900e6));
    }

    /// @dev A round whose purchase asks for a fair price is refused for its purchase.
    function test_below_the_floor_a_fair_round_is_a_purchase() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        vm.deal(law.account, 1);
        accepts(buy(1e6));
        setUsdc(1_000e6);
        Execution[] memory round = new Execution[](3);
        round[0] = _owed(100e6);
        round[1] = Execution(ROUTER_02, 0, sellUsdc(100e6, atTheBound(100e6), law.account));
        round[2] = sellWeth(brings(100e6), 99e6);
        refuses(tooMuchLost(100e6, 0), round);
    }

    /// @dev Nor is cash sold for cash, through a pool of whoever asks for it.
    function test_below_the_floor_cash_is_not_sold_for_cash() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        vm.deal(law.account, 1);
        accepts(buy(1e6));
        setUsdc(1_000e6);
        ISwapRouter02.ExactInputParams memory circle;
        circle.path =
            abi.encodePacked(address(USDC), uint24(500), address(WETH), uint24(500), address(USDC));
        (circle.recipient, circle.amountIn, circle.amountOutMinimum) = (law.account, 500e6, 495e6);
        bytes memory data = abi.encodeCall(ISwapRouter02.exactInput, (circle));
        Execution memory wake = _owed(100e6);
        refuses(tooMuchLost(500e6, 0), two(wake, Execution(ROUTER_02, 0, data)));
    }

    /// @dev Where ether is cash, dollars are what is closed, for it in its wrapped form.
    function test_below_the_floor_ether_can_be_the_cash() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        law.settlementAsset = address(WETH);
        wrap(1 ether);
        accepts(sellWeth(1e15));
        setUsdc(1_000e6);
        refuses(tooMuchLost(100e6, 0), buy(100e6));
        accepts(Execution(ROUTER_02, 0, sellUsdc(100e6, atTheBound(100e6), law.account)));
        refusesAs(Holdings.Holdings_Drawdown.selector, sellWeth(1e15, 2.475e6));
    }

    /// @dev Wakes the key, which calls in what somebody owes the account.
    function _owed(uint256 amount) private returns (Execution memory) {
        Debt debt = new Debt(address(USDC), law.account);
        vm.prank(FAUCET);
        USDC.mint(address(debt), amount);
        vm.etch(agent.account, type(Puppet).runtimeCode);
        Execution[] memory calledIn = new Execution[](1);
        calledIn[0] = Execution(address(debt), 0, abi.encodeCall(Debt.pay, ()));
        Puppet(payable(agent.account)).plan(calledIn);
        return Execution(agent.account, 1, "");
    }

    /// @dev Whatever comes in beside it.
    function test_below_the_floor_vaults_and_pools_are_not_filled() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        uint256 id = position();
        wrap(2 ether);
        accepts(buy(100e6));
        setUsdc(1_000e6);
        bytes memory why = abi.encodeWithSelector(Holdings.Holdings_Liquidity.selector);
        // Of nothing, so that neither loss nor growth is in the way.
        Execution memory nothing =
            Execution(vault, 0, abi.encodeCall(IVault.deposit, (0, law.account)));
        refuses(why, nothing);
        lossBps = 10_000;
        refuses(why, increase(id, 1e6));
        setUsdc(11_000e6);
        accepts(nothing);
    }

    /// @dev To wrap is to give nothing: it makes no room for a loss in the same execution.
    function test_below_the_floor_wrapping_makes_no_room_for_a_loss() public {
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        (thrivingBps, stableBps) = (10_000, 10_000);
        accepts(buy(100e6));
        setUsdc(1_000e6);
        // The pool still pays 2,500: eight percent less than the feed says.
        setPrice(ethUsd, 2_700e8);
        wrap(1 ether);
        uint256 plain = law.account.balance;
        Execution memory wrapping =
            Execution(address(WETH), plain, abi.encodeCall(IWeth.deposit, ()));
        refusesAs(Holdings.Holdings_Loss.selector, two(wrapping, sellWeth(plain / 10)));
        accepts(wrapping);
        Execution memory back = Execution(address(WETH), 0, abi.encodeCall(IWeth.withdraw, (plain)));
        refusesAs(Holdings.Holdings_Loss.selector, two(back, sellWeth(plain / 100)));
    }

    function test_above_the_floor_a_loss_is_for_other_rules_to_bound() public {
        wrap(2 ether);
        setPrice(ethUsd, 2_600e8);
        accepts(sellWeth(1e17));
    }

    /// @dev Liquidity has left until it comes back: as much of it as may be lost, and no more.
    function test_liquidity_counts_as_lost_while_it_is_out() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        accepts(buy(100e6));
        uint256 top = mark();
        uint256 total = 9_900e6 + down(WETH.balanceOf(law.account));
        uint256 most = total - (top * 8_500 + 9_999) / 10_000;
        refusesAs(Holdings.Holdings_Loss.selector, addLiquidity(most + 2));
        accepts(addLiquidity(most - 2));
        refusesAs(Holdings.Holdings_Loss.selector, addLiquidity(100));
        vm.assertEq(mark(), top, "no lower mark");
    }

    /// @dev A pool that is moved gives back something else than it was given, and nobody measures that.
    function test_under_a_share_no_liquidity_is_added() public {
        bytes memory why = abi.encodeWithSelector(Holdings.Holdings_Liquidity.selector);
        uint256 id = position();
        thrivingBps = 10_000;
        refuses(why, addLiquidity(1e6));
        (thrivingBps, stableBps) = (9_999, 10_000);
        refuses(why, addLiquidity(1e6));
        refuses(why, increase(id, 1e6));
        refuses(why, two(callOf(Class.Approve, 0), increase(id, 1e6)));
        accepts(removeLiquidity(id));
        thrivingBps = 10_000;
        accepts(increase(id, 1e6));
    }

    /// @dev What a pool gives back was not counted, and so it is not lost in the same breath.
    function test_what_comes_back_from_a_pool_is_not_given_in_the_same_execution() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        bytes memory why = abi.encodeWithSelector(Holdings.Holdings_Mixed.selector);
        uint256 id = position();
        refuses(why, two(removeLiquidity(id), buy(1e6)));
        refuses(why, two(buy(1e6), callOf(Class.Collect, id)));
        refuses(why, two(increase(id, 1e6), callOf(Class.Collect, id)));
        accepts(two(removeLiquidity(id), callOf(Class.Collect, id)));
        accepts(buy(1e6));
    }

    /// @dev What nobody looked at before is not given: wrapped where only coins are listed, or out of a vault.
    function test_what_is_not_listed_is_not_given() public {
        vm.deal(law.account, 4 ether);
        law.tokens = bytes.concat(token(address(USDC), usdcUsd, 6), token(ETHER, ethUsd, 18));
        law.targets = bytes.concat(law.targets, target(address(WETH), Role.Weth));
        accepts(buy(1e6));
        // So little that the account stays above its floor.
        accepts(Execution(address(WETH), 0.1 ether, abi.encodeCall(IWeth.deposit, ())));
        bytes memory why =
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(WETH));
        refuses(why, sellWeth(1e15));
        refuses(why, two(callOf(Class.Approve, 0), sellWeth(1e15)));
        // Bought or wrapped without being looked at, it does not become what is looked at.
        refuses(why, Execution(address(WETH), 0, abi.encodeCall(IWeth.withdraw, (0.1 ether))));
    }

    /// @dev Coins that nobody looked at are not sold in their wrapped form; wrapped alone they go home (SPEC D18).
    function test_beside_a_trade_nothing_is_wrapped_that_is_not_listed() public {
        bytes memory why = abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, ETHER);
        Execution memory wrapping =
            Execution(address(WETH), 1 ether, abi.encodeCall(IWeth.deposit, ()));
        refuses(why, two(wrapping, sellWeth(1 ether)));
        accepts(wrapping);
        accepts(sellWeth(1e15));
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        accepts(two(wrapping, sellWeth(1 ether)));
    }

    /// @dev Nor is it put into a vault for somebody else: no share of it would ever be looked at.
    function test_what_is_not_listed_is_not_deposited_for_anybody() public {
        law.tokens = token(address(WETH), ethUsd, 18);
        law.settlementAsset = address(WETH);
        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(USDC)),
            Execution(vault, 0, abi.encodeCall(IVault.deposit, (1e6, address(0xbeef))))
        );
    }

    /// @dev Nor lent to a pool, whichever of its two it is, by a new position or by an old one.
    function test_what_is_not_listed_is_not_added_to_a_pool() public {
        (thrivingBps, stableBps) = (10_000, 10_000);
        uint256 id = position();
        vm.assertTrue(address(WETH) < address(USDC), "the first of the pool");
        address[2] memory listed = [address(USDC), address(WETH)];
        address[2] memory missing = [address(WETH), address(USDC)];
        for (uint256 i = 0; i < 2; i++) {
            law.tokens = token(listed[i], i == 0 ? usdcUsd : ethUsd, i == 0 ? 6 : 18);
            law.settlementAsset = listed[i];
            bytes memory why =
                abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, missing[i]);
            refuses(why, addLiquidity(1e6));
            refuses(why, increase(id, 1e6));
        }
    }

    /// @dev ATK-25: what is not listed is not worth anything, however much of it there is.
    function test_a_token_that_is_not_listed_counts_as_lost() public {
        law.tokens = token(address(USDC), usdcUsd, 6);
        refuses(tooMuchLost(1_500e6 + 1, 0), buy(1_500e6 + 1));
        accepts(buy(1_500e6));
        refuses(tooMuchLost(1, 0), buy(1));
    }

    function test_the_mark_is_the_most_there_was_before_or_after() public {
        accepts(buy(1_000e6));
        vm.assertEq(mark(), 10_000e6, "before");
        wrap(1 ether);
        setPrice(ethUsd, 5_000e8);
        uint256 usdc = USDC.balanceOf(law.account);
        uint256 weth = WETH.balanceOf(law.account);
        accepts(sellWeth(1));
        vm.assertTrue(mark() >= usdc + weth * 5_000 / 1e12 - 1, "at the prices of the moment");
        setPrice(ethUsd, 2_500e8);
        uint256 top = mark();
        accepts(sellWeth(1e15, 2_475_000));
        vm.assertEq(mark(), top, "never down");
    }

    /// @dev What an owner brings is not there to be lost in the first execution.
    function test_money_that_came_since_is_protected_at_once() public {
        law.tokens = token(address(USDC), usdcUsd, 6);
        accepts(buy(1));
        setUsdc(100_000e6);
        refuses(tooMuchLost(15_000e6 + 1, 0), buy(15_000e6 + 1));
    }

    /// @dev An owner who takes money out signs again.
    function test_a_withdrawal_stops_purchases_until_a_higher_series() public {
        accepts(buy(1_000e6));
        setUsdc(5_000e6);
        refusesAs(Holdings.Holdings_Drawdown.selector, buy(1e6));
        series = 2;
        accepts(buy(1e6));
        vm.assertTrue(mark() < 6_100e6, "begins anew");
        vm.assertEq(begun(), 2, "series");
    }

    function test_a_new_grant_of_the_same_series_sheds_no_mark() public {
        accepts(buy(1_000e6));
        setUsdc(5_000e6);
        drawdownBps = 1_600;
        lossBps = 200;
        refusesAs(Holdings.Holdings_Drawdown.selector, buy(1e6));
    }

    /// @dev SPEC D4.
    function test_a_lower_series_is_refused_once_a_higher_was_begun() public {
        series = 2;
        accepts(callOf(Class.Approve, 0));
        vm.assertEq(begun(), 2, "also where nothing is measured");
        series = 1;
        bytes memory stale = abi.encodeWithSelector(Holdings.Holdings_StaleSeries.selector, 1, 2);
        refuses(stale, buy(1e6));
        refuses(stale, callOf(Class.Approve, 0));
        series = 2;
        accepts(buy(1e6));
    }

    /// @dev ATK-27: what is given to the account or its vault for a moment stays with it.
    function test_who_fills_the_vault_for_a_moment_has_given_it_away() public {
        accepts(deposit(2_500e6));
        OneTransaction thief = new OneTransaction();
        vm.prank(FAUCET);
        USDC.mint(address(thief), 3_000_000e6);
        Delegation memory leaf = root(me(), address(thief), only(address(enforcer), terms()));
        OneTransaction.Step[] memory steps = new OneTransaction.Step[](4);
        steps[0] = OneTransaction.Step(
            address(USDC), abi.encodeCall(IToken.approve, (vault, type(uint256).max))
        );
        steps[1] = OneTransaction.Step(
            address(USDC), abi.encodeCall(IToken.transfer, (vault, 1_000_000e6))
        );
        steps[2] = redemption(leaf, buy(2_500e6));
        steps[3] = OneTransaction.Step(
            vault, abi.encodeCall(IVault.deposit, (1_000_000e6, address(thief)))
        );
        thief.run(steps);

        uint256 total = USDC.balanceOf(law.account) + down(WETH.balanceOf(law.account))
            + IVault(vault).convertToAssets(_shares());
        vm.assertTrue(mark() > 10_100e6, "filled");
        // Less what the pool took for the swap.
        vm.assertTrue(total + 20e6 > mark(), "still worth its mark");
        vm.assertTrue(down(WETH.balanceOf(law.account)) <= total * 3 / 10, "still within its share");
    }

    // Prices

    /// @dev SPEC D18: each of them with every feed dead for a month.
    function test_what_is_not_measured_needs_no_price() public {
        uint256 id = position();
        accepts(deposit(1_000e6));
        law.tokens = bytes.concat(law.tokens, token(ETHER, ethUsd, 18));
        vm.warp(NOW + 60 days);
        law.staleness = type(uint32).max;
        refusesAs(Valuation.Valuation_Stale.selector, buy(1e6));
        for (uint8 class = 1; class <= uint8(type(Class).max); class++) {
            if (Class(class) == Class.SpawnReplicant || Class(class) == Class.Sell) continue;
            if (!isUnmeasured(Class(class)) && Class(class) != Class.RemoveLiquidity) continue;
            Execution memory call = callOf(Class(class), id);
            hook(terms(), SINGLE_DEFAULT, packed(call));
            enforcer.afterHook(
                terms(), "", SINGLE_DEFAULT, packed(call), bytes32(0), law.account, agent.account
            );
        }
        accepts(callOf(Class.Transfer, 0));
        accepts(removeLiquidity(id));
        accepts(callOf(Class.Collect, id));
        accepts(callOf(Class.Withdraw, 0));
    }

    function test_with_one_call_that_is_measured_the_whole_batch_is() public {
        vm.warp(NOW + 60 days);
        law.staleness = type(uint32).max;
        accepts(two(callOf(Class.Approve, 0), callOf(Class.Transfer, 0)));
        refusesAs(Valuation.Valuation_Stale.selector, two(callOf(Class.Approve, 0), buy(1e6)));
    }

    function test_a_price_counts_to_its_last_second_and_no_longer() public {
        setPrice(usdcUsd, 1e8);
        setPrice(ethUsd, 2500e8);
        law.staleness = type(uint32).max;
        vm.warp(NOW + 30 days);
        accepts(buy(1e6));
        vm.warp(NOW + 30 days + 1);
        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, usdcUsd, NOW, NOW + 30 days + 1, 30 days
            ),
            buy(1e6)
        );
    }

    function test_a_price_of_nothing_or_less_is_none() public {
        for (int256 answer = -1; answer <= 0; answer++) {
            setPrice(ethUsd, answer);
            refuses(
                abi.encodeWithSelector(Valuation.Valuation_Answer.selector, ethUsd, answer),
                buy(1e6)
            );
        }
    }

    function test_what_is_not_held_needs_no_price() public {
        setPrice(ethUsd, 0);
        accepts(deposit(100e6));
        wrap(1);
        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Answer.selector, ethUsd, 0), deposit(100e6)
        );
    }

    // Who shares, and who does not (SPEC D17)

    function test_two_golems_of_one_owner_do_not_share_a_mark() public {
        accepts(buy(1_000e6));
        setUsdc(5_000e6);
        refusesAs(Holdings.Holdings_Drawdown.selector, buy(1e6));
        vm.prank(law.owner);
        law.golemId = registry.register("another", address(0));
        accepts(buy(1e6));
    }

    function test_two_owners_do_not_share_a_mark() public {
        accepts(buy(1_000e6));
        uint256 top = mark();
        Owner memory other = hybridOwner();
        law = golemOf(other);
        setUsdc(100e6);
        Delegation memory leaf = given(other);
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(buy(1e6)));
        vm.assertEq(mark(), 100e6, "his own");
        law = golemLawOf(me());
        vm.assertEq(mark(), top, "not his");
    }

    /// @dev ATK-01: anybody may call the hooks, and is a manager of his own.
    function test_two_managers_do_not_share() public {
        address stranger = actor("stranger").account;
        series = 7;
        _pair(stranger, packed(buy(1e6)));
        (uint256 his,) = rule.highWaterMarkOf(stranger, law.account, law.golemId);
        vm.assertEq(his, 10_000e6, "his own");
        vm.assertEq(mark(), 0, "not the manager's");
        series = 1;
        accepts(buy(1e6));
        vm.assertEq(begun(), 1, "nor its series");
    }

    /// @dev What a stranger has begun and not ended is begun for him alone.
    function test_a_stranger_who_begins_holds_nobody_up() public {
        vm.prank(actor("stranger").account);
        hook(terms(), SINGLE_DEFAULT, packed(buy(1e6)));
        accepts(buy(1e6));
        accepts(callOf(Class.Approve, 0));
    }

    function testFuzz_a_strangers_direct_calls_write_one_slot_under_his_address(address stranger)
        public
    {
        vm.assume(stranger != address(vm) && stranger != address(MANAGER));
        bytes memory execution = packed(buy(SOLD));
        vm.record();
        _pair(stranger, execution);

        (, bytes32[] memory writes) = vm.accesses(address(enforcer));
        bytes32 slot = keccak256(abi.encode(stranger, uint256(0)));
        slot = keccak256(abi.encode(law.account, slot));
        slot = keccak256(abi.encode(law.golemId, slot));
        vm.assertEq(writes.length, 1, "slots written");
        vm.assertEq(writes[0], slot, "his own");
    }

    // Terms

    function test_bounds_beyond_the_whole_are_refused() public {
        bytes memory why = abi.encodeWithSelector(Holdings.Holdings_Bps.selector, 10_001);
        thrivingBps = 10_001;
        refuses(why, buy(1e6));
        (thrivingBps, stableBps) = (10_000, 10_001);
        refuses(why, buy(1e6));
        (stableBps, drawdownBps) = (10_000, 10_001);
        refuses(why, buy(1e6));
        (drawdownBps, lossBps) = (10_000, 10_001);
        refuses(why, callOf(Class.Approve, 0));
        lossBps = 10_000;
        accepts(buy(9_000e6));
    }

    function testFuzz_the_terms_are_read_back(
        HoldingsBound memory bound,
        uint16 bps1,
        uint16 bps2,
        uint16 bps3
    ) public view {
        bound.thrivingBps = uint16(within(bps1, 0, 10_000));
        bound.stableBps = uint16(within(bps2, 0, 10_000));
        bound.drawdownBps = uint16(within(bps3, 0, 10_000));
        bound.lossBps = uint16(within(bound.lossBps, 0, 10_000));
        bytes memory listed = listing(law);
        bytes memory first =
            abi.encodePacked(bound.golemId, bound.account, bound.staleness, bound.series);
        first = abi.encodePacked(first, bound.thrivingBps, bound.stableBps, bound.drawdownBps);

        (HoldingsBound memory read, bytes memory rest) = rule.getTermsInfo(
            abi.encodePacked(first, bound.registry, bound.cash, bound.lossBps, listed)
        );

        vm.assertEq(keccak256(abi.encode(read)), keccak256(abi.encode(bound)), "bound");
        vm.assertEq(rest, listed, "listing");
    }

    // Helpers

    function _pair(address manager, bytes memory execution) private {
        bytes memory made = terms();
        vm.prank(manager);
        enforcer.beforeHook(made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, manager);
        vm.prank(manager);
        enforcer.afterHook(made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, manager);
    }

    function _shares() private view returns (uint256) {
        return ITestToken(vault).balanceOf(law.account);
    }

    /// @dev The law of {setUp}, as far as a mark is kept by it.
    function golemLawOf(Owner memory from) private view returns (Law memory made) {
        made = law;
        made.account = from.account;
        made.golemId = registry.golemIdOf(from.signers[0].account, SALT);
    }
}

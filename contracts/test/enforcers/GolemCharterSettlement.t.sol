// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {ISwapRouter02, IUniswapV3Pool} from "../../src/interfaces/IUniswapV3.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Role} from "../../src/rules/Actions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {Valuation} from "../../src/rules/Valuation.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice The end of a Golem: what is settled, how far, and for whom (D18).
contract GolemCharterSettlementTest is CharterCalls {
    function test_a_dying_golem_converts_to_the_settlement_asset_only() public {
        advanceTo(4);

        refuses(_settlementAsset(address(USDC), address(WETH)), ROUTER_02, swap(1e6));
        accepts(ROUTER_02, sellWeth(0.04e18, 99e6, account));

        (law.settlementAsset, law.epoch) = (address(WETH), 2);
        refuses(
            _settlementAsset(address(WETH), address(USDC)),
            ROUTER_02,
            sellWeth(0.04e18, 99e6, account)
        );
        accepts(ROUTER_02, swap(1e6));
    }

    function test_an_exact_output_converts_to_the_settlement_asset_only() public {
        advanceTo(4);
        accepts(ROUTER_02, _exactOutput(address(WETH), address(USDC), 99e6, 0.04e18));

        refuses(
            _settlementAsset(address(USDC), address(WETH)),
            ROUTER_02,
            _exactOutput(address(USDC), address(WETH), 0.0396e18, 100e6)
        );
    }

    /// @dev D10, ATK-46: a thief may declare his Golem dying. What is no settlement asset he then sells
    ///      without a cap, but once, and within the bound.
    function test_a_thief_who_declares_himself_dying_sells_once_and_within_the_bound() public {
        vm.prank(agent.account);
        registry.updateVitality(law.golemId, 4, 0);

        refuses(
            tooMuchSlippage(12_500e6, 12_375e6 - 1),
            ROUTER_02,
            sellWeth(5e18, 12_375e6 - 1, account)
        );
        accepts(ROUTER_02, sellWeth(5e18, 12_375e6, account));

        vm.assertTrue(USDC.balanceOf(account) >= 22_375e6, "sold within the bound");
        refuses(_settlementAsset(address(USDC), address(WETH)), ROUTER_02, swap(1e6));
    }

    /// @dev D18: settlement goes one way only. From the settlement asset by way of others back to itself
    ///      is no way: it is exempt from every cap, and each round costs up to the bound.
    function test_settlement_does_not_go_round_in_circles() public {
        vm.prank(agent.account);
        registry.updateVitality(law.golemId, 4, 0);
        bytes memory round = abi.encodeCall(
            ISwapRouter02.exactInput,
            (ISwapRouter02.ExactInputParams(
                    abi.encodePacked(
                        address(USDC), FEE, address(WETH), uint24(3000), address(USDC)
                    ),
                    account,
                    100e6,
                    99e6
                ))
        );
        Delegation memory leaf = grant(home(), law);
        Execution memory redeemed = redemption(leaf, SINGLE_DEFAULT, single(ROUTER_02, round));
        uint256 refused = 0;
        for (uint256 i = 0; i < 50; i++) {
            vm.prank(agent.account);
            (bool ok,) = redeemed.target.call(redeemed.callData);
            if (!ok) refused++;
        }

        vm.assertEq(USDC.balanceOf(account), 10_000e6, "nothing lost");
        vm.assertEq(refused, 50, "every round refused");
    }

    /// @dev ATK-23, D17: two grants of one Golem, alive together, that name two assets. The first that a dying
    ///      Golem acts under counts for both, and a newer grant begins anew.
    function test_two_grants_do_not_settle_in_circles() public {
        vm.prank(agent.account);
        registry.updateVitality(law.golemId, 4, 0);
        bytes memory toDollars = sellWeth(0.04e18, 99e6, account);
        accepts(address(USDC), transfer(law.beneficiary, 1));
        accepts(ROUTER_02, toDollars);

        bytes memory dollarsOnly = _settlementAsset(address(USDC), address(WETH));
        law.settlementAsset = address(WETH);
        refuses(dollarsOnly, ROUTER_02, swap(1e6));
        accepts(ROUTER_02, toDollars);

        law.epoch = 2;
        accepts(ROUTER_02, swap(1e6));
        refuses(_settlementAsset(address(WETH), address(USDC)), ROUTER_02, toDollars);
        (law.settlementAsset, law.epoch) = (address(USDC), 1);
        refuses(
            abi.encodeWithSelector(SpendWindow.SpendWindow_StaleEpoch.selector, 1, 2),
            ROUTER_02,
            toDollars
        );
    }

    /// @dev Shares could be redeemed and bought again, beyond every cap; also where one grant knows the vault
    ///      and another of the same epoch only its shares.
    function test_a_vaults_shares_are_bought_once() public {
        accepts(vault, deposit(100e6, account));
        law.settlementAsset = vault;
        bytes memory out = abi.encodeCall(IVault.withdraw, (1e6, account, account));
        bytes memory knowsTheVault = encode(law);
        law.tokens = bytes.concat(law.tokens, token(vault, usdcUsd, 12));
        law.targets = target(ROUTER_02, Role.SwapRouter02);
        advanceTo(4);
        bytes memory shares = abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams(address(USDC), vault, FEE, account, 1e6, 1e12, 0))
        );

        hook(encode(law), SINGLE_DEFAULT, single(ROUTER_02, shares));
        vm.expectRevert(_settlementAsset(vault, address(0)));
        hook(knowsTheVault, SINGLE_DEFAULT, single(vault, out));
        vm.assertEq(
            charterEnforcer.settlementOf(address(MANAGER), account, law.golemId),
            uint256(law.epoch) << 160 | uint160(vault),
            "pinned"
        );
    }

    function test_shares_that_are_not_the_settlement_asset_are_redeemed_to_the_end() public {
        accepts(vault, deposit(100e6, account));
        advanceTo(4);

        accepts(vault, abi.encodeCall(IVault.withdraw, (1e6, account, account)));
    }

    function test_without_a_settlement_asset_nothing_is_converted() public {
        law.settlementAsset = address(0);
        advanceTo(4);

        refuses(_settlementAsset(address(USDC), address(WETH)), ROUTER_02, swap(1e6));
        refuses(
            _settlementAsset(address(WETH), address(USDC)),
            ROUTER_02,
            sellWeth(0.04e18, 99e6, account)
        );
    }

    function test_before_terminal_the_settlement_asset_binds_nothing() public {
        law.settlementAsset = address(0);

        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev 5,000 dollars in one swap, with the day's cap spent before.
    function test_settlement_is_exempt_from_the_days_cap() public {
        law.navCap = type(uint64).max;
        accepts(ROUTER_02, swap(CAP));
        uint256 usdc = USDC.balanceOf(account);
        refuses(overCap(CAP, 5_000e6, CAP), ROUTER_02, sellWeth(2e18, 4_950e6, account));

        advanceTo(4);
        accepts(ROUTER_02, sellWeth(2e18, 4_950e6, account));

        vm.assertTrue(USDC.balanceOf(account) >= usdc + 4_950e6, "converted");
        vm.assertEq(spent(), CAP, "not counted");
    }

    function test_slippage_binds_to_the_end() public {
        advanceTo(4);

        refuses(
            tooMuchSlippage(5_000e6, 4_950e6 - 1), ROUTER_02, sellWeth(2e18, 4_950e6 - 1, account)
        );
        accepts(ROUTER_02, sellWeth(2e18, 4_950e6, account));
    }

    function test_recipients_bind_to_the_end() public {
        advanceTo(4);
        address thief = actor("thief").account;

        refuses(wrongRecipient(thief, account), ROUTER_02, sellWeth(0.04e18, 99e6, thief));
        refuses(wrongRecipient(thief, human.account), address(USDC), transfer(thief, 1));
    }

    /// @dev ATK-45 to the end: a removal looks at the pool in Terminal as well.
    function test_a_removal_in_a_moved_market_is_refused_to_the_end() public {
        (uint256 id,) = openPosition(account);
        advanceTo(4);
        setPrice(ethUsd, 2_600e8);

        (uint160 root,,,,,,) = IUniswapV3Pool(
                vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".pool_500")
            ).slot0();
        refuses(
            abi.encodeWithSelector(
                MaxSlippage.MaxSlippage_PoolMoved.selector,
                uint256(root) * root >> 64,
                uint256(2_600e6) * (1 << 128) / 1e18,
                100
            ),
            POSITIONS,
            decrease(id, 1)
        );
        setPrice(ethUsd, 2_500e8);
        accepts(POSITIONS, decrease(id, 1));
    }

    /// @dev D18: a feed outage must not trap funds.
    function test_what_is_free_goes_home_without_any_feed_alive() public {
        law.end = NOW + 365 days;
        law.staleness = type(uint32).max;
        vm.warp(NOW + 60 days);
        setRound(usdcUsd, 0, 0);
        setRound(ethUsd, -1, 0);
        advanceTo(4);
        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Answer.selector, ethUsd, int256(-1)),
            ROUTER_02,
            sellWeth(0.04e18, 99e6, account)
        );

        accepts(
            list(
                call(address(USDC), transfer(human.account, 10_000e6)),
                call(address(WETH), transfer(human.account, 5e18))
            )
        );

        vm.assertEq(USDC.balanceOf(human.account), 10_000e6, "dollars");
        vm.assertEq(WETH.balanceOf(human.account), 5e18, "ether");
    }

    function test_a_declining_golem_sends_home_without_any_feed_alive_too() public {
        advanceTo(3);
        setRound(usdcUsd, 0, 0);

        accepts(address(USDC), transfer(human.account, 10_000e6));
    }

    /// @dev ATK-34: the whole of it, and then nothing more.
    function test_a_golem_settles_and_is_gone() public {
        (uint256 id, uint128 liquidity) = openPosition(account);
        accepts(vault, deposit(100e6, account));
        advanceTo(4);

        accepts(
            list(
                call(POSITIONS, decrease(id, liquidity)),
                call(POSITIONS, collect(id, account)),
                call(POSITIONS, burn(id))
            )
        );
        accepts(vault, abi.encodeCall(IVault.withdraw, (99e6, account, account)));
        accepts(ROUTER_02, sellWeth(2e18, 4_950e6, account));
        // Ether goes home as wrapped ether.
        uint256 ether_ = account.balance;
        accepts(
            SINGLE_DEFAULT,
            abi.encodePacked(address(WETH), ether_, abi.encodeCall(IWeth.deposit, ()))
        );
        accepts(address(WETH), transfer(human.account, WETH.balanceOf(account)));
        accepts(
            list(
                call(address(USDC), approve(ROUTER_02, 0)),
                call(address(WETH), approve(ROUTER_02, 0)),
                call(address(USDC), approve(vault, 0))
            )
        );
        accepts(address(USDC), transfer(human.account, USDC.balanceOf(account)));
        accepts(
            address(lifecycle), abi.encodeCall(IGolemLifecycle.settle, (law.golemId, "manifest"))
        );
        vm.prank(agent.account);
        registry.close(law.golemId);

        vm.assertTrue(USDC.balanceOf(human.account) > 15_000e6, "home");
        vm.assertTrue(WETH.balanceOf(human.account) >= ether_, "ether too");
        vm.assertEq(account.balance, 0, "nothing left");
        vm.assertEq(USDC.allowance(account, ROUTER_02), 0, "no allowance left");
        bytes memory dead =
            abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId);
        refuses(dead, address(WETH), transfer(human.account, 1));
        refuses(dead, address(lifecycle), abi.encodeCall(IGolemLifecycle.settle, (law.golemId, "")));
        refuses(dead, address(USDC), approve(ROUTER_02, 0));
    }

    /// @dev SPEC D30 against D18: a position is taken back near the feeds' price only, to the end. What is free goes home
    ///      without a feed; the position waits for it, or for its owner.
    function test_a_position_waits_for_its_feeds_also_at_the_end() public {
        (uint256 id, uint128 liquidity) = openPosition(account);
        advanceTo(4);
        setRound(ethUsd, 0, block.timestamp);

        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Answer.selector, address(ethUsd), int256(0)),
            POSITIONS,
            decrease(id, liquidity)
        );
        accepts(address(WETH), transfer(law.beneficiary, 1e18));

        setRound(ethUsd, 2_500e8, block.timestamp);
        accepts(POSITIONS, decrease(id, liquidity));
    }

    function _exactOutput(address sold, address bought, uint256 amount, uint256 most)
        private
        view
        returns (bytes memory)
    {
        return abi.encodeCall(
            ISwapRouter02.exactOutputSingle,
            (ISwapRouter02.ExactOutputSingleParams({
                    tokenIn: sold,
                    tokenOut: bought,
                    fee: FEE,
                    recipient: account,
                    amountOut: amount,
                    amountInMaximum: most,
                    sqrtPriceLimitX96: 0
                }))
        );
    }

    function _settlementAsset(address sold, address got) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_SettlementAsset.selector,
            sold,
            got,
            law.settlementAsset
        );
    }
}

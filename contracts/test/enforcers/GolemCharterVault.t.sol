// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {YieldVault} from "../../local/YieldVault.sol";
import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IVault} from "../../src/interfaces/ITokens.sol";
import {Class, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {VaultShares} from "../../src/rules/VaultShares.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice Two per cent stay behind when one leaves. As ERC-4626 has it, previews say so and conversions do not.
contract ExitFeeVault is YieldVault {
    constructor(IERC20 asset) YieldVault(asset, "Dear", "DEAR", 0) {}

    function previewRedeem(uint256 shares) public view override returns (uint256) {
        return super.previewRedeem(shares) * 98 / 100;
    }
}

/// @notice A plain OpenZeppelin vault without virtual decimals, in which the owner is the only depositor: a
///         thief can make its shares few and dear.
contract GolemCharterVaultTest is CharterCalls {
    YieldVault private _thin;
    address private _crook;

    function setUp() public override {
        super.setUp();
        _crook = actor("crook").account;
        _thin = new YieldVault(IERC20(address(USDC)), "Thin", "THIN", 0);
        law.targets = bytes.concat(law.targets, target(address(_thin), Role.Vault));
        vm.prank(account);
        USDC.approve(address(_thin), type(uint256).max);
        vm.prank(account);
        _thin.deposit(1_000e6, account);
    }

    function test_shares_worth_their_assets_are_bought_and_sold() public {
        accepts(address(_thin), deposit(100e6, account));
        accepts(address(_thin), abi.encodeCall(IVault.mint, (100e6, account)));
        accepts(address(_thin), abi.encodeCall(IVault.withdraw, (100e6, account, account)));
        accepts(address(_thin), abi.encodeCall(IVault.redeem, (100e6, account, account)));

        vm.assertEq(_thin.balanceOf(account), 1_000e6, "as before");
    }

    function test_a_deposit_that_buys_no_share_is_refused() public {
        _dear(528e6);

        refuses(_tooFew(48e6, 0), address(_thin), deposit(48e6, account));
        refuses(_tooFew(48e6, 0), list(call(address(_thin), deposit(48e6, account))));
    }

    /// @dev One share is bought: 1 % above its price is the bound, and what is above that is refused.
    function test_a_deposit_rounds_away_as_much_as_the_bound_and_no_more() public {
        _dear(1_000e6);
        uint256 one = _thin.convertToAssets(1);
        uint256 most = one * 10_000 / 9_900;

        refuses(_tooFew(most + 1, one), address(_thin), deposit(most + 1, account));
        accepts(address(_thin), deposit(most, account));
    }

    function test_a_crumb_that_costs_a_share_is_refused() public {
        accepts(address(_thin), abi.encodeCall(IVault.redeem, (999_999_990, account, account)));
        vm.prank(FAUCET);
        USDC.mint(address(_thin), 1_000e6);
        uint256 one = _thin.convertToAssets(1);

        refuses(
            _tooFew(one, 1), address(_thin), abi.encodeCall(IVault.withdraw, (1, account, account))
        );
        accepts(address(_thin), abi.encodeCall(IVault.redeem, (1, account, account)));
    }

    /// @dev ATK-27: ten deposits for nothing would have paid the thief.
    function test_deposits_are_not_stolen_through_dear_shares() public {
        _dear(11 * 48e6 + 100);
        Execution[] memory calls = new Execution[](10);
        for (uint256 i = 0; i < calls.length; i++) {
            calls[i] = call(address(_thin), deposit(48e6, account));
        }

        refuses(abi.encodeWithSelector(Executions.Executions_Order.selector, Class.Deposit), calls);
        refuses(_tooFew(48e6, 0), address(_thin), deposit(48e6, account));
    }

    /// @dev The first one fair, and a little dearer than its share: the others would have bought none.
    function test_a_deposit_does_not_stand_behind_another() public {
        _dear(11 * 48e6 + 100);
        uint256 fair = _thin.previewMint(1);
        Execution memory first = call(address(_thin), deposit(fair * 1_009 / 1_000, account));
        bytes memory order =
            abi.encodeWithSelector(Executions.Executions_Order.selector, Class.Deposit);

        refuses(order, list(first, call(address(_thin), deposit(fair, account))));
        refuses(order, list(first, call(address(_thin), abi.encodeCall(IVault.mint, (1, account)))));
        uint256 before = _worth();
        accepts(list(first));
        vm.assertTrue(before - _worth() <= fair / 100 + 1, "no more than the bound");
    }

    /// @dev Nor in one execution: the withdrawal that thins the vault does not stand before a deposit.
    function test_a_deposit_does_not_stand_behind_a_withdrawal() public {
        Execution memory out =
            call(address(_thin), abi.encodeCall(IVault.redeem, (1e6, account, account)));

        refuses(
            abi.encodeWithSelector(Executions.Executions_Order.selector, Class.Deposit),
            list(out, call(address(_thin), deposit(1e6, account)))
        );
        accepts(list(call(address(_thin), deposit(1e6, account)), out));
    }

    /// @dev No price is asked for: what is in a vault comes out while every feed is dead.
    function test_withdrawals_need_no_feed() public {
        setPrice(usdcUsd, 0);
        setPrice(ethUsd, 0);

        accepts(address(_thin), abi.encodeCall(IVault.redeem, (1e6, account, account)));
        accepts(address(_thin), abi.encodeCall(IVault.withdraw, (1e6, account, account)));
    }

    /// @dev What leaving costs counts when one leaves: who lists a vault with a dearer exit than his bound gets shares
    ///      home, and redeems them himself.
    function test_a_vault_whose_exit_costs_more_than_the_bound_sends_its_shares_home() public {
        ExitFeeVault dear = new ExitFeeVault(IERC20(address(USDC)));
        law.targets = bytes.concat(law.targets, target(address(dear), Role.Vault));
        vm.prank(account);
        USDC.approve(address(dear), 400e6);
        accepts(address(dear), deposit(400e6, account));
        advanceTo(4);

        bytes memory redeems = abi.encodeCall(IVault.redeem, (400e6, account, account));
        refuses(_tooFew(400e6, 392e6), address(dear), redeems);
        accepts(address(dear), transfer(law.beneficiary, 400e6));

        vm.assertEq(dear.balanceOf(law.beneficiary), 400e6, "home");
    }

    /// @dev The account's shares are out; the thief makes ten and gives.
    function _dear(uint256 gift) private {
        uint256 shares = _thin.balanceOf(account);
        accepts(address(_thin), abi.encodeCall(IVault.redeem, (shares, account, account)));
        vm.prank(FAUCET);
        USDC.mint(_crook, 10_000e6);
        vm.prank(_crook);
        USDC.approve(address(_thin), type(uint256).max);
        vm.prank(_crook);
        _thin.mint(10, _crook);
        vm.prank(_crook);
        vm.assertTrue(USDC.transfer(address(_thin), gift), "gift");
    }

    function _worth() private view returns (uint256) {
        return USDC.balanceOf(account) + _thin.convertToAssets(_thin.balanceOf(account));
    }

    function _tooFew(uint256 out, uint256 back) private view returns (bytes memory) {
        return
            abi.encodeWithSelector(
                VaultShares.VaultShares_TooFew.selector, out, back, law.slippageBps
            );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {UsdCoin} from "../../local/UsdCoin.sol";
import {YieldVault} from "../../local/YieldVault.sol";
import {TestBase} from "../TestBase.sol";

contract YieldVaultTest is TestBase {
    UsdCoin private _coin;
    YieldVault private _vault;
    Actor private _saver;
    Actor private _borrower;

    function setUp() public {
        _saver = actor("saver");
        _borrower = actor("borrower");
        _coin = new UsdCoin(address(this));
        _vault = new YieldVault(_coin, "Yield USDC", "yUSDC", 6);
        _coin.mint(_saver.account, 1_000e6);
        _coin.mint(_borrower.account, 1_000e6);
        vm.prank(_saver.account);
        _coin.approve(address(_vault), type(uint256).max);
    }

    function test_shares_have_the_decimals_of_the_asset_and_the_offset() public view {
        vm.assertEq(_vault.asset(), address(_coin), "asset");
        vm.assertEq(_vault.decimals(), 12, "decimals");
        vm.assertEq(_vault.symbol(), "yUSDC", "symbol");
    }

    function test_what_goes_in_comes_out() public {
        vm.prank(_saver.account);
        uint256 shares = _vault.deposit(100e6, _saver.account);
        vm.assertEq(shares, 100e12, "shares");

        vm.prank(_saver.account);
        uint256 assets = _vault.redeem(shares, _saver.account, _saver.account);

        vm.assertEq(assets, 100e6, "assets");
        vm.assertEq(_coin.balanceOf(_saver.account), 1_000e6, "balance");
    }

    function test_a_plain_transfer_is_yield() public {
        vm.prank(_saver.account);
        uint256 shares = _vault.deposit(100e6, _saver.account);

        vm.prank(_borrower.account);
        vm.assertTrue(_coin.transfer(address(_vault), 10e6), "transferred");

        // The virtual share keeps one millionth of a unit, which rounding makes one unit.
        vm.assertEq(_vault.convertToAssets(shares), 110e6 - 1, "worth");
    }

    /// @dev ATK-27: a donation before the first deposit costs its giver more than it takes.
    function testFuzz_a_donation_does_not_rob_the_first_depositor(uint256 donation) public {
        donation = within(donation, 0, 1_000e6);
        vm.prank(_borrower.account);
        vm.assertTrue(_coin.transfer(address(_vault), donation), "transferred");

        vm.prank(_saver.account);
        uint256 shares = _vault.deposit(100e6, _saver.account);

        // At most one share's worth is lost to rounding: (donation + 1) / 10^6 units.
        uint256 worth = _vault.convertToAssets(shares);
        vm.assertTrue(worth + donation / 1e6 + 2 >= 100e6, "worth of the deposit");
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Action, Class} from "../../src/rules/Actions.sol";
import {VaultShares} from "../../src/rules/VaultShares.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Says what a test tells it to: `worth` for shares, and a number for each preview.
contract BookVault {
    uint256 public worth;
    uint256 public preview;

    function say(uint256 worth_, uint256 preview_) external {
        (worth, preview) = (worth_, preview_);
    }

    function convertToAssets(uint256) external view returns (uint256) {
        return worth;
    }

    function previewDeposit(uint256) external view returns (uint256) {
        return preview;
    }

    function previewMint(uint256) external view returns (uint256) {
        return preview;
    }

    function previewWithdraw(uint256) external view returns (uint256) {
        return preview;
    }

    function previewRedeem(uint256) external view returns (uint256) {
        return preview;
    }
}

contract SharesRule {
    function check(Action memory action, uint256 bps) external view {
        VaultShares.check(action, bps);
    }
}

contract VaultSharesTest is TestBase {
    SharesRule private _rule;
    BookVault private _vault;

    function setUp() public {
        _rule = new SharesRule();
        _vault = new BookVault();
    }

    function testFuzz_a_deposit_is_worth_its_shares(uint128 assets, uint128 worth, uint16 bps)
        public
    {
        _vault.say(worth, 1);
        Action memory action = _action(Class.Deposit);
        action.amountOut = assets;
        _judge(action, assets, worth, bps);
    }

    function testFuzz_minted_shares_are_worth_what_they_cost(
        uint128 cost,
        uint128 worth,
        uint16 bps
    ) public {
        _vault.say(worth, cost);
        Action memory action = _action(Class.Deposit);
        (action.tokenIn, action.minimumIn) = (address(_vault), 7);
        _judge(action, cost, worth, bps);
    }

    function testFuzz_a_withdrawal_burns_no_more_than_it_brings(
        uint128 assets,
        uint128 worth,
        uint16 bps
    ) public {
        _vault.say(worth, 1);
        Action memory action = _action(Class.Withdraw);
        action.minimumIn = assets;
        _judge(action, worth, assets, bps);
    }

    function testFuzz_redeemed_shares_bring_what_they_are_worth(
        uint128 worth,
        uint128 brought,
        uint16 bps
    ) public {
        _vault.say(worth, brought);
        Action memory action = _action(Class.Withdraw);
        (action.tokenOut, action.amountOut) = (address(_vault), 7);
        _judge(action, worth, brought, bps);
    }

    /// @dev For a bound of 1 %: 9,900 for 10,000 passes, 9,899 does not.
    function test_the_bound_itself_passes_and_one_less_does_not() public {
        Action memory action = _action(Class.Deposit);
        action.amountOut = 10_000;
        _vault.say(9_900, 1);
        _rule.check(action, 100);
        _vault.say(9_899, 1);
        vm.expectRevert(
            abi.encodeWithSelector(VaultShares.VaultShares_TooFew.selector, 10_000, 9_899, 100)
        );
        _rule.check(action, 100);
    }

    function test_other_classes_ask_no_vault() public view {
        for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
            if (Class(class) == Class.Deposit || Class(class) == Class.Withdraw) continue;
            Action memory action;
            action.class = Class(class);
            _rule.check(action, 0);
        }
    }

    function _judge(Action memory action, uint256 out, uint256 back, uint256 bps) private {
        bps = bps % 10_001;
        // By cross-multiplication of whole numbers below 2^142.
        if (back * 10_000 < out * (10_000 - bps)) {
            vm.expectRevert(
                abi.encodeWithSelector(VaultShares.VaultShares_TooFew.selector, out, back, bps)
            );
        }
        _rule.check(action, bps);
    }

    function _action(Class class) private view returns (Action memory action) {
        action.class = class;
        action.target = address(_vault);
    }
}

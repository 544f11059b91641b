// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {YieldVault} from "../../local/YieldVault.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IVault} from "../../src/interfaces/ITokens.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {VaultNav} from "../../src/rules/VaultNav.sol";
import {CharterCalls} from "../CharterCalls.sol";
import {Puppet} from "../Puppet.sol";

/// @notice One execution beside a vault of 1,000 dollars, of which a tenth is allowed (C5, D31).
contract GolemCharterNavTest is CharterCalls {
    uint256 private constant SHARE = 100e6;
    uint64 private constant MOST = 400e6;

    address private _holder;

    function setUp() public override {
        super.setUp();
        YieldVault fresh = new YieldVault(IERC20(address(USDC)), "vault", "V", 6);
        law.vault = address(fresh);
        law.navBps = 1_000;
        law.navCap = MOST;
        law.spendCap = 1 << 34;
        _holder = actor("holder").account;
        vm.prank(FAUCET);
        USDC.mint(_holder, 1_000_000e6);
        vm.prank(_holder);
        USDC.approve(address(fresh), type(uint256).max);
        vm.prank(_holder);
        fresh.deposit(1_000e6, _holder);
    }

    function test_without_a_checkpoint_the_cap_stands_alone() public {
        refuses(_tooMuch(MOST + 1, MOST), ROUTER_02, swap(MOST + 1));

        accepts(ROUTER_02, swap(MOST));
    }

    function test_a_checkpoint_counts_from_its_3600th_second() public {
        accepts(ROUTER_02, swap(1e6));
        vm.assertEq(
            charterEnforcer.navCheckpointsOf(address(MANAGER), account, law.golemId, law.vault),
            uint256(NOW) << 88 | 1_000e6,
            "checkpoint"
        );

        vm.warp(NOW + 3_599);
        refuses(_tooMuch(MOST + 1, MOST), ROUTER_02, swap(MOST + 1));
        accepts(ROUTER_02, swap(MOST));

        vm.warp(NOW + 3_600);
        refuses(_tooMuch(SHARE + 1, SHARE), ROUTER_02, swap(SHARE + 1));
        accepts(ROUTER_02, swap(SHARE));
    }

    /// @dev A refused execution leaves no checkpoint behind.
    function test_only_what_was_accepted_makes_a_checkpoint() public {
        refuses(_tooMuch(MOST + 1, MOST), ROUTER_02, swap(MOST + 1));

        vm.assertEq(
            charterEnforcer.navCheckpointsOf(address(MANAGER), account, law.golemId, law.vault),
            0,
            "none"
        );
    }

    function test_what_spends_nothing_asks_no_vault() public {
        law.vault = actor("no vault").account;

        accepts(address(USDC), transfer(human.account, 10_000e6));
        refuses("", ROUTER_02, swap(1e6));
    }

    function test_deposits_and_liquidity_are_bound_too() public {
        _settle();

        refuses(_tooMuch(SHARE + 1, SHARE), vault, deposit(SHARE + 1, account));
        accepts(vault, deposit(SHARE, account));
        refuses(_tooMuch(SHARE + 1, SHARE), POSITIONS, mintPosition(0.02e18, 50e6 + 1, account));
        accepts(POSITIONS, mintPosition(0.02e18, 50e6, account));
    }

    function test_a_batch_counts_as_a_sum() public {
        _settle();

        refuses(
            _tooMuch(SHARE + 1, SHARE),
            list(call(ROUTER_02, swap(SHARE / 2)), call(ROUTER_02, swap(SHARE / 2 + 1)))
        );
        accepts(list(call(ROUTER_02, swap(SHARE / 2)), call(ROUTER_02, swap(SHARE / 2))));
    }

    /// @dev ATK-27.
    function test_a_donation_gains_nothing_for_an_hour() public {
        _settle();
        vm.prank(_holder);
        vm.assertTrue(USDC.transfer(law.vault, 100_000e6), "donated");

        refuses(_tooMuch(SHARE + 1, SHARE), ROUTER_02, swap(SHARE + 1));
        // The next checkpoint is made now, with the donation in it.
        accepts(ROUTER_02, swap(SHARE));
        vm.warp(NOW + 7_199);
        refuses(_tooMuch(SHARE + 1, SHARE), ROUTER_02, swap(SHARE + 1));
        vm.warp(NOW + 7_200);
        accepts(ROUTER_02, swap(MOST));
        refuses(_tooMuch(MOST + 1, MOST), ROUTER_02, swap(MOST + 1));
    }

    /// @dev ATK-27: filled, used and emptied in one transaction.
    function test_a_flash_deposit_gains_nothing() public {
        Puppet puppet = _puppet();
        _settleAs(address(puppet));
        Delegation memory leaf = grant(home(), law);
        Execution[] memory over = _flash(puppet, leaf, SHARE + 1);
        Execution[] memory good = _flash(puppet, leaf, SHARE);

        vm.expectRevert(_tooMuch(SHARE + 1, SHARE));
        puppet.run(over);
        puppet.run(good);
    }

    /// @dev The limit of D31: a checkpoint is one moment, and two moments can be filled. What is gained
    ///      ends at the absolute cap, which is what an owner may rely on against a thief.
    function test_two_flash_deposits_an_hour_apart_gain_the_cap_and_no_more() public {
        Puppet puppet = _puppet();
        Delegation memory leaf = grant(home(), law);
        puppet.run(_flash(puppet, leaf, 1e6));
        vm.warp(NOW + 3_600);
        Execution[] memory over = _flash(puppet, leaf, MOST + 1);
        Execution[] memory most = _flash(puppet, leaf, MOST);

        vm.expectRevert(_tooMuch(MOST + 1, MOST));
        puppet.run(over);
        puppet.run(most);
    }

    function test_a_drained_vault_lowers_the_limit_at_once() public {
        _settle();
        vm.prank(_holder);
        IVault(law.vault).withdraw(600e6, _holder, _holder);

        refuses(_tooMuch(40e6 + 1, 40e6), ROUTER_02, swap(40e6 + 1));
        accepts(ROUTER_02, swap(40e6));
    }

    function test_without_a_vault_the_cap_stands_alone_for_ever() public {
        law.vault = address(0);
        _settle();

        refuses(_tooMuch(MOST + 1, MOST), ROUTER_02, swap(MOST + 1));
        accepts(ROUTER_02, swap(MOST));
    }

    function test_two_vaults_do_not_share_checkpoints() public {
        address first = law.vault;
        _settle();

        law.vault = vault;
        refuses(_tooMuch(MOST + 1, MOST), ROUTER_02, swap(MOST + 1));
        accepts(ROUTER_02, swap(MOST));

        law.vault = first;
        refuses(_tooMuch(SHARE + 1, SHARE), ROUTER_02, swap(SHARE + 1));
    }

    /// @dev D17: a grant signed anew does not shed what the vault was.
    function test_checkpoints_outlive_a_grant() public {
        _settle();
        law.epoch = 2;

        refuses(_tooMuch(SHARE + 1, SHARE), ROUTER_02, swap(SHARE + 1));
    }

    function test_a_vault_of_an_unlisted_asset_is_refused_once_it_counts() public {
        law.vault = address(new YieldVault(IERC20(address(witness)), "other", "O", 0));
        vm.etch(address(witness), address(USDC).code);
        accepts(ROUTER_02, swap(1e6));

        vm.warp(NOW + 3_600);
        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(witness)),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_a_share_of_nothing_allows_nothing_once_it_counts() public {
        law.navBps = 0;
        _settle();

        refuses(_tooMuch(1e6, 0), ROUTER_02, swap(1e6));
    }

    /// @dev D18.
    function test_terminal_is_exempt() public {
        _settle();
        advanceTo(4);

        accepts(ROUTER_02, sellWeth(1e18, 2_475e6, account));
    }

    /// @dev A thief's contract with money for a moment, as the agent's key.
    function _puppet() private returns (Puppet puppet) {
        puppet = new Puppet();
        vm.prank(FAUCET);
        USDC.mint(address(puppet), 1_000_000e6);
        vm.prank(address(puppet));
        USDC.approve(law.vault, type(uint256).max);
        law.agentKey = address(puppet);
    }

    /// @dev Fill the vault, swap, empty it.
    function _flash(Puppet puppet, Delegation memory leaf, uint256 amount)
        private
        view
        returns (Execution[] memory)
    {
        address thief = address(puppet);
        uint256 money = USDC.balanceOf(thief);
        return list(
            call(law.vault, abi.encodeCall(IVault.deposit, (money, thief))),
            redemption(leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(amount))),
            // Less what rounding may keep.
            call(law.vault, abi.encodeCall(IVault.withdraw, (money - 1e6, thief, thief)))
        );
    }

    /// @dev An hour after its first checkpoint.
    function _settle() private {
        _settleAs(agent.account);
    }

    function _settleAs(address redeemer) private {
        Delegation memory leaf = grant(home(), law);
        redeem(redeemer, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)));
        vm.warp(NOW + 3_600);
    }

    function _tooMuch(uint256 value, uint256 most) private pure returns (bytes memory) {
        return abi.encodeWithSelector(VaultNav.VaultNav_TooMuch.selector, value, most);
    }
}

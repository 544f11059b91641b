// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {YieldVault} from "../../local/YieldVault.sol";
import {VaultNAVEnforcer} from "../../src/enforcers/VaultNAVEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IToken, IVault} from "../../src/interfaces/ITokens.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {NavBound, VaultNav} from "../../src/rules/VaultNav.sol";
import {OneTransaction, PricedEnforcerTest} from "./EnforcerTest.sol";

contract VaultNAVEnforcerTest is PricedEnforcerTest {
    uint64 private constant CAP = 500e6;

    VaultNAVEnforcer private _nav;

    function setUp() public override {
        super.setUp();
        _nav = new VaultNAVEnforcer();
        enforcer = _nav;
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(law.golemId, law.vault, law.navBps, law.navCap, listing(law));
    }

    function header() internal pure override returns (uint256) {
        return 62;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return
            abi.encodeWithSelector(
                VaultNAVEnforcer.VaultNAVEnforcer_TermsLength.selector, 62, actual
            );
    }

    function bad() internal view override returns (Execution memory) {
        return sell(CAP + 1);
    }

    function reason() internal pure override returns (bytes memory) {
        return _tooMuch(CAP + 1, CAP);
    }

    function reasonOfBatch() internal pure override returns (bytes memory) {
        return _tooMuch(SOLD + CAP + 1, CAP);
    }

    // The cap

    function test_without_a_checkpoint_the_cap_stands_alone() public {
        refuses(_tooMuch(CAP + 1, CAP), sell(CAP + 1));
        accepts(sell(CAP));
        // One execution is bound, not what several are together.
        accepts(sell(CAP));
    }

    function test_without_a_vault_the_cap_stands_alone() public {
        law.vault = address(0);
        law.navBps = 0;
        accepts(sell(CAP));
        vm.warp(NOW + 1 days);
        accepts(sell(CAP));
        refuses(_tooMuch(CAP + 1, CAP), sell(CAP + 1));

        vm.assertEq(_checkpoints(address(0)), 0, "nothing is kept");
    }

    function test_a_batch_counts_as_a_sum() public {
        refuses(_tooMuch(CAP + 1, CAP), two(sell(200e6), sell(CAP - 200e6 + 1)));
        accepts(two(sell(200e6), sell(CAP - 200e6)));
    }

    function test_swaps_liquidity_and_deposits_are_bound() public {
        uint256 id = position();
        refuses(_tooMuch(CAP + 1, CAP), addLiquidity(CAP + 1));
        refuses(_tooMuch(CAP + 1, CAP), increase(id, CAP + 1));
        refuses(_tooMuch(CAP + 1, CAP), deposit(CAP + 1));
        accepts(addLiquidity(CAP));
        accepts(increase(id, CAP));
        accepts(deposit(CAP));
    }

    function test_minted_shares_are_bound_by_what_they_cost() public {
        uint256 shares = 100e12;
        uint256 assets = IVault(vault).previewMint(shares);
        Execution memory call =
            Execution(vault, 0, abi.encodeCall(IVault.mint, (shares, law.account)));

        // forge-lint: disable-next-line(unsafe-typecast)
        law.navCap = uint64(assets) - 1;
        refuses(_tooMuch(assets, assets - 1), call);
        law.navCap += 1;
        accepts(call);
    }

    // The share

    /// @dev SPEC D31.
    function test_a_checkpoint_counts_from_an_hour_on() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 3599);
        accepts(sell(share + SOLD));
        vm.assertEq(_checkpoints(vault) >> 128, 0, "no second checkpoint yet");

        vm.warp(NOW + 3600);
        refuses(_tooMuch(share + 1, share), sell(share + 1));
        accepts(sell(share));

        uint256 assets = IVault(vault).totalAssets();
        uint256 first = uint256(NOW) << 88 | assets;
        uint256 second = uint256(NOW + 3600) << 88 | assets;
        vm.assertEq(_checkpoints(vault), first << 128 | second, "two checkpoints");
    }

    function test_a_vault_that_loses_lowers_the_limit_at_once() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        uint256 assets = IVault(vault).totalAssets();
        _lose(assets / 2);
        uint256 half = (assets - assets / 2) * law.navBps / 10_000;
        vm.assertTrue(half < share, "less");

        refuses(_tooMuch(half + 1, half), sell(half + 1));
        accepts(sell(half));
    }

    function test_an_empty_vault_allows_nothing() public {
        _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        uint256 assets = IVault(vault).totalAssets();
        _lose(assets);

        refuses(_tooMuch(SOLD, 0), sell(SOLD));
        accepts(callOf(Class.Approve, 0));
    }

    /// @dev The newest that has settled, though an older one was larger.
    function test_of_two_checkpoints_the_newest_settled_one_counts() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 1 hours);
        uint256 assets = IVault(vault).totalAssets();
        _lose(assets / 2);
        accepts(sell(SOLD));
        vm.prank(FAUCET);
        USDC.mint(vault, assets);

        vm.warp(NOW + 2 hours - 1);
        refuses(_tooMuch(share + 1, share), sell(share + 1));
        vm.warp(NOW + 2 hours);
        uint256 half = (assets - assets / 2) * law.navBps / 10_000;
        refuses(_tooMuch(half + 1, half), sell(half + 1));
        accepts(sell(half));
    }

    // Moved in the same transaction

    /// @dev ATK-27: filled for a moment, a vault is no larger than it was.
    function test_a_vault_filled_in_the_same_transaction_raises_nothing() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        OneTransaction thief = _thief();
        Delegation memory leaf = root(me(), address(thief), only(address(enforcer), terms()));
        OneTransaction.Step[] memory steps = new OneTransaction.Step[](2);
        steps[0] = _fill(1_000_000_000e6);
        steps[1] = redemption(leaf, sell(share + 1));

        vm.expectRevert(
            abi.encodeWithSelector(
                OneTransaction.OneTransaction_Failed.selector, 1, _tooMuch(share + 1, share)
            )
        );
        thief.run(steps);
        steps[1] = redemption(leaf, sell(share));
        thief.run(steps);
    }

    /// @dev ATK-27: nor by a deposit, which could be taken out again.
    function test_a_deposit_in_the_same_transaction_raises_nothing() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        OneTransaction thief = _thief();
        Delegation memory leaf = root(me(), address(thief), only(address(enforcer), terms()));
        OneTransaction.Step[] memory steps = new OneTransaction.Step[](3);
        steps[0] = OneTransaction.Step(
            address(USDC), abi.encodeCall(IToken.approve, (vault, type(uint256).max))
        );
        steps[1] = OneTransaction.Step(
            vault, abi.encodeCall(IVault.deposit, (1_000_000_000e6, address(thief)))
        );
        steps[2] = redemption(leaf, sell(share + 1));

        vm.expectRevert(
            abi.encodeWithSelector(
                OneTransaction.OneTransaction_Failed.selector, 2, _tooMuch(share + 1, share)
            )
        );
        thief.run(steps);
    }

    /// @dev A checkpoint made while the vault is full for a moment: an hour later it is small again,
    ///      and the lesser counts.
    function test_a_checkpoint_of_a_full_moment_raises_nothing() public {
        uint256 share = _small();
        vm.prank(FAUCET);
        USDC.mint(vault, 1_000_000_000e6);
        accepts(sell(SOLD));
        _lose(1_000_000_000e6);

        vm.warp(NOW + 1 hours);
        refuses(_tooMuch(share + 1, share), sell(share + 1));
    }

    /// @dev Filled both times, the fixed amount is what remains.
    function test_however_full_a_vault_is_the_cap_holds() public {
        vm.prank(FAUCET);
        USDC.mint(vault, 1_000_000_000e6);
        accepts(sell(SOLD));
        vm.warp(NOW + 1 hours);

        refuses(_tooMuch(CAP + 1, CAP), sell(CAP + 1));
        accepts(sell(CAP));
    }

    // Who shares, and who does not

    function test_checkpoints_of_one_vault_are_not_anothers() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        refuses(_tooMuch(share + 1, share), sell(share + 1));

        law.vault = address(new YieldVault(IERC20(address(USDC)), "other", "other", 6));
        accepts(sell(share + SOLD));
        vm.assertEq(_checkpoints(law.vault), uint256(NOW + 2 hours) << 88, "empty, and kept so");
    }

    function test_checkpoints_of_one_golem_are_not_anothers() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        refuses(_tooMuch(share + 1, share), sell(share + 1));

        law.golemId = keccak256("another Golem");
        accepts(sell(share + SOLD));
    }

    function test_checkpoints_of_one_owner_are_not_anothers() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        (bytes32 golemId, uint16 bps, uint64 cap) = (law.golemId, law.navBps, law.navCap);
        vm.warp(NOW + 2 hours);

        Owner memory other = hybridOwner();
        law = golemOf(other);
        (law.golemId, law.navBps, law.navCap) = (golemId, bps, cap);
        Delegation memory leaf = given(other);
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(share + SOLD)));
    }

    /// @dev A re-grant sheds no checkpoint.
    function test_two_delegations_for_one_golem_share_checkpoints() public {
        uint256 share = _small();
        accepts(sell(SOLD));
        vm.warp(NOW + 2 hours);
        law.tokens = bytes.concat(law.tokens, token(address(1), usdcUsd, 6));

        refuses(_tooMuch(share + 1, share), sell(share + 1));
    }

    /// @dev ATK-01: a stranger's call makes checkpoints of his own, full or empty.
    function test_two_managers_do_not_share() public {
        uint256 share = _small();
        address stranger = actor("stranger").account;
        vm.prank(stranger);
        hook(terms(), SINGLE_DEFAULT, packed(sell(SOLD)));

        vm.assertEq(_checkpoints(vault), 0, "the manager's");
        vm.assertTrue(
            _nav.navCheckpointsOf(stranger, law.account, law.golemId, vault) != 0, "his own"
        );
        vm.warp(NOW + 2 hours);
        accepts(sell(share + SOLD));
    }

    function testFuzz_a_strangers_direct_call_writes_one_slot_under_his_address(address stranger)
        public
    {
        vm.assume(stranger != address(vm) && stranger != address(MANAGER));
        bytes memory made = terms();
        bytes memory execution = packed(sell(SOLD));
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, stranger);

        (, bytes32[] memory writes) = vm.accesses(address(enforcer));
        bytes32 slot = keccak256(abi.encode(stranger, uint256(0)));
        slot = keccak256(abi.encode(law.account, slot));
        slot = keccak256(abi.encode(law.golemId, slot));
        slot = keccak256(abi.encode(vault, slot));
        vm.assertEq(writes.length, 1, "slots written");
        vm.assertEq(writes[0], slot, "his own");
    }

    // What is not bound

    /// @dev SPEC D26: with a cap of nothing and no token listed.
    function test_other_classes_pass() public {
        uint256 id = position();
        law.navCap = 0;
        unprice();
        for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
            if (isUnmeasured(Class(class))) {
                hook(terms(), SINGLE_DEFAULT, packed(callOf(Class(class), id)));
            }
        }
        accepts(callOf(Class.Transfer, 0));
        vm.assertEq(_checkpoints(vault), 0, "and are no reason for a checkpoint");
    }

    function test_a_vault_that_does_not_answer_is_asked_only_where_value_leaves() public {
        law.vault = address(0xdead);
        accepts(callOf(Class.Transfer, 0));
        refuses("", sell(SOLD));
    }

    function test_liquidity_taken_back_passes() public {
        uint256 id = position();
        law.navCap = 0;
        accepts(removeLiquidity(id));
    }

    /// @dev SPEC D18, D26: liquidity taken back sends nothing out, so there is nothing to be priced.
    function test_liquidity_taken_back_needs_no_feed() public {
        uint256 id = position();
        vm.warp(NOW + 60 days);
        accepts(removeLiquidity(id));
    }

    // Terms

    function test_a_share_beyond_the_whole_is_refused() public {
        law.navBps = 10_001;
        refuses(abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, 10_001), good());
        refuses(
            abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, 10_001),
            callOf(Class.Transfer, 0)
        );
        law.navBps = 10_000;
        accepts(good());
    }

    function test_a_cap_of_nothing_allows_nothing() public {
        law.navCap = 0;
        refuses(_tooMuch(SOLD, 0), sell(SOLD));
    }

    function testFuzz_the_terms_are_read_back(bytes32 golemId, address at, uint16 bps, uint64 cap)
        public
    {
        bytes memory listed = listing(law);
        bytes memory made = abi.encodePacked(golemId, at, bps, cap, listed);

        if (bps > 10_000) {
            vm.expectRevert(abi.encodeWithSelector(VaultNav.VaultNav_Bps.selector, bps));
        }
        (bytes32 id, NavBound memory bound, bytes memory rest) = _nav.getTermsInfo(made);
        if (bps > 10_000) return;

        vm.assertEq(id, golemId, "golemId");
        vm.assertEq(bound.vault, at, "vault");
        vm.assertEq(bound.bps, bps, "bps");
        vm.assertEq(bound.cap, cap, "cap");
        vm.assertEq(rest, listed, "listing");
    }

    // Helpers

    function _lose(uint256 amount) private {
        vm.prank(vault);
        vm.assertTrue(USDC.transfer(address(0xdead), amount), "lost");
    }

    /// @dev A share of the vault that is worth less than the cap, and more than nothing.
    function _small() private returns (uint256 share) {
        uint256 assets = IVault(vault).totalAssets();
        if (assets < 100_000e6) {
            vm.prank(FAUCET);
            USDC.mint(vault, 100_000e6 - assets);
            assets = 100_000e6;
        }
        law.navBps = 10;
        law.navCap = type(uint64).max;
        share = assets / 1000;
        vm.prank(FAUCET);
        USDC.mint(law.account, 10 * share);
    }

    function _thief() private returns (OneTransaction thief) {
        thief = new OneTransaction();
        vm.prank(FAUCET);
        USDC.mint(address(thief), 2_000_000_000e6);
    }

    function _fill(uint256 amount) private view returns (OneTransaction.Step memory) {
        return OneTransaction.Step(address(USDC), abi.encodeCall(IToken.transfer, (vault, amount)));
    }

    function _checkpoints(address of_) private view returns (uint256) {
        return _nav.navCheckpointsOf(address(MANAGER), law.account, law.golemId, of_);
    }

    function _tooMuch(uint256 value, uint256 most) private pure returns (bytes memory) {
        return abi.encodeWithSelector(VaultNav.VaultNav_TooMuch.selector, value, most);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {ISwapRouter} from "../../src/interfaces/IUniswapV3.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Actions, Class, Role} from "../../src/rules/Actions.sol";
import {Positions} from "../../src/rules/Positions.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice Which targets, and for whom: recipients, sources, spenders.
contract GolemCharterPartiesTest is CharterCalls {
    address private constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;

    address private _thief;

    function setUp() public override {
        super.setUp();
        _thief = actor("thief").account;
    }

    // Targets

    function test_a_target_that_the_owner_did_not_name_is_refused() public {
        refuses(_unknownTarget(address(witness)), address(witness), abi.encodePacked(bytes4(0)));
        refuses(_unknownTarget(_thief), SINGLE_DEFAULT, paid(_thief, 1, ""));
    }

    /// @dev ATK-14: not even where the owner named them, by whatever role.
    function test_account_manager_and_charter_are_nobodys_targets() public {
        address[3] memory never = [account, address(MANAGER), address(charterEnforcer)];
        bytes memory targets = law.targets;
        for (uint256 i = 0; i < never.length; i++) {
            law.targets = targets;
            refuses(_unknownTarget(never[i]), never[i], transfer(human.account, 1));

            law.targets = bytes.concat(targets, target(never[i], Role.Token));
            refuses(_forbidden(never[i]), never[i], transfer(human.account, 1));

            law.targets = bytes.concat(targets, target(never[i], Role.Vault));
            refuses(_forbidden(never[i]), never[i], deposit(1, account));

            law.targets = bytes.concat(targets, target(never[i], Role.Registry));
            refuses(
                _forbidden(never[i]),
                never[i],
                abi.encodeCall(IGolemRegistry.heartbeat, (law.golemId, ""))
            );
        }
    }

    /// @dev ATK-14: nor as a key to top up, which would be a call of the account to itself.
    function test_an_agent_key_that_is_the_account_gets_no_gas_money() public {
        law.agentKey = account;
        law.flags = 1;
        law.targets = bytes.concat(law.targets, target(account, Role.AgentKey));
        Delegation memory leaf = root(home(), agent.account, grant(home(), law).caveats);

        vm.expectRevert(_forbidden(account));
        redeem(agent.account, leaf, SINGLE_DEFAULT, paid(account, 1, ""));
    }

    function test_the_registry_is_there_to_publish_and_for_nothing_else() public {
        law.targets = target(address(registry), Role.Token);
        refuses(_forbidden(address(registry)), address(registry), transfer(human.account, 1));

        law.targets = target(address(registry), Role.Lifecycle);
        refuses(
            _forbidden(address(registry)),
            address(registry),
            abi.encodeCall(IGolemLifecycle.spawnReplicant, (law.golemId, _thief, ""))
        );
    }

    /// @dev Only the attached key publishes; where the account is that key, it does.
    function test_an_account_that_is_its_golems_agent_publishes() public {
        vm.prank(human.account);
        registry.attach(law.golemId, account);

        accepts(
            address(registry),
            abi.encodeCall(IGolemRegistry.updateVitality, (law.golemId, 1, 7_000))
        );

        (uint8 phase, uint16 score,) = registry.vitalityOf(law.golemId);
        vm.assertEq(phase, 1, "phase");
        vm.assertEq(score, 7_000, "score");
    }

    /// @dev ATK-14: a 7702 account whose EOA is the owner would speak to the registry with his voice.
    function test_an_owners_calls_on_the_registry_are_refused_to_his_own_account() public {
        Owner memory from = stateless7702Owner();
        law = golem(from);
        law.targets = bytes.concat(law.targets, target(address(registry), Role.Registry));
        vm.assertEq(registry.ownerOf(law.golemId), from.account, "the account is the owner");
        bytes[8] memory calls = [
            abi.encodeCall(IGolemRegistry.register, ("more", _thief)),
            abi.encodeCall(IGolemRegistry.attach, (law.golemId, _thief)),
            abi.encodeCall(IGolemRegistry.detach, (law.golemId)),
            abi.encodeCall(IGolemRegistry.advance, (law.golemId, 1)),
            abi.encodeCall(IGolemRegistry.feed, (law.golemId, 0)),
            abi.encodeCall(IGolemRegistry.revoke, (law.golemId)),
            abi.encodeCall(IGolemRegistry.revokeAll, ()),
            abi.encodeCall(IGolemRegistry.deregister, (law.golemId))
        ];
        Delegation memory leaf = grant(from, law);
        for (uint256 i = 0; i < calls.length; i++) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    Actions.Actions_UnknownCall.selector, address(registry), bytes4(calls[i])
                )
            );
            act(leaf, address(registry), calls[i]);
        }
    }

    // Another Golem

    function test_calls_about_another_golem_are_refused() public {
        vm.prank(human.account);
        bytes32 other = registry.register("other", agent.account);
        bytes memory reason = abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_OtherGolem.selector, other, law.golemId
        );
        address book = address(registry);

        refuses(reason, book, abi.encodeCall(IGolemRegistry.updateVitality, (other, 1, 1)));
        refuses(reason, book, abi.encodeCall(IGolemRegistry.setDreaming, (other, true)));
        refuses(reason, book, abi.encodeCall(IGolemRegistry.updatePad, (other, 1, 1, 1)));
        refuses(reason, book, abi.encodeCall(IGolemRegistry.heartbeat, (other, "")));
        refuses(reason, book, abi.encodeCall(IGolemRegistry.close, (other)));
        refuses(
            reason,
            address(lifecycle),
            abi.encodeCall(IGolemLifecycle.spawnReplicant, (other, _thief, ""))
        );

        accepts(
            address(lifecycle),
            abi.encodeCall(IGolemLifecycle.spawnReplicant, (law.golemId, _thief, ""))
        );
        vm.assertEq(lifecycle.spawned(law.golemId), 1, "its own child");

        advanceTo(4);
        refuses(reason, address(lifecycle), abi.encodeCall(IGolemLifecycle.settle, (other, "")));
        accepts(
            address(lifecycle), abi.encodeCall(IGolemLifecycle.settle, (law.golemId, "manifest"))
        );
        vm.assertEq(lifecycle.settled(law.golemId), 1, "its own end");
    }

    // Swaps: ATK-29

    function test_a_swap_to_anybody_but_the_account_is_refused() public {
        address[4] memory others = [_thief, agent.account, human.account, ROUTER_02];
        for (uint256 i = 0; i < others.length; i++) {
            refuses(
                wrongRecipient(others[i], account),
                ROUTER_02,
                sellUsdc(1e6, atTheBound(1e6), others[i])
            );
            refuses(wrongRecipient(others[i], account), router, _oldRouter(others[i]));
        }
        accepts(router, _oldRouter(account));
    }

    /// @dev D29.
    function test_a_routers_words_for_itself_and_its_caller_are_refused() public {
        for (uint160 word = 0; word <= 2; word++) {
            refuses(
                _sentinel(ROUTER_02, word), ROUTER_02, sellUsdc(1e6, atTheBound(1e6), address(word))
            );
            refuses(_sentinel(router, word), router, _oldRouter(address(word)));
        }
        refuses(
            wrongRecipient(address(3), account),
            ROUTER_02,
            sellUsdc(1e6, atTheBound(1e6), address(3))
        );
    }

    /// @dev D29: an amount of zero is "all there is".
    function test_a_swap_of_all_there_is_is_refused() public {
        refuses(_sentinel(ROUTER_02, 0), ROUTER_02, sellUsdc(0, 0, account));
    }

    /// @dev D29: the hook's delegator is the link's; the charter names the account. A law that names
    ///      another account than the one that executes lets nothing of the executor's go to it.
    function test_the_recipient_is_the_account_of_the_law_not_the_delegator() public {
        law.account = human.account;

        refuses(wrongRecipient(account, human.account), ROUTER_02, swap(1e6));
    }

    // Vaults

    function test_a_deposit_for_anybody_but_the_account_is_refused() public {
        refuses(wrongRecipient(_thief, account), vault, deposit(1e6, _thief));
        refuses(wrongRecipient(human.account, account), vault, deposit(1e6, human.account));
        refuses(wrongRecipient(_thief, account), vault, abi.encodeCall(IVault.mint, (1e12, _thief)));

        accepts(vault, deposit(1e6, account));
        accepts(vault, abi.encodeCall(IVault.mint, (1e6, account)));
    }

    function test_a_withdrawal_to_anybody_but_the_account_is_refused() public {
        accepts(vault, deposit(100e6, account));

        refuses(
            wrongRecipient(_thief, account),
            vault,
            abi.encodeCall(IVault.withdraw, (1e6, _thief, account))
        );
        refuses(
            wrongRecipient(human.account, account),
            vault,
            abi.encodeCall(IVault.redeem, (1e6, human.account, account))
        );

        accepts(vault, abi.encodeCall(IVault.withdraw, (1e6, account, account)));
        accepts(vault, abi.encodeCall(IVault.redeem, (1e6, account, account)));
    }

    function test_shares_of_others_than_the_account_are_not_used() public {
        bytes memory reason = abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_Source.selector, _thief, account
        );

        refuses(reason, vault, abi.encodeCall(IVault.withdraw, (1e6, account, _thief)));
        refuses(reason, vault, abi.encodeCall(IVault.redeem, (1e6, account, _thief)));
    }

    // Positions: ATK-45

    function test_a_position_is_minted_for_the_account_only() public {
        refuses(wrongRecipient(_thief, account), POSITIONS, mintPosition(0.01e18, 25e6, _thief));
        for (uint160 word = 0; word <= 2; word++) {
            refuses(
                _sentinel(POSITIONS, word), POSITIONS, mintPosition(0.01e18, 25e6, address(word))
            );
        }

        accepts(POSITIONS, mintPosition(0.01e18, 25e6, account));
    }

    function test_a_strangers_position_is_neither_grown_nor_touched() public {
        (uint256 id,) = openPosition(_thief);
        bytes memory reason =
            abi.encodeWithSelector(Positions.Positions_NotOwned.selector, id, _thief, account);

        refuses(reason, POSITIONS, increase(id, 0.01e18, 25e6));
        refuses(reason, POSITIONS, decrease(id, 1));
        refuses(reason, POSITIONS, collect(id, account));
        refuses(reason, POSITIONS, burn(id));
    }

    /// @dev The owner's own EOA is a stranger to the account as well.
    function test_a_position_of_the_owner_is_not_the_accounts() public {
        (uint256 id,) = openPosition(human.account);

        refuses(
            abi.encodeWithSelector(
                Positions.Positions_NotOwned.selector, id, human.account, account
            ),
            POSITIONS,
            increase(id, 0.01e18, 25e6)
        );
    }

    /// @dev A position that is none: the real manager says so.
    function test_a_position_that_does_not_exist_is_refused() public {
        bytes memory reason =
            abi.encodeWithSignature("Error(string)", "ERC721: owner query for nonexistent token");

        refuses(reason, POSITIONS, increase(999_999, 1, 1));
        refuses(reason, POSITIONS, decrease(999_999, 1));
        refuses(reason, POSITIONS, collect(999_999, account));
        refuses(wrongRecipient(address(0), account), POSITIONS, increase(0, 1, 1));
    }

    function test_the_accounts_own_position_grows_shrinks_pays_and_ends() public {
        (uint256 id, uint128 liquidity) = openPosition(account);
        uint256 before = USDC.balanceOf(account);

        accepts(POSITIONS, increase(id, 0.01e18, 25e6));
        accepts(POSITIONS, decrease(id, liquidity / 2));
        accepts(POSITIONS, collect(id, account));

        vm.assertTrue(USDC.balanceOf(account) > before, "collected to the account");
    }

    function test_what_a_position_pays_goes_to_the_account() public {
        (uint256 id,) = openPosition(account);

        refuses(wrongRecipient(_thief, account), POSITIONS, collect(id, _thief));
        refuses(wrongRecipient(human.account, account), POSITIONS, collect(id, human.account));
        refuses(_sentinel(POSITIONS, 0), POSITIONS, collect(id, address(0)));
    }

    /// @dev `approve` of a position has the selector of a token's, and is no call of a manager here.
    function test_a_position_is_neither_approved_nor_transferred() public {
        (uint256 id,) = openPosition(account);
        bytes[4] memory calls = [
            abi.encodeWithSignature("approve(address,uint256)", _thief, id),
            abi.encodeWithSignature("setApprovalForAll(address,bool)", _thief, true),
            abi.encodeWithSignature("transferFrom(address,address,uint256)", account, _thief, id),
            abi.encodeWithSignature(
                "safeTransferFrom(address,address,uint256)", account, human.account, id
            )
        ];
        for (uint256 i = 0; i < calls.length; i++) {
            refuses(_unknownCall(POSITIONS, calls[i]), POSITIONS, calls[i]);
        }
    }

    // Transfers

    function test_a_transfer_goes_to_the_beneficiary_only() public {
        address[4] memory others = [_thief, agent.account, account, ROUTER_02];
        for (uint256 i = 0; i < others.length; i++) {
            refuses(wrongRecipient(others[i], human.account), address(USDC), transfer(others[i], 1));
        }

        accepts(address(USDC), transfer(human.account, 10_000e6));
        vm.assertEq(USDC.balanceOf(human.account), 10_000e6, "swept");
        vm.assertEq(spendWord() & ((1 << 195) - 1), 0, "not a spend");
    }

    function test_a_beneficiary_other_than_the_owner_gets_the_sweeps() public {
        address heir = actor("heir").account;
        law.beneficiary = heir;

        refuses(wrongRecipient(human.account, heir), address(USDC), transfer(human.account, 1));
        accepts(address(USDC), transfer(heir, 1));
        accepts(address(WETH), transfer(heir, 1));
        accepts(vault, deposit(1e6, account));
        accepts(vault, transfer(heir, 1));
    }

    function test_tokens_of_others_than_the_account_are_not_pulled() public {
        address victim = actor("victim").account;
        fund(victim);
        vm.prank(victim);
        USDC.approve(account, type(uint256).max);

        refuses(
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_Source.selector, victim, account
            ),
            address(USDC),
            abi.encodeCall(IToken.transferFrom, (victim, human.account, 1))
        );
        refuses(
            wrongRecipient(_thief, human.account),
            address(USDC),
            abi.encodeCall(IToken.transferFrom, (account, _thief, 1))
        );

        vm.prank(account);
        USDC.approve(account, 1);
        accepts(address(USDC), abi.encodeCall(IToken.transferFrom, (account, human.account, 1)));
    }

    // Approvals: D28, ATK-20

    function test_spenders_that_pull_from_their_caller_alone_are_approved() public {
        address[4] memory good = [ROUTER_02, router, POSITIONS, vault];
        for (uint256 i = 0; i < good.length; i++) {
            accepts(address(USDC), approve(good[i], 7));
            vm.assertEq(USDC.allowance(account, good[i]), 7, "allowance");
            accepts(address(WETH), approve(good[i], type(uint256).max));
            vm.assertEq(WETH.allowance(account, good[i]), type(uint256).max, "without end");
        }
        vm.assertEq(spent(), 0, "not counted as spend");
    }

    function test_every_other_spender_is_refused() public {
        address[8] memory bad = [
            PERMIT2,
            _thief,
            human.account,
            agent.account,
            address(USDC),
            address(WETH),
            address(registry),
            address(lifecycle)
        ];
        for (uint256 i = 0; i < bad.length; i++) {
            refuses(_spender(address(USDC), bad[i]), address(USDC), approve(bad[i], 1));
            refuses(
                _spender(address(WETH), bad[i]), address(WETH), approve(bad[i], type(uint256).max)
            );
            refuses(_spender(vault, bad[i]), vault, approve(bad[i], 1));
        }
    }

    /// @dev Naming it with another role does not make it a spender.
    function test_permit2_is_refused_whatever_role_but_four_it_has() public {
        bytes memory targets = law.targets;
        Role[7] memory roles = [
            Role.None,
            Role.Token,
            Role.Weth,
            Role.Lifecycle,
            Role.AgentKey,
            Role.Registry,
            Role.Market
        ];
        for (uint256 i = 0; i < roles.length; i++) {
            law.targets = bytes.concat(targets, target(PERMIT2, roles[i]));
            refuses(_spender(address(USDC), PERMIT2), address(USDC), approve(PERMIT2, 1));
        }
    }

    function test_a_right_to_pull_that_is_no_approve_is_refused() public {
        bytes memory more = abi.encodeCall(IToken.increaseAllowance, (ROUTER_02, 1));
        bytes memory permit =
            abi.encodeCall(IToken.permit, (account, ROUTER_02, 1, DEADLINE, 27, "", ""));
        address[3] memory tokens = [address(USDC), address(WETH), vault];
        for (uint256 i = 0; i < tokens.length; i++) {
            refuses(_hidden(tokens[i], more), tokens[i], more);
            refuses(_hidden(tokens[i], permit), tokens[i], permit);
        }
    }

    /// @dev EIP-3009 is a way around the budget too.
    function test_an_authorization_of_eip_3009_is_refused() public {
        bytes memory data = abi.encodeWithSignature(
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            account,
            _thief,
            1,
            0,
            DEADLINE,
            "",
            ""
        );

        refuses(_unknownCall(address(USDC), data), address(USDC), data);
    }

    function test_an_approval_of_zero_is_allowed_to_anybody_also_in_terminal() public {
        vm.prank(account);
        USDC.approve(PERMIT2, 5);
        vm.prank(account);
        USDC.approve(_thief, 5);

        accepts(address(USDC), approve(PERMIT2, 0));
        vm.assertEq(USDC.allowance(account, PERMIT2), 0, "taken back");

        advanceTo(4);
        accepts(address(USDC), approve(_thief, 0));
        vm.assertEq(USDC.allowance(account, _thief), 0, "taken back in Terminal");
        refuses(
            abi.encodeWithSignature("GolemPhase_NotAllowed(uint8,uint8)", 4, uint8(Class.Approve)),
            address(USDC),
            approve(ROUTER_02, 1)
        );
    }

    // Wrapping

    function test_wrapping_and_unwrapping_stay_with_the_account() public {
        accepts(SINGLE_DEFAULT, paid(address(WETH), 1 ether, abi.encodeCall(IWeth.deposit, ())));
        vm.assertEq(WETH.balanceOf(account), 6 ether, "wrapped");
        vm.assertEq(account.balance, 4 ether, "paid");

        accepts(address(WETH), abi.encodeCall(IWeth.withdraw, (2 ether)));
        vm.assertEq(account.balance, 6 ether, "unwrapped");
        vm.assertEq(spent(), 0, "no spend");
    }

    function _oldRouter(address recipient) private pure returns (bytes memory) {
        return abi.encodeCall(
            ISwapRouter.exactInputSingle,
            (ISwapRouter.ExactInputSingleParams({
                    tokenIn: address(USDC),
                    tokenOut: address(WETH),
                    fee: FEE,
                    recipient: recipient,
                    deadline: DEADLINE,
                    amountIn: 1e6,
                    amountOutMinimum: atTheBound(1e6),
                    sqrtPriceLimitX96: 0
                }))
        );
    }

    function _unknownTarget(address at) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, at);
    }

    function _unknownCall(address at, bytes memory data) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_UnknownCall.selector, at, selectorOf(data));
    }

    function _hidden(address at, bytes memory data) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_HiddenApproval.selector, at, selectorOf(data));
    }

    function _sentinel(address at, uint256 word) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_Sentinel.selector, at, word);
    }

    function _forbidden(address at) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(IGolemCharterEnforcer.GolemCharter_ForbiddenTarget.selector, at);
    }

    function _spender(address token_, address spender) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_Spender.selector, token_, spender
        );
    }
}

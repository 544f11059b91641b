// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ExecutionModes} from "../../src/enforcers/ExecutionModes.sol";
import {ICaveatEnforcer} from "../../src/interfaces/ICaveatEnforcer.sol";
import {
    Delegation,
    Execution,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IKnowledgeMarket} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {INonfungiblePositionManager} from "../../src/interfaces/IUniswapV3.sol";
import {
    BATCH_DEFAULT,
    BATCH_TRY,
    ModeCode,
    SINGLE_DEFAULT,
    SINGLE_TRY
} from "../../src/interfaces/ModeCode.sol";
import {Actions, Class, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {Valuation} from "../../src/rules/Valuation.sol";
import {CharterTest, ITestFeed} from "../CharterTest.sol";

/// @notice Setter of rounds as they should not be.
interface ITestAggregator {
    function setRound(
        uint80 roundId,
        int256 answer,
        uint256 startedAt,
        uint256 updatedAt,
        uint80 answeredInRound
    ) external;
}

/// @notice Several calls in one transaction, as somebody makes them who moves a price, redeems, and
///         moves it back.
contract OneTransaction {
    struct Step {
        address target;
        bytes data;
    }

    error OneTransaction_Failed(uint256 step, bytes reason);

    function run(Step[] calldata steps) external {
        for (uint256 i = 0; i < steps.length; i++) {
            (bool ok, bytes memory reason) = steps[i].target.call(steps[i].data);
            if (!ok) revert OneTransaction_Failed(i, reason);
        }
    }
}

/// @notice What every rule that stands alone has to do, against the real manager, accounts, pools and
///         vault. A test of one says what it allows, what it refuses, and why.
abstract contract EnforcerTest is CharterTest {
    address internal constant LIFECYCLE = address(0x11fe);
    address internal constant MARKET = address(0x3a4e7);
    uint256 internal constant SOLD = 10e6;

    ICaveatEnforcer internal enforcer;
    Law internal law;

    function setUp() public virtual override {
        super.setUp();
        law = golemOf(me());
    }

    /// @dev The owner of most tests. The same name is the same account.
    function me() internal returns (Owner memory) {
        return stateless7702Owner();
    }

    /// @dev A Golem whose owner listed everything there is, and approved what pulls.
    function golemOf(Owner memory from) internal returns (Law memory made) {
        made = golem(from);
        made.targets = bytes.concat(
            made.targets,
            target(LIFECYCLE, Role.Lifecycle),
            target(MARKET, Role.Market),
            target(address(registry), Role.Registry)
        );
        address[2] memory pulling = [POSITIONS, vault];
        for (uint256 i = 0; i < pulling.length; i++) {
            vm.prank(from.account);
            USDC.approve(pulling[i], type(uint256).max);
            vm.prank(from.account);
            WETH.approve(pulling[i], type(uint256).max);
        }
    }

    // What a test of one rule says

    /// @dev Terms by {law}.
    function terms() internal view virtual returns (bytes memory);

    /// @dev Length of the fixed part, and what says that terms are shorter.
    function header() internal pure virtual returns (uint256);
    function tooShort(uint256 actual) internal pure virtual returns (bytes memory);

    /// @dev Makes {bad} forbidden, where it is not by itself.
    function forbid() internal virtual {}

    function bad() internal view virtual returns (Execution memory) {
        return good();
    }

    /// @dev Why {bad} is refused alone, and after a {good} in one batch.
    function reason() internal view virtual returns (bytes memory);

    function reasonOfBatch() internal view virtual returns (bytes memory) {
        return reason();
    }

    /// @dev Ten dollars at the bound of a percent.
    function good() internal view returns (Execution memory) {
        return Execution(ROUTER_02, 0, sellUsdc(SOLD, atTheBound(SOLD), law.account));
    }

    // Owners and chains

    function test_every_kind_of_owner_is_served() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            if (i != 0) law = golemOf(from);
            uint256 before = WETH.balanceOf(from.account);
            Delegation memory leaf = given(from);

            redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
            redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(two(good(), good())));

            vm.assertEq(USDC.balanceOf(from.account), 10_000e6 - 3 * SOLD, "sold");
            vm.assertTrue(WETH.balanceOf(from.account) - before >= 3 * atTheBound(SOLD), "bought");
        }
    }

    function test_every_kind_of_owner_is_protected() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            Owner memory from = owner(kinds[i]);
            if (i != 0) law = golemOf(from);
            Delegation memory leaf = given(from);
            forbid();

            vm.expectRevert(reason());
            redeem(agent.account, leaf, SINGLE_DEFAULT, packed(bad()));
            vm.expectRevert(reasonOfBatch());
            redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(two(good(), bad())));

            vm.assertEq(USDC.balanceOf(from.account), 10_000e6, "nothing sold");
        }
    }

    function test_a_caveat_on_the_child_alone_binds_the_child() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = root(me(), agent.account, noCaveats());
        Delegation memory leaf =
            child(above, agent, replicant.account, only(address(enforcer), terms()));

        uint256 state = vm.snapshotState();
        forbid();
        vm.expectRevert(reason());
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(bad()));
        redeem(agent.account, above, SINGLE_DEFAULT, packed(bad()));

        vm.revertToState(state);
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(good()));
    }

    function test_a_caveat_on_the_parent_binds_a_child_without_one() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = given(me());
        Delegation memory leaf = child(above, agent, replicant.account, noCaveats());

        uint256 state = vm.snapshotState();
        forbid();
        vm.expectRevert(reason());
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(bad()));

        vm.revertToState(state);
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(good()));
    }

    // Modes

    /// @dev ATK-12, ATK-13.
    function test_try_modes_are_refused() public {
        Delegation memory leaf = given(me());

        vm.expectRevert(modeRefused(SINGLE_TRY));
        redeem(agent.account, leaf, SINGLE_TRY, packed(good()));
        vm.expectRevert(modeRefused(BATCH_TRY));
        redeem(agent.account, leaf, BATCH_TRY, abi.encode(two(good(), good())));
    }

    /// @dev ATK-12: delegatecall and staticcall are call types 0xff and 0xfe of ERC-7579.
    function test_every_call_type_and_failure_type_but_two_is_refused() public {
        bytes memory made = terms();
        bytes memory execution = packed(good());
        for (uint256 kinds = 0; kinds <= type(uint16).max; kinds++) {
            if (kinds == 0x0000 || kinds == 0x0100) continue;
            // All 65,534 would take long; the first of each byte and the last tell as much.
            if (kinds & 0xff > 0x01 && kinds & 0xff < 0xff) continue;
            ModeCode mode = ModeCode.wrap(bytes32(kinds << 240));

            vm.expectRevert(modeRefused(mode));
            hook(made, mode, execution);
        }
    }

    function testFuzz_a_mode_with_any_other_bit_is_refused(bytes32 word, uint8 bit) public {
        vm.assume(word != bytes32(0) && word != ModeCode.unwrap(BATCH_DEFAULT));
        bytes memory made = terms();
        bytes memory execution = packed(good());
        vm.expectRevert(modeRefused(ModeCode.wrap(word)));
        hook(made, ModeCode.wrap(word), execution);

        // One stray bit beside the batch's own.
        vm.assume(bit != 248);
        ModeCode stray = ModeCode.wrap(ModeCode.unwrap(BATCH_DEFAULT) | bytes32(uint256(1) << bit));
        vm.expectRevert(modeRefused(stray));
        hook(made, stray, execution);
    }

    // Terms, arguments, other hooks

    function test_terms_shorter_than_their_header_are_refused() public {
        bytes memory whole = terms();
        bytes memory execution = packed(good());
        for (uint256 length = 0; length < header(); length++) {
            vm.expectRevert(tooShort(length));
            hook(cut(whole, length), SINGLE_DEFAULT, execution);
        }
    }

    function test_malformed_terms_are_never_redeemed() public {
        Delegation memory leaf =
            root(me(), agent.account, only(address(enforcer), cut(terms(), header() - 1)));

        vm.expectRevert(tooShort(header() - 1));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
    }

    /// @dev ATK-03: the terms are part of what was signed, the arguments are not and say nothing.
    function test_terms_are_signed_and_arguments_ignored() public {
        Delegation memory leaf = given(me());
        leaf.caveats[0].args = abi.encode(type(uint256).max, "let me");
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));

        leaf.caveats[0].terms[0] ^= 0x01;
        vm.expectRevert(IDelegationManager.InvalidERC1271Signature.selector);
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
    }

    function testFuzz_the_other_hooks_look_at_nothing(bytes memory noise, bytes32 word, address who)
        public
        virtual
    {
        ModeCode mode = ModeCode.wrap(word);
        vm.record();

        enforcer.beforeAllHook(noise, noise, mode, noise, word, who, who);
        enforcer.afterHook(noise, noise, mode, noise, word, who, who);
        enforcer.afterAllHook(noise, noise, mode, noise, word, who, who);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    // Acting

    function given(Owner memory from) internal view returns (Delegation memory) {
        return root(from, agent.account, only(address(enforcer), terms()));
    }

    function accepts(Execution memory call) internal {
        Delegation memory leaf = given(me());
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(call));
    }

    function accepts(Execution[] memory calls) internal {
        Delegation memory leaf = given(me());
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(calls));
    }

    function refuses(bytes memory why, Execution memory call) internal {
        Delegation memory leaf = given(me());
        vm.expectRevert(why);
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(call));
    }

    function refuses(bytes memory why, Execution[] memory calls) internal {
        Delegation memory leaf = given(me());
        vm.expectRevert(why);
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(calls));
    }

    /// @dev The hook by itself, as called by whoever is pranked.
    function hook(bytes memory made, ModeCode mode, bytes memory execution) internal {
        enforcer.beforeHook(made, "", mode, execution, bytes32(0), law.account, agent.account);
    }

    /// @dev What `thief` sends to redeem `leaf` for one call.
    function redemption(Delegation memory leaf, Execution memory call)
        internal
        pure
        returns (OneTransaction.Step memory)
    {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = leaf;
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = abi.encode(chain);
        bytes[] memory executions = new bytes[](1);
        executions[0] = packed(call);
        return OneTransaction.Step(
            address(MANAGER),
            abi.encodeCall(
                IDelegationManager.redeemDelegations, (contexts, new ModeCode[](1), executions)
            )
        );
    }

    function packed(Execution memory call) internal pure returns (bytes memory) {
        return abi.encodePacked(call.target, call.value, call.callData);
    }

    function two(Execution memory first, Execution memory second)
        internal
        pure
        returns (Execution[] memory calls)
    {
        calls = new Execution[](2);
        (calls[0], calls[1]) = (first, second);
    }

    function cut(bytes memory whole, uint256 length) internal pure returns (bytes memory part) {
        part = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            part[i] = whole[i];
        }
    }

    function modeRefused(ModeCode mode) internal pure returns (bytes memory) {
        return
            abi.encodeWithSelector(ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode);
    }

    // Calls

    function sell(uint256 amount) internal view returns (Execution memory) {
        return Execution(ROUTER_02, 0, sellUsdc(amount, atTheBound(amount), law.account));
    }

    /// @dev A position of the account's: dollars alone, below the price.
    function position() internal returns (uint256 id) {
        INonfungiblePositionManager.MintParams memory p = INonfungiblePositionManager.MintParams({
            token0: address(WETH),
            token1: address(USDC),
            fee: 500,
            tickLower: -204_000,
            tickUpper: -201_000,
            amount0Desired: 0,
            amount1Desired: 100e6,
            amount0Min: 0,
            amount1Min: 0,
            recipient: law.account,
            deadline: block.timestamp
        });
        vm.prank(law.account);
        (id,,,) = INonfungiblePositionManager(POSITIONS).mint(p);
    }

    /// @dev Mints `amount` of dollars below the price.
    function addLiquidity(uint256 amount) internal view returns (Execution memory) {
        return Execution(
            POSITIONS,
            0,
            abi.encodeCall(
                INonfungiblePositionManager.mint,
                (INonfungiblePositionManager.MintParams({
                        token0: address(WETH),
                        token1: address(USDC),
                        fee: 500,
                        tickLower: -204_000,
                        tickUpper: -201_000,
                        amount0Desired: 0,
                        amount1Desired: amount,
                        amount0Min: 0,
                        amount1Min: 0,
                        recipient: law.account,
                        deadline: block.timestamp
                    }))
            )
        );
    }

    function increase(uint256 id, uint256 amount) internal view returns (Execution memory) {
        return Execution(
            POSITIONS,
            0,
            abi.encodeCall(
                INonfungiblePositionManager.increaseLiquidity,
                (INonfungiblePositionManager.IncreaseLiquidityParams(
                        id, 0, amount, 0, 0, block.timestamp
                    ))
            )
        );
    }

    function removeLiquidity(uint256 id) internal view returns (Execution memory) {
        return Execution(
            POSITIONS,
            0,
            abi.encodeCall(
                INonfungiblePositionManager.decreaseLiquidity,
                (INonfungiblePositionManager.DecreaseLiquidityParams(
                        id, 1000, 0, 0, block.timestamp
                    ))
            )
        );
    }

    function deposit(uint256 assets) internal view returns (Execution memory) {
        return Execution(vault, 0, abi.encodeCall(IVault.deposit, (assets, law.account)));
    }

    /// @dev One call of each class; `id` is the position that liquidity is about.
    function callOf(Class class, uint256 id) internal view returns (Execution memory) {
        address to = address(USDC);
        if (class == Class.Swap) return good();
        if (class == Class.AddLiquidity) return increase(id, 1e6);
        if (class == Class.RemoveLiquidity) return removeLiquidity(id);
        if (class == Class.Collect) {
            bytes memory collect = abi.encodeCall(
                INonfungiblePositionManager.collect,
                (INonfungiblePositionManager.CollectParams(
                        id, law.account, type(uint128).max, type(uint128).max
                    ))
            );
            return Execution(POSITIONS, 0, collect);
        }
        if (class == Class.BurnPosition) {
            return Execution(POSITIONS, 0, abi.encodeCall(INonfungiblePositionManager.burn, (id)));
        }
        if (class == Class.Deposit) return deposit(5e6);
        if (class == Class.Withdraw) {
            return
                Execution(
                    vault, 0, abi.encodeCall(IVault.withdraw, (1e6, law.account, law.account))
                );
        }
        if (class == Class.Approve) {
            return Execution(to, 0, abi.encodeCall(IToken.approve, (ROUTER_02, 1e12)));
        }
        if (class == Class.Disapprove) {
            return Execution(to, 0, abi.encodeCall(IToken.approve, (ROUTER_02, 0)));
        }
        if (class == Class.Transfer) {
            return Execution(to, 0, abi.encodeCall(IToken.transfer, (law.beneficiary, 5000e6)));
        }
        return _plainCallOf(class);
    }

    function _plainCallOf(Class class) private view returns (Execution memory) {
        if (class == Class.Wrap) {
            return Execution(address(WETH), 2 ether, abi.encodeCall(IWeth.deposit, ()));
        }
        if (class == Class.Unwrap) {
            return Execution(address(WETH), 0, abi.encodeCall(IWeth.withdraw, (1 ether)));
        }
        if (class == Class.GasTopUp) return Execution(agent.account, 1 ether, "");
        if (class == Class.SpawnReplicant) {
            bytes memory spawn = abi.encodeCall(
                IGolemLifecycle.spawnReplicant, (law.golemId, agent.account, bytes32(0))
            );
            return Execution(LIFECYCLE, 0, spawn);
        }
        if (class == Class.Settle) {
            return Execution(
                LIFECYCLE, 0, abi.encodeCall(IGolemLifecycle.settle, (law.golemId, bytes32(0)))
            );
        }
        if (class == Class.Sell) {
            return Execution(
                MARKET,
                0,
                abi.encodeCall(IKnowledgeMarket.sell, (bytes32(0), law.account, agent.account))
            );
        }
        return Execution(
            address(registry),
            0,
            abi.encodeCall(IGolemRegistry.heartbeat, (law.golemId, bytes32(0)))
        );
    }

    /// @dev Whether the class is none of those whose worth is measured.
    function isUnmeasured(Class class) internal pure returns (bool) {
        return class != Class.None && class != Class.Swap && class != Class.AddLiquidity
            && class != Class.RemoveLiquidity && class != Class.Deposit;
    }
}

/// @notice For rules that look at actions: a listing, and calls as their targets read them.
abstract contract ListedEnforcerTest is EnforcerTest {
    /// @dev Tokens that may be called and have no price.
    function unprice() internal {
        law.tokens = "";
        law.targets = bytes.concat(
            law.targets, target(address(USDC), Role.Token), target(address(WETH), Role.Weth)
        );
    }

    function test_a_listing_of_another_length_is_refused() public {
        bytes memory whole = terms();
        bytes memory execution = packed(good());
        uint256 listed = whole.length - header();
        for (uint256 length = header(); length < whole.length; length++) {
            uint256 has = length - header();
            vm.expectRevert(_listingLength(has < 26 ? 26 : listed, has));
            hook(cut(whole, length), SINGLE_DEFAULT, execution);
        }
        for (uint256 extra = 1; extra < 48; extra++) {
            vm.expectRevert(_listingLength(listed, listed + extra));
            hook(bytes.concat(whole, new bytes(extra)), SINGLE_DEFAULT, execution);
        }
    }

    function test_a_target_nobody_listed_is_refused() public {
        Execution memory call = Execution(address(witness), 0, hex"01020304");
        bytes memory why =
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, address(witness));

        refuses(why, call);
        refuses(why, two(good(), call));
        refuses(why, two(call, good()));
    }

    function test_a_role_nobody_knows_is_refused_when_its_target_is_called() public virtual {
        law.targets = bytes.concat(law.targets, abi.encodePacked(address(witness), uint8(11)));

        accepts(good());
        refuses(
            abi.encodeWithSelector(Listing.Listing_Role.selector, address(witness), 11),
            Execution(address(witness), 0, hex"01020304")
        );
    }

    function test_a_function_nobody_knows_is_refused() public {
        address[4] memory targets = [ROUTER_02, address(USDC), POSITIONS, vault];
        for (uint256 i = 0; i < targets.length; i++) {
            refuses(
                abi.encodeWithSelector(
                    Actions.Actions_UnknownCall.selector, targets[i], bytes4(0xdeadbeef)
                ),
                Execution(targets[i], 0, hex"deadbeef")
            );
        }
    }

    /// @dev ATK-15, ATK-16.
    function test_malformed_calldata_is_refused() public {
        bytes memory swap = good().callData;
        bytes4 selector = 0x04e45aaf;

        refuses(
            abi.encodeWithSelector(Actions.Actions_NoSelector.selector, ROUTER_02, 3),
            Execution(ROUTER_02, 0, cut(swap, 3))
        );
        refuses(
            abi.encodeWithSelector(Actions.Actions_NotCanonical.selector, ROUTER_02, selector),
            Execution(ROUTER_02, 0, cut(swap, swap.length - 1))
        );
        refuses(
            abi.encodeWithSelector(Actions.Actions_NotCanonical.selector, ROUTER_02, selector),
            Execution(ROUTER_02, 0, bytes.concat(swap, hex"00"))
        );
        refuses(
            abi.encodeWithSelector(Actions.Actions_UnexpectedValue.selector, ROUTER_02, 1),
            Execution(ROUTER_02, 1, swap)
        );
    }

    /// @dev ATK-20, ATK-29.
    function test_hidden_approvals_and_sentinels_are_refused() public {
        refuses(
            abi.encodeWithSelector(
                Actions.Actions_HiddenApproval.selector,
                address(USDC),
                IToken.increaseAllowance.selector
            ),
            Execution(address(USDC), 0, abi.encodeCall(IToken.increaseAllowance, (ROUTER_02, 1)))
        );
        refuses(
            abi.encodeWithSelector(Actions.Actions_Sentinel.selector, ROUTER_02, 1),
            Execution(ROUTER_02, 0, sellUsdc(SOLD, atTheBound(SOLD), address(1)))
        );
    }

    function test_an_execution_too_short_for_a_call_is_refused() public {
        Delegation memory leaf = given(me());
        for (uint256 length = 50; length < 52; length++) {
            vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Short.selector, length));
            redeem(agent.account, leaf, SINGLE_DEFAULT, cut(packed(good()), length));
        }
    }

    /// @dev ATK-12, ATK-15.
    function test_a_batch_of_nothing_or_in_another_encoding_is_refused() public {
        Delegation memory leaf = given(me());
        bytes memory batch = abi.encode(two(good(), good()));

        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 0));
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(new Execution[](0)));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 2));
        redeem(agent.account, leaf, BATCH_DEFAULT, bytes.concat(batch, new bytes(32)));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 2));
        redeem(agent.account, leaf, BATCH_DEFAULT, bytes.concat(batch, hex"00"));
    }

    function _listingLength(uint256 expected, uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Listing.Listing_Length.selector, expected, actual);
    }
}

/// @notice For rules that ask feeds what an action is worth (ATK-24, ATK-25).
abstract contract PricedEnforcerTest is ListedEnforcerTest {
    uint32 private constant MAX_AGE = 30 days;

    function test_a_price_counts_to_its_last_second_and_no_longer() public {
        setPrice(usdcUsd, 1e8);
        setPrice(ethUsd, 2500e8);

        vm.warp(NOW + MAX_AGE);
        accepts(good());
        vm.warp(NOW + MAX_AGE + 1);
        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, usdcUsd, NOW, NOW + MAX_AGE + 1, MAX_AGE
            ),
            good()
        );
    }

    function test_a_price_of_nothing_or_less_is_none() public {
        address[2] memory feeds = [usdcUsd, ethUsd];
        for (uint256 i = 0; i < 2; i++) {
            uint256 state = vm.snapshotState();
            for (int256 answer = -1; answer <= 0; answer++) {
                setPrice(feeds[i], answer);
                refuses(
                    abi.encodeWithSelector(Valuation.Valuation_Answer.selector, feeds[i], answer),
                    good()
                );
            }
            vm.revertToState(state);
        }
    }

    function test_an_unfinished_round_is_no_price() public {
        address aggregator = ITestFeed(usdcUsd).aggregator();
        vm.prank(FAUCET);
        ITestAggregator(aggregator).setRound(900, 1e8, NOW, NOW, 899);
        uint80 phase = uint80(1) << 64;

        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Incomplete.selector, usdcUsd, phase | 900, phase | 899
            ),
            good()
        );
    }

    function test_other_decimals_than_signed_are_refused() public {
        law.tokens = bytes.concat(
            token(address(USDC), usdcUsd, 6, 18, MAX_AGE), token(address(WETH), ethUsd, 18)
        );
        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Decimals.selector, usdcUsd, 18, 8), good()
        );
    }

    function test_a_token_nobody_listed_is_refused() public {
        law.tokens = token(address(USDC), usdcUsd, 6);
        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(WETH)), good()
        );
        law.tokens = token(address(WETH), ethUsd, 18);
        refuses(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(USDC)), good()
        );
    }

    function test_no_price_counts_while_the_sequencer_is_away_or_just_back() public {
        law.sequencerFeed =
            vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".sequencer_uptime");
        law.sequencerGrace = 1 hours;
        vm.warp(NOW + 1 days);
        accepts(good());

        _sequencer(true);
        refuses(_away(1, NOW + 1 days), good());
        vm.warp(NOW + 2 days);
        _sequencer(false);
        vm.warp(NOW + 2 days + 3599);
        refuses(_away(0, NOW + 2 days), good());
        vm.warp(NOW + 2 days + 3600);
        accepts(good());
    }

    function test_an_amount_beyond_any_token_is_refused() public {
        uint256 amount = uint256(type(uint128).max) + 1;
        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Amount.selector, amount),
            Execution(ROUTER_02, 0, sellUsdc(amount, 0, law.account))
        );
    }

    function _sequencer(bool down) private {
        address aggregator = ITestFeed(law.sequencerFeed).aggregator();
        vm.prank(FAUCET);
        (bool ok,) = aggregator.call(abi.encodeWithSignature("set(bool)", down));
        vm.assertTrue(ok, "set");
    }

    function _away(int256 answer, uint256 since) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            Valuation.Valuation_Sequencer.selector, law.sequencerFeed, answer, since, 1 hours
        );
    }
}

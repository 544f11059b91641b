// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation, Execution, IDelegationManager} from "../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../src/interfaces/IGolemCharterEnforcer.sol";
import {IGolemLifecycle} from "../src/interfaces/IGolemLifecycle.sol";
import {IKnowledgeMarket} from "../src/interfaces/IKnowledgeMarket.sol";
import {IToken, IVault, IWeth} from "../src/interfaces/ITokens.sol";
import {INonfungiblePositionManager, ISwapRouter02} from "../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../src/interfaces/ModeCode.sol";
import {KnowledgeMarket} from "../src/market/KnowledgeMarket.sol";
import {Class, Role} from "../src/rules/Actions.sol";
import {MaxSlippage} from "../src/rules/MaxSlippage.sol";
import {SpendWindow} from "../src/rules/SpendWindow.sol";
import {CharterTest, ITestFeed} from "./CharterTest.sol";

/// @notice Rounds as a test wants them.
interface ITestAggregator {
    function setRound(
        uint80 roundId,
        int256 answer,
        uint256 startedAt,
        uint256 updatedAt,
        uint80 answeredInRound
    ) external;
}

/// @notice Stands for the lifecycle contract and counts who speaks of which Golem.
contract LifecycleWitness is IGolemLifecycle {
    mapping(bytes32 golemId => uint256 count) public spawned;
    mapping(bytes32 golemId => uint256 count) public settled;

    function spawnReplicant(bytes32 golemId, address, bytes32) external {
        spawned[golemId] += 1;
    }

    function settle(bytes32 golemId, bytes32) external {
        settled[golemId] += 1;
    }
}

/// @notice One Golem, its owner with a Hybrid account, its law in storage, and the calls it makes.
/// @dev The account holds 10,000 USDC, 5 WETH and 5 ether; routers, position manager and vault may pull.
abstract contract CharterCalls is CharterTest {
    uint24 internal constant FEE = 500;
    uint256 internal constant DEADLINE = NOW + 365 days;
    /// @dev 536.870912 dollars: a whole number of the window's units, so the last micro-dollar counts.
    uint64 internal constant CAP = 1 << 29;

    Law internal law;
    Actor internal human;
    address internal account;
    LifecycleWitness internal lifecycle;
    KnowledgeMarket internal market;
    /// @dev What the account wrote itself, for 50 dollars: nobody is due a share of it.
    bytes32 internal ownEntry;
    address internal buyer;

    function setUp() public virtual override {
        super.setUp();
        lifecycle = new LifecycleWitness();
        market = new KnowledgeMarket();
        buyer = actor("buyer").account;
        Owner memory made = hybridOwner();
        (account, human) = (made.account, made.signers[0]);
        law = golem(made);
        law.spendCap = CAP;
        law.targets = bytes.concat(
            law.targets,
            target(router, Role.SwapRouter),
            target(address(registry), Role.Registry),
            target(address(lifecycle), Role.Lifecycle),
            target(address(market), Role.Market)
        );
        vm.prank(account);
        ownEntry = market.publish("own", bytes32(0), 1_000, address(USDC), 50e6);
        vm.prank(account);
        IWeth(address(WETH)).deposit{value: 5 ether}();
        address[4] memory pullers = [router, ROUTER_02, POSITIONS, vault];
        for (uint256 i = 0; i < pullers.length; i++) {
            vm.prank(account);
            USDC.approve(pullers[i], type(uint256).max);
            vm.prank(account);
            WETH.approve(pullers[i], type(uint256).max);
        }
    }

    function home() internal view returns (Owner memory made) {
        made = plain(human);
        made.account = account;
    }

    // Redemptions by the agent, under the law as it stands

    function accepts(address to, bytes memory data) internal {
        accepts(SINGLE_DEFAULT, single(to, data));
    }

    function accepts(Execution[] memory calls) internal {
        accepts(BATCH_DEFAULT, abi.encode(calls));
    }

    function accepts(ModeCode mode, bytes memory execution) internal {
        redeem(agent.account, grant(home(), law), mode, execution);
    }

    function refuses(bytes memory reason, address to, bytes memory data) internal {
        refuses(reason, SINGLE_DEFAULT, single(to, data));
    }

    function refuses(bytes memory reason, Execution[] memory calls) internal {
        refuses(reason, BATCH_DEFAULT, abi.encode(calls));
    }

    function refuses(bytes memory reason, ModeCode mode, bytes memory execution) internal {
        Delegation memory leaf = grant(home(), law);
        vm.expectRevert(reason);
        redeem(agent.account, leaf, mode, execution);
    }

    /// @dev The hook alone, as the manager calls it for the account.
    function hook(bytes memory terms, ModeCode mode, bytes memory execution) internal {
        vm.prank(address(MANAGER));
        charterEnforcer.beforeHook(terms, "", mode, execution, "", account, agent.account);
    }

    /// @dev A redemption as a call, for a thief's contract to make among others.
    function redemption(Delegation memory leaf, ModeCode mode, bytes memory execution)
        internal
        pure
        returns (Execution memory)
    {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = leaf;
        return redemption(chain, mode, execution);
    }

    function redemption(Delegation[] memory chain, ModeCode mode, bytes memory execution)
        internal
        pure
        returns (Execution memory)
    {
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = abi.encode(chain);
        ModeCode[] memory modes = new ModeCode[](1);
        modes[0] = mode;
        bytes[] memory executions = new bytes[](1);
        executions[0] = execution;
        return call(
            address(MANAGER),
            abi.encodeCall(IDelegationManager.redeemDelegations, (contexts, modes, executions))
        );
    }

    // Calls

    function call(address to, bytes memory data) internal pure returns (Execution memory) {
        return Execution({target: to, value: 0, callData: data});
    }

    function pay(address to, uint256 value) internal pure returns (Execution memory) {
        return Execution({target: to, value: value, callData: ""});
    }

    function paid(address to, uint256 value, bytes memory data)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(to, value, data);
    }

    function list(Execution memory one) internal pure returns (Execution[] memory calls) {
        calls = new Execution[](1);
        calls[0] = one;
    }

    function list(Execution memory one, Execution memory two)
        internal
        pure
        returns (Execution[] memory calls)
    {
        calls = new Execution[](2);
        (calls[0], calls[1]) = (one, two);
    }

    function list(Execution memory one, Execution memory two, Execution memory three)
        internal
        pure
        returns (Execution[] memory calls)
    {
        calls = new Execution[](3);
        (calls[0], calls[1], calls[2]) = (one, two, three);
    }

    /// @dev A swap worth `usdc`, half a percent inside the bound, for the account.
    function swap(uint256 usdc) internal view returns (bytes memory) {
        return sellUsdc(usdc, usdc * 1e12 / 2500 * 995 / 1000, account);
    }

    function sellWeth(uint256 amount, uint256 minimum, address recipient)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams({
                    tokenIn: address(WETH),
                    tokenOut: address(USDC),
                    fee: FEE,
                    recipient: recipient,
                    amountIn: amount,
                    amountOutMinimum: minimum,
                    sqrtPriceLimitX96: 0
                }))
        );
    }

    function mintPosition(uint256 weth, uint256 usdc, address recipient)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(
            INonfungiblePositionManager.mint,
            (INonfungiblePositionManager.MintParams({
                    token0: address(WETH),
                    token1: address(USDC),
                    fee: FEE,
                    tickLower: -887_270,
                    tickUpper: 887_270,
                    amount0Desired: weth,
                    amount1Desired: usdc,
                    amount0Min: 0,
                    amount1Min: 0,
                    recipient: recipient,
                    deadline: DEADLINE
                }))
        );
    }

    function increase(uint256 id, uint256 weth, uint256 usdc) internal pure returns (bytes memory) {
        return abi.encodeCall(
            INonfungiblePositionManager.increaseLiquidity,
            (INonfungiblePositionManager.IncreaseLiquidityParams(id, weth, usdc, 0, 0, DEADLINE))
        );
    }

    function decrease(uint256 id, uint128 liquidity) internal pure returns (bytes memory) {
        return abi.encodeCall(
            INonfungiblePositionManager.decreaseLiquidity,
            (INonfungiblePositionManager.DecreaseLiquidityParams(id, liquidity, 0, 0, DEADLINE))
        );
    }

    function collect(uint256 id, address recipient) internal pure returns (bytes memory) {
        return abi.encodeCall(
            INonfungiblePositionManager.collect,
            (INonfungiblePositionManager.CollectParams(
                    id, recipient, type(uint128).max, type(uint128).max
                ))
        );
    }

    function burn(uint256 id) internal pure returns (bytes memory) {
        return abi.encodeCall(INonfungiblePositionManager.burn, (id));
    }

    function approve(address spender, uint256 amount) internal pure returns (bytes memory) {
        return abi.encodeCall(IToken.approve, (spender, amount));
    }

    function transfer(address to, uint256 amount) internal pure returns (bytes memory) {
        return abi.encodeCall(IToken.transfer, (to, amount));
    }

    function deposit(uint256 assets, address receiver) internal pure returns (bytes memory) {
        return abi.encodeCall(IVault.deposit, (assets, receiver));
    }

    /// @dev To {buyer}, in the account's own name.
    function sell(bytes32 entryId) internal view returns (bytes memory) {
        return abi.encodeCall(IKnowledgeMarket.sell, (entryId, account, buyer));
    }

    // The world

    /// @dev A position that `holder` made himself, for 1 WETH and its price; 2 WETH worth in all.
    function openPosition(address holder) internal returns (uint256 id, uint128 liquidity) {
        fund(holder);
        vm.prank(holder);
        WETH.approve(POSITIONS, type(uint256).max);
        vm.prank(holder);
        USDC.approve(POSITIONS, type(uint256).max);
        vm.prank(holder);
        (bool made, bytes memory out) = POSITIONS.call(mintPosition(1e18, 2_500e6, holder));
        vm.assertTrue(made, "position");
        (id, liquidity,,) = abi.decode(out, (uint256, uint128, uint256, uint256));
    }

    /// @dev 2,500 USDC and 1 WETH more.
    function fund(address holder) internal {
        vm.prank(FAUCET);
        USDC.mint(holder, 2_500e6);
        vm.deal(address(this), 1 ether);
        IWeth(address(WETH)).deposit{value: 1 ether}();
        vm.assertTrue(WETH.transfer(holder, 1 ether), "funded");
    }

    function advanceTo(uint8 phase) internal {
        vm.prank(human.account);
        registry.advance(law.golemId, phase);
    }

    /// @dev The latest round of a feed, as given.
    function setRound(address feed, int256 answer, uint256 updatedAt) internal {
        address aggregator = ITestFeed(feed).aggregator();
        vm.prank(FAUCET);
        ITestAggregator(aggregator).setRound(1_000, answer, updatedAt, updatedAt, 1_000);
    }

    function spent() internal view returns (uint256) {
        return SpendWindow.spent(spendWord(), block.timestamp);
    }

    function spendWord() internal view returns (uint256) {
        return charterEnforcer.spendWindowOf(address(MANAGER), account, law.golemId);
    }

    /// @dev What a call begins with.
    function selectorOf(bytes memory data) internal pure returns (bytes4) {
        // A selector is the first four bytes of what is longer.
        // forge-lint: disable-next-line(unsafe-typecast)
        return bytes4(data);
    }

    /// @dev The mask of one class.
    function bitOf(uint256 class) internal pure returns (uint32) {
        // Classes, and the bits beside them that tests try, are below 32.
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint32(1 << class);
    }

    // Refusals that many tests expect

    function tooMuchSlippage(uint256 out, uint256 back) internal view returns (bytes memory) {
        return abi.encodeWithSelector(
            MaxSlippage.MaxSlippage_TooMuch.selector, out, back, law.slippageBps
        );
    }

    function overCap(uint256 spent_, uint256 amount, uint256 cap)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(SpendWindow.SpendWindow_OverCap.selector, spent_, amount, cap);
    }

    function wrongRecipient(address recipient, address expected)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_Recipient.selector, recipient, expected
        );
    }

    function noClass(Class class) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemCharterEnforcer.GolemCharter_Class.selector, class);
    }

    receive() external payable {}
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation, ROOT_AUTHORITY} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {
    IMulticall,
    IMulticallExtended,
    INonfungiblePositionManager,
    ISwapRouter,
    ISwapRouter02
} from "../../src/interfaces/IUniswapV3.sol";
import {GolemRegistry} from "../../src/registry/GolemRegistry.sol";
import {GolemWord} from "../../src/registry/GolemWord.sol";
import {Action, Actions, Class, Role} from "../../src/rules/Actions.sol";
import {DevchainTest} from "../DevchainTest.sol";
import {Decoder} from "./Actions.t.sol";

/// @notice What the tests ask of tokens besides what rules ask.
interface IHeldToken {
    function balanceOf(address holder) external view returns (uint256);
    function allowance(address holder, address spender) external view returns (uint256);
    function mint(address to, uint256 amount) external returns (bool);
}

/// @notice What a swap would give or take now.
interface IQuoter {
    struct Exact {
        address tokenIn;
        address tokenOut;
        uint256 amount;
        uint24 fee;
        uint160 sqrtPriceLimitX96;
    }

    function quoteExactInputSingle(Exact calldata params)
        external
        returns (uint256 amountOut, uint160, uint32, uint256);
    function quoteExactOutputSingle(Exact calldata params)
        external
        returns (uint256 amountIn, uint160, uint32, uint256);
    function quoteExactInput(bytes calldata path, uint256 amountIn)
        external
        returns (uint256 amountOut, uint160[] memory, uint32[] memory, uint256);
    function quoteExactOutput(bytes calldata path, uint256 amountOut)
        external
        returns (uint256 amountIn, uint160[] memory, uint32[] memory, uint256);
}

interface IPool {
    function slot0()
        external
        view
        returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint8, bool);
}

interface IPoolMaker {
    function createAndInitializePoolIfNecessary(
        address token0,
        address token1,
        uint24 fee,
        uint160 sqrtPriceX96
    ) external payable returns (address pool);
}

/// @notice How many shares a withdrawal burns.
interface IPreviewer {
    function previewWithdraw(uint256 assets) external view returns (uint256 shares);
}

/// @notice An Action is a promise about a call. Here the calls are made, at the real contracts, and
///         the promises held against what moved.
contract ActionsDevchainTest is DevchainTest {
    string private constant BOOK = "../.devchain/book.json";
    address private constant MINTER = 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266;
    uint256 private constant NOW = 1_800_000_100;
    uint256 private constant DEADLINE = NOW + 600;
    uint256 private constant USDC_HELD = 1_000_000e6;
    uint256 private constant WETH_HELD = 400e18;

    /// @dev What there is to lose: coins, and the three tokens of the book.
    struct Held {
        uint256[4] amounts;
    }

    Decoder private _decoder;
    address private _account;
    address private _recipient;
    address private _weth;
    address private _usdc;
    address private _router;
    address private _router02;
    address private _manager;
    address private _vault;
    address private _pool;
    IQuoter private _quoter;

    function setUp() public override {
        super.setUp();
        vm.warp(NOW);
        _decoder = new Decoder();
        string memory book = vm.readFile(BOOK);
        _weth = vm.parseJsonAddress(book, "$.weth");
        _usdc = vm.parseJsonAddress(book, "$.usdc");
        _router = vm.parseJsonAddress(book, "$.swap_router");
        _router02 = vm.parseJsonAddress(book, "$.swap_router_02");
        _manager = vm.parseJsonAddress(book, "$.position_manager");
        _vault = vm.parseJsonAddress(book, "$.vault");
        _pool = vm.parseJsonAddress(book, "$.pool_500");
        _quoter = IQuoter(vm.parseJsonAddress(book, "$.quoter"));
        _account = actor("account").account;
        _recipient = actor("recipient").account;

        vm.prank(MINTER);
        IHeldToken(_usdc).mint(_account, USDC_HELD);
        vm.deal(_account, 1000e18);
        vm.prank(_account);
        IWeth(_weth).deposit{value: WETH_HELD}();
        address[4] memory spenders = [_router, _router02, _manager, _vault];
        for (uint256 i = 0; i < spenders.length; i++) {
            vm.prank(_account);
            IToken(_usdc).approve(spenders[i], type(uint256).max);
            vm.prank(_account);
            IToken(_weth).approve(spenders[i], type(uint256).max);
        }
    }

    // Swaps

    function testFuzz_an_exact_input_keeps_its_word(uint256 amount, bool sell, bool low) public {
        IQuoter.Exact memory swap = _swap(sell, low);
        swap.amount = _affordable(swap.tokenIn, amount);

        for (uint256 i = 0; i < 2; i++) {
            _startAgain();
            (address router, Role role) = _routerOf(i);
            (uint256 quote,,,) = _quoter.quoteExactInputSingle(swap);
            _assertFails(role, router, _exactInputSingle(i, swap, quote + 1));
            _act(role, router, _exactInputSingle(i, swap, quote));
            _assertMoved(swap.tokenIn, swap.amount);
            _assertArrived(swap.tokenOut, quote);
        }
    }

    function testFuzz_an_exact_output_keeps_its_word(uint256 amount, bool sell, bool low) public {
        IQuoter.Exact memory swap = _swap(sell, low);
        swap.amount = _affordable(swap.tokenOut, amount) / 4 + 1;

        for (uint256 i = 0; i < 2; i++) {
            _startAgain();
            (address router, Role role) = _routerOf(i);
            (uint256 quote,,,) = _quoter.quoteExactOutputSingle(swap);
            vm.assume(quote > 1 && quote <= IHeldToken(swap.tokenIn).balanceOf(_account));
            _assertFails(role, router, _exactOutputSingle(i, swap, quote - 1));
            _act(role, router, _exactOutputSingle(i, swap, quote));
            _assertMoved(swap.tokenIn, quote);
            _assertArrived(swap.tokenOut, swap.amount);
        }
    }

    function testFuzz_an_exact_input_along_a_path_keeps_its_word(uint256 amount, uint8 hops)
        public
    {
        bytes memory path = _path(hops % 3 + 1);
        address last = hops % 3 == 1 ? _usdc : _weth;
        amount = _affordable(_usdc, amount);

        for (uint256 i = 0; i < 2; i++) {
            _startAgain();
            (uint256 quote,,,) = _quoter.quoteExactInput(path, amount);
            (address router, Role role) = _routerOf(i);
            _assertFails(role, router, _exactInput(i, path, amount, quote + 1));
            _act(role, router, _exactInput(i, path, amount, quote));
            _assertMoved(_usdc, amount);
            _assertArrived(last, quote);
        }
    }

    /// @dev The path runs from what is bought to what is paid.
    function testFuzz_an_exact_output_along_a_path_keeps_its_word(uint256 amount, uint8 hops)
        public
    {
        bytes memory path = _path(hops % 3 + 1);
        address paid = hops % 3 == 1 ? _usdc : _weth;
        amount = _affordable(_usdc, amount) / 8 + 1;

        for (uint256 i = 0; i < 2; i++) {
            _startAgain();
            (uint256 quote,,,) = _quoter.quoteExactOutput(path, amount);
            vm.assume(quote > 1 && quote <= IHeldToken(paid).balanceOf(_account));
            (address router, Role role) = _routerOf(i);
            _assertFails(role, router, _exactOutput(i, path, amount, quote - 1));
            Action[] memory actions = _act(role, router, _exactOutput(i, path, amount, quote));
            vm.assertEq(actions[0].tokenIn, _usdc, "what is bought comes first");
            vm.assertEq(actions[0].tokenOut, paid, "what is paid comes last");
            _assertMoved(paid, quote);
            _assertArrived(_usdc, amount);
        }
    }

    /// @dev Why a price limit is refused: at both routers, an exact output with one takes what it
    ///      gets and does not insist on the amount it names.
    function test_an_exact_output_with_a_price_limit_breaks_its_word() public {
        for (uint256 i = 0; i < 2; i++) {
            IQuoter.Exact memory swap = _swap(true, true);
            swap.amount = USDC_HELD;
            swap.sqrtPriceLimitX96 = _closeLimit();
            (address router, Role role) = _routerOf(i);
            bytes memory data = _exactOutputSingle(i, swap, WETH_HELD);
            _startAgain();

            vm.prank(_account);
            (bool ok,) = router.call(data);

            vm.assertTrue(ok, "the router is content");
            vm.assertTrue(_lost(_weth) > 0, "it took something");
            vm.assertTrue(_gained(_usdc) < swap.amount, "and gave less than was ordered");
            vm.expectRevert(
                abi.encodeWithSelector(
                    Actions.Actions_PriceLimit.selector, router, swap.sqrtPriceLimitX96
                )
            );
            _decoder.decode(role, router, 0, data);
        }
    }

    /// @dev The same as a theft: a pool that nobody uses, at a price that nobody pays. The order is
    ///      for 4 WETH at the market's price, and a rule that believed it would let it pass.
    function test_a_thief_sells_a_thousandth_of_what_was_ordered() public {
        address thief = actor("thief").account;
        vm.deal(thief, 1e18);
        vm.prank(thief);
        IWeth(_weth).deposit{value: 1e18}();
        vm.prank(thief);
        IToken(_weth).approve(_manager, 1e18);
        vm.assertTrue(_weth < _usdc, "WETH is the pool's token0");
        // About 2.5 million dollars for one, and a little WETH just above it.
        uint160 price = 125_270_000_000_000_000_000_000_000;
        vm.prank(thief);
        IPoolMaker(_manager).createAndInitializePoolIfNecessary(_weth, _usdc, 10_000, price);
        vm.prank(thief);
        INonfungiblePositionManager(_manager)
            .mint(
                INonfungiblePositionManager.MintParams({
                token0: _weth,
                token1: _usdc,
                fee: 10_000,
                tickLower: -128_800,
                tickUpper: -128_600,
                amount0Desired: 0.004e18,
                amount1Desired: 0,
                amount0Min: 0,
                amount1Min: 0,
                recipient: thief,
                deadline: DEADLINE
            })
            );
        IQuoter.Exact memory order = IQuoter.Exact(_usdc, _weth, 4e18, 10_000, 0);
        _assertFails(Role.SwapRouter02, _router02, _exactOutputSingle(1, order, 11_000e6));
        order.sqrtPriceLimitX96 = price * 2;
        bytes memory data = _exactOutputSingle(1, order, 11_000e6);
        _startAgain();

        vm.prank(_account);
        (bool ok,) = _router02.call(data);

        vm.assertTrue(ok, "the router is content");
        vm.assertTrue(_lost(_usdc) > 10_000e6, "the price of 4 WETH was paid");
        vm.assertTrue(_gained(_weth) <= 0.004e18, "for a thousandth of them");
        vm.expectRevert(
            abi.encodeWithSelector(Actions.Actions_PriceLimit.selector, _router02, price * 2)
        );
        _decoder.decode(Role.SwapRouter02, _router02, 0, data);
    }

    /// @dev With a limit, an exact input takes less, and its minimum holds all the same.
    function testFuzz_an_exact_input_with_a_price_limit_keeps_its_word(uint256 amount) public {
        IQuoter.Exact memory swap = _swap(true, true);
        swap.amount = within(amount, 1e18, WETH_HELD);
        swap.sqrtPriceLimitX96 = _closeLimit();
        for (uint256 i = 0; i < 2; i++) {
            (address router, Role role) = _routerOf(i);
            _startAgain();
            _act(role, router, _exactInputSingle(i, swap, 0));
            swap.sqrtPriceLimitX96 = _closeLimit();
        }
    }

    function testFuzz_a_multicall_keeps_the_words_of_all_its_calls(uint256 first, uint256 second)
        public
    {
        first = within(first, 1e6, 100_000e6);
        second = within(second, 1e6, 100_000e6);
        for (uint256 i = 0; i < 2; i++) {
            (address router, Role role) = _routerOf(i);
            bytes[] memory calls = new bytes[](3);
            calls[0] = _exactInputSingle(i, IQuoter.Exact(_usdc, _weth, first, 500, 0), 1);
            calls[1] = _exactInput(i, _path(1), second, 1);
            calls[2] = _exactOutputSingle(i, IQuoter.Exact(_usdc, _weth, 1e15, 3000, 0), 100e6);
            _startAgain();
            Action[] memory actions =
                _act(role, router, abi.encodeCall(IMulticall.multicall, (calls)));
            vm.assertEq(actions.length, 3, "three effects");
            if (i == 0) continue;

            _startAgain();
            _act(role, router, abi.encodeWithSelector(0x5ae401dc, DEADLINE, calls));
            _startAgain();
            _act(
                role, router, abi.encodeWithSelector(0x1f0464d1, blockhash(block.number - 1), calls)
            );
        }
    }

    // Positions

    function testFuzz_a_position_keeps_its_words_from_mint_to_burn(uint256 a, uint256 b, uint8 part)
        public
    {
        a = within(a, 1e15, 100e18);
        b = within(b, 10e6, 200_000e6);

        uint256 id = _mintPosition(a, b);

        _startAgain();
        bytes memory data = abi.encodeCall(
            INonfungiblePositionManager.increaseLiquidity,
            (INonfungiblePositionManager.IncreaseLiquidityParams(id, a, b, 0, 0, DEADLINE))
        );
        Action[] memory actions = _act(Role.PositionManager, _manager, data);
        vm.assertEq(actions[0].positionId, id, "the position that grows");

        uint128 liquidity = _liquidity(id);
        uint128 some = uint128(within(part, 1, 255)) * (liquidity / 256);
        _startAgain();
        _act(Role.PositionManager, _manager, _decrease(id, some));
        _assertNothingMoved();
        _startAgain();
        actions = _act(Role.PositionManager, _manager, _collect(id));
        vm.assertTrue(actions[0].recipient == _recipient, "who gets it");
        vm.assertTrue(_gained(_usdc) + _gained(_weth) > 0, "something was collected");

        bytes[] memory calls = new bytes[](3);
        calls[0] = _decrease(id, liquidity - some);
        calls[1] = _collect(id);
        calls[2] = abi.encodeCall(INonfungiblePositionManager.burn, (id));
        _startAgain();
        actions =
            _act(Role.PositionManager, _manager, abi.encodeCall(IMulticall.multicall, (calls)));
        vm.assertEq(uint256(actions[2].class), uint256(Class.BurnPosition), "burnt");
        vm.assertEq(actions[2].positionId, id, "what was burnt");
    }

    /// @dev ATK-45: the minimums an Action tells are the ones the manager insists on.
    function testFuzz_the_minimums_of_liquidity_are_insisted_on(uint256 a, uint256 b) public {
        a = within(a, 1e15, 100e18);
        b = within(b, 10e6, 200_000e6);
        (uint256 used0, uint256 used1) = _usedByMint(a, b);

        bytes memory data = _mint(a, b, used0, used1);
        _startAgain();
        Action[] memory actions = _act(Role.PositionManager, _manager, data);
        vm.assertEq(actions[0].minimum0, used0, "minimum of token0");
        vm.assertEq(actions[0].minimum1, used1, "minimum of token1");
        vm.assertEq(_lost(actions[0].tokenOut), used0, "token0 used");
        vm.assertEq(_lost(actions[0].tokenOut2), used1, "token1 used");

        _assertFails(Role.PositionManager, _manager, _mint(a, b, used0 + 2, used1));
        _assertFails(Role.PositionManager, _manager, _mint(a, b, used0, used1 + 2));
    }

    /// @dev Why a recipient of zero is refused: the manager keeps what it collects, and then
    ///      anybody may sweep it.
    function test_a_collect_to_nobody_goes_to_everybody() public {
        uint256 id = _mintPosition(1e18, 2500e6);
        bytes memory decrease = _decrease(id, _liquidity(id));
        vm.prank(_account);
        (bool ok,) = _manager.call(decrease);
        vm.assertTrue(ok, "decrease");
        bytes memory data = abi.encodeCall(
            INonfungiblePositionManager.collect,
            (INonfungiblePositionManager.CollectParams(
                    id, address(0), type(uint128).max, type(uint128).max
                ))
        );

        vm.prank(_account);
        (ok,) = _manager.call(data);

        vm.assertTrue(ok, "the manager is content");
        vm.assertTrue(IHeldToken(_usdc).balanceOf(_manager) > 0, "and keeps the tokens");
        vm.expectRevert(abi.encodeWithSelector(Actions.Actions_Sentinel.selector, _manager, 0));
        _decoder.decode(Role.PositionManager, _manager, 0, data);
    }

    // Vaults

    function testFuzz_a_vault_keeps_its_words(uint256 assets, uint256 yield, uint256 part) public {
        assets = within(assets, 1e6, 400_000e6);
        vm.prank(MINTER);
        IHeldToken(_usdc).mint(_vault, within(yield, 0, 1_000_000e6));

        _startAgain();
        _act(Role.Vault, _vault, abi.encodeCall(IVault.deposit, (assets, _account)));
        _assertMoved(_usdc, assets);
        uint256 shares = IHeldToken(_vault).balanceOf(_account);
        vm.assertTrue(shares > 0, "shares for assets");

        uint256 more = within(part, 1, shares);
        _startAgain();
        _act(Role.Vault, _vault, abi.encodeCall(IVault.mint, (more, _recipient)));
        _assertArrived(_vault, more);

        more = within(part, 1, assets / 4);
        _startAgain();
        Action[] memory actions =
            _act(Role.Vault, _vault, abi.encodeCall(IVault.withdraw, (more, _recipient, _account)));
        vm.assertEq(actions[0].source, _account, "whose shares");
        _assertArrived(_usdc, more);

        more = within(part, 1, IHeldToken(_vault).balanceOf(_account));
        _startAgain();
        actions =
            _act(Role.Vault, _vault, abi.encodeCall(IVault.redeem, (more, _recipient, _account)));
        vm.assertEq(actions[0].source, _account, "whose shares");
        _assertMoved(_vault, more);
    }

    /// @dev ATK-29: shares of somebody else are used where the source is not the account.
    function test_the_source_of_a_redemption_is_whose_shares_burn() public {
        vm.prank(_account);
        IVault(_vault).deposit(1000e6, _recipient);
        uint256 shares = IHeldToken(_vault).balanceOf(_recipient);
        vm.prank(_recipient);
        IToken(_vault).approve(_account, shares);

        bytes memory data = abi.encodeCall(IVault.redeem, (shares, _recipient, _recipient));
        Action[] memory actions = _act(Role.Vault, _vault, data);

        vm.assertEq(actions[0].source, _recipient, "whose shares");
        vm.assertEq(IHeldToken(_vault).balanceOf(_recipient), 0, "are gone");
    }

    // Tokens and coins

    function testFuzz_wrapping_and_unwrapping_keep_their_words(uint256 value, uint256 back) public {
        value = within(value, 0, 500e18);
        _startAgain();
        _actWith(Role.Weth, _weth, value, abi.encodeCall(IWeth.deposit, ()));
        _assertMoved(address(0), value);
        vm.assertEq(IHeldToken(_weth).balanceOf(_account), WETH_HELD + value, "wrapped");

        back = within(back, 0, WETH_HELD + value);
        uint256 coins = _account.balance;
        _startAgain();
        Action[] memory actions = _act(Role.Weth, _weth, abi.encodeCall(IWeth.withdraw, (back)));
        _assertMoved(_weth, back);
        vm.assertEq(_account.balance, coins + actions[0].minimumIn, "unwrapped");
    }

    function testFuzz_transfers_keep_their_words(uint256 amount) public {
        address[2] memory tokens = [_usdc, _weth];
        for (uint256 i = 0; i < tokens.length; i++) {
            Role role = tokens[i] == _weth ? Role.Weth : Role.Token;
            uint256 some = within(amount, 0, IHeldToken(tokens[i]).balanceOf(_account) / 2);
            _startAgain();
            _act(role, tokens[i], abi.encodeCall(IToken.transfer, (_recipient, some)));
            _assertMoved(tokens[i], some);
            vm.assertEq(_gained(tokens[i]), some, "arrived");

            vm.prank(_account);
            IToken(tokens[i]).approve(_account, some);
            _startAgain();
            _act(role, tokens[i], abi.encodeCall(IToken.transferFrom, (_account, _recipient, some)));
            _assertMoved(tokens[i], some);
            vm.assertEq(_gained(tokens[i]), some, "arrived");
        }
    }

    function testFuzz_an_approval_moves_nothing_and_gives_what_it_says(uint256 amount) public {
        address spender = actor("spender").account;
        address[3] memory tokens = [_usdc, _weth, _vault];
        Role[3] memory roles = [Role.Token, Role.Weth, Role.Vault];
        for (uint256 i = 0; i < tokens.length; i++) {
            _startAgain();
            Action[] memory actions =
                _act(roles[i], tokens[i], abi.encodeCall(IToken.approve, (spender, amount)));
            _assertNothingMoved();
            vm.assertEq(actions[0].spender, spender, "spender");
            uint256 given = IHeldToken(tokens[i]).allowance(_account, spender);
            vm.assertEq(given, actions[0].amountOut, "allowance");

            actions = _act(roles[i], tokens[i], abi.encodeCall(IToken.approve, (spender, 0)));
            vm.assertEq(uint256(actions[0].class), uint256(Class.Disapprove), "taken back");
            vm.assertEq(IHeldToken(tokens[i]).allowance(_account, spender), 0, "no allowance");
        }
    }

    function testFuzz_a_gas_top_up_keeps_its_word(uint256 value) public {
        value = within(value, 0, 500e18);
        address key = actor("agent key").account;
        uint256 had = key.balance;
        _startAgain();

        Action[] memory actions = _actWith(Role.AgentKey, key, value, "");

        _assertMoved(address(0), value);
        vm.assertEq(key.balance - had, actions[0].amountOut, "arrived at the key");
    }

    // The register

    /// @dev The account owns two Golems and speaks for both: only the one that is told changes.
    function testFuzz_an_agents_word_moves_nothing_and_changes_the_golem_it_tells(
        uint256 seed,
        bytes32 auditHead
    ) public {
        IGolemRegistry registry = new GolemRegistry();
        bytes32 golem = _register(registry, "first");
        bytes32 other = _register(registry, "second");
        GolemWord untouched = registry.word(other);
        bytes[5] memory calls = [
            abi.encodeCall(
                IGolemRegistry.updateVitality,
                (golem, uint8(within(seed, 0, 4)), uint16(within(seed, 0, 10_000)))
            ),
            abi.encodeCall(IGolemRegistry.setDreaming, (golem, seed % 2 == 0)),
            abi.encodeCall(
                IGolemRegistry.updatePad, (golem, -100, int8(uint8(within(seed, 0, 100))), 100)
            ),
            abi.encodeCall(IGolemRegistry.heartbeat, (golem, auditHead)),
            abi.encodeCall(IGolemRegistry.close, (golem))
        ];

        for (uint256 i = 0; i < calls.length; i++) {
            GolemWord had = registry.word(golem);
            vm.warp(NOW + 1 + i);

            Action[] memory actions = _act(Role.Registry, address(registry), calls[i]);

            _assertNothingMoved();
            vm.assertEq(uint256(actions[0].class), uint256(Class.Publish), "class");
            vm.assertEq(actions[0].golemId, golem, "of which Golem");
            vm.assertTrue(_differ(registry.word(golem), had), "it was written down");
            vm.assertFalse(_differ(registry.word(other), untouched), "of no other Golem");
        }
    }

    /// @dev ATK-14: the registry would obey the account, for it is the owner.
    function test_an_account_that_owns_its_golem_may_not_speak_as_the_owner() public {
        IGolemRegistry registry = new GolemRegistry();
        bytes32 golem = _register(registry, "first");
        address thief = actor("thief").account;
        vm.prank(_account);
        registry.updateVitality(golem, 2, 1);
        bytes[9] memory calls = [
            abi.encodeCall(IGolemRegistry.register, ("second", thief)),
            abi.encodeCall(IGolemRegistry.registerWithGrant, (_grant("third", thief), 0, "third")),
            abi.encodeCall(IGolemRegistry.attach, (golem, thief)),
            abi.encodeCall(IGolemRegistry.detach, (golem)),
            abi.encodeCall(IGolemRegistry.feed, (golem, 0)),
            abi.encodeCall(IGolemRegistry.advance, (golem, 4)),
            abi.encodeCall(IGolemRegistry.revoke, (golem)),
            abi.encodeCall(IGolemRegistry.revokeAll, ()),
            abi.encodeCall(IGolemRegistry.deregister, (golem))
        ];

        for (uint256 i = 0; i < calls.length; i++) {
            vm.prank(_account);
            (bool ok,) = address(registry).call(calls[i]);

            vm.assertTrue(ok, "the registry is content");
            // The first four bytes are wanted.
            // forge-lint: disable-next-line(unsafe-typecast)
            bytes4 selector = bytes4(calls[i]);
            vm.expectRevert(
                abi.encodeWithSelector(
                    Actions.Actions_UnknownCall.selector, address(registry), selector
                )
            );
            _decoder.decode(Role.Registry, address(registry), 0, calls[i]);
        }
    }

    /// @dev ATK-15: a word with stray bits is no value of its type, there as here.
    function test_the_registry_refuses_the_stray_bits_that_are_refused_here() public {
        IGolemRegistry registry = new GolemRegistry();
        bytes32 golem = _register(registry, "first");
        bytes4[6] memory selectors = [
            IGolemRegistry.updateVitality.selector,
            IGolemRegistry.updateVitality.selector,
            IGolemRegistry.setDreaming.selector,
            IGolemRegistry.updatePad.selector,
            IGolemRegistry.updatePad.selector,
            IGolemRegistry.updatePad.selector
        ];
        uint8[6] memory counts = [2, 2, 1, 3, 3, 3];
        uint8[6] memory bent = [0, 1, 0, 0, 1, 2];
        uint8[6] memory bits = [8, 16, 1, 8, 8, 8];

        for (uint256 i = 0; i < selectors.length; i++) {
            uint256[] memory words = new uint256[](counts[i]);
            bytes memory clean = abi.encodePacked(selectors[i], golem, words);
            words[bent[i]] = 1 << bits[i];
            bytes memory dirty = abi.encodePacked(selectors[i], golem, words);
            _act(Role.Registry, address(registry), clean);

            vm.prank(_account);
            (bool ok, bytes memory why) = address(registry).call(dirty);

            vm.assertFalse(ok, "refused by the registry");
            vm.assertEq(why, "", "before it reads what is said");
            vm.expectRevert(bytes(""));
            _decoder.decode(Role.Registry, address(registry), 0, dirty);
        }
    }

    /// @dev The names of the forms that only the second router has, from the interface it declares.
    function test_the_forms_of_multicall_are_what_the_interface_says() public pure {
        bytes4 both = type(IMulticallExtended).interfaceId;
        vm.assertEq(both, bytes4(0x5ae401dc) ^ bytes4(0x1f0464d1), "both forms");
    }

    // Calls

    function _swap(bool sell, bool low) private view returns (IQuoter.Exact memory) {
        (address from, address to) = sell ? (_weth, _usdc) : (_usdc, _weth);
        return IQuoter.Exact(from, to, 0, low ? 500 : 3000, 0);
    }

    /// @dev A price for WETH in the pool of 500, a thousandth below the present one.
    function _closeLimit() private view returns (uint160) {
        (uint160 price,,,,,,) = IPool(_pool).slot0();
        return _weth < _usdc ? price - price / 2000 : price + price / 2000;
    }

    function _exactInputSingle(uint256 which, IQuoter.Exact memory s, uint256 least)
        private
        view
        returns (bytes memory)
    {
        if (which == 0) {
            return abi.encodeCall(
                ISwapRouter.exactInputSingle,
                (ISwapRouter.ExactInputSingleParams({
                        tokenIn: s.tokenIn,
                        tokenOut: s.tokenOut,
                        fee: s.fee,
                        recipient: _recipient,
                        deadline: DEADLINE,
                        amountIn: s.amount,
                        amountOutMinimum: least,
                        sqrtPriceLimitX96: s.sqrtPriceLimitX96
                    }))
            );
        }
        return abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams({
                    tokenIn: s.tokenIn,
                    tokenOut: s.tokenOut,
                    fee: s.fee,
                    recipient: _recipient,
                    amountIn: s.amount,
                    amountOutMinimum: least,
                    sqrtPriceLimitX96: s.sqrtPriceLimitX96
                }))
        );
    }

    function _exactOutputSingle(uint256 which, IQuoter.Exact memory s, uint256 most)
        private
        view
        returns (bytes memory)
    {
        if (which == 0) {
            return abi.encodeCall(
                ISwapRouter.exactOutputSingle,
                (ISwapRouter.ExactOutputSingleParams({
                        tokenIn: s.tokenIn,
                        tokenOut: s.tokenOut,
                        fee: s.fee,
                        recipient: _recipient,
                        deadline: DEADLINE,
                        amountOut: s.amount,
                        amountInMaximum: most,
                        sqrtPriceLimitX96: s.sqrtPriceLimitX96
                    }))
            );
        }
        return abi.encodeCall(
            ISwapRouter02.exactOutputSingle,
            (ISwapRouter02.ExactOutputSingleParams({
                    tokenIn: s.tokenIn,
                    tokenOut: s.tokenOut,
                    fee: s.fee,
                    recipient: _recipient,
                    amountOut: s.amount,
                    amountInMaximum: most,
                    sqrtPriceLimitX96: s.sqrtPriceLimitX96
                }))
        );
    }

    function _exactInput(uint256 which, bytes memory path, uint256 amount, uint256 least)
        private
        view
        returns (bytes memory)
    {
        if (which == 0) {
            return abi.encodeCall(
                ISwapRouter.exactInput,
                (ISwapRouter.ExactInputParams(path, _recipient, DEADLINE, amount, least))
            );
        }
        return abi.encodeCall(
            ISwapRouter02.exactInput,
            (ISwapRouter02.ExactInputParams(path, _recipient, amount, least))
        );
    }

    function _exactOutput(uint256 which, bytes memory path, uint256 amount, uint256 most)
        private
        view
        returns (bytes memory)
    {
        if (which == 0) {
            return abi.encodeCall(
                ISwapRouter.exactOutput,
                (ISwapRouter.ExactOutputParams(path, _recipient, DEADLINE, amount, most))
            );
        }
        return abi.encodeCall(
            ISwapRouter02.exactOutput,
            (ISwapRouter02.ExactOutputParams(path, _recipient, amount, most))
        );
    }

    /// @dev From USDC to WETH and back, as often as there are hops. A pool is used once: it is
    ///      locked while it waits for its payment.
    function _path(uint256 hops) private view returns (bytes memory) {
        bytes memory one = abi.encodePacked(_usdc, uint24(500), _weth);
        if (hops == 2) return abi.encodePacked(one, uint24(3000), _usdc);
        return one;
    }

    function _mint(uint256 a, uint256 b, uint256 least0, uint256 least1)
        private
        view
        returns (bytes memory)
    {
        bool wethFirst = _weth < _usdc;
        return abi.encodeCall(
            INonfungiblePositionManager.mint,
            (INonfungiblePositionManager.MintParams({
                    token0: wethFirst ? _weth : _usdc,
                    token1: wethFirst ? _usdc : _weth,
                    fee: 500,
                    tickLower: -887270,
                    tickUpper: 887270,
                    amount0Desired: wethFirst ? a : b,
                    amount1Desired: wethFirst ? b : a,
                    amount0Min: least0,
                    amount1Min: least1,
                    recipient: _account,
                    deadline: DEADLINE
                }))
        );
    }

    function _mintPosition(uint256 a, uint256 b) private returns (uint256 id) {
        _startAgain();
        bytes memory data = _mint(a, b, 0, 0);
        bytes memory out = _made(Role.PositionManager, _manager, 0, data);
        (id,,,) = abi.decode(out, (uint256, uint128, uint256, uint256));
        vm.assertEq(INonfungiblePositionManager(_manager).ownerOf(id), _account, "owner");
    }

    /// @dev What a mint takes now; it is made and undone.
    function _usedByMint(uint256 a, uint256 b) private returns (uint256 used0, uint256 used1) {
        uint256 here = vm.snapshotState();
        vm.prank(_account);
        (bool minted, bytes memory out) = _manager.call(_mint(a, b, 0, 0));
        vm.assertTrue(minted, "minted");
        vm.revertToState(here);
        (,, used0, used1) = abi.decode(out, (uint256, uint128, uint256, uint256));
    }

    function _decrease(uint256 id, uint128 liquidity) private pure returns (bytes memory) {
        return abi.encodeCall(
            INonfungiblePositionManager.decreaseLiquidity,
            (INonfungiblePositionManager.DecreaseLiquidityParams(id, liquidity, 0, 0, DEADLINE))
        );
    }

    function _collect(uint256 id) private view returns (bytes memory) {
        return abi.encodeCall(
            INonfungiblePositionManager.collect,
            (INonfungiblePositionManager.CollectParams(
                    id, _recipient, type(uint128).max, type(uint128).max
                ))
        );
    }

    function _liquidity(uint256 id) private view returns (uint128 liquidity) {
        (,,,,,,, liquidity,,,,) = INonfungiblePositionManager(_manager).positions(id);
    }

    function _routerOf(uint256 which) private view returns (address, Role) {
        return which == 0 ? (_router, Role.SwapRouter) : (_router02, Role.SwapRouter02);
    }

    function _affordable(address token, uint256 amount) private view returns (uint256) {
        return token == _usdc ? within(amount, 1000, 400_000e6) : within(amount, 1e9, 150e18);
    }

    /// @dev A Golem of the account, with the account as its agent.
    function _register(IGolemRegistry registry, bytes32 salt) private returns (bytes32) {
        vm.prank(_account);
        return registry.register(salt, _account);
    }

    /// @dev Signed by the account for another Golem of its own.
    function _grant(bytes32 salt, address to) private returns (Delegation memory) {
        bytes32 golem = keccak256(abi.encode(_account, salt));
        bytes memory terms = abi.encodePacked(golem, _account, uint16(0), uint32(0));
        return link(plain(actor("account")), to, ROOT_AUTHORITY, only(address(0xca1), terms));
    }

    function _differ(GolemWord a, GolemWord b) private pure returns (bool) {
        return GolemWord.unwrap(a) != GolemWord.unwrap(b);
    }

    // Promises and what became of them

    Held private _before;
    Held private _beforeRecipient;

    function _tokens() private view returns (address[4] memory) {
        return [address(0), _weth, _usdc, _vault];
    }

    function _held(address who) private view returns (Held memory held) {
        address[4] memory tokens = _tokens();
        held.amounts[0] = who.balance;
        for (uint256 i = 1; i < tokens.length; i++) {
            held.amounts[i] = IHeldToken(tokens[i]).balanceOf(who);
        }
    }

    /// @dev Balances are compared with what they are now. Gives back what earlier swaps used up.
    function _startAgain() private {
        uint256 have = IHeldToken(_usdc).balanceOf(_account);
        if (have < USDC_HELD) {
            vm.prank(MINTER);
            IHeldToken(_usdc).mint(_account, USDC_HELD - have);
        }
        have = IHeldToken(_weth).balanceOf(_account);
        if (have < WETH_HELD) {
            vm.deal(_account, _account.balance + WETH_HELD - have);
            vm.prank(_account);
            IWeth(_weth).deposit{value: WETH_HELD - have}();
        }
        _before = _held(_account);
        _beforeRecipient = _held(_recipient);
    }

    function _act(Role role, address target, bytes memory data) private returns (Action[] memory) {
        return _actWith(role, target, 0, data);
    }

    function _actWith(Role role, address target, uint256 value, bytes memory data)
        private
        returns (Action[] memory actions)
    {
        _made(role, target, value, data);
        return _decoder.decode(role, target, value, data);
    }

    /// @dev Makes the call as the account, and holds every token against what the Actions said.
    function _made(Role role, address target, uint256 value, bytes memory data)
        private
        returns (bytes memory out)
    {
        _before = _held(_account);
        _beforeRecipient = _held(_recipient);
        Action[] memory actions = _decoder.decode(role, target, value, data);
        address[4] memory tokens = _tokens();
        uint256[4] memory most;
        uint256[4] memory least;
        for (uint256 i = 0; i < tokens.length; i++) {
            for (uint256 j = 0; j < actions.length; j++) {
                most[i] += _mostOut(actions[j], tokens[i]);
                least[i] += _leastIn(actions[j], tokens[i]);
            }
        }

        vm.prank(_account);
        bool ok;
        (ok, out) = target.call{value: value}(data);

        vm.assertTrue(ok, "the call was made");
        for (uint256 i = 0; i < tokens.length; i++) {
            vm.assertTrue(_lost(tokens[i]) <= most[i], "no more left than was said");
            vm.assertTrue(_gained(tokens[i]) >= least[i], "no less arrived than was said");
        }
    }

    /// @dev What an Action says leaves of a token, in the words of those who read it: a vault's
    ///      assets and a position's tokens are told by the vault and the manager.
    function _mostOut(Action memory action, address token) private view returns (uint256 most) {
        (address one, address two) = (action.tokenOut, action.tokenOut2);
        uint256 amount = action.amountOut;
        if (action.class == Class.Approve || action.class == Class.Disapprove) return 0;
        if (action.class == Class.Deposit) {
            one = IVault(action.target).asset();
            if (amount == 0) amount = IVault(action.target).previewMint(action.minimumIn);
        }
        if (action.class == Class.Withdraw && one == address(0)) {
            one = action.target;
            amount = IPreviewer(action.target).previewWithdraw(action.minimumIn);
        }
        if (action.class == Class.AddLiquidity && action.positionId != 0) {
            (,, one, two,,,,,,,,) =
                INonfungiblePositionManager(action.target).positions(action.positionId);
        }
        if (action.source != address(0) && action.source != _account) return 0;
        if (one == token) most += amount;
        if (two == token) most += action.amountOut2;
    }

    /// @dev Only what goes to the recipient of these tests; what comes back to the account is
    ///      looked at where it is.
    function _leastIn(Action memory action, address token) private view returns (uint256) {
        if (action.recipient != _recipient) return 0;
        address comes = action.tokenIn;
        if (action.class == Class.Withdraw) comes = IVault(action.target).asset();
        if (action.class == Class.Transfer && token == action.tokenOut) return action.amountOut;
        return comes == token ? action.minimumIn : 0;
    }

    function _assertFails(Role role, address target, bytes memory data) private {
        _decoder.decode(role, target, 0, data);
        vm.prank(_account);
        (bool ok,) = target.call(data);
        vm.assertFalse(ok, "one unit past the bound");
    }

    function _lost(address token) private view returns (uint256) {
        (uint256 had, uint256 has) = (_at(_before, token), _at(_held(_account), token));
        return had > has ? had - has : 0;
    }

    function _gained(address token) private view returns (uint256) {
        (uint256 had, uint256 has) = (_at(_beforeRecipient, token), _at(_held(_recipient), token));
        return has > had ? has - had : 0;
    }

    function _at(Held memory held, address token) private view returns (uint256) {
        address[4] memory tokens = _tokens();
        uint256 i = 0;
        while (tokens[i] != token) i++;
        return held.amounts[i];
    }

    /// @dev Just this much of just this token left the account.
    function _assertMoved(address token, uint256 amount) private view {
        address[4] memory tokens = _tokens();
        for (uint256 i = 0; i < tokens.length; i++) {
            vm.assertEq(_lost(tokens[i]), tokens[i] == token ? amount : 0, "what left");
        }
    }

    function _assertArrived(address token, uint256 amount) private view {
        vm.assertEq(_gained(token), amount, "what arrived");
    }

    function _assertNothingMoved() private view {
        address[4] memory tokens = _tokens();
        for (uint256 i = 0; i < tokens.length; i++) {
            vm.assertEq(_lost(tokens[i]), 0, "nothing left");
            vm.assertEq(_gained(tokens[i]), 0, "nothing arrived");
        }
    }
}

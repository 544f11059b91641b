// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {INonfungiblePositionManager, ISwapRouter02} from "../../src/interfaces/IUniswapV3.sol";
import {Role} from "../../src/rules/Actions.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice How a pool begins.
interface IPoolStarter {
    function createAndInitializePoolIfNecessary(
        address token0,
        address token1,
        uint24 fee,
        uint160 sqrtPriceX96
    ) external payable returns (address pool);
}

/// @notice A dollar of 6 decimals that behaves as badly as it is told.
contract OddToken {
    error OddToken_ResetFirst();

    mapping(address holder => uint256 amount) public balanceOf;
    mapping(address holder => mapping(address spender => uint256 amount)) public allowance;
    /// @dev Basis points that a transfer keeps for itself.
    uint256 private immutable _fee;
    bool private immutable _lies;
    bool private immutable _resets;

    constructor(uint256 fee, bool lies, bool resets) {
        (_fee, _lies, _resets) = (fee, lies, resets);
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        if (_resets && amount != 0 && allowance[msg.sender][spender] != 0) {
            revert OddToken_ResetFirst();
        }
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        if (_lies) return false;
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        if (_lies) return false;
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        return true;
    }

    function _move(address from, address to, uint256 amount) private {
        balanceOf[from] -= amount;
        balanceOf[to] += amount - amount * _fee / 10_000;
    }
}

/// @notice Tokens that an owner listed and that do not behave (ATK-26). The charter does not promise that
///         they do; it promises that recipients and caps bind all the same.
contract GolemCharterTokensTest is CharterCalls {
    /// @dev It gives less than the pool says, at the owner's risk; what was offered counts in full.
    function test_a_fee_on_transfer_token_is_counted_in_full_and_arrives_short() public {
        OddToken odd = _list(new OddToken(1_000, false, false));
        _market(odd);
        law.navCap = type(uint64).max;
        bytes memory data = _buy(odd, 100e6, 99e6, account);

        accepts(ROUTER_02, data);

        vm.assertEq(spent(), 3052 << 15, "counted in full");
        uint256 got = odd.balanceOf(account) - 1_000e6;
        vm.assertTrue(got < 99e6 && got > 89e6, "a tenth was kept by the token");
        refuses(overCap(3052 << 15, CAP, CAP), ROUTER_02, _buy(odd, CAP, CAP * 995 / 1000, account));
        address thief = actor("thief").account;
        refuses(wrongRecipient(thief, account), ROUTER_02, _buy(odd, 1e6, 99e4, thief));
    }

    /// @dev The pool is paid too little and undoes the swap, and the count with it.
    function test_a_fee_on_transfer_token_cannot_be_sold() public {
        OddToken odd = _list(new OddToken(1_000, false, false));
        _market(odd);
        uint256 before = odd.balanceOf(account);

        refuses(
            abi.encodeWithSignature("Error(string)", "IIA"),
            ROUTER_02,
            _swap(address(odd), address(USDC), 100e6, 99e6, account)
        );

        vm.assertEq(odd.balanceOf(account), before, "not sold");
        vm.assertEq(spendWord(), 0, "not counted");
    }

    /// @dev A `false` is no revert: the account does not read it, and nothing moves.
    function test_a_token_that_only_says_false_moves_nothing() public {
        OddToken odd = _list(new OddToken(0, true, false));

        accepts(address(odd), transfer(human.account, 100e6));

        vm.assertEq(odd.balanceOf(human.account), 0, "nothing arrived");
        vm.assertEq(odd.balanceOf(account), 1_000e6, "nothing left");
        address thief = actor("thief").account;
        refuses(wrongRecipient(thief, human.account), address(odd), transfer(thief, 1));
    }

    function test_a_token_without_code_moves_nothing() public {
        address none = actor("no token").account;
        law.tokens = bytes.concat(law.tokens, token(none, usdcUsd, 6));

        accepts(none, transfer(human.account, 100e6));
        accepts(none, approve(ROUTER_02, 1));

        address thief = actor("thief").account;
        refuses(wrongRecipient(thief, human.account), none, transfer(thief, 1));
        // Bought with real dollars, there is no pool that would sell it.
        refuses("", ROUTER_02, _swap(address(USDC), none, 100e6, 99e6, account));
        vm.assertEq(USDC.balanceOf(account), 10_000e6, "nothing paid");
    }

    function test_an_approval_that_must_be_reset_first_is_reset_in_a_batch() public {
        OddToken odd = _list(new OddToken(0, false, true));
        refuses(
            abi.encodeWithSelector(OddToken.OddToken_ResetFirst.selector),
            address(odd),
            approve(ROUTER_02, 2)
        );

        accepts(
            list(
                call(address(odd), approve(ROUTER_02, 0)), call(address(odd), approve(ROUTER_02, 2))
            )
        );

        vm.assertEq(odd.allowance(account, ROUTER_02), 2, "allowance");
    }

    /// @dev ATK-25: a look-alike that the owner did not list is nothing at all.
    function test_a_look_alike_is_refused() public {
        OddToken odd = new OddToken(0, false, false);
        odd.mint(account, 1_000e6);
        _market(odd);

        refuses(
            abi.encodeWithSignature("Actions_UnknownTarget(address)", address(odd)),
            address(odd),
            transfer(human.account, 1)
        );
        refuses(
            abi.encodeWithSignature("Listing_UnknownToken(address)", address(odd)),
            ROUTER_02,
            _buy(odd, 100e6, 99e6, account)
        );
    }

    function _list(OddToken odd) private returns (OddToken) {
        law.tokens = bytes.concat(law.tokens, token(address(odd), usdcUsd, 6));
        odd.mint(account, 1_000e6);
        vm.prank(account);
        odd.approve(ROUTER_02, type(uint256).max);
        return odd;
    }

    /// @dev A pool at a dollar each, deep enough for what the tests trade.
    function _market(OddToken odd) private {
        odd.mint(address(this), 10_000_000e6);
        vm.prank(FAUCET);
        USDC.mint(address(this), 10_000_000e6);
        odd.approve(POSITIONS, type(uint256).max);
        USDC.approve(POSITIONS, type(uint256).max);
        (address token0, address token1) = address(odd) < address(USDC)
            ? (address(odd), address(USDC))
            : (address(USDC), address(odd));
        IPoolStarter(POSITIONS)
            .createAndInitializePoolIfNecessary(token0, token1, FEE, uint160(1 << 96));
        _seed(odd, token0, token1);
    }

    function _seed(OddToken odd, address token0, address token1) private {
        INonfungiblePositionManager.MintParams memory p = INonfungiblePositionManager.MintParams({
            token0: token0,
            token1: token1,
            fee: FEE,
            tickLower: -887_270,
            tickUpper: 887_270,
            amount0Desired: 1_000_000e6,
            amount1Desired: 1_000_000e6,
            amount0Min: 0,
            amount1Min: 0,
            recipient: address(this),
            deadline: DEADLINE
        });
        // A token that keeps a part cannot pay a pool; the pool's books are made with an honest one.
        bytes memory code = address(odd).code;
        OddToken honest = new OddToken(0, false, false);
        vm.etch(address(odd), address(honest).code);
        INonfungiblePositionManager(POSITIONS).mint(p);
        vm.etch(address(odd), code);
    }

    function _buy(OddToken odd, uint256 amount, uint256 least, address recipient)
        private
        pure
        returns (bytes memory)
    {
        return _swap(address(USDC), address(odd), amount, least, recipient);
    }

    function _swap(address sold, address bought, uint256 amount, uint256 least, address recipient)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams({
                    tokenIn: sold,
                    tokenOut: bought,
                    fee: FEE,
                    recipient: recipient,
                    amountIn: amount,
                    amountOutMinimum: least,
                    sqrtPriceLimitX96: 0
                }))
        );
    }
}

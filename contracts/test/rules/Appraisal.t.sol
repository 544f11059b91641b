// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IVault} from "../../src/interfaces/ITokens.sol";
import {INonfungiblePositionManager, IUniswapV3Pool} from "../../src/interfaces/IUniswapV3.sol";
import {Action, Class} from "../../src/rules/Actions.sol";
import {Appraisal, Worth} from "../../src/rules/Appraisal.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {Positions} from "../../src/rules/Positions.sol";
import {CharterTest} from "../CharterTest.sol";

/// @dev An internal library is judged through a contract that calls it.
contract Appraiser {
    function measures(Class class) external pure returns (bool) {
        return Appraisal.measures(class);
    }

    function measure(bytes calldata listing, Action memory action)
        external
        view
        returns (Worth memory)
    {
        return Appraisal.measure(listing, Listing.noAnswers(listing), action);
    }

    function total(bytes calldata listing, Action[] memory actions)
        external
        view
        returns (uint256)
    {
        return Appraisal.total(listing, Listing.noAnswers(listing), actions);
    }
}

/// @notice A vault in which a share costs seven assets.
contract DearVault {
    address public immutable asset;

    constructor(address asset_) {
        asset = asset_;
    }

    function previewMint(uint256 shares) external pure returns (uint256) {
        return shares * 7;
    }
}

contract AppraisalTest is CharterTest {
    Appraiser private _appraiser;
    bytes private _listed;
    address private _account;

    function setUp() public override {
        super.setUp();
        _appraiser = new Appraiser();
        _account = actor("account").account;
        _listed = abi.encodePacked(
            address(0),
            uint32(0),
            uint8(2),
            uint8(0),
            token(address(USDC), usdcUsd, 6),
            token(address(WETH), ethUsd, 18)
        );
    }

    function test_four_classes_are_measured() public view {
        for (uint8 i = 0; i <= uint8(type(Class).max); i++) {
            bool measured = i == uint8(Class.Swap) || i == uint8(Class.AddLiquidity)
                || i == uint8(Class.RemoveLiquidity) || i == uint8(Class.Deposit);
            vm.assertTrue(_appraiser.measures(Class(i)) == measured, "measured");
        }
    }

    function test_a_swap_is_worth_what_leaves_and_what_comes_back() public view {
        Worth memory worth =
            _appraiser.measure(_listed, _swap(address(USDC), 100e6, address(WETH), 0.04e18));
        _assertWorth(worth, 100e6, 100e6, 0, 0);

        worth = _appraiser.measure(_listed, _swap(address(WETH), 1e18 + 1, address(USDC), 2499e6));
        _assertWorth(worth, 2500e6 + 1, 2499e6, 0, 0);
        worth = _appraiser.measure(_listed, _swap(address(USDC), 1, address(WETH), 399_999_999));
        _assertWorth(worth, 1, 0, 0, 0);
    }

    function test_a_deposit_is_worth_its_assets() public view {
        Action memory action;
        (action.class, action.target, action.amountOut) = (Class.Deposit, vault, 123e6);

        _assertWorth(_appraiser.measure(_listed, action), 123e6, 0, 0, 0);
    }

    /// @dev Shares have more decimals than assets, and earn.
    function test_minted_shares_are_worth_what_the_vault_takes_for_them() public {
        uint256 shares = 100e12;
        uint256 earned = IVault(vault).totalAssets() + 1000e6;
        vm.prank(FAUCET);
        USDC.mint(vault, earned);
        uint256 assets = IVault(vault).previewMint(shares);
        vm.assertTrue(assets > IVault(vault).convertToAssets(shares) - 1, "rounded up");
        Action memory action;
        (action.class, action.target) = (Class.Deposit, vault);
        (action.tokenIn, action.minimumIn) = (vault, shares);

        _assertWorth(_appraiser.measure(_listed, action), assets, 0, 0, 0);
    }

    function testFuzz_a_mint_is_asked_of_the_vault_and_a_deposit_is_not(uint96 amount) public {
        DearVault dear = new DearVault(address(USDC));
        Action memory action;
        (action.class, action.target, action.amountOut) = (Class.Deposit, address(dear), amount);
        vm.assertEq(_appraiser.measure(_listed, action).out, amount, "assets as they are");

        action.amountOut = 0;
        (action.tokenIn, action.minimumIn) = (address(dear), amount);
        vm.assertEq(_appraiser.measure(_listed, action).out, uint256(amount) * 7, "shares by price");
    }

    function test_a_deposit_of_what_nobody_listed_is_refused() public {
        DearVault other = new DearVault(address(0xbad));
        Action memory action;
        (action.class, action.target, action.amountOut) = (Class.Deposit, address(other), 1);

        vm.expectRevert(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(0xbad))
        );
        _appraiser.measure(_listed, action);
    }

    function test_new_liquidity_is_worth_both_tokens_and_names_its_pool() public view {
        Action memory action;
        (action.class, action.target, action.fee) = (Class.AddLiquidity, POSITIONS, 500);
        (action.tokenOut, action.amountOut) = (address(WETH), 0.1e18 + 1);
        (action.tokenOut2, action.amountOut2) = (address(USDC), 30e6);

        _assertWorth(_appraiser.measure(_listed, action), 280e6 + 1, 0, _spot(), _feedPrice());
    }

    function test_more_liquidity_is_worth_the_tokens_of_its_position() public {
        Action memory action;
        (action.class, action.target) = (Class.AddLiquidity, POSITIONS);
        action.positionId = _position();
        (action.amountOut, action.amountOut2) = (0.1e18, 30e6);

        _assertWorth(_appraiser.measure(_listed, action), 280e6, 0, _spot(), _feedPrice());
    }

    function test_liquidity_taken_back_sends_nothing_out_and_names_its_pool() public {
        Action memory action;
        (action.class, action.target) = (Class.RemoveLiquidity, POSITIONS);
        action.positionId = _position();

        _assertWorth(_appraiser.measure(_listed, action), 0, 0, _spot(), _feedPrice());
    }

    /// @dev The feeds' price is the one of the tokens in the pool's order.
    function test_the_feeds_price_moves_with_the_feeds() public {
        Action memory action;
        (action.class, action.target) = (Class.RemoveLiquidity, POSITIONS);
        action.positionId = _position();
        setPrice(ethUsd, 5000e8);
        vm.assertEq(
            _appraiser.measure(_listed, action).feedPrice, uint256(5000 << 128) / 1e12, "dearer"
        );
        setPrice(usdcUsd, 2e8);
        vm.assertEq(_appraiser.measure(_listed, action).feedPrice, _feedPrice(), "both dearer");
    }

    function test_liquidity_without_a_pool_or_a_listed_token_is_refused() public {
        Action memory action;
        (action.class, action.target, action.fee) = (Class.AddLiquidity, POSITIONS, 10_000);
        (action.tokenOut, action.tokenOut2) = (address(WETH), address(USDC));
        vm.expectRevert(
            abi.encodeWithSelector(
                Positions.Positions_NoPool.selector, address(WETH), address(USDC), 10_000
            )
        );
        _appraiser.measure(_listed, action);

        action.fee = 500;
        bytes memory poor = abi.encodePacked(
            address(0), uint32(0), uint8(1), uint8(0), token(address(WETH), ethUsd, 18)
        );
        vm.expectRevert(
            abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(USDC))
        );
        _appraiser.measure(poor, action);
    }

    function testFuzz_a_total_is_the_sum_of_what_is_measured(
        uint96[6] memory amounts,
        uint8[6] memory classes
    ) public view {
        Action[] memory actions = new Action[](6);
        uint256 sum = 0;
        for (uint256 i = 0; i < 6; i++) {
            actions[i] = _swap(address(USDC), amounts[i], address(WETH), 0);
            uint256 kind = classes[i] % 4;
            // A transfer of the same is worth nothing here, and needs no feed.
            if (kind == 1) (actions[i].class, actions[i].tokenOut) = (Class.Transfer, address(9));
            if (kind == 2) actions[i].class = Class.None;
            if (kind == 3) (actions[i].class, actions[i].target) = (Class.Deposit, vault);
            if (kind == 3) actions[i].tokenIn = address(0);
            if (kind == 0 || kind == 3) sum += amounts[i];
        }

        vm.assertEq(_appraiser.total(_listed, actions), sum, "total");
    }

    function test_a_total_of_nothing_is_nothing() public view {
        vm.assertEq(_appraiser.total(_listed, new Action[](0)), 0, "total");
    }

    /// @dev A multicall in each call of a batch: the largest there can be are summed, not wrapped around.
    function test_the_largest_amounts_at_the_largest_price_are_summed() public {
        bytes memory dear = abi.encodePacked(
            address(0), uint32(0), uint8(1), uint8(0), token(address(USDC), usdcUsd, 0)
        );
        setPrice(usdcUsd, int256(uint256(type(uint96).max)));
        Action[] memory actions = new Action[](64);
        for (uint256 i = 0; i < actions.length; i++) {
            actions[i] = _swap(address(USDC), type(uint128).max, address(USDC), 0);
        }

        uint256 each = _appraiser.measure(dear, actions[0]).out;
        vm.assertTrue(each > 1 << 216, "large");
        vm.assertEq(_appraiser.total(dear, actions), 64 * each, "total");
    }

    function _swap(address out, uint256 amount, address back, uint256 minimum)
        private
        pure
        returns (Action memory action)
    {
        action.class = Class.Swap;
        (action.tokenOut, action.amountOut) = (out, amount);
        (action.tokenIn, action.minimumIn) = (back, minimum);
    }

    function _spot() private view returns (uint256) {
        address pool = vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".pool_500");
        (uint160 root,,,,,,) = IUniswapV3Pool(pool).slot0();
        return uint256(root) * root >> 64;
    }

    /// @dev 2,500 dollars of six decimals for 10^18, times 2^128.
    function _feedPrice() private pure returns (uint256) {
        return uint256(2500 << 128) / 1e12;
    }

    function _position() private returns (uint256 id) {
        vm.prank(FAUCET);
        USDC.mint(_account, 100e6);
        vm.prank(_account);
        USDC.approve(POSITIONS, 100e6);
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
            recipient: _account,
            deadline: NOW
        });
        vm.prank(_account);
        (id,,,) = INonfungiblePositionManager(POSITIONS).mint(p);
    }

    function _assertWorth(
        Worth memory worth,
        uint256 out,
        uint256 back,
        uint256 poolPrice,
        uint256 feedPrice
    ) private pure {
        vm.assertEq(worth.out, out, "out");
        vm.assertEq(worth.back, back, "back");
        vm.assertEq(worth.poolPrice, poolPrice, "the pool's price");
        vm.assertEq(worth.feedPrice, feedPrice, "the feeds' price");
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {INonfungiblePositionManager, IUniswapV3Pool} from "../../src/interfaces/IUniswapV3.sol";
import {Positions} from "../../src/rules/Positions.sol";
import {PricedToken} from "../../src/rules/Valuation.sol";
import {CharterTest} from "../CharterTest.sol";

/// @dev An internal library is judged through a contract that calls it.
contract PositionReader {
    function requireOwned(address manager, uint256 positionId, address account) external view {
        Positions.requireOwned(manager, positionId, account);
    }

    function poolOf(address manager, uint256 positionId)
        external
        view
        returns (address token0, address token1, uint24 fee)
    {
        return Positions.poolOf(manager, positionId);
    }

    function spot(address manager, address token0, address token1, uint24 fee)
        external
        view
        returns (uint256)
    {
        return Positions.spot(manager, token0, token1, fee);
    }

    function byFeeds(
        PricedToken memory priced0,
        uint256 answer0,
        PricedToken memory priced1,
        uint256 answer1
    ) external pure returns (uint256) {
        return Positions.byFeeds(priced0, answer0, priced1, answer1);
    }
}

interface ITestFactory {
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address);
}

interface ITestPool {
    function initialize(uint160 sqrtPriceX96) external;
}

contract PositionsTest is CharterTest {
    uint160 private constant LOWEST = 4_295_128_739;
    uint160 private constant HIGHEST =
        1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341;
    bytes private constant OVERFLOW = abi.encodeWithSignature("Panic(uint256)", 0x11);

    PositionReader private _reader;
    address private _account;

    function setUp() public override {
        super.setUp();
        _reader = new PositionReader();
        _account = actor("account").account;
    }

    // Whose

    /// @dev ATK-45.
    function test_a_position_is_its_owners_alone() public {
        uint256 id = _position(500);

        _reader.requireOwned(POSITIONS, id, _account);
        address thief = actor("thief").account;
        vm.expectRevert(
            abi.encodeWithSelector(Positions.Positions_NotOwned.selector, id, _account, thief)
        );
        _reader.requireOwned(POSITIONS, id, thief);
    }

    function test_a_position_that_is_not_there_is_nobodys() public {
        vm.expectRevert(
            abi.encodeWithSignature("Error(string)", "ERC721: owner query for nonexistent token")
        );
        _reader.requireOwned(POSITIONS, 1 << 60, _account);
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "Invalid token ID"));
        _reader.poolOf(POSITIONS, 1 << 60);
    }

    function test_a_position_names_its_pool() public {
        uint24[2] memory fees = [uint24(500), 3000];
        for (uint256 i = 0; i < 2; i++) {
            (address token0, address token1, uint24 fee) =
                _reader.poolOf(POSITIONS, _position(fees[i]));

            vm.assertEq(token0, address(WETH), "token0");
            vm.assertEq(token1, address(USDC), "token1");
            vm.assertEq(fee, fees[i], "fee");
        }
    }

    // The pool's price

    /// @dev 2,500 dollars of six decimals for 10^18 wei is 2,500 ÷ 10^12 of a unit for a unit.
    function test_the_real_pools_are_near_the_feeds() public view {
        uint256 feeds = _feeds(18, 2500e8, 6, 1e8);
        vm.assertEq(feeds, uint256(2500 << 128) / 1e12, "2,500 dollars");

        uint24[2] memory fees = [uint24(500), 3000];
        for (uint256 i = 0; i < 2; i++) {
            uint256 spot = _reader.spot(POSITIONS, address(WETH), address(USDC), fees[i]);
            uint256 apart = spot > feeds ? spot - feeds : feeds - spot;
            vm.assertTrue(apart * 1000 < feeds, "within a tenth of a percent");
        }
    }

    /// @dev The same pair the other way round: the dearer token second, the decimals swapped.
    function test_a_pool_in_the_other_order_is_near_the_feeds() public {
        address dollar = address(0x1000);
        // The root of 10^12 ÷ 2,500, which is 20,000, times 2^96.
        _pool(dollar, address(WETH), uint160(20_000 << 96));

        uint256 spot = _reader.spot(POSITIONS, dollar, address(WETH), 10_000);

        vm.assertEq(spot, uint256(400_000_000 << 128), "four hundred million wei for a unit");
        vm.assertEq(spot, _feeds(6, 1e8, 18, 2500e8), "the feeds' price to the bit");
    }

    /// @dev The square in two halves of 80 bits, against one division in 512.
    function testFuzz_a_spot_is_the_square_of_the_root(uint160 root) public {
        root = uint160(within(root, LOWEST, HIGHEST));
        _pool(address(0x1000), address(0x2000), root);

        uint256 spot = _reader.spot(POSITIONS, address(0x1000), address(0x2000), 10_000);

        vm.assertEq(spot, _square(root), "the square, scaled");
        vm.assertTrue(spot > 0, "never nothing");
    }

    function test_the_extremes_of_a_pool_have_a_price() public {
        _pool(address(0x1000), address(0x2000), LOWEST);
        _pool(address(0x1000), address(0x3000), HIGHEST);

        vm.assertEq(
            _reader.spot(POSITIONS, address(0x1000), address(0x2000), 10_000), 1, "the lowest"
        );
        vm.assertEq(
            _reader.spot(POSITIONS, address(0x1000), address(0x3000), 10_000),
            _square(HIGHEST),
            "the highest"
        );
    }

    function test_no_pool_and_a_pool_without_a_price_are_refused() public {
        vm.expectRevert(_noPool(address(WETH), address(USDC), 10_000));
        _reader.spot(POSITIONS, address(WETH), address(USDC), 10_000);

        ITestFactory(_factory()).createPool(address(WETH), address(USDC), 10_000);
        vm.expectRevert(_noPool(address(WETH), address(USDC), 10_000));
        _reader.spot(POSITIONS, address(WETH), address(USDC), 10_000);
    }

    function test_a_spot_is_what_the_pool_says_now() public {
        (uint160 root,,,,,,) = IUniswapV3Pool(_bookPool()).slot0();
        vm.assertEq(
            _reader.spot(POSITIONS, address(WETH), address(USDC), 500), _square(root), "before"
        );

        vm.prank(FAUCET);
        USDC.mint(_account, 1_000_000e6);
        vm.prank(_account);
        USDC.approve(ROUTER_02, type(uint256).max);
        vm.prank(_account);
        (bool ok,) = ROUTER_02.call(sellUsdc(1_000_000e6, 0, _account));
        vm.assertTrue(ok, "sold");

        (uint160 moved,,,,,,) = IUniswapV3Pool(_bookPool()).slot0();
        vm.assertTrue(moved > root, "dearer");
        vm.assertEq(
            _reader.spot(POSITIONS, address(WETH), address(USDC), 500), _square(moved), "after"
        );
    }

    // The feeds' price

    function testFuzz_a_price_by_feeds_is_a_long_division(
        uint96 answer0,
        uint96 answer1,
        uint8[4] memory decimals
    ) public view {
        uint256 first = within(answer0, 1, type(uint96).max);
        uint256 second = within(answer1, 1, type(uint96).max);
        for (uint256 i = 0; i < 4; i++) {
            decimals[i] = uint8(within(decimals[i], 0, 18));
        }
        uint256 worth0 = first * _power(decimals[2]) * _power(decimals[3]);
        uint256 worth1 = second * _power(decimals[0]) * _power(decimals[1]);
        // Beyond that the price does not fit a word, and is refused; see below.
        vm.assume(worth0 / worth1 < 1 << 128);

        uint256 price = _reader.byFeeds(
            PricedToken(address(0), address(0), decimals[0], decimals[1], 0),
            first,
            PricedToken(address(0), address(0), decimals[2], decimals[3], 0),
            second
        );

        vm.assertEq(price, _divided(worth0, worth1), "price");
    }

    function test_a_price_that_does_not_fit_is_refused() public {
        vm.expectRevert(OVERFLOW);
        _feeds(0, type(uint96).max, 36, 1);
        // Decimals that no token has, and that 10^n has no room for.
        vm.expectRevert(OVERFLOW);
        _feeds(255, 1, 6, 1);
        vm.expectRevert(OVERFLOW);
        _feeds(6, 1, 255, 1);
    }

    // The naive side

    function _power(uint256 exponent) private pure returns (uint256 power) {
        power = 1;
        for (uint256 i = 0; i < exponent; i++) {
            power *= 10;
        }
    }

    function _divided(uint256 over, uint256 under) private pure returns (uint256 price) {
        price = over / under;
        uint256 rest = over % under;
        for (uint256 i = 0; i < 128; i++) {
            (price, rest) = (price * 2, rest * 2);
            if (rest >= under) (price, rest) = (price + 1, rest - under);
        }
    }

    function _square(uint256 root) private pure returns (uint256) {
        uint256 high = root >> 80;
        uint256 low = root & ((1 << 80) - 1);
        return ((high * high) << 96) + ((2 * high * low) << 16) + (low * low >> 64);
    }

    function _feeds(uint8 decimals0, uint256 answer0, uint8 decimals1, uint256 answer1)
        private
        view
        returns (uint256)
    {
        return _reader.byFeeds(
            PricedToken(address(0), address(0), decimals0, 8, 0),
            answer0,
            PricedToken(address(0), address(0), decimals1, 8, 0),
            answer1
        );
    }

    // The chain

    function _pool(address token0, address token1, uint160 root) private {
        ITestPool(ITestFactory(_factory()).createPool(token0, token1, 10_000)).initialize(root);
    }

    function _factory() private view returns (address) {
        return INonfungiblePositionManager(POSITIONS).factory();
    }

    function _bookPool() private view returns (address) {
        return vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".pool_500");
    }

    function _position(uint24 fee) private returns (uint256 id) {
        vm.prank(FAUCET);
        USDC.mint(_account, 1000e6);
        vm.prank(_account);
        USDC.approve(POSITIONS, 1000e6);
        // Dollars alone, below the price.
        INonfungiblePositionManager.MintParams memory p = INonfungiblePositionManager.MintParams({
            token0: address(WETH),
            token1: address(USDC),
            fee: fee,
            tickLower: -204_000,
            tickUpper: -201_000,
            amount0Desired: 0,
            amount1Desired: 1000e6,
            amount0Min: 0,
            amount1Min: 0,
            recipient: _account,
            deadline: NOW
        });
        vm.prank(_account);
        (id,,,) = INonfungiblePositionManager(POSITIONS).mint(p);
    }

    function _noPool(address token0, address token1, uint24 fee)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(Positions.Positions_NoPool.selector, token0, token1, fee);
    }
}

//! Tokens, Uniswap V3, vaults and price feeds: the functions Bardo calls.

alloy_sol_types::sol! {
    /// ERC-20, with the mint of the local chain's USDC.
    #[derive(Debug)]
    interface Erc20 {
        function balanceOf(address account) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address spender, uint256 amount) external returns (bool);
        function transfer(address to, uint256 amount) external returns (bool);
        function decimals() external view returns (uint8);
        function symbol() external view returns (string);
        function totalSupply() external view returns (uint256);
        function mint(address to, uint256 amount) external;
        function DOMAIN_SEPARATOR() external view returns (bytes32);

        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);
    }

    /// Wrapped ether.
    #[derive(Debug)]
    interface Weth9 {
        function deposit() external payable;
        function withdraw(uint256 amount) external;
    }

    /// Uniswap's SwapRouter02: no deadline in its structs.
    #[derive(Debug)]
    interface SwapRouter02 {
        struct ExactInputSingleParams {
            address tokenIn;
            address tokenOut;
            uint24 fee;
            address recipient;
            uint256 amountIn;
            uint256 amountOutMinimum;
            uint160 sqrtPriceLimitX96;
        }

        function exactInputSingle(ExactInputSingleParams params) external payable returns (uint256 amountOut);
        function factory() external view returns (address);
        function WETH9() external view returns (address);
        function positionManager() external view returns (address);
    }

    /// Uniswap's first router: every struct has a deadline.
    #[derive(Debug)]
    interface SwapRouter {
        struct ExactInputSingleParams {
            address tokenIn;
            address tokenOut;
            uint24 fee;
            address recipient;
            uint256 deadline;
            uint256 amountIn;
            uint256 amountOutMinimum;
            uint160 sqrtPriceLimitX96;
        }

        function exactInputSingle(ExactInputSingleParams params) external payable returns (uint256 amountOut);
    }

    /// Uniswap V3 pool.
    #[derive(Debug)]
    interface UniswapV3Pool {
        function slot0() external view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked);
        function liquidity() external view returns (uint128);

        event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick);
    }

    /// Uniswap V3 factory.
    #[derive(Debug)]
    interface UniswapV3Factory {
        function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address);
    }

    /// Uniswap V3 positions as NFTs.
    #[derive(Debug)]
    interface NonfungiblePositionManager {
        struct MintParams {
            address token0;
            address token1;
            uint24 fee;
            int24 tickLower;
            int24 tickUpper;
            uint256 amount0Desired;
            uint256 amount1Desired;
            uint256 amount0Min;
            uint256 amount1Min;
            address recipient;
            uint256 deadline;
        }

        struct IncreaseLiquidityParams {
            uint256 tokenId;
            uint256 amount0Desired;
            uint256 amount1Desired;
            uint256 amount0Min;
            uint256 amount1Min;
            uint256 deadline;
        }

        struct DecreaseLiquidityParams {
            uint256 tokenId;
            uint128 liquidity;
            uint256 amount0Min;
            uint256 amount1Min;
            uint256 deadline;
        }

        struct CollectParams {
            uint256 tokenId;
            address recipient;
            uint128 amount0Max;
            uint128 amount1Max;
        }

        function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) external payable returns (address pool);
        function mint(MintParams params) external payable returns (uint256 tokenId, uint128 liquidity, uint256 amount0, uint256 amount1);
        function increaseLiquidity(IncreaseLiquidityParams params) external payable returns (uint128 liquidity, uint256 amount0, uint256 amount1);
        function decreaseLiquidity(DecreaseLiquidityParams params) external payable returns (uint256 amount0, uint256 amount1);
        function collect(CollectParams params) external payable returns (uint256 amount0, uint256 amount1);
        function burn(uint256 tokenId) external payable;
        function positions(uint256 tokenId) external view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1);
        function ownerOf(uint256 tokenId) external view returns (address);
        function balanceOf(address owner) external view returns (uint256);
        function tokenOfOwnerByIndex(address owner, uint256 index) external view returns (uint256);
        function transferFrom(address from, address to, uint256 tokenId) external;
        function approve(address to, uint256 tokenId) external;
        function setApprovalForAll(address operator, bool approved) external;
        function multicall(bytes[] data) external payable returns (bytes[] results);
        function factory() external view returns (address);
    }

    /// Uniswap's quoter; its answers come from a call that reverts inside.
    #[derive(Debug)]
    interface QuoterV2 {
        struct QuoteExactInputSingleParams {
            address tokenIn;
            address tokenOut;
            uint256 amountIn;
            uint24 fee;
            uint160 sqrtPriceLimitX96;
        }

        function quoteExactInputSingle(QuoteExactInputSingleParams params) external returns (uint256 amountOut, uint160 sqrtPriceX96After, uint32 initializedTicksCrossed, uint256 gasEstimate);
    }

    /// ERC-4626 vault.
    #[derive(Debug)]
    interface Erc4626 {
        function asset() external view returns (address);
        function totalAssets() external view returns (uint256);
        function deposit(uint256 assets, address receiver) external returns (uint256 shares);
        function withdraw(uint256 assets, address receiver, address owner) external returns (uint256 shares);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets);
        function maxRedeem(address owner) external view returns (uint256);
        function convertToAssets(uint256 shares) external view returns (uint256);
        function previewMint(uint256 shares) external view returns (uint256);
    }

    /// A price feed with Chainlink's five functions, and the setter of the local chain's.
    #[derive(Debug)]
    interface PriceFeed {
        function decimals() external view returns (uint8);
        function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
        function aggregator() external view returns (address);
    }

    /// The second hop of a local feed.
    #[derive(Debug)]
    interface PriceAggregator {
        function set(int256 answer) external;
    }
}

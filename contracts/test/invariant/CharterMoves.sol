// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IKnowledgeMarket} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {
    INonfungiblePositionManager,
    ISwapRouter,
    ISwapRouter02
} from "../../src/interfaces/IUniswapV3.sol";
import {KnowledgeMarket} from "../../src/market/KnowledgeMarket.sol";
import {Role} from "../../src/rules/Actions.sol";
import {CharterTest} from "../CharterTest.sol";

/// @notice Stands in for the contract of SPEC C15: whatever is said to it, it has heard.
contract Listener is IGolemLifecycle {
    function spawnReplicant(bytes32, address, bytes32) external {}
    function settle(bytes32, bytes32) external {}
}

/// @notice Every call a charter knows, as a Golem would make it.
abstract contract CharterMoves is CharterTest {
    /// @dev One swap, whichever router and form carries it. In an exact output, `amount` is the most
    ///      that is paid and `minimum` what is bought.
    struct Swap {
        bool first;
        bool path;
        bool exactOutput;
        address sold;
        address bought;
        uint24 fee;
        uint256 amount;
        uint256 minimum;
        address to;
    }

    uint256 internal constant NEVER = type(uint40).max;

    address internal lifecycle;
    KnowledgeMarket internal market;

    function setUp() public virtual override {
        super.setUp();
        lifecycle = address(new Listener());
        market = new KnowledgeMarket();
    }

    /// @dev All the roles there are, for one key.
    function everyTarget(address agentKey) internal view returns (bytes memory) {
        bytes memory others = bytes.concat(
            target(ROUTER_02, Role.SwapRouter02),
            target(router, Role.SwapRouter),
            target(address(market), Role.Market)
        );
        return bytes.concat(
            others,
            target(POSITIONS, Role.PositionManager),
            target(vault, Role.Vault),
            target(agentKey, Role.AgentKey),
            target(lifecycle, Role.Lifecycle),
            target(address(registry), Role.Registry)
        );
    }

    // Swaps

    function swapCall(Swap memory s) internal view returns (Execution memory) {
        address to = s.first ? router : ROUTER_02;
        if (s.path) {
            bytes memory path = s.exactOutput
                ? abi.encodePacked(s.bought, s.fee, s.sold)
                : abi.encodePacked(s.sold, s.fee, s.bought);
            return call(to, pathData(s, path));
        }
        return call(to, s.first ? _single(s) : _single02(s));
    }

    /// @dev There and back through both pools: what is sold is what is bought.
    function roundTrip(Swap memory s) internal view returns (Execution memory) {
        address between = s.sold == address(USDC) ? address(WETH) : address(USDC);
        bytes memory path = abi.encodePacked(s.sold, uint24(500), between, uint24(3000), s.sold);
        return call(s.first ? router : ROUTER_02, pathData(s, path));
    }

    function pathData(Swap memory s, bytes memory path) internal pure returns (bytes memory) {
        if (s.first && s.exactOutput) {
            return abi.encodeCall(
                ISwapRouter.exactOutput,
                ISwapRouter.ExactOutputParams(path, s.to, NEVER, s.minimum, s.amount)
            );
        }
        if (s.first) {
            return abi.encodeCall(
                ISwapRouter.exactInput,
                ISwapRouter.ExactInputParams(path, s.to, NEVER, s.amount, s.minimum)
            );
        }
        if (s.exactOutput) {
            return abi.encodeCall(
                ISwapRouter02.exactOutput,
                ISwapRouter02.ExactOutputParams(path, s.to, s.minimum, s.amount)
            );
        }
        return abi.encodeCall(
            ISwapRouter02.exactInput,
            ISwapRouter02.ExactInputParams(path, s.to, s.amount, s.minimum)
        );
    }

    function _single(Swap memory s) private pure returns (bytes memory) {
        if (s.exactOutput) {
            return abi.encodeCall(
                ISwapRouter.exactOutputSingle,
                ISwapRouter.ExactOutputSingleParams(
                    s.sold, s.bought, s.fee, s.to, NEVER, s.minimum, s.amount, 0
                )
            );
        }
        return abi.encodeCall(
            ISwapRouter.exactInputSingle,
            ISwapRouter.ExactInputSingleParams(
                s.sold, s.bought, s.fee, s.to, NEVER, s.amount, s.minimum, 0
            )
        );
    }

    function _single02(Swap memory s) private pure returns (bytes memory) {
        if (s.exactOutput) {
            return abi.encodeCall(
                ISwapRouter02.exactOutputSingle,
                ISwapRouter02.ExactOutputSingleParams(
                    s.sold, s.bought, s.fee, s.to, s.minimum, s.amount, 0
                )
            );
        }
        return abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            ISwapRouter02.ExactInputSingleParams(
                s.sold, s.bought, s.fee, s.to, s.amount, s.minimum, 0
            )
        );
    }

    // Liquidity

    function mintCall(int24 reach, uint256 amount0, uint256 amount1, address to)
        internal
        pure
        returns (Execution memory)
    {
        INonfungiblePositionManager.MintParams memory p;
        (p.token0, p.token1, p.fee) = (address(WETH), address(USDC), 500);
        // Around 2,500 dollars an ether; the widest there is where the reach is zero.
        (p.tickLower, p.tickUpper) =
            reach == 0 ? (int24(-887_270), int24(887_270)) : (-198_080 - reach, -198_080 + reach);
        (p.amount0Desired, p.amount1Desired) = (amount0, amount1);
        (p.recipient, p.deadline) = (to, NEVER);
        return call(POSITIONS, abi.encodeCall(INonfungiblePositionManager.mint, p));
    }

    function increaseCall(uint256 id, uint256 amount0, uint256 amount1)
        internal
        pure
        returns (Execution memory)
    {
        INonfungiblePositionManager.IncreaseLiquidityParams memory p;
        (p.tokenId, p.amount0Desired, p.amount1Desired, p.deadline) = (id, amount0, amount1, NEVER);
        return call(POSITIONS, abi.encodeCall(INonfungiblePositionManager.increaseLiquidity, p));
    }

    function decreaseCall(uint256 id, uint128 liquidity) internal pure returns (Execution memory) {
        INonfungiblePositionManager.DecreaseLiquidityParams memory p;
        (p.tokenId, p.liquidity, p.deadline) = (id, liquidity, NEVER);
        return call(POSITIONS, abi.encodeCall(INonfungiblePositionManager.decreaseLiquidity, p));
    }

    function collectCall(uint256 id, address to) internal pure returns (Execution memory) {
        INonfungiblePositionManager.CollectParams memory p =
            INonfungiblePositionManager.CollectParams(id, to, type(uint128).max, type(uint128).max);
        return call(POSITIONS, abi.encodeCall(INonfungiblePositionManager.collect, p));
    }

    function burnCall(uint256 id) internal pure returns (Execution memory) {
        return call(POSITIONS, abi.encodeCall(INonfungiblePositionManager.burn, id));
    }

    // Vaults and tokens

    function depositCall(uint256 amount, bool shares, address to)
        internal
        view
        returns (Execution memory)
    {
        if (shares) return call(vault, abi.encodeCall(IVault.mint, (amount, to)));
        return call(vault, abi.encodeCall(IVault.deposit, (amount, to)));
    }

    function withdrawCall(uint256 amount, bool shares, address to, address from)
        internal
        view
        returns (Execution memory)
    {
        if (shares) return call(vault, abi.encodeCall(IVault.redeem, (amount, to, from)));
        return call(vault, abi.encodeCall(IVault.withdraw, (amount, to, from)));
    }

    function approveCall(address at, address spender, uint256 amount)
        internal
        pure
        returns (Execution memory)
    {
        return call(at, abi.encodeCall(IToken.approve, (spender, amount)));
    }

    function transferCall(address at, address to, uint256 amount)
        internal
        pure
        returns (Execution memory)
    {
        return call(at, abi.encodeCall(IToken.transfer, (to, amount)));
    }

    function transferFromCall(address at, address from, address to, uint256 amount)
        internal
        pure
        returns (Execution memory)
    {
        return call(at, abi.encodeCall(IToken.transferFrom, (from, to, amount)));
    }

    function wrapCall(uint256 amount) internal pure returns (Execution memory) {
        return Execution(address(WETH), amount, abi.encodeCall(IWeth.deposit, ()));
    }

    function unwrapCall(uint256 amount) internal pure returns (Execution memory) {
        return call(address(WETH), abi.encodeCall(IWeth.withdraw, amount));
    }

    // The Golem itself

    function topUpCall(address to, uint256 amount) internal pure returns (Execution memory) {
        return Execution(to, amount, "");
    }

    function spawnCall(bytes32 golemId) internal view returns (Execution memory) {
        return call(
            lifecycle, abi.encodeCall(IGolemLifecycle.spawnReplicant, (golemId, address(7), SALT))
        );
    }

    function settleCall(bytes32 golemId) internal view returns (Execution memory) {
        return call(lifecycle, abi.encodeCall(IGolemLifecycle.settle, (golemId, SALT)));
    }

    function heartbeatCall(bytes32 golemId) internal view returns (Execution memory) {
        return call(address(registry), abi.encodeCall(IGolemRegistry.heartbeat, (golemId, SALT)));
    }

    function sellCall(bytes32 entryId, address seller, address buyer)
        internal
        view
        returns (Execution memory)
    {
        return
            call(address(market), abi.encodeCall(IKnowledgeMarket.sell, (entryId, seller, buyer)));
    }

    function call(address to, bytes memory data) internal pure returns (Execution memory) {
        return Execution(to, 0, data);
    }

    /// @dev One die per question, so that a new question does not change the answers to the old.
    function dice(uint256 seed, string memory what) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, what)));
    }
}

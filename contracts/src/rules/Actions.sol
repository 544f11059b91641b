// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemLifecycle} from "../interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {IKnowledgeMarket} from "../interfaces/IKnowledgeMarket.sol";
import {IToken, IVault, IWeth} from "../interfaces/ITokens.sol";
import {
    IMulticall,
    INonfungiblePositionManager,
    ISwapRouter,
    ISwapRouter02
} from "../interfaces/IUniswapV3.sol";

/// @notice What kind of contract a target is, as the owner signed it.
enum Role {
    None,
    Token,
    Weth,
    SwapRouter,
    SwapRouter02,
    PositionManager,
    Vault,
    Lifecycle,
    AgentKey,
    Registry,
    Market
}

/// @notice What a call does. Every rule that speaks of classes has a word for each. None is no call's
///         class, so that an action nobody has classed is allowed nothing.
enum Class {
    None,
    Swap,
    AddLiquidity,
    RemoveLiquidity,
    Collect,
    BurnPosition,
    Deposit,
    Withdraw,
    Approve,
    Disapprove,
    Transfer,
    Wrap,
    Unwrap,
    GasTopUp,
    SpawnReplicant,
    Settle,
    Publish,
    Sell
}

/// @notice One effect of a call on the account that makes it. Unused fields are zero.
struct Action {
    Class class;
    address target;
    /// @dev What leaves the account at most; address(0) is the chain's own coin.
    address tokenOut;
    uint256 amountOut;
    address tokenOut2;
    uint256 amountOut2;
    /// @dev What comes back at least.
    address tokenIn;
    uint256 minimumIn;
    /// @dev Of a position's two tokens, at least this much each.
    uint256 minimum0;
    uint256 minimum1;
    /// @dev Who gets what the call pays out.
    address recipient;
    /// @dev Who may pull from the account afterwards.
    address spender;
    /// @dev Whose tokens, shares or knowledge are used; the account's own, or the call is refused.
    address source;
    uint256 positionId;
    uint24 fee;
    /// @dev Which Golem the call speaks of.
    bytes32 golemId;
    /// @dev Which knowledge is sold.
    bytes32 entryId;
}

/// @notice Reads a call the way its target will read it, and refuses what it does not know.
/// @dev Arguments are accepted in their one canonical encoding only: a second encoding of the same
///      values is a chance for two readers to disagree (ATK-15). Twin: `Actions` in Rust, to come
///      with `golem-safety`.
library Actions {
    /// @notice The owner named no such target, or gave it no role.
    error Actions_UnknownTarget(address target);
    /// @notice The target's role has no such function here.
    error Actions_UnknownCall(address target, bytes4 selector);
    /// @notice The call has too few bytes for a selector.
    error Actions_NoSelector(address target, uint256 length);
    /// @notice Arguments are not in their canonical encoding.
    error Actions_NotCanonical(address target, bytes4 selector);
    /// @notice The call carries coins that it does not need.
    error Actions_UnexpectedValue(address target, uint256 value);
    /// @notice A router's word for itself, its caller, or "all there is", or tokens of nobody: never an
    ///         owner's choice.
    error Actions_Sentinel(address target, uint256 value);
    /// @notice Gas money goes to the agent's key as a payment without calldata.
    error Actions_NotAPayment(address target, uint256 length);
    /// @notice With a price limit, an exact output may come short of the amount it names.
    error Actions_PriceLimit(address target, uint256 limit);
    /// @notice A swap's path is not token, fee, token, and so on.
    error Actions_Path(uint256 length);
    /// @notice A multicall of nothing, or of more than {MAX_INNER} calls.
    error Actions_Multicall(address target, uint256 length);
    /// @notice A right to pull that does not show in an allowance at once, or outlives the call.
    error Actions_HiddenApproval(address token, bytes4 selector);

    /// @notice Longest list inside a multicall.
    uint256 internal constant MAX_INNER = 8;

    uint256 private constant WORD = 32;
    uint256 private constant SELECTOR = 4;
    /// @dev address, and then fee and address once or more.
    uint256 private constant PATH_FIRST = 20;
    uint256 private constant PATH_STEP = 23;

    /// @notice Effects of one call; more than one only for a multicall.
    function decode(Role role, address target, uint256 value, bytes calldata data)
        internal
        pure
        returns (Action[] memory actions)
    {
        if (role == Role.None) revert Actions_UnknownTarget(target);
        if (role == Role.AgentKey) return _one(_topUp(target, value, data));
        if (data.length < SELECTOR) revert Actions_NoSelector(target, data.length);
        bytes4 selector = bytes4(data[:SELECTOR]);
        bytes calldata arguments = data[SELECTOR:];
        if (role == Role.Weth && selector == IWeth.deposit.selector) {
            return _one(_wrap(target, value, selector, arguments));
        }
        if (value != 0) revert Actions_UnexpectedValue(target, value);
        if (_hasMulticall(role, selector)) {
            (bytes[] memory inner, bytes calldata list) = unwrap(target, selector, arguments);
            return _inner(role, target, inner, list);
        }
        actions = new Action[](1);
        _call(actions[0], role, target, selector, arguments);
    }

    /// @notice Whether a call is a multicall, in a form that any target here has.
    function isMulticall(bytes4 selector) internal pure returns (bool) {
        // Two functions of one name have no `.selector`; the last two are theirs.
        return selector == IMulticall.multicall.selector || selector == 0x5ae401dc
            || selector == 0x1f0464d1;
    }

    /// @notice The calls inside a multicall, as its target will find them. Rules that know nothing of
    ///         roles look inside by this function too.
    /// @param selector One that {isMulticall}.
    /// @return inner One to {MAX_INNER} calls.
    /// @return list The same in calldata: offsets, then each call's length and bytes.
    function unwrap(address target, bytes4 selector, bytes calldata arguments)
        internal
        pure
        returns (bytes[] memory inner, bytes calldata list)
    {
        bytes memory canonical;
        if (selector == IMulticall.multicall.selector) {
            inner = abi.decode(arguments, (bytes[]));
            canonical = abi.encode(inner);
            list = arguments[WORD:];
        } else {
            bytes32 condition;
            (condition, inner) = abi.decode(arguments, (bytes32, bytes[]));
            canonical = abi.encode(condition, inner);
            list = arguments[2 * WORD:];
        }
        _requireSame(target, selector, arguments, canonical);
        if (inner.length == 0 || inner.length > MAX_INNER) {
            revert Actions_Multicall(target, inner.length);
        }
    }

    /// @dev Whether the role's contracts have this form of it.
    function _hasMulticall(Role role, bytes4 selector) private pure returns (bool) {
        if (!isMulticall(selector)) return false;
        if (role == Role.SwapRouter02) return true;
        return selector == IMulticall.multicall.selector
            && (role == Role.SwapRouter || role == Role.PositionManager);
    }

    /// @dev Multicalls do not nest: an inner one has no effect of its own and is unknown here.
    ///      `list` is in canonical form, so the calls stand in it one after the other.
    function _inner(Role role, address target, bytes[] memory inner, bytes calldata list)
        private
        pure
        returns (Action[] memory actions)
    {
        actions = new Action[](inner.length);
        uint256 at = (1 + inner.length) * WORD;
        for (uint256 i = 0; i < inner.length; i++) {
            uint256 length = inner[i].length;
            if (length < SELECTOR) revert Actions_NoSelector(target, length);
            at += WORD;
            bytes calldata call = list[at:at + length];
            at += (length + WORD - 1) / WORD * WORD;
            _call(actions[i], role, target, bytes4(call[:SELECTOR]), call[SELECTOR:]);
        }
    }

    function _call(
        Action memory action,
        Role role,
        address target,
        bytes4 selector,
        bytes calldata arguments
    ) private pure {
        action.target = target;
        if (role == Role.SwapRouter) {
            _swapRouter(action, selector, arguments);
        } else if (role == Role.SwapRouter02) {
            _swapRouter02(action, selector, arguments);
        } else if (role == Role.PositionManager) {
            _positionManager(action, selector, arguments);
        } else if (role == Role.Lifecycle) {
            _lifecycle(action, selector, arguments);
        } else if (role == Role.Registry) {
            _registry(action, selector, arguments);
        } else if (role == Role.Market) {
            _market(action, selector, arguments);
        } else if (role == Role.Vault && _isVaultCall(selector)) {
            _vault(action, selector, arguments);
        } else if (role == Role.Weth && selector == IWeth.withdraw.selector) {
            _requireLength(target, selector, arguments, 1);
            action.class = Class.Unwrap;
            action.tokenOut = target;
            action.amountOut = abi.decode(arguments, (uint256));
            action.minimumIn = action.amountOut;
        } else {
            _token(action, selector, arguments);
        }
    }

    // Swaps

    function _swapRouter(Action memory action, bytes4 selector, bytes calldata arguments)
        private
        pure
    {
        action.class = Class.Swap;
        if (selector == ISwapRouter.exactInputSingle.selector) {
            _requireLength(action.target, selector, arguments, 8);
            ISwapRouter.ExactInputSingleParams memory p =
                abi.decode(arguments, (ISwapRouter.ExactInputSingleParams));
            _swap(action, p.tokenIn, p.tokenOut, p.recipient, p.amountIn, p.amountOutMinimum);
            action.fee = p.fee;
        } else if (selector == ISwapRouter.exactOutputSingle.selector) {
            _requireLength(action.target, selector, arguments, 8);
            ISwapRouter.ExactOutputSingleParams memory p =
                abi.decode(arguments, (ISwapRouter.ExactOutputSingleParams));
            _requireNoLimit(action.target, p.sqrtPriceLimitX96);
            _swap(action, p.tokenIn, p.tokenOut, p.recipient, p.amountInMaximum, p.amountOut);
            action.fee = p.fee;
        } else if (selector == ISwapRouter.exactInput.selector) {
            ISwapRouter.ExactInputParams memory p =
                abi.decode(arguments, (ISwapRouter.ExactInputParams));
            _requireSame(action.target, selector, arguments, abi.encode(p));
            (address first, address last) = _ends(arguments, p.path.length);
            _swap(action, first, last, p.recipient, p.amountIn, p.amountOutMinimum);
        } else if (selector == ISwapRouter.exactOutput.selector) {
            ISwapRouter.ExactOutputParams memory p =
                abi.decode(arguments, (ISwapRouter.ExactOutputParams));
            _requireSame(action.target, selector, arguments, abi.encode(p));
            // The path of an exact output runs backwards: what is bought comes first.
            (address first, address last) = _ends(arguments, p.path.length);
            _swap(action, last, first, p.recipient, p.amountInMaximum, p.amountOut);
        } else {
            revert Actions_UnknownCall(action.target, selector);
        }
    }

    function _swapRouter02(Action memory action, bytes4 selector, bytes calldata arguments)
        private
        pure
    {
        action.class = Class.Swap;
        if (selector == ISwapRouter02.exactInputSingle.selector) {
            _requireLength(action.target, selector, arguments, 7);
            ISwapRouter02.ExactInputSingleParams memory p =
                abi.decode(arguments, (ISwapRouter02.ExactInputSingleParams));
            _swap(action, p.tokenIn, p.tokenOut, p.recipient, p.amountIn, p.amountOutMinimum);
            action.fee = p.fee;
        } else if (selector == ISwapRouter02.exactOutputSingle.selector) {
            _requireLength(action.target, selector, arguments, 7);
            ISwapRouter02.ExactOutputSingleParams memory p =
                abi.decode(arguments, (ISwapRouter02.ExactOutputSingleParams));
            _requireNoLimit(action.target, p.sqrtPriceLimitX96);
            _swap(action, p.tokenIn, p.tokenOut, p.recipient, p.amountInMaximum, p.amountOut);
            action.fee = p.fee;
        } else if (selector == ISwapRouter02.exactInput.selector) {
            ISwapRouter02.ExactInputParams memory p =
                abi.decode(arguments, (ISwapRouter02.ExactInputParams));
            _requireSame(action.target, selector, arguments, abi.encode(p));
            (address first, address last) = _ends(arguments, p.path.length);
            _swap(action, first, last, p.recipient, p.amountIn, p.amountOutMinimum);
        } else if (selector == ISwapRouter02.exactOutput.selector) {
            ISwapRouter02.ExactOutputParams memory p =
                abi.decode(arguments, (ISwapRouter02.ExactOutputParams));
            _requireSame(action.target, selector, arguments, abi.encode(p));
            (address first, address last) = _ends(arguments, p.path.length);
            _swap(action, last, first, p.recipient, p.amountInMaximum, p.amountOut);
        } else {
            revert Actions_UnknownCall(action.target, selector);
        }
    }

    /// @dev Routers read recipients 0, 1 and 2 as themselves or their caller, and an amount of 0 as
    ///      whatever they hold (SPEC D29).
    function _swap(
        Action memory action,
        address tokenOut,
        address tokenIn,
        address recipient,
        uint256 amountOut,
        uint256 minimumIn
    ) private pure {
        if (uint160(recipient) <= 2) {
            revert Actions_Sentinel(action.target, uint160(recipient));
        }
        if (amountOut == 0) revert Actions_Sentinel(action.target, 0);
        action.tokenOut = tokenOut;
        action.amountOut = amountOut;
        action.tokenIn = tokenIn;
        action.minimumIn = minimumIn;
        action.recipient = recipient;
    }

    /// @dev Both routers insist on the whole output only where no limit is set; with one, they stop
    ///      at the price, take what they took, and give what there was.
    function _requireNoLimit(address target, uint160 limit) private pure {
        if (limit != 0) revert Actions_PriceLimit(target, limit);
    }

    /// @dev First and last token of a path, which is all that follows the head of the struct.
    function _ends(bytes calldata arguments, uint256 length)
        private
        pure
        returns (address first, address last)
    {
        if (length < PATH_FIRST + PATH_STEP || (length - PATH_FIRST) % PATH_STEP != 0) {
            revert Actions_Path(length);
        }
        uint256 start = arguments.length - (length + WORD - 1) / WORD * WORD;
        first = address(bytes20(arguments[start:start + PATH_FIRST]));
        last = address(bytes20(arguments[start + length - PATH_FIRST:start + length]));
    }

    // Liquidity

    function _positionManager(Action memory action, bytes4 selector, bytes calldata arguments)
        private
        pure
    {
        address target = action.target;
        if (selector == INonfungiblePositionManager.mint.selector) {
            _requireLength(target, selector, arguments, 11);
            INonfungiblePositionManager.MintParams memory p =
                abi.decode(arguments, (INonfungiblePositionManager.MintParams));
            if (uint160(p.recipient) <= 2) revert Actions_Sentinel(target, uint160(p.recipient));
            action.class = Class.AddLiquidity;
            (action.tokenOut, action.amountOut) = (p.token0, p.amount0Desired);
            (action.tokenOut2, action.amountOut2) = (p.token1, p.amount1Desired);
            (action.minimum0, action.minimum1) = (p.amount0Min, p.amount1Min);
            (action.recipient, action.fee) = (p.recipient, p.fee);
        } else if (selector == INonfungiblePositionManager.increaseLiquidity.selector) {
            _requireLength(target, selector, arguments, 6);
            INonfungiblePositionManager.IncreaseLiquidityParams memory p =
                abi.decode(arguments, (INonfungiblePositionManager.IncreaseLiquidityParams));
            action.class = Class.AddLiquidity;
            action.positionId = p.tokenId;
            (action.amountOut, action.amountOut2) = (p.amount0Desired, p.amount1Desired);
            (action.minimum0, action.minimum1) = (p.amount0Min, p.amount1Min);
        } else if (selector == INonfungiblePositionManager.decreaseLiquidity.selector) {
            _requireLength(target, selector, arguments, 5);
            INonfungiblePositionManager.DecreaseLiquidityParams memory p =
                abi.decode(arguments, (INonfungiblePositionManager.DecreaseLiquidityParams));
            action.class = Class.RemoveLiquidity;
            action.positionId = p.tokenId;
            (action.minimum0, action.minimum1) = (p.amount0Min, p.amount1Min);
        } else if (selector == INonfungiblePositionManager.collect.selector) {
            _requireLength(target, selector, arguments, 4);
            INonfungiblePositionManager.CollectParams memory p =
                abi.decode(arguments, (INonfungiblePositionManager.CollectParams));
            if (uint160(p.recipient) <= 2) revert Actions_Sentinel(target, uint160(p.recipient));
            action.class = Class.Collect;
            (action.positionId, action.recipient) = (p.tokenId, p.recipient);
        } else if (selector == INonfungiblePositionManager.burn.selector) {
            _requireLength(target, selector, arguments, 1);
            action.class = Class.BurnPosition;
            action.positionId = abi.decode(arguments, (uint256));
        } else {
            revert Actions_UnknownCall(target, selector);
        }
    }

    // Vaults

    function _isVaultCall(bytes4 selector) private pure returns (bool) {
        return selector == IVault.deposit.selector || selector == IVault.mint.selector
            || selector == IVault.withdraw.selector || selector == IVault.redeem.selector;
    }

    /// @dev Amounts are in the vault's own terms: `tokenOut` or `tokenIn` is the vault for shares,
    ///      and zero for assets, whose token only the vault knows.
    function _vault(Action memory action, bytes4 selector, bytes calldata arguments) private pure {
        address target = action.target;
        uint256 amount;
        if (selector == IVault.deposit.selector || selector == IVault.mint.selector) {
            _requireLength(target, selector, arguments, 2);
            action.class = Class.Deposit;
            (amount, action.recipient) = abi.decode(arguments, (uint256, address));
            if (selector == IVault.deposit.selector) action.amountOut = amount;
            else (action.tokenIn, action.minimumIn) = (target, amount);
        } else {
            _requireLength(target, selector, arguments, 3);
            action.class = Class.Withdraw;
            (amount, action.recipient, action.source) =
                abi.decode(arguments, (uint256, address, address));
            if (selector == IVault.redeem.selector) {
                (action.tokenOut, action.amountOut) = (target, amount);
            } else {
                action.minimumIn = amount;
            }
        }
    }

    // Tokens

    function _token(Action memory action, bytes4 selector, bytes calldata arguments) private pure {
        address token = action.target;
        if (selector == IToken.transfer.selector) {
            _requireLength(token, selector, arguments, 2);
            action.class = Class.Transfer;
            action.tokenOut = token;
            (action.recipient, action.amountOut) = abi.decode(arguments, (address, uint256));
        } else if (selector == IToken.transferFrom.selector) {
            _requireLength(token, selector, arguments, 3);
            action.class = Class.Transfer;
            action.tokenOut = token;
            (action.source, action.recipient, action.amountOut) =
                abi.decode(arguments, (address, address, uint256));
            // Without a source it would be taken for a `transfer`.
            if (action.source == address(0)) revert Actions_Sentinel(token, 0);
        } else if (selector == IToken.approve.selector) {
            _requireLength(token, selector, arguments, 2);
            action.tokenOut = token;
            (action.spender, action.amountOut) = abi.decode(arguments, (address, uint256));
            action.class = action.amountOut == 0 ? Class.Disapprove : Class.Approve;
        } else if (
            selector == IToken.increaseAllowance.selector || selector == IToken.permit.selector
        ) {
            revert Actions_HiddenApproval(token, selector);
        } else {
            revert Actions_UnknownCall(token, selector);
        }
    }

    function _wrap(address target, uint256 value, bytes4 selector, bytes calldata arguments)
        private
        pure
        returns (Action memory action)
    {
        if (arguments.length != 0) revert Actions_NotCanonical(target, selector);
        action.class = Class.Wrap;
        action.target = target;
        action.amountOut = value;
        (action.tokenIn, action.minimumIn) = (target, value);
    }

    // The Golem itself

    /// @dev A plain payment; calldata would be a message to code that an EOA may have by EIP-7702.
    function _topUp(address target, uint256 value, bytes calldata data)
        private
        pure
        returns (Action memory action)
    {
        if (data.length != 0) revert Actions_NotAPayment(target, data.length);
        action.class = Class.GasTopUp;
        action.target = target;
        action.amountOut = value;
        action.recipient = target;
    }

    function _lifecycle(Action memory action, bytes4 selector, bytes calldata arguments)
        private
        pure
    {
        if (selector == IGolemLifecycle.spawnReplicant.selector) {
            _requireLength(action.target, selector, arguments, 3);
            action.class = Class.SpawnReplicant;
            (action.golemId,,) = abi.decode(arguments, (bytes32, address, bytes32));
        } else if (selector == IGolemLifecycle.settle.selector) {
            _requireLength(action.target, selector, arguments, 2);
            action.class = Class.Settle;
            (action.golemId,) = abi.decode(arguments, (bytes32, bytes32));
        } else {
            revert Actions_UnknownCall(action.target, selector);
        }
    }

    /// @dev What an agent says of itself. An owner's calls are unknown here: an account that is its
    ///      Golem's owner would speak with his voice (ATK-14).
    function _registry(Action memory action, bytes4 selector, bytes calldata arguments)
        private
        pure
    {
        action.class = Class.Publish;
        if (selector == IGolemRegistry.updateVitality.selector) {
            _requireLength(action.target, selector, arguments, 3);
            (action.golemId,,) = abi.decode(arguments, (bytes32, uint8, uint16));
        } else if (selector == IGolemRegistry.setDreaming.selector) {
            _requireLength(action.target, selector, arguments, 2);
            (action.golemId,) = abi.decode(arguments, (bytes32, bool));
        } else if (selector == IGolemRegistry.updatePad.selector) {
            _requireLength(action.target, selector, arguments, 4);
            (action.golemId,,,) = abi.decode(arguments, (bytes32, int8, int8, int8));
        } else if (selector == IGolemRegistry.heartbeat.selector) {
            _requireLength(action.target, selector, arguments, 2);
            (action.golemId,) = abi.decode(arguments, (bytes32, bytes32));
        } else if (selector == IGolemRegistry.close.selector) {
            _requireLength(action.target, selector, arguments, 1);
            action.golemId = abi.decode(arguments, (bytes32));
        } else {
            revert Actions_UnknownCall(action.target, selector);
        }
    }

    /// @dev A sale alone: to order, to publish and to give away is the owner's.
    function _market(Action memory action, bytes4 selector, bytes calldata arguments) private pure {
        if (selector != IKnowledgeMarket.sell.selector) {
            revert Actions_UnknownCall(action.target, selector);
        }
        _requireLength(action.target, selector, arguments, 3);
        action.class = Class.Sell;
        (action.entryId, action.source,) = abi.decode(arguments, (bytes32, address, address));
    }

    // Encodings

    /// @dev Static arguments have one length; dirty bits make `abi.decode` revert.
    function _requireLength(
        address target,
        bytes4 selector,
        bytes calldata arguments,
        uint256 words
    ) private pure {
        if (arguments.length != words * WORD) {
            revert Actions_NotCanonical(target, selector);
        }
    }

    /// @dev What has dynamic parts must be what encoding it gives.
    function _requireSame(
        address target,
        bytes4 selector,
        bytes calldata arguments,
        bytes memory canonical
    ) private pure {
        if (keccak256(arguments) != keccak256(canonical)) {
            revert Actions_NotCanonical(target, selector);
        }
    }

    function _one(Action memory action) private pure returns (Action[] memory actions) {
        actions = new Action[](1);
        actions[0] = action;
    }
}

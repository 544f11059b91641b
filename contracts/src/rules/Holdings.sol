// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IVault} from "../interfaces/ITokens.sol";
import {Action, Class, Role} from "./Actions.sol";
import {Phase} from "./GolemPhase.sol";
import {Listing} from "./Listing.sol";
import {Positions} from "./Positions.sol";

/// @notice What an owner signs about the things his account holds. Bounds are in basis points.
struct HoldingsBound {
    bytes32 golemId;
    /// @dev Whose holdings: the executor.
    address account;
    /// @dev Seconds after which what the registry says of the Golem is old.
    uint32 staleness;
    /// @dev Number of the mark, and no grant's: only who means to begin anew raises it.
    uint16 series;
    /// @dev Largest position beside everything, in either phase.
    uint16 thrivingBps;
    uint16 stableBps;
    /// @dev How far below its mark the account may fall: there is its floor, below which it only closes.
    uint16 drawdownBps;
    address registry;
    /// @dev What positions are bought with and sold for: no position itself.
    address cash;
    /// @dev What one execution may lose of what it gives, below that floor.
    uint16 lossBps;
}

/// @notice What the account has of one listed token, or of one vault's shares.
struct Holding {
    /// @dev address(0) is the chain's own coin.
    address token;
    /// @dev What it counts for: itself, and address(0) for ether in either form.
    address position;
    /// @dev The positions that withdrawals, which nobody measures, can make of it: itself first, then a
    ///      vault's asset, and so on. As many as are counted; set where it is worth something.
    address[] path;
    uint256 length;
    uint256 unitsBefore;
    uint256 units;
    /// @dev In micro-dollars and at the prices of now; zero until they are judged.
    uint256 valueBefore;
    uint256 value;
}

/// @notice How much of one thing an account holds, and how much less it is worth than it ever was.
/// @dev Terms, 106 bytes: golemId 32 | account 20 ‖ staleness u32 ‖ series u16 ‖ thrivingBps u16 ‖
///      stableBps u16 ‖ drawdownBps u16 | registry 20 ‖ cash 20 ‖ lossBps u16; then a {Listing}. Twin:
///      `Holdings` in Rust. State, one word: highest series in the upper 16 bits, mark in micro-dollars below.
///
///      A position is what is held of one listed token. Ether and wrapped ether are one: to wrap is not
///      to buy; whoever lists one lists the other, or what is wrapped seems new. A vault's shares are
///      a position of their own, whatever its asset, for what they risk is the vault; they are worth what
///      the books of all vaults on the way say, down to an asset that must be listed. And whatever leads
///      to a position is of its family, for it comes home unmeasured: when more of a position is bought,
///      all that leads to it counts, and so does all that leads to whatever it leads to itself. What is
///      not listed counts as nothing, so that none of it leaves: nothing is unwrapped unless coins and their
///      wrapped form are listed, and beside a trade nothing is wrapped unless coins are. Liquidity counts as
///      nothing too: it has left until it is taken back, which is an execution of its own, and under a share
///      there is none. Where a chain's coin is a token too, one of them is listed and not both.
///
///      An execution is judged by what the account held before it and holds after it, both at the
///      prices after it, so that no feed's move counts as its gain or loss. Each worth rounds down to a micro-dollar.
library Holdings {
    using Listing for bytes;

    /// @notice A position grew to `value`, and may be `most` in this phase.
    error Holdings_TooLarge(address position, uint256 value, uint256 most);
    /// @notice A position grew in a phase in which none may.
    error Holdings_PhaseForbidsGrowth(address position, Phase phase);
    /// @notice A position grew while the account is worth `total`, below `least`.
    error Holdings_Drawdown(address position, uint256 total, uint256 least);
    /// @notice Below its floor the account gave `out` for `back`.
    error Holdings_Loss(uint256 out, uint256 back, uint256 bps);
    /// @notice The grant's mark is of `series`, and one of `highest` was begun already.
    error Holdings_StaleSeries(uint256 series, uint256 highest);
    /// @notice Under a share, or below the floor, nothing is put where it comes back as something else.
    error Holdings_Liquidity();
    /// @notice What comes back from a pool is not there to be lost in the same execution.
    error Holdings_Mixed();
    /// @notice Malformed terms: more than the whole.
    error Holdings_Bps(uint256 bps);
    /// @notice Malformed terms: shorter than `least` bytes.
    error Holdings_TermsLength(uint256 least, uint256 actual);

    /// @dev What changed hands, and what there is, in micro-dollars.
    struct Sums {
        uint256 totalBefore;
        uint256 total;
        uint256 out;
        uint256 back;
    }

    /// @notice Length of the terms before the listing.
    uint256 internal constant HEADER = 106;

    uint256 private constant WHOLE = 10_000;
    uint256 private constant SERIES_AT = 240;
    uint256 private constant MARK = (1 << SERIES_AT) - 1;

    /// @dev Nothing is bought by these: what was the account's comes back, goes home, or stays. They need
    ///      no price, so that a dead feed traps nothing (SPEC D18), and in no phase does a limit on
    ///      growth keep a Golem from closing (SPEC C2). Whatever else there is, or will be, is measured.
    uint256 private constant UNMEASURED = (1 << uint256(Class.RemoveLiquidity))
        | (1 << uint256(Class.Collect)) | (1 << uint256(Class.BurnPosition))
        | (1 << uint256(Class.Withdraw)) | (1 << uint256(Class.Approve))
        | (1 << uint256(Class.Disapprove)) | (1 << uint256(Class.Transfer))
        | (1 << uint256(Class.Wrap)) | (1 << uint256(Class.Unwrap)) | (1 << uint256(Class.GasTopUp))
        | (1 << uint256(Class.Settle)) | (1 << uint256(Class.Publish));

    /// @dev What comes back by these was not worth anything before.
    uint256 private constant FROM_POOLS = (1 << uint256(Class.RemoveLiquidity))
        | (1 << uint256(Class.Collect)) | (1 << uint256(Class.BurnPosition));

    // Narrowing is how a field is cut out of a word: what stands above it falls away.
    // forge-lint: disable-start(unsafe-typecast)

    /// @notice Reads terms, refusing what is malformed.
    function decode(bytes calldata terms)
        internal
        pure
        returns (HoldingsBound memory bound, bytes calldata listing)
    {
        if (terms.length < HEADER) revert Holdings_TermsLength(HEADER, terms.length);
        listing = terms[HEADER:];
        listing.requireWhole();
        (bytes32 golemId, uint256 limits, uint256 registry) =
            abi.decode(terms[:96], (bytes32, uint256, uint256));
        bound.golemId = golemId;
        bound.account = address(uint160(limits >> 96));
        bound.staleness = uint32(limits >> 64);
        bound.series = uint16(limits >> 48);
        bound.thrivingBps = uint16(limits >> 32);
        bound.stableBps = uint16(limits >> 16);
        bound.drawdownBps = uint16(limits);
        bound.registry = address(uint160(registry >> 96));
        // The last 32 bytes: the end of the registry, and all the rest.
        uint256 last = abi.decode(terms[HEADER - 32:HEADER], (uint256));
        bound.cash = address(uint160(last >> 16));
        bound.lossBps = uint16(last);
        _requireBps(bound.thrivingBps);
        _requireBps(bound.stableBps);
        _requireBps(bound.drawdownBps);
        _requireBps(bound.lossBps);
    }

    // forge-lint: disable-end(unsafe-typecast)

    /// @notice Whether any of these could buy something, or lose it: then the account is measured.
    function measures(Action[] memory actions) internal pure returns (bool) {
        for (uint256 i = 0; i < actions.length; i++) {
            if (UNMEASURED & (1 << uint256(actions[i].class)) == 0) return true;
        }
        return false;
    }

    /// @notice Refuses what would be lost, or leave its share, unseen: liquidity, while a share is bound; to
    ///         unwrap what is then not looked at; to give what was not looked at before; and to give
    ///         in the same execution what a pool only gave back.
    function requireSeen(
        bytes calldata listing,
        HoldingsBound memory bound,
        Action[] memory actions
    ) internal view {
        bool shared = bound.thrivingBps < WHOLE || bound.stableBps < WHOLE;
        bool measured = measures(actions);
        for (uint256 i = 0; i < actions.length; i++) {
            Class class = actions[i].class;
            if (class == Class.AddLiquidity && shared) revert Holdings_Liquidity();
            // What is unwrapped was bought or wrapped, and what is wrapped is sold: both forms are looked
            // at, or neither.
            if (class == Class.Unwrap) listing.requireToken(actions[i].target);
            if (class == Class.Unwrap || (measured && class == Class.Wrap)) {
                listing.requireToken(address(0));
            }
            if (measured && FROM_POOLS & (1 << uint256(class)) != 0) revert Holdings_Mixed();
            _requireGiven(listing, actions[i]);
        }
    }

    /// @notice The word for a grant whose mark is of this series. A higher one than was ever begun has no
    ///         mark: its owner took money out, or knows what is left. A lower one is refused.
    /// @param word What the caller stores, zero at first.
    function begun(uint256 word, uint16 series) internal pure returns (uint256) {
        uint256 highest = word >> SERIES_AT;
        if (series < highest) revert Holdings_StaleSeries(series, highest);
        return series == highest ? word : uint256(series) << SERIES_AT;
    }

    /// @notice The most the account was worth when it was looked at, in micro-dollars.
    function markOf(uint256 word) internal pure returns (uint256) {
        return word & MARK;
    }

    /// @notice The highest series that was begun.
    function seriesOf(uint256 word) internal pure returns (uint256) {
        return word >> SERIES_AT;
    }

    /// @notice All that is listed and can be held, in the listing's order, with the units held now. An entry
    ///         that cannot, or repeats another, is a holding of nothing.
    function held(bytes calldata listing, address account)
        internal
        view
        returns (Holding[] memory holdings)
    {
        holdings = new Holding[](listing.tokenCount() + listing.targetCount());
        for (uint256 i = 0; i < holdings.length; i++) {
            (address token, bool holdable) = _entry(listing, i);
            if (!holdable || _repeats(listing, i, token)) continue;
            Holding memory holding = holdings[i];
            holding.token = token;
            holding.position = _positionOf(listing, token);
            holding.units = token == address(0) ? account.balance : IERC20(token).balanceOf(account);
        }
    }

    /// @notice Refuses an execution after which the account holds too much of something that it bought, or is
    ///         worth too little and did not merely close.
    /// @param holdings As {held} gives them, with the units before.
    /// @param word Of the grant's series, as {begun} gives it.
    /// @return next What the caller stores instead.
    /// @return below Whether the account is below its floor: then {requireClosing} has to be asked too.
    function judge(
        bytes calldata listing,
        HoldingsBound memory bound,
        Phase phase,
        Holding[] memory holdings,
        uint256 word
    ) internal view returns (uint256 next, bool below) {
        Sums memory sums = _sum(listing, holdings);
        // Also by what there was before: money that came since must not be there to be lost.
        uint256 mark = _max(markOf(word), _max(sums.totalBefore, sums.total));
        uint256 least = _least(mark, bound);
        // Who began below it is below it, whatever came in meanwhile; by the mark that was there then.
        below = sums.total < least || sums.totalBefore < _least(markOf(word), bound);
        if (below) _requirePaid(sums.out, sums.back, bound.lossBps);
        address cash = _positionOf(listing, bound.cash);
        uint256 bps = phase == Phase.Thriving ? bound.thrivingBps : bound.stableBps;
        uint256 most = sums.total * bps / WHOLE;
        for (uint256 i = 0; i < holdings.length; i++) {
            // What grew is held in some form.
            if (holdings[i].units == 0) continue;
            address position = holdings[i].position;
            if (position == cash) continue;
            (bool grew, uint256 value) = _together(holdings, position);
            if (!grew) continue;
            if (phase > Phase.Stable) revert Holdings_PhaseForbidsGrowth(position, phase);
            if (below) revert Holdings_Drawdown(position, sums.total, least);
            if (value > most) revert Holdings_TooLarge(position, value, most);
            _requireFamilies(holdings, i, cash, most);
        }
        // A mark beyond its field is kept as the most.
        next = (word & ~MARK) | (mark < MARK ? mark : MARK);
    }

    /// @notice Refuses what does not merely close, by what it says and not by what came of it: money that
    ///         somebody pays in meanwhile pays for no loss.
    function requireClosing(
        bytes calldata listing,
        HoldingsBound memory bound,
        Action[] memory actions
    ) internal view {
        uint256[] memory answers = listing.noAnswers();
        address cash = _positionOf(listing, bound.cash);
        for (uint256 i = 0; i < actions.length; i++) {
            Action memory action = actions[i];
            if (action.class == Class.Swap) {
                // Cash for cash is no sale: it is lost, and nothing is closed.
                bool sells = _positionOf(listing, action.tokenIn) == cash
                    && _positionOf(listing, action.tokenOut) != cash;
                _requirePaid(
                    listing.valueIn(answers, action.tokenOut, action.amountOut),
                    sells ? listing.valueIn(answers, action.tokenIn, action.minimumIn) : 0,
                    bound.lossBps
                );
            } else if (action.class == Class.Deposit || action.class == Class.AddLiquidity) {
                revert Holdings_Liquidity();
            }
        }
    }

    function _least(uint256 mark, HoldingsBound memory bound) private pure returns (uint256) {
        return (mark * (WHOLE - bound.drawdownBps) + WHOLE - 1) / WHOLE;
    }

    function _requirePaid(uint256 out, uint256 back, uint256 bps) private pure {
        if (back * WHOLE < out * (WHOLE - bps)) revert Holdings_Loss(out, back, bps);
    }

    // What is listed

    /// @dev Tokens first, then targets. A token can be held, for the owner named a feed; of targets only a
    ///      vault, by the entry's own word: what an address is by an earlier entry has been held there.
    function _entry(bytes calldata listing, uint256 index)
        private
        pure
        returns (address token, bool holdable)
    {
        uint256 tokens = listing.tokenCount();
        holdable = index < tokens;
        uint256 at = Listing.HEADER
            + (holdable
                    ? index * Listing.TOKEN
                    : tokens * Listing.TOKEN + (index - tokens) * Listing.TARGET);
        token = address(bytes20(listing[at:at + 20]));
        if (!holdable) holdable = uint8(listing[at + 20]) == uint8(Role.Vault);
    }

    function _repeats(bytes calldata listing, uint256 index, address token)
        private
        pure
        returns (bool)
    {
        for (uint256 i = 0; i < index; i++) {
            (address earlier,) = _entry(listing, i);
            if (earlier == token) return true;
        }
        return false;
    }

    function _positionOf(bytes calldata listing, address token) private pure returns (address) {
        return listing.role(token) == Role.Weth ? address(0) : token;
    }

    /// @dev Where withdrawals lead from a token, through as many vaults as are listed: a circle ends too.
    function _trace(bytes calldata listing, Holding memory holding) private view {
        uint256 most = listing.tokenCount() + listing.targetCount() + 1;
        address token = holding.token;
        holding.path = new address[](most);
        holding.path[0] = holding.position;
        holding.length = 1;
        while (holding.length < most && listing.role(token) == Role.Vault) {
            token = IVault(token).asset();
            holding.path[holding.length] = _positionOf(listing, token);
            holding.length++;
        }
    }

    /// @dev What is given for something else.
    function _requireGiven(bytes calldata listing, Action memory action) private view {
        if (action.class == Class.Swap) {
            _requireHoldable(listing, action.tokenOut);
        } else if (action.class == Class.Deposit) {
            _requireHoldable(listing, IVault(action.target).asset());
        } else if (action.class == Class.AddLiquidity) {
            (address token0, address token1) = (action.tokenOut, action.tokenOut2);
            // Only a mint names its pool; an increase names a position, and that names it.
            if (token0 == address(0)) {
                (token0, token1,) = Positions.poolOf(action.target, action.positionId);
            }
            _requireHoldable(listing, token0);
            _requireHoldable(listing, token1);
        }
    }

    function _requireHoldable(bytes calldata listing, address token) private pure {
        if (listing.role(token) != Role.Vault) listing.requireToken(token);
    }

    // What it is worth

    /// @dev Feeds are read once, and only for what is or was held.
    function _sum(bytes calldata listing, Holding[] memory holdings)
        private
        view
        returns (Sums memory sums)
    {
        uint256[] memory answers = listing.noAnswers();
        for (uint256 i = 0; i < holdings.length; i++) {
            Holding memory holding = holdings[i];
            if (holding.unitsBefore == 0 && holding.units == 0) continue;
            _trace(listing, holding);
            uint256 then = _value(listing, answers, holding, holding.unitsBefore);
            uint256 value = _value(listing, answers, holding, holding.units);
            (holding.valueBefore, holding.value) = (then, value);
            sums.totalBefore += then;
            sums.total += value;
        }
        for (uint256 i = 0; i < holdings.length; i++) {
            if (_isFirst(holdings, i)) _net(holdings, holdings[i].position, sums);
        }
    }

    /// @dev Whether no entry before it is of the same position.
    function _isFirst(Holding[] memory holdings, uint256 index) private pure returns (bool) {
        for (uint256 i = 0; i < index; i++) {
            if (holdings[i].position == holdings[index].position) return false;
        }
        return true;
    }

    /// @dev What was given or came back of a position, in all its forms: to wrap is to do neither.
    function _net(Holding[] memory holdings, address position, Sums memory sums) private pure {
        uint256 then;
        uint256 value;
        for (uint256 i = 0; i < holdings.length; i++) {
            if (holdings[i].position != position) continue;
            then += holdings[i].valueBefore;
            value += holdings[i].value;
        }
        if (value < then) sums.out += then - value;
        else sums.back += value - then;
    }

    function _value(
        bytes calldata listing,
        uint256[] memory answers,
        Holding memory holding,
        uint256 units
    ) private view returns (uint256) {
        address token = holding.token;
        for (uint256 i = 1; i < holding.length; i++) {
            units = IVault(token).convertToAssets(units);
            token = IVault(token).asset();
        }
        return listing.valueIn(answers, token, units);
    }

    /// @dev A position in all forms it is held in: whether it grew, by units, so that a price that moved is
    ///      no growth and whoever sells is never refused for it; and what it is worth.
    function _together(Holding[] memory holdings, address position)
        private
        pure
        returns (bool grew, uint256 value)
    {
        uint256 then;
        uint256 units;
        for (uint256 i = 0; i < holdings.length; i++) {
            Holding memory holding = holdings[i];
            if (holding.position != position) continue;
            then += holding.unitsBefore;
            units += holding.units;
            value += holding.value;
        }
        grew = units > then;
    }

    /// @dev A position that grew, and whatever it leads to, each with all that leads there; but for cash.
    function _requireFamilies(Holding[] memory holdings, uint256 grown, address cash, uint256 most)
        private
        pure
    {
        for (uint256 i = 0; i < holdings[grown].length; i++) {
            address node = holdings[grown].path[i];
            if (node != cash) _requireFamily(holdings, node, most);
        }
    }

    /// @dev What goes from one member to another, as into a vault, is no growth of the family; both sides are
    ///      at the prices of now.
    function _requireFamily(Holding[] memory holdings, address node, uint256 most) private pure {
        uint256 then;
        uint256 value;
        for (uint256 i = 0; i < holdings.length; i++) {
            if (!_leadsTo(holdings[i], node)) continue;
            then += holdings[i].valueBefore;
            value += holdings[i].value;
        }
        if (value > then && value > most) revert Holdings_TooLarge(node, value, most);
    }

    function _leadsTo(Holding memory holding, address node) private pure returns (bool) {
        for (uint256 i = 0; i < holding.length; i++) {
            if (holding.path[i] == node) return true;
        }
        return false;
    }

    function _max(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a : b;
    }

    function _requireBps(uint256 bps) private pure {
        if (bps > WHOLE) revert Holdings_Bps(bps);
    }
}

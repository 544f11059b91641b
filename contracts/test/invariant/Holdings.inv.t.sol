// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {HoldingsEnforcer} from "../../src/enforcers/HoldingsEnforcer.sol";
import {IToken} from "../../src/interfaces/ITokens.sol";
import {ISwapRouter02} from "../../src/interfaces/IUniswapV3.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {GolemRegistry} from "../../src/registry/GolemRegistry.sol";
import {Role} from "../../src/rules/Actions.sol";
import {CharterTest} from "../CharterTest.sol";
import {TestBase} from "../TestBase.sol";
import {SaidToken} from "../rules/Holdings.t.sol";

/// @notice Two Golems on one account, an owner who grants, feeds, deposits and withdraws, markets that move
///         and feeds that die, in any order. Every execution is judged a second time by a model that keeps its
///         own books and knows nothing of words, slots or locks.
contract HoldingsLife is CharterTest {
    struct Grant {
        uint8 golem;
        uint8 delegator;
        uint16 series;
        uint16 thriving;
        uint16 stable;
        uint16 drawdown;
        uint16 loss;
    }

    struct Book {
        uint256 mark;
        uint16 series;
    }

    /// @dev What an execution says that it does: so much of one kind for at least so much of another. Nothing
    ///      where `amount` is zero.
    struct Said {
        uint256 from;
        uint256 amount;
        uint256 to;
        uint256 least;
    }

    /// @dev Cash, wrapped ether, ether, gold, shares of a vault of gold.
    uint256 private constant KINDS = 5;
    address private constant ACCOUNT = address(0xacc);
    uint32 private constant STALENESS = 3 days;
    uint32 private constant MAX_AGE = 30 days;

    /// @dev As `asks`: for all that comes.
    uint8 internal constant HONEST = 1;

    /// @notice The first broken promise, if any.
    string public broken;
    uint256 public accepted;
    uint256 public refused;

    HoldingsEnforcer public immutable RULE = new HoldingsEnforcer();
    GolemRegistry private immutable REGISTRY = new GolemRegistry();
    SaidToken[5] private _tokens;
    PriceAggregator[3] private _feeds;
    uint256[3] internal _answers;
    uint256[3] private _answeredAt;
    uint256[5] internal _units;
    bytes32[2] private _golems;
    address[2] private _delegators = [address(0xde1), address(0xde2)];
    Grant[3] internal _grants;
    mapping(uint8 golem => mapping(uint8 delegator => Book)) private _books;
    Law private _law;
    uint256 private _now = NOW;

    constructor() {
        vm.warp(_now);
        for (uint256 i = 0; i < KINDS; i++) {
            if (i != 2) _tokens[i] = new SaidToken();
        }
        for (uint256 i = 0; i < 3; i++) {
            _feeds[i] = new PriceAggregator("", 8, address(this));
        }
        _tokens[4].say(address(_tokens[3]), 2e18);
        _answer(0, 1e8);
        _answer(1, 2_500e8);
        _answer(2, 40e8);
        _law.tokens = bytes.concat(
            token(address(_tokens[0]), address(_feeds[0]), 6),
            token(address(_tokens[1]), address(_feeds[1]), 18),
            token(address(0), address(_feeds[1]), 18),
            token(address(_tokens[3]), address(_feeds[2]), 6)
        );
        _law.targets = bytes.concat(
            target(address(_tokens[0]), Role.Token),
            target(address(_tokens[1]), Role.Weth),
            target(address(_tokens[4]), Role.Vault),
            target(ROUTER_02, Role.SwapRouter02)
        );
        _golems[0] = REGISTRY.register("one", address(this));
        _golems[1] = REGISTRY.register("two", address(this));
        for (uint8 i = 0; i < 3; i++) {
            _grants[i] = Grant(i % 2, 0, 1, 3_000, 2_000, 1_500, 100);
        }
        _units[0] = 10_000e6;
        _hold(_units);
    }

    // What happens

    /// @dev Part of one thing for another, at a loss or at a gain; sometimes for nothing. What is asked for is
    ///      what comes, or anything else.
    function trade(
        uint8 which,
        uint8 from,
        uint8 to,
        uint8 part,
        uint16 loss,
        uint8 asks,
        bool nests
    ) external {
        _trade(which, from % 5, to % 5, uint256(part) + 1, loss, asks, nests);
    }

    /// @dev Most trades are small and fair, and buy or sell for cash.
    function tradeFairly(uint8 which, uint8 what, uint8 part, uint8 loss, bool buys) external {
        uint256 other = within(what, 1, 4);
        (uint256 from, uint256 to) = buys ? (uint256(0), other) : (other, 0);
        _trade(which, from, to, within(part, 1, 64), within(loss, 0, 120), HONEST, false);
    }

    /// @dev As much as the bound lets through, or a micro-dollar more.
    function buyGoldToTheBound(uint8 which, bool more) external {
        vm.warp(_now);
        Grant memory grant = _grants[which % 3];
        uint256[5] memory next = _units;
        (uint8 phase,,) = REGISTRY.vitalityOf(_golems[grant.golem]);
        uint256 most = _worth(next) * (phase == 0 ? grant.thriving : grant.stable) / 10_000;
        uint256 inVault = _value(4, next[4]);
        most = most > inVault ? most - inVault : 0;
        // The most that is still worth no more.
        uint256 want = ((most + 1) * 1e8 - 1) / _answers[2];
        if (more) want += 1;
        if (want <= next[3]) return;
        uint256 cost = _value(3, want) + 1 - _value(3, next[3]);
        cost = cost * 1e8 / _answers[0];
        if (cost > next[0]) return;
        next[0] -= cost;
        next[3] = want;
        _execute(which, next, Said(0, cost, 3, want - _units[3]), false);
    }

    /// @dev What is not measured moves whatever it likes.
    function moveUnmeasured(uint8 which, uint8 from, uint8 part, uint8 to, bool nests) external {
        uint256[5] memory next = _units;
        uint256 amount = next[from % 5] * within(part, 0, 64) / 64;
        next[from % 5] -= amount;
        next[to % 5] += amount / 2;
        Said memory nothing;
        _execute(which, next, nothing, nests);
    }

    /// @dev By an owner or a stranger: in or out, without any Golem.
    function moveByHand(uint8 which, uint64 amount, bool takes) external {
        which = which % 5;
        uint256 unit = which == 1 || which == 2 ? 1e14 : 1e6;
        if (takes) _units[which] -= _units[which] * within(amount, 0, 64) / 64;
        else _units[which] += within(amount, 0, 3_000) * unit;
        _hold(_units);
    }

    function movePrice(uint8 which, uint16 percent) external {
        vm.warp(_now);
        which = which % 3;
        uint256 next = _answers[which] * within(percent, 60, 160) / 100;
        _answer(which, within(next, 1e6, 1e15));
    }

    function moveShares(uint16 percent) external {
        uint256 rate = _tokens[4].assetsPerShare() * within(percent, 80, 130) / 100;
        _tokens[4].say(address(_tokens[3]), within(rate, 1e15, 1e21));
    }

    function wait(uint32 time, bool refresh) external {
        _now += time % 4 == 0 ? within(time, 0, 40 days) : within(time, 0, 1 days);
        vm.warp(_now);
        if (!refresh) return;
        for (uint8 i = 0; i < 3; i++) {
            _answer(i, _answers[i]);
        }
    }

    function live(uint8 golem, uint8 phase, bool feeds) external {
        vm.warp(_now);
        bytes32 id = _golems[golem % 2];
        (uint8 written,,) = REGISTRY.vitalityOf(id);
        uint8 next = phase % 5;
        if (feeds && written > next % 2 && written < 4) REGISTRY.feed(id, next % 2);
        // The last one is for ever, and so it is rare.
        else if (!feeds && next > written && (next < 4 || phase > 240)) REGISTRY.advance(id, next);
        else REGISTRY.heartbeat(id, 0);
    }

    function grantAnew(uint8 which, Grant memory next, bool newer) external {
        uint16[4] memory bounds = [uint16(1_000), 2_500, 5_000, 10_000];
        uint16 series = _grants[which % 3].series;
        if (newer && series < type(uint16).max) series++;
        _grants[which % 3] = Grant(
            next.golem % 2,
            next.delegator % 2,
            series,
            bounds[next.thriving % 4],
            bounds[next.stable % 4],
            bounds[next.drawdown % 4] / 2,
            uint16(within(next.loss, 0, 300))
        );
    }

    // What it is judged by

    /// @dev Whether the rule keeps for every Golem what the model keeps.
    function booksAgree() external view returns (bool) {
        for (uint8 golem = 0; golem < 2; golem++) {
            for (uint8 delegator = 0; delegator < 2; delegator++) {
                (uint256 mark, uint256 series) =
                    RULE.highWaterMarkOf(address(this), _delegators[delegator], _golems[golem]);
                Book memory book = _books[golem][delegator];
                if (mark != book.mark || series != book.series) return false;
            }
        }
        return true;
    }

    function attempt(uint8 which, uint256[5] calldata next, bytes calldata execution, bool nests)
        external
    {
        Grant memory grant = _grants[which % 3];
        bytes memory terms = _terms(grant);
        address delegator = _delegators[grant.delegator];
        RULE.beforeHook(terms, "", SINGLE_DEFAULT, execution, 0, delegator, address(0));
        if (nests) this.nest(terms, execution, delegator);
        _hold(next);
        RULE.afterHook(terms, "", SINGLE_DEFAULT, execution, 0, delegator, address(0));
    }

    function nest(bytes calldata terms, bytes calldata execution, address delegator) external {
        try RULE.beforeHook(terms, "", SINGLE_DEFAULT, execution, 0, delegator, address(0)) {
            broken = "one began within another";
        } catch {}
    }

    /// @param asks How many 128ths of what comes are asked for, by those who do not ask for all of it.
    function _trade(
        uint8 which,
        uint256 from,
        uint256 to,
        uint256 part,
        uint256 loss,
        uint8 asks,
        bool nests
    ) internal {
        uint256[5] memory next = _units;
        uint256 amount = next[from] * part / 256;
        uint256 value = _value(from, amount) * (10_100 - within(loss, 0, 10_100)) / 10_000;
        next[from] -= amount;
        uint256 comes = _unitsFor(to, value);
        next[to] += comes;
        uint256 least = asks % 2 == HONEST ? comes : comes * asks / 128;
        // Zero of it would be whatever the router holds.
        _execute(which, next, Said(from, amount + 1, to, least), nests);
    }

    function _execute(uint8 which, uint256[5] memory next, Said memory said, bool nests) internal {
        vm.warp(_now);
        Grant memory grant = _grants[which % 3];
        Book memory book = _books[grant.golem][grant.delegator];
        bool allowed = grant.series >= book.series;
        if (grant.series > book.series) book = Book(0, grant.series);
        bool measured = said.amount != 0;
        if (allowed && measured) (allowed, book.mark) = _model(grant, book.mark, next, said);

        try this.attempt(which, next, measured ? _swap(said) : _approval(), nests) {
            if (!allowed) broken = "allowed what the model refuses";
            _units = next;
            _books[grant.golem][grant.delegator] = book;
            accepted++;
        } catch {
            if (allowed) broken = "refused what the model allows";
            _hold(_units);
            refused++;
        }
    }

    function _model(Grant memory grant, uint256 mark, uint256[5] memory next, Said memory said)
        private
        view
        returns (bool, uint256)
    {
        if (!_priced(next)) return (false, mark);
        uint256 was = _worth(_units);
        uint256 worth = _worth(next);
        // Who began below it does not come above it by what somebody pays in.
        bool below = was * 10_000 < mark * (10_000 - grant.drawdown);
        if (was > mark) mark = was;
        if (worth > mark) mark = worth;
        if (worth * 10_000 < mark * (10_000 - grant.drawdown)) below = true;
        if (below && (_loses(next, grant.loss) || !_closes(said, grant.loss))) {
            return (false, mark);
        }
        if (next[1] + next[2] > _units[1] + _units[2]) {
            uint256 value = _value(1, next[1]) + _value(2, next[2]);
            if (below || !_fits(grant, value, worth)) return (false, mark);
        }
        for (uint256 i = 3; i < KINDS; i++) {
            if (next[i] <= _units[i]) continue;
            if (below || !_fits(grant, _value(i, next[i]), worth)) return (false, mark);
            // Gold in either form is one family.
            uint256 family = _gold(next);
            if (family > _gold(_units) && !_fits(grant, family, worth)) return (false, mark);
        }
        return (true, mark);
    }

    function _fits(Grant memory grant, uint256 value, uint256 worth) private view returns (bool) {
        (uint8 phase,, uint40 updatedAt) = REGISTRY.vitalityOf(_golems[grant.golem]);
        if (phase >= 2 || _now - updatedAt > STALENESS) return false;
        return value * 10_000 <= worth * (phase == 0 ? grant.thriving : grant.stable);
    }

    /// @dev A sale of a position for cash, and for enough of it. What has no feed of its own is not sold at all.
    function _closes(Said memory said, uint256 bps) private view returns (bool) {
        if (said.from == 4 || _isOld(said.from)) return false;
        bool sells = said.from != 0 && said.to == 0;
        if (sells && _isOld(said.to)) return false;
        uint256 back = sells ? _value(said.to, said.least) : 0;
        return back * 10_000 >= _value(said.from, said.amount) * (10_000 - bps);
    }

    function _loses(uint256[5] memory next, uint256 bps) private view returns (bool) {
        uint256 gave = 0;
        uint256 got = 0;
        for (uint256 i = 0; i < KINDS; i++) {
            (uint256 was, uint256 worth) = (_value(i, _units[i]), _value(i, next[i]));
            // Ether is one thing, wrapped or not.
            if (i == 2) continue;
            if (i == 1) {
                was += _value(2, _units[2]);
                worth += _value(2, next[2]);
            }
            if (worth < was) gave += was - worth;
            else got += worth - was;
        }
        return got * 10_000 < gave * (10_000 - bps);
    }

    /// @dev Whether everything that is, or was, held has a price that counts.
    function _priced(uint256[5] memory next) private view returns (bool) {
        for (uint256 i = 0; i < KINDS; i++) {
            bool holds = next[i] != 0 || _units[i] != 0;
            if (holds && _isOld(i)) return false;
        }
        return true;
    }

    function _isOld(uint256 kind) private view returns (bool) {
        return _now - _answeredAt[_feedOf(kind)] > MAX_AGE;
    }

    function _gold(uint256[5] memory units) private view returns (uint256) {
        return _value(3, units[3]) + _value(4, units[4]);
    }

    function _worth(uint256[5] memory units) internal view returns (uint256 sum) {
        for (uint256 i = 0; i < KINDS; i++) {
            sum += _value(i, units[i]);
        }
    }

    function _value(uint256 kind, uint256 units) internal view returns (uint256) {
        if (kind == 4) units = _assets(units);
        return units * _answers[_feedOf(kind)] / (kind == 1 || kind == 2 ? 1e20 : 1e8);
    }

    function _assets(uint256 shares) internal view returns (uint256) {
        return shares * _tokens[4].assetsPerShare() / 1e18;
    }

    function _unitsFor(uint256 kind, uint256 value) internal view returns (uint256 units) {
        units = value * (kind == 1 || kind == 2 ? 1e20 : 1e8) / _answers[_feedOf(kind)];
        if (kind == 4) units = units * 1e18 / _tokens[4].assetsPerShare();
    }

    function _feedOf(uint256 kind) private pure returns (uint256) {
        return kind == 1 || kind == 2 ? 1 : kind > 2 ? 2 : 0;
    }

    // How it is done

    function _hold(uint256[5] memory units) internal {
        for (uint256 i = 0; i < KINDS; i++) {
            if (i == 2) vm.deal(ACCOUNT, units[i]);
            else _tokens[i].hold(ACCOUNT, units[i]);
        }
    }

    function _answer(uint8 which, uint256 answer) internal {
        // Answers are far below 2^255.
        // forge-lint: disable-next-line(unsafe-typecast)
        _feeds[which].set(int256(answer));
        (_answers[which], _answeredAt[which]) = (answer, _now);
    }

    function _terms(Grant memory grant) private view returns (bytes memory) {
        return bytes.concat(
            abi.encodePacked(_golems[grant.golem], ACCOUNT, STALENESS, grant.series),
            abi.encodePacked(grant.thriving, grant.stable, grant.drawdown),
            abi.encodePacked(address(REGISTRY), address(_tokens[0]), grant.loss),
            listing(_law)
        );
    }

    /// @dev What it says; what it moves in truth is for the life to say. Ether goes and comes wrapped.
    function _swap(Said memory said) private view returns (bytes memory) {
        ISwapRouter02.ExactInputSingleParams memory params;
        params.tokenIn = address(_tokens[said.from == 2 ? 1 : said.from]);
        params.tokenOut = address(_tokens[said.to == 2 ? 1 : said.to]);
        (params.fee, params.recipient) = (500, ACCOUNT);
        (params.amountIn, params.amountOutMinimum) = (said.amount, said.least);
        return single(ROUTER_02, abi.encodeCall(ISwapRouter02.exactInputSingle, (params)));
    }

    function _approval() private view returns (bytes memory) {
        return single(address(_tokens[0]), abi.encodeCall(IToken.approve, (ROUTER_02, 1)));
    }
}

/// @notice One that has fallen below its floor, with prices that stand still: what it is promised over all that is left of
///         its life, without a word on how a single execution is judged.
contract HoldingsFall is HoldingsLife {
    struct Move {
        uint8 from;
        uint8 to;
        uint8 part;
        uint16 loss;
        bool greedy;
        uint8 wraps;
        bool asksForLess;
    }

    /// @dev What is given is given once, since nothing but cash may grow: so all that is ever lost is a share of what was
    ///      no cash at the fall.
    function fall(uint256[5] memory shares, uint16 loss, Move[] calldata moves)
        external
        returns (uint256 lost, uint256 most)
    {
        _grants[0] = Grant(0, 0, 1, 10_000, 10_000, 500, uint16(within(loss, 0, 300)));
        uint256[5] memory units;
        units[0] = within(shares[0], 1_000e6, 5_000e6);
        for (uint256 i = 1; i < 5; i++) {
            units[i] = within(shares[i], 100, 5_000) * (i < 3 ? 1e16 : 1e5);
        }
        _units = units;
        _hold(units);
        // The mark, by the smallest sale there is.
        _trade(0, 3, 0, 1, 100, HONEST, false);
        _answer(1, _answers[1] / 2);
        _answer(2, _answers[2] / 2);
        uint256 worth = _worth(_units);
        uint256 notCash = worth - _value(0, _units[0]);
        most = notCash * _grants[0].loss / 10_000;
        for (uint256 i = 0; i < moves.length && i < 32; i++) {
            Move calldata move = moves[i];
            _move(move);
            // Each may round once for every token that it moves.
            vm.assertTrue(_worth(_units) + most + 5 * (i + 1) >= worth, "lost over a life");
        }
        uint256 left = _worth(_units);
        lost = left < worth ? worth - left : 0;
    }

    /// @dev Part of one thing for another, and beside it ether changes its form. The greedy want back what is
    ///      left of both, as if a form were given too.
    function _move(Move calldata move) private {
        // Shares are taken back, and then what they were made of is sold.
        if (move.from % 5 == 4 && move.to % 2 == 0) return _redeem(uint256(move.part) + 1);
        // Only cash may grow, and so it mostly does.
        (uint256 from, uint256 to) = (move.from % 5, move.to % 4 == 0 ? move.to / 4 % 5 : 0);
        uint256[5] memory next = _units;
        (uint256 plain, uint256 wrapped) = move.wraps % 2 == 0 ? (2, 1) : (1, 2);
        uint256 form = next[plain] * move.wraps / 255;
        next[plain] -= form;
        next[wrapped] += form;
        uint256 amount = next[from] * (uint256(move.part) + 1) / 256;
        uint256 given = _value(from, amount);
        uint256 lost = given * within(move.loss, 0, 10_000) / 10_000;
        if (move.greedy) lost = (given + _value(1, form)) * _grants[0].loss / 10_000;
        next[from] -= amount;
        uint256 comes = _unitsFor(to, lost < given ? given - lost : 0);
        next[to] += comes;
        // What is asked for is judged by itself: here most ask for all that was given, whatever comes.
        uint256 least = move.asksForLess ? comes : _unitsFor(to, given) + 1;
        _execute(0, next, Said(from, amount + 1, to, least), false);
    }

    function _redeem(uint256 part) private {
        uint256[5] memory next = _units;
        uint256 shares = next[4] * part / 256;
        next[4] -= shares;
        next[3] += _assets(shares);
        Said memory nothing;
        _execute(0, next, nothing, false);
    }
}

contract HoldingsFallTest is TestBase {
    /// @dev The promise that an owner reads: below the floor positions are closed, and their closing costs a share of them.
    function testFuzz_below_the_floor_a_life_loses_a_share_of_its_positions(
        uint256[5] memory shares,
        uint16 loss,
        HoldingsFall.Move[] memory moves
    ) public {
        new HoldingsFall().fall(shares, loss, moves);
    }

    /// @dev All positions closed at the bound, one after the other: the share is reached, and then there is nothing to lose.
    function test_the_share_is_reached() public {
        HoldingsFall life = new HoldingsFall();
        HoldingsFall.Move[] memory moves = new HoldingsFall.Move[](6);
        for (uint8 i = 1; i < 5; i++) {
            moves[4 - i] = HoldingsFall.Move(i, 0, 255, 0, true, 0, false);
        }
        (moves[4], moves[5]) = (moves[1], HoldingsFall.Move(0, 0, 255, 0, true, 0, false));
        uint256[5] memory shares;
        (uint256 lost, uint256 most) = life.fall(shares, 100, moves);
        vm.assertTrue(lost <= most + 30 && lost + 30 >= most, "all of the share, to a rounding");
    }
}

contract HoldingsInvariantTest is TestBase {
    struct Selectors {
        address addr;
        bytes4[] selectors;
    }

    HoldingsLife private _life;

    function setUp() public {
        _life = new HoldingsLife();
    }

    /// @dev Asked by forge: whom to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_life);
    }

    /// @dev Asked by forge: what to call.
    function targetSelectors() public view returns (Selectors[] memory targets) {
        targets = new Selectors[](1);
        targets[0].addr = address(_life);
        targets[0].selectors = new bytes4[](10);
        targets[0].selectors[0] = HoldingsLife.trade.selector;
        targets[0].selectors[1] = HoldingsLife.tradeFairly.selector;
        targets[0].selectors[2] = HoldingsLife.buyGoldToTheBound.selector;
        targets[0].selectors[3] = HoldingsLife.moveUnmeasured.selector;
        targets[0].selectors[4] = HoldingsLife.moveByHand.selector;
        targets[0].selectors[5] = HoldingsLife.movePrice.selector;
        targets[0].selectors[6] = HoldingsLife.moveShares.selector;
        targets[0].selectors[7] = HoldingsLife.wait.selector;
        targets[0].selectors[8] = HoldingsLife.live.selector;
        targets[0].selectors[9] = HoldingsLife.grantAnew.selector;
    }

    /// @dev ATK-27, ATK-28, ATK-31.
    /// forge-config: default.invariant.runs = 96
    /// forge-config: default.invariant.depth = 96
    function invariant_every_verdict_and_every_mark_is_the_models() public view {
        vm.assertEq(_life.broken(), "", "broken promise");
        vm.assertTrue(_life.booksAgree(), "books");
    }

    /// @dev A walk that only ever gets one answer would prove nothing.
    function test_the_walk_is_accepted_and_refused() public {
        _life.tradeFairly(0, 3, 32, 0, true);
        vm.assertEq(_life.accepted(), 1, "an eighth for gold");
        _life.buyGoldToTheBound(0, true);
        vm.assertEq(_life.refused(), 1, "more than the bound");
        _life.buyGoldToTheBound(0, false);
        vm.assertEq(_life.accepted(), 2, "the bound");
        _life.moveByHand(0, 40, true);
        _life.tradeFairly(0, 1, 1, 0, true);
        vm.assertEq(_life.refused(), 2, "below the mark");
        _life.trade(0, 3, 0, 255, 0, 2, true);
        vm.assertEq(_life.refused(), 3, "asked for next to nothing");
        _life.trade(0, 3, 0, 255, 0, 1, true);
        vm.assertEq(_life.accepted(), 3, "closed");
        vm.assertEq(_life.broken(), "", "as the model says");
    }
}

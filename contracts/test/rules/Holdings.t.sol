// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {Action, Class, Role} from "../../src/rules/Actions.sol";
import {Phase} from "../../src/rules/GolemPhase.sol";
import {Holding, Holdings, HoldingsBound} from "../../src/rules/Holdings.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {CharterTest} from "../CharterTest.sol";

/// @dev An internal library is judged through a contract that calls it.
contract HoldingsRule {
    function decode(bytes calldata terms)
        external
        pure
        returns (HoldingsBound memory bound, bytes memory listing)
    {
        return Holdings.decode(terms);
    }

    function measures(Action[] memory actions) external pure returns (bool) {
        return Holdings.measures(actions);
    }

    function begun(uint256 word, uint16 series) external pure returns (uint256) {
        return Holdings.begun(word, series);
    }

    function markOf(uint256 word) external pure returns (uint256) {
        return Holdings.markOf(word);
    }

    function seriesOf(uint256 word) external pure returns (uint256) {
        return Holdings.seriesOf(word);
    }

    function held(bytes calldata listing, address account)
        external
        view
        returns (Holding[] memory)
    {
        return Holdings.held(listing, account);
    }

    function judge(
        bytes calldata listing,
        HoldingsBound memory bound,
        Phase phase,
        Holding[] memory holdings,
        uint256 word
    ) external view returns (uint256 next) {
        (next,) = Holdings.judge(listing, bound, phase, holdings, word);
    }
}

/// @notice A token of which everybody holds what the test says; and a vault, where one is wanted.
contract SaidToken {
    address public asset;
    uint256 public assetsPerShare;
    mapping(address holder => uint256 units) public balanceOf;

    function hold(address holder, uint256 units) external {
        balanceOf[holder] = units;
    }

    function say(address asset_, uint256 assetsPerShare_) external {
        (asset, assetsPerShare) = (asset_, assetsPerShare_);
    }

    function convertToAssets(uint256 shares) external view returns (uint256) {
        return shares * assetsPerShare / 1e18;
    }
}

/// @notice The rule by itself: four tokens and a vault of two dollars a share, each unit of a token worth
///         a dollar but for ether, which is worth 2,000.
contract HoldingsRuleTest is CharterTest {
    address private constant ACCOUNT = address(0xacc);
    address private constant COIN = address(0);

    HoldingsRule private _rule;
    SaidToken private _cash;
    SaidToken private _weth;
    SaidToken private _gold;
    SaidToken private _vault;
    PriceAggregator private _dollar;
    PriceAggregator private _ether;
    Law private _law;

    function setUp() public override {
        vm.warp(NOW);
        _rule = new HoldingsRule();
        (_cash, _weth, _gold, _vault) =
        (new SaidToken(), new SaidToken(), new SaidToken(), new SaidToken());
        _vault.say(address(_cash), 2e18);
        _dollar = new PriceAggregator("USD / USD", 8, address(this));
        _ether = new PriceAggregator("ETH / USD", 8, address(this));
        _dollar.set(1e8);
        _ether.set(2_000e8);
        _law.tokens = bytes.concat(
            token(address(_cash), address(_dollar), 6),
            token(address(_weth), address(_ether), 18),
            token(COIN, address(_ether), 18),
            token(address(_gold), address(_dollar), 6)
        );
        _law.targets = bytes.concat(
            target(address(_weth), Role.Weth),
            target(address(_vault), Role.Vault),
            target(address(0xbeef), Role.SwapRouter02)
        );
    }

    // What is looked at

    function test_tokens_and_vaults_are_held_and_other_targets_are_not() public {
        vm.deal(ACCOUNT, 3);
        _weth.hold(ACCOUNT, 4);
        _vault.hold(ACCOUNT, 5);
        Holding[] memory found = _rule.held(listing(_law), ACCOUNT);

        vm.assertEq(found.length, 7, "entries");
        _assertHolding(found[0], address(_cash), address(_cash), 0);
        _assertHolding(found[1], address(_weth), COIN, 4);
        _assertHolding(found[2], COIN, COIN, 3);
        _assertHolding(found[3], address(_gold), address(_gold), 0);
        _assertNothing(found[4]);
        _assertHolding(found[5], address(_vault), address(_vault), 5);
        _assertNothing(found[6]);
    }

    function test_what_is_listed_twice_is_held_once() public {
        vm.deal(ACCOUNT, 3);
        _gold.hold(ACCOUNT, 4);
        _vault.hold(ACCOUNT, 5);
        _law.tokens =
            bytes.concat(_law.tokens, token(address(_vault), address(_ether), 18), _law.tokens);
        _law.targets = bytes.concat(
            _law.targets, target(address(_gold), Role.Token), target(address(_gold), Role.Vault)
        );
        Holding[] memory found = _rule.held(listing(_law), ACCOUNT);

        vm.assertEq(found.length, 14, "entries");
        _assertHolding(found[2], COIN, COIN, 3);
        _assertHolding(found[3], address(_gold), address(_gold), 4);
        _assertHolding(found[4], address(_vault), address(_vault), 5);
        for (uint256 i = 5; i < 14; i++) {
            _assertNothing(found[i]);
        }
    }

    function test_nothing_listed_is_nothing_held() public {
        (_law.tokens, _law.targets) = ("", "");
        vm.assertEq(_rule.held(listing(_law), ACCOUNT).length, 0, "holdings");
    }

    /// @dev SPEC C2, D18: whoever adds a class decides here.
    function test_every_class_is_measured_or_known_not_to_be() public view {
        for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
            Class which = Class(class);
            bool buys = which == Class.None || which == Class.Swap || which == Class.AddLiquidity
                || which == Class.Deposit || which == Class.SpawnReplicant || which == Class.Sell;
            vm.assertTrue(_rule.measures(_actions(which, which)) == buys, "by itself");
            vm.assertTrue(_rule.measures(_actions(which, Class.Swap)), "beside a swap");
            vm.assertTrue(_rule.measures(_actions(Class.Swap, which)), "behind a swap");
        }
        vm.assertFalse(_rule.measures(new Action[](0)), "nothing");
    }

    // Series

    function testFuzz_a_higher_series_begins_anew_and_a_lower_is_refused(
        uint240 mark,
        uint16 highest,
        uint16 series
    ) public {
        uint256 word = uint256(highest) << 240 | mark;
        if (series < highest) {
            vm.expectRevert(
                abi.encodeWithSelector(Holdings.Holdings_StaleSeries.selector, series, highest)
            );
        }
        uint256 next = _rule.begun(word, series);
        if (series < highest) return;
        vm.assertEq(_rule.seriesOf(next), series, "series");
        vm.assertEq(_rule.markOf(next), series == highest ? mark : 0, "mark");
    }

    // Judged by a naive model

    struct Case {
        uint256[5] before;
        uint256[5] afterwards;
        uint8 phase;
        uint16 thriving;
        uint16 stable;
        uint16 drawdown;
        uint16 loss;
        uint64 mark;
        uint16 series;
        /// @dev What the vault holds: gold, or cash.
        bool ofGold;
    }

    /// @dev The model knows nothing of positions, rounding or order of checks: it says yes or no, and what the
    ///      mark is. Prices are whole here, so that what rounds is the shares alone.
    /// forge-config: default.fuzz.runs = 4096
    function testFuzz_the_verdict_is_the_models(Case memory c) public {
        _fold(c);
        if (c.ofGold) _vault.say(address(_gold), 2e18);
        HoldingsBound memory bound = _bound(c);
        Holding[] memory holdings = _rule.held(listing(_law), ACCOUNT);
        for (uint256 i = 0; i < 5; i++) {
            // The vault stands behind wrapped ether's own entry as a target.
            Holding memory holding = holdings[i == 4 ? 5 : i];
            (holding.unitsBefore, holding.units) = (c.before[i], c.afterwards[i]);
        }
        (bool allowed, uint256 mark) = _model(c);

        try _rule.judge(
            listing(_law), bound, Phase(c.phase), holdings, uint256(c.series) << 240 | c.mark
        ) returns (
            uint256 next
        ) {
            vm.assertTrue(allowed, "allowed what the model refuses");
            vm.assertEq(next, uint256(c.series) << 240 | mark, "mark");
        } catch {
            vm.assertFalse(allowed, "refused what the model allows");
        }
    }

    /// @dev Few units and often the same ones, so that bounds are met exactly.
    function _fold(Case memory c) private pure {
        for (uint256 i = 0; i < 5; i++) {
            c.before[i] = within(c.before[i], 0, 20);
            uint256 kind = c.afterwards[i] % 4;
            if (kind < 2) c.afterwards[i] = c.before[i];
            else c.afterwards[i] = within(c.afterwards[i] / 4, 0, 20);
            // Cash and gold in dollars; ether in thousandths, two dollars each; shares of two.
            uint256 unit = i == 0 || i == 3 ? 1e6 : i == 4 ? 1e6 : 1e15;
            c.before[i] *= unit;
            c.afterwards[i] *= unit;
        }
        c.phase = uint8(within(c.phase, 0, 4));
        uint16[5] memory shares = [0, 2_000, 3_000, 5_000, 10_000];
        c.thriving = shares[c.thriving % 5];
        c.stable = shares[c.stable % 5];
        c.drawdown = shares[c.drawdown % 5];
        c.loss = shares[c.loss % 5];
        c.mark = uint64(within(c.mark, 0, 200) * 1e6);
    }

    function _model(Case memory c) private pure returns (bool, uint256 mark) {
        uint256 worthBefore = _worth(c.before);
        uint256 worth = _worth(c.afterwards);
        mark = c.mark;
        bool below = worthBefore * 10_000 < mark * (10_000 - c.drawdown);
        if (worthBefore > mark) mark = worthBefore;
        if (worth > mark) mark = worth;

        if (worth * 10_000 < mark * (10_000 - c.drawdown)) below = true;
        if (below) {
            uint256 gave = 0;
            uint256 got = 0;
            for (uint256 i = 0; i < 5; i++) {
                uint256 was = _dollars(i, c.before[i]);
                uint256 now_ = _dollars(i, c.afterwards[i]);
                // Ether is one thing, wrapped or not.
                if (i == 2) continue;
                if (i == 1) {
                    was += _dollars(2, c.before[2]);
                    now_ += _dollars(2, c.afterwards[2]);
                }
                if (was > now_) gave += was - now_;
                else got += now_ - was;
            }
            if (got * 10_000 < gave * (10_000 - c.loss)) return (false, mark);
        }
        // Ether is wrapped (1) and not (2); gold is 3, the vault 4; cash is no position.
        uint256[3] memory was_ = [c.before[1] + c.before[2], c.before[3], c.before[4]];
        uint256[3] memory is_ =
            [c.afterwards[1] + c.afterwards[2], c.afterwards[3], c.afterwards[4]];
        uint256[3] memory kind = [uint256(1), 3, 4];
        for (uint256 i = 0; i < 3; i++) {
            if (is_[i] <= was_[i]) continue;
            if (below || c.phase >= 2) return (false, mark);
            uint256 bps = c.phase == 0 ? c.thriving : c.stable;
            if (_dollars(kind[i], is_[i]) * 10_000 > worth * bps) return (false, mark);
            if (i == 0 || !c.ofGold) continue;
            // Gold in either form, when there is more of it.
            uint256 family = _dollars(3, is_[1]) + _dollars(4, is_[2]);
            bool more = family > _dollars(3, was_[1]) + _dollars(4, was_[2]);
            if (more && family * 10_000 > worth * bps) return (false, mark);
        }
        return (true, mark);
    }

    function _worth(uint256[5] memory units) private pure returns (uint256 sum) {
        for (uint256 i = 0; i < 5; i++) {
            sum += _dollars(i, units[i]);
        }
    }

    function _dollars(uint256 which, uint256 units) private pure returns (uint256) {
        if (which == 1 || which == 2) return units * 2_000 / 1e12;
        return which == 4 ? units * 2 : units;
    }

    // Families

    /// @dev However large it is: a deposit buys nothing.
    function test_what_moves_within_a_family_is_no_growth_of_it() public {
        _vault.say(address(_gold), 2e18);
        Holding[] memory holdings = _rule.held(listing(_law), ACCOUNT);
        HoldingsBound memory bound;
        (bound.cash, bound.drawdownBps, bound.thrivingBps) = (address(_cash), 10_000, 5_000);
        (holdings[0].unitsBefore, holdings[0].units) = (10e6, 10e6);
        (holdings[3].unitsBefore, holdings[3].units) = (20e6, 18e6);
        (holdings[5].unitsBefore, holdings[5].units) = (5e6, 6e6);

        _rule.judge(listing(_law), bound, Phase.Thriving, holdings, 0);
        // A micro-dollar more of it is.
        holdings[3].units = 18e6 + 1;
        vm.expectRevert(
            abi.encodeWithSelector(
                Holdings.Holdings_TooLarge.selector, address(_gold), 30e6 + 1, 20e6
            )
        );
        _rule.judge(listing(_law), bound, Phase.Thriving, holdings, 0);
    }

    // Rounding

    /// @dev What is worth less than a micro-dollar is worth nothing, each form of a position by itself.
    function test_every_worth_rounds_down() public {
        Holding[] memory holdings = _rule.held(listing(_law), ACCOUNT);
        HoldingsBound memory bound;
        (bound.cash, bound.drawdownBps, bound.thrivingBps) = (address(_cash), 10_000, 5_000);
        (holdings[0].unitsBefore, holdings[0].units) = (1, 1);
        // A micro-dollar is 5e8 wei.
        (holdings[1].units, holdings[2].units) = (1e9 - 1, 5e8 - 1);
        vm.assertEq(_rule.judge(listing(_law), bound, Phase.Thriving, holdings, 0), 2, "one each");
        holdings[2].units = 5e8;
        vm.expectRevert(abi.encodeWithSelector(Holdings.Holdings_TooLarge.selector, COIN, 2, 1));
        _rule.judge(listing(_law), bound, Phase.Thriving, holdings, 0);
    }

    /// @dev The floor is a bound for whole micro-dollars: a fraction below it is below.
    function test_the_floor_rounds_up() public {
        Holding[] memory holdings = _rule.held(listing(_law), ACCOUNT);
        HoldingsBound memory bound;
        (bound.cash, bound.drawdownBps, bound.thrivingBps) = (address(_cash), 5_000, 10_000);
        holdings[3].units = 1;
        (holdings[0].unitsBefore, holdings[0].units) = (3, 2);
        vm.assertEq(_rule.judge(listing(_law), bound, Phase.Thriving, holdings, 6), 6, "at it");
        vm.expectRevert(
            abi.encodeWithSelector(Holdings.Holdings_Drawdown.selector, address(_gold), 3, 4)
        );
        _rule.judge(listing(_law), bound, Phase.Thriving, holdings, 7);
    }

    // Terms

    function testFuzz_shorter_terms_are_refused(uint256 length) public {
        length = within(length, 0, Holdings.HEADER - 1);
        vm.expectRevert(abi.encodeWithSelector(Holdings.Holdings_TermsLength.selector, 106, length));
        _rule.decode(new bytes(length));
    }

    /// @dev Any bytes are either refused for a bound, or read so that they can be written again.
    function testFuzz_every_byte_of_the_terms_is_read(bytes32[3] memory words, bytes10 rest)
        public
        view
    {
        bytes memory made = abi.encodePacked(words[0], words[1], words[2], rest, listing(_law));
        try _rule.decode(made) returns (HoldingsBound memory bound, bytes memory listed) {
            bytes memory again = bytes.concat(
                abi.encodePacked(bound.golemId, bound.account, bound.staleness, bound.series),
                abi.encodePacked(bound.thrivingBps, bound.stableBps, bound.drawdownBps),
                abi.encodePacked(bound.registry, bound.cash, bound.lossBps, listed)
            );
            vm.assertEq(again, made, "the same bytes");
        } catch (bytes memory why) {
            // The first four bytes are what is wanted.
            // forge-lint: disable-next-line(unsafe-typecast)
            vm.assertEq(bytes32(bytes4(why)), bytes32(Holdings.Holdings_Bps.selector), "why");
        }
    }

    // Helpers

    function _bound(Case memory c) private view returns (HoldingsBound memory bound) {
        bound.cash = address(_cash);
        bound.account = ACCOUNT;
        bound.series = c.series;
        bound.thrivingBps = c.thriving;
        bound.stableBps = c.stable;
        bound.drawdownBps = c.drawdown;
        bound.lossBps = c.loss;
    }

    function _actions(Class one, Class other) private pure returns (Action[] memory actions) {
        actions = new Action[](2);
        (actions[0].class, actions[1].class) = (one, other);
    }

    function _assertNothing(Holding memory found) private pure {
        _assertHolding(found, address(0), address(0), 0);
    }

    function _assertHolding(Holding memory found, address at, address position, uint256 units)
        private
        pure
    {
        vm.assertEq(found.token, at, "token");
        vm.assertEq(found.position, position, "position");
        vm.assertEq(found.units, units, "units");
        vm.assertEq(found.unitsBefore, 0, "before");
    }
}

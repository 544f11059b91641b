// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {INonfungiblePositionManager, ISwapRouter02} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {MortalityTimeWindow} from "../../src/rules/MortalityTimeWindow.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {CharterMoves} from "./CharterMoves.sol";

/// @notice Positions are tokens that can be counted.
interface ICountedPositions {
    function balanceOf(address holder) external view returns (uint256);
    function tokenOfOwnerByIndex(address holder, uint256 index) external view returns (uint256);
}

/// @notice A Golem, its children, a thief and an owner, in any order, at any time, on the real contracts.
///         Every step is judged by a ledger of what moved, at the prices of the feeds; what the charter
///         itself remembers is never asked for.
contract CharterLife is CharterMoves {
    /// @dev A grant, as far as the judge needs it.
    struct Granted {
        bytes32 golemId;
        uint16 epoch;
        uint32 generation;
        uint8 key;
        bool replicants;
        bool disabled;
        uint40 start;
        uint40 end;
        uint64 cap;
        uint16 bucketMinutes;
        uint16 slippageBps;
        uint48 gasCeiling;
        uint48 gasDailyCap;
        uint64 navCap;
        uint32 staleness;
    }

    /// @dev One redemption that went through. `countsFrom` is `at`, or when the window changed its grid.
    struct Entry {
        uint256 at;
        uint256 countsFrom;
        uint256 real;
        uint256 declared;
        uint256 gas;
        uint256 period;
        uint256 epoch;
        uint256 slot;
        bool byChild;
    }

    /// @dev What the judge knows of the Golem alive now.
    struct Known {
        bytes32 id;
        uint16 minEpoch;
        uint16 highestEpoch;
        uint16 grantedEpoch;
        uint8 phase;
        uint8 key;
        bool dreaming;
        bool gone;
        bool off;
        uint256 bucketMinutes;
        uint256 unit;
        uint256 updatedAt;
    }

    /// @dev What is tried. Amounts are micro-dollars at the feeds; `gas` is wei.
    struct Attempt {
        uint256 slot;
        address redeemer;
        bool byChild;
        bool forbidden;
        bool must;
        uint256 classes;
        uint256 volume;
        uint256 declared;
        uint256 gas;
        Execution[] calls;
    }

    /// @dev What there is, before and after.
    struct Picture {
        uint256 worth;
        uint256 usdc;
        uint256 weth;
        uint256 settled;
        uint256 keyBalance;
    }

    /// @dev Carries what positions hold out of a call that is undone.
    error CharterLife_Unwound(uint256 amount0, uint256 amount1);

    uint256 private constant SLOTS = 4;
    /// @dev Base units lost to rounding, per redemption: shares, positions and prices.
    uint256 private constant DUST = 40;
    uint24[2] private _fees = [500, 3000];

    Actor[3] private _keys;
    Actor[2] private _children;
    Actor private _human;
    Actor private _thief;
    address private _account;
    Granted[SLOTS] private _granted;
    bytes[SLOTS] private _delegations;
    Known private _known;
    Entry[] private _ledger;
    uint40 private _clock;
    uint256 private _births;
    uint256 private _ether;
    uint256 private _dollar;

    uint256[17] public accepts;
    uint256 public attempts;
    uint256 public successes;
    uint256 public byChildren;
    uint256 public overCaps;
    uint256 public gasOverCaps;
    uint256 public deadAttempts;
    uint256 public thefts;
    uint256 public terminalSuccesses;
    uint256 public regrids;
    uint256 public feeds;
    /// @notice What went out again after it had been converted to the settlement asset.
    uint256 public settledAgain;

    constructor() {
        setUp();
        _clock = NOW;
        for (uint256 i = 0; i < 3; i++) {
            _keys[i] = actor(string.concat("key ", vm.toString(i)));
        }
        (_children[0], _children[1]) = (actor("first child"), actor("second child"));
        Owner memory from = hybridOwner();
        (_human, _account, _thief) = (from.signers[0], from.account, actor("thief"));
        (_ether, _dollar) = (2_500e8, 1e8);
        vm.prank(FAUCET);
        USDC.mint(vault, 50_000e6);
        _fund();
        address[4] memory spenders = [ROUTER_02, router, POSITIONS, vault];
        for (uint256 i = 0; i < 4; i++) {
            vm.prank(_account);
            USDC.approve(spenders[i], type(uint256).max);
            vm.prank(_account);
            WETH.approve(spenders[i], type(uint256).max);
        }
        _bear();
        _grant(0, 0);
    }

    /// @notice One step of anybody.
    function step(uint256 seed) external {
        vm.warp(_clock);
        if (_known.gone && dice(seed, "birth") % 3 == 0) _bear();
        if (_known.phase == 4 && dice(seed, "rest") % 24 == 0) _deregister();
        uint8 phaseBefore = _known.phase;
        bytes32 before = _known.id;
        bool fed = _care(seed);
        uint256 die = dice(seed, "step") % 100;
        if (die < 10) _wait(seed);
        else if (die < 16) _moveMarket(seed);
        else if (die < 30) fed = _ownerActs(seed) || fed;
        else if (die < 38) _agentActs(seed);
        else if (die < 46) _steal(seed);
        else _try(seed);
        uint8 phase = registry.word(_known.id).phase();
        vm.assertEq(uint256(phase), _known.phase, "phase is not what was done to it");
        if (before == _known.id && phase < phaseBefore) {
            vm.assertTrue(fed, "phase moved back and nobody fed");
            vm.assertTrue(phaseBefore != 4, "Terminal was reset");
        }
        _fund();
    }

    // What invariants ask

    /// @notice What was spent in the period that counts now, exactly.
    function exactlySpent() external view returns (uint256 sum) {
        uint256 shortest = type(uint256).max;
        for (uint256 i = _ledger.length; i > 0; i--) {
            Entry memory past = _ledger[i - 1];
            if (past.period < shortest) shortest = past.period;
            if (_clock - past.at <= shortest) sum += past.real;
        }
    }

    /// @notice What the charter thinks of the same.
    function recordedSpent() external view returns (uint256) {
        uint256 word = charterEnforcer.spendWindowOf(address(MANAGER), _account, _known.id);
        return SpendWindow.spent(word, _clock);
    }

    function allowances() external view returns (uint256) {
        return USDC.allowance(_account, _thief.account) + WETH.allowance(_account, _thief.account)
            + USDC.allowance(_account, _children[0].account)
            + USDC.allowance(_account, _keys[0].account);
    }

    function loot() external view returns (uint256) {
        return USDC.balanceOf(_thief.account) + WETH.balanceOf(_thief.account)
            + ITokenBalance(vault).balanceOf(_thief.account) + _thief.account.balance
            + ICountedPositions(POSITIONS).balanceOf(_thief.account);
    }

    // Time, prices, money

    function _wait(uint256 seed) private {
        uint256 length = uint256(_granted[dice(seed, "grid") % SLOTS].bucketMinutes) * 1 minutes;
        if (length == 0) length = 2 hours;
        uint256 buckets = dice(seed, "buckets") % 40;
        uint256 time = _clock + (buckets > 14 ? buckets / 18 : buckets) * length;
        uint256 rest = dice(seed, "rest of a bucket") % 3;
        if (rest == 0) time += length - time % length;
        else if (rest == 1) time += length - 1 - time % length;
        else time += dice(seed, "seconds") % length;
        // To the last second of a grant and the one after it.
        uint40 end = _granted[dice(seed, "end") % SLOTS].end;
        if (dice(seed, "to the end") % 12 == 0 && end >= _clock) {
            time = end + dice(seed, "one") % 2;
        }
        // forge-lint: disable-next-line(unsafe-typecast)
        _clock = uint40(time);
        vm.warp(_clock);
        if (dice(seed, "fresh") % 8 != 0) _publishPrices();
    }

    /// @dev Feeds move a little; most often somebody brings the pools there.
    function _moveMarket(uint256 seed) private {
        _ether = within(_ether * (9_960 + dice(seed, "ether") % 81) / 10_000, 2_000e8, 3_000e8);
        _dollar = 0.999e8 + dice(seed, "dollar") % 0.002e8;
        _publishPrices();
        if (dice(seed, "arbitrage") % 4 == 0) return;
        // Root of what a wei is worth in USDC's base units, times 2^96.
        uint256 root = Math.sqrt(Math.mulDiv(_ether << 160, 1 << 32, _dollar * 1e12));
        for (uint256 i = 0; i < 2; i++) {
            _arbitrage(true, _fees[i], root);
            _arbitrage(false, _fees[i], root);
        }
    }

    function _publishPrices() private {
        // Both stay far below the type's end.
        // forge-lint: disable-next-line(unsafe-typecast)
        setPrice(ethUsd, int256(_ether));
        // forge-lint: disable-next-line(unsafe-typecast)
        setPrice(usdcUsd, int256(_dollar));
    }

    /// @dev Trades until the pool is at the price; refused by the pool where it is beyond it already.
    function _arbitrage(bool sellsEther, uint24 fee, uint256 root) private {
        vm.deal(FAUCET, 100_000 ether);
        vm.prank(FAUCET);
        IWeth(address(WETH)).deposit{value: 50_000 ether}();
        vm.prank(FAUCET);
        USDC.mint(FAUCET, 100_000_000e6);
        address sold = sellsEther ? address(WETH) : address(USDC);
        vm.prank(FAUCET);
        ITokenBalance(sold).approve(ROUTER_02, type(uint256).max);
        ISwapRouter02.ExactInputSingleParams memory p = ISwapRouter02.ExactInputSingleParams({
            tokenIn: sold,
            tokenOut: sellsEther ? address(USDC) : address(WETH),
            fee: fee,
            recipient: FAUCET,
            amountIn: sellsEther ? 50_000 ether : 100_000_000e6,
            amountOutMinimum: 0,
            // forge-lint: disable-next-line(unsafe-typecast)
            sqrtPriceLimitX96: uint160(root)
        });
        vm.prank(FAUCET);
        try ISwapRouter02(ROUTER_02).exactInputSingle(p) {} catch {}
    }

    /// @dev The owner keeps his Golem from starving, and the agent pays for gas.
    function _fund() private {
        if (USDC.balanceOf(_account) < 2_000e6) {
            vm.prank(FAUCET);
            USDC.mint(_account, 8_000e6);
        }
        if (_account.balance < 2 ether) vm.deal(_account, 6 ether);
        if (WETH.balanceOf(_account) < 1 ether) {
            vm.prank(_account);
            IWeth(address(WETH)).deposit{value: 2 ether}();
        }
        for (uint256 i = 0; i < 3; i++) {
            address key = _keys[i].account;
            vm.deal(key, key.balance - key.balance / 16);
        }
    }

    // The owner and the agent

    function _bear() private {
        _births++;
        delete _ledger;
        delete _known;
        vm.prank(_human.account);
        _known.id = registry.register(bytes32(_births), _keys[0].account);
        _known.updatedAt = _clock;
        _grant(_births % SLOTS, _births);
    }

    /// @dev Dreams end, the hungry are fed, and who has no grant gets one: else little would happen.
    function _care(uint256 seed) private returns (bool fed) {
        if (_known.gone) return false;
        if (_known.dreaming && dice(seed, "wakes") % 2 == 0) {
            address key = _keys[_known.key].account;
            _agent(key, abi.encodeCall(registry.setDreaming, (_known.id, false)), true);
            (_known.dreaming, _known.updatedAt) = (false, _clock);
        }
        if ((_known.phase == 2 || _known.phase == 3) && dice(seed, "hungry") % 6 == 0) {
            _owner(abi.encodeCall(registry.feed, (_known.id, 0)), true);
            (_known.phase, _known.updatedAt, fed) = (0, _clock, true);
            feeds++;
        }
        uint256 good = 0;
        for (uint256 i = 0; i < SLOTS; i++) {
            if (_isLive(_granted[i])) good++;
        }
        if (good < 2 && dice(seed, "care") % 2 == 0) _grant(dice(seed, "care for") % SLOTS, seed);
    }

    function _ownerActs(uint256 seed) private returns (bool fed) {
        uint256 die = dice(seed, "owner") % 64;
        if (die < 34) {
            _grant(dice(seed, "slot") % SLOTS, seed);
            return false;
        }
        if (die < 40) {
            // forge-lint: disable-next-line(unsafe-typecast)
            uint8 next = uint8(_known.phase + dice(seed, "advance") % 2);
            if (dice(seed, "sudden") % 4 == 0) next = 4;
            _owner(abi.encodeCall(registry.advance, (_known.id, next)), next <= 4 && !_known.gone);
            if (next <= 4 && !_known.gone) (_known.phase, _known.updatedAt) = (next, _clock);
        } else if (die < 52) {
            uint8 to = die % 2 == 0 ? 0 : 1;
            bool may = !_known.gone && _known.phase != 4 && to < _known.phase;
            _owner(abi.encodeCall(registry.feed, (_known.id, to)), may);
            if (may) (_known.phase, _known.updatedAt, fed) = (to, _clock, true);
            if (may) feeds++;
        } else if (die < 55) {
            _owner(abi.encodeCall(registry.revoke, _known.id), !_known.off);
            if (!_known.off) _known.minEpoch += 1024;
        } else if (die < 57) {
            _owner(abi.encodeCall(registry.revokeAll, ()), true);
        } else if (die < 60) {
            _disable(dice(seed, "slot") % SLOTS);
        } else if (die < 61) {
            _deregister();
        } else if (!_known.gone) {
            // Rotation: a new key, and a grant for it.
            _known.key = (_known.key + 1) % 3;
            _owner(abi.encodeCall(registry.attach, (_known.id, _keys[_known.key].account)), true);
            _grant(dice(seed, "slot") % SLOTS, seed);
        }
    }

    function _owner(bytes memory said, bool expected) private {
        vm.prank(_human.account);
        (bool ok,) = address(registry).call(said);
        vm.assertTrue(ok == expected, "the registry did not do as its owner's call deserves");
    }

    function _deregister() private {
        _owner(abi.encodeCall(registry.deregister, _known.id), !_known.off);
        (_known.gone, _known.off, _known.phase, _known.dreaming) = (true, true, 4, false);
    }

    function _disable(uint256 slot) private {
        if (_delegations[slot].length == 0 || _granted[slot].disabled) return;
        vm.prank(_account);
        MANAGER.disableDelegation(abi.decode(_delegations[slot], (Delegation)));
        _granted[slot].disabled = true;
    }

    function _agentActs(uint256 seed) private {
        uint256 die = dice(seed, "agent") % 40;
        address key = _keys[_known.key].account;
        bool may = !_known.gone;
        if (die < 16) {
            // A step forward at times, and back as often as it likes to try.
            // forge-lint: disable-next-line(unsafe-typecast)
            uint8 next = uint8(die < 4 ? _known.phase + 1 : die < 8 ? 0 : _known.phase);
            may = may && next >= _known.phase && next <= 4;
            _agent(key, abi.encodeCall(registry.updateVitality, (_known.id, next, 5_000)), may);
            if (may) (_known.phase, _known.updatedAt) = (next, _clock);
        } else if (die < 24) {
            bool dreams = die < 18;
            _agent(key, abi.encodeCall(registry.setDreaming, (_known.id, dreams)), may);
            if (may) (_known.dreaming, _known.updatedAt) = (dreams, _clock);
        } else if (die < 30) {
            _agent(key, abi.encodeCall(registry.heartbeat, (_known.id, SALT)), may);
            if (may) _known.updatedAt = _clock;
        } else if (die < 31) {
            _agent(key, abi.encodeCall(registry.close, _known.id), may);
            if (may) (_known.gone, _known.phase, _known.dreaming) = (true, 4, false);
        } else if (die < 36) {
            _agent(key, abi.encodeCall(registry.feed, (_known.id, 0)), false);
        } else {
            _agent(key, abi.encodeCall(registry.advance, (_known.id, 1)), false);
        }
    }

    function _agent(address key, bytes memory said, bool expected) private {
        vm.prank(key);
        (bool ok,) = address(registry).call(said);
        vm.assertTrue(ok == expected, "the registry did not do as its agent's call deserves");
    }

    /// @dev A grant for the key in office: often of a higher epoch, at times beside the others.
    function _grant(uint256 slot, uint256 seed) private {
        Granted memory g;
        if (_known.grantedEpoch < _known.minEpoch) _known.grantedEpoch = _known.minEpoch;
        if (dice(seed, "newer") % 4 == 0) _known.grantedEpoch++;
        (g.golemId, g.epoch, g.key) = (_known.id, _known.grantedEpoch, _known.key);
        g.generation = registry.generationOf(_human.account);
        g.replicants = dice(seed, "replicants") % 2 == 0;
        (g.start, g.end) = (_clock, _clock + 1 days + uint40(dice(seed, "end") % 30 days));
        if (dice(seed, "later") % 16 == 0) g.start += 3 hours;
        uint16[5] memory grids = [uint16(120), 120, 60, 240, 17];
        g.bucketMinutes = grids[dice(seed, "grid") % 5];
        // forge-lint: disable-start(unsafe-typecast)
        g.cap = uint64(200e6 + dice(seed, "cap") % 1_800e6);
        g.slippageBps = uint16([100, 100, 60, 200][dice(seed, "bps") % 4]);
        g.gasCeiling = uint48(20_000_000 + dice(seed, "ceiling") % 40_000_000);
        g.gasDailyCap = uint48(5_000_000 + dice(seed, "gas") % 20_000_000);
        g.navCap = uint64(g.cap / (1 + dice(seed, "nav") % 3));
        // forge-lint: disable-end(unsafe-typecast)
        g.staleness = dice(seed, "stale") % 4 == 0 ? 1 days : 30 days;
        _granted[slot] = g;
        _delegations[slot] = abi.encode(grant(_from(), _law(g, dice(seed, "vault") % 2 == 0)));
    }

    function _law(Granted memory g, bool withVault) private view returns (Law memory c) {
        (c.golemId, c.owner, c.epoch, c.generation) =
        (g.golemId, _human.account, g.epoch, g.generation);
        (c.registry, c.account, c.beneficiary) = (address(registry), _account, _human.account);
        c.agentKey = _keys[g.key].account;
        (c.flags, c.classes) = (g.replicants ? 1 : 0, ALL_CLASSES);
        (c.start, c.end, c.staleness) = (g.start, g.end, g.staleness);
        (c.spendCap, c.bucketMinutes, c.slippageBps) = (g.cap, g.bucketMinutes, g.slippageBps);
        (c.vault, c.navBps, c.navCap) = (withVault ? vault : address(0), 1_000, g.navCap);
        (c.gasCeiling, c.gasDailyCap) = (g.gasCeiling, g.gasDailyCap);
        c.settlementAsset = address(USDC);
        c.tokens = bytes.concat(token(address(USDC), usdcUsd, 6), token(address(WETH), ethUsd, 18));
        c.targets = everyTarget(c.agentKey);
    }

    function _from() private view returns (Owner memory from) {
        from = plain(_human);
        from.account = _account;
    }

    // What a Golem tries

    function _try(uint256 seed) private {
        Attempt memory a;
        a.slot = dice(seed, "slot") % SLOTS;
        // Mostly by a grant that may still be good.
        for (uint256 i = 0; i < SLOTS && !_isLive(_granted[a.slot]); i++) {
            if (dice(seed, "dead") % 8 == 0) break;
            a.slot = (a.slot + 1) % SLOTS;
        }
        if (_delegations[a.slot].length == 0) return;
        _chooseRedeemer(a, seed);
        uint256 count = dice(seed, "count") % 6;
        a.calls = new Execution[](count == 0 ? 2 : 1);
        uint256 priced = (1 << uint256(Class.AddLiquidity)) | (1 << uint256(Class.RemoveLiquidity))
            | (1 << uint256(Class.Deposit));
        uint256 foreign_ = (1 << uint256(Class.Swap)) | (1 << uint256(Class.Collect))
            | (1 << uint256(Class.GasTopUp)) | (1 << uint256(Class.Withdraw))
            | (1 << uint256(Class.SpawnReplicant)) | (1 << uint256(Class.Settle));
        uint256 seen = 0;
        for (uint256 i = 0; i < a.calls.length; i++) {
            a.classes = 0;
            a.calls[i] = _call(a, uint256(keccak256(abi.encode(seed, i))));
            // What is priced beforehand never stands behind foreign code.
            if (seen & foreign_ != 0 && a.classes & priced != 0) a.forbidden = true;
            seen |= a.classes;
        }
        a.classes = seen;
        if (count == 0) a.must = false;
        _attempt(a, count == 0 || dice(seed, "batch of one") % 16 == 0);
    }

    function _chooseRedeemer(Attempt memory a, uint256 seed) private view {
        a.redeemer = _keys[_granted[a.slot].key].account;
        uint256 who = dice(seed, "redeemer") % 16;
        if (who < 7 && (_granted[a.slot].replicants || who == 0)) {
            a.byChild = true;
            a.redeemer = _children[who % 2].account;
        } else if (who == 15) {
            (a.redeemer, a.forbidden) = (_thief.account, true);
        }
    }

    function _call(Attempt memory a, uint256 seed) private view returns (Execution memory) {
        uint256 class = 1 + dice(seed, "class") % 16;
        if (dice(seed, "trade") % 4 == 0) class = uint256(Class.Swap);
        uint256 allowed = _allowed(_phase(_granted[a.slot]));
        for (uint256 i = 0; i < 4 && allowed & (1 << class) == 0; i++) {
            class = 1 + dice(seed ^ i, "another class") % 16;
        }
        if (_phase(_granted[a.slot]) == 4 && dice(seed, "settle") % 2 == 0) {
            class = uint256([Class.Swap, Class.Transfer, Class.Settle][dice(seed, "how") % 3]);
        }
        a.classes |= 1 << class;
        if (class == uint256(Class.Swap)) return _swap(a, seed);
        if (class < uint256(Class.Deposit)) return _pool(a, Class(class), seed);
        if (class < uint256(Class.Approve)) return _vault(a, Class(class), seed);
        return _rest(a, Class(class), seed);
    }

    function _swap(Attempt memory a, uint256 seed) private view returns (Execution memory) {
        Swap memory s;
        (s.first, s.path) = (dice(seed, "router") % 2 == 0, dice(seed, "form") % 2 == 0);
        s.exactOutput = dice(seed, "exact") % 3 == 0;
        bool sells = dice(seed, "sells") % 2 == 0;
        (s.sold, s.bought) = sells ? (address(USDC), address(WETH)) : (address(WETH), address(USDC));
        (s.fee, s.to) = (_fees[dice(seed, "fee") % 4 == 0 ? 1 : 0], _account);
        uint256 dollars = _dollars(a, seed);
        s.amount = _amountOf(s.sold, dollars);
        dollars = _valueOf(s.sold, s.amount);
        (a.declared, a.volume) = (a.declared + dollars, a.volume + dollars);
        uint256 least = dollars * (10_000 - _granted[a.slot].slippageBps) / 10_000;
        // At the bound; else between it and the feeds, or below, where it must be refused.
        uint256 how = dice(seed, "minimum") % 8;
        if (how == 7) least = least * 9_990 / 10_000;
        else if (how > 3) least += dice(seed, "better") % (dollars / 400 + 1);
        // What comes back is valued downwards.
        if (how != 7) least += 3;
        s.minimum = _amountOf(s.bought, least) + 1;
        if (how == 7 && dollars > 1e6) a.forbidden = true;
        uint256 rarely = _phase(_granted[a.slot]) == 4 ? 3 : 12;
        if (dice(seed, "there and back") % rarely == 0 && !s.exactOutput) {
            s.minimum = _amountOf(s.sold, least) + 1;
            return roundTrip(s);
        }
        return swapCall(s);
    }

    function _pool(Attempt memory a, Class class, uint256 seed)
        private
        view
        returns (Execution memory)
    {
        uint256 held = ICountedPositions(POSITIONS).balanceOf(_account);
        uint256 id = held == 0 ? 0 : _positionAt(dice(seed, "position") % held);
        uint128 liquidity = held == 0 ? 0 : _liquidityOf(id);
        if (class == Class.AddLiquidity) {
            uint256 half = _dollars(a, seed) / 2 + 1;
            uint256 amount0 = _amountOf(address(WETH), half);
            uint256 amount1 = _amountOf(address(USDC), half);
            a.declared += _valueOf(address(WETH), amount0) + _valueOf(address(USDC), amount1);
            if (held > 2 || (held > 0 && dice(seed, "more") % 2 == 0)) {
                return increaseCall(id, amount0, amount1);
            }
            // forge-lint: disable-next-line(unsafe-typecast)
            int24 reach = int24(int256(dice(seed, "reach") % 3 * 2_000));
            return mintCall(reach, amount0, amount1, _account);
        }
        if (class == Class.RemoveLiquidity) {
            uint256 part = dice(seed, "part") % 3;
            return decreaseCall(id, part == 0 ? liquidity : liquidity / 2);
        }
        if (class == Class.Collect) return collectCall(id, _account);
        return burnCall(id);
    }

    function _vault(Attempt memory a, Class class, uint256 seed)
        private
        view
        returns (Execution memory)
    {
        bool shares = dice(seed, "shares") % 2 == 0;
        if (class == Class.Deposit) {
            uint256 assets = _amountOf(address(USDC), _dollars(a, seed));
            if (shares) {
                uint256 asked = IShares(vault).convertToShares(assets);
                assets = IVault(vault).previewMint(asked);
                a.declared += _valueOf(address(USDC), assets);
                return depositCall(asked, true, _account);
            }
            a.declared += _valueOf(address(USDC), assets);
            return depositCall(assets, false, _account);
        }
        uint256 held = ITokenBalance(vault).balanceOf(_account);
        uint256 amount = shares ? held : IVault(vault).convertToAssets(held);
        return withdrawCall(amount / (1 + dice(seed, "part") % 3), shares, _account, _account);
    }

    function _rest(Attempt memory a, Class class, uint256 seed)
        private
        view
        returns (Execution memory)
    {
        address at = dice(seed, "token") % 2 == 0 ? address(USDC) : address(WETH);
        address spender = [ROUTER_02, router, POSITIONS, vault][dice(seed, "spender") % 4];
        uint256 part = 1 + dice(seed, "part") % 8;
        if (class == Class.Approve) return approveCall(at, spender, type(uint256).max);
        // The vault's, of the one token it never takes: nothing else would trade any more.
        if (class == Class.Disapprove) return approveCall(address(WETH), vault, 0);
        if (class == Class.Transfer) {
            // What is free goes home, whatever else is refused.
            a.must = true;
            return transferCall(at, _human.account, ITokenBalance(at).balanceOf(_account) / part);
        }
        if (class == Class.Wrap) return wrapCall(_account.balance / 8 / part);
        if (class == Class.Unwrap) return unwrapCall(WETH.balanceOf(_account) / part);
        if (class == Class.GasTopUp) return _topUp(a, seed);
        if (class == Class.SpawnReplicant) return spawnCall(_granted[a.slot].golemId);
        if (class == Class.Settle) return settleCall(_granted[a.slot].golemId);
        // The account is not the Golem's key: the registry itself refuses.
        a.forbidden = true;
        return heartbeatCall(_granted[a.slot].golemId);
    }

    function _topUp(Attempt memory a, uint256 seed) private view returns (Execution memory) {
        Granted memory g = _granted[a.slot];
        address key = _keys[g.key].account;
        uint256 ceiling = uint256(g.gasCeiling) * 1 gwei;
        uint256 room = ceiling > key.balance ? ceiling - key.balance : 0;
        uint256 how = dice(seed, "top up") % 4;
        uint256 amount = dice(seed, "wei") % (uint256(g.gasDailyCap) * 0.4 gwei) + 1;
        if (how == 0) amount = room + dice(seed, "over") % 2;
        if (how == 1) amount = uint256(g.gasDailyCap) * 1 gwei;
        a.gas += amount;
        return topUpCall(key, amount);
    }

    /// @dev A thief with the key: everything for himself. Nothing of it may ever go through.
    function _steal(uint256 seed) private {
        Attempt memory a;
        a.slot = dice(seed, "slot") % SLOTS;
        a.redeemer = _keys[_granted[a.slot].key].account;
        a.forbidden = true;
        a.calls = new Execution[](1);
        a.calls[0] = _theft(seed, dice(seed, "theft") % 12);
        thefts++;
        _attempt(a, dice(seed, "batch of one") % 2 == 0);
    }

    function _theft(uint256 seed, uint256 how) private view returns (Execution memory) {
        address me = _thief.account;
        uint256 id = ICountedPositions(POSITIONS).balanceOf(_account) == 0 ? 1 : _positionAt(0);
        if (how == 0) return transferCall(address(USDC), me, 1e6);
        if (how == 1) return transferFromCall(address(WETH), _account, me, 1e15);
        if (how == 2) return approveCall(address(USDC), me, 1e6);
        if (how == 3) return depositCall(1e6, seed % 2 == 0, me);
        if (how == 4) return withdrawCall(1, seed % 2 == 0, me, _account);
        if (how == 5) return mintCall(0, 1e15, 2.5e6, me);
        if (how == 6) return collectCall(id, me);
        if (how == 7) return topUpCall(me, 1e15);
        if (how == 8) return transferCall(vault, me, 1);
        if (how == 9) return approveCall(POSITIONS, me, id);
        if (how == 10) return wrapCall(_account.balance + 1);
        Swap memory s;
        (s.first, s.path) = (seed % 2 == 0, seed % 3 == 0);
        (s.sold, s.bought, s.fee, s.to) = (address(USDC), address(WETH), 500, me);
        (s.amount, s.minimum) = (10e6, _amountOf(address(WETH), 9.95e6));
        return swapCall(s);
    }

    // The judge

    function _attempt(Attempt memory a, bool batch) private {
        Granted memory g = _granted[a.slot];
        if (_delegations[a.slot].length == 0) return;
        bool live = _isLive(g) && (!a.byChild || g.replicants);
        Picture memory before = _picture(g);
        attempts++;
        (bool ok, bytes memory reason) = _redeem(a, batch);
        if (!live) deadAttempts++;
        if (ok) _judgeSuccess(a, g, live, before);
        else _judgeRefusal(a, g, live, reason);
    }

    function _redeem(Attempt memory a, bool batch) private returns (bool, bytes memory) {
        Delegation memory top = abi.decode(_delegations[a.slot], (Delegation));
        Delegation[] memory chain = new Delegation[](a.byChild ? 2 : 1);
        chain[chain.length - 1] = top;
        if (a.byChild) {
            chain[0] = child(top, _keys[_granted[a.slot].key], a.redeemer, noCaveats());
        }
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = abi.encode(chain);
        ModeCode[] memory modes = new ModeCode[](1);
        modes[0] = batch ? BATCH_DEFAULT : SINGLE_DEFAULT;
        bytes[] memory executions = new bytes[](1);
        Execution memory one = a.calls[0];
        executions[0] =
            batch ? abi.encode(a.calls) : abi.encodePacked(one.target, one.value, one.callData);
        vm.prank(a.redeemer);
        return address(MANAGER)
            .call(abi.encodeCall(MANAGER.redeemDelegations, (contexts, modes, executions)));
    }

    function _judgeSuccess(Attempt memory a, Granted memory g, bool live, Picture memory before)
        private
    {
        vm.assertTrue(live, "a grant that had ended was redeemed");
        vm.assertFalse(a.forbidden, "what is forbidden went through");
        uint8 phase = _phase(g);
        vm.assertEq(a.classes & ~_allowed(phase), 0, "the phase does not allow it");
        Picture memory then_ = _picture(g);
        _judgeWorth(a, g, before, then_);
        if (a.gas > 0) {
            vm.assertTrue(then_.keyBalance <= uint256(g.gasCeiling) * 1 gwei, "above the ceiling");
        } else {
            vm.assertTrue(then_.keyBalance <= before.keyBalance, "the key was paid");
        }
        if (phase == 4) {
            if (then_.settled < before.settled) settledAgain += before.settled - then_.settled;
            vm.assertEq(a.gas, 0, "gas money of the dying");
            terminalSuccesses++;
            (a.declared, a.volume) = (0, 0);
        } else {
            vm.assertTrue(a.declared <= g.navCap, "more at once than the owner allows");
        }
        _note(a, g, phase == 4 ? 0 : _realSpend(a, before, then_));
        successes++;
        if (a.byChild) byChildren++;
        for (uint256 i = 0; i < 17; i++) {
            accepts[i] += (a.classes >> i) & 1;
        }
    }

    /// @dev Account and owner together lose slippage on what was swapped, gas money, and dust.
    function _judgeWorth(
        Attempt memory a,
        Granted memory g,
        Picture memory before,
        Picture memory then_
    ) private view {
        uint256 may = a.volume * g.slippageBps / 10_000 + _valueOf(address(WETH), a.gas) + DUST;
        if (then_.worth + may < before.worth) {
            vm.assertEq(before.worth - then_.worth, may, "the owner lost more than he allowed");
        }
    }

    /// @dev What left, by balances; of a batch, whose calls may undo each other, what was declared.
    function _realSpend(Attempt memory a, Picture memory before, Picture memory then_)
        private
        view
        returns (uint256 real)
    {
        if (a.declared == 0) return 0;
        if (a.calls.length > 1) return a.declared;
        if (before.usdc > then_.usdc) real += _valueOf(address(USDC), before.usdc - then_.usdc);
        if (before.weth > then_.weth) real += _valueOf(address(WETH), before.weth - then_.weth);
        vm.assertTrue(real <= a.declared + 2, "more left than was declared");
    }

    function _judgeRefusal(Attempt memory a, Granted memory g, bool live, bytes memory reason)
        private
    {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(reason);
        bool here = g.golemId == _known.id;
        if (selector == SpendWindow.SpendWindow_OverCap.selector) {
            _judgeOverCap(a, g);
        } else if (selector == IGolemCharterEnforcer.GolemCharter_GasDailyCap.selector) {
            _judgeGasCap(a, g);
        } else if (selector == SpendWindow.SpendWindow_StaleEpoch.selector) {
            vm.assertTrue(!here || g.epoch < _known.highestEpoch, "a good epoch was refused");
        } else if (selector == GolemLife.GolemLife_NotAlive.selector) {
            vm.assertTrue(!here || _known.gone, "the living were refused as dead");
        } else if (selector == GolemLife.GolemLife_Dreaming.selector) {
            vm.assertTrue(
                _known.dreaming && _known.phase != 4, "the wakeful were refused as dreaming"
            );
        } else if (selector == GolemLife.GolemLife_EpochRevoked.selector) {
            vm.assertTrue(g.epoch < _known.minEpoch, "an epoch was refused that nobody revoked");
        } else if (selector == MortalityTimeWindow.MortalityTimeWindow_Expired.selector) {
            vm.assertTrue(_clock > g.end, "expired early");
        } else if (selector == MortalityTimeWindow.MortalityTimeWindow_NotYetBorn.selector) {
            vm.assertTrue(_clock < g.start, "born late");
        } else if (selector == IGolemCharterEnforcer.GolemCharter_GasCeiling.selector) {
            address key = _keys[g.key].account;
            vm.assertTrue(
                key.balance + a.gas > uint256(g.gasCeiling) * 1 gwei,
                "gas refused below the ceiling"
            );
        } else {
            bool allowed = a.classes & ~_allowed(_phase(g)) == 0;
            vm.assertFalse(a.must && live && allowed && !a.forbidden, "money was kept from home");
        }
    }

    /// @dev Refused over the cap only where the thirteen buckets, each rounded up, are.
    function _judgeOverCap(Attempt memory a, Granted memory g) private {
        uint256 dollars = a.declared;
        uint256 count = 16;
        for (uint256 i = 0; i < _ledger.length; i++) {
            Entry memory past = _ledger[i];
            if (_isCounted(past.countsFrom, _known.bucketMinutes)) {
                (dollars, count) = (dollars + past.declared, count + 1);
            }
        }
        uint256 unit = _known.unit > _unit(g.cap) ? _known.unit : _unit(g.cap);
        vm.assertTrue(
            a.declared > 0 && dollars + 2 * count * unit > g.cap,
            "refused over a cap that was not reached"
        );
        overCaps++;
    }

    /// @dev The same for gas money. Its caps are below 2^25 gwei: a unit is 2^10 at most.
    function _judgeGasCap(Attempt memory a, Granted memory g) private {
        uint256 gwei_ = (a.gas + 1 gwei - 1) / 1 gwei;
        for (uint256 i = 0; i < _ledger.length; i++) {
            if (_isCounted(_ledger[i].at, 120)) gwei_ += _ledger[i].gas;
        }
        vm.assertTrue(
            a.gas > 0 && gwei_ + 2 * (_ledger.length + 16) * 1024 > g.gasDailyCap,
            "gas refused over a cap that was not reached"
        );
        gasOverCaps++;
    }

    function _isCounted(uint256 at, uint256 bucketMinutes) private view returns (bool) {
        if (bucketMinutes == 0) return true;
        uint256 length = bucketMinutes * 1 minutes;
        return _clock / length - at / length <= 12;
    }

    function _unit(uint256 cap) private pure returns (uint256 unit) {
        unit = 1;
        while (cap / unit > 0x7fff) unit *= 2;
    }

    /// @dev Enters what was done, and holds every period against the cap in force.
    function _note(Attempt memory a, Granted memory g, uint256 real) private {
        _regrid(g);
        Entry memory e;
        (e.at, e.countsFrom, e.real, e.declared) = (_clock, _clock, real, a.declared);
        (e.gas, e.slot, e.byChild, e.epoch) =
        ((a.gas + 1 gwei - 1) / 1 gwei, a.slot, a.byChild, g.epoch);
        e.period = _known.bucketMinutes * 12 minutes;
        _ledger.push(e);
        uint256 sum = 0;
        uint256 ofChildren = 0;
        uint256 gas = 0;
        uint256 shortest = e.period;
        for (uint256 i = _ledger.length; i > 0; i--) {
            Entry memory past = _ledger[i - 1];
            if (past.period < shortest) shortest = past.period;
            uint256 age = _clock - past.at;
            if (age <= shortest) sum += past.real;
            if (age <= shortest && past.byChild) ofChildren += past.real;
            if (age <= 1 days) gas += past.gas;
        }
        if (real > 0) vm.assertTrue(sum <= g.cap, "over the cap in one period");
        if (real > 0 && a.byChild) vm.assertTrue(ofChildren <= g.cap, "children over the cap");
        if (a.gas > 0) vm.assertTrue(gas <= g.gasDailyCap, "gas money over its cap in a day");
    }

    /// @dev A grid is never shortened within an epoch; another one counts all that is live from now.
    function _regrid(Granted memory g) private {
        uint256 next = g.bucketMinutes;
        if (g.epoch == _known.highestEpoch && next < _known.bucketMinutes) {
            next = _known.bucketMinutes;
        }
        if (next != _known.bucketMinutes && _known.bucketMinutes != 0) {
            regrids++;
            for (uint256 i = 0; i < _ledger.length; i++) {
                if (_isCounted(_ledger[i].countsFrom, _known.bucketMinutes)) {
                    _ledger[i].countsFrom = _clock;
                } else {
                    _ledger[i].declared = 0;
                }
            }
        }
        if (_unit(g.cap) > _known.unit) _known.unit = _unit(g.cap);
        (_known.bucketMinutes, _known.highestEpoch) = (next, g.epoch);
    }

    function _isLive(Granted memory g) private view returns (bool) {
        bool dreams = _known.dreaming && _known.phase != 4;
        return g.golemId == _known.id && !_known.gone && !dreams && !g.disabled
            && g.epoch >= _known.minEpoch && g.epoch >= _known.highestEpoch && _clock >= g.start
            && _clock <= g.end && g.generation == registry.generationOf(_human.account);
    }

    function _phase(Granted memory g) private view returns (uint8) {
        bool stale = _clock - _known.updatedAt > g.staleness;
        return _known.phase < 2 && stale ? 2 : _known.phase;
    }

    /// @dev SPEC C2 and D18, written anew.
    function _allowed(uint8 phase) private pure returns (uint256 mask) {
        Class[6] memory closing = [
            Class.RemoveLiquidity,
            Class.Collect,
            Class.BurnPosition,
            Class.Withdraw,
            Class.Disapprove,
            Class.Publish
        ];
        if (phase < 2) {
            mask = uint256(ALL_CLASSES);
            return phase == 0 ? mask : mask & ~(1 << uint256(Class.SpawnReplicant));
        }
        for (uint256 i = 0; i < closing.length; i++) {
            mask |= 1 << uint256(closing[i]);
        }
        if (phase != 4) mask |= 1 << uint256(Class.GasTopUp);
        if (phase > 2) mask |= (1 << uint256(Class.Transfer)) | (1 << uint256(Class.Wrap));
        if (phase == 4) mask |= (1 << uint256(Class.Swap)) | (1 << uint256(Class.Settle));
    }

    // What things are worth

    function _picture(Granted memory g) private returns (Picture memory p) {
        (p.usdc, p.weth) = (USDC.balanceOf(_account), WETH.balanceOf(_account));
        p.settled = p.usdc + USDC.balanceOf(_human.account);
        p.keyBalance = _keys[g.key].account.balance;
        (uint256 amount0, uint256 amount1) = _inPools();
        uint256 shares = ITokenBalance(vault).balanceOf(_account);
        uint256 wei_ = p.weth + _account.balance + amount0 + WETH.balanceOf(_human.account)
            + _human.account.balance;
        p.worth = _ether * wei_ / 1e20 + _dollar
            * (p.settled + amount1 + IVault(vault).convertToAssets(shares)) / 1e8;
    }

    /// @dev Takes everything out of all positions, and undoes it.
    function _inPools() private returns (uint256 amount0, uint256 amount1) {
        if (ICountedPositions(POSITIONS).balanceOf(_account) == 0) return (0, 0);
        (bool kept, bytes memory reason) = address(this).call(abi.encodeCall(this.unwind, ()));
        vm.assertFalse(kept, "a look changed what it looked at");
        bytes memory amounts = new bytes(64);
        for (uint256 i = 0; i < 64; i++) {
            amounts[i] = reason[4 + i];
        }
        return abi.decode(amounts, (uint256, uint256));
    }

    /// @notice Always undone.
    function unwind() external {
        uint256 held = ICountedPositions(POSITIONS).balanceOf(_account);
        (uint256 weth, uint256 usdc) = (WETH.balanceOf(_account), USDC.balanceOf(_account));
        for (uint256 i = 0; i < held; i++) {
            uint256 id = _positionAt(i);
            uint128 liquidity = _liquidityOf(id);
            if (liquidity > 0) {
                vm.prank(_account);
                (bool out,) = POSITIONS.call(decreaseCall(id, liquidity).callData);
                vm.assertTrue(out, "a position cannot be emptied");
            }
            vm.prank(_account);
            // Where nothing is owed, there is nothing to collect.
            (bool ok,) = POSITIONS.call(collectCall(id, _account).callData);
            ok;
        }
        revert CharterLife_Unwound(WETH.balanceOf(_account) - weth, USDC.balanceOf(_account) - usdc);
    }

    function _positionAt(uint256 index) private view returns (uint256) {
        return ICountedPositions(POSITIONS).tokenOfOwnerByIndex(_account, index);
    }

    function _liquidityOf(uint256 id) private view returns (uint128 liquidity) {
        (,,,,,,, liquidity,,,,) = INonfungiblePositionManager(POSITIONS).positions(id);
    }

    /// @dev Micro-dollars, rounded up.
    function _valueOf(address at, uint256 amount) private view returns (uint256) {
        if (at == address(USDC)) return (amount * _dollar + 1e8 - 1) / 1e8;
        return (amount * _ether + 1e20 - 1) / 1e20;
    }

    function _amountOf(address at, uint256 dollars) private view returns (uint256) {
        return at == address(USDC) ? dollars * 1e8 / _dollar : dollars * 1e20 / _ether;
    }

    /// @dev What to spend: often what is left, or a little more.
    function _dollars(Attempt memory a, uint256 seed) private view returns (uint256) {
        Granted memory g = _granted[a.slot];
        uint256 how = dice(seed, "how much") % 10;
        if (how < 3) {
            uint256 spent = 0;
            for (uint256 i = 0; i < _ledger.length; i++) {
                Entry memory past = _ledger[i];
                if (_isCounted(past.countsFrom, _known.bucketMinutes)) spent += past.declared;
            }
            uint256 left = spent < g.cap ? g.cap - spent : 0;
            if (how == 0 && left > 2e6) return left - 1e6;
            return left + 1;
        }
        if (how == 3) return g.navCap;
        if (how == 4) return g.navCap + 2;
        if (how == 5) return g.navCap / 2;
        return 1e4 + dice(seed, "dollars") % (uint256(g.cap) / 6);
    }
}

/// @notice What every token can be asked.
interface ITokenBalance {
    function balanceOf(address holder) external view returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
}

/// @notice How a vault counts.
interface IShares {
    function convertToShares(uint256 assets) external view returns (uint256);
}

contract CharterInvariantTest is CharterMoves {
    struct Selectors {
        address addr;
        bytes4[] selectors;
    }

    CharterLife private _life;

    function setUp() public override {
        _life = new CharterLife();
    }

    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_life);
    }

    function targetSelectors() public view returns (Selectors[] memory targets) {
        targets = new Selectors[](1);
        targets[0].addr = address(_life);
        targets[0].selectors = new bytes4[](1);
        targets[0].selectors[0] = CharterLife.step.selector;
    }

    /// @dev ATK-8, ATK-19, ATK-23, ATK-31: beside what each step is judged by.
    function invariant_the_charter_never_forgets_what_was_spent() public view {
        vm.assertTrue(_life.exactlySpent() <= _life.recordedSpent(), "forgotten");
    }

    /// @dev ATK-20, ATK-29, ATK-46.
    function invariant_a_thief_holds_nothing_and_may_pull_nothing() public view {
        vm.assertEq(_life.loot(), 0, "loot");
        vm.assertEq(_life.allowances(), 0, "allowances");
    }

    /// @dev SPEC D18: without a cap, settlement goes one way only.
    function invariant_what_is_settled_stays_settled() public view {
        vm.assertEq(_life.settledAgain(), 0, "the settlement asset was traded away in Terminal");
    }

    /// @notice What the seeded life met; shown by `forge test -vvvv`.
    event Coverage(
        uint256 attempts,
        uint256 successes,
        uint256 byChildren,
        uint256 overCaps,
        uint256 gasOverCaps,
        uint256 deadAttempts,
        uint256 terminal,
        uint256 regrids,
        uint256 feeds,
        uint256[17] classes
    );

    /// @dev A life in which nothing succeeds would prove nothing.
    function test_lives_reach_every_class_and_every_cap() public {
        vm.pauseGasMetering();
        for (uint256 i = 0; i < 1_500; i++) {
            _life.step(uint256(keccak256(abi.encode("a life", i))));
        }
        uint256[17] memory classes;
        for (uint256 i = 0; i < 17; i++) {
            classes[i] = _life.accepts(i);
        }
        emit Coverage(
            _life.attempts(),
            _life.successes(),
            _life.byChildren(),
            _life.overCaps(),
            _life.gasOverCaps(),
            _life.deadAttempts(),
            _life.terminalSuccesses(),
            _life.regrids(),
            _life.feeds(),
            classes
        );
        for (uint256 i = 1; i < uint256(Class.Publish); i++) {
            vm.assertTrue(classes[i] > 0, string.concat("class never accepted: ", vm.toString(i)));
        }
        vm.assertTrue(_life.successes() * 4 > _life.attempts(), "hardly anything succeeds");
        vm.assertTrue(_life.byChildren() > 20, "children hardly act");
        vm.assertTrue(_life.overCaps() > 10, "caps are hardly met");
        vm.assertTrue(_life.gasOverCaps() > 0, "the gas cap is never met");
        vm.assertTrue(_life.deadAttempts() > 20, "ended grants are hardly tried");
        vm.assertTrue(_life.terminalSuccesses() > 3, "hardly anything is settled");
        vm.assertTrue(_life.regrids() > 3 && _life.feeds() > 0, "owners hardly act");
    }
}

/// @notice Settlement is exempt from caps: whatever it can lose, it can lose again and again.
contract CharterDyingTest is CharterMoves {
    /// @dev A thief calls the Golem dead and trades its dollars for themselves, through two pools, at the
    ///      slippage bound: no cap counts, and every turn costs.
    function test_the_dying_do_not_trade_the_settlement_asset_for_itself() public {
        Owner memory from = hybridOwner();
        Law memory law = golem(from);
        Delegation memory leaf = grant(from, law);
        vm.prank(agent.account);
        registry.updateVitality(law.golemId, 4, 0);

        for (uint256 i = 0; i < 40; i++) {
            uint256 held = USDC.balanceOf(from.account);
            Swap memory s;
            (s.sold, s.amount, s.minimum, s.to) =
            (address(USDC), held / 10, held / 10 * 99 / 100 + 1, from.account);
            // A refusal is what is hoped for.
            try this.tryOnce(leaf, roundTrip(s)) {} catch {}
        }

        vm.assertEq(USDC.balanceOf(from.account), 10_000e6, "dollars traded for fewer dollars");
    }

    function tryOnce(Delegation calldata leaf, Execution calldata one) external {
        act(leaf, one.target, one.callData);
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CaveatEnforcer} from "../../src/enforcers/CaveatEnforcer.sol";
import {DailySpendLimitEnforcer} from "../../src/enforcers/DailySpendLimitEnforcer.sol";
import {DreamModeEnforcer} from "../../src/enforcers/DreamModeEnforcer.sol";
import {EmotionalStateEnforcer} from "../../src/enforcers/EmotionalStateEnforcer.sol";
import {GolemPhaseEnforcer} from "../../src/enforcers/GolemPhaseEnforcer.sol";
import {KnowledgeRoyaltyEnforcer} from "../../src/enforcers/KnowledgeRoyaltyEnforcer.sol";
import {MaxSlippageEnforcer} from "../../src/enforcers/MaxSlippageEnforcer.sol";
import {MortalityTimeWindowEnforcer} from "../../src/enforcers/MortalityTimeWindowEnforcer.sol";
import {VaultNAVEnforcer} from "../../src/enforcers/VaultNAVEnforcer.sol";
import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IKnowledgeMarket, Royalty} from "../../src/interfaces/IKnowledgeMarket.sol";
import {IToken, IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {
    INonfungiblePositionManager,
    ISwapRouter,
    ISwapRouter02
} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class, Role} from "../../src/rules/Actions.sol";
import {CharterTerms} from "../../src/rules/CharterTerms.sol";
import {EmotionalState} from "../../src/rules/EmotionalState.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {GolemPhase} from "../../src/rules/GolemPhase.sol";
import {KnowledgeRoyalty} from "../../src/rules/KnowledgeRoyalty.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {MortalityTimeWindow} from "../../src/rules/MortalityTimeWindow.sol";
import {Positions} from "../../src/rules/Positions.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {VaultNav} from "../../src/rules/VaultNav.sol";
import {CharterMoves} from "./CharterMoves.sol";

/// @notice Setter of the uptime feed.
interface ITestUptime {
    function aggregator() external view returns (address);
    function set(bool down) external;
}

/// @notice The charter is its rules and nothing less: random laws, states and actions are put to it and
///         to the eight separate enforcers, from equal states, and their answers are compared.
contract CharterEquivalenceTest is CharterMoves {
    /// @dev The separate enforcers, in the order of {_enforcers}.
    enum Rule {
        Phase,
        Mortality,
        Dream,
        Nav,
        Slippage,
        Spend,
        Emotion,
        Royalty
    }

    /// @notice What the seeded cases met; shown by `forge test -vvvv`.
    event Coverage(
        uint256 asked, uint256 accepted, uint256 own, uint256[8] rules, uint256[18] classes
    );

    struct Answer {
        bool ok;
        bytes reason;
    }

    struct Question {
        Law law;
        ModeCode mode;
        bytes execution;
        address redeemer;
        uint256 classes;
    }

    uint256 private constant RULES = 8;
    /// @dev What the position manager says when the charter asks for the owner of no position.
    bytes private constant NO_POSITION =
        abi.encodeWithSignature("Error(string)", "ERC721: owner query for nonexistent token");

    CaveatEnforcer[RULES] private _enforcers;
    address private _account;
    address private _human;
    address private _uptime;
    bytes32 private _golemId;
    uint256 private _position;
    uint256 private _foreign;
    uint40 private _clock;
    /// @dev In Terminal the charter counts nothing and the separate rules do: from then on they differ.
    bool private _parted;
    /// @dev Written by the account; by others, with two shares due; and for a token that nobody listed.
    bytes32[3] private _entries;
    address private _buyer;

    uint256 public accepted;
    uint256 public asked;
    uint256 public ownRefusals;
    uint256[RULES] public refusals;
    uint256[18] public acceptedOf;

    function setUp() public override {
        super.setUp();
        _enforcers[uint256(Rule.Phase)] = new GolemPhaseEnforcer();
        _enforcers[uint256(Rule.Mortality)] = new MortalityTimeWindowEnforcer();
        _enforcers[uint256(Rule.Dream)] = new DreamModeEnforcer();
        _enforcers[uint256(Rule.Nav)] = new VaultNAVEnforcer();
        _enforcers[uint256(Rule.Slippage)] = new MaxSlippageEnforcer();
        _enforcers[uint256(Rule.Spend)] = new DailySpendLimitEnforcer();
        _enforcers[uint256(Rule.Emotion)] = new EmotionalStateEnforcer();
        _enforcers[uint256(Rule.Royalty)] = new KnowledgeRoyaltyEnforcer();
        _uptime = vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".sequencer_uptime");
        Owner memory from = hybridOwner();
        Law memory made = golem(from);
        (_account, _human, _golemId) = (from.account, made.owner, made.golemId);
        _clock = NOW;
        vm.prank(FAUCET);
        USDC.mint(vault, 20_000e6);
        (_position, _foreign) = (_open(_account), _open(FAUCET));
        _write();
    }

    function _write() private {
        _buyer = actor("buyer").account;
        vm.prank(_account);
        _entries[0] = market.publish("own", bytes32(0), 1_000, address(USDC), 50e6);
        vm.prank(FAUCET);
        bytes32 first = market.publish("first", bytes32(0), 2_000, address(USDC), 50e6);
        vm.prank(FAUCET);
        market.bequeath(first, _human);
        vm.prank(_human);
        _entries[1] = market.publish("insight", first, 1_000, address(USDC), 50e6);
        vm.prank(_account);
        _entries[2] = market.publish("odd", bytes32(0), 1_000, address(0xa11e), 50e6);
    }

    /// @dev Four hundred lives of three actions each, so that coverage is a fact and not a hope.
    function test_the_charter_is_its_rules_on_seeded_cases() public {
        vm.pauseGasMetering();
        for (uint256 i = 0; i < 400; i++) {
            uint256 start = vm.snapshotState();
            uint256[] memory seen = this.life(uint256(keccak256(abi.encode("seeded", i))), 3);
            vm.revertToState(start);
            this.keep(seen);
        }
        emit Coverage(asked, accepted, ownRefusals, refusals, acceptedOf);
        vm.assertTrue(asked == 1_200, "too few were asked");
        vm.assertTrue(accepted * 100 >= asked * 40, "too few were accepted");
        vm.assertTrue(ownRefusals > 0, "the charter's own rules were never met");
        for (uint256 i = 0; i < RULES; i++) {
            vm.assertTrue(refusals[i] >= 5, string.concat("rule hardly refused: ", vm.toString(i)));
        }
        for (uint256 i = 1; i < acceptedOf.length; i++) {
            vm.assertTrue(
                acceptedOf[i] > 0, string.concat("class never accepted: ", vm.toString(i))
            );
        }
    }

    function testFuzz_the_charter_is_its_rules(uint256 seed) public {
        this.life(seed, 3);
    }

    /// @dev Windows fill, grow old and are carried over, side by side.
    /// forge-config: default.fuzz.runs = 64
    function testFuzz_the_charter_is_its_rules_over_a_life(uint256 seed) public {
        this.life(seed, 16);
    }

    /// @dev Some actions in turn, with time between them. Returns what was counted.
    function life(uint256 seed, uint256 actions) external returns (uint256[] memory seen) {
        if (dice(seed, "dying") % 8 == 0) {
            vm.prank(_human);
            registry.advance(_golemId, 4);
        }
        for (uint256 i = 0; i < actions; i++) {
            uint256 one = uint256(keccak256(abi.encode(seed, i)));
            _live(one);
            this.ask(one, seed);
        }
        seen = new uint256[](3 + RULES + acceptedOf.length);
        (seen[0], seen[1], seen[2]) = (accepted, asked, ownRefusals);
        for (uint256 i = 0; i < RULES; i++) {
            seen[3 + i] = refusals[i];
        }
        for (uint256 i = 0; i < acceptedOf.length; i++) {
            seen[3 + RULES + i] = acceptedOf[i];
        }
    }

    /// @dev Counters alone survive the return to the start.
    function keep(uint256[] calldata seen) external {
        accepted = seen[0];
        asked = seen[1];
        ownRefusals = seen[2];
        for (uint256 i = 0; i < RULES; i++) {
            refusals[i] = seen[3 + i];
        }
        for (uint256 i = 0; i < acceptedOf.length; i++) {
            acceptedOf[i] = seen[3 + RULES + i];
        }
    }

    // The comparison

    /// @dev A call of its own, so that memory does not pile up.
    function ask(uint256 seed, uint256 grantSeed) external {
        Question memory q = _question(seed, grantSeed);
        asked++;
        Answer[RULES] memory apart;
        uint256 start = vm.snapshotState();
        for (uint256 i = 0; i < RULES; i++) {
            apart[i] = _askRule(Rule(i), q);
        }
        vm.revertToState(start);
        Answer memory whole = _ask(address(charterEnforcer), encode(q.law), q);

        bool terminal = registry.word(_golemId).phase() == 4;
        if (whole.ok) _compareAcceptance(q, apart, terminal);
        else _compareRefusal(q, whole.reason, apart);
    }

    function _compareAcceptance(Question memory q, Answer[RULES] memory apart, bool terminal)
        private
    {
        accepted++;
        for (uint256 i = 0; i < acceptedOf.length; i++) {
            acceptedOf[i] += (q.classes >> i) & 1;
        }
        for (uint256 i = 0; i < RULES; i++) {
            // Settlement is exempt from caps (SPEC D18).
            bool exempt = terminal && (i == uint256(Rule.Nav) || i == uint256(Rule.Spend));
            if (exempt) continue;
            vm.assertEq(apart[i].reason, "", "the charter accepts what a rule refuses");
            vm.assertTrue(apart[i].ok, "the charter accepts what a rule refuses");
        }
        if (terminal) _parted = true;
        if (_parted) return;
        for (uint256 i = 0; i < RULES; i++) {
            Answer memory again = _askRule(Rule(i), q);
            vm.assertTrue(again.ok, "an answer changed");
        }
        _compareState(q.law);
    }

    function _compareState(Law memory law) private view {
        address delegator = _account;
        vm.assertEq(
            charterEnforcer.spendWindowOf(address(MANAGER), delegator, law.golemId),
            DailySpendLimitEnforcer(address(_enforcers[uint256(Rule.Spend)]))
                .spendWindowOf(address(MANAGER), delegator, law.golemId),
            "spend windows differ"
        );
        vm.assertEq(
            charterEnforcer.navCheckpointsOf(address(MANAGER), delegator, law.golemId, law.vault),
            VaultNAVEnforcer(address(_enforcers[uint256(Rule.Nav)]))
                .navCheckpointsOf(address(MANAGER), delegator, law.golemId, law.vault),
            "checkpoints differ"
        );
    }

    function _compareRefusal(Question memory q, bytes memory reason, Answer[RULES] memory apart)
        private
    {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(reason);
        uint256 rules = _rulesOf(selector);
        if (_isSpendWindow(selector) && _parted) return;
        if (selector == IGolemCharterEnforcer.GolemCharter_GasDailyCap.selector && !_parted) {
            vm.assertTrue(apart[uint256(Rule.Spend)].ok, "gas money was refused before dollars");
        }
        if (rules != 0) {
            for (uint256 i = 0; i < RULES; i++) {
                if (rules & (1 << i) == 0) continue;
                vm.assertFalse(apart[i].ok, "the charter refuses by a rule that accepts");
                vm.assertEq(
                    apart[i].reason,
                    _wordsOf(reason, apart[i].reason),
                    "the rule refuses in other words"
                );
                refusals[i]++;
            }
            return;
        }
        bool odd = q.classes >> uint256(Class.Sell) & 1 != 0
            && selector == Listing.Listing_UnknownToken.selector;
        if (odd || _isOwn(selector) || keccak256(reason) == keccak256(NO_POSITION)) {
            ownRefusals++;
            return;
        }
        // What is common to rules (reading calls, prices) and what targets themselves say: somebody
        // must have met the very same.
        bool met = false;
        for (uint256 i = 0; i < RULES; i++) {
            if (!apart[i].ok && keccak256(apart[i].reason) == keccak256(reason)) met = true;
        }
        if (!met) vm.assertEq(reason, "", "the charter refuses for a reason nobody has");
        vm.assertTrue(met, "the charter refuses without words and without company");
    }

    /// @dev Which separate rules an error belongs to, a bit each.
    function _rulesOf(bytes4 selector) private pure returns (uint256) {
        if (selector == GolemPhase.GolemPhase_NotAllowed.selector) return 1 << uint256(Rule.Phase);
        if (selector == GolemLife.GolemLife_NotAlive.selector) {
            return (1 << uint256(Rule.Phase)) | (1 << uint256(Rule.Dream));
        }
        if (selector == GolemLife.GolemLife_Dreaming.selector) return 1 << uint256(Rule.Dream);
        if (
            selector == MortalityTimeWindow.MortalityTimeWindow_Expired.selector
                || selector == MortalityTimeWindow.MortalityTimeWindow_NotYetBorn.selector
                || selector == MortalityTimeWindow.MortalityTimeWindow_InvertedWindow.selector
        ) return 1 << uint256(Rule.Mortality);
        if (
            selector == MaxSlippage.MaxSlippage_TooMuch.selector
                || selector == MaxSlippage.MaxSlippage_PoolMoved.selector
                || selector == MaxSlippage.MaxSlippage_Bps.selector
        ) return 1 << uint256(Rule.Slippage);
        if (
            selector == VaultNav.VaultNav_TooMuch.selector
                || selector == VaultNav.VaultNav_Bps.selector
        ) return 1 << uint256(Rule.Nav);
        if (_isSpendWindow(selector)) return 1 << uint256(Rule.Spend);
        if (
            selector == EmotionalState.EmotionalState_ClassOutOfBounds.selector
                || selector == EmotionalState.EmotionalState_ClassStale.selector
        ) return 1 << uint256(Rule.Emotion);
        if (
            selector == KnowledgeRoyalty.KnowledgeRoyalty_Missing.selector
                || selector == KnowledgeRoyalty.KnowledgeRoyalty_TooMuch.selector
        ) return 1 << uint256(Rule.Royalty);
        return 0;
    }

    /// @dev A mood's rule names a selector where the charter names a class; all else is the same.
    function _wordsOf(bytes memory reason, bytes memory apart) private pure returns (bytes memory) {
        // The first four bytes are what is wanted.
        // forge-lint: disable-start(unsafe-typecast)
        bytes4 said = bytes4(reason);
        if (said == EmotionalState.EmotionalState_ClassOutOfBounds.selector) {
            said = EmotionalState.EmotionalState_OutOfBounds.selector;
        } else if (said == EmotionalState.EmotionalState_ClassStale.selector) {
            said = EmotionalState.EmotionalState_Stale.selector;
        } else {
            return reason;
        }
        // forge-lint: disable-end(unsafe-typecast)
        if (apart.length != reason.length) return reason;
        bytes memory words = bytes.concat(reason);
        for (uint256 i = 0; i < 4; i++) {
            words[i] = said[i];
        }
        for (uint256 i = 4; i < 36; i++) {
            words[i] = apart[i];
        }
        return words;
    }

    function _isSpendWindow(bytes4 selector) private pure returns (bool) {
        return selector == SpendWindow.SpendWindow_OverCap.selector
            || selector == SpendWindow.SpendWindow_StaleEpoch.selector
            || selector == SpendWindow.SpendWindow_ZeroCap.selector
            || selector == SpendWindow.SpendWindow_BucketLength.selector
            || selector == SpendWindow.SpendWindow_TimeWentBack.selector;
    }

    function _isOwn(bytes4 selector) private pure returns (bool) {
        return selector == IGolemCharterEnforcer.GolemCharter_Redeemer.selector
            || selector == IGolemCharterEnforcer.GolemCharter_Class.selector
            || selector == IGolemCharterEnforcer.GolemCharter_ForbiddenTarget.selector
            || selector == IGolemCharterEnforcer.GolemCharter_Recipient.selector
            || selector == IGolemCharterEnforcer.GolemCharter_Source.selector
            || selector == IGolemCharterEnforcer.GolemCharter_Spender.selector
            || selector == IGolemCharterEnforcer.GolemCharter_OtherGolem.selector
            || selector == IGolemCharterEnforcer.GolemCharter_SettlementAsset.selector
            || selector == IGolemCharterEnforcer.GolemCharter_GasCeiling.selector
            || selector == IGolemCharterEnforcer.GolemCharter_GasDailyCap.selector
            || selector == CharterTerms.CharterTerms_UnknownBits.selector
            || selector == GolemLife.GolemLife_EpochRevoked.selector
            || selector == GolemLife.GolemLife_OtherGeneration.selector
            || selector == Positions.Positions_NotOwned.selector;
    }

    /// @dev A law without a section has nothing to say about moods.
    function _askRule(Rule rule, Question memory q) private returns (Answer memory) {
        if (rule == Rule.Emotion && q.law.flags & EMOTION == 0) return Answer(true, "");
        return _ask(address(_enforcers[uint256(rule)]), _terms(rule, q.law), q);
    }

    function _ask(address enforcer, bytes memory terms, Question memory q)
        private
        returns (Answer memory answer)
    {
        bytes memory hook = abi.encodeCall(
            IGolemCharterEnforcer.beforeHook,
            (terms, "", q.mode, q.execution, SALT, _account, q.redeemer)
        );
        vm.prank(address(MANAGER));
        (answer.ok, answer.reason) = enforcer.call(hook);
    }

    function _terms(Rule rule, Law memory c) private view returns (bytes memory) {
        if (rule == Rule.Emotion) return _emotion(c);
        if (rule == Rule.Royalty) {
            bool bounded = c.flags & ROYALTY != 0;
            return bytes.concat(
                bytes20(address(market)), bounded ? _slice(c.sections, 0, 2) : new bytes(2)
            );
        }
        if (rule == Rule.Phase) {
            return abi.encodePacked(c.golemId, c.registry, c.staleness, listing(c));
        }
        if (rule == Rule.Mortality) return abi.encodePacked(uint64(c.start), uint64(c.end));
        if (rule == Rule.Dream) return abi.encodePacked(c.golemId, c.registry);
        if (rule == Rule.Nav) {
            return abi.encodePacked(c.golemId, c.vault, c.navBps, c.navCap, listing(c));
        }
        if (rule == Rule.Slippage) return abi.encodePacked(c.slippageBps, listing(c));
        return abi.encodePacked(c.golemId, c.epoch, c.spendCap, c.bucketMinutes, listing(c));
    }

    function _emotion(Law memory c) private pure returns (bytes memory) {
        uint256 at = c.sections.length - 7;
        return abi.encodePacked(
            c.golemId,
            c.registry,
            c.staleness,
            _slice(c.sections, at, 3),
            _selectorsOf(uint32(bytes4(_slice(c.sections, at + 3, 4))))
        );
    }

    function _slice(bytes memory whole, uint256 at, uint256 length)
        private
        pure
        returns (bytes memory part)
    {
        part = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            part[i] = whole[at + i];
        }
    }

    /// @dev Every function of every class that is bound.
    function _selectorsOf(uint256 classes) private pure returns (bytes memory list) {
        for (uint256 i = 1; i <= uint256(type(Class).max); i++) {
            if (classes >> i & 1 != 0) list = bytes.concat(list, _functionsOf(Class(i)));
        }
    }

    function _functionsOf(Class class) private pure returns (bytes memory) {
        if (class == Class.Swap) {
            return bytes.concat(
                abi.encodePacked(
                    ISwapRouter.exactInputSingle.selector,
                    ISwapRouter.exactOutputSingle.selector,
                    ISwapRouter.exactInput.selector,
                    ISwapRouter.exactOutput.selector
                ),
                abi.encodePacked(
                    ISwapRouter02.exactInputSingle.selector,
                    ISwapRouter02.exactOutputSingle.selector,
                    ISwapRouter02.exactInput.selector,
                    ISwapRouter02.exactOutput.selector
                )
            );
        }
        if (class == Class.AddLiquidity) {
            return abi.encodePacked(
                INonfungiblePositionManager.mint.selector,
                INonfungiblePositionManager.increaseLiquidity.selector
            );
        }
        if (class == Class.RemoveLiquidity) {
            return bytes.concat(INonfungiblePositionManager.decreaseLiquidity.selector);
        }
        if (class == Class.Collect) {
            return bytes.concat(INonfungiblePositionManager.collect.selector);
        }
        if (class == Class.BurnPosition) {
            return bytes.concat(INonfungiblePositionManager.burn.selector);
        }
        if (class == Class.Deposit) {
            return bytes.concat(IVault.deposit.selector, IVault.mint.selector);
        }
        if (class == Class.Withdraw) {
            return bytes.concat(IVault.withdraw.selector, IVault.redeem.selector);
        }
        return _otherFunctionsOf(class);
    }

    function _otherFunctionsOf(Class class) private pure returns (bytes memory) {
        if (class == Class.Approve || class == Class.Disapprove) {
            return bytes.concat(IToken.approve.selector);
        }
        if (class == Class.Transfer) {
            return bytes.concat(IToken.transfer.selector, IToken.transferFrom.selector);
        }
        if (class == Class.Wrap) return bytes.concat(IWeth.deposit.selector);
        if (class == Class.Unwrap) return bytes.concat(IWeth.withdraw.selector);
        // A payment has none.
        if (class == Class.GasTopUp) return new bytes(4);
        if (class == Class.SpawnReplicant) {
            return bytes.concat(IGolemLifecycle.spawnReplicant.selector);
        }
        if (class == Class.Settle) return bytes.concat(IGolemLifecycle.settle.selector);
        if (class == Class.Sell) return bytes.concat(IKnowledgeMarket.sell.selector);
        return abi.encodePacked(
            IGolemRegistry.updateVitality.selector,
            IGolemRegistry.setDreaming.selector,
            IGolemRegistry.updatePad.selector,
            IGolemRegistry.heartbeat.selector,
            IGolemRegistry.close.selector
        );
    }

    // The world

    /// @dev Time passes, prices move, the Golem lives and its owner has a say.
    function _live(uint256 seed) private {
        uint256 jump = dice(seed, "time") % 4;
        if (jump == 1) _clock += uint40(dice(seed, "minutes") % 7_300);
        if (jump == 2) _clock += uint40(dice(seed, "hours") % 30 hours);
        vm.warp(_clock);
        if (dice(seed, "prices") % 3 == 0) {
            setPrice(ethUsd, int256(2_480e8 + dice(seed, "ether") % 40e8));
            setPrice(usdcUsd, int256(0.998e8 + dice(seed, "dollar") % 0.004e8));
        }
        if (dice(seed, "crash") % 24 == 0) {
            setPrice(ethUsd, int256(dice(seed, "depth") % 3) * 1_100e8);
        }
        if (dice(seed, "uptime") % 16 == 0) {
            address aggregator = ITestUptime(_uptime).aggregator();
            vm.prank(FAUCET);
            ITestUptime(aggregator).set(dice(seed, "down") % 2 == 0);
        }
        if (dice(seed, "assets") % 8 == 0) {
            uint256 held = USDC.balanceOf(vault);
            vm.prank(vault);
            bool ok = USDC.transfer(FAUCET, dice(seed, "withdrawn") % (held + 1));
            vm.assertTrue(ok, "the vault cannot pay");
        }
        _register(seed);
        if (dice(seed, "mood") % 4 == 0) _feel(seed);
    }

    function _feel(uint256 seed) private {
        int8[3] memory pad;
        for (uint256 i = 0; i < 3; i++) {
            // From −100 to 100, often at a bound of {_law} or just beyond.
            // forge-lint: disable-next-line(unsafe-typecast)
            pad[i] = int8(int256(dice(seed ^ i, "pad") % 201) - 100);
            if (dice(seed ^ i, "edge of a mood") % 2 == 0) {
                // forge-lint: disable-next-line(unsafe-typecast)
                pad[i] = [int8(-31), -30, 40, 41][dice(seed ^ i, "which edge") % 4];
            }
        }
        vm.prank(agent.account);
        // What the registry refuses has not happened.
        (bool ok,) = address(registry)
            .call(abi.encodeCall(registry.updatePad, (_golemId, pad[0], pad[1], pad[2])));
        ok;
    }

    function _register(uint256 seed) private {
        uint256 event_ = dice(seed, "event") % 56;
        bytes memory said;
        address by = _human;
        if (event_ < 4) {
            // forge-lint: disable-next-line(unsafe-typecast)
            uint8 phase = uint8(dice(seed, "phase") % 5);
            said = abi.encodeCall(registry.advance, (_golemId, phase));
        } else if (event_ < 8) {
            said = abi.encodeCall(registry.feed, (_golemId, event_ % 2 == 0 ? 0 : 1));
        } else if (event_ < 12) {
            (said, by) =
            (abi.encodeCall(registry.setDreaming, (_golemId, event_ == 8)), agent.account);
        } else if (event_ == 12) {
            said = abi.encodeCall(registry.revoke, _golemId);
        } else if (event_ == 13) {
            said = abi.encodeCall(registry.revokeAll, ());
        } else if (event_ == 14) {
            (said, by) = (abi.encodeCall(registry.close, _golemId), agent.account);
        } else if (event_ == 15) {
            said = abi.encodeCall(registry.deregister, _golemId);
        } else {
            return;
        }
        vm.prank(by);
        // What the registry refuses has not happened.
        (bool ok,) = address(registry).call(said);
        ok;
    }

    function _open(address for_) private returns (uint256 id) {
        vm.prank(FAUCET);
        USDC.mint(for_, 5_000e6);
        vm.deal(for_, 20 ether);
        Execution[4] memory calls = [
            wrapCall(4 ether),
            approveCall(address(WETH), POSITIONS, type(uint256).max),
            approveCall(address(USDC), POSITIONS, type(uint256).max),
            mintCall(0, 1 ether, 2_500e6, for_)
        ];
        for (uint256 i = 0; i < calls.length; i++) {
            vm.prank(for_);
            (bool ok, bytes memory back) =
                calls[i].target.call{value: calls[i].value}(calls[i].callData);
            vm.assertTrue(ok, "a position cannot be opened");
            if (i == 3) id = abi.decode(back, (uint256));
        }
    }

    // The question

    function _question(uint256 seed, uint256 grantSeed) private view returns (Question memory q) {
        q.law = _law(seed, grantSeed);
        q.redeemer = q.law.agentKey;
        if (dice(seed, "redeemer") % 32 == 0) q.redeemer = address(0xbad);
        uint256 count = dice(seed, "count") % 8;
        Execution[] memory calls;
        if (dice(seed, "sale") % 10 == 0) {
            calls = _sales(q, seed);
        } else if (count > 2) {
            q.mode = SINGLE_DEFAULT;
            Execution memory only_ = _move(q, seed);
            q.execution = abi.encodePacked(only_.target, only_.value, only_.callData);
        } else {
            calls = new Execution[](count + 1);
            for (uint256 i = 0; i <= count; i++) {
                calls[i] = _move(q, uint256(keccak256(abi.encode(seed, "batch", i))));
            }
        }
        if (calls.length != 0) (q.mode, q.execution) = (BATCH_DEFAULT, abi.encode(calls));
        uint256 damage = dice(seed, "damage") % 64;
        if (damage == 0) q.execution[dice(seed, "where") % q.execution.length] ^= 0x01;
        if (damage == 1) q.execution = bytes.concat(q.execution, hex"00");
        if (damage == 2) q.mode = ModeCode.wrap(bytes32(uint256(1) << 248));
    }

    /// @dev Mostly a law that allows; one time in three a bound of it is moved.
    function _law(uint256 seed, uint256 grantSeed) private view returns (Law memory c) {
        (c.golemId, c.owner, c.registry) = (_golemId, _human, address(registry));
        (c.account, c.beneficiary, c.agentKey) = (_account, _human, agent.account);
        c.epoch = registry.word(_golemId).minEpoch() + 1;
        c.generation = registry.generationOf(_human);
        c.classes = ALL_CLASSES;
        (c.start, c.end) = (NOW, NOW + 60 days);
        (c.spendCap, c.bucketMinutes, c.slippageBps) = (1_000e6, 120, 100);
        (c.vault, c.navBps, c.navCap) = (vault, 1_000, 500e6);
        if (dice(grantSeed, "vault") % 3 == 0) c.vault = address(0);
        c.staleness = 30 days;
        (c.gasCeiling, c.gasDailyCap) = (50_000_000, 40_000_000);
        c.settlementAsset = address(USDC);
        if (dice(grantSeed, "sequencer") % 4 == 0) {
            (c.sequencerFeed, c.sequencerGrace) = (_uptime, 600);
        }
        c.targets = everyTarget(agent.account);
        c.tokens = _tokens(30 days, 8);
        _addSections(c, grantSeed);
        if (dice(seed, "bend") % 3 == 0) _bend(c, dice(seed, "how"));
    }

    function _addSections(Law memory c, uint256 grantSeed) private pure {
        if (dice(grantSeed, "royalty") % 4 != 0) {
            c.flags |= ROYALTY;
            c.sections =
                royaltySection([uint16(2_000), 5_000, 10_000, 1_999][dice(grantSeed, "share") % 4]);
        }
        if (dice(grantSeed, "emotion") % 3 != 0) return;
        c.flags |= EMOTION;
        // Bits of 32 fit.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint32 classes = uint32(dice(grantSeed, "bound")) & ALL_CLASSES;
        // One function is both, so a selector cannot tell them apart.
        uint32 approvals = uint32((1 << uint256(Class.Approve)) | (1 << uint256(Class.Disapprove)));
        if (classes & approvals != 0) classes |= approvals;
        if (classes == 0) classes = 2;
        c.sections = bytes.concat(c.sections, emotionSection(-30, 40, -30, classes));
    }

    function _tokens(uint32 maxAge, uint8 feedDecimals) private view returns (bytes memory) {
        return bytes.concat(
            token(address(USDC), usdcUsd, 6, feedDecimals, maxAge),
            token(address(WETH), ethUsd, 18, 8, maxAge)
        );
    }

    function _bend(Law memory c, uint256 how) private view {
        uint256 which = how % 20;
        how >>= 8;
        // Fields keep what fits them.
        // forge-lint: disable-start(unsafe-typecast)
        if (which == 0) c.start = uint40(_clock + how % 3) - 1;
        if (which == 1) c.end = uint40(_clock + how % 3) - 1;
        if (which == 2) (c.start, c.end) = (c.end, c.start);
        if (which == 3) c.classes = uint32(how) & ALL_CLASSES;
        if (which == 4) c.epoch = uint16(how % 1_100);
        if (which == 5) c.generation += uint32(how % 2);
        if (which == 6) c.bucketMinutes = uint16([0, 1, 60, 240, 20_000][how % 5]);
        if (which == 7) c.slippageBps = uint16([0, 10, 50, 10_000, 10_001][how % 5]);
        if (which == 8) c.spendCap = uint64([0, 1, 50e6, 300e6, 5_000e6][how % 5]);
        if (which == 9) c.navCap = uint64([0, 1, 20e6, 100e6, 5_000e6][how % 5]);
        if (which == 10) c.navBps = uint16([0, 1, 50, 10_000, 10_001][how % 5]);
        if (which == 11) c.staleness = uint32(how % 2 days);
        if (which == 12) c.tokens = _tokens(uint32(how % 2 days), 8);
        if (which == 13) c.tokens = _tokens(30 days, uint8(how % 3) + 7);
        if (which == 14) c.tokens = token(address(USDC), usdcUsd, 6);
        if (which == 15) c.targets = target(ROUTER_02, Role(how % 11));
        if (which == 16) c.golemId = bytes32(how);
        if (which == 17) c.gasCeiling = uint48(how % 20_000_000);
        if (which == 18) c.gasDailyCap = uint48(how % 3 * 1_000_000);
        if (which == 19) c.flags ^= [uint16(1), 8][how % 2];
        // forge-lint: disable-end(unsafe-typecast)
    }

    /// @dev One call of any class; a few of them for somebody else, or too much.
    function _move(Question memory q, uint256 seed) private view returns (Execution memory) {
        uint256 class = 1 + dice(seed, "class") % 17;
        // Swaps have the most ways to be made, and to be wrong.
        if (dice(seed, "swap") % 4 == 0) class = uint256(Class.Swap);
        address to =
            dice(seed, "to") % 24 == 0 ? address(uint160(dice(seed, "whom") % 4)) : _account;
        q.classes |= 1 << class;
        if (class == uint256(Class.Swap)) return _swapMove(q, seed, to);
        if (class < uint256(Class.Deposit)) return _poolMove(Class(class), seed, to);
        return _otherMove(q, Class(class), seed, to);
    }

    function _swapMove(Question memory q, uint256 seed, address to)
        private
        view
        returns (Execution memory)
    {
        Swap memory s;
        (s.first, s.path) = (dice(seed, "router") % 2 == 0, dice(seed, "form") % 2 == 0);
        s.exactOutput = dice(seed, "exact") % 3 == 0;
        bool sells = dice(seed, "sells") % 2 == 0;
        (s.sold, s.bought) = sells ? (address(USDC), address(WETH)) : (address(WETH), address(USDC));
        if (dice(seed, "alien") % 32 == 0) s.bought = address(0xa11e);
        s.fee = 500;
        s.to = to;
        uint256 dollars = _dollars(seed);
        s.amount = sells ? dollars : dollars * 1e12 / 2500;
        // From a tenth of a percent better than the feeds of the first day to four worse.
        uint256 bps = 10_010 - dice(seed, "bps") % (dice(seed, "greedy") % 4 == 0 ? 410 : 40);
        if (q.law.slippageBps == 10_000) bps = dice(seed, "any") % 10_000;
        s.minimum = (sells ? dollars * 1e12 / 2500 : dollars) * bps / 10_000;
        if (dice(seed, "there and back") % 24 == 0) {
            s.minimum = s.amount * bps / 10_000;
            s.exactOutput = false;
            return roundTrip(s);
        }
        return swapCall(s);
    }

    function _poolMove(Class class, uint256 seed, address to)
        private
        view
        returns (Execution memory)
    {
        uint256 id = dice(seed, "foreign") % 12 == 0 ? _foreign : _position;
        if (dice(seed, "no position") % 32 == 0) id = 0;
        (uint256 dollars, uint256 wei_) = (_dollars(seed), _dollars(~seed) * 1e12 / 2500);
        if (class == Class.AddLiquidity) {
            if (dice(seed, "new") % 2 == 0) return increaseCall(id, wei_, dollars);
            // forge-lint: disable-next-line(unsafe-typecast)
            return mintCall(int24(int256(dice(seed, "reach") % 3 * 1_000)), wei_, dollars, to);
        }
        // Far below the type's end.
        // forge-lint: disable-next-line(unsafe-typecast)
        if (class == Class.RemoveLiquidity) return decreaseCall(id, uint128(dollars));
        if (class == Class.Collect) return collectCall(id, to);
        return burnCall(id);
    }

    function _otherMove(Question memory q, Class class, uint256 seed, address to)
        private
        view
        returns (Execution memory)
    {
        uint256 amount = _dollars(seed);
        bool odd = dice(seed, "odd") % 2 == 0;
        bytes32 id = dice(seed, "other golem") % 16 == 0 ? bytes32(seed) : q.law.golemId;
        address at = odd ? address(USDC) : address(WETH);
        if (class == Class.Deposit) return depositCall(odd ? amount * 1e6 : amount, odd, to);
        if (class == Class.Withdraw) return withdrawCall(amount, odd, to, to);
        if (class == Class.Approve) {
            address[4] memory spenders = [ROUTER_02, router, POSITIONS, vault];
            address spender = spenders[dice(seed, "spender") % 4];
            return approveCall(at, to == _account ? spender : to, amount);
        }
        if (class == Class.Disapprove) return approveCall(at, to, 0);
        if (class == Class.Transfer) {
            address home = to == _account ? _human : to;
            if (dice(seed, "from") % 2 == 0) return transferFromCall(at, _account, home, amount);
            return transferCall(at, home, amount);
        }
        if (class == Class.Wrap) return wrapCall(amount);
        if (class == Class.Unwrap) return unwrapCall(amount);
        if (class == Class.GasTopUp) {
            return topUpCall(agent.account, dice(seed, "gas") % 0.03 ether);
        }
        if (class == Class.SpawnReplicant) return spawnCall(id);
        if (class == Class.Settle) return settleCall(id);
        if (class == Class.Sell) return sellCall(_entries[odd ? 0 : 2], to, _buyer);
        return heartbeatCall(id);
    }

    /// @dev One or two sales with what they owe, or almost.
    function _sales(Question memory q, uint256 seed)
        private
        view
        returns (Execution[] memory calls)
    {
        (,, Royalty[] memory due) = market.royaltiesOf(_entries[1], _account);
        uint256 sales = 1 + dice(seed, "sales") % 2;
        q.classes |= (1 << uint256(Class.Sell)) | (1 << uint256(Class.Transfer));
        bool first = dice(seed, "something first") % 3 == 0;
        calls = new Execution[](sales * 3 + (first ? 1 : 0));
        uint256 at = 0;
        if (first) calls[at++] = _move(q, ~seed);
        for (uint256 i = 0; i < sales; i++) {
            calls[at++] = sellCall(_entries[1], _account, _buyer);
            for (uint256 j = 0; j < due.length; j++) {
                calls[at++] = _royalty(due[j], dice(seed, "slip") + i * 2 + j);
            }
        }
    }

    function _royalty(Royalty memory due, uint256 slip) private view returns (Execution memory) {
        slip %= 24;
        if (slip == 0) return transferCall(address(USDC), due.author, due.amount + 1);
        if (slip == 1) return transferCall(address(USDC), _buyer, due.amount);
        if (slip == 2) return transferFromCall(address(USDC), _account, due.author, due.amount);
        if (slip == 3) return transferCall(address(WETH), due.author, due.amount);
        if (slip == 4) return approveCall(address(USDC), ROUTER_02, due.amount);
        return transferCall(address(USDC), due.author, due.amount);
    }

    /// @dev Micro-dollars: often at a bound of {_law}.
    function _dollars(uint256 seed) private pure returns (uint256) {
        uint256 edge = dice(seed, "edge") % 12;
        if (edge == 0) return 500e6;
        if (edge == 1) return 500e6 + 1;
        if (edge == 2) return 1_000e6;
        if (edge == 3) return 50e6;
        if (edge == 4) return 1;
        if (edge == 5) return dice(seed, "much") % 3_000e6;
        return 1 + dice(seed, "little") % 120e6;
    }
}

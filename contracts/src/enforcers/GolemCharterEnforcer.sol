// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ICaveatEnforcer} from "../interfaces/ICaveatEnforcer.sol";
import {IGolemCharterEnforcer} from "../interfaces/IGolemCharterEnforcer.sol";
import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {GolemWord} from "../registry/GolemWord.sol";
import {Action, Class, Role} from "../rules/Actions.sol";
import {Appraisal, Worth} from "../rules/Appraisal.sol";
import {Charter, CharterTerms} from "../rules/CharterTerms.sol";
import {EmotionalState, Mood, MoodBounds} from "../rules/EmotionalState.sol";
import {Executions} from "../rules/Executions.sol";
import {GolemLife} from "../rules/GolemLife.sol";
import {GolemPhase, Phase} from "../rules/GolemPhase.sol";
import {KnowledgeRoyalty} from "../rules/KnowledgeRoyalty.sol";
import {Listing} from "../rules/Listing.sol";
import {MaxSlippage} from "../rules/MaxSlippage.sol";
import {MortalityTimeWindow} from "../rules/MortalityTimeWindow.sol";
import {Positions} from "../rules/Positions.sol";
import {SpendWindow} from "../rules/SpendWindow.sol";
import {NavBound, VaultNav} from "../rules/VaultNav.sol";
import {VaultShares} from "../rules/VaultShares.sol";
import {ExecutionModes} from "./ExecutionModes.sol";

/// @notice The whole of a Golem's law in one caveat: who acts, in which phase of its life, what kind of
///         action, for whom, at which price, and how much in any period.
/// @dev Modes: single and batch; try is refused. Every element of a batch is judged on the state before
///      the batch; see {Executions} for what that forbids.
///
///      State is keyed by manager, delegator and golemId, not by delegation: feed, rotation and
///      re-grant carry a spent window over, and the first redemption of a higher epoch ends every
///      lower one. Anyone may call a hook, and writes under his own address only.
///
///      Not promised: that a token or a vault the owner listed behaves; a price better than the feeds
///      he named; anything about phase and dreams against a thief, who writes them himself.
contract GolemCharterEnforcer is ExecutionModes, IGolemCharterEnforcer {
    using Listing for bytes;

    /// @dev What one execution adds up to.
    struct Judgement {
        GolemWord word;
        Phase phase;
        /// @dev In Terminal: all that may be bought.
        address settlementAsset;
        uint256 spend;
        uint256 topUp;
        uint256[] answers;
        /// @dev Actions below this one and behind the last sale are its royalties.
        uint256 royaltiesEnd;
    }

    /// @dev What one Golem has used up.
    struct Account {
        /// @dev {SpendWindow} in micro-dollars, with the highest epoch.
        uint256 spend;
        /// @dev {SpendWindow} of gas money, in gwei.
        uint256 gas;
        /// @dev In Terminal: epoch, and what the Golem converts to under it in the lower 160 bits.
        uint256 settlement;
        /// @dev {VaultNav}'s checkpoints of each vault that was named.
        mapping(address vault => uint256 word) nav;
    }

    /// @dev The gas window's grid: a day.
    uint16 private constant GAS_BUCKET_MINUTES = 120;

    mapping(
        address manager => mapping(address delegator => mapping(bytes32 golemId => Account account))
    ) private _accounts;

    /// @dev The framework's other three hooks. The charter has nothing to say in them, and reading their
    ///      seven arguments to find that out would cost every redemption 2,000 gas.
    fallback() external {
        bytes4 hook = msg.sig;
        if (
            hook != ICaveatEnforcer.beforeAllHook.selector
                && hook != ICaveatEnforcer.afterHook.selector
                && hook != ICaveatEnforcer.afterAllHook.selector
        ) revert GolemCharter_UnknownCall(hook);
    }

    /// @inheritdoc IGolemCharterEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata execution,
        bytes32,
        address delegator,
        address redeemer
    ) external onlyDefaultExecutionMode(mode) {
        (Charter memory charter, bytes calldata listing) = CharterTerms.read(terms);
        if (redeemer != charter.agentKey && !charter.replicants) {
            revert GolemCharter_Redeemer(redeemer, charter.agentKey);
        }
        MortalityTimeWindow.check(charter.start, charter.end, block.timestamp);

        Judgement memory judgement;
        judgement.word = _requireLife(charter);
        judgement.phase = Phase(judgement.word.effectivePhase(block.timestamp, charter.staleness));
        judgement.answers = listing.noAnswers();
        Account storage account = _accounts[msg.sender][delegator][charter.golemId];
        if (judgement.phase == Phase.Terminal) {
            judgement.settlementAsset = _settlementAsset(charter, account);
        }
        Action[] memory actions = Executions.actions(listing, mode, execution);
        if (charter.emotion != 0) _judgeMood(charter, judgement.word, actions);
        for (uint256 i = 0; i < actions.length; i++) {
            _judge(charter, listing, actions, i, judgement);
        }
        if (judgement.spend != 0) _countNav(charter, listing, account, judgement);
        _countSpend(charter, account, judgement);
    }

    /// @inheritdoc IGolemCharterEnforcer
    function getTermsInfo(bytes calldata terms)
        external
        pure
        returns (Charter memory charter, bytes calldata listing)
    {
        return CharterTerms.read(terms);
    }

    /// @inheritdoc IGolemCharterEnforcer
    function spendWindowOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256)
    {
        return _accounts[manager][delegator][golemId].spend;
    }

    /// @inheritdoc IGolemCharterEnforcer
    function gasWindowOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256)
    {
        return _accounts[manager][delegator][golemId].gas;
    }

    /// @inheritdoc IGolemCharterEnforcer
    function navCheckpointsOf(address manager, address delegator, bytes32 golemId, address vault)
        external
        view
        returns (uint256)
    {
        return _accounts[manager][delegator][golemId].nav[vault];
    }

    /// @inheritdoc IGolemCharterEnforcer
    function settlementOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256)
    {
        return _accounts[manager][delegator][golemId].settlement;
    }

    // Who and when

    /// @dev One call for everything the chain knows of the Golem.
    function _requireLife(Charter memory charter) private view returns (GolemWord word) {
        (bytes32 golemId, address owner) = (charter.golemId, charter.owner);
        uint32 generation;
        (word, generation) = IGolemRegistry(charter.registry).state(golemId, owner);
        GolemLife.requireAlive(word, golemId);
        GolemLife.requireEpoch(word, golemId, charter.epoch);
        GolemLife.requireGeneration(owner, charter.generation, generation);
        GolemLife.requireAwake(word, golemId);
    }

    function _judgeMood(Charter memory charter, GolemWord word, Action[] memory actions)
        private
        view
    {
        (MoodBounds memory bounds, uint256 classes) = CharterTerms.mood(charter);
        Mood memory mood = Mood(word, bounds, block.timestamp);
        if (EmotionalState.isCalm(mood)) return;
        for (uint256 i = 0; i < actions.length; i++) {
            EmotionalState.checkClass(mood, classes, actions[i].class);
        }
    }

    /// @dev What the first redemption of a dying Golem named, for as long as its grant is the newest: two
    ///      grants that named two assets would convert in circles.
    function _settlementAsset(Charter memory charter, Account storage account)
        private
        returns (address asset)
    {
        asset = charter.settlementAsset;
        uint256 fixedWord = uint256(charter.epoch) << 160 | uint160(asset);
        uint256 word = account.settlement;
        if (word == 0 || word >> 160 != charter.epoch) account.settlement = fixedWord;
        // Cuts the epoch off.
        // forge-lint: disable-next-line(unsafe-typecast)
        else asset = address(uint160(word));
    }

    // What and for whom

    function _judge(
        Charter memory charter,
        bytes calldata listing,
        Action[] memory actions,
        uint256 index,
        Judgement memory judgement
    ) private view {
        Action memory action = actions[index];
        Class class = action.class;
        _requireTarget(charter, action.target, class);
        if (charter.classes & (1 << uint256(class)) == 0) revert GolemCharter_Class(class);
        GolemPhase.check(judgement.phase, class);
        if (index >= judgement.royaltiesEnd) _requireParties(charter, listing, action, class);
        VaultShares.check(action, charter.slippageBps);
        if (Appraisal.measures(class)) {
            _judgeWorth(charter, listing, action, judgement);
        } else if (class == Class.GasTopUp) {
            _judgeTopUp(charter, action, judgement);
        } else if (class == Class.Sell) {
            judgement.royaltiesEnd = _judgeSale(charter, listing, actions, index);
        } else if (class == Class.Withdraw && action.target == judgement.settlementAsset) {
            // Shares that a dying Golem converts to; redeemed, they could be bought again.
            revert GolemCharter_SettlementAsset(action.target, address(0), action.target);
        }
    }

    /// @dev ATK-14: whoever may speak as the account to these may do anything.
    function _requireTarget(Charter memory charter, address target, Class class) private view {
        if (
            target == charter.account || target == msg.sender || target == address(this)
                || (target == charter.registry && class != Class.Publish)
        ) revert GolemCharter_ForbiddenTarget(target);
    }

    /// @dev Who gives, who gets, who may pull: for each class that knows one.
    function _requireParties(
        Charter memory charter,
        bytes calldata listing,
        Action memory action,
        Class class
    ) private view {
        address account = charter.account;
        if (class == Class.Swap || class == Class.Deposit) {
            _requireRecipient(action.recipient, account);
        } else if (class == Class.Approve) {
            _requireSpender(listing, action);
        } else if (class == Class.Transfer) {
            // Money that goes home needs no price: a dead feed must not trap it (SPEC D18).
            _requireRecipient(action.recipient, charter.beneficiary);
            if (action.source != address(0)) _requireSource(action.source, account);
        } else if (class == Class.Withdraw) {
            _requireRecipient(action.recipient, account);
            _requireSource(action.source, account);
        } else if (class == Class.AddLiquidity && action.positionId == 0) {
            _requireRecipient(action.recipient, account);
        } else if (
            class == Class.AddLiquidity || class == Class.RemoveLiquidity
                || class == Class.BurnPosition
        ) {
            Positions.requireOwned(action.target, action.positionId, account);
        } else if (class == Class.Collect) {
            _requireRecipient(action.recipient, account);
            Positions.requireOwned(action.target, action.positionId, account);
        } else if (class == Class.Sell) {
            _requireSource(action.source, account);
        } else if (class == Class.GasTopUp) {
            _requireRecipient(action.recipient, charter.agentKey);
        } else if (class == Class.SpawnReplicant || class == Class.Settle || class == Class.Publish)
        {
            bytes32 golemId = charter.golemId;
            if (action.golemId != golemId) {
                revert GolemCharter_OtherGolem(action.golemId, golemId);
            }
        }
        // Wrap, Unwrap and Disapprove know nobody but the account.
    }

    function _requireRecipient(address recipient, address expected) private pure {
        if (recipient != expected) revert GolemCharter_Recipient(recipient, expected);
    }

    function _requireSource(address source, address account) private pure {
        if (source != account) revert GolemCharter_Source(source, account);
    }

    /// @dev Spenders that pull from their caller alone (SPEC D28).
    function _requireSpender(bytes calldata listing, Action memory action) private pure {
        Role role = listing.role(action.spender);
        if (
            role != Role.SwapRouter && role != Role.SwapRouter02 && role != Role.PositionManager
                && role != Role.Vault
        ) revert GolemCharter_Spender(action.target, action.spender);
    }

    /// @dev Royalties go to others than the beneficiary. They stand right behind the sale, to the letter, and
    ///      are no more than it brings in.
    /// @return end The first action that is none of them.
    function _judgeSale(
        Charter memory charter,
        bytes calldata listing,
        Action[] memory actions,
        uint256 index
    ) private view returns (uint256 end) {
        address token;
        (token, end) = KnowledgeRoyalty.checkActions(charter.maxRoyaltyBps, actions, index);
        listing.requireToken(token);
    }

    // At which price and how much

    function _judgeWorth(
        Charter memory charter,
        bytes calldata listing,
        Action memory action,
        Judgement memory judgement
    ) private view {
        Worth memory worth = Appraisal.measure(listing, judgement.answers, action);
        MaxSlippage.check(action.class, worth, charter.slippageBps);
        if (judgement.phase != Phase.Terminal) {
            judgement.spend += worth.out;
        } else if (action.class == Class.Swap) {
            // Settlement is exempt from caps, and so it goes one way only (SPEC D18).
            address asset = judgement.settlementAsset;
            if (action.tokenIn != asset || action.tokenOut == asset) {
                revert GolemCharter_SettlementAsset(action.tokenOut, action.tokenIn, asset);
            }
        }
    }

    function _judgeTopUp(Charter memory charter, Action memory action, Judgement memory judgement)
        private
        view
    {
        uint256 ceiling = uint256(charter.gasCeiling) * 1 gwei;
        // {Executions} lets one payment through.
        judgement.topUp = action.amountOut;
        uint256 balance = action.recipient.balance + action.amountOut;
        if (balance > ceiling) revert GolemCharter_GasCeiling(balance, ceiling);
    }

    function _countNav(
        Charter memory charter,
        bytes calldata listing,
        Account storage account,
        Judgement memory judgement
    ) private {
        NavBound memory bound = charter.nav;
        uint256 word = account.nav[bound.vault];
        (uint256 most, uint256 next) = VaultNav.limit(listing, judgement.answers, bound, word);
        VaultNav.check(judgement.spend, most);
        if (next != word) account.nav[bound.vault] = next;
    }

    function _countSpend(
        Charter memory charter,
        Account storage account,
        Judgement memory judgement
    ) private {
        uint256 word = account.spend;
        uint256 next = SpendWindow.spend(
            word,
            judgement.spend,
            charter.spendCap,
            charter.bucketMinutes,
            charter.epoch,
            block.timestamp
        );
        if (next != word) account.spend = next;
        if (judgement.topUp != 0) _countGas(charter, account, judgement.topUp);
    }

    /// @dev A window of its own, in gwei, rounded up. Refused in its own words: the window's are about
    ///      dollars.
    function _countGas(Charter memory charter, Account storage account, uint256 topUp) private {
        uint256 word = account.gas;
        (uint64 cap, uint16 epoch) = (charter.gasDailyCap, charter.epoch);
        uint256 amount = (topUp + 1 gwei - 1) / 1 gwei;
        uint256 room = cap == 0
            ? 0
            : SpendWindow.remaining(word, cap, GAS_BUCKET_MINUTES, epoch, block.timestamp);
        if (amount > room) revert GolemCharter_GasDailyCap(amount, room, cap);
        account.gas =
            SpendWindow.spend(word, amount, cap, GAS_BUCKET_MINUTES, epoch, block.timestamp);
    }
}

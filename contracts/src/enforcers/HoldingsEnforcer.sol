// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {SlotDerivation} from "@openzeppelin/contracts/utils/SlotDerivation.sol";
import {TransientSlot} from "@openzeppelin/contracts/utils/TransientSlot.sol";
import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {GolemWord} from "../registry/GolemWord.sol";
import {Action} from "../rules/Actions.sol";
import {Executions} from "../rules/Executions.sol";
import {GolemLife} from "../rules/GolemLife.sol";
import {Phase} from "../rules/GolemPhase.sol";
import {Holding, Holdings, HoldingsBound} from "../rules/Holdings.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Bounds what an account comes to hold: no position that a Golem buys is more than a share of
///         everything, and an account that fell too far below the most it was worth only closes.
/// @dev Terms, and what a position is: see {Holdings}. Modes: single and batch; a batch is judged as a
///      whole, by what there was before it and what there is after it.
///
///      A position may exceed its share by a price that moved, by what came home or was given; then all of
///      it may be sold, and no more of it bought. From Conservation on nothing is bought. Below the floor,
///      which is the mark less the drawdown, nothing is bought either: every swap asks for cash, and for as
///      much as the feeds say less `lossBps`; nothing is put into vaults or pools; and what is given in all
///      is paid for by as much. Money that somebody pays in meanwhile pays for no loss, and lifts nobody who
///      began below. So, while prices stand still, trades take an account to the floor, and from there lose
///      that part of what is left once, and no more. Shares of a vault are redeemed there and not sold,
///      unless they are listed as a token with a feed of their own; and gas money is fetched by itself,
///      for beside a sale it counts as given.
///
///      An execution that only takes back, sends home, wraps, approves, fetches gas money, settles or publishes
///      is not measured and needs no price (SPEC D18). For any other, each listed token that is held must have
///      one. Should a feed die, and somebody give the account that token, its owner signs a listing without it.
///
///      State is keyed by manager, delegator and golemId. The mark only rises, through every feed, rotation and
///      new grant (SPEC D17); one of a higher series begins its own and ends every lower one: that is
///      what an owner signs after he took money out, and for nothing else. Anyone may call a hook, and
///      writes under his own address only.
///
///      What was held before lies in transient storage under the same key, from the before hook to its after
///      hook, and nothing of that key begins in between (ATK-28). Parent and child may each carry the caveat:
///      their delegators differ. One delegation carries it once for a Golem. Another manager has
///      another key, and whatever is done through it meanwhile counts here as done by this execution.
///
///      Under a share no liquidity is added: what is taken back is not bought, whatever the pool made of it. A
///      drawdown alone allows it above the floor, in any phase, and counts it as lost while it is out: a rule
///      about phases ends it from Conservation on. To take it back and to trade are two executions. A batch
///      that takes back from a vault and sells less than all of it has bought the rest: from Conservation on,
///      and below the floor, these are two executions too, and so are to convert and to send home, for what
///      is sent counts as given. Cash is a token, and no vault's shares: selling for what such shares are
///      made of would count as buying it.
///
///      Not promised: where money goes; a rule about recipients decides over that. That a listed vault's
///      books are honest: whoever can move them for a moment moves the total. That tokens of different
///      names differ in risk. That several Golems of one account fall together: each has its own mark, and one that
///      begins later begins at what the others left.
contract HoldingsEnforcer is CaveatEnforcer {
    using SlotDerivation for bytes32;
    using TransientSlot for bytes32;
    using TransientSlot for TransientSlot.Uint256Slot;

    /// @notice An execution of this Golem is not over yet.
    error HoldingsEnforcer_Nested(bytes32 golemId);
    /// @notice No execution of this Golem has begun.
    error HoldingsEnforcer_NotBegun(bytes32 golemId);

    uint256 private constant NOT_BEGUN = 0;
    uint256 private constant UNMEASURED = 1;
    uint256 private constant MEASURED = 2;

    mapping(
        address manager => mapping(address delegator => mapping(bytes32 golemId => uint256 word))
    ) private _words;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata execution,
        bytes32,
        address delegator,
        address
    ) public override onlyDefaultExecutionMode(mode) {
        _begin(terms, mode, execution, delegator);
    }

    /// @inheritdoc CaveatEnforcer
    function afterHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata execution,
        bytes32,
        address delegator,
        address
    ) public override {
        _end(terms, mode, execution, delegator);
    }

    /// @notice The most the account was worth, in micro-dollars, and the series of that mark.
    function highWaterMarkOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256 mark, uint256 series)
    {
        uint256 word = _words[manager][delegator][golemId];
        return (Holdings.markOf(word), Holdings.seriesOf(word));
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (HoldingsBound memory bound, bytes calldata listing)
    {
        return Holdings.decode(terms);
    }

    function _begin(
        bytes calldata terms,
        ModeCode mode,
        bytes calldata execution,
        address delegator
    ) private {
        (HoldingsBound memory bound, bytes calldata listing) = getTermsInfo(terms);
        bytes32 slot = _slot(delegator, bound.golemId);
        if (slot.asUint256().tload() != NOT_BEGUN) revert HoldingsEnforcer_Nested(bound.golemId);
        Action[] memory actions = Executions.actions(listing, mode, execution);
        Holdings.requireSeen(listing, bound, actions);
        if (!Holdings.measures(actions)) {
            slot.asUint256().tstore(UNMEASURED);
            return;
        }
        slot.asUint256().tstore(MEASURED);
        Holding[] memory holdings = Holdings.held(listing, bound.account);
        for (uint256 i = 0; i < holdings.length; i++) {
            slot.offset(1 + i).asUint256().tstore(holdings[i].units);
        }
    }

    function _end(bytes calldata terms, ModeCode mode, bytes calldata execution, address delegator)
        private
    {
        (HoldingsBound memory bound, bytes calldata listing) = getTermsInfo(terms);
        if (!_settle(bound, listing, delegator)) return;
        Holdings.requireClosing(listing, bound, Executions.actions(listing, mode, execution));
    }

    /// @dev Whether the account is below its floor now.
    function _settle(HoldingsBound memory bound, bytes calldata listing, address delegator)
        private
        returns (bool below)
    {
        bytes32 slot = _slot(delegator, bound.golemId);
        uint256 state = slot.asUint256().tload();
        if (state == NOT_BEGUN) revert HoldingsEnforcer_NotBegun(bound.golemId);
        // The units need no clearing: whatever begins next writes its own.
        slot.asUint256().tstore(NOT_BEGUN);

        mapping(bytes32 => uint256) storage words = _words[msg.sender][delegator];
        uint256 word = words[bound.golemId];
        uint256 next = Holdings.begun(word, bound.series);
        if (state == MEASURED) (next, below) = _judge(bound, listing, slot, next);
        if (next != word) words[bound.golemId] = next;
    }

    function _judge(HoldingsBound memory bound, bytes calldata listing, bytes32 slot, uint256 word)
        private
        view
        returns (uint256, bool)
    {
        Holding[] memory holdings = Holdings.held(listing, bound.account);
        for (uint256 i = 0; i < holdings.length; i++) {
            holdings[i].unitsBefore = slot.offset(1 + i).asUint256().tload();
        }
        return Holdings.judge(listing, bound, _phase(bound), holdings, word);
    }

    function _phase(HoldingsBound memory bound) private view returns (Phase) {
        GolemWord word = IGolemRegistry(bound.registry).word(bound.golemId);
        GolemLife.requireAlive(word, bound.golemId);
        return Phase(word.effectivePhase(block.timestamp, bound.staleness));
    }

    /// @dev One key a manager, delegator and Golem, as for what is kept.
    function _slot(address delegator, bytes32 golemId) private view returns (bytes32) {
        return keccak256(abi.encode(msg.sender, delegator, golemId));
    }
}

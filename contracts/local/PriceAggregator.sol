// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IPriceFeed} from "../src/interfaces/IPriceFeed.sol";

/// @notice The second hop of a price feed on the local chain: keeps the rounds. Whoever may set it
///         can set anything, also what a rule has to refuse: old, zero, negative, unfinished.
/// @dev Local chain only.
contract PriceAggregator is IPriceFeed {
    using SafeCast for int256;
    using SafeCast for uint256;

    /// @dev One slot, as the aggregators of public chains have it: what a reader pays is what he pays
    ///      there. `behind` is by how many rounds the answer is older than its round.
    struct Round {
        int128 answer;
        uint40 startedAt;
        uint40 updatedAt;
        uint40 behind;
        bool known;
    }

    /// @notice Only the setter sets.
    error PriceAggregator_NotSetter(address caller, address setter);
    /// @notice There was no such round.
    error PriceAggregator_NoData(uint80 roundId);

    /// @notice A round was recorded and counts from now on.
    event AnswerUpdated(int256 indexed answer, uint256 indexed roundId, uint256 updatedAt);

    /// @inheritdoc IPriceFeed
    uint256 public constant version = 6;

    /// @notice Who may set answers.
    address public immutable setter;
    /// @inheritdoc IPriceFeed
    uint8 public immutable decimals;

    /// @inheritdoc IPriceFeed
    string public description;
    uint80 private _latest;
    mapping(uint80 roundId => Round round) private _rounds;

    modifier onlySetter() {
        if (msg.sender != setter) revert PriceAggregator_NotSetter(msg.sender, setter);
        _;
    }

    constructor(string memory description_, uint8 decimals_, address setter_) {
        description = description_;
        decimals = decimals_;
        setter = setter_;
    }

    /// @notice Records a fresh answer in the next round.
    function set(int256 answer) external onlySetter {
        uint80 roundId = _latest + 1;
        _record(roundId, answer, block.timestamp, block.timestamp, roundId);
    }

    /// @notice Records a round as given, without judging it, and makes it the latest.
    function setRound(
        uint80 roundId,
        int256 answer,
        uint256 startedAt,
        uint256 updatedAt,
        uint80 answeredInRound
    ) external onlySetter {
        _record(roundId, answer, startedAt, updatedAt, answeredInRound);
    }

    /// @inheritdoc IPriceFeed
    function latestRoundData()
        external
        view
        returns (
            uint80 id,
            int256 answer,
            uint256 startedAt,
            uint256 updatedAt,
            uint80 answeredInRound
        )
    {
        return getRoundData(_latest);
    }

    /// @inheritdoc IPriceFeed
    function getRoundData(uint80 roundId)
        public
        view
        returns (
            uint80 id,
            int256 answer,
            uint256 startedAt,
            uint256 updatedAt,
            uint80 answeredInRound
        )
    {
        Round storage round = _rounds[roundId];
        if (!round.known) revert PriceAggregator_NoData(roundId);
        return (roundId, round.answer, round.startedAt, round.updatedAt, roundId - round.behind);
    }

    function _record(
        uint80 roundId,
        int256 answer,
        uint256 startedAt,
        uint256 updatedAt,
        uint80 answeredInRound
    ) private {
        _rounds[roundId] = Round({
            answer: answer.toInt128(),
            startedAt: startedAt.toUint40(),
            updatedAt: updatedAt.toUint40(),
            behind: uint256(roundId - answeredInRound).toUint40(),
            known: true
        });
        _latest = roundId;
        emit AnswerUpdated(answer, roundId, updatedAt);
    }
}

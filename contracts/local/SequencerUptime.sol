// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IPriceFeed} from "../src/interfaces/IPriceFeed.sol";

/// @notice The second hop of a rollup's uptime feed on the local chain: whether its sequencer is up, and
///         since when.
/// @dev Local chain only. All of it is one slot, as in the uptime feeds of public rollups.
contract SequencerUptime is IPriceFeed {
    struct Status {
        uint80 roundId;
        bool down;
        uint64 startedAt;
        uint64 updatedAt;
    }

    /// @notice Only the setter sets.
    error SequencerUptime_NotSetter(address caller, address setter);
    /// @notice There was no such round, or it is past.
    error SequencerUptime_NoData(uint80 roundId);

    /// @notice The sequencer went down or came back.
    event StatusChanged(bool indexed down, uint80 indexed roundId);

    /// @inheritdoc IPriceFeed
    uint8 public constant decimals = 0;
    /// @inheritdoc IPriceFeed
    string public constant description = "L2 Sequencer Uptime Status Feed";
    /// @inheritdoc IPriceFeed
    uint256 public constant version = 1;

    /// @notice Who may set the status.
    address public immutable setter;

    Status private _status;

    constructor(address setter_) {
        setter = setter_;
        _start(false);
    }

    /// @notice Starts a round where the status changes; else the round is only confirmed.
    function set(bool down) external {
        if (msg.sender != setter) revert SequencerUptime_NotSetter(msg.sender, setter);
        if (down == _status.down) _status.updatedAt = uint64(block.timestamp);
        else _start(down);
    }

    /// @inheritdoc IPriceFeed
    function latestRoundData()
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
        (id, startedAt, updatedAt) = (_status.roundId, _status.startedAt, _status.updatedAt);
        answer = _status.down ? int256(1) : int256(0);
        answeredInRound = id;
    }

    /// @inheritdoc IPriceFeed
    function getRoundData(uint80 roundId)
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
        if (roundId != _status.roundId) revert SequencerUptime_NoData(roundId);
        return latestRoundData();
    }

    function _start(bool down) private {
        uint64 nowAt = uint64(block.timestamp);
        uint80 roundId = _status.roundId + 1;
        _status = Status({roundId: roundId, down: down, startedAt: nowAt, updatedAt: nowAt});
        emit StatusChanged(down, roundId);
    }
}

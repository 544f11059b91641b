// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IPriceFeed} from "../src/interfaces/IPriceFeed.sol";

/// @notice The first hop of a price feed on the local chain, the address that terms name: asks the
///         aggregator of the current phase.
/// @dev Local chain only. As with Chainlink's proxies, a round id is the phase in its upper 16 bits
///      and the aggregator's own round in its lower 64, so ids grow when the aggregator changes.
contract PriceFeed is IPriceFeed {
    struct Phase {
        uint16 id;
        IPriceFeed aggregator;
    }

    /// @notice Only the owner replaces the aggregator.
    error PriceFeed_NotOwner(address caller, address owner);
    /// @notice The round id names a phase that has not been.
    error PriceFeed_NoSuchPhase(uint16 phase);

    /// @notice From phase `phase` on, `aggregator` answers.
    event AggregatorReplaced(uint16 indexed phase, IPriceFeed indexed aggregator);

    uint8 private constant PHASE_OFFSET = 64;

    /// @notice Who may replace the aggregator.
    address public immutable owner;

    /// @dev Phase that counts now, from 1, in one slot with its aggregator, as Chainlink's proxies keep
    ///      it: what a reader pays here is what he pays there.
    Phase private _current;
    /// @notice Aggregator of a phase.
    mapping(uint16 phase => IPriceFeed aggregator) public phaseAggregators;

    constructor(IPriceFeed aggregator_, address owner_) {
        owner = owner_;
        _replace(aggregator_);
    }

    /// @notice Starts a new phase with another aggregator.
    function replaceAggregator(IPriceFeed next) external {
        if (msg.sender != owner) revert PriceFeed_NotOwner(msg.sender, owner);
        _replace(next);
    }

    /// @inheritdoc IPriceFeed
    function decimals() external view returns (uint8) {
        return _current.aggregator.decimals();
    }

    /// @inheritdoc IPriceFeed
    function description() external view returns (string memory) {
        return _current.aggregator.description();
    }

    /// @inheritdoc IPriceFeed
    function version() external view returns (uint256) {
        return _current.aggregator.version();
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
        // 16 of the 80 bits are left by the shift.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint16 phase = uint16(roundId >> PHASE_OFFSET);
        IPriceFeed source = phaseAggregators[phase];
        if (address(source) == address(0)) revert PriceFeed_NoSuchPhase(phase);
        // The aggregator knows its own round only, without the phase above it.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint64 round = uint64(roundId);
        (id, answer, startedAt, updatedAt, answeredInRound) = source.getRoundData(round);
        id = _inPhase(phase, id);
        answeredInRound = _inPhase(phase, answeredInRound);
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
        Phase memory current = _current;
        (id, answer, startedAt, updatedAt, answeredInRound) = current.aggregator.latestRoundData();
        id = _inPhase(current.id, id);
        answeredInRound = _inPhase(current.id, answeredInRound);
    }

    /// @notice Phase that counts now.
    function phaseId() external view returns (uint16) {
        return _current.id;
    }

    /// @notice Aggregator that answers now.
    function aggregator() external view returns (IPriceFeed) {
        return _current.aggregator;
    }

    function _replace(IPriceFeed next) private {
        uint16 phase = _current.id + 1;
        _current = Phase({id: phase, aggregator: next});
        phaseAggregators[phase] = next;
        emit AggregatorReplaced(phase, next);
    }

    function _inPhase(uint16 phase, uint80 round) private pure returns (uint80) {
        // The proxy has 64 bits for the aggregator's round; what is above them is lost, as there.
        // forge-lint: disable-next-line(unsafe-typecast)
        return (uint80(phase) << PHASE_OFFSET) | uint80(uint64(round));
    }
}

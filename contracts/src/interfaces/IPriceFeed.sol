// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice The five functions by which Chainlink's feeds and aggregators are read.
interface IPriceFeed {
    /// @notice How many decimals an answer has.
    function decimals() external view returns (uint8);

    /// @notice What is priced in what, for people.
    function description() external view returns (string memory);

    /// @notice Generation of the aggregator.
    function version() external view returns (uint256);

    /// @notice A past round.
    function getRoundData(uint80 roundId)
        external
        view
        returns (
            uint80 id,
            int256 answer,
            uint256 startedAt,
            uint256 updatedAt,
            uint80 answeredInRound
        );

    /// @notice The round that counts now. Nothing here says that it is recent or positive.
    function latestRoundData()
        external
        view
        returns (
            uint80 id,
            int256 answer,
            uint256 startedAt,
            uint256 updatedAt,
            uint80 answeredInRound
        );
}

/// @notice The part of a rollup's uptime feed that says whether its sequencer is up, and since when; what
///         follows in the answer is not read.
interface IUptimeFeed {
    /// @return roundId Not used.
    /// @return answer Zero for up.
    /// @return startedAt When that began.
    function latestRoundData()
        external
        view
        returns (uint256 roundId, int256 answer, uint256 startedAt);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ISwapRouter, ISwapRouter02, IMulticall} from "../../src/interfaces/IUniswapV3.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {Valuation} from "../../src/rules/Valuation.sol";
import {CharterCalls, ITestAggregator} from "../CharterCalls.sol";
import {ITestFeed} from "../CharterTest.sol";

/// @notice Whether the rollup is up, as a test wants it.
interface ITestUptime {
    function set(bool down) external;
}

/// @notice Slippage against the feeds, at both routers (C7), and feeds that are no prices (C17, ATK-24).
contract GolemCharterSlippageTest is CharterCalls {
    /// @dev 99 dollars of WETH.
    uint256 private constant LEAST = 0.0396e18;

    function test_an_exact_input_is_accepted_at_the_bound_and_refused_one_unit_below() public {
        bytes memory path = abi.encodePacked(address(USDC), FEE, address(WETH));
        for (uint256 which = 0; which < 2; which++) {
            address at = which == 0 ? router : ROUTER_02;
            refuses(tooMuchSlippage(100e6, 99e6 - 1), at, _inputSingle(which, 100e6, LEAST - 1));
            accepts(at, _inputSingle(which, 100e6, LEAST));
            refuses(tooMuchSlippage(100e6, 99e6 - 1), at, _input(which, path, 100e6, LEAST - 1));
            accepts(at, _input(which, path, 100e6, LEAST));
        }
        vm.assertEq(USDC.balanceOf(account), 9_600e6, "sold four times");
    }

    function test_an_exact_output_is_accepted_at_the_bound_and_refused_one_unit_above() public {
        bytes memory path = abi.encodePacked(address(WETH), FEE, address(USDC));
        for (uint256 which = 0; which < 2; which++) {
            address at = which == 0 ? router : ROUTER_02;
            refuses(tooMuchSlippage(100e6 + 1, 99e6), at, _outputSingle(which, LEAST, 100e6 + 1));
            accepts(at, _outputSingle(which, LEAST, 100e6));
            refuses(tooMuchSlippage(100e6 + 1, 99e6), at, _output(which, path, LEAST, 100e6 + 1));
            accepts(at, _output(which, path, LEAST, 100e6));
        }
        vm.assertEq(WETH.balanceOf(account), 5e18 + 4 * LEAST, "bought four times");
    }

    /// @dev Two hops; the ends count, and what is between need not be listed.
    function test_a_path_of_two_hops_is_judged_by_its_ends() public {
        bytes memory path =
            abi.encodePacked(address(USDC), FEE, address(WETH), uint24(3000), address(USDC));
        for (uint256 which = 0; which < 2; which++) {
            address at = which == 0 ? router : ROUTER_02;
            refuses(tooMuchSlippage(100e6, 99e6 - 1), at, _input(which, path, 100e6, 99e6 - 1));
            accepts(at, _input(which, path, 100e6, 99e6));
            refuses(tooMuchSlippage(100e6, 99e6 - 1), at, _output(which, path, 99e6 - 1, 100e6));
            accepts(at, _output(which, path, 99e6, 100e6));
        }
    }

    function test_a_swap_without_a_minimum_is_refused() public {
        for (uint256 which = 0; which < 2; which++) {
            address at = which == 0 ? router : ROUTER_02;
            refuses(tooMuchSlippage(100e6, 0), at, _inputSingle(which, 100e6, 0));
            refuses(
                tooMuchSlippage(type(uint128).max, 99e6),
                at,
                _outputSingle(which, LEAST, type(uint128).max)
            );
            refuses(
                abi.encodeWithSelector(Valuation.Valuation_Amount.selector, type(uint256).max),
                at,
                _outputSingle(which, LEAST, type(uint256).max)
            );
        }
    }

    function test_each_call_of_a_multicall_is_held_to_the_bound() public {
        for (uint256 which = 0; which < 2; which++) {
            address at = which == 0 ? router : ROUTER_02;
            bytes[] memory inner = new bytes[](2);
            // Together within the bound, one of them not.
            inner[0] = _inputSingle(which, 100e6, 0.04e18);
            inner[1] = _inputSingle(which, 100e6, LEAST - 1);
            refuses(
                tooMuchSlippage(100e6, 99e6 - 1), at, abi.encodeCall(IMulticall.multicall, (inner))
            );

            (inner[0], inner[1]) =
            (_inputSingle(which, 100e6, LEAST), _inputSingle(which, 100e6, LEAST));
            accepts(at, abi.encodeCall(IMulticall.multicall, (inner)));
        }
    }

    function test_the_second_routers_own_multicalls_are_held_to_the_bound() public {
        bytes[] memory inner = new bytes[](1);
        inner[0] = _inputSingle(1, 100e6, LEAST - 1);
        refuses(
            tooMuchSlippage(100e6, 99e6 - 1),
            ROUTER_02,
            abi.encodeWithSelector(0x5ae401dc, DEADLINE, inner)
        );
        refuses(
            tooMuchSlippage(100e6, 99e6 - 1),
            ROUTER_02,
            abi.encodeWithSelector(0x1f0464d1, blockhash(block.number - 1), inner)
        );

        inner[0] = _inputSingle(1, 100e6, LEAST);
        accepts(ROUTER_02, abi.encodeWithSelector(0x5ae401dc, DEADLINE, inner));
    }

    function test_a_bound_of_nothing_and_a_bound_of_all() public {
        law.slippageBps = 0;
        refuses(tooMuchSlippage(100e6, 100e6 - 1), ROUTER_02, _inputSingle(1, 100e6, 0.04e18 - 1));
        // A swap at the feeds' own price is within; the pool takes a fee and cannot.
        refuses(
            abi.encodeWithSignature("Error(string)", "Too little received"),
            ROUTER_02,
            _inputSingle(1, 100e6, 0.04e18)
        );

        law.slippageBps = 10_000;
        accepts(ROUTER_02, _inputSingle(1, 100e6, 0));
    }

    /// @dev The bound follows the feed, not the pool.
    function test_the_bound_moves_with_the_feed() public {
        setPrice(ethUsd, 2_000e8);

        // At 2,000 an ether, 100 dollars buy 0.05.
        refuses(tooMuchSlippage(100e6, 79_200_000), ROUTER_02, _inputSingle(1, 100e6, LEAST));
    }

    // Feeds

    function test_an_answer_counts_until_its_greatest_age() public {
        _maxAge(1 hours);

        vm.warp(NOW + 1 hours);
        accepts(ROUTER_02, swap(1e6));

        vm.warp(NOW + 1 hours + 1);
        setPrice(usdcUsd, 1e8);
        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, ethUsd, NOW, NOW + 1 hours + 1, 1 hours
            ),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_the_age_of_either_feed_counts() public {
        _maxAge(1 hours);
        vm.warp(NOW + 1 hours + 1);
        setPrice(ethUsd, 2_500e8);

        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, usdcUsd, NOW, NOW + 1 hours + 1, 1 hours
            ),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_zero_negative_and_absurd_answers_are_no_prices() public {
        int256 most = int256(uint256(type(uint96).max));
        int256[4] memory bad = [int256(0), -1, -2_500e8, most + 1];
        for (uint256 i = 0; i < bad.length; i++) {
            setPrice(ethUsd, bad[i]);
            refuses(
                abi.encodeWithSelector(Valuation.Valuation_Answer.selector, ethUsd, bad[i]),
                ROUTER_02,
                swap(1e6)
            );
        }

        setPrice(ethUsd, most);
        accepts(ROUTER_02, sellUsdc(1e6, 1e14, account));
    }

    function test_an_answer_from_the_future_is_no_price() public {
        setRound(ethUsd, 2_500e8, NOW);
        accepts(ROUTER_02, swap(1e6));

        setRound(ethUsd, 2_500e8, NOW + 1);
        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, ethUsd, NOW + 1, NOW, 30 days
            ),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_a_round_that_never_ended_is_no_price() public {
        setRound(ethUsd, 2_500e8, 0);

        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Stale.selector, ethUsd, 0, NOW, 30 days),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_a_round_with_an_older_rounds_answer_is_no_price() public {
        address aggregator = ITestFeed(ethUsd).aggregator();
        vm.prank(FAUCET);
        ITestAggregator(aggregator).setRound(1_000, 2_500e8, NOW, NOW, 999);
        uint256 phase = 1 << 64;

        refuses(
            abi.encodeWithSelector(
                Valuation.Valuation_Incomplete.selector, ethUsd, phase + 1_000, phase + 999
            ),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_a_feed_in_other_decimals_than_signed_is_refused() public {
        law.tokens = bytes.concat(
            token(address(USDC), usdcUsd, 6), token(address(WETH), ethUsd, 18, 18, 30 days)
        );

        refuses(
            abi.encodeWithSelector(Valuation.Valuation_Decimals.selector, ethUsd, 18, 8),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_a_feed_without_code_is_no_feed() public {
        law.tokens = bytes.concat(
            token(address(USDC), usdcUsd, 6), token(address(WETH), actor("no feed").account, 18)
        );

        refuses("", ROUTER_02, swap(1e6));
    }

    /// @dev ATK-25: a token without a price, on either side.
    function test_a_token_that_is_not_listed_is_refused_on_either_side() public {
        law.tokens = token(address(USDC), usdcUsd, 6);
        refuses(_unknownToken(address(WETH)), ROUTER_02, swap(1e6));
        refuses(_unknownToken(address(WETH)), ROUTER_02, sellWeth(0.04e18, 99e6, account));
        refuses(_unknownToken(address(WETH)), POSITIONS, mintPosition(0.01e18, 25e6, account));

        law.tokens = token(address(WETH), ethUsd, 18);
        refuses(_unknownToken(address(USDC)), ROUTER_02, swap(1e6));
        refuses(_unknownToken(address(USDC)), vault, deposit(1e6, account));

        law.tokens = "";
        refuses(_unknownToken(address(USDC)), ROUTER_02, swap(1e6));
    }

    /// @dev Of two entries for one token the first counts.
    function test_the_first_of_two_prices_counts() public {
        law.tokens = bytes.concat(law.tokens, token(address(WETH), usdcUsd, 18));

        accepts(ROUTER_02, swap(1e6));
    }

    // The sequencer

    function test_no_price_counts_while_the_sequencer_is_down_nor_shortly_after() public {
        address uptime = _watchSequencer();
        _setSequencer(true);
        refuses(_sequencer(uptime, 1, NOW), ROUTER_02, swap(1e6));
        // Down for long is down.
        vm.warp(NOW + 2 hours);
        refuses(_sequencer(uptime, 1, NOW), ROUTER_02, swap(1e6));

        _setSequencer(false);
        uint256 back = NOW + 2 hours;
        refuses(_sequencer(uptime, 0, back), ROUTER_02, swap(1e6));
        vm.warp(back + 1 hours - 1);
        refuses(_sequencer(uptime, 0, back), ROUTER_02, swap(1e6));

        vm.warp(back + 1 hours);
        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev D18: what needs no price needs no sequencer.
    function test_a_sweep_does_not_wait_for_the_sequencer() public {
        _watchSequencer();
        _setSequencer(true);

        accepts(address(USDC), transfer(human.account, 1e6));
    }

    function _watchSequencer() private returns (address uptime) {
        string memory book = vm.readFile("../.devchain/book.json");
        uptime = vm.parseJsonAddress(book, ".sequencer_uptime");
        (law.sequencerFeed, law.sequencerGrace) = (uptime, 1 hours);
    }

    function _setSequencer(bool down) private {
        address source = ITestFeed(law.sequencerFeed).aggregator();
        vm.prank(FAUCET);
        ITestUptime(source).set(down);
    }

    function _maxAge(uint32 age) private {
        law.tokens = bytes.concat(
            token(address(USDC), usdcUsd, 6, 8, age), token(address(WETH), ethUsd, 18, 8, age)
        );
        setPrice(usdcUsd, 1e8);
        setPrice(ethUsd, 2_500e8);
    }

    function _unknownToken(address at) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, at);
    }

    function _sequencer(address feed, int256 answer, uint256 since)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            Valuation.Valuation_Sequencer.selector, feed, answer, since, 1 hours
        );
    }

    function _inputSingle(uint256 which, uint256 amount, uint256 least)
        private
        view
        returns (bytes memory)
    {
        if (which == 1) return sellUsdc(amount, least, account);
        return abi.encodeCall(
            ISwapRouter.exactInputSingle,
            (ISwapRouter.ExactInputSingleParams({
                    tokenIn: address(USDC),
                    tokenOut: address(WETH),
                    fee: FEE,
                    recipient: account,
                    deadline: DEADLINE,
                    amountIn: amount,
                    amountOutMinimum: least,
                    sqrtPriceLimitX96: 0
                }))
        );
    }

    function _outputSingle(uint256 which, uint256 amount, uint256 most)
        private
        view
        returns (bytes memory)
    {
        if (which == 1) {
            return abi.encodeCall(
                ISwapRouter02.exactOutputSingle,
                (ISwapRouter02.ExactOutputSingleParams({
                        tokenIn: address(USDC),
                        tokenOut: address(WETH),
                        fee: FEE,
                        recipient: account,
                        amountOut: amount,
                        amountInMaximum: most,
                        sqrtPriceLimitX96: 0
                    }))
            );
        }
        return abi.encodeCall(
            ISwapRouter.exactOutputSingle,
            (ISwapRouter.ExactOutputSingleParams({
                    tokenIn: address(USDC),
                    tokenOut: address(WETH),
                    fee: FEE,
                    recipient: account,
                    deadline: DEADLINE,
                    amountOut: amount,
                    amountInMaximum: most,
                    sqrtPriceLimitX96: 0
                }))
        );
    }

    function _input(uint256 which, bytes memory path, uint256 amount, uint256 least)
        private
        view
        returns (bytes memory)
    {
        if (which == 1) {
            return abi.encodeCall(
                ISwapRouter02.exactInput,
                (ISwapRouter02.ExactInputParams(path, account, amount, least))
            );
        }
        return abi.encodeCall(
            ISwapRouter.exactInput,
            (ISwapRouter.ExactInputParams(path, account, DEADLINE, amount, least))
        );
    }

    function _output(uint256 which, bytes memory path, uint256 amount, uint256 most)
        private
        view
        returns (bytes memory)
    {
        if (which == 1) {
            return abi.encodeCall(
                ISwapRouter02.exactOutput,
                (ISwapRouter02.ExactOutputParams(path, account, amount, most))
            );
        }
        return abi.encodeCall(
            ISwapRouter.exactOutput,
            (ISwapRouter.ExactOutputParams(path, account, DEADLINE, amount, most))
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {MaxSlippageEnforcer} from "../../src/enforcers/MaxSlippageEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {
    IMulticall,
    ISwapRouter,
    ISwapRouter02,
    IUniswapV3Pool
} from "../../src/interfaces/IUniswapV3.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class, Role} from "../../src/rules/Actions.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {Positions} from "../../src/rules/Positions.sol";
import {OneTransaction, PricedEnforcerTest} from "./EnforcerTest.sol";

contract MaxSlippageEnforcerTest is PricedEnforcerTest {
    function setUp() public override {
        super.setUp();
        enforcer = new MaxSlippageEnforcer();
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(law.slippageBps, listing(law));
    }

    function header() internal pure override returns (uint256) {
        return 2;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            MaxSlippageEnforcer.MaxSlippageEnforcer_TermsLength.selector, 2, actual
        );
    }

    /// @dev A wei less than 99 % of ten dollars, which is a micro-dollar less.
    function bad() internal view override returns (Execution memory) {
        return Execution(ROUTER_02, 0, sellUsdc(SOLD, atTheBound(SOLD) - 1, law.account));
    }

    function reason() internal pure override returns (bytes memory) {
        return _tooMuch(SOLD, 9_899_999, 100);
    }

    // Swaps

    function test_a_minimum_at_the_bound_passes_and_a_wei_less_does_not() public {
        accepts(good());
        refuses(reason(), bad());
        refuses(_tooMuch(SOLD, 0, 100), Execution(ROUTER_02, 0, sellUsdc(SOLD, 0, law.account)));
    }

    /// @dev 40 basis points are more than the pool's fee of 5 and less than its slippage.
    function test_the_bound_is_the_one_of_the_terms() public {
        law.slippageBps = 40;
        uint256 least = SOLD * 1e12 / 2500 * 9960 / 10_000;
        accepts(Execution(ROUTER_02, 0, sellUsdc(SOLD, least, law.account)));
        refuses(
            _tooMuch(SOLD, 9_959_999, 40),
            Execution(ROUTER_02, 0, sellUsdc(SOLD, least - 1, law.account))
        );

        law.slippageBps = 10_000;
        accepts(Execution(ROUTER_02, 0, sellUsdc(SOLD, 0, law.account)));
    }

    /// @dev The other direction rounds the other way.
    function test_selling_ether_is_bound_alike() public {
        _wrap(1 ether);

        accepts(_sellWeth(0.01e18, 24_750_000));
        refuses(_tooMuch(25e6, 24_749_999, 100), _sellWeth(0.01e18, 24_749_999));
        // A wei more to sell is a micro-dollar more.
        refuses(_tooMuch(25e6 + 1, 24_750_000, 100), _sellWeth(0.01e18 + 1, 24_750_000));
    }

    function test_an_exact_output_is_bound_by_what_it_may_cost() public {
        uint256 wanted = 0.0396e18;

        accepts(_buyWeth(wanted, 100e6));
        refuses(_tooMuch(100e6 + 1, 99e6, 100), _buyWeth(wanted, 100e6 + 1));
    }

    /// @dev ATK-18.
    function test_every_swap_inside_a_multicall_is_judged() public {
        bytes[] memory inner = new bytes[](2);
        (inner[0], inner[1]) = (good().callData, good().callData);
        accepts(Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner))));

        inner[1] = bad().callData;
        refuses(reason(), Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner))));
    }

    function test_the_first_router_is_bound_alike() public {
        law.targets = bytes.concat(law.targets, target(router, Role.SwapRouter));
        vm.prank(law.account);
        USDC.approve(router, type(uint256).max);
        ISwapRouter.ExactInputSingleParams memory p = ISwapRouter.ExactInputSingleParams(
            address(USDC), address(WETH), 500, law.account, NOW, SOLD, atTheBound(SOLD), 0
        );

        accepts(Execution(router, 0, abi.encodeCall(ISwapRouter.exactInputSingle, (p))));
        p.amountOutMinimum -= 1;
        refuses(reason(), Execution(router, 0, abi.encodeCall(ISwapRouter.exactInputSingle, (p))));
    }

    function test_a_path_is_judged_by_its_ends() public {
        bytes memory path =
            abi.encodePacked(address(USDC), uint24(500), address(WETH), uint24(500), address(USDC));
        ISwapRouter02.ExactInputParams memory p =
            ISwapRouter02.ExactInputParams(path, law.account, SOLD, 9_900_000);

        accepts(Execution(ROUTER_02, 0, abi.encodeCall(ISwapRouter02.exactInput, (p))));
        p.amountOutMinimum -= 1;
        refuses(reason(), Execution(ROUTER_02, 0, abi.encodeCall(ISwapRouter02.exactInput, (p))));
    }

    /// @dev The feeds judge: when they say that ether is dearer, the same minimum is worth more.
    function test_the_feeds_decide_and_not_the_pool() public {
        setPrice(ethUsd, 2475e8);
        refuses(_tooMuch(SOLD, 9_801_000, 100), good());
        setPrice(ethUsd, 2525e8);
        accepts(bad());
    }

    // Liquidity

    function test_liquidity_in_a_pool_near_the_feeds_passes() public {
        uint256 id = position();
        accepts(addLiquidity(50e6));
        accepts(increase(id, 50e6));
        accepts(removeLiquidity(id));
    }

    /// @dev SPEC D30. The lowest and the highest price of a feed at which the pool is near enough.
    function test_a_pool_at_the_bound_passes_and_a_step_of_the_feed_further_does_not() public {
        uint256 id = position();
        uint256 spot = _spot();
        // price × 10^14 ÷ 10^26 ÷ 10^8, times 2^128.
        uint256 low = spot * 10_000 / 10_100 * 1e20 >> 128;
        while (!_near(spot, low, 100)) low++;
        uint256 high = spot * 10_000 / 9900 * 1e20 >> 128;
        high += 2;
        while (!_near(spot, high, 100)) high--;
        vm.assertTrue(low > 2400e8 && low < 2500e8 && high > 2500e8 && high < 2600e8, "sane");

        _assertLiquidity(id, low, "");
        _assertLiquidity(id, high, "");
        _assertLiquidity(id, low - 1, _moved(spot, low - 1, 100));
        _assertLiquidity(id, high + 1, _moved(spot, high + 1, 100));
    }

    function test_liquidity_where_there_is_no_pool_is_refused() public {
        refuses(
            abi.encodeWithSelector(
                Positions.Positions_NoPool.selector, address(WETH), address(USDC), 10_000
            ),
            _noFee()
        );
    }

    // Moved in the same transaction

    /// @dev ATK-27, ATK-45: a thief with the key moves the pool, adds the owner's money there, and would
    ///      move it back.
    function test_liquidity_in_a_pool_moved_in_the_same_transaction_is_refused() public {
        uint256 id = position();
        Execution[3] memory calls = [addLiquidity(50e6), increase(id, 50e6), removeLiquidity(id)];
        OneTransaction thief = _thief();
        Delegation memory leaf = root(me(), address(thief), only(address(enforcer), terms()));
        for (uint256 i = 0; i < calls.length; i++) {
            uint256 state = vm.snapshotState();
            OneTransaction.Step[] memory steps = new OneTransaction.Step[](1);
            steps[0] = redemption(leaf, calls[i]);
            thief.run(steps);

            vm.revertToState(state);
            OneTransaction.Step[] memory move = new OneTransaction.Step[](1);
            move[0] = _move(thief);
            thief.run(move);
            bytes memory why = _moved(_spot(), 2500e8, 100);

            vm.revertToState(state);
            steps = new OneTransaction.Step[](2);
            (steps[0], steps[1]) = (move[0], redemption(leaf, calls[i]));
            vm.expectRevert(
                abi.encodeWithSelector(OneTransaction.OneTransaction_Failed.selector, 1, why)
            );
            thief.run(steps);
            vm.revertToState(state);
        }
    }

    /// @dev ATK-27: a swap's minimum is the feeds' business, whatever the pool says; in a pool that was
    ///      moved against it, the router refuses it for that minimum.
    function test_a_swap_in_a_pool_moved_in_the_same_transaction_gains_the_thief_nothing() public {
        OneTransaction thief = _thief();
        Delegation memory leaf = root(me(), address(thief), only(address(enforcer), terms()));
        OneTransaction.Step[] memory steps = new OneTransaction.Step[](2);
        (steps[0], steps[1]) = (_move(thief), redemption(leaf, bad()));

        vm.expectRevert(
            abi.encodeWithSelector(OneTransaction.OneTransaction_Failed.selector, 1, reason())
        );
        thief.run(steps);

        steps[1] = redemption(leaf, good());
        vm.expectRevert(
            abi.encodeWithSelector(
                OneTransaction.OneTransaction_Failed.selector,
                1,
                abi.encodeWithSignature("Error(string)", "Too little received")
            )
        );
        thief.run(steps);
    }

    // What is not bound

    /// @dev SPEC D26: no feed, no bound of any size, and no token listed.
    function test_classes_that_trade_nothing_pass() public {
        uint256 id = position();
        law.slippageBps = 0;
        unprice();
        for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
            if (isUnmeasured(Class(class))) {
                hook(terms(), SINGLE_DEFAULT, packed(callOf(Class(class), id)));
            }
        }
        accepts(two(callOf(Class.Wrap, 0), callOf(Class.Transfer, 0)));
        vm.assertEq(USDC.balanceOf(law.beneficiary), 9900e6, "the owner is the account");
    }

    function test_a_fair_deposit_passes_whatever_the_bound() public {
        law.slippageBps = 0;
        accepts(deposit(5e6));
    }

    /// @dev SPEC D26: a deposit trades nothing, so no feed has a say in it.
    function test_a_deposit_needs_no_feed() public {
        law.tokens = "";
        accepts(deposit(5e6));
    }

    function test_a_deposit_passes_while_the_feeds_are_out() public {
        vm.warp(NOW + 60 days);
        accepts(deposit(5e6));
    }

    // Terms

    function test_a_bound_beyond_the_whole_is_refused() public {
        law.slippageBps = 10_001;
        refuses(abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, 10_001), good());
    }

    function testFuzz_the_terms_are_read_back(uint16 bps) public {
        bytes memory listed = listing(law);
        bytes memory made = abi.encodePacked(bps, listed);

        if (bps > 10_000) {
            vm.expectRevert(abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, bps));
        }
        (uint16 read, bytes memory rest) = MaxSlippageEnforcer(address(enforcer)).getTermsInfo(made);
        if (bps > 10_000) return;

        vm.assertEq(read, bps, "bps");
        vm.assertEq(rest, listed, "listing");
    }

    function testFuzz_a_strangers_direct_call_writes_nothing(address stranger) public {
        vm.assume(stranger != address(vm));
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(
            terms(), "", SINGLE_DEFAULT, packed(good()), bytes32(0), law.account, stranger
        );

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(enforcer));
        vm.assertEq(reads.length + writes.length, 0, "slots touched");
    }

    // Helpers

    function _assertLiquidity(uint256 id, uint256 answer, bytes memory why) private {
        // forge-lint: disable-next-line(unsafe-typecast)
        setPrice(ethUsd, int256(answer));
        Execution[3] memory calls = [addLiquidity(50e6), increase(id, 50e6), removeLiquidity(id)];
        for (uint256 i = 0; i < calls.length; i++) {
            if (why.length == 0) accepts(calls[i]);
            else refuses(why, calls[i]);
        }
    }

    /// @dev The feeds' price of a wei in units of USDC, times 2^128.
    function _feedPrice(uint256 answer) private pure returns (uint256) {
        return (answer << 128) / 1e20;
    }

    function _near(uint256 spot, uint256 answer, uint256 bps) private pure returns (bool) {
        uint256 feed = _feedPrice(answer);
        uint256 apart = spot > feed ? spot - feed : feed - spot;
        return apart * 10_000 <= feed * bps;
    }

    function _spot() private view returns (uint256) {
        address pool = vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".pool_500");
        (uint160 root,,,,,,) = IUniswapV3Pool(pool).slot0();
        // Below 2^128 for as long as a wei is worth less than a unit.
        return uint256(root) * root >> 64;
    }

    function _thief() private returns (OneTransaction thief) {
        thief = new OneTransaction();
        vm.prank(FAUCET);
        USDC.mint(address(thief), 100_000_000e6);
        vm.prank(address(thief));
        USDC.approve(ROUTER_02, type(uint256).max);
    }

    function _move(OneTransaction thief) private pure returns (OneTransaction.Step memory) {
        return OneTransaction.Step(ROUTER_02, sellUsdc(20_000_000e6, 0, address(thief)));
    }

    function _noFee() private view returns (Execution memory call) {
        call = addLiquidity(50e6);
        // Selector, two tokens, and the last bytes of the fee.
        (call.callData[98], call.callData[99]) = (0x27, 0x10);
    }

    function _wrap(uint256 amount) private {
        vm.prank(law.account);
        (bool ok,) = address(WETH).call{value: amount}("");
        vm.assertTrue(ok, "wrapped");
        vm.prank(law.account);
        WETH.approve(ROUTER_02, type(uint256).max);
    }

    function _sellWeth(uint256 amount, uint256 minimum) private view returns (Execution memory) {
        bytes memory data = abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams(
                    address(WETH), address(USDC), 500, law.account, amount, minimum, 0
                ))
        );
        return Execution(ROUTER_02, 0, data);
    }

    function _buyWeth(uint256 amount, uint256 most) private view returns (Execution memory) {
        bytes memory data = abi.encodeCall(
            ISwapRouter02.exactOutputSingle,
            (ISwapRouter02.ExactOutputSingleParams(
                    address(USDC), address(WETH), 500, law.account, amount, most, 0
                ))
        );
        return Execution(ROUTER_02, 0, data);
    }

    function _tooMuch(uint256 out, uint256 back, uint256 bps) private pure returns (bytes memory) {
        return abi.encodeWithSelector(MaxSlippage.MaxSlippage_TooMuch.selector, out, back, bps);
    }

    function _moved(uint256 spot, uint256 answer, uint256 bps) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            MaxSlippage.MaxSlippage_PoolMoved.selector, spot, _feedPrice(answer), bps
        );
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {Role} from "../../src/rules/Actions.sol";
import {Phase} from "../../src/rules/GolemPhase.sol";
import {Holding, HoldingsBound} from "../../src/rules/Holdings.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {CharterTest} from "../CharterTest.sol";
import {HoldingsRule, SaidToken} from "./Holdings.t.sol";

/// @notice The smallest listings there are: an asset, and vaults that lead to it through one another.
contract HoldingsChainTest is CharterTest {
    address private constant ACCOUNT = address(0xacc);

    /// @dev A chain as long as its listing is followed to its end, and worth what all its books say.
    function testFuzz_a_chain_as_long_as_its_listing_is_followed_to_its_end(uint8 depth) public {
        depth = uint8(within(depth, 1, 6));
        vm.warp(NOW);
        HoldingsRule rule = new HoldingsRule();
        PriceAggregator dollar = new PriceAggregator("USD / USD", 8, address(this));
        dollar.set(1e8);
        SaidToken last = new SaidToken();
        Law memory law;
        law.tokens = token(address(last), address(dollar), 6);
        for (uint256 i = 0; i < depth; i++) {
            SaidToken next = new SaidToken();
            next.say(address(last), 2e18);
            law.targets = bytes.concat(law.targets, target(address(next), Role.Vault));
            last = next;
        }
        last.hold(ACCOUNT, 1e6);
        HoldingsBound memory bound;
        (bound.thrivingBps, bound.stableBps, bound.drawdownBps) = (10_000, 10_000, 10_000);
        Holding[] memory holdings = rule.held(listing(law), ACCOUNT);

        uint256 word = rule.judge(listing(law), bound, Phase.Thriving, holdings, 0);

        // Each of them doubles.
        vm.assertEq(word, 1e6 << depth, "mark");
    }

    /// @dev Two vaults of each other's shares lead nowhere: they have no price, and the search ends.
    function test_a_circle_of_vaults_has_no_price() public {
        vm.warp(NOW);
        HoldingsRule rule = new HoldingsRule();
        (SaidToken one, SaidToken other) = (new SaidToken(), new SaidToken());
        one.say(address(other), 1e18);
        other.say(address(one), 1e18);
        Law memory law;
        law.targets =
            bytes.concat(target(address(one), Role.Vault), target(address(other), Role.Vault));
        one.hold(ACCOUNT, 1e6);
        HoldingsBound memory bound;
        bytes memory listed = listing(law);
        Holding[] memory holdings = rule.held(listed, ACCOUNT);

        // Three steps from the first one.
        vm.expectRevert(abi.encodeWithSelector(Listing.Listing_UnknownToken.selector, address(one)));
        rule.judge(listed, bound, Phase.Thriving, holdings, 0);
    }
}

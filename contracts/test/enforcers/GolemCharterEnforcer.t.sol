// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation} from "../../src/interfaces/IDelegationManager.sol";
import {CharterTest} from "../CharterTest.sol";

contract GolemCharterEnforcerTest is CharterTest {
    function test_every_kind_of_owners_golem_swaps_at_the_bound() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            setUp();
            Owner memory from = owner(kinds[i]);
            Law memory charter = golem(from);
            Delegation memory leaf = grant(from, charter);
            uint256 before = WETH.balanceOf(from.account);

            uint256 gasBefore = gasleft();
            act(leaf, ROUTER_02, sellUsdc(100e6, atTheBound(100e6), from.account));
            emit log(gasBefore - gasleft());
            gasBefore = gasleft();
            act(leaf, ROUTER_02, sellUsdc(100e6, atTheBound(100e6), from.account));
            emit log(gasBefore - gasleft());

            vm.assertEq(USDC.balanceOf(from.account), 9_800e6, "sold");
            vm.assertTrue(WETH.balanceOf(from.account) > before, "bought");
        }
    }

    event log(uint256);
}

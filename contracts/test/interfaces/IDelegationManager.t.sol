// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {
    ANY_DELEGATE,
    CAVEAT_TYPEHASH,
    Caveat,
    DELEGATION_TYPEHASH,
    Delegation,
    IDelegationManager,
    ROOT_AUTHORITY
} from "../../src/interfaces/IDelegationManager.sol";
import {ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {DevchainTest} from "../DevchainTest.sol";

/// @notice Our declaration of the framework says what the framework does.
contract IDelegationManagerTest is DevchainTest {
    Actor private _agent;
    Actor private _stranger;

    function setUp() public override {
        super.setUp();
        _agent = actor("agent");
        _stranger = actor("stranger");
    }

    function test_constants_are_those_of_the_manager() public view {
        vm.assertEq(_word("ROOT_AUTHORITY()"), ROOT_AUTHORITY, "root authority");
        vm.assertEq(
            _word("ANY_DELEGATE()"), bytes32(uint256(uint160(ANY_DELEGATE))), "any delegate"
        );
    }

    function test_the_domain_is_bound_to_manager_and_chain() public view {
        bytes32 expected = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,"
                    "address verifyingContract)"
                ),
                keccak256("DelegationManager"),
                keccak256("1"),
                uint256(8453),
                address(MANAGER)
            )
        );

        vm.assertEq(MANAGER.getDomainHash(), expected, "domain");
    }

    function testFuzz_the_hash_follows_from_our_type_hashes(
        address delegate,
        address delegator,
        bytes32 authority,
        uint256 salt,
        address enforcer,
        bytes memory terms
    ) public pure {
        Delegation memory given = Delegation({
            delegate: delegate,
            delegator: delegator,
            authority: authority,
            caveats: only(enforcer, terms),
            salt: salt,
            signature: ""
        });
        bytes32 caveat = keccak256(abi.encode(CAVEAT_TYPEHASH, enforcer, keccak256(terms)));
        bytes32 expected = keccak256(
            abi.encode(
                DELEGATION_TYPEHASH,
                delegate,
                delegator,
                authority,
                keccak256(abi.encodePacked(caveat)),
                salt
            )
        );

        vm.assertEq(MANAGER.getDelegationHash(given), expected, "hash");
    }

    /// @dev ATK-03: the reason why no rule may rest on `args`.
    function testFuzz_args_and_signature_are_not_hashed(bytes memory args, bytes memory signature)
        public
        view
    {
        Delegation memory given = Delegation({
            delegate: _agent.account,
            delegator: _stranger.account,
            authority: ROOT_AUTHORITY,
            caveats: only(address(1), "terms"),
            salt: 0,
            signature: ""
        });
        bytes32 before = MANAGER.getDelegationHash(given);

        given.caveats[0].args = args;
        given.signature = signature;

        vm.assertEq(MANAGER.getDelegationHash(given), before, "hash");
    }

    function test_a_disabled_delegation_is_refused_until_enabled_again() public {
        Owner memory from = stateless7702Owner();
        Delegation memory grant = root(from, _agent.account, noCaveats());
        bytes32 hash = MANAGER.getDelegationHash(grant);

        vm.expectEmit(address(MANAGER));
        emit IDelegationManager.DisabledDelegation(hash, from.account, _agent.account, grant);
        vm.prank(from.account);
        MANAGER.disableDelegation(grant);
        vm.assertTrue(MANAGER.disabledDelegations(hash), "disabled");
        vm.expectRevert(IDelegationManager.CannotUseADisabledDelegation.selector);
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());

        vm.expectEmit(address(MANAGER));
        emit IDelegationManager.EnabledDelegation(hash, from.account, _agent.account, grant);
        vm.prank(from.account);
        MANAGER.enableDelegation(grant);
        vm.assertFalse(MANAGER.disabledDelegations(hash), "disabled");
        redeem(_agent.account, grant, SINGLE_DEFAULT, oneNote());
    }

    function test_only_its_delegator_switches_a_delegation_and_only_to_the_other_side() public {
        Owner memory from = stateless7702Owner();
        Delegation memory grant = root(from, _agent.account, noCaveats());

        vm.expectRevert(IDelegationManager.InvalidDelegator.selector);
        vm.prank(_agent.account);
        MANAGER.disableDelegation(grant);
        vm.expectRevert(IDelegationManager.AlreadyEnabled.selector);
        vm.prank(from.account);
        MANAGER.enableDelegation(grant);
        vm.prank(from.account);
        MANAGER.disableDelegation(grant);
        vm.expectRevert(IDelegationManager.AlreadyDisabled.selector);
        vm.prank(from.account);
        MANAGER.disableDelegation(grant);
    }

    function test_refusals_have_the_names_we_gave_them() public {
        Delegation memory grant = root(stateless7702Owner(), _agent.account, noCaveats());
        Delegation memory orphan =
            link(plain(_agent), _stranger.account, keccak256("no such link"), noCaveats());
        Delegation memory forged = child(grant, _agent, _stranger.account, noCaveats());
        forged.signature = grant.signature;

        vm.expectRevert(IDelegationManager.InvalidDelegate.selector);
        redeem(_stranger.account, grant, SINGLE_DEFAULT, oneNote());
        vm.expectRevert(IDelegationManager.InvalidAuthority.selector);
        redeem(_stranger.account, orphan, grant, SINGLE_DEFAULT, oneNote());
        vm.expectRevert(IDelegationManager.InvalidEOASignature.selector);
        redeem(_stranger.account, forged, grant, SINGLE_DEFAULT, oneNote());
        vm.expectRevert(IDelegationManager.BatchDataLengthMismatch.selector);
        MANAGER.redeemDelegations(new bytes[](1), new ModeCode[](2), new bytes[](1));
    }

    /// @dev ATK-12: why our rules compare the whole word: the accounts read two bytes of it.
    function test_accounts_overlook_what_stands_behind_the_two_types_of_a_mode() public {
        Owner memory from = stateless7702Owner();
        Delegation memory grant = root(from, _agent.account, noCaveats());

        redeem(_agent.account, grant, ModeCode.wrap(bytes32(type(uint256).max >> 16)), oneNote());

        vm.assertEq(witness.callsBy(from.account), 1, "calls made by the owner's account");
    }

    function test_a_redemption_is_announced_for_every_link() public {
        Owner memory from = hybridOwner();
        Delegation memory above = root(from, _agent.account, noCaveats());
        Delegation memory leaf = child(above, _agent, _stranger.account, noCaveats());

        vm.expectEmit(address(MANAGER));
        emit IDelegationManager.RedeemedDelegation(from.account, _stranger.account, leaf);
        vm.expectEmit(address(MANAGER));
        emit IDelegationManager.RedeemedDelegation(from.account, _stranger.account, above);
        redeem(_stranger.account, leaf, above, SINGLE_DEFAULT, oneNote());
    }

    function _word(string memory signature) private view returns (bytes32) {
        (bool ok, bytes memory answer) =
            address(MANAGER).staticcall(abi.encodeWithSignature(signature));
        vm.assertTrue(ok, signature);
        return abi.decode(answer, (bytes32));
    }
}

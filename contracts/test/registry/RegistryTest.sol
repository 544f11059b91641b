// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Caveat, Delegation, ROOT_AUTHORITY} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {GolemRegistry} from "../../src/registry/GolemRegistry.sol";
import {TestBase} from "../TestBase.sol";

/// @notice The one thing the registry asks the manager. The real one is asked in the tests on the
///         local chain's state.
contract ManagerStub {
    mapping(bytes32 delegationHash => bool) public disabledDelegations;

    function disable(bytes32 delegationHash) external {
        disabledDelegations[delegationHash] = true;
    }
}

/// @notice A registry, an owner with a registered Golem, and grants signed in our own words.
abstract contract RegistryTest is TestBase {
    address internal constant MANAGER = 0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3;
    bytes32 internal constant SALT = keccak256("first Golem");
    uint40 internal constant BIRTH = 1_767_225_600;

    GolemRegistry internal registry;
    Actor internal owner;
    Actor internal agent;
    Actor internal successor;
    Actor internal otherOwner;
    Actor internal otherAgent;
    Actor internal stranger;
    bytes32 internal golem;
    bytes32 internal otherGolem;

    function setUp() public virtual {
        registry = new GolemRegistry();
        vm.etch(MANAGER, address(new ManagerStub()).code);
        owner = actor("owner");
        agent = actor("agent");
        successor = actor("successor");
        otherOwner = actor("other owner");
        otherAgent = actor("other agent");
        stranger = actor("stranger");
        golem = keccak256(abi.encode(owner.account, SALT));
        otherGolem = keccak256(abi.encode(otherOwner.account, SALT));
    }

    /// @dev Both owners' Golems, by call.
    function registerBoth() internal {
        vm.prank(owner.account);
        registry.register(SALT, agent.account);
        vm.prank(otherOwner.account);
        registry.register(SALT, otherAgent.account);
    }

    // Calls

    /// @dev Expects exactly this refusal, from whoever calls whatever.
    function refused(address caller, bytes memory call, bytes memory reason) internal {
        vm.prank(caller);
        (bool ok, bytes memory answer) = address(registry).call(call);
        vm.assertFalse(ok, "not refused");
        vm.assertEq(keccak256(answer), keccak256(reason), "refused for another reason");
    }

    /// @dev Expects success.
    function accepted(address caller, bytes memory call) internal {
        vm.prank(caller);
        (bool ok,) = address(registry).call(call);
        vm.assertTrue(ok, "refused");
    }

    // Grants

    /// @dev What a charter begins with, and a little of what it goes on with.
    function terms(address named, uint16 epoch, uint32 generation)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(
            keccak256(abi.encode(named, SALT)), named, epoch, generation, "and so on"
        );
    }

    function grantFrom(Actor memory signer, address to, uint16 epoch)
        internal
        view
        returns (Delegation memory)
    {
        return grantFrom(signer, to, terms(signer.account, epoch, 0));
    }

    /// @dev From a vault account of the signer; a caveat of somebody else's stands before ours.
    function grantFrom(Actor memory signer, address to, bytes memory ours)
        internal
        view
        returns (Delegation memory made)
    {
        made.delegate = to;
        made.delegator = address(0x7a017);
        made.authority = ROOT_AUTHORITY;
        made.caveats = new Caveat[](2);
        made.caveats[0] = Caveat({enforcer: address(0xca1), terms: hex"c0ffee", args: ""});
        made.caveats[1] = Caveat({enforcer: address(0xca2), terms: ours, args: "anything"});
        made.salt = 7;
        made.signature = signed(signer, digestOf(made));
    }

    function handIn(Delegation memory grant) internal pure returns (bytes memory) {
        return abi.encodeCall(IGolemRegistry.registerWithGrant, (grant, 1, SALT));
    }

    /// @dev Written anew, from the standard: nothing of the registry's own hashing is used.
    function hashOf(Delegation memory grant) internal pure returns (bytes32) {
        bytes memory caveats;
        for (uint256 i = 0; i < grant.caveats.length; i++) {
            caveats = bytes.concat(
                caveats,
                keccak256(
                    abi.encode(
                        keccak256("Caveat(address enforcer,bytes terms)"),
                        grant.caveats[i].enforcer,
                        keccak256(grant.caveats[i].terms)
                    )
                )
            );
        }
        return keccak256(
            abi.encode(
                keccak256(
                    "Delegation(address delegate,address delegator,bytes32 authority,"
                    "Caveat[] caveats,uint256 salt)Caveat(address enforcer,bytes terms)"
                ),
                grant.delegate,
                grant.delegator,
                grant.authority,
                keccak256(caveats),
                grant.salt
            )
        );
    }

    function digestOf(Delegation memory grant) internal view returns (bytes32) {
        return digestOf(grant, "DelegationManager", block.chainid, MANAGER);
    }

    function digestOf(Delegation memory grant, string memory name, uint256 chainId, address manager)
        internal
        pure
        returns (bytes32)
    {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,"
                    "address verifyingContract)"
                ),
                keccak256(bytes(name)),
                keccak256("1"),
                chainId,
                manager
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, hashOf(grant)));
    }

    // Refusals

    function notRegistered(bytes32 id) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NotRegistered.selector, id);
    }

    function notOwner(bytes32 id, address caller) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NotOwner.selector, id, caller);
    }

    function notAgent(bytes32 id, address caller) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NotAgent.selector, id, caller);
    }

    function isClosed(bytes32 id) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemRegistry.GolemRegistry_Closed.selector, id);
    }

    function notHigher(uint16 epoch, uint16 highest) internal view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemRegistry.GolemRegistry_EpochNotHigher.selector, golem, epoch, highest
        );
    }

    function notGood(uint16 epoch, uint16 minEpoch) internal view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemRegistry.GolemRegistry_EpochNotGood.selector, golem, epoch, minEpoch
        );
    }

    function wasDetached(address key, uint256 returnEpoch) internal view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemRegistry.GolemRegistry_AgentWasDetached.selector, golem, key, returnEpoch
        );
    }

    // What is on the register

    function attached() internal view returns (address key) {
        (key,) = registry.agentOf(golem);
    }

    function attachedEpoch() internal view returns (uint256) {
        (, uint16 epoch) = registry.agentOf(golem);
        return epoch;
    }

    function phaseOf(bytes32 id) internal view returns (uint256) {
        return registry.word(id).phase();
    }
}

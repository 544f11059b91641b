// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ThresholdEnforcer} from "../../src/enforcers/ThresholdEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {CharterTest} from "../CharterTest.sol";

/// @notice Three members, two of whom must agree, and an account that they act for.
abstract contract CouncilTest is CharterTest {
    uint40 internal constant DEADLINE = NOW + 1 hours;
    uint256 internal constant SOLD = 10e6;

    ThresholdEnforcer internal threshold;
    /// @dev In the order of their addresses.
    Actor[] internal members;
    Law internal law;

    function setUp() public virtual override {
        super.setUp();
        threshold = new ThresholdEnforcer();
        string[] memory names = new string[](3);
        (names[0], names[1], names[2]) = ("Golem Alpha", "Golem Beta", "Golem Gamma");
        Actor[] memory all = ordered(names);
        for (uint256 i = 0; i < all.length; i++) {
            members.push(all[i]);
        }
        law = golem(me());
    }

    /// @dev The owner of most tests. The same name is the same account.
    function me() internal returns (Owner memory) {
        return stateless7702Owner();
    }

    /// @dev In the order of their addresses.
    function ordered(string[] memory names) internal returns (Actor[] memory all) {
        all = new Actor[](names.length);
        for (uint256 i = 0; i < all.length; i++) {
            all[i] = actor(names[i]);
            for (uint256 j = i; j > 0 && all[j].account < all[j - 1].account; j--) {
                (all[j], all[j - 1]) = (all[j - 1], all[j]);
            }
        }
    }

    /// @dev Two of three.
    function council() internal view returns (bytes memory) {
        return
            abi.encodePacked(uint8(2), members[0].account, members[1].account, members[2].account);
    }

    /// @dev The digest as EIP-712 says it, with nothing taken from the contract.
    function digest(
        address manager,
        bytes32 delegationHash,
        ModeCode mode,
        bytes memory execution,
        uint256 nonce,
        uint40 deadline
    ) internal view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("ThresholdEnforcer"),
                keccak256("1"),
                block.chainid,
                address(threshold)
            )
        );
        bytes32 hash = keccak256(
            abi.encode(
                keccak256(
                    "CoSignature(address manager,bytes32 delegationHash,bytes32 mode,bytes execution,uint256 nonce,uint40 deadline)"
                ),
                manager,
                delegationHash,
                mode,
                keccak256(execution),
                nonce,
                deadline
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, hash));
    }

    function args(bytes32 what, uint256 nonce, uint40 deadline, Actor memory a, Actor memory b)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(nonce, deadline, signed(a, what), signed(b, what));
    }

    /// @dev What the first two members agreed to for the manager, until {DEADLINE}.
    function agreement(Delegation memory leaf, ModeCode mode, bytes memory execution, uint256 nonce)
        internal
        view
        returns (bytes memory)
    {
        bytes32 hash = MANAGER.getDelegationHash(leaf);
        bytes32 what = digest(address(MANAGER), hash, mode, execution, nonce, DEADLINE);
        return args(what, nonce, DEADLINE, members[0], members[1]);
    }

    /// @dev The delegation with these arguments for its first caveat.
    function armed(Delegation memory leaf, bytes memory made)
        internal
        pure
        returns (Delegation memory)
    {
        leaf.caveats[0].args = made;
        return leaf;
    }

    function swap(uint256 amount) internal view returns (bytes memory) {
        return single(ROUTER_02, sellUsdc(amount, atTheBound(amount), law.account));
    }

    function swaps() internal view returns (bytes memory) {
        Execution[] memory calls = new Execution[](2);
        calls[0] = Execution(ROUTER_02, 0, sellUsdc(SOLD, atTheBound(SOLD), law.account));
        calls[1] = calls[0];
        return abi.encode(calls);
    }

    /// @dev Redeems one swap under a nonce that two members signed.
    function agreedSwap(Delegation memory leaf, uint256 nonce) internal {
        bytes memory execution = swap(SOLD);
        armed(leaf, agreement(leaf, SINGLE_DEFAULT, execution, nonce));
        redeem(agent.account, leaf, SINGLE_DEFAULT, execution);
    }
}

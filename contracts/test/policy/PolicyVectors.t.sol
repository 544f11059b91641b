// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Policy, PolicyCage} from "../../src/policy/PolicyCage.sol";
import {TestBase} from "../TestBase.sol";

/// @notice The vectors that `golem-safety` reads too, made with viem.
contract PolicyVectorsTest is TestBase {
    /// @dev As `policy.mjs` writes it; fields of the type below in its order.
    struct PolicyVector {
        string name;
        bytes32 golemId;
        uint64 version;
        bytes32 constitutionHash;
        uint16 concentrationBps;
        uint16 drawdownBps;
        uint64 spendPerTransaction;
        uint64 spendPerSession;
        uint64 spendPerDay;
        address[] assets;
        bytes32 hash;
        bytes answer;
        string error;
    }

    string private constant VECTOR_TYPE =
        "PolicyVector(string name,bytes32 golemId,uint64 version,bytes32 constitutionHash,uint16 concentrationBps,uint16 drawdownBps,uint64 spendPerTransaction,uint64 spendPerSession,uint64 spendPerDay,address[] assets,bytes32 hash,bytes answer,string error)";

    function test_matches_the_shared_vectors() public {
        string memory json = vm.readFile("../testdata/vectors/policy.json");
        PolicyVector[] memory vectors =
            abi.decode(vm.parseJsonTypeArray(json, "$.vectors", VECTOR_TYPE), (PolicyVector[]));
        vm.assertTrue(vectors.length >= 21, "vectors read");
        PolicyCage cage = new PolicyCage();

        for (uint256 i = 0; i < vectors.length; i++) {
            PolicyVector memory v = vectors[i];
            Policy memory policy = Policy(
                v.constitutionHash,
                v.concentrationBps,
                v.drawdownBps,
                v.spendPerTransaction,
                v.spendPerSession,
                v.spendPerDay,
                v.assets
            );
            vm.assertEq(cage.hashOf(v.golemId, v.version, policy), v.hash, v.name);
            vm.assertEq(abi.encode(policy, v.version, v.hash), v.answer, v.name);
            (bool published, bytes memory refusal) =
                address(cage).call(abi.encodeCall(PolicyCage.publish, (bytes32(i), policy)));
            vm.assertTrue(published == (bytes(v.error).length == 0), v.name);
            if (!published) {
                // Which error: its selector is in front.
                // forge-lint: disable-next-line(unsafe-typecast)
                vm.assertEq(bytes32(bytes4(refusal)), bytes32(_selectorOf(v.error)), v.name);
            }
        }
    }

    function _selectorOf(string memory name) private pure returns (bytes4) {
        bytes32 which = keccak256(bytes(name));
        if (which == keccak256("NoConstitution")) {
            return PolicyCage.PolicyCage_NoConstitution.selector;
        }
        if (which == keccak256("ConcentrationBps")) {
            return PolicyCage.PolicyCage_ConcentrationBps.selector;
        }
        if (which == keccak256("DrawdownBps")) return PolicyCage.PolicyCage_DrawdownBps.selector;
        if (which == keccak256("OverSession")) return PolicyCage.PolicyCage_OverSession.selector;
        if (which == keccak256("OverDay")) return PolicyCage.PolicyCage_OverDay.selector;
        if (which == keccak256("TooManyAssets")) {
            return PolicyCage.PolicyCage_TooManyAssets.selector;
        }
        if (which == keccak256("NotAscending")) return PolicyCage.PolicyCage_NotAscending.selector;
        return 0;
    }
}

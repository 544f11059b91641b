// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../../src/interfaces/ModeCode.sol";
import {CoSignature, Threshold} from "../../src/rules/Threshold.sol";
import {TestBase} from "../TestBase.sol";

/// @notice The library from outside, so that a refusal can be caught.
contract ThresholdHarness {
    mapping(uint256 page => uint256 bits) private _nonces;

    function decode(bytes calldata terms) external pure returns (uint8, address[] memory) {
        return Threshold.decode(terms);
    }

    function decodeArgs(bytes calldata args, uint8 needed)
        external
        pure
        returns (uint256 nonce, uint40 deadline, bytes memory signatures)
    {
        return Threshold.decodeArgs(args, needed);
    }

    function digestOf(address enforcer, CoSignature calldata agreed)
        external
        view
        returns (bytes32)
    {
        return Threshold.digestOf(Threshold.domainOf(enforcer), agreed);
    }

    function check(bytes32 digest, bytes calldata signatures, address[] calldata signers)
        external
        pure
    {
        Threshold.check(digest, signatures, signers);
    }

    function use(uint256 nonce) external {
        Threshold.use(_nonces, nonce);
    }

    function isUsed(uint256 nonce) external view returns (bool) {
        return Threshold.isUsed(_nonces, nonce);
    }
}

contract ThresholdTest is TestBase {
    struct ThresholdAgreement {
        string name;
        address enforcer;
        uint256 chainId;
        address manager;
        bytes32 delegationHash;
        bytes32 mode;
        bytes execution;
        uint256 nonce;
        uint256 deadline;
        uint256 needed;
        address[] signers;
        bytes terms;
        bytes args;
        bytes32 digest;
    }

    struct MalformedThreshold {
        string name;
        bytes terms;
        string error;
        uint256[] numbers;
    }

    bytes32 private constant DIGEST = keccak256("what all of them sign");

    ThresholdHarness private _threshold;

    function setUp() public {
        _threshold = new ThresholdHarness();
    }

    // Terms

    function test_terms_are_a_byte_and_whole_signers() public {
        for (uint256 length = 0; length <= 130; length++) {
            if (length > 1 && length % 20 == 1) continue;
            vm.expectRevert(
                abi.encodeWithSelector(Threshold.Threshold_TermsLength.selector, length)
            );
            _threshold.decode(new bytes(length));
        }
    }

    /// @dev Of every number of signers up to 5, each number from one to all is good, and no other.
    function test_as_many_are_needed_as_there_are_at_most_and_one_at_least() public {
        for (uint256 count = 1; count <= 5; count++) {
            bytes memory signers = "";
            for (uint160 i = 1; i <= count; i++) {
                signers = bytes.concat(signers, bytes20(i));
            }
            for (uint8 needed = 0; needed < 240; needed += needed < 8 ? 1 : 13) {
                if (needed == 0 || needed > count) {
                    vm.expectRevert(
                        abi.encodeWithSelector(Threshold.Threshold_Needed.selector, needed, count)
                    );
                }
                _threshold.decode(bytes.concat(bytes1(needed), signers));
            }
        }
    }

    function test_signers_ascend_and_none_is_zero() public {
        _decodeRefused(0, 0, 1, 2);
        _decodeRefused(1, 1, 1, 2);
        _decodeRefused(1, 2, 1, 3);
        _decodeRefused(2, 1, 3, 2);
        _decodeRefused(2, 1, 2, 2);
        _decodeRefused(2, 1, 2, 0);
        _threshold.decode(abi.encodePacked(uint8(2), address(1), address(2), address(3)));
    }

    /// @dev Compared with a list that is sorted and has no zero by the plainest of looks.
    function testFuzz_terms_are_read_back_or_refused(uint8 needed, address[] memory signers)
        public
        view
    {
        bytes memory terms = abi.encodePacked(needed);
        bool good = signers.length != 0 && needed != 0 && needed <= signers.length;
        for (uint256 i = 0; i < signers.length; i++) {
            terms = bytes.concat(terms, bytes20(signers[i]));
            if (signers[i] == address(0)) good = false;
            for (uint256 j = 0; j < i; j++) {
                if (signers[j] >= signers[i]) good = false;
            }
        }
        _readsBack(needed, signers, terms, good);
    }

    /// @dev The same with a list that is in order.
    function testFuzz_terms_in_order_are_read_back(uint8 needed, uint160[8] memory steps)
        public
        view
    {
        address[] memory signers = new address[](steps.length);
        uint160 last = 0;
        for (uint256 i = 0; i < steps.length; i++) {
            last += uint160(within(steps[i], 1, type(uint160).max / 9));
            signers[i] = address(last);
        }
        bytes memory terms = abi.encodePacked(needed);
        for (uint256 i = 0; i < signers.length; i++) {
            terms = bytes.concat(terms, bytes20(signers[i]));
        }
        _readsBack(needed, signers, terms, needed != 0 && needed <= 8);
    }

    // Args

    function test_args_have_one_length() public {
        for (uint8 needed = 1; needed <= 3; needed++) {
            uint256 expected = 37 + uint256(needed) * 65;
            for (uint256 length = 0; length <= 300; length++) {
                if (length != expected) {
                    vm.expectRevert(
                        abi.encodeWithSelector(
                            Threshold.Threshold_ArgsLength.selector, expected, length
                        )
                    );
                }
                _threshold.decodeArgs(new bytes(length), needed);
            }
        }
    }

    function testFuzz_args_are_read_back(uint256 nonce, uint40 deadline, uint8 needed) public view {
        bytes memory signatures = new bytes(uint256(needed) * 65);
        for (uint256 i = 0; i < signatures.length; i++) {
            signatures[i] = bytes32(nonce)[i % 32];
        }

        (uint256 readNonce, uint40 readDeadline, bytes memory rest) =
            _threshold.decodeArgs(abi.encodePacked(nonce, deadline, signatures), needed);

        vm.assertEq(readNonce, nonce, "nonce");
        vm.assertEq(readDeadline, deadline, "deadline");
        vm.assertEq(rest, signatures, "signatures");
    }

    // Signatures

    /// @dev Every way to choose from five: good if none is chosen twice and all are in order.
    function test_any_signers_in_order_are_good_and_nothing_else_is() public {
        Actor[] memory all = _members(5);
        address[] memory signers = _addresses(all);
        for (uint256 first = 0; first < 5; first++) {
            for (uint256 second = 0; second < 5; second++) {
                if (second <= first) {
                    vm.expectRevert(
                        abi.encodeWithSelector(
                            Threshold.Threshold_SignatureOrder.selector,
                            signers[second],
                            signers[first]
                        )
                    );
                }
                _threshold.check(
                    DIGEST,
                    bytes.concat(signed(all[first], DIGEST), signed(all[second], DIGEST)),
                    signers
                );
            }
        }
    }

    /// @dev Each member left out of the list in turn, wherever he stands in it.
    function test_who_is_not_on_the_list_does_not_count() public {
        Actor[] memory all = _members(5);
        for (uint256 left = 0; left < 5; left++) {
            address[] memory signers = new address[](4);
            for (uint256 i = 0; i < 4; i++) {
                signers[i] = all[i < left ? i : i + 1].account;
            }
            bytes memory signatures = "";
            for (uint256 i = 0; i < 5; i++) {
                signatures = bytes.concat(signatures, signed(all[i], DIGEST));
            }
            vm.expectRevert(
                abi.encodeWithSelector(Threshold.Threshold_NotASigner.selector, all[left].account)
            );
            _threshold.check(DIGEST, signatures, signers);
        }
    }

    // Nonces

    function test_a_nonce_is_used_once_and_alone() public {
        uint256[7] memory nonces =
            [uint256(0), 1, 255, 256, 257, type(uint256).max - 256, type(uint256).max];
        for (uint256 i = 0; i < nonces.length; i++) {
            vm.assertFalse(_threshold.isUsed(nonces[i]), "not yet");
            _threshold.use(nonces[i]);
            vm.assertTrue(_threshold.isUsed(nonces[i]), "used");
            vm.expectRevert(
                abi.encodeWithSelector(Threshold.Threshold_NonceUsed.selector, nonces[i])
            );
            _threshold.use(nonces[i]);
        }
        vm.assertFalse(_threshold.isUsed(2), "another of the page");
        vm.assertFalse(_threshold.isUsed(512), "another page");
    }

    function testFuzz_nonces_do_not_touch_each_other(uint256 one, uint256 other, uint8 near)
        public
    {
        // Often of one page, where a mistake would be.
        if (near % 2 == 0) other = (one & ~uint256(0xff)) | (other & 0xff);
        vm.assume(one != other);
        _threshold.use(one);

        vm.assertFalse(_threshold.isUsed(other), "untouched");
        _threshold.use(other);
        vm.assertTrue(_threshold.isUsed(one) && _threshold.isUsed(other), "both");
    }

    // Shared vectors

    /// @dev The file is `{"agreed": […], "malformed": [{name, terms, error, numbers}]}`, written by
    ///      `threshold.mjs`; its digests and signatures are viem's, from typed data as a wallet gets it.
    function test_matches_the_shared_vectors() public {
        bytes memory encoded = vm.parseJsonTypeArray(
            vm.readFile("../testdata/vectors/threshold.json"),
            "$.agreed",
            string.concat(
                "ThresholdAgreement(string name,address enforcer,uint256 chainId,address manager,",
                "bytes32 delegationHash,bytes32 mode,bytes execution,uint256 nonce,",
                "uint256 deadline,uint256 needed,address[] signers,bytes terms,bytes args,",
                "bytes32 digest)"
            )
        );
        ThresholdAgreement[] memory agreed = abi.decode(encoded, (ThresholdAgreement[]));

        vm.assertTrue(agreed.length >= 10, "vectors read");
        for (uint256 i = 0; i < agreed.length; i++) {
            _matches(agreed[i]);
        }
    }

    function test_matches_the_shared_vectors_of_malformed_terms() public {
        bytes memory encoded = vm.parseJsonTypeArray(
            vm.readFile("../testdata/vectors/threshold.json"),
            "$.malformed",
            "MalformedThreshold(string name,bytes terms,string error,uint256[] numbers)"
        );
        MalformedThreshold[] memory malformed = abi.decode(encoded, (MalformedThreshold[]));

        vm.assertTrue(malformed.length >= 10, "vectors read");
        for (uint256 i = 0; i < malformed.length; i++) {
            string memory types =
                malformed[i].numbers.length == 1 ? "(uint256)" : "(uint256,uint256)";
            bytes4 selector =
                bytes4(keccak256(bytes(string.concat("Threshold_", malformed[i].error, types))));
            vm.expectRevert(bytes.concat(selector, abi.encodePacked(malformed[i].numbers)));
            _threshold.decode(malformed[i].terms);
        }
    }

    function _matches(ThresholdAgreement memory agreed) private {
        vm.chainId(agreed.chainId);
        (uint8 needed, address[] memory signers) = _threshold.decode(agreed.terms);
        (uint256 nonce, uint40 deadline, bytes memory signatures) =
            _threshold.decodeArgs(agreed.args, needed);
        bytes32 digest = _threshold.digestOf(
            agreed.enforcer,
            CoSignature(
                agreed.manager,
                agreed.delegationHash,
                ModeCode.wrap(agreed.mode),
                keccak256(agreed.execution),
                nonce,
                deadline
            )
        );

        vm.assertEq(needed, agreed.needed, agreed.name);
        vm.assertEq(
            keccak256(abi.encode(signers)), keccak256(abi.encode(agreed.signers)), agreed.name
        );
        vm.assertEq(nonce, agreed.nonce, agreed.name);
        vm.assertEq(deadline, agreed.deadline, agreed.name);
        vm.assertEq(digest, agreed.digest, agreed.name);
        _threshold.check(digest, signatures, signers);
    }

    function _readsBack(uint8 needed, address[] memory signers, bytes memory terms, bool good)
        private
        view
    {
        try _threshold.decode(terms) returns (uint8 readNeeded, address[] memory readSigners) {
            vm.assertTrue(good, "malformed");
            vm.assertEq(readNeeded, needed, "needed");
            vm.assertEq(
                keccak256(abi.encode(readSigners)), keccak256(abi.encode(signers)), "signers"
            );
        } catch {
            vm.assertFalse(good, "well formed");
        }
    }

    function _decodeRefused(uint256 index, uint160 a, uint160 b, uint160 c) private {
        vm.expectRevert(abi.encodeWithSelector(Threshold.Threshold_SignerOrder.selector, index));
        _threshold.decode(abi.encodePacked(uint8(1), a, b, c));
    }

    /// @dev In the order of their addresses.
    function _members(uint256 count) private returns (Actor[] memory all) {
        all = new Actor[](count);
        for (uint256 i = 0; i < count; i++) {
            all[i] = actor(string.concat("member ", vm.toString(i)));
            for (uint256 j = i; j > 0 && all[j].account < all[j - 1].account; j--) {
                (all[j], all[j - 1]) = (all[j - 1], all[j]);
            }
        }
    }

    function _addresses(Actor[] memory all) private pure returns (address[] memory signers) {
        signers = new address[](all.length);
        for (uint256 i = 0; i < all.length; i++) {
            signers[i] = all[i].account;
        }
    }
}

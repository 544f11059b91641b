// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC721Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IdentityRegistry} from "../../local/IdentityRegistry.sol";
import {
    AttestationSignatures,
    GolemAttestation,
    GolemAttestations
} from "../../src/identity/GolemAttestations.sol";
import {IERC1271} from "../../src/interfaces/IERC1271.sol";
import {GolemRegistry} from "../../src/registry/GolemRegistry.sol";
import {GrantSignature} from "../../src/registry/GrantSignature.sol";
import {DevchainTest} from "../DevchainTest.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Says yes to every signature, in the words it is given.
contract Answering {
    bytes private _answer;
    bool private _reverts;
    bool private _writes;
    uint256 private _asked;

    constructor(bytes memory answer, bool reverts, bool writes) {
        (_answer, _reverts, _writes) = (answer, reverts, writes);
    }

    function registerGolem(GolemRegistry registry, bytes32 salt, address agentKey) external {
        registry.register(salt, agentKey);
    }

    fallback(bytes calldata) external returns (bytes memory) {
        if (_reverts) revert();
        if (_writes) _asked += 1;
        return _answer;
    }
}

/// @notice What an EOA's code must not decide: yes to everything, without any storage.
contract YesToAll {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return IERC1271.isValidSignature.selector;
    }
}

/// @notice SPEC C16: owner, account, Golem, agent key and identity, bound to each other.
contract GolemAttestationsTest is DevchainTest {
    uint64 private constant NOW = 1_800_000_000;
    uint64 private constant LATER = NOW + 1 days;
    bytes32 private constant SALT = "golem";
    bytes32 private constant MAGIC = bytes32(bytes4(0x1626ba7e));

    GolemAttestations private _attestations;
    GolemRegistry private _registry;
    IdentityRegistry private _identities;
    Actor private _human;
    Actor private _agent;
    Actor private _stranger;
    GolemAttestation private _a;
    AttestationSignatures private _s;

    /// @dev A plain owner whose Golem has an identity that he holds himself.
    function setUp() public override {
        super.setUp();
        vm.warp(NOW);
        _attestations = new GolemAttestations();
        _registry = new GolemRegistry();
        _identities = new IdentityRegistry();
        _human = actor("human");
        _agent = actor("agent");
        _stranger = actor("stranger");
        vm.prank(_human.account);
        bytes32 golemId = _registry.register(SALT, _agent.account);
        // The first identity is somebody else's, so that an id of zero is not right by chance.
        vm.prank(_stranger.account);
        _identities.register();
        _a = GolemAttestation({
            golemId: golemId,
            owner: _human.account,
            agentKey: _agent.account,
            account: address(0),
            registry: address(_registry),
            identityRegistry: address(_identities),
            agentId: _identify(_human.account, _agent),
            issuedAt: NOW,
            expiresAt: LATER
        });
        _sign();
    }

    // What holds

    function test_an_attestation_of_owner_and_key_holds() public view {
        vm.assertEq(_verify(), _attestations.digestOf(_a), "digest");
    }

    function test_an_attestation_without_an_identity_holds() public {
        (_a.identityRegistry, _a.agentId) = (address(0), 0);
        _sign();

        _verify();
    }

    function test_an_id_without_a_registry_is_refused() public {
        (_a.identityRegistry, _a.agentId) = (address(0), 1);
        _sign();

        _refuses(
            abi.encodeWithSelector(
                GolemAttestations.GolemAttestations_NoIdentityRegistry.selector, 1
            )
        );
    }

    // Time

    /// @dev ATK-33.
    function test_both_ends_of_its_time_belong_to_it() public {
        vm.warp(NOW - 1);
        _refuses(
            abi.encodeWithSelector(
                GolemAttestations.GolemAttestations_NotYetIssued.selector, NOW, NOW - 1
            )
        );
        vm.warp(NOW);
        _verify();
        vm.warp(LATER);
        _verify();
        vm.warp(LATER + 1);
        _refuses(
            abi.encodeWithSelector(
                GolemAttestations.GolemAttestations_Expired.selector, LATER, LATER + 1
            )
        );
    }

    /// @dev ATK-33.
    function test_an_inverted_window_is_refused_and_one_of_a_second_is_not() public {
        _a.expiresAt = NOW;
        _sign();
        _verify();

        _a.expiresAt = NOW - 1;
        _sign();
        _refuses(
            abi.encodeWithSelector(
                GolemAttestations.GolemAttestations_InvertedWindow.selector, NOW, NOW - 1
            )
        );
    }

    function testFuzz_it_holds_within_its_time_and_never_else(
        uint64 issuedAt,
        uint64 expiresAt,
        uint64 nowAt
    ) public {
        (_a.issuedAt, _a.expiresAt) = (issuedAt, expiresAt);
        _sign();
        vm.warp(nowAt);

        (bool ok,) = _try(_a, _s);

        vm.assertTrue(ok == (issuedAt <= nowAt && nowAt <= expiresAt), "in its time");
    }

    // Signatures

    /// @dev ATK-03: signatures of one attestation are of no other, in any field.
    function test_a_field_changed_after_signing_is_refused() public {
        for (uint256 field = 0; field < 9; field++) {
            GolemAttestation memory changed = _a;
            if (field == 0) changed.golemId = keccak256("another");
            if (field == 1) changed.owner = _stranger.account;
            if (field == 2) changed.agentKey = _stranger.account;
            if (field == 3) changed.account = _human.account;
            if (field == 4) changed.registry = address(new GolemRegistry());
            if (field == 5) changed.identityRegistry = address(new IdentityRegistry());
            if (field == 6) changed.agentId += 1;
            if (field == 7) changed.issuedAt -= 1;
            if (field == 8) changed.expiresAt += 1;

            (bool ok, bytes memory reason) = _try(changed, _s);

            vm.assertFalse(ok, "a field is not signed");
            _assertSelector(reason, GolemAttestations.GolemAttestations_OtherSigner.selector);
        }
    }

    function test_each_signature_is_its_own_signers() public {
        bytes32 digest = _attestations.digestOf(_a);
        (bytes memory owners, bytes memory agents) = (_s.owner, _s.agentKey);
        _s.owner = signed(_stranger, digest);
        _refuses(_otherSigner(_stranger.account, _human.account));
        _s.owner = agents;
        _refuses(_otherSigner(_agent.account, _human.account));

        (_s.owner, _s.agentKey) = (owners, signed(_stranger, digest));
        _refuses(_otherSigner(_stranger.account, _agent.account));
        _s.agentKey = owners;
        _refuses(_otherSigner(_human.account, _agent.account));
    }

    function test_a_keys_signature_has_one_form() public {
        bytes32 digest = _attestations.digestOf(_a);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_human.key, digest);
        uint256 high =
            0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141 - uint256(s);

        _refusesOwners(abi.encodePacked(r, bytes32(high), v == 27 ? 28 : 27), _highS(high));
        _refusesOwners("", _length(0));
        _refusesOwners(abi.encodePacked(r, s), _length(64));
        _refusesOwners(abi.encodePacked(r, s, v, uint8(0)), _length(66));
        _refusesOwners(abi.encodePacked(r, s, v - 27), _recoveryId(v - 27));
        _refusesOwners(abi.encodePacked(r, s, uint8(29)), _recoveryId(29));
        _refusesOwners(
            abi.encodePacked(bytes32(0), s, v),
            abi.encodeWithSelector(GrantSignature.GrantSignature_NoSigner.selector, digest)
        );
    }

    function testFuzz_no_bytes_but_the_owners_signature_are_one(bytes memory forged) public {
        vm.assume(keccak256(forged) != keccak256(_s.owner));
        _s.owner = forged;

        (bool ok,) = _try(_a, _s);

        vm.assertFalse(ok, "forged");
    }

    /// @dev ATK-02.
    function test_signatures_of_another_chain_are_refused() public {
        vm.chainId(1);

        (bool ok, bytes memory reason) = _try(_a, _s);

        vm.assertFalse(ok, "replayed");
        _assertSelector(reason, GolemAttestations.GolemAttestations_OtherSigner.selector);
        _sign();
        _verify();
    }

    /// @dev ATK-01.
    function test_signatures_for_another_contract_are_refused() public {
        _attestations = new GolemAttestations();

        (bool ok, bytes memory reason) = _try(_a, _s);

        vm.assertFalse(ok, "replayed");
        _assertSelector(reason, GolemAttestations.GolemAttestations_OtherSigner.selector);
    }

    /// @dev ATK-04: nothing is unwrapped, and what is in the wrapping is not called.
    function test_a_wrapped_signature_is_none_and_prepares_nothing() public {
        bytes memory prepare = abi.encodeWithSignature("note(uint256)", 1);
        bytes memory wrapped = bytes.concat(
            abi.encode(address(witness), prepare, _s.owner),
            hex"6492649264926492649264926492649264926492649264926492649264926492"
        );
        _refusesOwners(wrapped, _length(wrapped.length));

        // For an account with code it is bytes like any others.
        Owner memory hybrid = hybridOwner();
        (_a.account, _s.account) = (hybrid.account, wrapped);
        _signKeys();
        (bool ok,) = _try(_a, _s);
        vm.assertFalse(ok, "wrapped");
        vm.assertEq(witness.callsBy(address(_attestations)), 0, "prepared");
    }

    /// @dev ATK-05: bytes behind the arguments are nobody's signature.
    function test_bytes_behind_the_call_count_for_nothing() public view {
        AttestationSignatures memory none = _s;
        none.owner = "";
        bytes memory call = _call(_a, none);

        (bool ok, bytes memory reason) =
            address(_attestations).staticcall(bytes.concat(call, abi.encode(uint256(65)), _s.owner));
        vm.assertFalse(ok, "read from behind");
        vm.assertEq(reason, _length(0), "reason");

        (ok,) = address(_attestations).staticcall(bytes.concat(_call(_a, _s), hex"c0ffee"));
        vm.assertTrue(ok, "and harm nothing");
    }

    /// @dev ATK-32: an EOA's key speaks for it, and no code that was put there.
    function test_code_of_a_7702_owner_has_no_say() public {
        address yes = address(new YesToAll());
        vm.etch(_human.account, abi.encodePacked(hex"ef0100", yes));
        _verify();

        _s.owner = signed(_stranger, _attestations.digestOf(_a));
        _refuses(_otherSigner(_stranger.account, _human.account));
        _s.owner = "yes";
        _refuses(_length(3));
    }

    // Accounts

    function test_every_kind_of_account_can_be_the_owner() public {
        for (uint256 i = 0; i < 3; i++) {
            Owner memory from = owner(allKinds()[i]);
            vm.prank(from.account);
            _a.golemId = _registry.register(SALT, _agent.account);
            (_a.owner, _a.agentId) = (from.account, _identify(from.account, _agent));
            _signKeys();
            _s.owner = _signedBy(from);

            _verify();

            // One signer short, or another's.
            _s.owner = signed(_stranger, _attestations.digestOf(_a));
            (bool ok,) = _try(_a, _s);
            vm.assertFalse(ok, "a stranger for the account");
        }
    }

    function test_a_hybrid_account_signs_by_the_owners_one_signature() public {
        Owner memory hybrid = _homeOf(_human);
        (_a.account, _a.agentId) = (hybrid.account, _identify(hybrid.account, _agent));
        _signKeys();
        _s.account = _s.owner;

        _verify();
    }

    function test_a_multisig_account_signs_by_all_its_signers() public {
        Owner memory multi = multiSigOwner();
        (_a.account, _a.agentId) = (multi.account, _identify(multi.account, _agent));
        _signKeys();
        _s.account = _signedBy(multi);
        _verify();

        _s.account = signed(multi.signers[0], _attestations.digestOf(_a));
        _refuses(_notSigned(multi.account));
    }

    /// @dev Nobody's account is drawn in: it signs, also where the owner holds the identity.
    function test_an_account_that_did_not_sign_is_not_the_owners() public {
        Owner memory hybrid = hybridOwner();
        _a.account = hybrid.account;
        _signKeys();
        _s.account = _s.owner;
        _refuses(_notSigned(hybrid.account));
        _s.account = "";
        _refuses(_notSigned(hybrid.account));

        _s.account = _signedBy(hybrid);
        _verify();
    }

    /// @dev ATK-06: the wallet of an identity is the key, but its holder never said whose Golem that is.
    function test_an_identity_of_a_stranger_is_not_claimed_by_naming_his_account() public {
        uint256 strangers = _identify(_stranger.account, _agent);
        (_a.agentId, _a.account) = (strangers, _stranger.account);
        _signKeys();
        _s.account = _s.owner;
        _refuses(_otherSigner(_human.account, _stranger.account));

        _a.account = address(0);
        _sign();
        _refuses(_otherHolder(strangers, _stranger.account));
    }

    function test_the_owner_as_account_signs_once() public {
        _a.account = _human.account;
        _signKeys();
        _s.account = "";
        _verify();

        _s.account = _s.owner;
        _refuses(_unexpected(65));
    }

    function test_a_signature_of_no_account_is_refused() public {
        _s.account = hex"00";
        _refuses(_unexpected(1));
    }

    /// @dev K2: a session key may be an account, of a passkey for instance.
    function test_an_agent_may_be_an_account() public {
        Owner memory session = hybridOwner();
        vm.prank(_human.account);
        _registry.attach(_a.golemId, session.account);
        (_a.agentKey, _a.identityRegistry, _a.agentId) = (session.account, address(0), 0);
        _signKeys();
        _s.agentKey = _signedBy(session);
        _verify();

        _s.agentKey = _s.owner;
        _refuses(_notSigned(session.account));
    }

    // ERC-1271

    function test_only_the_whole_word_is_a_yes() public {
        _answers(abi.encode(MAGIC), false, false, true);
        _answers(abi.encode(bytes32(uint256(1))), false, false, false);
        _answers(abi.encode(bytes4(0xffffffff)), false, false, false);
        _answers(abi.encode(MAGIC | bytes32(uint256(1))), false, false, false);
        _answers(hex"1626ba7e", false, false, false);
        _answers(abi.encode(MAGIC, MAGIC), false, false, false);
        _answers("", false, false, false);
        _answers(abi.encode(MAGIC), true, false, false);
    }

    /// @dev It is asked, it does not act.
    function test_an_account_that_writes_when_asked_is_refused() public {
        _answers(abi.encode(MAGIC), false, true, false);
    }

    // The Golem's registry

    function test_a_golem_that_was_never_registered_is_nobodys() public {
        _a.golemId = keccak256("unknown");
        _sign();

        _refuses(_otherOwner(_a.golemId, address(0)));
    }

    function test_a_golem_of_another_owner_is_his() public {
        vm.prank(_stranger.account);
        _a.golemId = _registry.register(SALT, _agent.account);
        _sign();

        _refuses(_otherOwner(_a.golemId, _stranger.account));
    }

    function test_a_rotated_key_attests_nothing_any_more() public {
        vm.prank(_human.account);
        _registry.attach(_a.golemId, _stranger.account);

        _refuses(_otherKey(_stranger.account));

        vm.prank(_human.account);
        _registry.attach(_a.golemId, _agent.account);
        _verify();
    }

    function test_a_detached_key_attests_nothing_any_more() public {
        vm.prank(_human.account);
        _registry.detach(_a.golemId);

        _refuses(_otherKey(address(0)));
    }

    function test_a_golem_off_the_register_attests_nothing_any_more() public {
        vm.prank(_human.account);
        _registry.deregister(_a.golemId);

        _refuses(_otherKey(address(0)));
    }

    /// @dev A8: the dead are still known; that one lives is not attested.
    function test_a_closed_golem_is_still_its_owners() public {
        vm.prank(_agent.account);
        _registry.close(_a.golemId);

        _verify();
    }

    /// @dev ATK-06: both signers can name a registry of their own; the caller says which one counts.
    function test_a_registry_that_the_caller_does_not_rely_on_counts_for_nothing() public {
        GolemRegistry other = new GolemRegistry();

        vm.expectRevert(
            abi.encodeWithSelector(
                GolemAttestations.GolemAttestations_OtherRegistry.selector,
                address(_registry),
                address(other)
            )
        );
        _attestations.verify(_a, _s, address(other), address(_identities));
    }

    function test_an_identity_registry_that_the_caller_does_not_rely_on_counts_for_nothing()
        public
    {
        address[2] memory others = [address(0), address(new IdentityRegistry())];
        for (uint256 i = 0; i < 2; i++) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    GolemAttestations.GolemAttestations_OtherIdentityRegistry.selector,
                    address(_identities),
                    others[i]
                )
            );
            _attestations.verify(_a, _s, address(_registry), others[i]);
        }
    }

    function test_registries_without_code_say_nothing() public {
        _a.identityRegistry = address(0x8004);
        _sign();
        _refuses(_noCode(address(0x8004)));

        _a.registry = address(0x9e9);
        _sign();
        _refuses(_noCode(address(0x9e9)));
    }

    // The identity

    function test_an_unknown_identity_is_refused_in_the_registrys_words() public {
        _a.agentId = 1_000;
        _sign();

        _refuses(abi.encodeWithSelector(IERC721Errors.ERC721NonexistentToken.selector, 1_000));
    }

    function test_an_identity_of_somebody_else_is_refused() public {
        _a.agentId = 0;
        _sign();

        _refuses(_otherHolder(0, _stranger.account));
    }

    function test_an_identity_whose_wallet_is_another_is_refused() public {
        vm.prank(_human.account);
        _a.agentId = _identities.register();
        _sign();

        _refuses(_otherWallet(_human.account));
    }

    function test_an_identity_without_a_wallet_is_refused() public {
        vm.prank(_human.account);
        _identities.unsetAgentWallet(_a.agentId);

        _refuses(_otherWallet(address(0)));
    }

    function test_a_transferred_identity_attests_nothing_any_more() public {
        vm.prank(_human.account);
        _identities.transferFrom(_human.account, _stranger.account, _a.agentId);
        _refuses(_otherHolder(_a.agentId, _stranger.account));

        // Back again, it has no wallet: the owner names it anew.
        vm.prank(_stranger.account);
        _identities.transferFrom(_stranger.account, _human.account, _a.agentId);
        _refuses(_otherWallet(address(0)));
        _nameWallet(_a.agentId, _human.account, _agent);
        _verify();
    }

    // Hashes

    function testFuzz_what_is_signed_is_what_eip_712_says(
        GolemAttestation memory any,
        uint64 chainId
    ) public {
        vm.assume(chainId != 0);
        vm.chainId(chainId);

        vm.assertEq(_attestations.structHashOf(any), _structHash(any), "struct");
        vm.assertEq(_attestations.digestOf(any), _digest(any, chainId), "digest");
    }

    function test_its_type_is_what_is_signed() public view {
        vm.assertEq(_attestations.ATTESTATION_TYPEHASH(), _typeHash(), "type");
    }

    // Helpers

    /// @dev An identity of `holder`, with the key as its wallet.
    function _identify(address holder, Actor memory key) private returns (uint256 agentId) {
        vm.prank(holder);
        agentId = _identities.register("ipfs://agent");
        _nameWallet(agentId, holder, key);
    }

    function _nameWallet(uint256 agentId, address holder, Actor memory key) private {
        bytes32 message = keccak256(
            abi.encode(
                _identities.AGENT_WALLET_SET_TYPEHASH(),
                agentId,
                key.account,
                holder,
                block.timestamp
            )
        );
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("ERC8004IdentityRegistry"),
                keccak256("1"),
                block.chainid,
                address(_identities)
            )
        );
        bytes memory consent = signed(key, keccak256(abi.encodePacked(hex"1901", domain, message)));
        vm.prank(holder);
        _identities.setAgentWallet(agentId, key.account, block.timestamp, consent);
    }

    /// @dev A Hybrid account that the key owns.
    function _homeOf(Actor memory key) private returns (Owner memory made) {
        made = hybridOwner();
        vm.prank(made.account);
        (bool ok,) =
            made.account.call(abi.encodeWithSignature("transferOwnership(address)", key.account));
        vm.assertTrue(ok, "owned");
        made.signers[0] = key;
    }

    function _sign() private {
        _signKeys();
        _s.account = "";
    }

    function _signKeys() private {
        bytes32 digest = _digest(_a, block.chainid);
        (_s.owner, _s.agentKey) = (signed(_human, digest), signed(_agent, digest));
    }

    function _signedBy(Owner memory account) private view returns (bytes memory signature) {
        bytes32 digest = _digest(_a, block.chainid);
        for (uint256 i = 0; i < account.signers.length; i++) {
            signature = bytes.concat(signature, signed(account.signers[i], digest));
        }
    }

    function _verify() private view returns (bytes32) {
        return _attestations.verify(_a, _s, _a.registry, _a.identityRegistry);
    }

    function _refuses(bytes memory reason) private {
        (GolemAttestation memory a, AttestationSignatures memory s) = (_a, _s);
        vm.expectRevert(reason);
        _attestations.verify(a, s, a.registry, a.identityRegistry);
    }

    function _refusesOwners(bytes memory signature, bytes memory reason) private {
        bytes memory good = _s.owner;
        _s.owner = signature;
        _refuses(reason);
        _s.owner = good;
    }

    /// @dev An owner with code that answers so.
    function _answers(bytes memory answer, bool reverts, bool writes, bool yes) private {
        Answering owner_ = new Answering(answer, reverts, writes);
        owner_.registerGolem(_registry, SALT, _agent.account);
        (_a.owner, _a.golemId) = (address(owner_), keccak256(abi.encode(address(owner_), SALT)));
        (_a.identityRegistry, _a.agentId) = (address(0), 0);
        _sign();

        if (yes) _verify();
        else _refuses(_notSigned(address(owner_)));
    }

    function _call(GolemAttestation memory a, AttestationSignatures memory s)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(GolemAttestations.verify, (a, s, a.registry, a.identityRegistry));
    }

    function _try(GolemAttestation memory a, AttestationSignatures memory s)
        private
        view
        returns (bool, bytes memory)
    {
        return address(_attestations).staticcall(_call(a, s));
    }

    function _typeHash() private pure returns (bytes32) {
        return keccak256(
            "GolemAttestation(bytes32 golemId,address owner,address agentKey,address account,address registry,address identityRegistry,uint256 agentId,uint64 issuedAt,uint64 expiresAt)"
        );
    }

    /// @dev Written anew, word after word.
    function _structHash(GolemAttestation memory a) private pure returns (bytes32) {
        bytes memory who = bytes.concat(
            _typeHash(),
            a.golemId,
            bytes32(uint256(uint160(a.owner))),
            bytes32(uint256(uint160(a.agentKey))),
            bytes32(uint256(uint160(a.account)))
        );
        bytes memory where = bytes.concat(
            bytes32(uint256(uint160(a.registry))),
            bytes32(uint256(uint160(a.identityRegistry))),
            bytes32(a.agentId),
            bytes32(uint256(a.issuedAt)),
            bytes32(uint256(a.expiresAt))
        );
        return keccak256(bytes.concat(who, where));
    }

    function _digest(GolemAttestation memory a, uint256 chainId) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("GolemAttestations"),
                keccak256("1"),
                chainId,
                address(_attestations)
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, _structHash(a)));
    }

    function _assertSelector(bytes memory reason, bytes4 selector) private pure {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        vm.assertEq(bytes32(bytes4(reason)), bytes32(selector), "reason");
    }

    function _otherSigner(address signer, address expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_OtherSigner.selector, signer, expected
        );
    }

    function _notSigned(address account) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_NotSigned.selector,
            account,
            _digest(_a, block.chainid)
        );
    }

    function _unexpected(uint256 length) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_UnexpectedSignature.selector, length
        );
    }

    function _otherOwner(bytes32 golemId, address registered) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_OtherOwner.selector,
            golemId,
            registered,
            _human.account
        );
    }

    function _otherKey(address registered) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_OtherKey.selector,
            _a.golemId,
            registered,
            _agent.account
        );
    }

    function _otherHolder(uint256 agentId, address holder) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_OtherHolder.selector, agentId, holder
        );
    }

    function _otherWallet(address wallet) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            GolemAttestations.GolemAttestations_OtherWallet.selector,
            _a.agentId,
            wallet,
            _agent.account
        );
    }

    function _noCode(address at) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GolemAttestations.GolemAttestations_NoCode.selector, at);
    }

    function _length(uint256 actual) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GrantSignature.GrantSignature_Length.selector, 65, actual);
    }

    function _highS(uint256 s) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            GrantSignature.GrantSignature_HighS.selector,
            s,
            0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0
        );
    }

    function _recoveryId(uint256 v) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GrantSignature.GrantSignature_RecoveryId.selector, v);
    }
}

/// @notice Both registries, saying what they are told.
contract Agreeing {
    address private _owner;
    address private _agentKey;

    function say(address owner, address agentKey) external {
        (_owner, _agentKey) = (owner, agentKey);
    }

    function ownerOf(bytes32) external view returns (address) {
        return _owner;
    }

    function ownerOf(uint256) external view returns (address) {
        return _owner;
    }

    function agentOf(bytes32) external view returns (address, uint16) {
        return (_agentKey, 0);
    }

    function getAgentWallet(uint256) external view returns (address) {
        return _agentKey;
    }
}

/// @notice What viem signs, and what a Rust twin reads: `node testdata/vectors/attestation.mjs`.
contract AttestationVectorsTest is TestBase {
    struct HeldAttestation {
        string name;
        uint64 chainId;
        address verifyingContract;
        uint64 nowAt;
        GolemAttestation attestation;
        bytes32 structHash;
        bytes32 digest;
        bytes ownerSignature;
        bytes agentSignature;
    }

    struct Refused {
        string name;
        uint64 chainId;
        address verifyingContract;
        uint64 nowAt;
        GolemAttestation attestation;
        bytes32 structHash;
        bytes32 digest;
        bytes ownerSignature;
        bytes agentSignature;
        string error;
        uint256[] numbers;
    }

    string private constant FIELDS =
        "string name,uint64 chainId,address verifyingContract,uint64 nowAt,GolemAttestation attestation,bytes32 structHash,bytes32 digest,bytes ownerSignature,bytes agentSignature";
    string private constant ATTESTATION =
        "GolemAttestation(bytes32 golemId,address owner,address agentKey,address account,address registry,address identityRegistry,uint256 agentId,uint64 issuedAt,uint64 expiresAt)";

    string private _json;

    function setUp() public {
        _json = vm.readFile("../testdata/vectors/attestation.json");
    }

    function test_every_held_vector_holds_by_the_same_hashes() public {
        string memory kind = string.concat("HeldAttestation(", FIELDS, ")", ATTESTATION);
        HeldAttestation[] memory vectors =
            abi.decode(vm.parseJsonTypeArray(_json, "$.held", kind), (HeldAttestation[]));
        vm.assertTrue(vectors.length >= 30, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            HeldAttestation memory v = vectors[i];
            GolemAttestations at = _stage(v.chainId, v.nowAt, v.verifyingContract, v.attestation);

            vm.assertEq(at.structHashOf(v.attestation), v.structHash, v.name);
            vm.assertEq(at.digestOf(v.attestation), v.digest, v.name);
            bytes32 digest = at.verify(
                v.attestation,
                AttestationSignatures(v.ownerSignature, v.agentSignature, ""),
                v.attestation.registry,
                v.attestation.identityRegistry
            );
            vm.assertEq(digest, v.digest, v.name);
        }
    }

    function test_every_refused_vector_is_refused_for_its_reason() public {
        string memory kind =
            string.concat("Refused(", FIELDS, ",string error,uint256[] numbers)", ATTESTATION);
        Refused[] memory vectors =
            abi.decode(vm.parseJsonTypeArray(_json, "$.refused", kind), (Refused[]));
        vm.assertTrue(vectors.length >= 25, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            Refused memory v = vectors[i];
            GolemAttestations at = _stage(v.chainId, v.nowAt, v.verifyingContract, v.attestation);
            vm.assertEq(at.digestOf(v.attestation), v.digest, v.name);

            vm.expectRevert(bytes.concat(_selector(v.error), abi.encodePacked(v.numbers)));
            at.verify(
                v.attestation,
                AttestationSignatures(v.ownerSignature, v.agentSignature, ""),
                v.attestation.registry,
                v.attestation.identityRegistry
            );
        }
    }

    /// @dev The contract has no state and no immutables, so its code may stand anywhere.
    function _stage(uint64 chainId, uint64 nowAt, address at, GolemAttestation memory a)
        private
        returns (GolemAttestations)
    {
        vm.chainId(chainId);
        vm.warp(nowAt);
        vm.etch(at, type(GolemAttestations).runtimeCode);
        bytes memory agreeing = type(Agreeing).runtimeCode;
        vm.etch(a.registry, agreeing);
        Agreeing(a.registry).say(a.owner, a.agentKey);
        if (a.identityRegistry != address(0)) {
            vm.etch(a.identityRegistry, agreeing);
            Agreeing(a.identityRegistry).say(a.owner, a.agentKey);
        }
        return GolemAttestations(at);
    }

    function _selector(string memory error) private pure returns (bytes4) {
        bytes32 named = keccak256(bytes(error));
        if (named == keccak256("NotYetIssued")) {
            return GolemAttestations.GolemAttestations_NotYetIssued.selector;
        }
        if (named == keccak256("Expired")) {
            return GolemAttestations.GolemAttestations_Expired.selector;
        }
        if (named == keccak256("InvertedWindow")) {
            return GolemAttestations.GolemAttestations_InvertedWindow.selector;
        }
        if (named == keccak256("NoIdentityRegistry")) {
            return GolemAttestations.GolemAttestations_NoIdentityRegistry.selector;
        }
        if (named == keccak256("OtherSigner")) {
            return GolemAttestations.GolemAttestations_OtherSigner.selector;
        }
        if (named == keccak256("Length")) return GrantSignature.GrantSignature_Length.selector;
        if (named == keccak256("HighS")) return GrantSignature.GrantSignature_HighS.selector;
        if (named == keccak256("RecoveryId")) {
            return GrantSignature.GrantSignature_RecoveryId.selector;
        }
        vm.assertEq(named, keccak256("NoSigner"), error);
        return GrantSignature.GrantSignature_NoSigner.selector;
    }
}

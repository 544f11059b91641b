// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC4906} from "@openzeppelin/contracts/interfaces/IERC4906.sol";
import {IERC721Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {IdentityRegistry} from "../../local/IdentityRegistry.sol";
import {IIdentityRegistry} from "../../src/interfaces/IIdentityRegistry.sol";
import {DevchainTest} from "../DevchainTest.sol";
import {TestBase} from "../TestBase.sol";
import {KeptWallet} from "./UsdCoin.t.sol";

/// @notice Looks at its agent at the moment it receives it.
contract Receiver is IERC721Receiver {
    string public seenUri;
    address public seenWallet;
    bytes public seenName;
    bytes4 private immutable _answer;

    constructor(bytes4 answer) {
        _answer = answer;
    }

    function registerAt(IIdentityRegistry registry, string calldata uri)
        external
        returns (uint256)
    {
        IIdentityRegistry.MetadataEntry[] memory entries = new IIdentityRegistry.MetadataEntry[](1);
        entries[0] = IIdentityRegistry.MetadataEntry("agentName", "Golem");
        return registry.register(uri, entries);
    }

    function onERC721Received(address, address, uint256 agentId, bytes calldata)
        external
        returns (bytes4)
    {
        seenUri = IIdentityRegistry(msg.sender).tokenURI(agentId);
        seenWallet = IIdentityRegistry(msg.sender).getAgentWallet(agentId);
        seenName = IIdentityRegistry(msg.sender).getMetadata(agentId, "agentName");
        return _answer;
    }
}

/// @notice ERC-8004, as version 2.0.0 of the public registry behaves.
contract IdentityRegistryTest is TestBase {
    uint256 private constant NOW = 1_767_225_600;
    string private constant URI = "https://golem.example/agent.json";

    IdentityRegistry private _registry;
    Actor private _owner;
    Actor private _operator;
    Actor private _approved;
    Actor private _wallet;
    Actor private _stranger;

    function setUp() public {
        vm.warp(NOW);
        _registry = new IdentityRegistry();
        _owner = actor("owner");
        _operator = actor("operator");
        _approved = actor("approved");
        _wallet = actor("wallet");
        _stranger = actor("stranger");
    }

    // What it is

    function test_it_presents_itself_as_the_public_one() public view {
        vm.assertEq(_registry.name(), "AgentIdentity", "name");
        vm.assertEq(_registry.symbol(), "AGENT", "symbol");
        vm.assertEq(_registry.getVersion(), "2.0.0", "version");
        (, string memory name, string memory version, uint256 chainId, address at,,) =
            _registry.eip712Domain();
        vm.assertEq(name, "ERC8004IdentityRegistry", "domain's name");
        vm.assertEq(version, "1", "domain's version");
        vm.assertEq(chainId, 8453, "domain's chain");
        vm.assertEq(at, address(_registry), "domain's contract");
    }

    function test_it_says_which_interfaces_it_has() public view {
        vm.assertTrue(_registry.supportsInterface(0x01ffc9a7), "ERC-165");
        vm.assertTrue(_registry.supportsInterface(0x80ac58cd), "ERC-721");
        vm.assertTrue(_registry.supportsInterface(0x5b5e139f), "ERC-721 metadata");
        vm.assertTrue(_registry.supportsInterface(0x49064906), "ERC-4906");
        vm.assertFalse(_registry.supportsInterface(0xffffffff), "never");
        vm.assertFalse(_registry.supportsInterface(0x780e9d63), "not enumerable");
    }

    /// @dev By the signatures in the ERC and in the ABI of the public one.
    function test_functions_and_events_have_the_names_of_the_erc() public pure {
        _same(IIdentityRegistry.setAgentURI.selector, "setAgentURI(uint256,string)");
        _same(IIdentityRegistry.setMetadata.selector, "setMetadata(uint256,string,bytes)");
        _same(IIdentityRegistry.getMetadata.selector, "getMetadata(uint256,string)");
        _same(
            IIdentityRegistry.setAgentWallet.selector,
            "setAgentWallet(uint256,address,uint256,bytes)"
        );
        _same(IIdentityRegistry.getAgentWallet.selector, "getAgentWallet(uint256)");
        _same(IIdentityRegistry.unsetAgentWallet.selector, "unsetAgentWallet(uint256)");
        _same(
            IIdentityRegistry.isAuthorizedOrOwner.selector, "isAuthorizedOrOwner(address,uint256)"
        );
        _same(IIdentityRegistry.ownerOf.selector, "ownerOf(uint256)");
        _same(IIdentityRegistry.tokenURI.selector, "tokenURI(uint256)");
        vm.assertEq(
            IIdentityRegistry.Registered.selector,
            keccak256("Registered(uint256,string,address)"),
            "Registered"
        );
        vm.assertEq(
            IIdentityRegistry.MetadataSet.selector,
            keccak256("MetadataSet(uint256,string,string,bytes)"),
            "MetadataSet"
        );
        vm.assertEq(
            IIdentityRegistry.URIUpdated.selector,
            keccak256("URIUpdated(uint256,string,address)"),
            "URIUpdated"
        );
    }

    /// @dev Overloads have no `.selector`: they are called by what the ERC calls them.
    function test_all_three_ways_to_register_are_there() public {
        vm.prank(_owner.account);
        (bool plain,) = address(_registry).call(abi.encodeWithSignature("register()"));
        vm.prank(_owner.account);
        (bool named,) = address(_registry).call(abi.encodeWithSignature("register(string)", URI));
        vm.prank(_owner.account);
        (bool full,) = address(_registry)
            .call(
                abi.encodeWithSignature(
                    "register(string,(string,bytes)[])", URI, _entries("agentName", "Golem")
                )
            );

        vm.assertTrue(plain && named && full, "registered");
        vm.assertEq(_registry.balanceOf(_owner.account), 3, "three agents");
    }

    // Registering

    function test_ids_start_at_zero_and_count_up() public {
        vm.assertEq(_register(), 0, "first");
        vm.assertEq(_register(), 1, "second");
        vm.prank(_stranger.account);
        vm.assertEq(_registry.register(), 2, "third");
        vm.assertEq(_registry.ownerOf(0), _owner.account, "owner of the first");
        vm.assertEq(_registry.ownerOf(2), _stranger.account, "owner of the third");
    }

    function test_registering_without_a_uri_is_announced() public {
        _expectTransfer(address(0), _owner.account, 0);
        vm.expectEmit(address(_registry));
        emit IIdentityRegistry.Registered(0, "", _owner.account);
        _expectWallet(0, abi.encodePacked(_owner.account));
        _register();

        vm.assertEq(_registry.tokenURI(0), "", "no URI");
        vm.assertEq(_registry.getAgentWallet(0), _owner.account, "the owner is the wallet");
        vm.assertEq(
            _registry.getMetadata(0, "agentWallet"), abi.encodePacked(_owner.account), "as an entry"
        );
    }

    function test_registering_with_a_uri_and_entries_is_announced() public {
        _expectTransfer(address(0), _owner.account, 0);
        vm.expectEmit(address(_registry));
        emit IERC4906.MetadataUpdate(0);
        vm.expectEmit(address(_registry));
        emit IIdentityRegistry.Registered(0, URI, _owner.account);
        _expectWallet(0, abi.encodePacked(_owner.account));
        vm.expectEmit(address(_registry));
        emit IIdentityRegistry.MetadataSet(0, "agentName", "agentName", "Golem");
        vm.prank(_owner.account);
        _registry.register(URI, _entries("agentName", "Golem"));

        vm.assertEq(_registry.tokenURI(0), URI, "URI");
        vm.assertEq(_registry.getMetadata(0, "agentName"), "Golem", "entry");
    }

    function test_registering_with_a_uri_alone_is_announced() public {
        _expectTransfer(address(0), _owner.account, 0);
        vm.expectEmit(address(_registry));
        emit IIdentityRegistry.Registered(0, URI, _owner.account);
        _expectWallet(0, abi.encodePacked(_owner.account));
        vm.prank(_owner.account);
        _registry.register(URI);

        vm.assertEq(_registry.tokenURI(0), URI, "URI");
    }

    function test_nobody_registers_with_a_wallet_among_the_entries() public {
        vm.expectRevert(_reserved());
        vm.prank(_owner.account);
        _registry.register(URI, _entries("agentWallet", abi.encodePacked(_wallet.account)));
    }

    function test_a_receiver_with_code_sees_its_agent_whole() public {
        Receiver receiver = new Receiver(IERC721Receiver.onERC721Received.selector);

        receiver.registerAt(_registry, URI);

        vm.assertEq(receiver.seenUri(), URI, "URI");
        vm.assertEq(receiver.seenWallet(), address(receiver), "wallet");
        vm.assertEq(receiver.seenName(), "Golem", "entry");
    }

    function test_a_receiver_that_does_not_take_agents_gets_none() public {
        Receiver receiver = new Receiver(0xffffffff);

        vm.expectRevert(
            abi.encodeWithSelector(IERC721Errors.ERC721InvalidReceiver.selector, address(receiver))
        );
        receiver.registerAt(_registry, URI);
    }

    // URI and entries

    function test_the_uri_is_moved_by_the_owner_and_whom_he_approved() public {
        _register();
        _approveBoth(0);
        address[3] memory callers = [_owner.account, _operator.account, _approved.account];
        string[3] memory uris = ["ipfs://one", "ipfs://two", "ipfs://three"];
        for (uint256 i = 0; i < 3; i++) {
            vm.expectEmit(address(_registry));
            emit IERC4906.MetadataUpdate(0);
            vm.expectEmit(address(_registry));
            emit IIdentityRegistry.URIUpdated(0, uris[i], callers[i]);
            vm.prank(callers[i]);
            _registry.setAgentURI(0, uris[i]);
            vm.assertEq(_registry.tokenURI(0), uris[i], "URI");
        }

        vm.expectRevert(_notAuthorized(_stranger.account, 0));
        vm.prank(_stranger.account);
        _registry.setAgentURI(0, URI);
    }

    function test_entries_are_written_by_the_owner_and_whom_he_approved() public {
        _register();
        _approveBoth(0);
        address[3] memory callers = [_owner.account, _operator.account, _approved.account];
        for (uint256 i = 0; i < 3; i++) {
            bytes memory value = abi.encode(i);
            vm.expectEmit(address(_registry));
            emit IIdentityRegistry.MetadataSet(0, "a key", "a key", value);
            vm.prank(callers[i]);
            _registry.setMetadata(0, "a key", value);
            vm.assertEq(_registry.getMetadata(0, "a key"), value, "entry");
        }

        vm.expectRevert(_notAuthorized(_stranger.account, 0));
        vm.prank(_stranger.account);
        _registry.setMetadata(0, "a key", "x");
    }

    function test_the_wallet_is_no_plain_entry() public {
        _register();

        vm.expectRevert(_reserved());
        vm.prank(_owner.account);
        _registry.setMetadata(0, "agentWallet", abi.encodePacked(_stranger.account));

        // One letter more is another key.
        vm.prank(_owner.account);
        _registry.setMetadata(0, "agentWallets", "x");
        vm.assertEq(_registry.getAgentWallet(0), _owner.account, "wallet");
    }

    function testFuzz_an_entry_is_read_as_it_was_written(string memory key, bytes memory value)
        public
    {
        vm.assume(keccak256(bytes(key)) != keccak256("agentWallet"));
        _register();

        vm.prank(_owner.account);
        _registry.setMetadata(0, key, value);

        vm.assertEq(_registry.getMetadata(0, key), value, "entry");
        vm.assertEq(_registry.getAgentWallet(0), _owner.account, "wallet");
    }

    // Unknown agents

    function test_an_unknown_agent_is_refused_as_erc_721_refuses_it() public {
        bytes memory unknown =
            abi.encodeWithSelector(IERC721Errors.ERC721NonexistentToken.selector, 0);
        vm.expectRevert(unknown);
        _registry.ownerOf(0);
        vm.expectRevert(unknown);
        _registry.tokenURI(0);
        vm.expectRevert(unknown);
        _registry.isAuthorizedOrOwner(_owner.account, 0);
        vm.expectRevert(unknown);
        _registry.setAgentURI(0, URI);
        vm.expectRevert(unknown);
        _registry.setMetadata(0, "a key", "x");
        vm.expectRevert(unknown);
        _registry.setAgentWallet(0, _wallet.account, NOW, "");
        vm.expectRevert(unknown);
        _registry.unsetAgentWallet(0);
        vm.assertEq(_registry.getAgentWallet(0), address(0), "no wallet");
        vm.assertEq(_registry.getMetadata(0, "a key"), "", "no entry");
    }

    // The wallet

    function test_a_wallet_is_named_with_its_consent_by_the_owner_and_whom_he_approved() public {
        _register();
        _approveBoth(0);
        address[3] memory callers = [_owner.account, _operator.account, _approved.account];
        for (uint256 i = 0; i < 3; i++) {
            Actor memory wallet = actor(vm.toString(i));
            bytes memory consent = _consent(wallet, wallet.account, 0, _owner.account, NOW);

            _expectWallet(0, abi.encodePacked(wallet.account));
            vm.prank(callers[i]);
            _registry.setAgentWallet(0, wallet.account, NOW, consent);

            vm.assertEq(_registry.getAgentWallet(0), wallet.account, "wallet");
        }

        bytes memory good = _consent(_wallet, _wallet.account, 0, _owner.account, NOW);
        vm.expectRevert(_notAuthorized(_stranger.account, 0));
        vm.prank(_stranger.account);
        _registry.setAgentWallet(0, _wallet.account, NOW, good);
        // Nor does the wallet itself decide.
        vm.expectRevert(_notAuthorized(_wallet.account, 0));
        vm.prank(_wallet.account);
        _registry.setAgentWallet(0, _wallet.account, NOW, good);
    }

    /// @dev ATK-33.
    function test_a_consent_is_good_in_its_last_second_and_not_after() public {
        _register();
        bytes memory consent = _consent(_wallet, _wallet.account, 0, _owner.account, NOW);
        _name(_wallet.account, NOW, consent);

        vm.warp(NOW + 1);
        vm.expectRevert(
            abi.encodeWithSelector(IdentityRegistry.IdentityRegistry_Expired.selector, NOW, NOW + 1)
        );
        _name(_wallet.account, NOW, consent);
    }

    function test_a_consent_is_for_five_minutes_and_not_a_second_more() public {
        _register();
        uint256 latest = NOW + 5 minutes;
        _name(
            _wallet.account, latest, _consent(_wallet, _wallet.account, 0, _owner.account, latest)
        );

        bytes memory longer = _consent(_wallet, _wallet.account, 0, _owner.account, latest + 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                IdentityRegistry.IdentityRegistry_DeadlineTooFar.selector, latest + 1, latest
            )
        );
        _name(_wallet.account, latest + 1, longer);
    }

    /// @dev ATK-02, ATK-03: of another agent, owner, deadline, wallet, chain or registry.
    function test_a_consent_to_anything_else_is_none() public {
        _register();
        _register();
        _refusesConsent(_consent(_wallet, _wallet.account, 1, _owner.account, NOW));
        _refusesConsent(_consent(_wallet, _wallet.account, 0, _stranger.account, NOW));
        _refusesConsent(_consent(_wallet, _wallet.account, 0, _owner.account, NOW + 1));
        _refusesConsent(_consent(_stranger, _wallet.account, 0, _owner.account, NOW));
        bytes32 digest = _digest(8454, address(_registry), _wallet.account, 0, _owner.account, NOW);
        _refusesConsent(signed(_wallet, digest));
        digest = _digest(8453, address(this), _wallet.account, 0, _owner.account, NOW);
        _refusesConsent(signed(_wallet, digest));
        _refusesConsent("");
    }

    /// @dev The same signature from the upper half of the curve, and one cut or lengthened.
    function test_a_consent_has_one_form() public {
        _register();
        bytes32 digest = _digest(8453, address(_registry), _wallet.account, 0, _owner.account, NOW);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_wallet.key, digest);
        uint256 order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
        _refusesConsent(abi.encodePacked(r, bytes32(order - uint256(s)), v == 27 ? 28 : 27));
        _refusesConsent(abi.encodePacked(r, s));
        _refusesConsent(abi.encodePacked(r, s, v, uint8(0)));

        _name(_wallet.account, NOW, abi.encodePacked(r, s, v));
    }

    function test_a_wallet_with_code_consents_by_erc_1271() public {
        _register();
        KeptWallet kept = new KeptWallet(_wallet.account);
        bytes32 digest = _digest(8453, address(_registry), address(kept), 0, _owner.account, NOW);

        bytes memory forged = signed(_stranger, digest);
        vm.expectRevert(_noConsent(address(kept), digest));
        _name(address(kept), NOW, forged);

        _name(address(kept), NOW, signed(_wallet, digest));
        vm.assertEq(_registry.getAgentWallet(0), address(kept), "wallet");
    }

    /// @dev A contract that answers nothing, or knows no ERC-1271, consents to nothing.
    function test_code_without_erc_1271_consents_to_nothing() public {
        _register();
        bytes32 digest =
            _digest(8453, address(_registry), address(_registry), 0, _owner.account, NOW);

        vm.expectRevert(_noConsent(address(_registry), digest));
        _name(address(_registry), NOW, "");
    }

    function test_nobody_is_no_wallet() public {
        _register();

        vm.expectRevert(
            abi.encodeWithSelector(IdentityRegistry.IdentityRegistry_NoWallet.selector, 0)
        );
        _name(address(0), NOW, "");
    }

    function test_the_wallet_is_cleared_by_the_owner_and_whom_he_approved() public {
        _approveAll();
        address[3] memory callers = [_owner.account, _operator.account, _approved.account];
        for (uint256 i = 0; i < 3; i++) {
            uint256 id = _register();
            vm.prank(_owner.account);
            _registry.approve(_approved.account, id);

            vm.expectRevert(_notAuthorized(_stranger.account, id));
            vm.prank(_stranger.account);
            _registry.unsetAgentWallet(id);

            _expectWallet(id, "");
            vm.prank(callers[i]);
            _registry.unsetAgentWallet(id);
            vm.assertEq(_registry.getAgentWallet(id), address(0), "wallet");
            vm.assertEq(_registry.getMetadata(id, "agentWallet"), "", "entry");
        }
    }

    function test_a_transfer_clears_the_wallet_and_nothing_else() public {
        vm.prank(_owner.account);
        _registry.register(URI, _entries("agentName", "Golem"));

        _expectWallet(0, "");
        _expectTransfer(_owner.account, _stranger.account, 0);
        vm.prank(_owner.account);
        _registry.transferFrom(_owner.account, _stranger.account, 0);

        vm.assertEq(_registry.ownerOf(0), _stranger.account, "owner");
        vm.assertEq(_registry.getAgentWallet(0), address(0), "wallet");
        vm.assertEq(_registry.tokenURI(0), URI, "URI");
        vm.assertEq(_registry.getMetadata(0, "agentName"), "Golem", "entry");
    }

    /// @dev A consent names the owner it was given to.
    function test_a_consent_given_to_the_owner_before_is_none_to_the_next() public {
        _register();
        bytes memory consent = _consent(_wallet, _wallet.account, 0, _owner.account, NOW);
        vm.prank(_owner.account);
        _registry.transferFrom(_owner.account, _stranger.account, 0);
        bytes32 digest =
            _digest(8453, address(_registry), _wallet.account, 0, _stranger.account, NOW);

        vm.expectRevert(_noConsent(_wallet.account, digest));
        vm.prank(_stranger.account);
        _registry.setAgentWallet(0, _wallet.account, NOW, consent);

        vm.prank(_stranger.account);
        _registry.setAgentWallet(0, _wallet.account, NOW, signed(_wallet, digest));
        vm.assertEq(_registry.getAgentWallet(0), _wallet.account, "wallet");
    }

    function test_a_transfer_to_oneself_clears_the_wallet_too() public {
        _register();

        vm.prank(_owner.account);
        _registry.transferFrom(_owner.account, _owner.account, 0);

        vm.assertEq(_registry.getAgentWallet(0), address(0), "wallet");
    }

    // Who may act

    function test_owner_operator_and_approved_are_authorized_and_nobody_else() public {
        _register();
        vm.assertTrue(_registry.isAuthorizedOrOwner(_owner.account, 0), "owner");
        vm.assertFalse(_registry.isAuthorizedOrOwner(_operator.account, 0), "not yet");
        vm.assertFalse(_registry.isAuthorizedOrOwner(_approved.account, 0), "not yet");
        _approveBoth(0);

        vm.assertTrue(_registry.isAuthorizedOrOwner(_operator.account, 0), "operator");
        vm.assertTrue(_registry.isAuthorizedOrOwner(_approved.account, 0), "approved");
        vm.assertFalse(_registry.isAuthorizedOrOwner(_stranger.account, 0), "stranger");
        vm.assertFalse(_registry.isAuthorizedOrOwner(address(0), 0), "nobody");
    }

    // Helpers

    function _register() private returns (uint256) {
        vm.prank(_owner.account);
        return _registry.register();
    }

    function _name(address wallet, uint256 deadline, bytes memory consent) private {
        vm.prank(_owner.account);
        _registry.setAgentWallet(0, wallet, deadline, consent);
    }

    function _approveAll() private {
        vm.prank(_owner.account);
        _registry.setApprovalForAll(_operator.account, true);
    }

    function _approveBoth(uint256 agentId) private {
        _approveAll();
        vm.prank(_owner.account);
        _registry.approve(_approved.account, agentId);
    }

    function _entries(string memory key, bytes memory value)
        private
        pure
        returns (IIdentityRegistry.MetadataEntry[] memory entries)
    {
        entries = new IIdentityRegistry.MetadataEntry[](1);
        entries[0] = IIdentityRegistry.MetadataEntry(key, value);
    }

    function _consent(
        Actor memory signer,
        address wallet,
        uint256 agentId,
        address owner,
        uint256 deadline
    ) private view returns (bytes memory) {
        return signed(signer, _digest(8453, address(_registry), wallet, agentId, owner, deadline));
    }

    /// @dev Written anew, from the ERC's type and the domain of the public registry.
    function _digest(
        uint256 chainId,
        address at,
        address wallet,
        uint256 agentId,
        address owner,
        uint256 deadline
    ) private pure returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("ERC8004IdentityRegistry"),
                keccak256("1"),
                chainId,
                at
            )
        );
        bytes32 message = keccak256(
            abi.encode(
                keccak256(
                    "AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"
                ),
                agentId,
                wallet,
                owner,
                deadline
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }

    function _refusesConsent(bytes memory consent) private {
        bytes32 digest = _digest(8453, address(_registry), _wallet.account, 0, _owner.account, NOW);
        vm.expectRevert(_noConsent(_wallet.account, digest));
        _name(_wallet.account, NOW, consent);
    }

    function _expectTransfer(address from, address to, uint256 agentId) private {
        vm.expectEmit(address(_registry));
        emit IERC721.Transfer(from, to, agentId);
    }

    function _expectWallet(uint256 agentId, bytes memory value) private {
        vm.expectEmit(address(_registry));
        emit IIdentityRegistry.MetadataSet(agentId, "agentWallet", "agentWallet", value);
    }

    function _same(bytes4 selector, string memory signature) private pure {
        vm.assertEq(bytes32(selector), bytes32(bytes4(keccak256(bytes(signature)))), signature);
    }

    function _notAuthorized(address caller, uint256 agentId) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IdentityRegistry.IdentityRegistry_NotAuthorized.selector, caller, agentId
        );
    }

    function _reserved() private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IdentityRegistry.IdentityRegistry_ReservedKey.selector, "agentWallet"
        );
    }

    function _noConsent(address wallet, bytes32 digest) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IdentityRegistry.IdentityRegistry_NoConsent.selector, wallet, digest
        );
    }
}

/// @notice Agents of the framework's real accounts.
contract IdentityRegistryAccountsTest is DevchainTest {
    function test_every_kind_of_account_can_own_an_agent_and_be_its_wallet() public {
        IdentityRegistry registry = new IdentityRegistry();
        for (uint256 i = 0; i < 3; i++) {
            Owner memory from = owner(allKinds()[i]);

            vm.prank(from.account);
            uint256 agentId = registry.register("ipfs://agent");

            vm.assertEq(registry.ownerOf(agentId), from.account, "owner");
            vm.assertEq(registry.getAgentWallet(agentId), from.account, "wallet");
        }
    }

    /// @dev A 7702 account's own key, a Hybrid's owner, and both signers of a MultiSig.
    function test_every_kind_of_account_can_consent_to_be_a_wallet() public {
        IdentityRegistry registry = new IdentityRegistry();
        Actor memory holder = actor("holder");
        vm.prank(holder.account);
        registry.register();
        for (uint256 i = 0; i < 3; i++) {
            Owner memory wallet = owner(allKinds()[i]);
            bytes memory consent = _consent(registry, wallet, holder.account);

            vm.prank(holder.account);
            registry.setAgentWallet(0, wallet.account, block.timestamp, consent);

            vm.assertEq(registry.getAgentWallet(0), wallet.account, "wallet");
        }
    }

    function _consent(IdentityRegistry registry, Owner memory wallet, address holder)
        private
        view
        returns (bytes memory consent)
    {
        bytes32 message = keccak256(
            abi.encode(
                registry.AGENT_WALLET_SET_TYPEHASH(), 0, wallet.account, holder, block.timestamp
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
                address(registry)
            )
        );
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domain, message));
        for (uint256 i = 0; i < wallet.signers.length; i++) {
            consent = bytes.concat(consent, signed(wallet.signers[i], digest));
        }
    }
}

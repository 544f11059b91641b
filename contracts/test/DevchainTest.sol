// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {
    Caveat,
    Delegation,
    Execution,
    IDelegationManager,
    ROOT_AUTHORITY
} from "../src/interfaces/IDelegationManager.sol";
import {ModeCode} from "../src/interfaces/ModeCode.sol";
import {TestBase} from "./TestBase.sol";

/// @notice First call to a fresh Hybrid account.
interface IHybridAccount {
    function initialize(
        address owner,
        string[] calldata keyIds,
        uint256[] calldata xValues,
        uint256[] calldata yValues
    ) external;
}

/// @notice First call to a fresh MultiSig account.
interface IMultiSigAccount {
    function initialize(address[] calldata signers, uint256 threshold) external;
}

/// @notice A target that remembers who called it.
contract Witness {
    error Witness_Refused(uint256 note);

    mapping(address caller => uint256 count) public callsBy;
    uint256 public lastNote;

    function note(uint256 value) external {
        callsBy[msg.sender] += 1;
        lastNote = value;
    }

    function refuse(uint256 value) external pure {
        revert Witness_Refused(value);
    }
}

/// @notice Tests against the real DelegationManager and the real accounts, taken from the state of
///         the local chain (`make devchain`). A missing state is a failure, never a skip.
abstract contract DevchainTest is TestBase {
    /// @dev The kinds of account an owner can have.
    enum Kind {
        Stateless7702,
        Hybrid,
        MultiSig
    }

    /// @dev `signers` are in the order in which their signatures are joined.
    struct Owner {
        address account;
        Actor[] signers;
    }

    error DevchainTest_StateMissing(string path, string hint);

    IDelegationManager internal constant MANAGER =
        IDelegationManager(0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3);
    address internal constant STATELESS_7702 = 0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B;
    address internal constant HYBRID = 0x48dBe696A4D990079e039489bA2053B36E8FFEC4;
    address internal constant MULTI_SIG = 0x56a9EdB16a0105eb5a4C54f4C062e2868844f3A7;

    string private constant STATE = "../.devchain/allocs.json";

    Witness internal witness;

    function setUp() public virtual {
        // Accounts by EIP-7702 exist from Prague on; the contracts are compiled for Cancun.
        vm.setEvmVersion("prague");
        // Where the folder is missing too, forge calls the path forbidden instead of absent.
        try vm.readFile(STATE) returns (string memory) {}
        catch {
            revert DevchainTest_StateMissing(STATE, "run `make devchain`");
        }
        vm.loadAllocs(STATE);
        witness = new Witness();
    }

    // Owners

    function allKinds() internal pure returns (Kind[3] memory) {
        return [Kind.Stateless7702, Kind.Hybrid, Kind.MultiSig];
    }

    function owner(Kind kind) internal returns (Owner memory made) {
        if (kind == Kind.Stateless7702) return stateless7702Owner();
        if (kind == Kind.Hybrid) return hybridOwner();
        return multiSigOwner();
    }

    /// @dev An EOA whose code points to the framework's implementation, as after a 7702
    ///      authorization was included.
    function stateless7702Owner() internal returns (Owner memory made) {
        made.signers = new Actor[](1);
        made.signers[0] = actor("7702 owner");
        made.account = made.signers[0].account;
        vm.etch(made.account, abi.encodePacked(hex"ef0100", STATELESS_7702));
    }

    function hybridOwner() internal returns (Owner memory made) {
        made.signers = new Actor[](1);
        made.signers[0] = actor("Hybrid owner");
        bytes memory first = abi.encodeCall(
            IHybridAccount.initialize,
            (made.signers[0].account, new string[](0), new uint256[](0), new uint256[](0))
        );
        made.account = address(new ERC1967Proxy(HYBRID, first));
        vm.label(made.account, "Hybrid account");
    }

    /// @dev Two of two. The account wants signatures in the order of the signers' addresses.
    function multiSigOwner() internal returns (Owner memory made) {
        Actor memory one = actor("MultiSig signer one");
        Actor memory two = actor("MultiSig signer two");
        made.signers = new Actor[](2);
        (made.signers[0], made.signers[1]) = one.account < two.account ? (one, two) : (two, one);
        address[] memory signers = new address[](2);
        (signers[0], signers[1]) = (made.signers[0].account, made.signers[1].account);
        made.account = address(
            new ERC1967Proxy(MULTI_SIG, abi.encodeCall(IMultiSigAccount.initialize, (signers, 2)))
        );
        vm.label(made.account, "MultiSig account");
    }

    /// @dev An agent in the middle of a chain: an EOA without code.
    function plain(Actor memory agent) internal pure returns (Owner memory made) {
        made.account = agent.account;
        made.signers = new Actor[](1);
        made.signers[0] = agent;
    }

    // Delegations

    /// @dev A signed delegation that the delegator gives on its own authority.
    function root(Owner memory from, address to, Caveat[] memory caveats)
        internal
        view
        returns (Delegation memory)
    {
        return link(from, to, ROOT_AUTHORITY, caveats);
    }

    /// @dev A signed delegation that hands on what `parent` gave.
    function child(Delegation memory parent, Actor memory from, address to, Caveat[] memory caveats)
        internal
        view
        returns (Delegation memory)
    {
        return link(plain(from), to, MANAGER.getDelegationHash(parent), caveats);
    }

    function link(Owner memory from, address to, bytes32 authority, Caveat[] memory caveats)
        internal
        view
        returns (Delegation memory made)
    {
        made = Delegation({
            delegate: to,
            delegator: from.account,
            authority: authority,
            caveats: caveats,
            salt: 0,
            signature: ""
        });
        bytes32 digest = keccak256(
            abi.encodePacked(hex"1901", MANAGER.getDomainHash(), MANAGER.getDelegationHash(made))
        );
        for (uint256 i = 0; i < from.signers.length; i++) {
            made.signature = bytes.concat(made.signature, signed(from.signers[i], digest));
        }
    }

    function noCaveats() internal pure returns (Caveat[] memory) {
        return new Caveat[](0);
    }

    function only(address enforcer, bytes memory terms)
        internal
        pure
        returns (Caveat[] memory caveats)
    {
        caveats = new Caveat[](1);
        caveats[0] = Caveat({enforcer: enforcer, terms: terms, args: ""});
    }

    // Executions

    function single(address target, bytes memory data) internal pure returns (bytes memory) {
        return abi.encodePacked(target, uint256(0), data);
    }

    function batch(address target, bytes[] memory calls) internal pure returns (bytes memory) {
        Execution[] memory executions = new Execution[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            executions[i] = Execution({target: target, value: 0, callData: calls[i]});
        }
        return abi.encode(executions);
    }

    /// @dev The call most tests make from the owner's account.
    function oneNote() internal view returns (bytes memory) {
        return single(address(witness), abi.encodeCall(Witness.note, (1)));
    }

    function twoNotes() internal view returns (bytes memory) {
        bytes[] memory calls = new bytes[](2);
        calls[0] = abi.encodeCall(Witness.note, (1));
        calls[1] = abi.encodeCall(Witness.note, (2));
        return batch(address(witness), calls);
    }

    // Redemptions. Each makes exactly one call, so that an expected revert is the manager's.

    function redeem(address redeemer, Delegation memory leaf, ModeCode mode, bytes memory execution)
        internal
    {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = leaf;
        redeem(redeemer, chain, mode, execution);
    }

    function redeem(
        address redeemer,
        Delegation memory leaf,
        Delegation memory above,
        ModeCode mode,
        bytes memory execution
    ) internal {
        Delegation[] memory chain = new Delegation[](2);
        (chain[0], chain[1]) = (leaf, above);
        redeem(redeemer, chain, mode, execution);
    }

    function redeem(
        address redeemer,
        Delegation[] memory chain,
        ModeCode mode,
        bytes memory execution
    ) internal {
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = abi.encode(chain);
        ModeCode[] memory modes = new ModeCode[](1);
        modes[0] = mode;
        bytes[] memory executions = new bytes[](1);
        executions[0] = execution;
        vm.prank(redeemer);
        MANAGER.redeemDelegations(contexts, modes, executions);
    }
}

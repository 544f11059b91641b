//! MetaMask Delegation Framework 1.3.0 and ERC-4337 v0.7: interfaces and canonical addresses.
//!
//! The framework's 49 supported chains share this one set of addresses.

use alloy_primitives::{Address, B256, address, b256};

/// Checks signatures, runs caveats, tells the delegator's account to execute.
pub const DELEGATION_MANAGER: Address = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// ERC-4337 EntryPoint v0.7.
pub const ENTRY_POINT: Address = address!("0000000071727De22E5E9d8BAf0edAc6f37da032");
/// CREATE2 factory of Hybrid and MultiSig accounts.
pub const SIMPLE_FACTORY: Address = address!("69Aa2f9fe1572F1B640E1bbc512f5c3a734fc77c");
/// Code an EOA delegates to under EIP-7702.
pub const STATELESS_7702_IMPL: Address = address!("63c0c19a282a1B52b07dD5a65b58948A07DAE32B");
/// Implementation behind a Hybrid account's proxy (EOA and passkey owners).
pub const HYBRID_IMPL: Address = address!("48dBe696A4D990079e039489bA2053B36E8FFEC4");
/// Implementation behind a MultiSig account's proxy.
pub const MULTISIG_IMPL: Address = address!("56a9EdB16a0105eb5a4C54f4C062e2868844f3A7");
/// CREATE2 deployer present on every chain at this address.
pub const DETERMINISTIC_DEPLOYER: Address = address!("4e59b44847b379578588920cA78FbF26c0B4956C");

/// Hash of the creation code of the framework's ERC-1967 proxy, `ERC1967Proxy` of its package. An account's address is
/// derived from that code, and so is all that it will ever obey: other code would be another's account.
pub const PROXY_CODE_HASH: B256 =
    b256!("c8fb9314d27cddb08b374dd2bf47cd06c6fb879756ddfbedf522a8c58756a8e0");

/// One call, default failure mode.
pub const MODE_SINGLE: B256 = B256::ZERO;
/// One call; a failure is swallowed.
pub const MODE_SINGLE_TRY: B256 =
    b256!("0001000000000000000000000000000000000000000000000000000000000000");
/// Several calls, default failure mode.
pub const MODE_BATCH: B256 =
    b256!("0100000000000000000000000000000000000000000000000000000000000000");
/// Several calls; failures are swallowed.
pub const MODE_BATCH_TRY: B256 =
    b256!("0101000000000000000000000000000000000000000000000000000000000000");

alloy_sol_types::sol! {
    /// A caveat as the manager's ABI has it.
    #[derive(Debug)]
    struct Caveat {
        address enforcer;
        bytes terms;
        bytes args;
    }

    /// A delegation as the manager's ABI has it.
    #[derive(Debug)]
    struct Delegation {
        address delegate;
        address delegator;
        bytes32 authority;
        Caveat[] caveats;
        uint256 salt;
        bytes signature;
    }

    /// One element of a batch.
    #[derive(Debug)]
    struct Execution {
        address target;
        uint256 value;
        bytes callData;
    }

    /// A UserOperation as EntryPoint v0.7 packs it.
    #[derive(Debug)]
    struct PackedUserOperation {
        address sender;
        uint256 nonce;
        bytes initCode;
        bytes callData;
        bytes32 accountGasLimits;
        uint256 preVerificationGas;
        bytes32 gasFees;
        bytes paymasterAndData;
        bytes signature;
    }

    /// The part of the DelegationManager that Bardo calls.
    #[derive(Debug)]
    interface DelegationManager {
        function redeemDelegations(bytes[] permissionContexts, bytes32[] modes, bytes[] executionCallDatas) external;
        function disableDelegation(Delegation delegation) external;
        function enableDelegation(Delegation delegation) external;
        function disabledDelegations(bytes32 delegationHash) external view returns (bool);
        function getDelegationHash(Delegation delegation) external pure returns (bytes32);
        function getDomainHash() external view returns (bytes32);
        function owner() external view returns (address);
        function paused() external view returns (bool);

        event RedeemedDelegation(address indexed rootDelegator, address indexed redeemer, Delegation delegation);
        event DisabledDelegation(bytes32 indexed delegationHash, address indexed delegator, address indexed delegate, Delegation delegation);

        error AlreadyDisabled();
        error AlreadyEnabled();
        error BatchDataLengthMismatch();
        error CannotUseADisabledDelegation();
        error EmptySignature();
        error EnforcedPause();
        error InvalidAuthority();
        error InvalidDelegate();
        error InvalidDelegator();
        error InvalidEOASignature();
        error InvalidERC1271Signature();
    }

    /// What every account of the framework understands.
    #[derive(Debug)]
    interface DeleGator {
        function executeFromExecutor(bytes32 mode, bytes executionCalldata) external payable returns (bytes[]);
        function execute(bytes32 mode, bytes executionCalldata) external payable;
        function disableDelegation(Delegation delegation) external;
        function delegationManager() external view returns (address);
        function entryPoint() external view returns (address);
        function eip712Domain() external view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions);
    }

    /// Set-up call of a Hybrid account.
    #[derive(Debug)]
    interface HybridDeleGator {
        function initialize(address owner, string[] keyIds, uint256[] xValues, uint256[] yValues) external;
        function owner() external view returns (address);
    }

    /// Set-up call of a MultiSig account.
    #[derive(Debug)]
    interface MultiSigDeleGator {
        function initialize(address[] owners, uint256 threshold) external;
        function getSigners() external view returns (address[]);
        function getThreshold() external view returns (uint256);
    }

    /// CREATE2 factory of account proxies.
    #[derive(Debug)]
    interface SimpleFactory {
        function deploy(bytes bytecode, bytes32 salt) external returns (address);
        function computeAddress(bytes32 bytecodeHash, bytes32 salt) external view returns (address);
    }

    /// The part of EntryPoint v0.7 that Bardo calls.
    #[derive(Debug)]
    interface EntryPoint {
        function handleOps(PackedUserOperation[] ops, address beneficiary) external;
        function getNonce(address sender, uint192 key) external view returns (uint256);
        function depositTo(address account) external payable;
        function withdrawTo(address withdrawAddress, uint256 withdrawAmount) external;
        function getUserOpHash(PackedUserOperation userOp) external view returns (bytes32);
        function balanceOf(address account) external view returns (uint256);

        event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed);
        event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason);

        error FailedOp(uint256 opIndex, string reason);
        error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner);
    }

    /// ERC-1271: whether a signature is an account's.
    #[derive(Debug)]
    interface SignedBy {
        function isValidSignature(bytes32 hash, bytes signature) external view returns (bytes4 word);
    }

    /// What is left of one entry of a list of allowances by period.
    #[derive(Debug)]
    interface PeriodEntry {
        function getAvailableAmount(bytes32 delegationHash, address manager, bytes terms, bytes args) external view returns (uint256 available, bool isNewPeriod, uint256 currentPeriod);
    }

    /// What the framework's enforcers have counted; each has one of these.
    #[derive(Debug)]
    interface Counters {
        function callCounts(address manager, bytes32 delegationHash) external view returns (uint256 count);
        function currentNonce(address manager, address delegator) external view returns (uint256 nonce);
        function spentMap(address manager, bytes32 delegationHash) external view returns (uint256 amount);
        function getAvailableAmount(bytes32 delegationHash, address manager, bytes terms) external view returns (uint256 available, bool isNewPeriod, uint256 currentPeriod);
        function getIsUsed(address manager, address delegator, uint256 id) external view returns (bool used);
        function streamingAllowances(address manager, bytes32 delegationHash) external view returns (uint256 initialAmount, uint256 maxAmount, uint256 amountPerSecond, uint256 startTime, uint256 spent);
    }

    /// Hooks of an enforcer.
    #[derive(Debug)]
    interface CaveatEnforcer {
        function beforeAllHook(bytes terms, bytes args, bytes32 mode, bytes executionCalldata, bytes32 delegationHash, address delegator, address redeemer) external;
        function beforeHook(bytes terms, bytes args, bytes32 mode, bytes executionCalldata, bytes32 delegationHash, address delegator, address redeemer) external;
    }

    /// Most enforcers read their terms aloud, each in a form of its own.
    #[derive(Debug)]
    interface ReadsTerms {
        function getTermsInfo(bytes terms) external view;
    }

    /// Which of its groups a `LogicalOrWrapperEnforcer` shall ask: said by whoever redeems.
    struct SelectedGroup {
        uint256 groupIndex;
        bytes[] caveatArgs;
    }
}

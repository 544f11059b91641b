use super::{SigningFacts, unless};
use crate::{Call, CallsDigest, Permit};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{Eip712Domain, SolCall, SolStruct as _, SolValue as _};
use golem_delegation::PermissionContext;
use std::borrow::Cow;

mod wire {
    alloy_sol_types::sol! {
        // What the framework's accounts have their owners sign: the operation, and the entry point that it is for.
        struct PackedUserOperation {
            address sender;
            uint256 nonce;
            bytes initCode;
            bytes callData;
            bytes32 accountGasLimits;
            uint256 preVerificationGas;
            bytes32 gasFees;
            bytes paymasterAndData;
            address entryPoint;
        }
        struct Execution {
            address target;
            uint256 value;
            bytes callData;
        }
        function execute(bytes32 mode, bytes executionCalldata);
        function redeemDelegations(bytes[] permissionContexts, bytes32[] modes, bytes[] executionCallDatas);
    }
}

/// One call, and all or nothing.
const MODE_SINGLE: B256 = B256::ZERO;
/// Several calls, all or nothing.
const MODE_BATCH: B256 = {
    let mut mode = [0; 32];
    mode[0] = 1;
    B256::new(mode)
};
/// Target and value of a packed call.
const PACKED_HEAD: usize = 52;

/// What kind of account the session has, which its EIP-712 domain names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountForm {
    /// The key's own address, upgraded by EIP-7702.
    Key,
    /// A Hybrid account that the key owns.
    Hybrid,
}

/// A UserOperation before it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOperation {
    /// Of which kind the sender is.
    pub form: AccountForm,
    /// Who executes.
    pub sender: Address,
    /// At the entry point.
    pub nonce: U256,
    /// Creates the account, where it is not there yet.
    pub init_code: Bytes,
    /// What the account is called with.
    pub call_data: Bytes,
    /// Verification and call gas.
    pub account_gas_limits: B256,
    /// Gas that the bundler asks for beside them.
    pub pre_verification_gas: U256,
    /// Priority fee and fee.
    pub gas_fees: B256,
    /// Who pays instead; nobody may.
    pub paymaster_and_data: Bytes,
    /// The contract that it is for.
    pub entry_point: Address,
}

impl SessionOperation {
    /// What the account asks its owner's signature of.
    #[must_use]
    pub fn digest(&self, chain_id: u64) -> B256 {
        let name = match self.form {
            AccountForm::Key => "EIP7702StatelessDeleGator",
            AccountForm::Hybrid => "HybridDeleGator",
        };
        let domain = Eip712Domain {
            name: Some(Cow::Borrowed(name)),
            version: Some(Cow::Borrowed("1")),
            chain_id: Some(U256::from(chain_id)),
            verifying_contract: Some(self.sender),
            salt: None,
        };
        wire::PackedUserOperation {
            sender: self.sender,
            nonce: self.nonce,
            initCode: self.init_code.clone(),
            callData: self.call_data.clone(),
            accountGasLimits: self.account_gas_limits,
            preVerificationGas: self.pre_verification_gas,
            gasFees: self.gas_fees,
            paymasterAndData: self.paymaster_and_data.clone(),
            entryPoint: self.entry_point,
        }
        .eip712_signing_hash(&domain)
    }
}

/// An operation is signed for nothing but a redemption of exactly the calls that were permitted.
pub(super) fn judge(
    operation: &SessionOperation,
    permit: &Permit,
    facts: &SigningFacts,
) -> Result<B256, Vec<String>> {
    let mut against = Vec::new();
    if operation.sender != facts.session_account {
        let (sender, ours) = (operation.sender, facts.session_account);
        against.push(format!("the operation is {sender}'s, the session's account is {ours}"));
    }
    if operation.entry_point != facts.entry_point {
        let (named, known) = (operation.entry_point, facts.entry_point);
        against.push(format!("the operation is for entry point {named}, not {known}"));
    }
    if !operation.paymaster_and_data.is_empty() {
        let length = operation.paymaster_and_data.len();
        against
            .push(format!("the operation has {length} bytes for a paymaster, who is nobody known"));
    }
    match redeemed(&operation.call_data, facts.manager) {
        Ok((account, calls)) => {
            let is_covered =
                account == permit.account() && permit.covers(CallsDigest::of(account, &calls));
            if !is_covered {
                let count = calls.len();
                against
                    .push(format!("the operation's {count} calls by {account} were not permitted"));
            }
        }
        Err(reason) => against.push(reason.to_owned()),
    }
    unless(against, || operation.digest(facts.chain_id))
}

/// The calls that a session account's calldata has the manager make, and whose they are.
fn redeemed(data: &[u8], manager: Address) -> Result<(Address, Vec<Call>), &'static str> {
    let outer: wire::executeCall = canonical(data).ok_or("the operation is no execution")?;
    let call = packed(&outer.executionCalldata).filter(|_| outer.mode == MODE_SINGLE);
    let call = call.ok_or("the operation executes more than one plain call")?;
    if call.target != manager || !call.value.is_zero() {
        return Err("the operation does not merely call the manager");
    }
    let redemption: wire::redeemDelegationsCall =
        canonical(&call.data).ok_or("the operation is no redemption")?;
    let (contexts, modes, executions) =
        (redemption.permissionContexts, redemption.modes, redemption.executionCallDatas);
    if contexts.is_empty() || contexts.len() != modes.len() || modes.len() != executions.len() {
        return Err("the redemption's lists are not of one length");
    }
    let mut account = None;
    let mut calls = Vec::new();
    for ((context, mode), execution) in contexts.iter().zip(&modes).zip(&executions) {
        let context = PermissionContext::decode(context)
            .map_err(|_refusal| "the redemption stands on something that is no grant")?;
        let root = context.root().delegator;
        if *account.get_or_insert(root) != root {
            return Err("the redemption is of several accounts");
        }
        calls.extend(inner(*mode, execution).ok_or("the redemption's calls cannot be read")?);
    }
    account.map(|account| (account, calls)).ok_or("the redemption is of no account")
}

fn inner(mode: B256, execution: &[u8]) -> Option<Vec<Call>> {
    match mode {
        MODE_SINGLE => packed(execution).map(|call| vec![call]),
        MODE_BATCH => {
            let batch = Vec::<wire::Execution>::abi_decode_validate(execution).ok()?;
            if batch.abi_encode() != execution {
                return None;
            }
            let calls =
                batch.into_iter().map(|wire::Execution { target, value, callData: data }| Call {
                    target,
                    value,
                    data,
                });
            Some(calls.collect())
        }
        _ => None,
    }
}

fn packed(execution: &[u8]) -> Option<Call> {
    let (head, data) = execution.split_at_checked(PACKED_HEAD)?;
    let (target, value) = head.split_first_chunk::<20>()?;
    let value = U256::try_from_be_slice(value)?;
    Some(Call { target: target.into(), value, data: data.to_vec().into() })
}

/// A call that is encoded in its one form: another is a chance for two readers to disagree (ATK-15).
fn canonical<C: SolCall>(data: &[u8]) -> Option<C> {
    let call = C::abi_decode_validate(data).ok()?;
    (call.abi_encode() == data).then_some(call)
}

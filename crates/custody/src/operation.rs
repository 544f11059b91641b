use crate::{
    Act, BoxError, ClearingPolicy, CustodyError, DryRun, Execution, Judged, Offer, Outcome,
    Preview, Rehearsal, Rehearsed,
    clearance::{apart, previewed},
    redemption::encode_batch,
    transaction::sign_digest,
};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, Signature, U256, keccak256};
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{Eip712Domain, SolCall, SolStruct, SolValue};
use async_trait::async_trait;
use bardo_bindings::framework::{
    DeleGator, ENTRY_POINT, MODE_BATCH, MODE_SINGLE, PackedUserOperation, SIMPLE_FACTORY,
    STATELESS_7702_IMPL,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What the framework's accounts have their owners sign: the operation, and the entry point that it is for.
mod signed {
    alloy_sol_types::sol! {
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
    }
}

/// What a Hybrid account calls itself where it has something signed.
const HYBRID: &str = "HybridDeleGator";

/// The smart account that a session key acts through where it sends UserOperations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum SessionAccount {
    /// The key's own address, upgraded by EIP-7702.
    Key(Address),
    /// A Hybrid account that the key owns.
    Hybrid {
        /// Its address.
        address: Address,
        /// The factory's calldata that creates it.
        creation: Bytes,
    },
}

impl SessionAccount {
    /// Whom the delegation names as delegate.
    #[must_use]
    pub const fn address(&self) -> Address {
        match self {
            Self::Key(address) | Self::Hybrid { address, .. } => *address,
        }
    }

    const fn domain_name(&self) -> &'static str {
        match self {
            Self::Key(_) => "EIP7702StatelessDeleGator",
            Self::Hybrid { .. } => HYBRID,
        }
    }
}

/// An operation before its gas and price are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationDraft {
    /// Who executes.
    pub account: SessionAccount,
    /// What the account is called with.
    pub call: Bytes,
}

/// Place, gas and price of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationPlan {
    /// Chain the operation is for.
    pub chain_id: u64,
    /// The account's next nonce at the entry point.
    pub nonce: U256,
    /// Where the account is not on chain yet and is the key's own: the key's transaction count.
    pub upgrade_at: Option<u64>,
    /// Whether the account must be created.
    pub create: bool,
    /// Gas of the call itself.
    pub call_gas: u128,
    /// Gas of creating the account and checking its signature.
    pub verification_gas: u128,
    /// Gas that the bundler asks for beside them.
    pub pre_verification_gas: U256,
    /// What is bid for it.
    pub offer: Offer,
    /// What it can be paid from: the account's coins and its deposit.
    pub balance: U256,
}

impl OperationPlan {
    /// Most that the operation can cost, in wei.
    fn worst(&self) -> U256 {
        U256::from(self.call_gas)
            .saturating_add(U256::from(self.verification_gas))
            .saturating_add(self.pre_verification_gas)
            .saturating_mul(U256::from(self.offer.max_fee_per_gas))
    }
}

/// Who must sign for a vault: each kind of account has its owners sign under its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VaultKind {
    /// A Hybrid account: its one owner.
    Hybrid,
    /// A MultiSig account: as many of its keys as must agree, their signatures joined by ascending address.
    MultiSig,
}

impl VaultKind {
    const fn domain_name(self) -> &'static str {
        match self {
            Self::Hybrid => HYBRID,
            Self::MultiSig => "MultiSigDeleGator",
        }
    }
}

/// An operation of an owner's own vault that he hands to the entry point himself: the way in while the manager is paused.
///
/// It bids nothing. Who sends it pays for it as for any transaction, the vault pays nobody, and no bundler gains by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOperation {
    /// Chain the operation is for.
    pub chain_id: u64,
    /// The account that he rules, alone or with others.
    pub vault: Address,
    /// Which kind it is.
    pub kind: VaultKind,
    /// The account's next nonce at the entry point.
    pub nonce: U256,
    /// Gas of the calls.
    pub call_gas: u128,
}

impl OwnOperation {
    /// Gas of checking the signatures: of one, and of as many as a MultiSig account can ask for. What is not used is not paid.
    const fn verification_gas(&self) -> u128 {
        match self.kind {
            VaultKind::Hybrid => 300_000,
            VaultKind::MultiSig => 600_000,
        }
    }

    pub(crate) fn signed(
        &self,
        calls: &[Execution],
        sign: impl FnOnce(&B256) -> Result<Bytes, CustodyError>,
    ) -> Result<SignedOwnOperation, CustodyError> {
        let batch =
            DeleGator::executeCall { mode: MODE_BATCH, executionCalldata: encode_batch(calls) };
        let plan = OperationPlan {
            chain_id: self.chain_id,
            nonce: self.nonce,
            upgrade_at: None,
            create: false,
            call_gas: self.call_gas,
            verification_gas: self.verification_gas(),
            pre_verification_gas: U256::ZERO,
            offer: Offer { max_fee_per_gas: 0, max_priority_fee_per_gas: 0 },
            balance: U256::ZERO,
        };
        let mut packed = packed(self.vault, Bytes::new(), batch.abi_encode().into(), &plan);
        let hash = hash(&packed, self.chain_id);
        packed.signature =
            sign(&signing_hash(&packed, self.kind.domain_name(), self.vault, self.chain_id))?;
        Ok(SignedOwnOperation { hash, packed })
    }
}

/// An owner's operation as the entry point takes it, once every owner whose signature it needs has signed.
#[derive(Clone, Debug)]
pub struct SignedOwnOperation {
    /// Its identity at the entry point, whoever signed.
    pub hash: B256,
    /// As the entry point has it.
    pub packed: PackedUserOperation,
}

/// A redemption's own operation, of a session account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByOperation {
    pub(crate) draft: OperationDraft,
    pub(crate) plan: OperationPlan,
}

/// A UserOperation that any bundler takes as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignedOperation {
    /// Its identity at the entry point.
    pub hash: B256,
    /// Which of the account's operations it is.
    pub plan: OperationPlan,
    /// What it does, and for whom.
    pub draft: OperationDraft,
    /// By the key.
    pub signature: Bytes,
    /// The upgrade of the key's own address, where it is the first.
    pub upgrade: Option<SignedAuthorization>,
}

/// Gas that an account takes to make a call, beside the call's own.
const WRAPPED: u64 = 40_000;
/// Gas that a bundle takes beside its operations, with room for what a bundler adds.
const CARRIED: u64 = 100_000;
/// Most gas of a byte of calldata.
const BYTE: u64 = 40;
/// How many times our own reckoning a bundler's may be.
const BEYOND: u64 = 4;
/// Most gas to verify an operation: the creation of its account and a signature of P-256 in Solidity are in it.
const MOST_VERIFICATION: u64 = 5_000_000;

/// Port: what a bundler asks for.
#[async_trait]
pub trait Operate: Send + Sync {
    /// Place, gas and price.
    async fn plan_operation(&self, draft: &OperationDraft) -> Result<OperationPlan, BoxError>;
}

/// Rehearses what was judged and a session account makes: dry run, fee ceiling, gas money. Signs nothing.
///
/// `session` is the key that signs for the account. The call has at least the gas that it was tried with and what the account needs to
/// make it; what a bundler asks for beyond what our own run makes likely is a fault, for unused gas is paid for as well.
pub async fn rehearse_operation<C: DryRun + Operate + ?Sized>(
    chain: &C,
    judged: Judged,
    account: SessionAccount,
    session: Address,
    policy: &ClearingPolicy,
) -> Result<Rehearsal<ByOperation>, CustodyError> {
    let sender = account.address();
    let preview = match previewed(chain, &judged, sender).await? {
        Outcome::Allowed(preview) => preview,
        Outcome::Refused(denial) => return Ok(Rehearsal::Refused(denial)),
    };
    let draft = OperationDraft::of(account, judged.act());
    let mut plan = chain
        .plan_operation(&draft)
        .await
        .map_err(|source| CustodyError::Plan { sender, source })?;
    believed(&plan, &draft, &preview).map_err(|source| CustodyError::Plan { sender, source })?;
    let tried = preview.gas_limit.saturating_add(WRAPPED);
    plan.call_gas = plan.call_gas.max(tried.into()).saturating_add(apart(preview.gas).into());
    if let Some(denial) = policy.against(plan.worst(), plan.balance, sender) {
        return Ok(Rehearsal::Refused(denial));
    }
    let way = ByOperation { draft, plan };
    Ok(Rehearsal::Passed(Rehearsed::new(judged, session, way, preview, policy)))
}

/// What a bundler asks for is more than is believed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the bundler asks for {asked} gas to {what} the operation, and {most} is the most that is believed: try another bundler"
)]
struct TooMuchGas {
    what: &'static str,
    asked: U256,
    most: U256,
}

/// Whether a bundler's gas is of the size of our own run. Its part for carrying covers the bundle, the operation's bytes, and what a
/// rollup charges for these.
fn believed(
    plan: &OperationPlan,
    draft: &OperationDraft,
    preview: &Preview,
) -> Result<(), BoxError> {
    let price = U256::from(plan.offer.max_fee_per_gas.max(1));
    let bytes = u64::try_from(draft.call.len()).unwrap_or(u64::MAX);
    let call = U256::from(preview.gas_limit.saturating_add(WRAPPED));
    let data = U256::from(bytes.saturating_mul(BYTE)).saturating_add(preview.data_fee / price);
    let carry = call.saturating_add(U256::from(CARRIED)).saturating_add(data);
    let times = |gas: U256| gas.saturating_mul(U256::from(BEYOND));
    for (what, asked, most) in [
        ("make the call of", U256::from(plan.call_gas), times(call)),
        ("verify", U256::from(plan.verification_gas), U256::from(MOST_VERIFICATION)),
        ("carry", plan.pre_verification_gas, times(carry)),
    ] {
        if asked > most {
            return Err(TooMuchGas { what, asked, most }.into());
        }
    }
    Ok(())
}

impl OperationDraft {
    fn of(account: SessionAccount, act: &Act) -> Self {
        let inner = (act.target(), act.coins(), act.calldata()).abi_encode_packed();
        let call = DeleGator::executeCall { mode: MODE_SINGLE, executionCalldata: inner.into() };
        Self { account, call: call.abi_encode().into() }
    }

    /// What it does; none where it is no act of ours.
    #[must_use]
    pub fn act(&self) -> Option<Act> {
        let call = DeleGator::executeCall::abi_decode_validate(&self.call).ok()?;
        let (target, rest) = call.executionCalldata.split_first_chunk::<20>()?;
        let (value, data) = rest.split_first_chunk::<32>()?;
        let coins = U256::from_be_bytes(*value);
        let act = Act::of_transaction(Address::from(*target), coins, data)?;
        // Every byte of it, and none beside it.
        (Self::of(self.account.clone(), &act) == *self).then_some(act)
    }
}

impl SignedOperation {
    /// As the entry point has it.
    #[must_use]
    pub fn packed(&self) -> PackedUserOperation {
        let mut packed = pack(&self.draft, &self.plan);
        packed.signature = self.signature.clone();
        packed
    }

    /// What its account asks its owner's signature of.
    pub(crate) fn digest(&self) -> B256 {
        digest(&self.draft, &self.plan)
    }

    /// As it is kept.
    pub(crate) fn encode(&self) -> Bytes {
        // A struct of numbers and bytes has no way to fail.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// As it was kept, if its hash is what the entry point calls it by.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(bytes).ok()?;
        (hash(&pack(&read.draft, &read.plan), read.plan.chain_id) == read.hash).then_some(read)
    }
}

/// The one place where operations of this curve are signed.
pub(crate) fn sign(
    key: &PrivateKeySigner,
    way: ByOperation,
) -> Result<SignedOperation, CustodyError> {
    let signer = key.address();
    let ByOperation { draft, plan } = way;
    if let SessionAccount::Key(session) = draft.account
        && session != signer
    {
        return Err(CustodyError::WrongKey { session, signer });
    }
    let upgrade = match plan.upgrade_at {
        None => None,
        Some(nonce) => {
            let authorization = Authorization {
                chain_id: U256::from(plan.chain_id),
                address: STATELESS_7702_IMPL,
                nonce,
            };
            let signed = sign_digest(key, &authorization.signature_hash())
                .map_err(|source| CustodyError::Sign { signer, source: source.into() })?;
            Some(authorization.into_signed(signed))
        }
    };
    signed_by(draft, plan, upgrade, by(key))
}

/// Signs an operation of this key again, with nothing changed but the price. Only what carries the key's own signature is
/// taken: what was never cleared cannot come in this way.
pub(crate) fn raise(
    key: &PrivateKeySigner,
    before: &SignedOperation,
    offer: Offer,
    ceiling: U256,
) -> Result<SignedOperation, CustodyError> {
    let signer = key.address();
    let signed_before = Signature::try_from(before.signature.as_ref())
        .and_then(|signature| signature.recover_address_from_prehash(&before.digest()));
    if signed_before.ok() != Some(signer) {
        return Err(CustodyError::NotSignedBefore { signer });
    }
    raised(before, offer, ceiling, by(key))
}

/// The same operation at another price. Whoever calls has seen that the first one is his.
pub(crate) fn raised(
    before: &SignedOperation,
    offer: Offer,
    ceiling: U256,
    sign: impl FnOnce(&B256) -> Result<Bytes, CustodyError>,
) -> Result<SignedOperation, CustodyError> {
    let SignedOperation { draft, mut plan, upgrade, .. } = before.clone();
    if offer.max_fee_per_gas <= plan.offer.max_fee_per_gas
        || offer.max_priority_fee_per_gas <= plan.offer.max_priority_fee_per_gas
    {
        return Err(CustodyError::NoRaise);
    }
    plan.offer = offer;
    let worst = plan.worst();
    if worst > ceiling {
        return Err(CustodyError::RaiseCeiling { worst, ceiling });
    }
    signed_by(draft, plan, upgrade, sign)
}

fn by(key: &PrivateKeySigner) -> impl FnOnce(&B256) -> Result<Bytes, CustodyError> {
    |digest| {
        let signed = sign_digest(key, digest).map_err(|source| CustodyError::Sign {
            signer: key.address(),
            source: source.into(),
        })?;
        Ok(signed.as_bytes().into())
    }
}

/// An operation with the signature that `sign` makes of what its account asks for.
pub(crate) fn signed_by(
    draft: OperationDraft,
    plan: OperationPlan,
    upgrade: Option<SignedAuthorization>,
    sign: impl FnOnce(&B256) -> Result<Bytes, CustodyError>,
) -> Result<SignedOperation, CustodyError> {
    let signature = sign(&digest(&draft, &plan))?;
    let hash = hash(&pack(&draft, &plan), plan.chain_id);
    Ok(SignedOperation { hash, plan, draft, signature, upgrade })
}

/// What an account asks its owner's signature of.
fn digest(draft: &OperationDraft, plan: &OperationPlan) -> B256 {
    let account = &draft.account;
    signing_hash(&pack(draft, plan), account.domain_name(), account.address(), plan.chain_id)
}

/// What an account of this name asks for signatures of.
fn signing_hash(
    packed: &PackedUserOperation,
    name: &'static str,
    account: Address,
    chain_id: u64,
) -> B256 {
    let domain = Eip712Domain {
        name: Some(Cow::Borrowed(name)),
        version: Some(Cow::Borrowed("1")),
        chain_id: Some(U256::from(chain_id)),
        verifying_contract: Some(account),
        salt: None,
    };
    let packed = packed.clone();
    signed::PackedUserOperation {
        sender: packed.sender,
        nonce: packed.nonce,
        initCode: packed.initCode,
        callData: packed.callData,
        accountGasLimits: packed.accountGasLimits,
        preVerificationGas: packed.preVerificationGas,
        gasFees: packed.gasFees,
        paymasterAndData: packed.paymasterAndData,
        entryPoint: ENTRY_POINT,
    }
    .eip712_signing_hash(&domain)
}

fn pack(draft: &OperationDraft, plan: &OperationPlan) -> PackedUserOperation {
    let init = match &draft.account {
        SessionAccount::Hybrid { creation, .. } if plan.create => {
            [SIMPLE_FACTORY.as_slice(), creation].concat()
        }
        _ => Vec::new(),
    };
    packed(draft.account.address(), init.into(), draft.call.clone(), plan)
}

fn packed(
    sender: Address,
    init_code: Bytes,
    call_data: Bytes,
    plan: &OperationPlan,
) -> PackedUserOperation {
    let two = |high: u128, low: u128| B256::from((U256::from(high) << 128) | U256::from(low));
    PackedUserOperation {
        sender,
        nonce: plan.nonce,
        initCode: init_code,
        callData: call_data,
        accountGasLimits: two(plan.verification_gas, plan.call_gas),
        preVerificationGas: plan.pre_verification_gas,
        gasFees: two(plan.offer.max_priority_fee_per_gas, plan.offer.max_fee_per_gas),
        paymasterAndData: Bytes::new(),
        signature: Bytes::new(),
    }
}

/// What the entry point calls it by.
fn hash(packed: &PackedUserOperation, chain_id: u64) -> B256 {
    let fields = (
        packed.sender,
        packed.nonce,
        keccak256(&packed.initCode),
        keccak256(&packed.callData),
        packed.accountGasLimits,
        packed.preVerificationGas,
        packed.gasFees,
        keccak256(&packed.paymasterAndData),
    );
    keccak256((keccak256(fields.abi_encode()), ENTRY_POINT, U256::from(chain_id)).abi_encode())
}

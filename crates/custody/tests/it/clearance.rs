use alloy_consensus::TxEnvelope;
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, address};
use async_trait::async_trait;
use golem_custody::{
    Act, Afloat, AuditHead, BlockRef, BoxError, ByOperation, ByTransaction, Cleared,
    ClearingPolicy, CustodyError, Denial, DenialCode, DryRun, Execution, Judged, Mandate,
    MemoryBooks, Offer, Operate, OperationDraft, OperationPlan, Outcome, Preview, Proposed,
    Receipt, Redemption, Rehearsal, Reservation, SessionAccount, SessionKey, SessionSigner,
    SignedOperation, SignedTransaction, Submit, TransactionPlan, limit, rehearse,
    rehearse_operation,
};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

pub(crate) const MANAGER: Address = address!("00000000000000000000000000000000000000aa");
const BLOCK: BlockRef = BlockRef { number: 7, hash: B256::repeat_byte(7), timestamp: 1_000 };

/// A chain that answers what it is told to, and counts what it was asked.
#[derive(Debug)]
pub(crate) struct FakeChain {
    answer: fn() -> Result<Outcome, BoxError>,
    balance: u64,
    plans: AtomicU32,
}

impl FakeChain {
    pub(crate) const fn new(answer: fn() -> Result<Outcome, BoxError>, balance: u64) -> Self {
        Self { answer, balance, plans: AtomicU32::new(0) }
    }
}

#[async_trait]
impl DryRun for FakeChain {
    async fn dry_run(&self, _: &Act, _: Address) -> Result<Outcome, BoxError> {
        (self.answer)()
    }
}

#[async_trait]
impl Submit for FakeChain {
    async fn plan(&self, _: Address) -> Result<TransactionPlan, BoxError> {
        self.plans.fetch_add(1, Ordering::Relaxed);
        Ok(TransactionPlan {
            chain_id: 8453,
            nonce: 3,
            max_fee_per_gas: 10,
            max_priority_fee_per_gas: 1,
            balance: U256::from(self.balance),
        })
    }

    async fn submit(&self, _: &SignedTransaction) -> Result<Receipt, BoxError> {
        Err("nothing is sent in these tests".into())
    }
}

#[async_trait]
impl Operate for FakeChain {
    async fn plan_operation(&self, _: &OperationDraft) -> Result<OperationPlan, BoxError> {
        Ok(OperationPlan {
            chain_id: 8453,
            nonce: U256::ZERO,
            upgrade_at: None,
            create: false,
            call_gas: 100,
            verification_gas: 20,
            pre_verification_gas: U256::from(5),
            offer: Offer { max_fee_per_gas: 10, max_priority_fee_per_gas: 1 },
            balance: U256::from(self.balance),
        })
    }
}

pub(crate) fn allowed() -> Result<Outcome, BoxError> {
    Ok(Outcome::Allowed(Preview {
        data_fee: U256::ZERO,
        block: BLOCK,
        gas: 100,
        gas_limit: limit(100),
        changes: vec![],
        notes: vec![],
        counted: None,
    }))
}

pub(crate) fn redemption() -> Redemption {
    let grant = Delegation {
        delegate: Address::repeat_byte(1),
        delegator: Address::repeat_byte(2),
        authority: ROOT_AUTHORITY,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let call = Execution { target: MANAGER, value: U256::ZERO, data: Bytes::new() };
    Redemption::single(MANAGER, PermissionContext::new(vec![grant]).unwrap(), &call)
}

/// As if its owner had asked for it.
pub(crate) fn judged() -> Judged {
    Proposed::unnamed(redemption()).by_hand()
}

pub(crate) fn mandate() -> Mandate {
    Mandate::by_hand(B256::ZERO, Address::ZERO, Arc::new(MemoryBooks::default()))
}

async fn reserved<W: std::fmt::Debug>(rehearsal: Rehearsal<W>, mandate: &Mandate) -> Cleared<W> {
    let Rehearsal::Passed(rehearsed) = rehearsal else { panic!("{rehearsal:?}") };
    match rehearsed.reserve(mandate, BLOCK.timestamp).await.unwrap() {
        Reservation::Made(cleared) => cleared,
        Reservation::Refused(denial) => panic!("{denial}"),
    }
}

/// Gas 100 and a fifth, at 10 wei.
const WORST: u64 = 1_250;

fn policy(ceiling: u64) -> ClearingPolicy {
    ClearingPolicy { fee_ceiling: U256::from(ceiling), lifetime: 60 }
}

#[tokio::test]
async fn what_the_dry_run_refuses_is_never_cleared_nor_planned() {
    let chain = FakeChain::new(
        || Ok(Outcome::Refused(Denial::new(DenialCode::Target, "not there"))),
        u64::MAX,
    );

    let answer = rehearse(&chain, judged(), MANAGER, &policy(u64::MAX)).await.unwrap();

    assert!(matches!(answer, Rehearsal::Refused(denial) if denial.code == DenialCode::Target));
    assert_eq!(chain.plans.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_dry_run_that_did_not_finish_is_a_fault_and_says_that_nothing_was_signed() {
    let chain = FakeChain::new(|| Err("the node is away".into()), u64::MAX);

    let fault = rehearse(&chain, judged(), MANAGER, &policy(u64::MAX)).await.unwrap_err();

    assert!(matches!(fault, CustodyError::DryRun { .. }));
    assert!(fault.to_string().contains("nothing was signed"));
    assert!(!fault.to_string().contains("away"), "the cause is the source's to tell");
}

#[tokio::test]
async fn ceiling_and_balance_are_accepted_at_the_bound_and_refused_one_wei_below() {
    for (ceiling, balance, expected) in [
        (WORST, WORST, None),
        (WORST - 1, WORST, Some(DenialCode::FeeCeiling)),
        (WORST, WORST - 1, Some(DenialCode::NoGas)),
    ] {
        let chain = FakeChain::new(allowed, balance);
        let answer = rehearse(&chain, judged(), MANAGER, &policy(ceiling)).await.unwrap();
        let code = match answer {
            Rehearsal::Passed(_) => None,
            Rehearsal::Refused(denial) => Some(denial.code),
        };
        assert_eq!(code, expected, "ceiling {ceiling}, balance {balance}");
    }
}

/// X2: what is signed has the gas that the dry run ran with, and not one that is reckoned anew.
#[tokio::test]
async fn the_gas_that_it_was_tried_with_is_what_counts_and_what_is_signed() {
    let tried = || {
        let Ok(Outcome::Allowed(preview)) = allowed() else { unreachable!() };
        Ok(Outcome::Allowed(Preview { gas_limit: 3 * preview.gas_limit, ..preview }))
    };
    for (ceiling, passes) in [(3 * WORST, true), (3 * WORST - 1, false)] {
        let chain = FakeChain::new(tried, u64::MAX);
        let answer = rehearse(&chain, judged(), MANAGER, &policy(ceiling)).await.unwrap();
        assert_eq!(matches!(answer, Rehearsal::Passed(_)), passes, "{ceiling}");
    }
}

/// D20: what a rollup charges for data is paid by the same key, and moves as gas does.
#[tokio::test]
async fn what_data_costs_counts_to_the_wei() {
    let charged = || {
        let Ok(Outcome::Allowed(preview)) = allowed() else { unreachable!() };
        Ok(Outcome::Allowed(Preview { data_fee: U256::from(1_000), ..preview }))
    };
    for (ceiling, balance, expected) in [
        (2 * WORST, 2 * WORST, None),
        (2 * WORST - 1, 2 * WORST, Some(DenialCode::FeeCeiling)),
        (2 * WORST, 2 * WORST - 1, Some(DenialCode::NoGas)),
    ] {
        let chain = FakeChain::new(charged, balance);
        let answer = rehearse(&chain, judged(), MANAGER, &policy(ceiling)).await.unwrap();
        let code = match answer {
            Rehearsal::Passed(_) => None,
            Rehearsal::Refused(denial) => Some(denial.code),
        };
        assert_eq!(code, expected, "ceiling {ceiling}, balance {balance}");
    }
}

pub(crate) async fn cleared_for(redeemer: Address) -> Cleared<ByTransaction> {
    let chain = FakeChain::new(allowed, u64::MAX);
    let rehearsal = rehearse(&chain, judged(), redeemer, &policy(u64::MAX)).await.unwrap();
    reserved(rehearsal, &mandate()).await
}

/// Cleared, signed, and in the books.
async fn signed_by(
    key: &SessionKey,
    chain: &FakeChain,
    policy: &ClearingPolicy,
) -> Afloat<SignedTransaction> {
    let mandate = mandate();
    let rehearsal = rehearse(chain, judged(), key.address(), policy).await.unwrap();
    let sealed = key.sign(reserved(rehearsal, &mandate).await, BLOCK.timestamp).await.unwrap();
    sealed.keep(&mandate, BLOCK.timestamp).await.unwrap()
}

async fn cleared_operation(
    key: &SessionKey,
    chain: &FakeChain,
    policy: &ClearingPolicy,
    mandate: &Mandate,
) -> Cleared<ByOperation> {
    let account = SessionAccount::Key(key.address());
    let rehearsal = rehearse_operation(chain, judged(), account, key.address(), policy).await;
    reserved(rehearsal.unwrap(), mandate).await
}

/// A transaction as the books have it.
pub(crate) async fn afloat_transaction() -> Afloat<SignedTransaction> {
    let chain = FakeChain::new(allowed, u64::MAX);
    signed_by(&SessionKey::born(), &chain, &policy(u64::MAX)).await
}

/// An operation as the books have it.
pub(crate) async fn afloat_operation() -> Afloat<SignedOperation> {
    let (key, chain, mandate) = (SessionKey::born(), FakeChain::new(allowed, u64::MAX), mandate());
    let cleared = cleared_operation(&key, &chain, &policy(u64::MAX), &mandate).await;
    let sealed = key.sign_operation(cleared, BLOCK.timestamp).await.unwrap();
    sealed.keep(&mandate, BLOCK.timestamp).await.unwrap()
}

/// SPEC P4: a head is sealed by the key, and whoever has the key's address can tell.
#[tokio::test]
async fn a_head_is_sealed_by_the_key() {
    let key = SessionKey::born();
    let head = AuditHead { golem: B256::repeat_byte(1), length: 7, hash: B256::repeat_byte(2) };

    let seal = key.seal(crate::heads::judged(head)).await.unwrap();

    let signature = Signature::try_from(seal.as_ref()).unwrap();
    assert_eq!(signature.recover_address_from_prehash(&head.digest()).unwrap(), key.address());
}

#[tokio::test]
async fn only_the_key_that_was_judged_signs() {
    let (judged, other) = (SessionKey::born(), SessionKey::born());
    let chain = FakeChain::new(allowed, u64::MAX);

    let wrong = other.sign(cleared_for(judged.address()).await, BLOCK.timestamp).await;
    let right = signed_by(&judged, &chain, &policy(u64::MAX)).await;
    let cleared = cleared_operation(&judged, &chain, &policy(u64::MAX), &mandate()).await;
    let wrong_operation = other.sign_operation(cleared, BLOCK.timestamp).await;

    assert!(matches!(wrong, Err(CustodyError::WrongKey { .. })), "{wrong:?}");
    assert!(matches!(wrong_operation, Err(CustodyError::WrongKey { .. })), "{wrong_operation:?}");
    assert_eq!(right.last().from, judged.address());
}

#[tokio::test]
async fn a_clearance_dies_one_second_after_its_lifetime() {
    let key = SessionKey::born();

    let last = key.sign(cleared_for(key.address()).await, BLOCK.timestamp + 60).await;
    let late = key.sign(cleared_for(key.address()).await, BLOCK.timestamp + 61).await;

    assert!(last.is_ok());
    assert!(matches!(late, Err(CustodyError::Stale { expires_at: 1_060, now: 1_061 })));
}

/// A head from the future: the node lies, or this machine's clock is wrong.
#[tokio::test]
async fn a_clearance_is_not_signed_a_lifetime_before_its_block() {
    let key = SessionKey::born();
    let early = BLOCK.timestamp - 60;

    let right = key.sign(cleared_for(key.address()).await, early).await;
    let wrong = key.sign(cleared_for(key.address()).await, early - 1).await;

    assert!(right.is_ok(), "{right:?}");
    assert!(matches!(wrong, Err(CustodyError::Ahead { .. })), "{wrong:?}");
}

/// The figures a person relies on who sets none.
#[test]
fn by_default_a_transaction_costs_at_most_five_thousandths_of_an_ether_and_waits_two_minutes() {
    let policy = ClearingPolicy::default();

    assert_eq!(policy.fee_ceiling, U256::from(5_000_000_000_000_000u64));
    assert_eq!(policy.lifetime, 120);
}

/// ATK-22: what is signed is what was judged, field by field; the worst it can cost is within the
/// ceiling it was judged by.
#[tokio::test]
async fn the_signed_transaction_is_the_judged_one() {
    let key = SessionKey::born();
    let chain = FakeChain::new(allowed, u64::MAX);
    let policy = policy(WORST);

    let afloat = signed_by(&key, &chain, &policy).await;

    let signed = afloat.last();
    let envelope = TxEnvelope::decode_2718(&mut signed.raw.as_ref()).unwrap();
    let TxEnvelope::Eip1559(inner) = &envelope else { panic!("{envelope:?}") };
    let tx = inner.tx();
    assert_eq!(tx.chain_id, 8453);
    assert_eq!(tx.nonce, 3);
    assert_eq!(tx.max_fee_per_gas, 10);
    assert_eq!(tx.max_priority_fee_per_gas, 1);
    assert_eq!(tx.gas_limit, 125);
    assert_eq!(tx.to, TxKind::Call(MANAGER));
    assert_eq!(tx.value, U256::ZERO);
    assert_eq!(tx.input, redemption().calldata());
    assert!(tx.access_list.is_empty());
    assert!(U256::from(tx.gas_limit) * U256::from(tx.max_fee_per_gas) <= policy.fee_ceiling);
    assert_eq!(*envelope.tx_hash(), signed.hash);
    assert_eq!(inner.recover_signer().unwrap(), key.address());
}

/// Neither by two processes, nor by two accounts of one key.
#[tokio::test]
async fn the_same_cleared_twice_is_not_the_same_transaction() {
    let key = SessionKey::born();
    let chain = FakeChain::new(
        || {
            Ok(Outcome::Allowed(Preview {
                data_fee: U256::ZERO,
                block: BLOCK,
                gas: 300_000,
                gas_limit: limit(300_000),
                changes: vec![],
                notes: vec![],
                counted: None,
            }))
        },
        u64::MAX,
    );
    let (mut transactions, mut operations) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..8 {
        let policy = policy(u64::MAX);
        transactions.insert(signed_by(&key, &chain, &policy).await.last().hash);
        let mandate = mandate();
        let cleared = cleared_operation(&key, &chain, &policy, &mandate).await;
        let sealed = key.sign_operation(cleared, BLOCK.timestamp).await.unwrap();
        operations.insert(sealed.keep(&mandate, BLOCK.timestamp).await.unwrap().last().hash);
    }
    assert!(transactions.len() > 4 && operations.len() > 4, "{transactions:?} {operations:?}");
}

/// An operation is raised by its own key alone, in both parts of its price, and up to its ceiling.
#[tokio::test]
async fn an_operation_is_raised_by_who_signed_it_and_within_the_ceiling() {
    let (key, other) = (SessionKey::born(), SessionKey::born());
    let chain = FakeChain::new(allowed, u64::MAX);
    let mandate = mandate();
    // What the call was tried with and what its account takes, whatever less the bundler names; and the bundler's other two.
    let gas = limit(100) + 40_000 + 20 + 5;
    let cleared = cleared_operation(&key, &chain, &policy(gas * 10), &mandate).await;
    let sealed = key.sign_operation(cleared, BLOCK.timestamp).await.unwrap();
    let mut afloat = sealed.keep(&mandate, BLOCK.timestamp).await.unwrap();
    let first = afloat.last().clone();
    let (least, ceiling) = (first.plan.offer.raised(), U256::from(gas * 12));
    assert_eq!(least, Offer { max_fee_per_gas: 12, max_priority_fee_per_gas: 2 });

    let raised = key.raise_operation(&first, least, ceiling).await.unwrap();
    afloat.keep(raised, &mandate, BLOCK.timestamp).await.unwrap();

    let raised = afloat.last();
    assert_eq!((raised.plan.nonce, &raised.draft), (first.plan.nonce, &first.draft));
    assert_eq!(raised.plan.offer, least);
    assert_ne!(raised.hash, first.hash);
    let above = key.raise_operation(&first, least, ceiling - U256::ONE).await.unwrap_err();
    assert!(matches!(above, CustodyError::RaiseCeiling { .. }), "{above:?}");
    let half = Offer { max_priority_fee_per_gas: 1, ..least };
    let half = key.raise_operation(&first, half, ceiling).await.unwrap_err();
    assert!(matches!(half, CustodyError::NoRaise), "{half:?}");
    let stranger = other.raise_operation(&first, least, ceiling).await.unwrap_err();
    assert!(matches!(stranger, CustodyError::NotSignedBefore { .. }), "{stranger:?}");
    let mut changed = first.clone();
    changed.draft.call = Bytes::from_static(b"something else");
    let changed = key.raise_operation(&changed, least, ceiling).await.unwrap_err();
    assert!(matches!(changed, CustodyError::NotSignedBefore { .. }), "{changed:?}");
}

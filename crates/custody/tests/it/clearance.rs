use alloy_consensus::TxEnvelope;
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, address};
use async_trait::async_trait;
use golem_custody::{
    BlockRef, BoxError, Clearance, ClearingPolicy, CustodyError, Denial, DenialCode, DryRun,
    Execution, Outcome, Preview, Receipt, Redemption, SessionKey, SessionSigner, SignedTransaction,
    Submit, TransactionPlan, clear,
};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
use std::sync::atomic::{AtomicU32, Ordering};

const MANAGER: Address = address!("00000000000000000000000000000000000000aa");
const BLOCK: BlockRef = BlockRef { number: 7, hash: B256::repeat_byte(7), timestamp: 1_000 };

/// A chain that answers what it is told to, and counts what it was asked.
#[derive(Debug)]
struct FakeChain {
    answer: fn() -> Result<Outcome, BoxError>,
    balance: u64,
    plans: AtomicU32,
}

impl FakeChain {
    const fn new(answer: fn() -> Result<Outcome, BoxError>, balance: u64) -> Self {
        Self { answer, balance, plans: AtomicU32::new(0) }
    }
}

#[async_trait]
impl DryRun for FakeChain {
    async fn dry_run(&self, _: &Redemption, _: Address) -> Result<Outcome, BoxError> {
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

fn allowed() -> Result<Outcome, BoxError> {
    Ok(Outcome::Allowed(Preview { block: BLOCK, gas: 100, changes: vec![] }))
}

fn redemption() -> Redemption {
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

    let answer = clear(&chain, redemption(), MANAGER, &policy(u64::MAX)).await.unwrap();

    assert!(matches!(answer, Clearance::Refused(denial) if denial.code == DenialCode::Target));
    assert_eq!(chain.plans.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_dry_run_that_did_not_finish_is_a_fault_and_says_that_nothing_was_signed() {
    let chain = FakeChain::new(|| Err("the node is away".into()), u64::MAX);

    let fault = clear(&chain, redemption(), MANAGER, &policy(u64::MAX)).await.unwrap_err();

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
        let answer = clear(&chain, redemption(), MANAGER, &policy(ceiling)).await.unwrap();
        let code = match answer {
            Clearance::Granted(_) => None,
            Clearance::Refused(denial) => Some(denial.code),
        };
        assert_eq!(code, expected, "ceiling {ceiling}, balance {balance}");
    }
}

async fn cleared_for(redeemer: Address) -> golem_custody::Cleared {
    let chain = FakeChain::new(allowed, u64::MAX);
    match clear(&chain, redemption(), redeemer, &policy(u64::MAX)).await.unwrap() {
        Clearance::Granted(cleared) => cleared,
        Clearance::Refused(denial) => panic!("{denial}"),
    }
}

#[tokio::test]
async fn only_the_key_that_was_judged_signs() {
    let (judged, other) = (SessionKey::born(), SessionKey::born());

    let wrong = other.sign(cleared_for(judged.address()).await, BLOCK.timestamp).await;
    let right = judged.sign(cleared_for(judged.address()).await, BLOCK.timestamp).await.unwrap();

    assert!(matches!(wrong, Err(CustodyError::WrongKey { .. })), "{wrong:?}");
    assert_eq!(right.from, judged.address());
}

#[tokio::test]
async fn a_clearance_dies_one_second_after_its_lifetime() {
    let key = SessionKey::born();

    let last = key.sign(cleared_for(key.address()).await, BLOCK.timestamp + 60).await;
    let late = key.sign(cleared_for(key.address()).await, BLOCK.timestamp + 61).await;

    assert!(last.is_ok());
    assert!(matches!(late, Err(CustodyError::Stale { expires_at: 1_060, now: 1_061 })));
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
    let Clearance::Granted(cleared) =
        clear(&chain, redemption(), key.address(), &policy).await.unwrap()
    else {
        panic!("refused at the bound");
    };

    let signed = key.sign(cleared, BLOCK.timestamp).await.unwrap();

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

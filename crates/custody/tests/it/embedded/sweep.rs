use super::{
    CHAIN, FakeService, NOW, OWNER, STRANGER, Turn, USDC, VAULT, WETH, bounds, plan, policy,
};
use alloy_consensus::{Transaction as _, TxEnvelope};
use alloy_eips::eip2718::Decodable2718 as _;
use alloy_primitives::{Address, B256, Bytes, U256};
use async_trait::async_trait;
use golem_custody::{
    Asset, AuthorizationKey, Backoff, BardoManifest, BoxError, BroughtHome, CustodyMode,
    DeathOrder, DeathSettlement, DeathSteps, DeferredPosition, DenialCode, Effect, EmbeddedWallet,
    Estate, Gas, Holding, IntentId, MemoryBooks, Positions, Purse, Receipt, RiskBounds, Settling,
    SignedTransaction, Step, Steps, Submit, Sweep, SweepError, SweepOrder, Swept, TransactionPlan,
    Undertaker, WalletId,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

const GOLEM: B256 = B256::repeat_byte(7);

/// A disk that fails at its nth write, before or after it took it. A fake.
#[derive(Clone, Default)]
struct Disk {
    steps: Arc<Mutex<Option<Step>>>,
    writes: Arc<Mutex<usize>>,
    crash: Option<(usize, bool)>,
}

#[async_trait]
impl Steps for Disk {
    async fn load(&self, _: &str) -> Result<Option<Step>, BoxError> {
        Ok(self.steps.lock().unwrap().clone())
    }

    async fn advance(&self, _: &str, from: u64, to: &Value, _: u64) -> Result<(), BoxError> {
        let write = {
            let mut writes = self.writes.lock().unwrap();
            *writes += 1;
            *writes
        };
        if self.crash == Some((write, false)) {
            return Err("crashed before the write".into());
        }
        let mut step = self.steps.lock().unwrap();
        if step.as_ref().map_or(0, |step| step.version) != from {
            return Err("somebody else was there".into());
        }
        *step = Some(Step { version: from + 1, value: to.clone() });
        if self.crash == Some((write, true)) {
            return Err("crashed after the write".into());
        }
        Ok(())
    }
}

/// A chain with balances and one queue. A fake.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    nonce: u64,
    held: BTreeMap<Option<Address>, U256>,
    /// Whom which transactions paid what.
    paid: Vec<(Option<Address>, Address, U256)>,
    receipts: BTreeMap<B256, Receipt>,
    reverts: Vec<Address>,
    fails: Vec<Address>,
    moves_nothing: Vec<Address>,
    silent: Vec<Address>,
    /// The next so many are mined without an answer.
    unanswered: usize,
    /// The next so many find their place taken.
    displaced: usize,
}

/// Makes a token what it should not be.
type Breaking = fn(&mut State);

impl Ledger {
    fn with(wei: u64, tokens: &[(Address, u64)]) -> Self {
        let ledger = Self::default();
        let mut held: BTreeMap<_, _> =
            tokens.iter().map(|(token, held)| (Some(*token), U256::from(*held))).collect();
        held.insert(None, U256::from(wei));
        ledger.0.lock().unwrap().held = held;
        ledger
    }

    fn set(&self, act: impl FnOnce(&mut State)) {
        act(&mut self.0.lock().unwrap());
    }

    fn paid(&self) -> Vec<(Option<Address>, Address, U256)> {
        self.0.lock().unwrap().paid.clone()
    }
}

#[async_trait]
impl Submit for Ledger {
    async fn plan(&self, _: Address) -> Result<TransactionPlan, BoxError> {
        let state = self.0.lock().unwrap();
        Ok(TransactionPlan { balance: state.held[&None], ..plan(state.nonce) })
    }

    async fn submit(&self, signed: &SignedTransaction) -> Result<Receipt, BoxError> {
        let mut state = self.0.lock().unwrap();
        if let Some(receipt) = state.receipts.get(&signed.hash) {
            return Ok(*receipt);
        }
        let tx = TxEnvelope::decode_2718_exact(&signed.raw).unwrap();
        if state.displaced > 0 {
            state.displaced -= 1;
            state.nonce += 1;
        }
        if tx.nonce() != state.nonce {
            return Err("its place is taken".into());
        }
        state.nonce += 1;
        let to = tx.to().unwrap();
        let failed = state.fails.contains(&to);
        let (token, payee, amount) = match tx.input().len() {
            0 => (None, to, tx.value()),
            _ => {
                let input = tx.input();
                (Some(to), Address::from_slice(&input[16..36]), U256::from_be_slice(&input[36..]))
            }
        };
        if !failed && !state.moves_nothing.contains(&to) {
            let held = state.held.get_mut(&token).unwrap();
            *held = held.checked_sub(amount).unwrap();
            state.paid.push((token, payee, amount));
        }
        let block_number = state.nonce;
        let receipt =
            Receipt { hash: signed.hash, success: !failed, gas_used: 21_000, block_number };
        state.receipts.insert(signed.hash, receipt);
        if state.unanswered > 0 {
            state.unanswered -= 1;
            return Err("the node did not answer".into());
        }
        Ok(receipt)
    }
}

#[async_trait]
impl Purse for Ledger {
    async fn held(&self, asset: Asset, _: Address) -> Result<Option<U256>, BoxError> {
        let state = self.0.lock().unwrap();
        let token = match asset {
            Asset::Native => None,
            Asset::Erc20(token) if state.silent.contains(&token) => return Ok(None),
            Asset::Erc20(token) => Some(token),
        };
        Ok(Some(state.held.get(&token).copied().unwrap_or_default()))
    }

    async fn gas(&self, _: Address, to: Address, _: U256, data: &Bytes) -> Result<Gas, BoxError> {
        let reverts = self.0.lock().unwrap().reverts.contains(&to);
        let units = if data.is_empty() { 21_000 } else { 50_000 };
        Ok(if reverts { Gas::Reverts } else { Gas::Units(units) })
    }

    async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, BoxError> {
        Ok(self.0.lock().unwrap().receipts.get(&hash).copied())
    }
}

fn order() -> SweepOrder {
    SweepOrder { golem: GOLEM, closed: vec![], unclosed: vec![], reserve: U256::from(100) }
}

/// A new process: nothing is left of the last one but disk, chain and service.
async fn run(
    service: &FakeService,
    bounds: &RiskBounds,
    disk: &Disk,
    ledger: &Ledger,
    now: u64,
) -> Result<Swept, SweepError> {
    run_order(service, bounds, disk, ledger, &order(), now).await
}

async fn run_order(
    service: &FakeService,
    bounds: &RiskBounds,
    disk: &Disk,
    ledger: &Ledger,
    order: &SweepOrder,
    now: u64,
) -> Result<Swept, SweepError> {
    let id = "a-wallet".to_owned().try_into().unwrap();
    let key = AuthorizationKey::born();
    let backoff = Backoff { first: 2, most: 2 };
    let wallet = EmbeddedWallet::new(service.clone(), id, service.wallet(), key, backoff);
    let policy = policy();
    let sweep =
        Sweep { wallet: &wallet, bounds, policy, steps: disk, submit: ledger, purse: ledger };
    sweep.run(order, now, 0).await
}

async fn swept(service: &FakeService, disk: &Disk, ledger: &Ledger) -> BardoManifest {
    match run(service, &bounds(service.wallet()), disk, ledger, NOW).await.unwrap() {
        Swept::Done(manifest) => manifest,
        Swept::Halted(denial) => panic!("{denial}"),
    }
}

fn rich() -> Ledger {
    Ledger::with(10_000_000, &[(USDC, 5_000_000), (WETH, 77)])
}

/// What is in the wallet but for gas and reserve.
const COIN: u64 = 10_000_000 - 21_000 * 10 - 100;

fn everything() -> Vec<(Option<Address>, Address, U256)> {
    vec![
        (Some(USDC), OWNER, U256::from(5_000_000)),
        (Some(WETH), OWNER, U256::from(77)),
        (None, OWNER, U256::from(COIN)),
    ]
}

#[tokio::test]
async fn tokens_go_first_then_the_coin_and_all_to_the_owner() {
    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());

    let manifest = swept(&service, &disk, &ledger).await;

    assert_eq!(ledger.paid(), everything());
    assert_eq!(manifest.version, 1);
    assert_eq!((manifest.beneficiary, manifest.wallet), (OWNER, service.wallet()));
    assert_eq!((manifest.chain_id, manifest.golem), (CHAIN, GOLEM));
    assert_eq!(manifest.balances_before.len(), 4, "that there are no shares is said, too");
    assert_eq!(manifest.positions_settled.len(), 3);
    assert_eq!(manifest.positions_deferred, []);
    assert_eq!(swept(&service, &disk, &ledger).await, manifest, "once more is no other");
    assert_eq!(ledger.paid().len(), 3);
}

#[tokio::test]
async fn what_cannot_be_moved_is_left_with_its_reason_and_the_rest_goes_home() {
    let cases: [(Breaking, &str, bool); 4] = [
        (|state| state.reverts.push(USDC), "would fail", false),
        (|state| state.fails.push(USDC), "failed", true),
        (|state| state.moves_nothing.push(USDC), "moved nothing", true),
        (|state| state.silent.push(USDC), "does not say", false),
    ];
    for (break_it, why, sent) in cases {
        let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
        ledger.set(break_it);

        let manifest = swept(&service, &disk, &ledger).await;

        let [left] = manifest.positions_deferred.as_slice() else { panic!("{manifest:?}") };
        assert_eq!(left.of, Holding::Token(USDC));
        assert!(left.reason.contains(why), "{}", left.reason);
        assert_eq!(left.transaction.is_some(), sent, "{why}");
        assert_eq!(ledger.paid()[..], everything()[1..], "{why}");
    }
}

/// SPEC K5, K8: what the Golem put into a vault is in the wallet as shares, which are no listed token.
#[tokio::test]
async fn shares_of_a_vault_go_home_or_are_left_with_their_reason() {
    let cases: [(Breaking, Option<&str>); 3] = [
        (|_| (), None),
        (|state| state.reverts.push(VAULT), Some("would fail")),
        (|state| state.silent.push(VAULT), Some("does not say")),
    ];
    for (break_it, why) in cases {
        let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
        ledger.set(|state| state.held.extend([(Some(VAULT), U256::from(500))]));
        ledger.set(break_it);

        let manifest = swept(&service, &disk, &ledger).await;

        let home = (Some(VAULT), OWNER, U256::from(500));
        assert_eq!(ledger.paid().contains(&home), why.is_none(), "{why:?}");
        let left: Vec<_> =
            manifest.positions_deferred.iter().map(|one| (one.of, one.reason.as_str())).collect();
        match (why, left.as_slice()) {
            (None, []) => {}
            (Some(why), [(of, reason)]) => {
                assert_eq!(*of, Holding::Token(VAULT));
                assert!(reason.contains(why), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(manifest.positions_settled.len(), 3 + usize::from(why.is_none()));
    }
}

#[tokio::test]
async fn what_the_policy_refuses_is_left_and_said_by_its_code() {
    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
    service.next([Turn::Status(400, json!({ "code": "policy_violation" }))]);

    let manifest = swept(&service, &disk, &ledger).await;

    let [left] = manifest.positions_deferred.as_slice() else { panic!("{manifest:?}") };
    assert!(left.reason.contains("policy_violation"), "{}", left.reason);
    assert_eq!(ledger.paid()[..], everything()[1..]);
}

#[tokio::test]
async fn a_coin_that_does_not_pay_for_its_way_stays() {
    let (service, disk) = (FakeService::new(), Disk::default());
    let ledger = Ledger::with(210_100, &[]);

    let manifest = swept(&service, &disk, &ledger).await;

    assert_eq!(ledger.paid(), []);
    let [left] = manifest.positions_deferred.as_slice() else { panic!("{manifest:?}") };
    assert_eq!((left.of, left.amount), (Holding::Native, U256::from(210_100)));
    let one_more = Ledger::with(210_101, &[]);
    swept(&service, &Disk::default(), &one_more).await;
    assert_eq!(one_more.paid(), [(None, OWNER, U256::from(1))]);
}

/// Every write, before and after the disk took it, and every one of the resumed runs as well.
#[tokio::test]
async fn crashed_at_any_write_the_next_process_goes_on_and_nothing_is_sent_twice() {
    let mut crashes = 0;
    for write in 1.. {
        let mut crashed = false;
        for taken in [false, true] {
            let (service, ledger) = (FakeService::new(), rich());
            let mut disk = Disk { crash: Some((write, taken)), ..Disk::default() };
            let bounds = bounds(service.wallet());

            let first = run(&service, &bounds, &disk, &ledger, NOW).await;
            crashed = first.is_err();
            disk.crash = None;
            let manifest = swept(&service, &disk, &ledger).await;

            assert_eq!(ledger.paid(), everything(), "write {write}, taken {taken}");
            assert_eq!(manifest.positions_settled.len(), 3);
            crashes += usize::from(crashed);
        }
        if !crashed {
            break;
        }
    }
    assert_eq!(crashes, 2 * (1 + 3 * 3 + 1), "begin, three steps for each of three, conclude");
}

#[tokio::test]
async fn a_lost_answer_of_the_service_or_the_node_is_not_a_second_transfer() {
    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
    service.next([Turn::LostAfter]);
    let bounds = bounds(service.wallet());

    let lost = run(&service, &bounds, &disk, &ledger, NOW).await;
    assert!(matches!(lost, Err(SweepError::Wallet { .. })), "{lost:?}");
    ledger.set(|state| state.unanswered = 1);
    let manifest = swept(&service, &disk, &ledger).await;

    assert_eq!(ledger.paid(), everything());
    assert_eq!(manifest.positions_deferred, []);
    let bodies: Vec<_> = service.asked().iter().map(|request| request.body()).collect();
    assert_eq!(bodies[0], bodies[1], "the same transaction, asked for twice");
}

#[tokio::test]
async fn while_the_service_is_away_the_sweep_halts_and_goes_on_later() {
    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
    service.next([Turn::Busy(Some(60))]);
    let bounds = bounds(service.wallet());

    let halted = run(&service, &bounds, &disk, &ledger, NOW).await.unwrap();

    let Swept::Halted(denial) = halted else { panic!("{halted:?}") };
    assert_eq!(denial.code, DenialCode::WalletAway);
    assert_eq!(ledger.paid(), []);
    swept(&service, &disk, &ledger).await;
    assert_eq!(ledger.paid(), everything());
}

#[tokio::test]
async fn a_place_that_another_transaction_took_is_given_up_and_another_found() {
    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
    ledger.set(|state| state.displaced = 2);
    swept(&service, &disk, &ledger).await;
    assert_eq!(ledger.paid(), everything());

    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
    ledger.set(|state| state.displaced = 3);
    let manifest = swept(&service, &disk, &ledger).await;
    assert_eq!(ledger.paid()[..], everything()[1..]);
    assert!(manifest.positions_deferred[0].reason.contains("took its place"));
}

#[tokio::test]
async fn a_sweep_that_began_for_one_owner_does_not_go_on_for_another() {
    let (service, ledger) = (FakeService::new(), rich());
    let disk = Disk { crash: Some((2, true)), ..Disk::default() };
    let bounds = bounds(service.wallet());
    run(&service, &bounds, &disk, &ledger, NOW).await.unwrap_err();
    let stolen = RiskBounds { beneficiary: STRANGER, ..bounds };

    let refused = run(&service, &stolen, &Disk { crash: None, ..disk }, &ledger, NOW).await;

    assert!(matches!(refused, Err(SweepError::Another { .. })), "{refused:?}");
    assert_eq!((ledger.paid(), service.asked().len()), (vec![], 0));
}

/// Whoever can write into the books of a sweep cannot send it elsewhere.
#[tokio::test]
async fn a_transaction_that_was_written_into_the_books_by_a_stranger_is_not_signed() {
    let (service, ledger) = (FakeService::new(), rich());
    let disk = Disk { crash: Some((2, true)), ..Disk::default() };
    let bounds = bounds(service.wallet());
    run(&service, &bounds, &disk, &ledger, NOW).await.unwrap_err();
    let theirs = hex_of(STRANGER);
    let payee = hex_of(super::PAYEE);
    for other in [theirs, payee] {
        let text = disk.steps.lock().unwrap().clone().unwrap().value.to_string();
        // The transfer's recipient, in its data; small enough for a payee.
        let text = text.replace(
            &format!("{}{:064x}", hex_of(OWNER), 5_000_000),
            &format!("{other}{:064x}", 9),
        );
        let steps = Step { version: 2, value: serde_json::from_str(&text).unwrap() };
        let forged = Disk { steps: Arc::new(Mutex::new(Some(steps))), ..Disk::default() };
        let ledger = rich();

        let manifest = swept(&service, &forged, &ledger).await;

        assert!(ledger.paid().iter().all(|(_, to, _)| *to == OWNER), "{:?}", ledger.paid());
        assert_eq!(manifest.positions_deferred.len(), 1, "{manifest:?}");
    }
}

fn hex_of(address: Address) -> String {
    alloy_primitives::hex::encode(address)
}

#[tokio::test]
async fn a_manifest_is_named_by_its_canonical_form_and_reads_back_as_itself() {
    let (service, disk, ledger) = (FakeService::new(), Disk::default(), rich());
    let manifest = swept(&service, &disk, &ledger).await;

    let text = serde_json::to_string_pretty(&manifest).unwrap();
    let again: BardoManifest = serde_json::from_str(&text).unwrap();

    assert_eq!(again.hash(), manifest.hash());
    assert!(text.contains("\"5000000\""), "amounts are text: {text}");
    let mut other = manifest.clone();
    other.positions_deferred.push(DeferredPosition {
        of: Holding::Native,
        amount: U256::from(1),
        reason: String::new(),
        transaction: None,
    });
    assert_ne!(other.hash(), manifest.hash());
    for wrong in [text.replace("\"5000000\"", "\"0x10\""), text.replace("\"5000000\"", "\"007\"")] {
        assert!(serde_json::from_str::<BardoManifest>(&wrong).is_err());
    }
    let more = text.replacen('{', "{\"more\":1,", 1);
    assert!(serde_json::from_str::<BardoManifest>(&more).is_err(), "unknown fields");
}

/// The outside of a death in this mode: a real sweep, and what stands around it.
struct Sweeper<'a> {
    service: &'a FakeService,
    disk: &'a Disk,
    ledger: &'a Ledger,
}

/// A position that its pool does not give back.
fn stuck() -> DeferredPosition {
    DeferredPosition {
        of: Holding::Position { contract: STRANGER, id: U256::from(3) },
        amount: U256::from(9),
        reason: "its pool is paused".to_owned(),
        transaction: None,
    }
}

#[async_trait]
impl Undertaker for Sweeper<'_> {
    async fn close_positions(&self, _: IntentId) -> Result<Effect<Positions>, BoxError> {
        Ok(Effect::Done(Positions { settled: vec![], deferred: vec![stuck()] }))
    }

    async fn zero_allowances(&self, _: IntentId) -> Result<Effect<()>, BoxError> {
        Ok(Effect::Done(()))
    }

    async fn bring_home(
        &self,
        _: IntentId,
        order: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        let bounds = bounds(self.service.wallet());
        let swept = run_order(self.service, &bounds, self.disk, self.ledger, order, NOW).await;
        Ok(swept?.into())
    }

    async fn close_registry(&self, _: IntentId, _: B256) -> Result<Effect<()>, BoxError> {
        Ok(Effect::Done(()))
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        Ok(())
    }
}

/// SPEC K8: a death by this very sweep. Whatever write of it fails, or if the service is away, the death waits in its place.
#[tokio::test]
async fn a_death_in_embedded_mode_is_this_sweep_and_says_what_was_deferred() {
    let wallet: WalletId = "a-wallet".to_owned().try_into().unwrap();
    let order = DeathOrder { golem: GOLEM, estate: Estate::Provided { wallet }, exhaustion: None };
    // The last run is one in which the service is away first.
    let writes = 11;
    for write in 1..=writes + 1 {
        let (service, ledger, books) = (FakeService::new(), rich(), MemoryBooks::default());
        let death = DeathSteps::new(&books, U256::from(100));
        death.accept(CustodyMode::Embedded, order.clone(), NOW).await.unwrap();
        let mut disk = Disk { crash: Some((write, true)), ..Disk::default() };
        let away = write > writes;
        if away {
            service.next([Turn::Busy(None)]);
        }

        let by = Sweeper { service: &service, disk: &disk, ledger: &ledger };
        let first = death.run(&by, NOW).await;
        match &first {
            Ok(Settling::Halted(no)) => assert!(away && no.code == DenialCode::WalletAway, "{no}"),
            _ => assert!(!away && first.is_err(), "write {write}: {first:?}"),
        }
        disk.crash = None;
        let by = Sweeper { service: &service, disk: &disk, ledger: &ledger };
        let done = death.run(&by, NOW).await.unwrap();

        let Settling::Done(DeathSettlement::PrivySweep { manifest }) = done else {
            panic!("{done:?}");
        };
        assert_eq!(manifest.positions_deferred, [stuck()]);
        assert_eq!(ledger.paid(), everything(), "once, and to the owner");
    }
}

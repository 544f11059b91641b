//! SPEC K8, D18, INV-9: a death that was accepted gets to its end in every mode, through whatever breaks on its way.

use alloy_primitives::{Address, B256, U256};
use async_trait::async_trait;
use golem_custody::{
    BardoManifest, BoxError, BroughtHome, CustodyMode, DailyCosts, DeathOrder, DeathSettlement,
    DeathSteps, DeferredPosition, Denial, DenialCode, Effect, Estate, Exhaustion, ExpiryKind,
    Holding, IntentId, Keyring as _, Keys, MemoryBooks, Metabolism, Positions, SettledPosition,
    Settlement, SettlementError, Settling, Step, Steps, SweepOrder, Undertaker, WalletId,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

const NOW: u64 = 1_000_000;
const GOLEM: B256 = B256::repeat_byte(7);
const GRANT: B256 = B256::repeat_byte(8);
const POOL: Address = Address::repeat_byte(9);
const STEPS: [&str; 4] = ["close positions", "zero allowances", "bring home", "close registry"];

fn wallet() -> WalletId {
    "a-wallet".to_owned().try_into().unwrap()
}

const fn granted() -> DeathOrder {
    let estate = Estate::Granted { delegation: GRANT, cause: ExpiryKind::Relinquished };
    DeathOrder { golem: GOLEM, estate, exhaustion: None }
}

fn provided() -> DeathOrder {
    let estate = Estate::Provided { wallet: wallet() };
    DeathOrder { golem: GOLEM, estate, exhaustion: None }
}

fn exhaustion() -> Exhaustion {
    let daily_costs = DailyCosts { inference: 3_000_000, ..DailyCosts::default() };
    let poor = Metabolism { balance: 0, daily_revenue: 1_000_000, daily_costs };
    Exhaustion::of(&poor, 12_000_000, 40_000_000).unwrap()
}

fn settled(id: u64) -> SettledPosition {
    SettledPosition {
        of: Holding::Position { contract: POOL, id: U256::from(id) },
        amount: U256::MAX,
        transaction: B256::repeat_byte(1),
        block: 5,
    }
}

fn deferred(id: u64) -> DeferredPosition {
    DeferredPosition {
        of: Holding::Position { contract: POOL, id: U256::from(id) },
        amount: U256::from(77),
        reason: "its pool is paused".to_owned(),
        transaction: None,
    }
}

/// What a port does wrong, at which of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing is done, and it is said so.
    Before(usize),
    /// It is done, and nobody hears of it.
    After(usize),
    /// It says to come again.
    Halts(usize),
}

/// The world outside: what is done in it stays done. A fake.
#[derive(Clone, Default)]
struct World {
    made: Arc<Mutex<BTreeMap<IntentId, usize>>>,
    order: Arc<Mutex<Vec<IntentId>>>,
    ended: Arc<Mutex<usize>>,
    calls: Arc<Mutex<usize>>,
    told: Arc<Mutex<Option<B256>>>,
    fault: Option<Fault>,
    forgets: bool,
    stranger: bool,
    wrong_kind: bool,
}

impl World {
    fn call(&self) -> usize {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        *calls
    }

    /// Made once of each name, as the books of intents do it.
    fn make<T>(&self, effect: IntentId, result: T) -> Result<Effect<T>, BoxError> {
        let call = self.call();
        match self.fault {
            Some(Fault::Before(at)) if at == call => return Err("not done".into()),
            Some(Fault::Halts(at)) if at == call => {
                return Ok(Effect::Halted(Denial::new(DenialCode::WalletAway, "away")));
            }
            _ => {}
        }
        if !self.made.lock().unwrap().contains_key(&effect) {
            self.order.lock().unwrap().push(effect);
            *self.made.lock().unwrap().entry(effect).or_default() += 1;
        }
        if self.fault == Some(Fault::After(call)) {
            return Err("done, and not said".into());
        }
        Ok(Effect::Done(result))
    }

    fn manifest(&self, order: &SweepOrder) -> BardoManifest {
        BardoManifest {
            version: BardoManifest::VERSION,
            golem: order.golem,
            wallet_id: if self.stranger {
                "another".to_owned().try_into().unwrap()
            } else {
                wallet()
            },
            wallet: Address::repeat_byte(4),
            chain_id: 8453,
            beneficiary: Address::repeat_byte(5),
            balances_before: vec![],
            positions_settled: order.closed.clone(),
            positions_deferred: if self.forgets { vec![] } else { order.unclosed.clone() },
            began_at: NOW,
            ended_at: NOW,
        }
    }

    /// Each effect once, in this order, under the names of this death; and the keys are gone.
    fn is_over(&self) {
        let names: Vec<_> = STEPS.iter().map(|step| granted().effect(step)).collect();
        assert_eq!(*self.order.lock().unwrap(), names);
        assert!(self.made.lock().unwrap().values().all(|times| *times == 1));
        assert!(*self.ended.lock().unwrap() >= 1, "the key is wiped");
    }
}

/// A world for one kind of estate.
struct Port<'a>(&'a World, CustodyMode);

#[async_trait]
impl Undertaker for Port<'_> {
    async fn close_positions(&self, effect: IntentId) -> Result<Effect<Positions>, BoxError> {
        let positions = Positions { settled: vec![settled(1)], deferred: vec![deferred(2)] };
        self.0.make(effect, positions)
    }

    async fn zero_allowances(&self, effect: IntentId) -> Result<Effect<()>, BoxError> {
        self.0.make(effect, ())
    }

    async fn bring_home(
        &self,
        effect: IntentId,
        order: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        let swept = (self.1 == CustodyMode::Embedded) != self.0.wrong_kind;
        let home = if swept {
            BroughtHome::Swept(Box::new(self.0.manifest(order)))
        } else {
            BroughtHome::Leftovers(Positions { settled: vec![settled(3)], deferred: vec![] })
        };
        self.0.make(effect, home)
    }

    async fn close_registry(&self, effect: IntentId, hash: B256) -> Result<Effect<()>, BoxError> {
        *self.0.told.lock().unwrap() = Some(hash);
        self.0.make(effect, ())
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        let call = self.0.call();
        if self.0.fault == Some(Fault::Before(call)) {
            return Err("not done".into());
        }
        *self.0.ended.lock().unwrap() += 1;
        if self.0.fault == Some(Fault::After(call)) {
            return Err("done, and not said".into());
        }
        Ok(())
    }
}

/// A disk that fails at its nth write, before or after it took it. A fake.
#[derive(Clone, Default)]
struct Disk {
    books: Arc<MemoryBooks>,
    writes: Arc<Mutex<usize>>,
    crash: Option<(usize, bool)>,
}

#[async_trait]
impl Steps for Disk {
    async fn load(&self, name: &str) -> Result<Option<Step>, BoxError> {
        self.books.load(name).await
    }

    async fn advance(&self, name: &str, from: u64, to: &Value, at: u64) -> Result<(), BoxError> {
        let write = {
            let mut writes = self.writes.lock().unwrap();
            *writes += 1;
            *writes
        };
        if self.crash == Some((write, false)) {
            return Err("crashed before the write".into());
        }
        self.books.advance(name, from, to, at).await?;
        if self.crash == Some((write, true)) {
            return Err("crashed after the write".into());
        }
        Ok(())
    }
}

const fn death<S: Steps>(steps: &S) -> DeathSteps<'_, S> {
    DeathSteps::new(steps, U256::ZERO)
}

fn expiry() -> DeathSettlement {
    DeathSettlement::DelegationExpiry {
        delegation: GRANT,
        cause: ExpiryKind::Relinquished,
        positions_settled: vec![settled(1), settled(3)],
        positions_deferred: vec![deferred(2)],
    }
}

fn cases() -> [(CustodyMode, DeathOrder, DeathSettlement); 5] {
    let order = SweepOrder {
        golem: GOLEM,
        closed: vec![settled(1)],
        unclosed: vec![deferred(2)],
        reserve: U256::ZERO,
    };
    let sweep = DeathSettlement::PrivySweep { manifest: World::default().manifest(&order) };
    let poor = |order| DeathOrder { exhaustion: Some(exhaustion()), ..order };
    let of_poverty = |inner| DeathSettlement::EconomicExhaustion {
        exhaustion: exhaustion(),
        inner: Box::new(inner),
    };
    [
        (CustodyMode::Delegation, granted(), expiry()),
        (CustodyMode::LocalKey, granted(), expiry()),
        (CustodyMode::Embedded, provided(), sweep.clone()),
        (CustodyMode::LocalKey, poor(granted()), of_poverty(expiry())),
        (CustodyMode::Embedded, poor(provided()), of_poverty(sweep)),
    ]
}

#[tokio::test]
async fn each_mode_gets_to_its_end() {
    for (mode, order, expected) in cases() {
        let (books, world) = (MemoryBooks::default(), World::default());
        death(&books).accept(mode, order.clone(), NOW).await.unwrap();

        let done = death(&books).run(&Port(&world, mode), NOW + 1).await.unwrap();

        assert_eq!(done, Settling::Done(expected.clone()), "{mode:?}");
        world.is_over();
        assert_eq!(*world.told.lock().unwrap(), Some(expected.hash()), "what the registry has");
        assert_eq!(expected.positions_deferred(), [deferred(2)], "the owner is told what is left");
        let at = death(&books).at().await.unwrap();
        assert_eq!(at, Some(Settlement::Settled { order, death: expected }));
        assert_eq!(books.kinds(), ["settlement"; 6], "INV-5: each step is in the log");
    }
}

/// Every call of the port, before and after it took effect, and every one of them as a wait.
#[tokio::test]
async fn whatever_fails_outside_the_next_run_goes_on_and_nothing_is_done_twice() {
    for (mode, order, expected) in cases() {
        for call in 1..=5 {
            for fault in [Fault::Before(call), Fault::After(call), Fault::Halts(call)] {
                // There is nobody to wait for who would wipe a key.
                if fault == Fault::Halts(5) {
                    continue;
                }
                let books = MemoryBooks::default();
                let mut world = World { fault: Some(fault), ..World::default() };
                death(&books).accept(mode, order.clone(), NOW).await.unwrap();

                let first = death(&books).run(&Port(&world, mode), NOW).await;
                let stopped = match fault {
                    Fault::Halts(_) => matches!(first, Ok(Settling::Halted(_))),
                    _ => matches!(first, Err(SettlementError::Effect { .. })),
                };
                assert!(stopped, "{fault:?}: {first:?}");
                let ended = *world.ended.lock().unwrap();
                assert_eq!(
                    ended,
                    usize::from(fault == Fault::After(5)),
                    "{fault:?}: the key is last"
                );
                world.fault = None;
                let done = death(&books).run(&Port(&world, mode), NOW + 1).await.unwrap();

                assert_eq!(done, Settling::Done(expected.clone()), "{mode:?} {fault:?}");
                world.is_over();
            }
        }
    }
}

/// Every write, before and after the disk took it: the last one leaves nothing to be done.
#[tokio::test]
async fn crashed_at_any_write_the_next_process_goes_on_and_nothing_is_done_twice() {
    for (mode, order, expected) in cases() {
        for write in 1..=6 {
            for taken in [false, true] {
                let mut disk = Disk { crash: Some((write, taken)), ..Disk::default() };
                let world = World::default();

                let accepted = death(&disk).accept(mode, order.clone(), NOW).await;
                let run = death(&disk).run(&Port(&world, mode), NOW).await;
                assert!(accepted.is_err() || run.is_err(), "write {write} was made");
                disk.crash = None;
                death(&disk).accept(mode, order.clone(), NOW).await.unwrap();
                let done = death(&disk).run(&Port(&world, mode), NOW + 1).await.unwrap();

                assert_eq!(done, Settling::Done(expected.clone()), "{write} {taken}");
                world.is_over();
            }
        }
    }
}

/// Another process, or another task of this one, that settles the same death to its end in the middle of a step.
struct Rival<'a>(&'a World, &'a MemoryBooks);

#[async_trait]
impl Undertaker for Rival<'_> {
    async fn close_positions(&self, effect: IntentId) -> Result<Effect<Positions>, BoxError> {
        let port = Port(self.0, CustodyMode::Delegation);
        let _ = death(self.1).run(&port, NOW).await?;
        port.close_positions(effect).await
    }

    async fn zero_allowances(&self, _: IntentId) -> Result<Effect<()>, BoxError> {
        panic!("somebody else has gone on")
    }

    async fn bring_home(
        &self,
        _: IntentId,
        _: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        panic!("somebody else has gone on")
    }

    async fn close_registry(&self, _: IntentId, _: B256) -> Result<Effect<()>, BoxError> {
        panic!("somebody else has gone on")
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        panic!("somebody else has gone on")
    }
}

#[tokio::test]
async fn of_two_who_settle_at_once_one_does() {
    let (books, world) = (MemoryBooks::default(), World::default());
    death(&books).accept(CustodyMode::Delegation, granted(), NOW).await.unwrap();

    let late = death(&books).run(&Rival(&world, &books), NOW).await;

    assert!(matches!(late, Err(SettlementError::Books { .. })), "{late:?}");
    world.is_over();
    let at = death(&books).at().await.unwrap();
    assert!(matches!(at, Some(Settlement::Settled { .. })), "{at:?}");
}

#[tokio::test]
async fn a_golem_dies_once_and_of_what_it_has() {
    let (books, world) = (MemoryBooks::default(), World::default());
    let port = Port(&world, CustodyMode::Delegation);
    let alive = death(&books).run(&port, NOW).await;
    assert!(matches!(alive, Err(SettlementError::Alive)), "{alive:?}");
    for (mode, order) in [
        (CustodyMode::Embedded, granted()),
        (CustodyMode::Delegation, provided()),
        (CustodyMode::LocalKey, provided()),
    ] {
        let refused = death(&books).accept(mode, order, NOW).await;
        assert!(matches!(refused, Err(SettlementError::OtherEstate { .. })), "{refused:?}");
    }
    assert_eq!(death(&books).at().await.unwrap(), None);

    let mode = CustodyMode::Delegation;
    death(&books).accept(mode, granted(), NOW).await.unwrap();
    let richer = DeathOrder { exhaustion: Some(exhaustion()), ..granted() };
    for settled in [false, true] {
        death(&books).accept(mode, granted(), NOW).await.unwrap();
        let other = death(&books).accept(mode, richer.clone(), NOW).await;
        assert!(matches!(other, Err(SettlementError::Another { golem: GOLEM })), "{other:?}");
        if !settled {
            let _ = death(&books).run(&port, NOW).await.unwrap();
        }
    }
    // Settled, it is settled: nothing is asked for again.
    let calls = *world.calls.lock().unwrap();
    assert_eq!(death(&books).run(&port, NOW).await.unwrap(), Settling::Done(expiry()));
    assert_eq!(*world.calls.lock().unwrap(), calls);
}

/// INV-4: deferred positions are in the manifest, or it is none.
#[tokio::test]
async fn a_manifest_that_is_not_of_this_death_is_not_taken() {
    for (change, estate) in [
        ((|world: &mut World| world.forgets = true) as fn(&mut World), provided()),
        (|world| world.stranger = true, provided()),
        (|world| world.wrong_kind = true, provided()),
        (|world| world.wrong_kind = true, granted()),
    ] {
        let mode = match estate.estate {
            Estate::Provided { .. } => CustodyMode::Embedded,
            _ => CustodyMode::Delegation,
        };
        let (books, mut world) = (MemoryBooks::default(), World::default());
        change(&mut world);
        death(&books).accept(mode, estate, NOW).await.unwrap();

        let refused = death(&books).run(&Port(&world, mode), NOW).await;

        assert!(matches!(refused, Err(SettlementError::NotThis { .. })), "{refused:?}");
        let at = death(&books).at().await.unwrap();
        assert!(matches!(at, Some(Settlement::Disallowed { .. })), "{at:?}");
        assert_eq!(*world.ended.lock().unwrap(), 0, "the key is still needed");
    }
}

/// INV-4.
#[tokio::test]
async fn a_step_that_is_not_understood_is_no_step() {
    for strange in [json!({ "step": "alive" }), json!({ "step": "settled" }), json!(null)] {
        let (books, world) = (MemoryBooks::default(), World::default());
        books.advance("settlement", 0, &strange, NOW).await.unwrap();

        let run = death(&books).run(&Port(&world, CustodyMode::Delegation), NOW).await;
        let accepted = death(&books).accept(CustodyMode::Delegation, granted(), NOW).await;

        for refused in [run.map(drop), accepted] {
            assert!(matches!(refused, Err(SettlementError::Unread { .. })), "{refused:?}");
        }
        assert_eq!(*world.calls.lock().unwrap(), 0);
    }
}

/// Names of effects are one Golem's and one step's: else two deaths would be one.
#[test]
fn no_two_effects_have_one_name() {
    let other = DeathOrder { golem: B256::repeat_byte(6), ..granted() };
    let names: std::collections::BTreeSet<_> =
        [granted(), other].iter().flat_map(|it| STEPS.map(|step| it.effect(step))).collect();
    assert_eq!(names.len(), 8);
    // The same death under another cause is the same death.
    assert_eq!(provided().effect(STEPS[0]), granted().effect(STEPS[0]));
}

/// SPEC K9: who earns what it costs does not die of poverty.
#[test]
fn exhaustion_is_of_those_who_do_not_earn_what_they_cost() {
    let daily_costs = DailyCosts { inference: 10_000, ..DailyCosts::default() };
    let earning = |daily_revenue| Metabolism { balance: 5, daily_revenue, daily_costs };

    for (revenue, share) in [(0, Some(0)), (9_999, Some(9_999)), (10_000, None), (30_000, None)] {
        let found = Exhaustion::of(&earning(revenue), 1, 2);
        assert_eq!(found.map(|it| it.final_sustainability_bps), share, "{revenue}");
    }
    let free = Metabolism::default();
    assert_eq!(Exhaustion::of(&free, 1, 2), None);
}

/// With real keys: the last step is that there are none.
#[tokio::test]
async fn after_the_last_step_there_is_no_key() {
    struct WithKeys<'a>(Port<'a>, &'a Keys);

    #[async_trait]
    impl Undertaker for WithKeys<'_> {
        async fn close_positions(&self, effect: IntentId) -> Result<Effect<Positions>, BoxError> {
            self.0.close_positions(effect).await
        }

        async fn zero_allowances(&self, effect: IntentId) -> Result<Effect<()>, BoxError> {
            self.0.zero_allowances(effect).await
        }

        async fn bring_home(
            &self,
            effect: IntentId,
            order: &SweepOrder,
        ) -> Result<Effect<BroughtHome>, BoxError> {
            self.0.bring_home(effect, order).await
        }

        async fn close_registry(&self, id: IntentId, hash: B256) -> Result<Effect<()>, BoxError> {
            assert!(self.1.current().await.is_some(), "the registry is told by its key");
            self.0.close_registry(id, hash).await
        }

        async fn end_keys(&self) -> Result<(), BoxError> {
            self.1.end().await
        }
    }

    let (books, world, keys) = (MemoryBooks::default(), World::default(), Keys::hosted());
    let mode = CustodyMode::Delegation;
    death(&books).accept(mode, granted(), NOW).await.unwrap();

    let done = death(&books).run(&WithKeys(Port(&world, mode), &keys), NOW).await.unwrap();

    assert_eq!(done, Settling::Done(expiry()));
    assert!(keys.current().await.is_none() && keys.signer().await.is_none());
}

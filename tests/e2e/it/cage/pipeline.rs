//! INV-1, SPEC P1, P2, P8: the whole way of an intent, from the cage to the chain and back into the books.

use super::{DOLLAR, Scene};
use crate::field::Field;
use alloy::primitives::{B256, U256};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{Archive, MemoryKind, NewMemory, OwnerLedger, Page, Store, StoreConfig, verify};
use golem_chain::{AccountKind, Landing, Lane, LanePolicy, Ledger};
use golem_custody::{
    Books as _, Caps, Consent, DenialCode, Entry, Execution, IntentId, Judged, Judgement, Mandate,
    Proposed, Redemption, Reserving, SessionKey, SessionSigner as _,
};
use golem_delegation::PermissionContext;
use golem_safety::{Arousal, Cage, Denial, MicroDollars, Violation};
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;

/// A Golem with a cage, a lane and books; its owner is asked above $300 and has a cap of $700 a day over all his Golems.
pub(super) struct House {
    pub(super) scene: Scene,
    cage: Cage,
    store: Arc<Store>,
    ledger: Arc<OwnerLedger>,
    lane: Lane<SessionKey>,
    pub(super) session: alloy::primitives::Address,
    pub(super) folder: TempDir,
    now: u64,
}

pub(super) const fn name(number: u8) -> IntentId {
    IntentId(B256::repeat_byte(number))
}

impl House {
    pub(super) async fn new() -> Result<Self> {
        let mut scene = Scene::of(AccountKind::Hybrid, |_| ()).await?;
        let policy = scene.policy();
        let cage = scene.caged(&policy).await?;
        let folder = tempfile::tempdir()?;
        let owner = scene.field.owner.signer.address();
        let ledger = Arc::new(OwnerLedger::open(&folder.path().join("owner/ledger.db"), owner)?);
        let golem = scene.law.golem_id;
        let config = StoreConfig { folder: folder.path().join("golem"), golem, max_pages: None };
        let store = Arc::new(Store::open(&config, Some(&ledger))?);
        let caps = Caps {
            session: policy.spend_per_session,
            day: policy.spend_per_day,
            owner_day: Some(700 * DOLLAR),
        };
        let consent = Consent { above: 300 * DOLLAR, lifetime: 3_600, approvals: ledger.clone() };
        let books = store.clone();
        let mandate = Mandate { golem, owner, caps, consent: Some(consent), books };
        let now = scene.field.stage.now().await?;
        let key = std::mem::replace(&mut scene.agent.key, SessionKey::born());
        let session = key.address();
        let quick = LanePolicy {
            confirmations: 1,
            poll: Duration::from_millis(20),
            ..LanePolicy::default()
        };
        let foresight = Arc::new(scene.field.stage.foresight());
        let lane = Lane::open(foresight, key, mandate, quick, move || now).await?;
        Ok(Self { scene, cage, store, ledger, lane, session, folder, now })
    }

    pub(super) const fn field(&self) -> &Field {
        &self.scene.field
    }

    /// The owner's policy on what the chain says now and what the books say was spent.
    async fn judge(&self, intent: IntentId, call: &Execution) -> Result<Judgement> {
        let spent = self.store.spent(self.session, self.now).await;
        let spent = spent.map_err(|fault| anyhow::anyhow!(fault))?;
        let ledger = Ledger {
            spent_in_session: MicroDollars::from(spent.session),
            spent_in_day: MicroDollars::from(spent.day),
            ..Ledger::default()
        };
        let calls = std::slice::from_ref(call);
        let facts = self.scene.facts(calls, ledger).await?;
        let context = PermissionContext::new(vec![self.scene.agent.grant.clone()])?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, call);
        Ok(Proposed::new(intent, redemption).about("a test").judge(&self.cage, &facts))
    }

    async fn permitted(&self, intent: IntentId, usd: u64) -> Result<Judged> {
        match self.judge(intent, &self.field().swap(usd)).await? {
            Judgement::Permitted(judged) => Ok(judged),
            Judgement::Refused(denials) => bail!("{denials:?}"),
        }
    }

    pub(super) async fn landed(&self, intent: IntentId, usd: u64) -> Result<Landing> {
        Ok(self.lane.redeem(self.permitted(intent, usd).await?).await?)
    }

    pub(super) async fn refused(&self, intent: IntentId, usd: u64) -> Result<Denial> {
        match self.landed(intent, usd).await? {
            Landing::Refused(denial) => Ok(denial),
            other => bail!("{other:?}"),
        }
    }

    /// Something is reserved, and nobody knows yet what becomes of it.
    pub(super) async fn under_way(&self, intent: IntentId, usd: u64) -> Result<()> {
        let entry = Entry {
            intent,
            golem: self.scene.law.golem_id,
            owner: self.field().owner.signer.address(),
            session: self.session,
            micro_dollars: usd * DOLLAR,
            at: self.now,
            what: serde_json::Value::Null,
        };
        let caps = Caps { session: u64::MAX, day: u64::MAX, owner_day: Some(u64::MAX) };
        let made = self.store.reserve(&entry, &caps).await;
        let made = made.map_err(|fault| anyhow::anyhow!(fault))?;
        ensure!(made == Reserving::Made, "{made:?}");
        Ok(())
    }

    async fn sold(&self) -> Result<U256> {
        let stage = &self.field().stage;
        let left = stage.balance_of(stage.book().usdc, self.field().account()).await?;
        Ok(bardo_testkit::dollars(10_000) - left)
    }
}

/// What the cage permits, the chain takes and the books count; what either refuses leaves no trace but a record.
#[tokio::test]
async fn an_intent_goes_its_whole_way_and_no_step_is_left_out() -> Result<()> {
    let house = House::new().await?;

    let landing = house.landed(name(1), 200).await?;

    ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    assert_eq!(house.sold().await?, bardo_testkit::dollars(200));
    let spent = house.store.spent(house.session, house.now).await;
    let spent = spent.map_err(|fault| anyhow::anyhow!(fault))?;
    ensure!((199 * DOLLAR..=201 * DOLLAR).contains(&spent.day), "{spent:?}");
    assert_eq!(spent.day, spent.session);
    // The name is used, whatever is asked under it.
    let denial = house.refused(name(1), 10).await?;
    assert_eq!(denial.code, DenialCode::IntentUsed);
    // Over the transaction's limit: judged, and so neither rehearsed nor reserved.
    let Judgement::Refused(denials) = house.judge(name(2), &house.field().swap(501)).await? else {
        bail!("permitted");
    };
    assert_eq!(denials[0].code, DenialCode::PolicySpendTransaction);
    assert_eq!(house.sold().await?, bardo_testkit::dollars(200));
    let folder = house.folder.path().join("golem");
    drop(house.lane);
    drop(house.store);
    let (records, seals) = Archive::open(&folder)?.audit()?;
    ensure!(verify(&records, &seals, &[]).is_whole(), "damaged");
    let kinds: Vec<_> = records.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["intent.reserved", "intent.signed", "intent.settled", "intent.refused"]);
    Ok(())
}

/// SPEC P8: above his threshold the owner is asked; his yes is for these bytes, once; his cap counts over all.
#[tokio::test]
async fn a_large_intent_waits_for_its_owner_and_his_cap_counts() -> Result<()> {
    let house = House::new().await?;
    let denial = house.refused(name(1), 400).await?;
    assert_eq!(denial.code, DenialCode::ApprovalMissing, "{denial}");
    assert_eq!(house.sold().await?, U256::ZERO);
    let waiting = house.ledger.waiting(house.now).await?;
    let question = waiting.first().context("he was not asked")?;
    ensure!(question.micro_dollars > 300 * DOLLAR, "{question:?}");

    let answer = house.field().owner.signer.answer(question, true)?;
    let _ = house.ledger.reply(name(1), &answer, house.now).await?;
    // Another deed under the same name is not what he said yes to.
    let other = house.refused(name(1), 410).await?;
    ensure!(house.sold().await?.is_zero(), "{other}");
    let landing = house.landed(name(1), 400).await?;

    ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    assert_eq!(house.sold().await?, bardo_testkit::dollars(400));
    // What is not large needs nobody; what is over his cap of all Golems is refused, though the Golem's own has room.
    let landing = house.landed(name(2), 250).await?;
    ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    let denial = house.refused(name(3), 100).await?;
    assert_eq!(denial.code, DenialCode::BudgetOwner, "{denial}");
    assert_eq!(house.sold().await?, bardo_testkit::dollars(650));
    Ok(())
}

/// SPEC P2: what the cage refused is remembered as a warning, and excites.
#[tokio::test]
async fn a_refusal_by_policy_is_remembered_and_excites() -> Result<()> {
    let house = House::new().await?;
    let stranger = Execution {
        target: alloy::primitives::Address::repeat_byte(0x99),
        value: U256::ZERO,
        data: vec![1, 2, 3, 4].into(),
    };
    let Judgement::Refused(denials) = house.judge(name(1), &stranger).await? else {
        bail!("permitted");
    };
    let calm = Arousal::new(0).context("calm")?;

    for denial in &denials {
        let violation = Violation::new(denial.clone(), None, house.now);
        house.store.remember(NewMemory::warning(&violation, house.session)).await?;
    }

    let kept = house.store.memories(Some(MemoryKind::Warning), Page::first(9)).await?;
    assert_eq!(kept.len(), denials.len());
    assert_eq!(kept[0].source, "policy_violation");
    assert_eq!(kept[0].data["code"], "POL-TARGET");
    ensure!(calm.raised_by(denials.iter().map(|denial| denial.code)) > calm);
    let mut words = kept[0].text.as_data().split_whitespace();
    let word = words.find(|word| word.len() > 4 && word.chars().all(char::is_alphabetic));
    let found = house.store.search(word.context("no word")?, Page::first(9)).await?;
    ensure!(found.iter().any(|one| one.id == kept[0].id), "not found by its own words");
    Ok(())
}

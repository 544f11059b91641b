//! SPEC P8: what is above its owner's threshold waits for his yes, as long as the question lasts, whatever happens to the process.

use super::{DAY, DCA, DOLLAR, HOUR, Home, awake, provisions, ticks};
use alloy::primitives::{Address, B256, U256};
use anyhow::{Context as _, Result, anyhow, ensure};
use bardo_store::{OwnerLedger, Replying, Store, StoreConfig};
use bardo_testkit::{dollars, fixed_signer};
use golem_custody::{
    Books as _, Caps, Consent, DenialCode, Ending, Entry, IntentId, Question, Reserving,
};
use golem_runtime::{Golem, Outcome, Provisions, Ticked};
use serde_json::Value;
use std::sync::Arc;

/// A Golem that wants to buy for fifty dollars a day, of an owner who is asked above thirty.
struct House {
    home: Home,
    ledger: Arc<OwnerLedger>,
}

impl House {
    async fn open() -> Result<Self> {
        let home = Home::with(DCA, "- every: 1h\n- fastest: 1h\n- slowest: 1h\n").await?;
        let place = home.path().join("owner/ledger.db");
        let ledger = Arc::new(OwnerLedger::open(&place, home.owner.address())?);
        Ok(Self { home, ledger })
    }

    fn provisions(&self) -> Result<Provisions> {
        let approvals = self.ledger.clone();
        let consent = Some(Consent { above: 30 * DOLLAR, lifetime: 6 * HOUR, approvals });
        Ok(Provisions { consent, ..self.home.provisions()? })
    }

    /// The same where all Golems of its owner may spend so much in a day.
    fn capped(&self, owner_day: u64) -> Result<Provisions> {
        let Home { stage, keys, documents, now, .. } = &self.home;
        let config =
            StoreConfig { folder: self.home.books(), golem: self.home.id, max_pages: None };
        let store = Arc::new(Store::open(&config, Some(&self.ledger))?);
        let (node, keys) = (stage.node().clone(), keys.clone());
        let alone = provisions(node, store, keys, documents.clone(), Arc::clone(now));
        let approvals = self.ledger.clone();
        let consent = Some(Consent { above: 30 * DOLLAR, lifetime: 6 * HOUR, approvals });
        Ok(Provisions { consent, owner_day: Some(owner_day), ..alone })
    }

    async fn wakes(&self) -> Result<Golem> {
        awake(self.provisions()?).await
    }

    /// The one thing that he is asked.
    async fn question(&self) -> Result<Question> {
        let waiting = self.ledger.waiting(self.home.now()).await?;
        ensure!(waiting.len() == 1, "{waiting:?}");
        waiting.into_iter().next().context("nothing is asked")
    }

    async fn says(&self, question: &Question, approved: bool) -> Result<()> {
        let answer = self.home.owner.answer(question, approved)?;
        let kept = self.ledger.reply(question.intent, &answer, self.home.now()).await?;
        ensure!(kept == Replying::Kept, "{kept:?}");
        Ok(())
    }

    async fn spent(&self) -> Result<U256> {
        Ok(dollars(2_000) - self.home.holds(self.home.stage.book().usdc).await?)
    }

    /// So many ticks, an hour apart.
    async fn hours(&self, golem: &mut Golem, hours: u64) -> Result<Vec<Ticked>> {
        let mut all = Vec::new();
        for _ in 0..hours {
            self.home.later(HOUR).await?;
            all.push(ticks(golem).await?);
        }
        Ok(all)
    }
}

fn is_asked(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused(denials) if denials.iter().any(|denial| denial.code == DenialCode::ApprovalMissing))
}

/// P8: it asks once, waits through ticks in which prices move, and buys once when its owner says yes.
#[tokio::test]
async fn it_asks_and_waits_and_after_a_yes_it_buys_once() -> Result<()> {
    let house = House::open().await?;
    let mut golem = house.wakes().await?;

    let first = ticks(&mut golem).await?;
    ensure!(first.deeds.iter().all(|(_, outcome)| is_asked(outcome)), "{first:?}");
    assert_eq!(first.deeds.len(), 1);
    let question = house.question().await?;
    assert_eq!(question.micro_dollars, 50 * DOLLAR);
    assert_eq!(question.expires_at, house.home.now() + 6 * HOUR);
    let pending = golem.life().pending.clone();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].intent, question.intent);
    assert_eq!(pending[0].digest(house.home.vault.address), question.digest);
    // The market moves, within what the bytes bear; hours pass. It is the same question, and no other piles up beside it.
    let price = house.home.ether_price().await?;
    house.home.ether_costs(price + price / 1_000).await?;
    let waited = house.hours(&mut golem, 3).await?;
    ensure!(waited.iter().all(|ticked| ticked.deeds.is_empty()), "{waited:?}");
    assert_eq!(house.question().await?, question);
    assert_eq!(golem.life().pending.len(), 1);
    assert_eq!(house.spent().await?, U256::ZERO);

    house.says(&question, true).await?;
    let ticked = house.hours(&mut golem, 1).await?;

    assert_eq!(ticked[0].deeds.len(), 1, "{ticked:?}");
    assert_eq!(ticked[0].deeds[0].1, Outcome::Done);
    assert_eq!(house.spent().await?, dollars(50));
    ensure!(golem.life().pending.is_empty(), "{:?}", golem.life().pending);
    let after = house.hours(&mut golem, 3).await?;
    ensure!(after.iter().all(|ticked| ticked.deeds.is_empty()), "{after:?}");
    assert_eq!(house.spent().await?, dollars(50));
    ensure!(house.ledger.waiting(house.home.now()).await?.is_empty(), "it asks before it is due");
    drop(golem);
    let told = |kind| house.home.once(kind);
    assert_eq!((told("approvalAsked")?, told("approvalAnswered")?), (1, 1));
    assert_eq!(told("approvalExpired")?, 0);
    Ok(())
}

/// P8: a no is a no: nothing is bought, and nothing of that aim is asked again while the question would have lasted.
#[tokio::test]
async fn after_a_no_it_buys_nothing_and_does_not_ask_again_at_once() -> Result<()> {
    let house = House::open().await?;
    let mut golem = house.wakes().await?;
    let _asked = ticks(&mut golem).await?;
    let question = house.question().await?;

    house.says(&question, false).await?;
    let ticked = house.hours(&mut golem, 5).await?;

    let all: Vec<_> = ticked.iter().flat_map(|ticked| &ticked.deeds).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    ensure!(
        matches!(&all[0].1, Outcome::Refused(why) if why[0].code == DenialCode::ApprovalDenied),
        "{all:?}"
    );
    ensure!(house.ledger.waiting(house.home.now()).await?.is_empty(), "he is asked again at once");
    assert_eq!(house.spent().await?, U256::ZERO);
    // When the question would be over it may be asked anew, under another name.
    let _later = house.hours(&mut golem, 3).await?;
    ensure!(house.question().await?.intent != question.intent);
    assert_eq!(house.spent().await?, U256::ZERO);
    drop(golem);
    assert_eq!(house.home.once("approvalAnswered")?, 1);
    assert_eq!(house.home.once("approvalExpired")?, 0);
    Ok(())
}

/// P8: who answers too late answers nothing.
#[tokio::test]
async fn a_question_that_is_over_is_dropped_and_recorded() -> Result<()> {
    let house = House::open().await?;
    let mut golem = house.wakes().await?;
    let _asked = ticks(&mut golem).await?;
    let question = house.question().await?;
    // One second inside the limit it waits still.
    house.home.later(6 * HOUR - 60).await?;
    let _waits = ticks(&mut golem).await?;
    assert_eq!(house.question().await?, question);
    house.home.later(120).await?;

    let late = house.home.owner.answer(&question, true)?;
    let refused = house.ledger.reply(question.intent, &late, house.home.now()).await?;
    let _over = ticks(&mut golem).await?;

    ensure!(matches!(&refused, Replying::Refused(why) if why.code == DenialCode::ApprovalExpired));
    ensure!(golem.life().pending.iter().all(|one| one.intent != question.intent));
    assert_eq!(house.spent().await?, U256::ZERO);
    drop(golem);
    assert_eq!(house.home.once("approvalExpired")?, 1);
    assert_eq!(house.home.once("approvalAnswered")?, 0);
    Ok(())
}

/// P8, INV-6, INV-10: gone while it waits, and gone again between the answer and the tick that buys, it buys once.
#[tokio::test]
async fn lost_while_it_waits_it_still_buys_once() -> Result<()> {
    let house = House::open().await?;
    let mut golem = house.wakes().await?;
    let _asked = ticks(&mut golem).await?;
    let question = house.question().await?;
    drop(golem);
    house.home.later(HOUR).await?;
    let mut golem = house.wakes().await?;
    let waits = ticks(&mut golem).await?;
    ensure!(waits.deeds.is_empty(), "{waits:?}");
    assert_eq!(house.question().await?, question);
    drop(golem);
    house.says(&question, true).await?;
    house.home.later(HOUR).await?;
    let mut golem = house.wakes().await?;

    let done = ticks(&mut golem).await?;

    assert_eq!(done.deeds.len(), 1, "{done:?}");
    assert_eq!(done.deeds[0].1, Outcome::Done);
    assert_eq!(house.spent().await?, dollars(50));
    let after = house.hours(&mut golem, 3).await?;
    ensure!(after.iter().all(|ticked| ticked.deeds.is_empty()), "{after:?}");
    assert_eq!(house.spent().await?, dollars(50));
    Ok(())
}

/// P8: another's word is no answer, and a deed below the threshold needs none.
#[tokio::test]
async fn nobody_else_says_yes_and_small_things_need_nobody() -> Result<()> {
    let house = House::open().await?;
    let mut golem = house.wakes().await?;
    let _asked = ticks(&mut golem).await?;
    let question = house.question().await?;
    let stranger = fixed_signer(0x77)?.answer(&question, true)?;

    let kept = house.ledger.reply(question.intent, &stranger, house.home.now()).await?;
    let _waits = house.hours(&mut golem, 1).await?;

    ensure!(matches!(&kept, Replying::Refused(why) if why.code == DenialCode::ApprovalSigner));
    assert_eq!(house.spent().await?, U256::ZERO);
    drop(golem);
    // Fifty dollars are not above fifty.
    let consent = Consent { above: 50 * DOLLAR, lifetime: HOUR, approvals: house.ledger.clone() };
    house.home.later(DAY).await?;
    let provisions = Provisions { consent: Some(consent), ..house.home.provisions()? };
    let mut golem = awake(provisions).await?;
    let done = ticks(&mut golem).await?;
    ensure!(done.deeds.iter().all(|(_, outcome)| *outcome == Outcome::Done), "{done:?}");
    assert_eq!(house.spent().await?, dollars(50));
    Ok(())
}

/// P8, INV-6: what another Golem of its owner took leaves no room under his cap. His yes waits until there is some, and is used once.
#[tokio::test]
async fn a_yes_that_his_own_cap_stands_against_is_used_when_there_is_room() -> Result<()> {
    let house = House::open().await?;
    let owner_day = 100 * DOLLAR;
    let (folder, golem) = (house.home.path().join("other"), B256::repeat_byte(0x0e));
    let config = StoreConfig { folder, golem, max_pages: None };
    let other = Store::open(&config, Some(&house.ledger))?;
    let (intent, session) = (IntentId(B256::repeat_byte(1)), Address::repeat_byte(9));
    let (owner, at) = (house.home.owner.address(), house.home.now());
    let micro_dollars = 60 * DOLLAR;
    let taken = Entry { intent, golem, owner, session, micro_dollars, at, what: Value::Null };
    let caps = Caps { session: 60 * DOLLAR, day: 60 * DOLLAR, owner_day: Some(owner_day) };
    assert_eq!(
        other.reserve(&taken, &caps).await.map_err(|fault| anyhow!(fault))?,
        Reserving::Made
    );
    let mut golem = awake(house.capped(owner_day)?).await?;
    let _asked = ticks(&mut golem).await?;
    house.says(&house.question().await?, true).await?;

    let without = house.hours(&mut golem, 2).await?;

    ensure!(without.iter().all(|ticked| ticked.deeds.is_empty()), "{without:?}");
    assert_eq!(house.spent().await?, U256::ZERO);
    assert_eq!(golem.life().pending.len(), 1, "it is not forgotten");
    let given_back = Ending::Abandoned { why: "it never left".to_owned() };
    let settled = other.settle(intent, &given_back, house.home.now()).await;
    settled.map_err(|fault| anyhow!(fault))?;
    let with = house.hours(&mut golem, 1).await?;
    assert_eq!(with[0].deeds.len(), 1, "{with:?}");
    assert_eq!(with[0].deeds[0].1, Outcome::Done);
    let after = house.hours(&mut golem, 3).await?;
    ensure!(after.iter().all(|ticked| ticked.deeds.is_empty()), "{after:?}");
    assert_eq!(house.spent().await?, dollars(50));
    let refused = format!("{:?}", house.home.log()?);
    ensure!(refused.contains(&DenialCode::BudgetOwner.to_string()), "it was his cap");
    Ok(())
}

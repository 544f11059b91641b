//! What keeps a Golem going: grants that its owner signed, keys that follow each other, running costs, gas money.

use crate::{
    Aim, Golem, GolemEvent, Keyed, Life, Outcome, Owed, SentRunway, TickError, crash,
    heartbeat::Sensed,
};
use alloy_primitives::{Address, Bytes, U256, keccak256};
use alloy_sol_types::SolCall as _;
use async_trait::async_trait;
use bardo_bindings::{defi::Erc20, framework::DELEGATION_MANAGER};
use golem_chain::{environment, observe};
use golem_custody::{
    Books as _, BoxError, Denial, DenialCode, Ending, Execution, ExpiryKind, IntentId, Judgement,
    KeyUse, Keyring as _, Payee, Proposed, Purpose, Redemption, Rotation, RotationPolicy,
    RotationReason, Rotations, RunningCosts, Runway, RunwayFor, RunwayLimits, Runways, Steps as _,
    Switching,
};
use golem_delegation::{
    Delegation, Kind, PermissionContext, SigningDomain, SpendTerms,
    grant::Grant,
    permission::{Expected, Granted},
    terms::{Class, GolemCharter},
};

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Where a grant is kept that came after the first and is for the same key.
pub(crate) const RENEWED: &str = "grant";
/// Wei of a gwei.
const GWEI: u64 = 1_000_000_000;

/// Port: what the owner has signed since the last tick. Whatever comes in this way is verified before it counts.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Grants, in the order in which they came.
    async fn grants(&self) -> Result<Vec<Delegation>, BoxError>;

    /// One of them was looked at, and what came of it in words.
    async fn answered(&self, grant: &Delegation, words: &str) -> Result<(), BoxError>;

    /// Waits until something came that was not there before. Where nobody is told of that, it is found with the next tick.
    async fn came(&self) {
        std::future::pending().await
    }

    /// Whether the owner said that the end of its grants is his will for it to die. It is no authority: he revokes them on chain.
    async fn end_asked(&self) -> Result<bool, BoxError> {
        Ok(false)
    }

    /// The key that the owner wants replaced, if he does. It is no authority either: the grant of the next one is his to sign.
    async fn rotation_asked(&self) -> Result<Option<Address>, BoxError> {
        Ok(None)
    }

    /// A wallet's answer to a request for running costs, if he sent one. It counts by the signature in it.
    async fn runway(&self) -> Result<Option<SentRunway>, BoxError> {
        Ok(None)
    }

    /// It was looked at, and what came of it in words.
    async fn runway_answered(&self, _runway: &SentRunway, _words: &str) -> Result<(), BoxError> {
        Ok(())
    }

    /// Whatever woke it was looked at; so was what he wants of its key.
    async fn noticed(&self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl Golem {
    /// Takes what its owner signed, and goes on with a rotation that he agreed to.
    pub(crate) async fn go_on_with_keys(&mut self, now: u64) -> Result<(), TickError> {
        self.adopt_policy().await?;
        if let Some(inbox) = self.inbox.clone() {
            for grant in inbox.grants().await.map_err(TickError::Inbox)? {
                let words = self.take(grant.clone(), now).await?;
                inbox.answered(&grant, &words).await.map_err(TickError::Inbox)?;
            }
        }
        let rotations = Rotations::new(self.store.as_ref(), &self.keys);
        if let Some(Rotation::Granted { old, .. }) = rotations.resume(now).await?
            && let Switching::Done(_, grant) = rotations.switch(self.store.as_ref(), now).await?
        {
            self.adopt(*grant).await?;
            self.tell_of_wiped(old, ExpiryKind::Relinquished, now).await?;
            self.tell_of_keys(None, now).await?;
        }
        self.note_key(now);
        if let Some(inbox) = self.inbox.clone() {
            // Behind the rotation: it is for the key that is in use then.
            if let Some(sent) = inbox.runway().await.map_err(TickError::Inbox)? {
                let words = self.take_runway(&sent, now).await?;
                inbox.runway_answered(&sent, &words).await.map_err(TickError::Inbox)?;
            }
            let asked = inbox.rotation_asked().await.map_err(TickError::Inbox)?;
            // Of a key that is not in use any more it was asked before: that rotation is done.
            let is_its = asked == Some(self.grant.delegate) && self.keys.current().await == asked;
            // One that dies needs no other key.
            if is_its && !self.is_dying().await? {
                self.begin_rotation(RotationReason::Asked, now).await?;
            }
            inbox.noticed().await.map_err(TickError::Inbox)?;
        }
        Ok(())
    }

    /// Since when its key is the one in use. After a crash behind a rotation it is the next tick that notices.
    fn note_key(&mut self, now: u64) {
        let key = self.grant.delegate;
        let first = || Keyed { key, at: self.charter.window.start().max(self.life.born), ticks: 0 };
        self.life.keyed = Some(match self.life.keyed {
            Some(same) if same.key == key => same,
            Some(_) => Keyed { key, at: now, ticks: self.life.ticks },
            None => first(),
        });
    }

    /// Has the next key born, and asks the owner for its grant. Asked before, it is the same.
    async fn begin_rotation(&self, reason: RotationReason, now: u64) -> Result<(), TickError> {
        let rotations = Rotations::new(self.store.as_ref(), &self.keys);
        // He has signed for it already, and it follows when nothing of the old one is afloat.
        if let Some(Rotation::Granted { .. }) = rotations.resume(now).await? {
            return Ok(());
        }
        let _ = rotations.begin(reason, &self.grant, &environment(), now).await?;
        Ok(())
    }

    /// One grant of the owner's: for the key in use it takes the older one's place, for the next one it lets that follow.
    async fn take(&mut self, signed: Delegation, now: u64) -> Result<String, TickError> {
        let domain = self.domain();
        if self.keys.current().await != Some(signed.delegate) {
            let rotations = Rotations::new(self.store.as_ref(), &self.keys);
            // Also of one that dies: it may be the only key that can settle.
            return Ok(match rotations.granted(signed, self.owner, &domain, now).await {
                Ok(()) => "the next key may follow".to_owned(),
                Err(refused) => refused.to_string(),
            });
        }
        // Of a key without a grant it is what settles; for one that has its grant it is a Feed (SPEC D13).
        if self.grant.delegate == signed.delegate && self.is_dying().await? {
            return Ok("its death is accepted, and it takes no Feed any more: nothing was adopted"
                .to_owned());
        }
        let at = environment();
        let charter = match Grant::read(&signed, &at) {
            Ok(grant) => grant.charter().clone(),
            Err(refused) => return Ok(refused.to_string()),
        };
        if charter.golem_id != self.id || charter.account != self.charter.account {
            return Ok("it is a grant of another Golem, or of another account".to_owned());
        }
        if charter.epoch <= self.charter.epoch {
            return Ok(format!(
                "it has number {}, and {} is in use: only a higher one takes its place",
                charter.epoch, self.charter.epoch
            ));
        }
        if let Err(refused) = domain.verify(&signed, self.owner) {
            return Ok(refused.to_string());
        }
        let kept = self.store.load(RENEWED).await.map_err(TickError::Books)?;
        let value =
            serde_json::to_value(&signed).map_err(|error| TickError::Books(error.into()))?;
        let version = kept.map_or(0, |step| step.version);
        self.store.advance(RENEWED, version, &value, now).await.map_err(TickError::Books)?;
        self.adopt(signed).await?;
        Ok("it is in use".to_owned())
    }

    /// What the owner's wallet granted for running costs: it takes the older one's place if it is for the key in use.
    async fn take_runway(&self, sent: &SentRunway, now: u64) -> Result<String, TickError> {
        if self.is_dying().await? {
            let words =
                "its death is accepted, and it pays no running costs any more: nothing was taken";
            return Ok(words.to_owned());
        }
        let Some(session) = self.keys.current().await else {
            return Ok("it has no key: nothing was taken".to_owned());
        };
        let environment = environment();
        let expected = Expected { session, manager: DELEGATION_MANAGER, environment: &environment };
        let granted = match Granted::check(&sent.answer, expected) {
            Ok(granted) => granted,
            Err(refused) => return Ok(refused.to_string()),
        };
        let of = RunwayFor { chain_id: self.node.chain_id(), owner: self.owner, session };
        let limits = RunwayLimits::of(self.charter.settlement_asset);
        let limits = (!sent.beyond_limits).then_some(&limits);
        let runway = match Runway::take(&granted, &of, limits, now) {
            Ok(runway) => runway,
            Err(refused) => return Ok(refused.to_string()),
        };
        Runways::new(self.store.as_ref()).keep(&runway, now).await?;
        Ok("it is in use".to_owned())
    }

    pub(crate) const fn domain(&self) -> SigningDomain {
        SigningDomain { chain_id: self.node.chain_id(), manager: DELEGATION_MANAGER }
    }

    /// Lives by another grant from here on.
    async fn adopt(&mut self, grant: Delegation) -> Result<(), TickError> {
        let at = environment();
        self.charter = Grant::read(&grant, &at).map_err(TickError::Adopted)?.charter().clone();
        let context = PermissionContext::new(vec![grant.clone()]);
        self.context = context.map_err(|error| TickError::Books(error.into()))?;
        self.grant = grant;
        self.take_its_lane().await?;
        Ok(())
    }

    /// Running costs, gas money, and a key that has done its part.
    pub(crate) async fn step_sustain(
        &mut self,
        next: &mut Life,
        sensed: &Sensed,
        now: u64,
    ) -> Result<(), TickError> {
        self.top_up(next, sensed, now).await?;
        if !next.is_sparing()
            && now.saturating_sub(next.paid_at) >= DAY
            && let Some(runway) = Runways::new(self.store.as_ref()).at().await?
        {
            // What was refused, or is not settled, is the same day's still.
            if self.pay(next, &runway, now).await? {
                next.paid_at = now;
            }
        }
        self.rotate_if_due(next, now).await
    }

    /// Gas money from the owner's account, where it has coins: up to the ceiling that he signed, and no more a day than that (SPEC C19).
    async fn top_up(
        &mut self,
        next: &mut Life,
        sensed: &Sensed,
        now: u64,
    ) -> Result<(), TickError> {
        // A local key is bounded to what its daily sum counts: its owner pays for its gas (SPEC K6).
        if !self.charter.classes.contains(Class::GasTopUp)
            || next.pending.iter().any(|pending| pending.aim == Aim::Gas)
        {
            return Ok(());
        }
        let wei = |gwei: u64| U256::from(gwei).saturating_mul(U256::from(GWEI));
        let ceiling = wei(self.charter.gas_ceiling);
        // One that has less than its death costs asks for more than half, too.
        if sensed.key_balance >= ceiling / U256::from(2) && !next.is_sparing() {
            return Ok(());
        }
        let room = ceiling.saturating_sub(sensed.key_balance);
        let most = room.min(wei(self.charter.gas_daily_cap));
        // A hundredth less than all: the charter counts in steps, and the block's own gas comes back to the purse.
        let value = most - most / U256::from(100);
        if value.is_zero() || self.node.balance(self.charter.account).await? < value {
            return Ok(());
        }
        let call = Execution { target: self.grant.delegate, value, data: Bytes::new() };
        // What is refused is known by its event, and tried again with the next tick.
        let wanted = (self.name("gas", 0), vec![call], "gas money".to_owned());
        let _ = self.act_or_ask(next, Aim::Gas, wanted, now).await?;
        Ok(())
    }

    /// Pays what a day costs to whom the owner named, as far as the phase lets it (SPEC T3, D25). Whether nothing of that day is left.
    ///
    /// Each payment has a name of its day and its payee: tried again in a later tick, it is the same one.
    async fn pay(&self, next: &mut Life, runway: &Runway, at: u64) -> Result<bool, TickError> {
        let phase = next.phase;
        let Some(token) = runway.token else { return Ok(true) };
        // What takes its place may be on its way: the day's costs are that day's still.
        if let Some(why) = unusable(runway, self.grant.delegate, at) {
            self.tell_of_no_runway(next.born, why, at).await?;
            return Ok(false);
        }
        // Costs are dollars of six decimals, as what it settles in is; a base unit of something else is another sum.
        let dollar = self.charter.settlement_asset;
        if token != dollar {
            let why = format!("its runway is in {token}, and costs are reckoned in {dollar}");
            let denial = Denial::new(DenialCode::PolicyAsset, why);
            self.refused(self.name("runway", 0), &denial).await?;
            return Ok(true);
        }
        let context = PermissionContext::decode(&runway.context);
        let context = &context.map_err(|error| TickError::Books(error.into()))?;
        let cap = runway.per_day;
        let seen = observe(&self.node, DELEGATION_MANAGER, context, &[]).await?;
        let enforcer = environment().enforcer(Kind::Erc20PeriodTransfer).unwrap_or_default();
        let counted = seen.facts.counters.get(&(context.leaf().hash().0, enforcer));
        // What the enforcer does not say is taken to be all (INV-4).
        let mut spent = counted.copied().unwrap_or(cap);
        let mut whole = true;
        for payee in &self.payees {
            let cost = match payee.purpose {
                Purpose::Inference => self.costs.inference,
                Purpose::Compute => self.costs.compute,
                Purpose::Data => self.costs.data,
            };
            let now = RunningCosts { token, cap, spent, payees: self.payees.clone(), phase };
            let amount = U256::from(cost).min(now.redeemable());
            if amount.is_zero() || !now.pays(payee.purpose) {
                continue;
            }
            let data = Erc20::transferCall { to: payee.address, amount }.abi_encode();
            let call = Execution { target: token, value: U256::ZERO, data: data.into() };
            let Some(intent) = self.unpaid(next.paid_at, payee).await? else { continue };
            let redemption = Redemption::single(DELEGATION_MANAGER, context.clone(), &call);
            let about = format!("running cost: {:?}", payee.purpose);
            let judged = match Proposed::new(intent, redemption).about(about).pay(&now) {
                Judgement::Permitted(judged) => judged,
                Judgement::Refused(denials) => {
                    for denial in &denials {
                        self.refused(intent, denial).await?;
                    }
                    whole = false;
                    continue;
                }
            };
            let left = RunningCosts { spent: spent.saturating_add(amount), ..now }.redeemable();
            let base = |amount: U256| u64::try_from(amount).unwrap_or(u64::MAX);
            let (redeemed, remaining) = (base(amount), base(left));
            let event = GolemEvent::RunwayRedeemed { intent, redeemed, remaining, phase };
            self.promise(next, false, vec![Owed { intent, event }], at).await?;
            crash::at("sustenance.promised");
            let outcome = self.land(judged).await?;
            crash::at("sustenance.paid");
            self.keep_word(next, at).await?;
            crash::at("sustenance.told");
            if outcome == Outcome::Done {
                spent = spent.saturating_add(amount);
            } else {
                whole = false;
            }
        }
        Ok(whole)
    }

    /// Why nothing is paid: once for each day of its life, however often it looks.
    async fn tell_of_no_runway(&self, born: u64, reason: String, at: u64) -> Result<(), TickError> {
        let day = at.saturating_sub(born) / DAY;
        let parts = [b"bardo no runway ".as_slice(), self.id.as_slice(), &day.to_be_bytes()];
        let event = GolemEvent::IntentRefused {
            intent: IntentId(keccak256(parts.concat())),
            code: DenialCode::NotTheDelegate.to_string(),
            reason,
            enforcer: None,
        };
        self.fabric.emit_once(&format!("unpaid.{day}"), &event, at).await?;
        Ok(())
    }

    /// The name of a day's payment that is still to be made; none where it was.
    async fn unpaid(&self, since: u64, payee: &Payee) -> Result<Option<IntentId>, TickError> {
        let purpose = format!("{:?}", payee.purpose);
        let parts = [
            b"bardo runway ".as_slice(),
            self.id.as_slice(),
            &since.to_be_bytes(),
            payee.address.as_slice(),
            purpose.as_bytes(),
        ];
        let mut name = IntentId(keccak256(parts.concat()));
        loop {
            match self.store.ended(name).await.map_err(TickError::Books)? {
                None => return Ok(Some(name)),
                Some(Ending::Done { .. }) => return Ok(None),
                Some(_) => name = name.again(),
            }
        }
    }

    /// Asks the owner for the grant of a next key when a rule says so. While he is away the old one works on (SPEC D11).
    async fn rotate_if_due(&self, next: &Life, now: u64) -> Result<(), TickError> {
        let window = &self.charter.window;
        let key = self.grant.delegate;
        let spent = self.store.spent(key, now).await.map_err(TickError::Books)?.session;
        let keyed = next.keyed.filter(|keyed| keyed.key == key);
        let granted = granted(&self.charter);
        let since = keyed.map_or_else(|| window.start().max(next.born), |keyed| keyed.at);
        let used = KeyUse {
            since,
            operations: self.store.signatures(key, since).await?,
            granted: Some(granted),
            left: granted.saturating_sub(spent.into()),
        };
        self.tell_of_budget(&used, now).await?;
        if let Some(reason) = RotationPolicy::default().due(&used, now) {
            self.begin_rotation(reason, now).await?;
        }
        Ok(())
    }
}

/// Why this key pays nothing by a runway; none where it may.
fn unusable(runway: &Runway, key: Address, now: u64) -> Option<String> {
    let Runway { session, expires_at, .. } = runway;
    let why = if *session == key {
        (*expires_at <= now).then(|| format!("ended at second {expires_at}"))
    } else {
        Some(format!("is for the key {session}, and its key is {key}"))
    }?;
    Some(format!(
        "its runway {why}: no running costs are paid until its owner's wallet grants another"
    ))
}

/// All that a grant lets its key spend, in micro-dollars: the cap of a period, for each period that its window has, the last one in
/// part. A window that is shorter than one has the whole cap.
fn granted(charter: &GolemCharter) -> u128 {
    let GolemCharter { window, spend_cap, bucket_minutes, .. } = charter;
    let (cap, seconds) =
        (u128::from(*spend_cap), u128::from(window.end().saturating_sub(window.start())));
    let period = u128::from(*bucket_minutes)
        .saturating_mul(u128::from(SpendTerms::PERIOD_BUCKETS))
        .saturating_mul(60);
    let all = cap.saturating_mul(seconds).checked_div(period);
    // No period is no form of a charter, and no bound.
    all.unwrap_or(u128::MAX).max(cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;
    use golem_delegation::terms::{Classes, Listing, MortalityTimeWindow};

    fn charter(days: u64, bucket_minutes: u16) -> GolemCharter {
        GolemCharter {
            golem_id: B256::ZERO,
            owner: Address::ZERO,
            epoch: 1,
            generation: 0,
            registry: Address::ZERO,
            account: Address::ZERO,
            beneficiary: Address::ZERO,
            agent_key: Address::ZERO,
            replicants: false,
            classes: Classes::ALL,
            window: MortalityTimeWindow::new(1_000, 1_000 + days * DAY).unwrap(),
            spend_cap: 700,
            bucket_minutes,
            slippage_bps: 100,
            vault: Address::ZERO,
            nav_bps: 0,
            nav_cap: 1,
            staleness: 0,
            gas_ceiling: 1,
            gas_daily_cap: 1,
            settlement_asset: Address::ZERO,
            max_royalty_bps: None,
            mood: None,
            listing: Listing::default(),
        }
    }

    #[test]
    fn a_grant_is_its_cap_for_each_period_whatever_a_period_is() {
        for (days, bucket_minutes, granted_in_all) in [
            // A day is a period.
            (30, SpendTerms::DAY, 30 * 700),
            // An hour is one: twenty-four times as much.
            (30, 5, 30 * 24 * 700),
            // A week is: what is left of one counts in part.
            (30, 7 * SpendTerms::DAY, 3_000),
            // Longer than the window: one cap, and no less.
            (1, 7 * SpendTerms::DAY, 700),
        ] {
            let granted = granted(&charter(days, bucket_minutes));
            assert_eq!(granted, granted_in_all, "{days} days of {bucket_minutes} minutes");
        }
    }

    #[test]
    fn a_tenth_is_left_at_nine_tenths_of_a_grant_of_hours() {
        let granted = granted(&charter(30, 5));
        let used = |left| KeyUse { since: 1_000, operations: 0, granted: Some(granted), left };
        let due = |left| RotationPolicy::default().due(&used(left), 2_000);

        // More than the whole of what the same cap is by the day, and most of it is there still.
        assert_eq!(due(granted - 30 * 700), None);
        assert_eq!(due(granted / 10 + 1), None);
        assert_eq!(due(granted / 10), Some(RotationReason::Budget));
    }
}

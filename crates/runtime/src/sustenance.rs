//! What keeps a Golem going: grants that its owner signed, keys that follow each other, running costs, gas money.

use crate::{Golem, GolemEvent, Life, Outcome, TickError, heartbeat::Sensed};
use alloy_primitives::{Bytes, U256};
use alloy_sol_types::SolCall as _;
use async_trait::async_trait;
use bardo_bindings::{defi::Erc20, framework::DELEGATION_MANAGER};
use golem_chain::{environment, observe};
use golem_custody::{
    Books as _, BoxError, Execution, Judgement, KeyUse, Keyring as _, Proposed, Purpose,
    Redemption, Rotation, RotationPolicy, Rotations, RunningCosts, Runway, Runways, Steps as _,
    Switching,
};
use golem_delegation::{
    Delegation, Kind, PermissionContext, SigningDomain,
    grant::{Grant, Phase},
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
}

impl Golem {
    /// Takes what its owner signed, and goes on with a rotation that he agreed to.
    pub(crate) async fn go_on_with_keys(&mut self, now: u64) -> Result<(), TickError> {
        if let Some(inbox) = self.inbox.clone() {
            for grant in inbox.grants().await.map_err(TickError::Inbox)? {
                let words = self.take(grant.clone(), now).await?;
                inbox.answered(&grant, &words).await.map_err(TickError::Inbox)?;
            }
        }
        let rotations = Rotations::new(self.store.as_ref(), &self.keys);
        if let Some(Rotation::Granted { .. }) = rotations.resume(now).await?
            && let Switching::Done(_, grant) = rotations.switch(self.store.as_ref(), now).await?
        {
            self.adopt(*grant).await?;
        }
        Ok(())
    }

    /// One grant of the owner's: for the key in use it takes the older one's place, for the next one it lets that follow.
    async fn take(&mut self, signed: Delegation, now: u64) -> Result<String, TickError> {
        let domain = self.domain();
        if self.keys.current().await != Some(signed.delegate) {
            let rotations = Rotations::new(self.store.as_ref(), &self.keys);
            return Ok(match rotations.granted(signed, self.owner, &domain, now).await {
                Ok(()) => "the next key may follow".to_owned(),
                Err(refused) => refused.to_string(),
            });
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
        &self,
        next: &mut Life,
        sensed: &Sensed,
        now: u64,
    ) -> Result<(), TickError> {
        self.top_up(sensed).await?;
        if now.saturating_sub(next.paid_at) >= DAY
            && let Some(runway) = Runways::new(self.store.as_ref()).at().await?
        {
            self.pay(&runway, next.phase).await?;
            next.paid_at = now;
        }
        self.rotate_if_due(next, now).await
    }

    /// Gas money from the owner's account, where it has coins: up to the ceiling that he signed, and no more a day than that (SPEC C19).
    async fn top_up(&self, sensed: &Sensed) -> Result<(), TickError> {
        let wei = |gwei: u64| U256::from(gwei).saturating_mul(U256::from(GWEI));
        let ceiling = wei(self.charter.gas_ceiling);
        if sensed.key_balance >= ceiling / U256::from(2) {
            return Ok(());
        }
        let most = (ceiling - sensed.key_balance).min(wei(self.charter.gas_daily_cap));
        // A hundredth less than all: the charter counts in steps, and the block's own gas comes back to the purse.
        let value = most - most / U256::from(100);
        if value.is_zero() || self.node.balance(self.charter.account).await? < value {
            return Ok(());
        }
        let call = Execution { target: self.grant.delegate, value, data: Bytes::new() };
        // What is refused is known by its event, and tried again with the next tick.
        let _ = self.act(self.name("gas", 0), &[call], "gas money").await?;
        Ok(())
    }

    /// Pays what a day costs to whom the owner named, as far as the phase lets it (SPEC T3, D25).
    async fn pay(&self, runway: &Runway, phase: Phase) -> Result<(), TickError> {
        let Some(token) = runway.token else { return Ok(()) };
        // A grant for another key is of one that is gone.
        if runway.session != self.grant.delegate {
            return Ok(());
        }
        let context = PermissionContext::decode(&runway.context);
        let context = &context.map_err(|error| TickError::Books(error.into()))?;
        let cap = runway.per_day;
        let seen = observe(&self.node, DELEGATION_MANAGER, context, &[]).await?;
        let enforcer = environment().enforcer(Kind::Erc20PeriodTransfer).unwrap_or_default();
        let counted = seen.facts.counters.get(&(context.leaf().hash().0, enforcer));
        // What the enforcer does not say is taken to be all (INV-4).
        let mut spent = counted.copied().unwrap_or(cap);
        for (number, payee) in self.payees.iter().enumerate() {
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
            let intent = self.name("runway", number);
            let redemption = Redemption::single(DELEGATION_MANAGER, context.clone(), &call);
            let about = format!("running cost: {:?}", payee.purpose);
            let outcome = match Proposed::new(intent, redemption).about(about).pay(&now) {
                Judgement::Permitted(judged) => self.land(judged).await?,
                Judgement::Refused(denials) => {
                    for denial in &denials {
                        self.refused(intent, denial).await?;
                    }
                    Outcome::Refused(denials)
                }
            };
            if outcome == Outcome::Done {
                spent = spent.saturating_add(amount);
                let left = RunningCosts { spent, ..now }.redeemable();
                let base = |amount: U256| u64::try_from(amount).unwrap_or(u64::MAX);
                let (redeemed, remaining) = (base(amount), base(left));
                self.tell(GolemEvent::RunwayRedeemed { intent, redeemed, remaining, phase })
                    .await?;
            }
        }
        Ok(())
    }

    /// Asks the owner for the grant of a next key when a rule says so. While he is away the old one works on (SPEC D11).
    async fn rotate_if_due(&self, next: &Life, now: u64) -> Result<(), TickError> {
        let window = &self.charter.window;
        let days = window.end().saturating_sub(window.start()) / DAY;
        let granted = u128::from(self.charter.spend_cap).saturating_mul(u128::from(days.max(1)));
        let key = self.grant.delegate;
        let spent = self.store.spent(key, now).await.map_err(TickError::Books)?.session;
        let used = KeyUse {
            since: window.start().max(next.born),
            operations: next.ticks,
            granted: Some(granted),
            left: granted.saturating_sub(spent.into()),
        };
        if let Some(reason) = RotationPolicy::default().due(&used, now) {
            let rotations = Rotations::new(self.store.as_ref(), &self.keys);
            let _ = rotations.begin(reason, &self.grant, &environment(), now).await?;
        }
        Ok(())
    }
}

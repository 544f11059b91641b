//! Nobody may take anything any more, and what is left goes to the owner.

use super::{Deed, GrantedEstate, Stop, Undone, execution};
use crate::snapshot::{Snapshot, said};
use alloy::primitives::{Address, U256};
use bardo_bindings::defi::Erc20;
use golem_custody::{
    Asset, DeferredPosition, Holding, IntentId, Positions, SessionSigner, SweepOrder,
};
use golem_delegation::terms::Role;

/// Gas that the key keeps for what it has to say after its money is home: that the Golem settled, and that it is closed.
const LAST_GAS: u64 = 1_000_000;
/// How often over it keeps what that costs now: the price moves until then.
const MARGIN: u64 = 2;

/// Gas whose price stays with the key when everything is said: what a last transaction costs, with what a rollup charges for its data.
const PURSE_GAS: u64 = 250_000;

/// Everything that can hold an allowance of the account's.
const SPENDERS: [Role; 4] =
    [Role::SwapRouter, Role::SwapRouter02, Role::PositionManager, Role::Vault];

impl<K: SessionSigner> GrantedEstate<'_, K> {
    pub(super) async fn disallows(&self, effect: IntentId) -> Result<(), Stop> {
        self.looks_back().await?;
        self.is_dying().await?;
        let deeds: Vec<Deed> = self
            .allowances()
            .await?
            .into_iter()
            .map(|(token, spender, _)| Deed {
                what: format!("allowance {token} {spender}"),
                ends: Vec::new(),
                calls: vec![execution(token, &Erc20::approveCall { spender, amount: U256::ZERO })],
            })
            .collect();
        // What stays open is said when all goes home: the chain is asked once more.
        let _: Vec<(Deed, Undone)> = self.does_all(effect, "allowances", deeds).await?;
        Ok(())
    }

    /// Every allowance that there is, by asking each token about each spender: a log that a node leaves out hides none.
    async fn allowances(&self) -> Result<Vec<(Address, Address, U256)>, Stop> {
        let on = Snapshot::newest(self.node()).await?;
        let owner = self.account();
        let mut open = Vec::new();
        let spenders = self.listed(&SPENDERS);
        for token in self.tokens().into_iter().chain(self.listed(&[Role::Vault])) {
            for spender in &spenders {
                let allowed = Erc20::allowanceCall { owner, spender: *spender };
                let allowed = said(on.read(token, allowed).await)?.unwrap_or_default();
                if !allowed.is_zero() {
                    open.push((token, *spender, allowed));
                }
            }
        }
        Ok(open)
    }

    pub(super) async fn brings_home(
        &self,
        effect: IntentId,
        order: &SweepOrder,
    ) -> Result<Positions, Stop> {
        self.looks_back().await?;
        let mut deferred = Vec::new();
        if self.sweeps() {
            self.is_dying().await?;
            self.sweeps_account(effect, order, &mut deferred).await?;
        }
        for (token, spender, amount) in self.allowances().await? {
            let reason = format!("{spender} may still take so much of it: set it to zero");
            let of = Holding::Token(token);
            deferred.push(DeferredPosition { of, amount, reason, transaction: None });
        }
        self.empties_key(effect, order.reserve, &mut deferred).await?;
        Ok(Positions { settled: self.ended(effect).await?, deferred })
    }

    /// All that is listed leaves the account. Nothing of it needs a price.
    async fn sweeps_account(
        &self,
        effect: IntentId,
        order: &SweepOrder,
        deferred: &mut Vec<DeferredPosition>,
    ) -> Result<(), Stop> {
        let (account, to) = (self.account(), self.charter.beneficiary);
        let on = Snapshot::newest(self.node()).await?;
        let mut deeds = Vec::new();
        for token in self.tokens().into_iter().chain(self.listed(&[Role::Vault])) {
            // What was said to stay open stays where it is.
            if order.unclosed.iter().any(|one| one.of == Holding::Token(token)) {
                continue;
            }
            let held = said(on.read(token, Erc20::balanceOfCall { account }).await)?;
            let Some(amount) = held else {
                let (of, Undone { reason, transaction }) =
                    (Holding::Token(token), Undone::silent());
                deferred.push(DeferredPosition { of, amount: U256::ZERO, reason, transaction });
                continue;
            };
            if amount.is_zero() {
                continue;
            }
            deeds.push(Deed {
                what: format!("home {token}"),
                ends: vec![(Holding::Token(token), amount)],
                calls: vec![execution(token, &Erc20::transferCall { to, amount })],
            });
        }
        for (deed, Undone { reason, transaction }) in self.does_all(effect, "home", deeds).await? {
            deferred.extend(deed.ends.into_iter().map(|(of, amount)| DeferredPosition {
                of,
                amount,
                reason: reason.clone(),
                transaction,
            }));
        }
        let coins = self.node().balance(account).await?;
        if !coins.is_zero() {
            let reason = "coins leave the account as wrapped ones, and could not be wrapped";
            deferred.push(DeferredPosition {
                of: Holding::Native,
                amount: coins,
                reason: reason.to_owned(),
                transaction: None,
            });
        }
        Ok(())
    }

    /// What the key has of its own: gas money, and runway that was not used (SPEC C19, D25). It keeps what its last words cost.
    async fn empties_key(
        &self,
        effect: IntentId,
        reserve: U256,
        deferred: &mut Vec<DeferredPosition>,
    ) -> Result<(), Stop> {
        let key = self.lane.sender();
        let on = Snapshot::newest(self.node()).await?;
        let mut own = Vec::new();
        for token in self.tokens().into_iter().chain(self.paid_in.clone()) {
            let held = said(on.read(token, Erc20::balanceOfCall { account: key }).await)?;
            if let Some(amount) = held.filter(|held| !held.is_zero()) {
                own.push((Holding::Token(token), Asset::Erc20(token), amount));
            }
        }
        own.dedup();
        for one in own {
            self.sends_or_defers(effect, one, deferred).await?;
        }
        // Last: the others are paid from it.
        let plan = self.node().plan(key).await?;
        let kept = U256::from(LAST_GAS)
            .saturating_mul(U256::from(plan.max_fee_per_gas))
            .saturating_mul(U256::from(MARGIN))
            .saturating_add(reserve);
        let amount = plan.balance.saturating_sub(kept);
        if !amount.is_zero() {
            self.sends_or_defers(effect, (Holding::Native, Asset::Native, amount), deferred)
                .await?;
        }
        Ok(())
    }

    /// What the last words did not cost goes home too, where it is worth a transaction. The manifest is on the chain by then, and says
    /// nothing of it; and no death waits for it.
    pub(super) async fn empties_purse(&self, effect: IntentId) -> Result<(), Stop> {
        let plan = self.node().plan(self.lane.sender()).await?;
        let kept = U256::from(PURSE_GAS).saturating_mul(U256::from(plan.max_fee_per_gas));
        let amount = plan.balance.saturating_sub(kept);
        if amount <= kept {
            return Ok(());
        }
        match self.sends_own(effect, (Holding::Native, Asset::Native, amount)).await {
            Ok(_) | Err(Stop::Halted(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    async fn sends_or_defers(
        &self,
        effect: IntentId,
        one: (Holding, Asset, U256),
        deferred: &mut Vec<DeferredPosition>,
    ) -> Result<(), Stop> {
        let (of, _, amount) = one;
        if let Err(Undone { reason, transaction }) = self.sends_own(effect, one).await? {
            deferred.push(DeferredPosition { of, amount, reason, transaction });
        }
        Ok(())
    }
}

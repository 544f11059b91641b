use super::{
    Answered, Balance, BardoManifest, DeferredPosition, EmbeddedWallet, Holding, Permit,
    PermittedTransaction, RiskBounds, SettledPosition, WalletError, WalletId, WalletService,
    WalletTransaction, bounds::transfer_to, manifest::decimal,
};
use crate::{
    Asset, BoxError, ClearingPolicy, Denial, DenialCode, Receipt, SignedTransaction, Step, Steps,
    Submit, TransactionPlan, given,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a plain payment takes. Nothing is added to it: what is not used of a ceiling stays in the wallet.
const PLAIN: u64 = 21_000;
/// How often somebody else's transaction in the same place is put up with.
const ATTEMPTS: u32 = 3;

/// What a call would take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gas {
    /// So much gas.
    Units(u64),
    /// It would fail.
    Reverts,
}

/// Port: what a sweep reads of the chain.
#[async_trait]
pub trait Purse: Send + Sync {
    /// What an account holds on the newest block; none if a token does not say so.
    async fn held(&self, asset: Asset, account: Address) -> Result<Option<U256>, BoxError>;

    /// What a call would take.
    async fn gas(
        &self,
        from: Address,
        to: Address,
        value: U256,
        data: &Bytes,
    ) -> Result<Gas, BoxError>;

    /// What became of a transaction, if it is in a block.
    async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, BoxError>;
}

/// What a death leaves to be swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepOrder {
    /// Whose wallet it is.
    pub golem: B256,
    /// What was closed before, for the manifest.
    pub closed: Vec<SettledPosition>,
    /// What could not be closed, for the manifest.
    pub unclosed: Vec<DeferredPosition>,
    /// Wei that stay in the wallet beyond gas: rollups take a fee for the bytes too.
    pub reserve: U256,
}

/// How far a sweep came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swept {
    /// To its end.
    Done(BardoManifest),
    /// The wallet cannot sign now; the same sweep goes on later.
    Halted(Denial),
}

/// A sweep did not get to its end. What was done is written down, and the same sweep goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The books.
    #[error("the sweep of {wallet} could not be written down")]
    Steps {
        /// Which wallet.
        wallet: WalletId,
        /// Why.
        source: BoxError,
    },
    /// The chain.
    #[error("the chain could not be asked for the sweep of {wallet}")]
    Chain {
        /// Which wallet.
        wallet: WalletId,
        /// Why.
        source: BoxError,
    },
    /// The service.
    #[error("the wallet service could not be asked for the sweep of {wallet}")]
    Wallet {
        /// Which wallet.
        wallet: WalletId,
        /// Why.
        source: WalletError,
    },
    /// What is written down is of another sweep.
    #[error("what is written down of the sweep of {wallet} is not of this one; nothing was signed")]
    Another {
        /// Which wallet.
        wallet: WalletId,
    },
}

/// Where a holding is on its way to the owner. Each arrow is one durable step.
///
/// `Waiting → Asked → Signed → Settled`; from each of the first three also `→ Deferred`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", deny_unknown_fields)]
enum Way {
    Waiting,
    /// This transaction, and no other, is asked for.
    Asked {
        transaction: WalletTransaction,
    },
    /// It is signed. Only from here is anything sent, and only these bytes.
    Signed {
        transaction: WalletTransaction,
        hash: B256,
        raw: Bytes,
    },
    Settled {
        transaction: B256,
        block: u64,
    },
    Deferred {
        reason: String,
        transaction: Option<B256>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Leg {
    of: Holding,
    #[serde(with = "decimal")]
    amount: U256,
    displaced: u32,
    way: Way,
}

/// What is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Progress {
    golem: B256,
    wallet: Address,
    chain_id: u64,
    beneficiary: Address,
    began_at: u64,
    before: Vec<Balance>,
    closed: Vec<SettledPosition>,
    unclosed: Vec<DeferredPosition>,
    legs: Vec<Leg>,
    manifest: Option<BardoManifest>,
}

/// What is to be done next: the first leg that is not at its end.
enum Task {
    Plan(usize, Holding),
    Sign(usize, WalletTransaction),
    Send(usize, WalletTransaction, SignedTransaction),
    Conclude,
    Nothing(BardoManifest),
}

impl Progress {
    /// Tokens first: the coin pays for them.
    fn begin(
        order: &SweepOrder,
        wallet: Address,
        chain_id: u64,
        beneficiary: Address,
        found: Vec<(Holding, Option<U256>)>,
        at: u64,
    ) -> Self {
        let silent = |of| Leg {
            of,
            amount: U256::ZERO,
            displaced: 0,
            way: Way::Deferred {
                reason: "the token does not say what the wallet holds".into(),
                transaction: None,
            },
        };
        let mut found = found;
        found.sort_by_key(|(of, _)| *of == Holding::Native);
        let before = found
            .iter()
            .filter_map(|(of, held)| held.map(|amount| Balance { of: *of, amount }))
            .collect();
        let legs = found
            .into_iter()
            .filter_map(|(of, held)| match held {
                None => Some(silent(of)),
                Some(amount) if amount.is_zero() => None,
                Some(amount) => Some(Leg { of, amount, displaced: 0, way: Way::Waiting }),
            })
            .collect();
        Self {
            golem: order.golem,
            wallet,
            chain_id,
            beneficiary,
            began_at: at,
            before,
            closed: order.closed.clone(),
            unclosed: order.unclosed.clone(),
            legs,
            manifest: None,
        }
    }

    fn next(&self, wallet: Address) -> Task {
        if let Some(manifest) = &self.manifest {
            return Task::Nothing(manifest.clone());
        }
        for (index, leg) in self.legs.iter().enumerate() {
            match &leg.way {
                Way::Waiting => return Task::Plan(index, leg.of),
                Way::Asked { transaction } => return Task::Sign(index, transaction.clone()),
                Way::Signed { transaction, hash, raw } => {
                    let signed = SignedTransaction { hash: *hash, raw: raw.clone(), from: wallet };
                    return Task::Send(index, transaction.clone(), signed);
                }
                Way::Settled { .. } | Way::Deferred { .. } => {}
            }
        }
        Task::Conclude
    }

    fn conclude(&mut self, wallet_id: &WalletId, at: u64) {
        let mut settled = self.closed.clone();
        let mut deferred = self.unclosed.clone();
        for Leg { of, amount, way, .. } in &self.legs {
            let (of, amount) = (*of, *amount);
            match way {
                Way::Settled { transaction, block } => settled.push(SettledPosition {
                    of,
                    amount,
                    transaction: *transaction,
                    block: *block,
                }),
                Way::Deferred { reason, transaction } => deferred.push(DeferredPosition {
                    of,
                    amount,
                    reason: reason.clone(),
                    transaction: *transaction,
                }),
                // A sweep is concluded when no leg is on its way.
                Way::Waiting | Way::Asked { .. } | Way::Signed { .. } => return,
            }
        }
        self.manifest = Some(BardoManifest {
            version: BardoManifest::VERSION,
            golem: self.golem,
            wallet_id: wallet_id.clone(),
            wallet: self.wallet,
            chain_id: self.chain_id,
            beneficiary: self.beneficiary,
            balances_before: self.before.clone(),
            positions_settled: settled,
            positions_deferred: deferred,
            began_at: self.began_at,
            ended_at: at,
        });
    }
}

/// What is written down of a sweep, for whoever asks how far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepSoFar {
    /// To whom everything goes.
    pub beneficiary: Address,
    /// The tokens that were looked at when it began. It goes on with these.
    pub tokens: BTreeSet<Address>,
    /// How many holdings are on their way still.
    pub left: usize,
    /// Its last account, when it is done.
    pub manifest: Option<BardoManifest>,
}

impl SweepSoFar {
    /// Under which name a wallet's is written down.
    #[must_use]
    pub fn name(wallet: &WalletId) -> String {
        format!("sweep.{wallet}")
    }

    /// From what is written down there.
    pub fn read(value: Value) -> Result<Self, serde_json::Error> {
        let Progress { beneficiary, before, legs, manifest, .. } = serde_json::from_value(value)?;
        let held = before.iter().map(|balance| balance.of).chain(legs.iter().map(|leg| leg.of));
        let tokens = held.filter_map(|of| match of {
            Holding::Token(token) => Some(token),
            Holding::Native | Holding::Position { .. } => None,
        });
        let ended = |leg: &&Leg| matches!(leg.way, Way::Settled { .. } | Way::Deferred { .. });
        let left = legs.len().saturating_sub(legs.iter().filter(ended).count());
        Ok(Self { beneficiary, tokens: tokens.collect(), left, manifest })
    }
}

/// Sends what an embedded wallet holds to its owner, and to nobody else (SPEC K8, INV-9).
///
/// Every step is written down before its effect, and what is signed before it is sent: killed anywhere, the next process
/// goes on, and sends nothing twice.
#[expect(missing_debug_implementations, reason = "INV-2: it reaches a key")]
pub struct Sweep<'a, S> {
    /// What is swept.
    pub wallet: &'a EmbeddedWallet<S>,
    /// Its bounds: which tokens, and who the owner is.
    pub bounds: &'a RiskBounds,
    /// What a transaction may cost.
    pub policy: ClearingPolicy,
    /// Where steps are written down.
    pub steps: &'a dyn Steps,
    /// The way to the chain.
    pub submit: &'a dyn Submit,
    /// What is read of the chain.
    pub purse: &'a dyn Purse,
}

impl<S: WalletService> Sweep<'_, S> {
    /// Begins, or goes on. `roll` is a random number, for the wait if the service is away.
    pub async fn run(&self, order: &SweepOrder, now: u64, roll: u64) -> Result<Swept, SweepError> {
        let found = self.load(order, now).await?;
        self.goes_on(found, order, now, roll).await
    }

    /// The same; but behind a sweep that came to its end another begins, for what could not leave then, or came since.
    pub async fn run_anew(
        &self,
        order: &SweepOrder,
        now: u64,
        roll: u64,
    ) -> Result<Swept, SweepError> {
        let mut found = self.load(order, now).await?;
        if found.1.manifest.is_some() {
            found = self.begin(found.0, order, now).await?;
        }
        self.goes_on(found, order, now, roll).await
    }

    async fn goes_on(
        &self,
        (mut version, mut progress): (u64, Progress),
        order: &SweepOrder,
        now: u64,
        roll: u64,
    ) -> Result<Swept, SweepError> {
        loop {
            match progress.next(self.wallet.address()) {
                Task::Nothing(manifest) => return Ok(Swept::Done(manifest)),
                Task::Conclude => progress.conclude(self.wallet.id(), now),
                Task::Plan(index, of) => {
                    let (amount, way) = self.planned(of, order.reserve, now).await?;
                    if let Some(leg) = progress.legs.get_mut(index) {
                        (leg.amount, leg.way) = (amount, way);
                    }
                }
                Task::Sign(index, transaction) => {
                    let way = match self.signed(transaction, now, roll).await? {
                        Ok(way) => way,
                        Err(away) => return Ok(Swept::Halted(away)),
                    };
                    if let Some(leg) = progress.legs.get_mut(index) {
                        leg.way = way;
                    }
                }
                Task::Send(index, transaction, signed) => {
                    let Some(leg) = progress.legs.get_mut(index) else { continue };
                    self.sent(leg, &transaction, &signed).await?;
                }
            }
            version = self.store(version, &progress, now).await?;
        }
    }

    async fn load(&self, order: &SweepOrder, now: u64) -> Result<(u64, Progress), SweepError> {
        let another = || SweepError::Another { wallet: self.wallet.id().clone() };
        let found = self.steps.load(&self.name()).await.map_err(|e| self.steps_failed(e))?;
        if let Some(Step { version, value }) = found {
            let progress: Progress = match serde_json::from_value(value) {
                Ok(progress) => progress,
                Err(unread) => return Err(self.steps_failed(unread.into())),
            };
            let same = progress.golem == order.golem
                && progress.wallet == self.wallet.address()
                && progress.beneficiary == self.bounds.beneficiary;
            return if same { Ok((version, progress)) } else { Err(another()) };
        }
        self.begin(0, order, now).await
    }

    /// Looks at what there is, and writes down what is to be done.
    async fn begin(
        &self,
        behind: u64,
        order: &SweepOrder,
        now: u64,
    ) -> Result<(u64, Progress), SweepError> {
        let wallet = self.wallet.address();
        if self.bounds.wallet != wallet {
            return Err(SweepError::Another { wallet: self.wallet.id().clone() });
        }
        let plan = self.plan().await?;
        let tokens = self.bounds.held().into_iter().map(Holding::Token);
        let mut holdings = Vec::new();
        for of in tokens.chain([Holding::Native]) {
            holdings.push((of, self.held(of).await?));
        }
        let owner = self.bounds.beneficiary;
        let progress = Progress::begin(order, wallet, plan.chain_id, owner, holdings, now);
        let version = self.store(behind, &progress, now).await?;
        Ok((version, progress))
    }

    /// The transaction that returns a holding to the owner, as things are now.
    async fn planned(
        &self,
        of: Holding,
        reserve: U256,
        now: u64,
    ) -> Result<(U256, Way), SweepError> {
        let deferred =
            |amount, reason: String| Ok((amount, Way::Deferred { reason, transaction: None }));
        let plan = self.plan().await?;
        let Some(held) = self.held(of).await? else {
            return deferred(U256::ZERO, "the token does not say what the wallet holds".into());
        };
        let owner = self.bounds.beneficiary;
        let (to, mut value, data) = match of {
            Holding::Token(token) => (token, U256::ZERO, transfer_to(owner, held)),
            // A wei stands for all: how much it can be depends on the answer.
            Holding::Native => (owner, U256::from(1), Bytes::new()),
            Holding::Position { .. } => {
                return deferred(held, "positions are closed before a sweep".into());
            }
        };
        let gas = self.purse.gas(self.wallet.address(), to, value, &data).await;
        let limit = match gas.map_err(|e| self.chain_failed(e))? {
            Gas::Reverts => return deferred(held, "the transfer would fail".into()),
            Gas::Units(PLAIN) => PLAIN,
            Gas::Units(units) => given(units),
        };
        if of == Holding::Native {
            let fee = U256::from(limit).saturating_mul(U256::from(plan.max_fee_per_gas));
            value = held.saturating_sub(fee).saturating_sub(reserve);
            if value.is_zero() {
                return deferred(
                    held,
                    format!("it is less than sending it could cost ({fee} wei)"),
                );
            }
        }
        let amount = if of == Holding::Native { value } else { held };
        let transaction = WalletTransaction::new(&plan, to, value, data, limit);
        match self.bounds.permit(transaction.clone(), &self.policy, plan.balance, now) {
            Permit::Granted(_) => Ok((amount, Way::Asked { transaction })),
            Permit::Refused(denial) => deferred(amount, denial.to_string()),
        }
    }

    /// The outer error is a fault; the inner one a wallet that is away.
    async fn signed(
        &self,
        transaction: WalletTransaction,
        now: u64,
        roll: u64,
    ) -> Result<Result<Way, Denial>, SweepError> {
        let plan = self.plan().await?;
        if plan.nonce > transaction.nonce {
            // Something else took its place, and this was never sent: only what is signed is.
            return Ok(Ok(Way::Waiting));
        }
        let permitted = match self.permitted(&transaction, plan, now) {
            Ok(permitted) => permitted,
            Err(denial) => return Ok(Ok(deferred(&denial))),
        };
        #[expect(clippy::disallowed_methods, reason = "it goes home, and is in the sweep's books")]
        let signed = self.wallet.sign(permitted, now, roll).await;
        let signed = signed
            .map_err(|source| SweepError::Wallet { wallet: self.wallet.id().clone(), source })?;
        Ok(match signed {
            Answered::Done(SignedTransaction { hash, raw, .. }) => {
                Ok(Way::Signed { transaction, hash, raw })
            }
            Answered::Refused(away) if away.code == DenialCode::WalletAway => Err(away),
            Answered::Refused(denial) => Ok(deferred(&denial)),
        })
    }

    /// What was written down is judged again: whoever wrote there could have written anything.
    fn permitted(
        &self,
        transaction: &WalletTransaction,
        plan: TransactionPlan,
        now: u64,
    ) -> Result<PermittedTransaction, Denial> {
        let permit = self.bounds.permit(transaction.clone(), &self.policy, plan.balance, now);
        let owner = self.bounds.beneficiary;
        let home = transaction.to == owner
            || transaction
                .data
                .starts_with(transfer_to(owner, U256::ZERO).get(..36).unwrap_or(&[0]));
        match permit {
            Permit::Granted(permitted) if home => Ok(permitted),
            Permit::Granted(_) => Err(Denial::new(
                DenialCode::WalletBounds,
                "a sweep goes to the owner and to nobody else",
            )),
            Permit::Refused(denial) => Err(denial),
        }
    }

    async fn sent(
        &self,
        leg: &mut Leg,
        transaction: &WalletTransaction,
        signed: &SignedTransaction,
    ) -> Result<(), SweepError> {
        let receipt = match self.submit.submit(signed).await {
            Ok(receipt) => receipt,
            Err(fault) => {
                let landed = self.purse.receipt(signed.hash).await;
                match landed.map_err(|e| self.chain_failed(e))? {
                    Some(receipt) => receipt,
                    // Its place is gone, and not to it: it can never take effect.
                    None if self.plan().await?.nonce > transaction.nonce => {
                        leg.displaced = leg.displaced.saturating_add(1);
                        leg.way = if leg.displaced < ATTEMPTS {
                            Way::Waiting
                        } else {
                            Way::Deferred {
                                reason: "other transactions of the wallet took its place".into(),
                                transaction: Some(signed.hash),
                            }
                        };
                        return Ok(());
                    }
                    None => return Err(self.chain_failed(fault)),
                }
            }
        };
        let Receipt { hash, success, block_number, .. } = receipt;
        let moved = match leg.of {
            Holding::Token(_) => self.held(leg.of).await?.is_some_and(|left| left < leg.amount),
            Holding::Native | Holding::Position { .. } => true,
        };
        let left = |why: &str| Way::Deferred {
            reason: format!("the transfer in block {block_number} {why}"),
            transaction: Some(hash),
        };
        leg.way = match (success, moved) {
            (true, true) => Way::Settled { transaction: hash, block: block_number },
            (true, false) => left("moved nothing"),
            (false, _) => left("failed"),
        };
        Ok(())
    }

    async fn held(&self, of: Holding) -> Result<Option<U256>, SweepError> {
        let asset = match of {
            Holding::Native => Asset::Native,
            Holding::Token(token) => Asset::Erc20(token),
            Holding::Position { .. } => return Ok(None),
        };
        self.purse.held(asset, self.wallet.address()).await.map_err(|e| self.chain_failed(e))
    }

    async fn plan(&self) -> Result<TransactionPlan, SweepError> {
        self.submit.plan(self.wallet.address()).await.map_err(|e| self.chain_failed(e))
    }

    async fn store(&self, version: u64, progress: &Progress, now: u64) -> Result<u64, SweepError> {
        let value = serde_json::to_value(progress).map_err(|e| self.steps_failed(e.into()))?;
        let stored = self.steps.advance(&self.name(), version, &value, now).await;
        stored.map_err(|e| self.steps_failed(e))?;
        Ok(version.saturating_add(1))
    }

    fn name(&self) -> String {
        SweepSoFar::name(self.wallet.id())
    }

    fn steps_failed(&self, source: BoxError) -> SweepError {
        SweepError::Steps { wallet: self.wallet.id().clone(), source }
    }

    fn chain_failed(&self, source: BoxError) -> SweepError {
        SweepError::Chain { wallet: self.wallet.id().clone(), source }
    }
}

fn deferred(denial: &Denial) -> Way {
    Way::Deferred { reason: denial.to_string(), transaction: None }
}

//! A session account's way to the chain through a bundler (ERC-4337 v0.7).

use crate::{
    ChainFault, Foresight, Landing, LaneFault, LanePolicy, Node,
    foresight::By,
    lane::{BEFORE, after, shown},
    node::{LOOKS, Taken, asks_for_more, rpc},
    printable,
    refusal::Failure,
    transport::{once, redacted, without_url},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::{DynProvider, Provider},
    rpc::types::{Filter, Log, TransactionReceipt},
    sol_types::SolEvent,
    transports::{RpcError, TransportErrorKind},
};
use async_trait::async_trait;
use bardo_bindings::framework::{
    ENTRY_POINT, EntryPoint, HYBRID_IMPL, SIMPLE_FACTORY, STATELESS_7702_IMPL,
};
use golem_custody::{
    Act, Afloat, BoxError, CustodyError, Denial, DenialCode, DryRun, Ending, IntentId, Judged,
    Mandate, Offer, Operate, OperationDraft, OperationPlan, Outcome, Receipt, Rehearsal,
    Reservation, SessionAccount, SessionSigner, SignedOperation, rehearse_operation,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep, timeout_at},
};
use url::Url;

/// What the smallest transaction takes.
const LEAST_GAS: u128 = 21_000;

/// What bundlers say of an operation that they will not take (ERC-7769), and of a request that is none.
const REFUSALS: [i64; 10] =
    [-32_500, -32_501, -32_502, -32_503, -32_504, -32_505, -32_506, -32_507, -32_601, -32_602];

/// How many blocks are asked for at once where more are refused.
const FEW: usize = 10;
/// Those of them after the first.
const FEW_MORE: u64 = 9;

/// Whether a bundler that says no may have the operation, or one in its place: bundlers have no code for that, only words, and
/// not all of them find what waits by its hash.
fn may_have(words: &str) -> bool {
    let words = words.to_lowercase();
    // What is unknown is not known.
    let whole = ["already", "known", "duplicate", "nonce", "aa25", "aa10"];
    words.split(|letter: char| !letter.is_alphanumeric()).any(|word| whole.contains(&word))
        || ["replac", "underpriced", "fee too low"].iter().any(|part| words.contains(part))
}

fn refused(what: &'static str) -> impl FnOnce(RpcError<TransportErrorKind>) -> ChainFault {
    move |source| ChainFault::Bundler { what, source: without_url(source).into() }
}

/// An empty list: not every bundler takes nothing for it.
const NO_PARAMS: [u8; 0] = [];

/// Everything that one session account sends through a bundler. What was judged is rehearsed, set aside in the books, gets the
/// account's next place at the entry point, and is waited for before the next one is. What an earlier process left in the books
/// is brought to its end.
///
/// The bundler carries; it is not believed. Whether an operation took effect is read from the chain, by the entry
/// point's own event. One that a bundler forgot is handed to it again as it was signed; a price that finds no block is
/// raised in its place, up to the ceiling. So of everything that is signed for one redemption at most one takes effect.
pub struct Operations<K> {
    foresight: Arc<Foresight>,
    bundler: DynProvider,
    account: SessionAccount,
    key: K,
    mandate: Mandate,
    policy: LanePolicy,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    tell: Box<dyn Fn(B256) + Send + Sync>,
    /// All that was signed and is not known to be settled, the oldest first. Whoever's turn it is has it.
    left: Mutex<Vec<Sent>>,
}

impl<K> std::fmt::Debug for Operations<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operations")
            .field("account", &self.account)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl<K: SessionSigner> Operations<K> {
    /// Through the bundler at `url`, which must serve this chain and the entry point of v0.7.
    pub async fn through(
        url: &Url,
        foresight: Arc<Foresight>,
        account: SessionAccount,
        key: K,
        mandate: Mandate,
        policy: LanePolicy,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<Self, OperationsFault> {
        // An operation is handed over once, and looked up: whoever asks again by himself is told that its place is taken.
        let bundler = once(url)?;
        let away = |source| ChainFault::NoBundler {
            url: redacted(url),
            source: without_url(source).into(),
        };
        let node = foresight.node();
        let chain_id: U256 =
            bundler.raw_request("eth_chainId".into(), NO_PARAMS).await.map_err(away)?;
        if chain_id != U256::from(node.chain_id()) {
            let (wanted, found) = (node.chain_id(), chain_id.saturating_to());
            return Err(ChainFault::OtherChain { wanted, found }.into());
        }
        let served: Vec<Address> = bundler
            .raw_request("eth_supportedEntryPoints".into(), NO_PARAMS)
            .await
            .map_err(away)?;
        if !served.contains(&ENTRY_POINT) {
            return Err(ChainFault::EntryPoint { wanted: ENTRY_POINT }.into());
        }
        node.require("EntryPoint", ENTRY_POINT).await?;
        let left = mandate.left::<SignedOperation>(key.address(), clock()).await?;
        // Another account of the same key has places of its own.
        let own = |afloat: &Afloat<SignedOperation>| {
            afloat.last().draft.account.address() == account.address()
        };
        let left = Mutex::new(left.into_iter().filter(own).map(Sent::new).collect());
        let (clock, tell) = (Box::new(clock), Box::new(|_: B256| ()));
        Ok(Self { foresight, bundler, account, key, mandate, policy, clock, tell, left })
    }

    /// The same, telling the hash of every operation before the bundler has it.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(B256) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// Whom a delegation to it names.
    pub const fn address(&self) -> Address {
        self.account.address()
    }

    /// Rehearses, signs, sends and waits.
    ///
    /// Whoever stops waiting, or is told that it is not settled, has not undone it: it may take effect, and nothing is signed for
    /// its place until its end is known or somebody gives it up. What is given up leaves its place: of both at most one takes
    /// effect.
    pub async fn redeem(&self, judged: Judged) -> Result<Landing, LaneFault> {
        let mut left = self.left.lock().await;
        self.look_for_what_is_left(&mut left).await;
        let replaced = self.node().replaces();
        let gives_way = |sent: &Sent| sent.afloat.bids().any(|bid| Some(bid.hash) == replaced);
        if let Some(hash) = replaced
            && !left.iter().any(gives_way)
        {
            let sender = self.address();
            let source = ChainFault::NotWaiting { hash, sender }.into();
            return Err(CustodyError::Plan { sender, source }.into());
        }
        // The entry point has one place for it and for what waits.
        if let Some(waits) = left.iter().find(|sent| !sent.afloat.is_forsaken() && !gives_way(sent))
        {
            let (hash, nonce) = (waits.last().hash, waits.place().saturating_to());
            return Err(LaneFault::Waits { hash, nonce });
        }
        let mut outbids = None;
        for sent in left.iter() {
            // What has turned up all the same has to be outbid.
            if gives_way(sent) || self.knows(sent.last()).await {
                let bid = sent.last().plan.offer.raised();
                outbids = Some(outbids.map_or(bid, |other| bid.or_higher(other)));
            }
        }
        let (account, session) = (self.account.clone(), self.key.address());
        let clearing = &self.policy.clearing;
        let way = Way { operations: self, outbids };
        let rehearsed = match rehearse_operation(&way, judged, account, session, clearing).await? {
            Rehearsal::Passed(rehearsed) => rehearsed,
            Rehearsal::Refused(denial) => return Ok(Landing::Refused(denial)),
        };
        let cleared = match rehearsed.reserve(&self.mandate, (self.clock)()).await? {
            Reservation::Made(cleared) => cleared,
            Reservation::Refused(denial) => return Ok(Landing::Refused(denial)),
        };
        let intent = cleared.intent();
        // Whoever finds both in the books hands over the second alone.
        for sent in left.iter_mut().filter(|sent| gives_way(sent)) {
            if let Err(fault) = sent.afloat.forsake(&self.mandate, (self.clock)()).await {
                let why = "what it was to replace could not be given up";
                self.mandate.give_back(intent, why, (self.clock)()).await?;
                return Err(fault.into());
            }
        }
        let _ = self.node().took_its_place();
        let sealed = match self.key.sign_operation(cleared, (self.clock)()).await {
            Ok(sealed) => sealed,
            Err(fault) => {
                let why = "the key did not sign it";
                self.mandate.give_back(intent, why, (self.clock)()).await?;
                return Err(fault.into());
            }
        };
        let afloat = sealed.keep(&self.mandate, (self.clock)()).await?;
        // From here on it may be out, whatever becomes of whoever asked for it.
        let sent = left.push_mut(Sent::new(afloat));
        (self.tell)(sent.last().hash);
        // Silence and complaints may be a yes, and are waited for. So may a no be, of a bundler that does not show what it has: what
        // nobody shows is left alone, and the next one is signed for its place.
        sent.complaint = self.hand_over(sent.last()).await.err();
        // A price is raised in its place.
        if let Some(refused @ ChainFault::Bundler { .. }) = &sent.complaint
            && !asks_for_more(refused)
            && !self.turns_up(sent.last()).await
        {
            let (hash, nonce) = (sent.last().hash, sent.place().saturating_to());
            let source = sent.complaint.take();
            // What the books do not know to be given up keeps its place.
            let kept = sent.afloat.forsake(&self.mandate, (self.clock)()).await;
            return Err(match kept {
                Ok(()) => LaneFault::Forsaken { hash, nonce, source },
                Err(_) => LaneFault::Unsettled { hash, nonce, source },
            });
        }
        let end = self.end(sent).await;
        // Whoever takes a place ends what was given up there.
        self.look_for_what_is_left(&mut left).await;
        end
    }

    /// Waits for everything that nobody waits for: what an earlier process left, and what its caller gave up on. Each is
    /// named, with what became of it.
    ///
    /// What is given up for good is looked for, and not waited for: only what takes its place ends it.
    pub async fn finish(&self) -> Vec<(IntentId, Result<Landing, LaneFault>)> {
        let mut left = self.left.lock().await;
        left.sort_by_key(|sent| sent.afloat.is_forsaken());
        let mut ends = Vec::new();
        for sent in left.iter_mut() {
            if !sent.afloat.is_forsaken() {
                // Whoever ended may have done so before he handed it over.
                sent.complaint = self.hand_over(sent.last()).await.err();
            } else if matches!(self.look(sent).await, Ok(Sight::Nothing) | Err(_)) {
                let (hash, nonce) = (sent.last().hash, sent.place().saturating_to());
                let given_up = LaneFault::Forsaken { hash, nonce, source: None };
                ends.push((sent.afloat.intent(), Err(given_up)));
                continue;
            }
            ends.push((sent.afloat.intent(), self.end(sent).await));
        }
        left.retain(|sent| !sent.ended);
        ends
    }

    /// Writes down what has become of what nobody waits for.
    async fn look_for_what_is_left(&self, left: &mut Vec<Sent>) {
        for sent in left.iter_mut() {
            match self.look(sent).await {
                Ok(Sight::Deep(landed)) => drop(self.conclude(sent, *landed).await),
                Ok(Sight::Displaced) => drop(self.displaced(sent).await),
                Ok(Sight::Nothing | Sight::Shallow) | Err(_) => {}
            }
        }
        left.retain(|sent| !sent.ended);
    }

    /// Waits for the end of something, and writes it down.
    async fn end(&self, sent: &mut Sent) -> Result<Landing, LaneFault> {
        match self.settle(sent).await {
            Ok(landed) => self.conclude(sent, landed).await,
            Err(displaced @ LaneFault::Displaced { .. }) => {
                self.displaced(sent).await?;
                Err(displaced)
            }
            Err(fault) => Err(fault),
        }
    }

    async fn displaced(&self, sent: &mut Sent) -> Result<(), CustodyError> {
        let why = format!("another operation took place {} of the account", sent.place());
        let ending = Ending::Abandoned { why };
        sent.afloat.end(&self.mandate, &ending, (self.clock)()).await?;
        sent.ended = true;
        Ok(())
    }

    /// What became of something that is deep enough in the chain, and in the books.
    async fn conclude(&self, sent: &mut Sent, landed: Landed) -> Result<Landing, LaneFault> {
        let Landed { log, receipt, mined } = landed;
        self.node().has_reached(receipt.block_number);
        let (hash, block) = (receipt.hash, receipt.block_number);
        let act = sent.afloat.act();
        let (landing, ending) = if !receipt.success {
            let cause = self.cause(&log, act, &receipt).await;
            let ending = Ending::Failed { hash, block, code: cause.code.to_string() };
            (Ok(Landing::Failed { receipt, cause }), ending)
        } else {
            let landing = if shown(&mined, act, self.address()) {
                Ok(Landing::Done(receipt))
            } else {
                // Whether it redeemed anything this node does not show: what it could have spent stays counted.
                Err(LaneFault::Unproven { hash })
            };
            (landing, Ending::Done { hash, block })
        };
        let written = sent.afloat.end(&self.mandate, &ending, (self.clock)()).await;
        sent.ended = true;
        match (landing, written) {
            (Ok(landing), Err(source)) => {
                Err(LaneFault::Unwritten { landing: Box::new(landing), source })
            }
            (landing, _) => landing,
        }
    }

    fn node(&self) -> &Node {
        self.foresight.node()
    }

    async fn hand_over(&self, signed: &SignedOperation) -> Result<Taken, ChainFault> {
        let params = (Wire::of(signed), ENTRY_POINT);
        let answer = self.bundler.raw_request("eth_sendUserOperation".into(), params).await;
        let hash: B256 = match answer {
            Ok(hash) => hash,
            Err(source) => match source.as_error_resp() {
                Some(no) if may_have(&no.message) => return Ok(Taken::Known),
                Some(no) if REFUSALS.contains(&no.code) => {
                    return Err(refused("an operation")(source));
                }
                _ => {
                    let source = without_url(source).into();
                    return Err(ChainFault::Unanswered { hash: signed.hash, source });
                }
            },
        };
        if hash != signed.hash {
            return Err(ChainFault::OtherOperation { sent: signed.hash, named: hash });
        }
        Ok(Taken::New)
    }

    /// Whether the bundler may have an operation, or the chain one in its place: who cannot be asked may.
    async fn knows(&self, signed: &SignedOperation) -> bool {
        let known: Result<Value, _> =
            self.bundler.raw_request("eth_getUserOperationByHash".into(), [signed.hash]).await;
        !matches!(known, Ok(Value::Null))
            || self
                .node()
                .read(ENTRY_POINT, self.place())
                .await
                .map_or(true, |next| next > signed.plan.nonce)
    }

    /// The same, asked until it would have shown.
    async fn turns_up(&self, signed: &SignedOperation) -> bool {
        for look in 0..LOOKS {
            if look > 0 {
                sleep(self.policy.poll).await;
            }
            if self.knows(signed).await {
                return true;
            }
        }
        false
    }

    /// Asks for the account's next place at the entry point.
    fn place(&self) -> EntryPoint::getNonceCall {
        EntryPoint::getNonceCall { sender: self.address(), key: Default::default() }
    }

    /// Hands the last bid to the bundler again. One that it has had all the time, or does not take at its price, gets a
    /// better one. Where it is refused for something else, those before it are handed over. Nobody is waited for beyond `until`.
    async fn again(&self, sent: &mut Sent, until: Instant) -> Result<(), ChainFault> {
        let Ok(room) = timeout_at(until, self.handed_over_again(sent)).await else { return Ok(()) };
        let Some((market, ceiling)) = room? else { return Ok(()) };
        let least = sent.last().plan.offer.raised();
        // What the market asks, or the least that replaces the last bid, if that is all that the ceiling has room for.
        for offer in [least.or_higher(market), least] {
            // At its ceiling a price stays what it is, and the operation waits.
            let Ok(raised) = self.key.raise_operation(sent.last(), offer, ceiling).await else {
                continue;
            };
            // What the books do not take does not leave: the price stays what it is.
            if sent.afloat.keep(raised, &self.mandate, (self.clock)()).await.is_err() {
                break;
            }
            // Whatever will be said of it, it is signed and leaves: it has to be looked for too.
            (self.tell)(sent.last().hash);
            let said = timeout_at(until, self.hand_over(sent.last())).await;
            return said.map_or(Ok(()), |said| said.map(|_| ()));
        }
        Ok(())
    }

    /// Hands over what was bid, and says what others pay now and most that it may cost, where a better price would help.
    async fn handed_over_again(&self, sent: &Sent) -> Result<Option<(Offer, U256)>, ChainFault> {
        let had = self.knows(sent.last()).await;
        match self.hand_over(sent.last()).await {
            Ok(Taken::New) if !had => return Ok(None),
            Ok(_) => {}
            Err(refused) if had || asks_for_more(&refused) => {}
            Err(refused) => {
                for bid in sent.afloat.bids().rev().skip(1) {
                    if self.hand_over(bid).await.is_ok() {
                        return Ok(None);
                    }
                }
                return Err(refused);
            }
        }
        let market = self.price().await?;
        // What the account cannot pay nobody takes.
        let purse = self.purse().await?.saturating_sub(sent.afloat.act().coins());
        Ok(Some((market, self.policy.clearing.fee_ceiling.min(purse))))
    }

    /// Waits until the entry point's event of one of the bids is deep enough in the chain.
    async fn settle(&self, sent: &mut Sent) -> Result<Landed, LaneFault> {
        let nonce = sent.place().saturating_to();
        let mut handed_over = Instant::now();
        // Whoever was to be waited for so long is not waited for longer, whatever the node does.
        let until = after(self.policy.give_up);
        let mut fault = sent.complaint.take();
        loop {
            match timeout_at(until, self.look(sent)).await.unwrap_or(Ok(Sight::Nothing)) {
                Ok(Sight::Deep(landed)) => return Ok(*landed),
                Ok(Sight::Displaced) => {
                    return Err(LaneFault::Displaced { sender: self.address(), nonce });
                }
                Ok(Sight::Shallow) => handed_over = Instant::now(),
                Ok(Sight::Nothing) if handed_over.elapsed() >= self.policy.patience => {
                    handed_over = Instant::now();
                    fault = self.again(sent, until).await.err().or(fault);
                }
                Ok(Sight::Nothing) => {}
                Err(away) => fault = Some(away),
            }
            if Instant::now() >= until {
                return Err(LaneFault::Unsettled { hash: sent.last().hash, nonce, source: fault });
            }
            sleep(self.policy.poll).await;
        }
    }

    /// What the chain has of the bids, or of another operation in their place, by the entry point's events.
    async fn look(&self, sent: &mut Sent) -> Result<Sight, ChainFault> {
        let node = self.node();
        for log in self.events(sent).await? {
            let (Some(number), Some(hash)) = (log.block_number, log.block_hash) else { continue };
            let Ok(event) = EntryPoint::UserOperationEvent::decode_log(&log.inner) else {
                continue;
            };
            if event.nonce != sent.place() {
                continue;
            }
            if !node.is_buried(number, hash, self.policy.confirmations).await? {
                return Ok(Sight::Shallow);
            }
            if sent.afloat.bids().all(|bid| bid.hash != event.userOpHash) {
                return Ok(Sight::Displaced);
            }
            let Some(transaction) = log.transaction_hash else { continue };
            // Of several nodes behind one address one may know less than another.
            let Some(mined) = node.receipt(transaction).await? else { return Ok(Sight::Shallow) };
            let receipt = Receipt {
                hash: transaction,
                success: event.success,
                gas_used: event.actualGasUsed.saturating_to(),
                block_number: number,
            };
            return Ok(Sight::Deep(Box::new(Landed { log, receipt, mined })));
        }
        Ok(Sight::Nothing)
    }

    /// The entry point's events of the account's operations, since they may have been carried.
    async fn events(&self, sent: &mut Sent) -> Result<Vec<Log>, ChainFault> {
        let provider = self.node().provider();
        let of = |from: u64| {
            Filter::new()
                .address(ENTRY_POINT)
                .event_signature(EntryPoint::UserOperationEvent::SIGNATURE_HASH)
                .topic2(self.address().into_word())
                .from_block(from)
        };
        let whole = provider.get_logs(&of(sent.from)).await;
        if !matches!(&whole, Err(limited) if limited.as_error_resp().is_some()) {
            return whole.map_err(rpc("events of operations"));
        }
        // Some answer for a few blocks at once, and no more.
        let mut all = Vec::new();
        let head = self.node().header().await?.number;
        for from in (sent.from..=head).step_by(FEW) {
            let last = from.saturating_add(FEW_MORE).min(head);
            let part = provider.get_logs(&of(from).to_block(last)).await;
            all.extend(part.map_err(rpc("events of operations"))?);
        }
        if all.is_empty() {
            sent.from = sent.from.max(head.saturating_sub(BEFORE));
        }
        Ok(all)
    }

    /// Why an operation did not take effect: by the calls of its bundle, where the node keeps traces, or by the state before
    /// its block.
    async fn cause(&self, log: &Log, act: &Act, receipt: &Receipt) -> Denial {
        let redemption = match act {
            Act::Redemption(redemption) => redemption,
            Act::Home(_) | Act::Wallet(_) => return unknown_cause(),
            Act::Update(update) => {
                let cause = self.foresight.autopsy_of_update(receipt, update, self.address()).await;
                return cause.unwrap_or_else(|_fault| unknown_cause());
            }
        };
        // The reason that the entry point kept could be anybody's word; who refuses in a call, or on a state, is seen.
        let bundle = self.node().trace(log.transaction_hash.unwrap_or_default()).await;
        let failure =
            bundle.and_then(|top| Failure::traced_within(top, redemption, self.address()));
        if let Some(failure) = failure {
            return failure.explain(redemption);
        }
        let number = log.block_number.unwrap_or_default();
        let before = self.foresight.refused_before(number, redemption, self.address()).await;
        if let Ok(Some(denial)) = before {
            return denial;
        }
        let filter = Filter::new()
            .address(ENTRY_POINT)
            .event_signature(EntryPoint::UserOperationRevertReason::SIGNATURE_HASH)
            .topic1(log.topics().get(1).copied().unwrap_or_default())
            .at_block_hash(log.block_hash.unwrap_or_default());
        let Ok(logs) = self.node().provider().get_logs(&filter).await else {
            return unknown_cause();
        };
        let reason = logs
            .iter()
            .find_map(|log| EntryPoint::UserOperationRevertReason::decode_log(&log.inner).ok());
        let words = reason.map_or_else(
            || "the entry point kept no reason: it may have run out of gas".to_owned(),
            // Whose word that is, the entry point does not say: a target can pose as anybody.
            |reason| {
                format!("somebody it called said {}", printable(&reason.revertReason.to_string()))
            },
        );
        Denial::new(DenialCode::Reverted, format!("the operation failed, and {words}"))
    }

    /// What the bundler asks for, and where it has no word for that, what the node would pay.
    async fn price(&self) -> Result<Offer, ChainFault> {
        let asked: Result<Prices, _> =
            self.bundler.raw_request("pimlico_getUserOperationGasPrice".into(), NO_PARAMS).await;
        Ok(match asked {
            Ok(prices) => Offer {
                max_fee_per_gas: prices.standard.max_fee_per_gas.saturating_to(),
                max_priority_fee_per_gas: prices.standard.max_priority_fee_per_gas.saturating_to(),
            },
            Err(_no_such_word) => self.node().offer().await?,
        })
    }

    /// What the account can pay with.
    async fn purse(&self) -> Result<U256, ChainFault> {
        let (node, account) = (self.node(), self.address());
        let deposit = node.read(ENTRY_POINT, EntryPoint::balanceOfCall { account }).await?;
        Ok(node.balance(account).await?.saturating_add(deposit))
    }

    async fn plan(&self, draft: &OperationDraft) -> Result<OperationPlan, ChainFault> {
        let node = self.node();
        let sender = draft.account.address();
        let fresh = node.code(sender).await?.is_empty();
        // What the account is to obey has to be there: an operation of one that points at nothing does nothing, and is paid for.
        match draft.account {
            SessionAccount::Key(_) => {
                node.require("EIP7702StatelessDeleGator", STATELESS_7702_IMPL).await?;
            }
            SessionAccount::Hybrid { .. } => node.require("HybridDeleGator", HYBRID_IMPL).await?,
        }
        let nonce = node.read(ENTRY_POINT, self.place()).await?;
        let upgrade_at = match draft.account {
            SessionAccount::Key(_) if fresh => Some(node.pending(sender).await?),
            _ => None,
        };
        let create = fresh && matches!(draft.account, SessionAccount::Hybrid { .. });
        let mut plan = OperationPlan {
            chain_id: node.chain_id(),
            nonce,
            upgrade_at,
            create,
            call_gas: 0,
            verification_gas: 0,
            pre_verification_gas: U256::ZERO,
            offer: self.price().await?,
            balance: self.purse().await?,
        };
        // Who has nothing can pay for nothing: bundlers do not even reckon what. It is no less than any transaction takes.
        if plan.balance.is_zero() {
            plan.call_gas = LEAST_GAS;
            return Ok(plan);
        }
        let wire = Wire::draft(draft, &plan, self.key.stub());
        let gas: Gas = self
            .bundler
            .raw_request("eth_estimateUserOperationGas".into(), (wire, ENTRY_POINT))
            .await
            .map_err(refused("an estimate of the operation"))?;
        plan.call_gas = gas.call_gas_limit.saturating_to();
        plan.verification_gas = gas.verification_gas_limit.saturating_to();
        plan.pre_verification_gas = gas.pre_verification_gas;
        Ok(plan)
    }
}

/// Why a way through a bundler was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationsFault {
    /// Bundler or node.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The books.
    #[error(transparent)]
    Custody(#[from] CustodyError),
}

impl OperationsFault {
    /// A name that programs can match on, where it is the chain's or the bundler's fault.
    #[must_use]
    pub const fn code(&self) -> Option<&'static str> {
        match self {
            Self::Chain(fault) => Some(fault.code()),
            Self::Custody(_) => None,
        }
    }
}

/// An operation that the bundler may have.
struct Sent {
    /// Every bid for its place, as the books have them.
    afloat: Afloat<SignedOperation>,
    /// What was said to it, where that was no yes.
    complaint: Option<ChainFault>,
    /// The first block that it is looked for in: some before the one that it was judged on, and some before those that were
    /// looked at in vain. A reorganisation may put it there.
    from: u64,
    /// Whether its end is known.
    ended: bool,
}

impl Sent {
    const fn new(afloat: Afloat<SignedOperation>) -> Self {
        let from = afloat.since().saturating_sub(BEFORE);
        Self { afloat, complaint: None, from, ended: false }
    }

    /// The dearest bid.
    const fn last(&self) -> &SignedOperation {
        self.afloat.last()
    }

    const fn place(&self) -> U256 {
        self.last().plan.nonce
    }
}

/// What the chain has of an operation.
enum Sight {
    Nothing,
    Shallow,
    Deep(Box<Landed>),
    Displaced,
}

fn unknown_cause() -> Denial {
    Denial::new(DenialCode::Reverted, "the operation failed, and the node could not be asked why")
}

/// An operation that is deep enough in the chain: its event, and the transaction that brought it.
struct Landed {
    log: Log,
    receipt: Receipt,
    mined: TransactionReceipt,
}

/// The way to the chain over what was given up in the same place.
struct Way<'a, K> {
    operations: &'a Operations<K>,
    /// The least that replaces it, where somebody has it.
    outbids: Option<Offer>,
}

#[async_trait]
impl<K: SessionSigner> DryRun for Way<'_, K> {
    async fn dry_run(&self, act: &Act, sender: Address) -> Result<Outcome, BoxError> {
        Ok(self.operations.foresight.judge_by(act, sender, By::Bundler).await?)
    }
}

#[async_trait]
impl<K: SessionSigner> Operate for Way<'_, K> {
    async fn plan_operation(&self, draft: &OperationDraft) -> Result<OperationPlan, BoxError> {
        let mut plan = self.operations.plan(draft).await?;
        if let Some(least) = self.outbids {
            plan.offer = plan.offer.or_higher(least);
        }
        Ok(plan)
    }
}

/// An operation as ERC-7769 writes it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    sender: Address,
    nonce: U256,
    #[serde(skip_serializing_if = "Option::is_none")]
    factory: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factory_data: Option<Bytes>,
    call_data: Bytes,
    call_gas_limit: U256,
    verification_gas_limit: U256,
    pre_verification_gas: U256,
    max_fee_per_gas: U256,
    max_priority_fee_per_gas: U256,
    signature: Bytes,
    #[serde(rename = "eip7702Auth", skip_serializing_if = "Option::is_none")]
    upgrade: Option<Upgrade>,
}

/// An EIP-7702 authorization; of an estimate, without its signature.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Upgrade {
    address: Address,
    chain_id: U256,
    nonce: U256,
    #[serde(skip_serializing_if = "Option::is_none")]
    r: Option<B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y_parity: Option<U256>,
}

impl Wire {
    fn of(signed: &SignedOperation) -> Self {
        let mut wire = Self::draft(&signed.draft, &signed.plan, signed.signature.clone());
        if let (Some(upgrade), Some(signed)) = (&mut wire.upgrade, &signed.upgrade) {
            upgrade.r = Some(signed.r().into());
            upgrade.s = Some(signed.s().into());
            upgrade.y_parity = Some(U256::from(signed.y_parity()));
        }
        wire
    }

    fn draft(draft: &OperationDraft, plan: &OperationPlan, signature: Bytes) -> Self {
        let (factory, factory_data) = match &draft.account {
            SessionAccount::Hybrid { creation, .. } if plan.create => {
                (Some(SIMPLE_FACTORY), Some(creation.clone()))
            }
            _ => (None, None),
        };
        Self {
            sender: draft.account.address(),
            nonce: plan.nonce,
            factory,
            factory_data,
            call_data: draft.call.clone(),
            call_gas_limit: U256::from(plan.call_gas),
            verification_gas_limit: U256::from(plan.verification_gas),
            pre_verification_gas: plan.pre_verification_gas,
            max_fee_per_gas: U256::from(plan.offer.max_fee_per_gas),
            max_priority_fee_per_gas: U256::from(plan.offer.max_priority_fee_per_gas),
            signature,
            upgrade: plan.upgrade_at.map(|nonce| Upgrade {
                address: STATELESS_7702_IMPL,
                chain_id: U256::from(plan.chain_id),
                nonce: U256::from(nonce),
                r: None,
                s: None,
                y_parity: None,
            }),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gas {
    call_gas_limit: U256,
    verification_gas_limit: U256,
    pre_verification_gas: U256,
}

#[derive(Debug, Deserialize)]
struct Prices {
    standard: Price,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Price {
    max_fee_per_gas: U256,
    max_priority_fee_per_gas: U256,
}

//! Dry runs in this process, on the chain's own state.

mod changes;
mod leftover;
mod machine;
mod state;
pub(crate) mod toll;
mod update;
mod wallet;

use crate::{ChainFault, Node, node::rpc, refusal::Failure};
use alloy::sol_types::{SolCall as _, SolEvent as _};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, Log, TxKind, U256, map::HashMap},
    providers::Provider,
    rpc::types::{Header, TransactionRequest},
    transports::{RpcError, TransportErrorKind},
};
use async_trait::async_trait;
use bardo_bindings::{
    GolemCharterEnforcer,
    framework::{DelegationManager, ENTRY_POINT},
    golem_charter_enforcer,
};
use golem_custody::{
    Act, BoxError, Counted, Denial, DenialCode, DryRun, Outcome, Preview, Receipt, Redemption,
    SignedTransaction, Submit, TransactionPlan, given, limit,
};
use golem_delegation::{SpendWindow, terms::GolemCharter};
pub(crate) use leftover::arrived;
use machine::{Machine, Made, Rules, Seen, Signers};
use revm::{
    context::TxEnv,
    context_interface::result::{EVMError, ExecutionResult, ResultGas},
    database_interface::DatabaseRef as _,
    primitives::hardfork::SpecId,
};
use state::{State, Unread};
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::Mutex;
pub(crate) use update::recorded;

/// Most gas that one transaction may have (EIP-7825).
const MOST_GAS: u64 = 1 << 24;
/// Chains whose contracts see another number of the block than its headers have, and whose gas is not all of execution: Arbitrum
/// One, Nova and the one for tests.
const ARBITRUM: [u64; 3] = [42_161, 42_170, 421_614];

/// Whether a chain is one of Arbitrum's.
pub(crate) fn is_arbitrum(chain_id: u64) -> bool {
    ARBITRUM.contains(&chain_id)
}
/// What chains run that have the newest rules (Osaka), and others do not: PUSH1 1 CLZ POP STOP.
const NEWEST: [u8; 5] = [0x60, 0x01, 0x1e, 0x50, 0x00];
/// Seconds of its own time after which a chain without the newest rules is asked whether it has them now.
const NEW_RULES: u64 = 3_600;
/// Most gas that all questions of what a call changes may take: tokens answer with a few thousand each.
const MOST_WORK: u64 = 1 << 25;
/// How often a run may stop for something that was not read. Each of them is a round trip; a call that touches more
/// unforeseen places than this is not decided.
const MOST_STOPS: usize = 256;
/// How often a redemption is run, at most, to find out with how much gas it passes.
const MOST_RUNS: usize = 16;
/// Most kinds of redemptions whose gas is remembered.
const MOST_KINDS: usize = 256;

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Seconds by which a deed may be in its block after it was asked for: the books count from the one, the chain from the other.
const LATE: u64 = 600;

/// Judges redemptions on the chain's state without asking the chain to: what it needs of a block is read once, and
/// what it read is used until there is another block.
///
/// It never takes what it could not read for anything: then there is no verdict, only an error.
#[derive(Debug)]
pub struct Foresight {
    node: Node,
    state: Mutex<Option<Arc<State>>>,
    signers: Signers,
    /// Which rules the chain has, and when it was asked.
    /// The rules, and the time of the block that they were asked for at.
    spec: Mutex<Option<(SpecId, u64)>>,
    /// What redemptions took, by their kind.
    kinds: Mutex<HashMap<Kind, u64>>,
    /// What the node of a chain whose gas is not all of execution said of calls in one block.
    estimates: Mutex<(B256, HashMap<Asked, u64>)>,
}

/// Who redeems which grants for which functions of whom: its gas is about the same each time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind(Address, Vec<B256>, Vec<(Address, Option<[u8; 4]>)>);

impl Kind {
    fn of(redemption: &Redemption, redeemer: Address) -> Self {
        let grants = redemption.contexts().map(|context| context.leaf().hash().0);
        let calls = redemption
            .calls()
            .map(|(_, call)| (call.target, call.data.first_chunk::<4>().copied()));
        Self(redeemer, grants.collect(), calls.collect())
    }
}

/// Who hands in what is judged: the origin of its transaction, which contracts can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The redeemer's own key, by a transaction.
    Key,
    /// Whoever bundles operations, the redeemer's first one too.
    Bundler,
    /// It was not said: an account with code may do it either way.
    Either,
}

/// From whom to whom, with how many coins and what words.
type Asked = (Address, Address, U256, Bytes);

/// How much gas a run has.
#[derive(Clone, Copy, Debug)]
enum Gas {
    /// What the last one of its kind would be given.
    Remembered(u64),
    /// All that a transaction may have.
    All,
    /// What the run before would be given.
    Seen(u64),
    /// More than that, because it was too little.
    More(u64),
}

/// What a call did to a state, as far as it may be known to others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ran {
    result: ExecutionResult,
    /// An account that did not make the calls that it was asked for.
    idle: Option<Address>,
    denial: Option<Denial>,
    changes: Vec<golem_custody::Change>,
    notes: Vec<String>,
}

impl Foresight {
    /// Judges by the state of `node`.
    #[must_use]
    pub fn new(node: Node) -> Self {
        Self {
            node,
            state: Mutex::new(None),
            signers: Signers::default(),
            spec: Mutex::new(None),
            kinds: Mutex::default(),
            estimates: Mutex::default(),
        }
    }

    /// The node whose state it is.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Runs `redemption` as `redeemer` on the newest block.
    pub async fn judge(
        &self,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Result<Outcome, ChainFault> {
        let header = self.node.current().await?;
        self.rehearse(header, redemption, redeemer).await
    }

    /// What is to be done, by who hands it in.
    pub(crate) async fn judge_by(
        &self,
        act: &Act,
        sender: Address,
        by: By,
    ) -> Result<Outcome, ChainFault> {
        match act {
            Act::Redemption(redemption) => {
                let header = self.node.current().await?;
                self.rehearse_by(header, redemption, sender, by).await
            }
            Act::Update(update) => self.judge_update(update, sender).await,
            Act::Home(leftover) => self.judge_leftover(leftover, sender).await,
            Act::Wallet(call) => self.judge_wallet(call, sender).await,
        }
    }

    /// The same on one block. No request is made where all that is needed of it was read before.
    ///
    /// What it says is of a run with the very gas that the redemption will be given: contracts can ask how much they have.
    /// How much that is, is known from the last redemption of its kind, or from a first run with all that there may be.
    pub async fn rehearse(
        &self,
        header: Header,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Result<Outcome, ChainFault> {
        self.rehearse_by(header, redemption, redeemer, By::Either).await
    }

    async fn rehearse_by(
        &self,
        header: Header,
        redemption: &Redemption,
        redeemer: Address,
        by: By,
    ) -> Result<Outcome, ChainFault> {
        let kind = Kind::of(redemption, redeemer);
        let mut gas = match self.kinds.lock().await.get(&kind) {
            Some(gas) => Gas::Remembered(*gas),
            None => Gas::All,
        };
        for _ in 0..MOST_RUNS {
            let mut call = Call { by, ..Call::of(redemption, redeemer) };
            if let Gas::Remembered(gas) | Gas::Seen(gas) | Gas::More(gas) = gas {
                call.gas = limit(gas);
            }
            let accounts = redemption.contexts().map(|context| context.root().delegator);
            let (state, foreseen) = self.at(header.clone(), &call, accounts).await?;
            let verdict =
                |state: &State, rules| verdict(state, redemption, &call, rules, &self.signers);
            let (state, outcome) = self.decide(state, foreseen, &call, verdict).await?;
            let hash = state.header.hash;
            self.keep(state).await;
            gas = match (outcome?, gas) {
                (Outcome::Allowed(mut preview), Gas::Remembered(gas) | Gas::Seen(gas))
                    if preview.gas <= gas && gas <= given(preview.gas) =>
                {
                    preview.gas = gas;
                    self.remember(kind, gas).await;
                    return self
                        .with_parents_data(preview, &call, hash)
                        .await
                        .map(Outcome::Allowed);
                }
                (Outcome::Allowed(mut preview), Gas::More(gas)) => {
                    preview.gas = gas;
                    return self
                        .with_parents_data(preview, &call, hash)
                        .await
                        .map(Outcome::Allowed);
                }
                (Outcome::Allowed(preview), _) => Gas::Seen(preview.gas),
                // Less than before may be too little; who refused, and why, is asked with all there is.
                (Outcome::Refused(_), Gas::Remembered(_)) => Gas::All,
                (Outcome::Refused(_), Gas::Seen(gas) | Gas::More(gas)) if gas < MOST_GAS / 2 => {
                    Gas::More(gas.saturating_mul(2))
                }
                (Outcome::Refused(_), Gas::Seen(_) | Gas::More(_)) => {
                    let words =
                        "it passes with more gas than a transaction may have, and with no less";
                    return Ok(Outcome::Refused(Denial::new(DenialCode::Reverted, words)));
                }
                (refused @ Outcome::Refused(_), Gas::All) => return Ok(refused),
            };
        }
        let why = "how much gas it takes depends on how much it is given".to_owned();
        Err(ChainFault::Machine { why })
    }

    /// A part of Arbitrum's gas is for its parent chain's data: only its nodes know how much that is. One is asked once about a call
    /// in a block.
    async fn with_parents_data(
        &self,
        mut preview: Preview,
        call: &Call,
        at: B256,
    ) -> Result<Preview, ChainFault> {
        if !is_arbitrum(self.node.chain_id()) {
            return Ok(preview);
        }
        let mut known = self.estimates.lock().await;
        if known.0 != at {
            *known = (at, HashMap::default());
        }
        let asked = (call.from, call.to, call.value, call.data.clone());
        let estimate = match known.1.get(&asked) {
            Some(estimate) => *estimate,
            None => {
                let block = BlockId::hash_canonical(at);
                let said = self.node.provider().estimate_gas(call.request()).block(block).await;
                let estimate = said.map_err(rpc("an estimate of the redemption"))?;
                known.1.insert(asked, estimate);
                estimate
            }
        };
        // What goes to the parent is not there for contracts to count.
        if estimate > preview.gas {
            preview.gas = estimate;
            preview.gas_limit = preview.gas_limit.max(limit(estimate));
        }
        Ok(preview)
    }

    /// Keeps what a redemption of this kind took.
    async fn remember(&self, kind: Kind, gas: u64) {
        let mut kinds = self.kinds.lock().await;
        if kinds.len() >= MOST_KINDS {
            kinds.clear();
        }
        kinds.insert(kind, gas);
    }

    /// The rules that the chain runs by. Chains get new ones at different times; whether this one has the newest, one instruction
    /// of theirs shows. Who has them keeps them; who has not is asked again after a while.
    async fn rules(&self, at: u64) -> Result<Rules, ChainFault> {
        let chain_id = self.node.chain_id();
        let mut known = self.spec.lock().await;
        if let Some((spec, asked)) = *known
            && (spec == SpecId::OSAKA || at.abs_diff(asked) < NEW_RULES)
        {
            return Ok(Rules { chain_id, spec });
        }
        let newest = TransactionRequest::default().with_deploy_code(Bytes::from_static(&NEWEST));
        let spec = match self.node.provider().call(newest).await {
            Ok(_) => SpecId::OSAKA,
            Err(refused) if lacks_instruction(&refused) => SpecId::PRAGUE,
            Err(fault) => return Err(rpc("a call of nothing")(fault)),
        };
        *known = Some((spec, at));
        Ok(Rules { chain_id, spec })
    }

    /// Why a redemption that was mined did not take effect.
    ///
    /// A node that keeps traces knows. Any other is asked for the state before the block, and the redemption is run on
    /// it: what stood before it in the same block is then not seen, and where that made the difference it says so.
    pub async fn autopsy(
        &self,
        receipt: &Receipt,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Result<Denial, ChainFault> {
        if let Some(failure) = self.node.trace(receipt.hash).await.and_then(Failure::traced) {
            return Ok(failure.explain(redemption));
        }
        let refused = self.refused_before(receipt.block_number, redemption, redeemer).await?;
        Ok(refused.unwrap_or_else(|| {
            Denial::new(
                DenialCode::Reverted,
                "it failed in its block, although it passes on the state before that block: \
                 another transaction came first, or it ran out of gas",
            )
        }))
    }

    /// Why a redemption is refused in a block, on the state before it; nothing where it passes.
    pub(crate) async fn refused_before(
        &self,
        number: u64,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Result<Option<Denial>, ChainFault> {
        let state = self.before(number).await?;
        let call = Call::of(redemption, redeemer);
        let verdict =
            |state: &State, rules| verdict(state, redemption, &call, rules, &self.signers);
        let (_state, outcome) = self.decide(state, false, &call, verdict).await?;
        Ok(match outcome? {
            Outcome::Refused(denial) => Some(denial),
            Outcome::Allowed(_) => None,
        })
    }

    /// The state before a block.
    async fn before(&self, number: u64) -> Result<Arc<State>, ChainFault> {
        let block = self.node.header_of(number).await?;
        let parent = self.node.header_of(number.saturating_sub(1)).await?;
        if parent.hash != block.parent_hash {
            return Err(ChainFault::NoBlock { number });
        }
        Ok(Arc::new(State::before(parent, block)))
    }

    /// Runs until nothing that is needed is unread.
    async fn decide(
        &self,
        mut state: Arc<State>,
        mut foreseen: bool,
        call: &Call,
        verdict: impl Fn(&State, Rules) -> Result<Result<Outcome, ChainFault>, Unread>,
    ) -> Result<(Arc<State>, Result<Outcome, ChainFault>), ChainFault> {
        let rules = self.rules(state.header.timestamp).await?;
        for _ in 0..MOST_STOPS {
            match verdict(&state, rules) {
                Ok(outcome) => return Ok((state, outcome)),
                Err(unread) => {
                    let mut wanted = BTreeSet::from([unread]);
                    if !foreseen {
                        let block = BlockId::hash_canonical(state.header.hash);
                        wanted.extend(state.unknown(self.foresee(call, block).await));
                        foreseen = true;
                    }
                    let mut more = State::clone(&state);
                    more.read(&self.node, &wanted, &state::Codes::default()).await?;
                    state = Arc::new(more);
                }
            }
        }
        Err(ChainFault::TooMuchUnread { stops: MOST_STOPS })
    }

    /// The state of a block with what will be needed: what was used of late, and what the node says that the call
    /// touches. One round trip for the first, one more where the second adds to it, none where the block is known; and
    /// whether the node was asked what the call touches.
    async fn at(
        &self,
        header: Header,
        call: &Call,
        accounts: impl Iterator<Item = Address>,
    ) -> Result<(Arc<State>, bool), ChainFault> {
        let known = self.state.lock().await.clone();
        if let Some(known) = &known
            && known.header.hash == header.hash
        {
            return Ok((Arc::clone(known), false));
        }
        let mut wanted: BTreeSet<Unread> =
            accounts.chain([call.to, call.from, header.beneficiary]).map(Unread::Account).collect();
        wanted.extend(toll::oracle(self.node.chain_id()).map(Unread::Account));
        let mut codes = state::Codes::default();
        if let Some(known) = &known {
            wanted.extend(known.used_lately());
            // A contract stays, but only down its own line: another block may never have seen it.
            if header.parent_hash == known.header.hash {
                codes = known.lasting_code();
            }
        }
        let mut state = State::of(header);
        let block = BlockId::hash_canonical(state.header.hash);
        let (read, foreseen) =
            tokio::join!(state.read(&self.node, &wanted, &codes), self.foresee(call, block));
        read?;
        let more = state.unknown(foreseen);
        if !more.is_empty() {
            state.read(&self.node, &more, &codes).await?;
        }
        if let Some(known) = &known {
            state.remember(known);
        }
        Ok((Arc::new(state), true))
    }

    /// What the node says that the call touches. A node that does not say leaves more to be found on the way.
    async fn foresee(&self, call: &Call, at: BlockId) -> BTreeSet<Unread> {
        let request = call.request();
        let Ok(touched) = self.node.provider().create_access_list(&request).block_id(at).await
        else {
            return BTreeSet::new();
        };
        touched
            .access_list
            .0
            .into_iter()
            .flat_map(|item| {
                let slots = item.storage_keys.into_iter();
                let slots = slots.map(move |slot| Unread::Slot(item.address, slot.into()));
                slots.chain([Unread::Account(item.address)])
            })
            .collect()
    }

    /// Keeps what was read last: a head may also be lower than the one before, after a reorganisation.
    async fn keep(&self, state: Arc<State>) {
        *self.state.lock().await = Some(state);
    }
}

/// Whether a node's machine does not have an instruction. Nodes have no code for that, only words; whatever else one
/// refuses says nothing of its chain's rules.
fn lacks_instruction(refused: &RpcError<TransportErrorKind>) -> bool {
    refused.as_error_resp().is_some_and(|error| {
        let words = error.message.to_lowercase().replace(['_', ' '], "");
        ["opcode", "notactivated", "badinstruction", "invalidinstruction"]
            .iter()
            .any(|known| words.contains(known))
    })
}

/// A call of the manager.
struct Call {
    from: Address,
    to: Address,
    data: Bytes,
    /// Coins that go along, in wei.
    value: U256,
    gas: u64,
    by: By,
}

impl Call {
    fn of(redemption: &Redemption, redeemer: Address) -> Self {
        Self {
            from: redeemer,
            to: redemption.manager(),
            data: redemption.calldata(),
            value: U256::ZERO,
            gas: MOST_GAS,
            by: By::Either,
        }
    }

    fn request(&self) -> TransactionRequest {
        TransactionRequest::default()
            .with_from(self.from)
            .with_to(self.to)
            .with_value(self.value)
            .with_input(self.data.clone())
    }

    fn transaction(&self, chain_id: u64, within: &Header) -> TxEnv {
        TxEnv {
            caller: self.from,
            kind: TxKind::Call(self.to),
            data: self.data.clone(),
            value: self.value,
            gas_limit: self.gas,
            // Nothing is paid, but a contract that asks sees a price as it will in a block.
            gas_price: within.base_fee_per_gas.unwrap_or_default().into(),
            chain_id: Some(chain_id),
            ..TxEnv::default()
        }
    }
}

/// An account that did not make all the calls that it was asked for.
fn left_undone(redemption: &Redemption, mut made: Vec<Made>) -> Option<Address> {
    redemption.calls().find_map(|(account, call)| {
        let wanted =
            Made { from: account, to: call.target, value: call.value, input: call.data.clone() };
        match made.iter().position(|one| *one == wanted) {
            Some(at) => {
                made.swap_remove(at);
                None
            }
            None => Some(account),
        }
    })
}

/// Whether the manager says of every link of every grant that `redeemer` redeemed it. What answers everything with a yes is
/// none, and others may be in the same bundle.
pub(crate) fn redeemed<'a>(
    logs: impl Iterator<Item = &'a Log>,
    redemption: &Redemption,
    redeemer: Address,
) -> bool {
    let manager = redemption.manager();
    let mut said: Vec<_> = logs
        .filter(|log| log.address == manager)
        .filter_map(|log| DelegationManager::RedeemedDelegation::decode_log(log).ok())
        .filter(|event| event.redeemer == redeemer)
        .collect();
    // Each of them speaks of one link, once.
    redemption.contexts().all(|context| {
        context.links().iter().all(|link| {
            let of = said.iter().position(|event| {
                event.rootDelegator == context.root().delegator
                    && event.delegation.signature == link.signature
                    && event.delegation.delegator == link.delegator
                    && event.delegation.salt == link.salt
            });
            of.map(|at| said.swap_remove(at)).is_some()
        })
    })
}

/// What a run took, before refunds.
fn spent(gas: &ResultGas) -> u64 {
    gas.total_gas_spent().max(gas.floor_gas())
}

/// The verdict, or what must be read for one.
fn verdict(
    state: &State,
    redemption: &Redemption,
    call: &Call,
    rules: Rules,
    signers: &Signers,
) -> Result<Result<Outcome, ChainFault>, Unread> {
    let chain_id = rules.chain_id;
    // A call to nothing succeeds in doing nothing: that must not look like a yes.
    let has_code = |address: Address| {
        let info = state.basic_ref(address)?;
        Ok(info.is_some_and(|info| !info.is_empty_code_hash()))
    };
    if !has_code(call.to)? {
        let what = "DelegationManager";
        return Ok(Err(ChainFault::Missing { what, address: call.to, chain_id }));
    }
    for context in redemption.contexts() {
        let account = context.root().delegator;
        if !has_code(account)? {
            return Ok(Ok(Outcome::Refused(Denial::new(
                DenialCode::NoAccount,
                format!("the owner's account {account} has no code yet, so it cannot execute"),
            ))));
        }
    }
    for caveat in
        redemption.contexts().flat_map(|context| context.links()).flat_map(|link| &link.caveats)
    {
        let enforcer = caveat.enforcer;
        if !has_code(enforcer)? {
            let mut denial = Denial::new(
                DenialCode::OtherCaveat,
                format!(
                    "the enforcer {enforcer} has no code on chain {chain_id}, so that nothing can be redeemed; \
                     `bardo chains check` says what is missing"
                ),
            );
            denial.enforcer = Some(enforcer);
            return Ok(Ok(Outcome::Refused(denial)));
        }
    }
    let at = |number| {
        run(state, call, redemption, chain_id, Machine::new(state, rules, number, signers))
    };
    let ran = match at(state.within.number)? {
        Ok(ran) => ran,
        Err(why) => return Ok(Err(ChainFault::Machine { why })),
    };
    // Its contracts see another number than its blocks have.
    if is_arbitrum(chain_id) && at(0)? != Ok(ran.clone()) {
        let why = "it depends on the number of the block, of which Arbitrum has another".to_owned();
        return Ok(Err(ChainFault::Machine { why }));
    }
    let (mut before, mut data_fee) = (None, U256::ZERO);
    if ran.result.is_success() {
        if !redeemed(ran.result.logs().iter(), redemption, call.from) {
            let what = "a DelegationManager that redeems";
            return Ok(Err(ChainFault::Missing { what, address: call.to, chain_id }));
        }
        // The manager believes an account that it obeyed; nobody else need.
        if let Some(account) = ran.idle {
            let why = format!("{account} does not make the calls that it is asked for");
            return Ok(Err(ChainFault::Machine { why }));
        }
        let mut machine = Machine::new(state, rules, state.within.number, signers);
        match toll::toll(state, call, chain_id, &mut machine)? {
            Ok(fee) => data_fee = fee,
            Err(fault) => return Ok(Err(fault)),
        }
        match counted(state, redemption, machine)? {
            Ok(known) => before = known,
            Err(why) => return Ok(Err(ChainFault::Machine { why })),
        }
    }
    Ok(Ok(match ran.result {
        ExecutionResult::Success { gas, .. } => Outcome::Allowed(Preview {
            block: state.block(),
            gas: spent(&gas),
            gas_limit: call.gas,
            data_fee,
            changes: ran.changes,
            notes: ran.notes,
            counted: before,
        }),
        ExecutionResult::Revert { .. } => match ran.denial {
            Some(denial) => Outcome::Refused(denial),
            None => {
                let why = "a call reverted and nobody is seen who did".to_owned();
                return Ok(Err(ChainFault::Machine { why }));
            }
        },
        ExecutionResult::Halt { reason, .. } => Outcome::Refused(Denial::new(
            DenialCode::Reverted,
            format!("the call could not be finished: {reason:?}"),
        )),
    }))
}

/// What the charter of a grant counted by the end of the block; none where it has none. What it does not say is not taken for
/// nothing.
fn counted(
    state: &State,
    redemption: &Redemption,
    mut machine: Machine<'_>,
) -> Result<Result<Option<Counted>, String>, Unread> {
    let (enforcer, root) = (golem_charter_enforcer(), redemption.context().root());
    let caveat = root.caveats.iter().find(|caveat| caveat.enforcer == enforcer);
    let charter = caveat.and_then(|caveat| GolemCharter::decode(&caveat.terms).ok());
    let Some(golem) = charter.map(|charter| charter.golem_id) else { return Ok(Ok(None)) };
    let asked = GolemCharterEnforcer::spendWindowOfCall {
        manager: redemption.manager(),
        delegator: root.delegator,
        golemId: golem,
    };
    let said = match machine.ask(enforcer, asked.abi_encode().into()) {
        Ok(done) => done.into_output().unwrap_or_default(),
        Err(EVMError::Database(unread)) => return Err(unread),
        Err(other) => return Ok(Err(other.to_string())),
    };
    let Ok(word) = <[u8; 32]>::try_from(said.as_ref()) else {
        return Ok(Err("the charter does not say what was spent under it".to_owned()));
    };
    let window = SpendWindow::from_word(U256::from_be_bytes(word));
    let now = state.within.timestamp;
    let sums = window
        .spent_since(now.saturating_sub(DAY - LATE), now)
        .and_then(|least| Ok((least, window.spent(now)?)));
    Ok(match sums {
        Ok((least, most)) => Ok(Some(Counted {
            golem,
            at_least: u64::try_from(least).unwrap_or(u64::MAX),
            at_most: window.looks_back(DAY).then(|| u64::try_from(most).unwrap_or(u64::MAX)),
            grain: window.unit(),
        })),
        Err(refusal) => Err(refusal.to_string()),
    })
}

/// Runs a call and looks at what it changed in `state`.
fn run(
    state: &State,
    call: &Call,
    redemption: &Redemption,
    chain_id: u64,
    mut machine: Machine<'_>,
) -> Result<Result<Ran, String>, Unread> {
    let seen = match machine.run(call.transaction(chain_id, &state.within)) {
        Ok(seen) => seen,
        Err(EVMError::Database(unread)) => return Err(unread),
        Err(other) => return Ok(Err(other.to_string())),
    };
    let Seen { result, made, failed, glances } = seen;
    if let Some(unknown) = machine.built_in() {
        return Ok(Err(format!("{unknown} is built into this chain, and not into this machine")));
    }
    // Whoever sees that he is only tried can behave until he is not.
    if result.is_success() && glances.block {
        let what = "what gas costs, or at who builds the block, at its chance or size";
        return Ok(Err(format!(
            "a contract that it calls looks at {what}, which is not known before"
        )));
    }
    // Of what a key sends itself it is known who sends; what a session account does may be a bundler's to send.
    let by_bundler = || {
        Ok(match call.by {
            By::Key => false,
            By::Bundler => true,
            By::Either => state.basic_ref(call.from)?.is_some_and(|it| !it.is_empty_code_hash()),
        })
    };
    if result.is_success() && glances.sender && by_bundler()? {
        let why = "a contract that it calls looks at who sends it, who may be any bundler";
        return Ok(Err(why.to_owned()));
    }
    if !result.is_success() {
        let denial = failed.map(|failure| failure.explain(redemption));
        let (changes, notes) = (Vec::new(), Vec::new());
        return Ok(Ok(Ran { result, idle: None, denial, changes, notes }));
    }
    let idle = left_undone(redemption, made);
    let calls: Vec<_> = redemption.calls().collect();
    let (mut candidates, mut unseen) = changes::candidates(result.logs(), &calls);
    // What was asked of a token moves, though it log nothing.
    let asked = changes::asked(&calls);
    candidates.extend(&asked);
    for (address, coins) in machine.touched() {
        if state.basic_ref(address)?.map(|info| info.balance) != Some(coins) {
            candidates.insert(changes::Question::Native(address));
        }
    }
    if candidates.len() > changes::MOST {
        let (found, most) = (candidates.len(), changes::MOST);
        return Ok(Err(format!(
            "{found} balances and allowances may change, of which {most} are looked at"
        )));
    }
    let mut work = 0;
    let mut answers = |machine: &mut Machine<'_>| -> Result<Vec<_>, Unread> {
        candidates.iter().map(|question| read(machine, *question, &mut work)).collect()
    };
    let after = answers(&mut machine)?;
    machine.forget();
    let before = answers(&mut machine)?;
    if work > MOST_WORK {
        return Ok(Err("what it changes takes too much work to be told".to_owned()));
    }
    let call_to = call.to;
    let (changes, silent) = changes::changes(&candidates, &before, &after);
    for question in silent {
        let Some((token, _)) = question.call() else { continue };
        // What was only supposed need not be answered by who told it all by logs, or is not there.
        let known = |token| -> Result<bool, Unread> {
            let there = state.basic_ref(token)?.is_some_and(|info| !info.is_empty_code_hash());
            Ok(!there || changes::tells(result.logs(), token))
        };
        if !(asked.contains(&question) && known(token)?) {
            unseen.insert(token);
        }
    }
    let mut notes: Vec<String> = unseen
        .iter()
        .map(|token| format!("what {token} moves is not all shown: it does not say what is asked"))
        .collect();
    for (token, account) in
        changes::pulled_unseen(result.logs(), &calls, &candidates, &before, &changes)
    {
        notes.push(format!(
            "{token} of {account} was pulled by somebody whom it did not call: whose allowance that lowers is not shown"
        ));
    }
    for (speaker, account) in changes::unknown_words(result.logs(), redemption) {
        // Of whom all is doubtful, that is said.
        if unseen.contains(&speaker) {
            continue;
        }
        notes.push(format!(
            "{speaker} says something of {account} in words that are not known here: what that changes is not shown"
        ));
    }
    for (account, call) in &calls {
        // Who rules an account, and what it allows, has no log that everybody knows.
        for (special, what) in [
            (*account, "the account itself"),
            (call_to, "the manager"),
            (ENTRY_POINT, "the entry point"),
        ] {
            if call.target == special && !call.data.is_empty() {
                notes.push(format!("{what} ({special}) is called: what that changes is not shown"));
            }
        }
        if !call.data.is_empty() && !machine.has_code(call.target)? {
            notes.push(format!("{} has no code: a call of it does nothing", call.target));
        }
    }
    Ok(Ok(Ran { result, idle, denial: None, changes, notes }))
}

/// The answer of a view function; none where it has none. Nothing is paid for it, and nobody asks.
fn read(
    machine: &mut Machine<'_>,
    question: changes::Question,
    work: &mut u64,
) -> Result<Option<U256>, Unread> {
    if *work > MOST_WORK {
        return Ok(None);
    }
    if let changes::Question::Native(address) = question {
        return machine.coins(address).map(Some);
    }
    let Some((to, data)) = question.call() else { return Ok(None) };
    match machine.ask(to, data) {
        Ok(done) => {
            *work = work.saturating_add(done.gas().total_gas_spent());
            let answer = done.into_output().unwrap_or_default();
            Ok((answer.len() == 32).then(|| U256::from_be_slice(&answer)))
        }
        Err(EVMError::Database(unread)) => Err(unread),
        Err(_other) => Ok(None),
    }
}

#[async_trait]
impl DryRun for Foresight {
    async fn dry_run(&self, act: &Act, sender: Address) -> Result<Outcome, BoxError> {
        Ok(self.judge_by(act, sender, By::Either).await?)
    }
}

#[async_trait]
impl Submit for Foresight {
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError> {
        Submit::plan(&self.node, sender).await
    }

    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError> {
        self.node.submit(transaction).await
    }
}

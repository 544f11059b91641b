//! From what somebody wants to what may be rehearsed: the first two stages of an intent (DESIGN, "Life of one intent").

use crate::{
    Act, Approvals, Approving, Books, BoxError, Caps, CustodyError, Denial, DenialCode, Entry,
    IntentId, Leftover, Question, Redemption, RegistryUpdate, Reserving, crash::Failpoint,
};
use alloy_primitives::{Address, B256};
use alloy_signer::k256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use bardo_bindings::golem_charter_enforcer;
use golem_delegation::terms::GolemCharter;
use golem_safety::{Cage, Call, CallsDigest, Facts, Intent, Parties, Permit, Verdict};
use serde_json::{Value, json};
use std::{fmt, sync::Arc};

/// Something to be done under a grant. Nothing follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    intent: IntentId,
    redemption: Redemption,
    what: Value,
}

impl Proposed {
    /// Under a name that nothing had before: the books take each name once (INV-10).
    #[must_use]
    pub const fn new(intent: IntentId, redemption: Redemption) -> Self {
        Self { intent, redemption, what: Value::Null }
    }

    /// The same, under a name that nobody has to find again.
    #[must_use]
    pub fn unnamed(redemption: Redemption) -> Self {
        let mut name = B256::ZERO;
        OsRng.fill_bytes(name.as_mut_slice());
        Self::new(IntentId(name), redemption)
    }

    /// The same, with words for whoever reads the books.
    #[must_use]
    pub fn about(mut self, what: impl Into<Value>) -> Self {
        self.what = what.into();
        self
    }

    /// What is to be done.
    pub(crate) const fn redemption(&self) -> &Redemption {
        &self.redemption
    }

    /// Judges it by the owner's policy. Parties and lists are those of the charter that he signed, and of nothing else.
    pub fn judge(self, cage: &Cage, facts: &Facts) -> Judgement {
        let (account, calls) = match self.one_account() {
            Ok(found) => found,
            Err(denial) => return Judgement::Refused(vec![denial]),
        };
        let charter = match self.charter() {
            Ok(charter) => charter,
            Err(denial) => return Judgement::Refused(vec![denial]),
        };
        if charter.account != account {
            let reason = format!("the charter is {}'s, and {account} would act", charter.account);
            return Judgement::Refused(vec![Denial::new(DenialCode::PolicyParty, reason)]);
        }
        let intent = Intent { parties: Parties::of(&charter), listing: charter.listing, calls };
        match cage.judge(&intent, facts) {
            Verdict::Refused(denials) => Judgement::Refused(denials),
            Verdict::Permitted(permit) => {
                let Ok(most) = u64::try_from(permit.most().get()) else {
                    let reason = format!("{} are beyond the books", permit.most());
                    let denial = Denial::new(DenialCode::PolicyAmount, reason);
                    return Judgement::Refused(vec![denial]);
                };
                let (digest, by) = (permit.digest(), By::Policy(permit));
                Judgement::Permitted(self.judged(Some(digest), most, by))
            }
        }
    }

    /// Takes it as judged by the person who asks for it and sees it: what the grant does not bound, nobody bounds.
    ///
    /// For commands that an owner types. Whatever acts by itself is judged by its policy.
    pub fn by_hand(self) -> Judged {
        let account = self.redemption.context().root().delegator;
        let calls: Vec<Call> = self.redemption.calls().map(|(_, call)| judged_call(call)).collect();
        let digest = CallsDigest::of(account, &calls);
        self.judged(Some(digest), 0, By::Hand)
    }

    fn judged(self, digest: Option<CallsDigest>, most: u64, by: By) -> Judged {
        let Self { intent, redemption, what } = self;
        Judged { intent, act: redemption.into(), what, digest, most, by, approved: false }
    }

    /// Whose account acts, and what it does. A policy is one Golem's, and so is what it judges.
    fn one_account(&self) -> Result<(Address, Vec<Call>), Denial> {
        let mut contexts = self.redemption.contexts();
        let first = self.redemption.context();
        if !contexts.all(|context| context == first) {
            let reason = "an intent stands on one grant, and this one on several";
            return Err(Denial::new(DenialCode::PolicyBatch, reason));
        }
        let calls = self.redemption.calls().map(|(_, call)| judged_call(call)).collect();
        Ok((first.root().delegator, calls))
    }

    /// What the owner signed of it. A grant without a charter of ours says nothing of tokens and parties (INV-4).
    fn charter(&self) -> Result<GolemCharter, Denial> {
        let enforcer = golem_charter_enforcer();
        let root = self.redemption.context().root();
        let mut found = root.caveats.iter().filter(|caveat| caveat.enforcer == enforcer);
        let reason = match (found.next(), found.next()) {
            (Some(only), None) => match GolemCharter::decode(&only.terms) {
                Ok(charter) => return Ok(charter),
                Err(malformed) => format!("the grant's charter cannot be read: {malformed}"),
            },
            (None, _) => "the grant has no charter to judge by".to_owned(),
            (Some(_), Some(_)) => "the grant has more than one charter".to_owned(),
        };
        Err(Denial::new(DenialCode::PolicyTarget, reason))
    }
}

fn judged_call(call: &crate::Execution) -> Call {
    Call { target: call.target, value: call.value, data: call.data.clone() }
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
#[expect(clippy::large_enum_variant, reason = "made once for an intent and taken apart at once")]
pub enum Judgement {
    /// May be rehearsed.
    Permitted(Judged),
    /// Every reason there is; one at least.
    Refused(Vec<Denial>),
}

/// By whom something was judged.
#[derive(Debug)]
enum By {
    Policy(Permit),
    Hand,
    /// What the owner named as running costs.
    Runway,
    /// Nobody: it is the Golem's word about itself.
    Itself,
}

/// Something that the owner's policy permits, or that he asked for himself, or a Golem's word about itself. Only [`Proposed`],
/// [`Judged::said`] and [`Judged::leftover`] make one, and whoever rehearses it has it no more.
///
/// ```compile_fail,E0599
/// # use golem_custody::Judged;
/// fn twice(judged: Judged) -> (Judged, Judged) { (judged.clone(), judged) }
/// ```
#[derive(Debug)]
#[must_use = "what is judged and dropped is never done"]
pub struct Judged {
    intent: IntentId,
    act: Act,
    what: Value,
    /// Of what moves money.
    digest: Option<CallsDigest>,
    most: u64,
    by: By,
    /// Whether the owner's yes was used for it.
    approved: bool,
}

impl Judged {
    /// What a Golem says of itself on the register. There is nothing to judge in it: it moves no money, and who reads it knows whose
    /// word it is (SPEC D10). It takes the same way as all that its key signs.
    pub fn said(intent: IntentId, update: RegistryUpdate) -> Self {
        let (act, what) = (Act::Update(update), Value::Null);
        Self { intent, act, what, digest: None, most: 0, by: By::Itself, approved: false }
    }

    /// A running cost that was judged as one.
    pub(crate) fn running_cost(proposed: Proposed, most: u64) -> Self {
        let account = proposed.redemption.context().root().delegator;
        let calls: Vec<Call> =
            proposed.redemption.calls().map(|(_, call)| judged_call(call)).collect();
        let digest = CallsDigest::of(account, &calls);
        proposed.judged(Some(digest), most, By::Runway)
    }

    /// What the key itself has, for its owner. There is nothing to judge in it either: it is his, and the books take it for nobody
    /// else.
    pub fn leftover(intent: IntentId, leftover: Leftover) -> Self {
        let (act, what) = (Act::Home(leftover), Value::Null);
        Self { intent, act, what, digest: None, most: 0, by: By::Itself, approved: false }
    }

    /// Its name.
    #[must_use]
    pub const fn intent(&self) -> IntentId {
        self.intent
    }

    /// What is to be done.
    #[must_use]
    pub const fn act(&self) -> &Act {
        &self.act
    }

    /// Over every call and who makes it: what an owner approves (SPEC P8). None where no money moves.
    #[must_use]
    pub fn digest(&self) -> Option<B256> {
        self.digest.map(CallsDigest::get)
    }

    /// Most that it spends, in micro-dollars; zero where a person asked for it.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// The same deed once more, after the first attempt at it can never take effect: under a name of its own, that whoever knows
    /// the first can find.
    pub(crate) fn again(mut self) -> Self {
        self.intent = self.intent.again();
        self
    }

    fn entry(&self, mandate: &Mandate, session: Address, now: u64) -> Entry {
        let by = match &self.by {
            By::Policy(permit) => json!({ "policy": permit.policy_version() }),
            By::Hand => json!("hand"),
            By::Runway => json!("runway"),
            By::Itself => json!("itself"),
        };
        let what = match &self.act {
            Act::Update(update) => json!({ "update": update.told(), "judgedBy": by }),
            Act::Home(leftover) => json!({ "home": leftover.told(), "judgedBy": by }),
            Act::Redemption(redemption) => {
                let told = |(account, call): (Address, &crate::Execution)| {
                    let (target, value, data) = (call.target, call.value, &call.data);
                    json!({ "account": account, "target": target, "value": value, "data": data })
                };
                json!({
                    "about": self.what,
                    "delegation": redemption.context().leaf().hash(),
                    "digest": self.digest(),
                    "judgedBy": by,
                    "calls": redemption.calls().map(told).collect::<Vec<_>>(),
                })
            }
        };
        Entry {
            intent: self.intent(),
            golem: mandate.golem,
            owner: mandate.owner,
            session,
            micro_dollars: self.most,
            at: now,
            what,
        }
    }
}

/// When an owner is asked before something is signed (SPEC P8).
#[derive(Clone)]
pub struct Consent {
    /// More than so many micro-dollars.
    pub above: u64,
    /// Seconds in which his answer counts.
    pub lifetime: u64,
    /// Where he is asked.
    pub approvals: Arc<dyn Approvals>,
}

impl fmt::Debug for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { above, lifetime, approvals: _ } = self;
        f.debug_struct("Consent").field("above", above).field("lifetime", lifetime).finish()
    }
}

/// Whose Golem it is, what it may spend, and where that is written down.
#[derive(Clone)]
pub struct Mandate {
    /// The Golem's id on chain.
    pub golem: B256,
    /// Whose money.
    pub owner: Address,
    /// What may be spent.
    pub caps: Caps,
    /// When he is asked; never, if there is none.
    pub consent: Option<Consent>,
    /// Where it is written down.
    pub books: Arc<dyn Books>,
}

impl fmt::Debug for Mandate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { golem, owner, caps, consent, books: _ } = self;
        f.debug_struct("Mandate")
            .field("golem", golem)
            .field("owner", owner)
            .field("caps", caps)
            .field("consent", consent)
            .finish_non_exhaustive()
    }
}

impl Mandate {
    /// For what a person asks for himself: he is the judge, and the books only keep what was signed.
    #[must_use]
    pub fn by_hand(golem: B256, owner: Address, books: Arc<dyn Books>) -> Self {
        let caps = Caps { session: 0, day: 0, owner_day: None };
        Self { golem, owner, caps, consent: None, books }
    }

    /// Asks the owner where he has to be asked, and sets the sum aside: both are on the disk when this returns.
    pub(crate) async fn reserve(
        &self,
        judged: &mut Judged,
        session: Address,
        now: u64,
    ) -> Result<Option<Denial>, CustodyError> {
        if let Act::Update(update) = judged.act()
            && update.golem != self.golem
        {
            let reason =
                format!("{} speaks for itself alone, and not for {}", self.golem, update.golem);
            return Ok(Some(Denial::new(DenialCode::PolicyParty, reason)));
        }
        if let Act::Home(leftover) = judged.act()
            && leftover.to != self.owner
        {
            let reason =
                format!("a key's own money goes to {}, and not to {}", self.owner, leftover.to);
            return Ok(Some(Denial::new(DenialCode::PolicyParty, reason)));
        }
        if let Some(denial) = self.approve(judged, now).await? {
            return Ok(Some(denial));
        }
        let entry = judged.entry(self, session, now);
        let reserving = self.books.reserve(&entry, &self.caps).await;
        Ok(match reserving.map_err(unwritten("the intent"))? {
            Reserving::Made => {
                Failpoint::IntentReserved.reached();
                None
            }
            Reserving::Refused(denial) => Some(denial),
        })
    }

    async fn approve(&self, judged: &mut Judged, now: u64) -> Result<Option<Denial>, CustodyError> {
        let Some(consent) = &self.consent else { return Ok(None) };
        let micro_dollars = judged.most;
        if judged.approved || micro_dollars <= consent.above {
            return Ok(None);
        }
        // What moves no money is no question.
        let Some(digest) = judged.digest() else { return Ok(None) };
        let intent = judged.intent();
        let answered = consent.approvals.answer(intent).await;
        if answered.map_err(unwritten("the owner's answer"))?.is_none() {
            let question = Question {
                intent,
                golem: self.golem,
                owner: self.owner,
                digest,
                micro_dollars,
                words: judged.what.to_string(),
                expires_at: now.saturating_add(consent.lifetime),
            };
            consent.approvals.ask(&question).await.map_err(unwritten("a question"))?;
        }
        let used = consent.approvals.consume(intent, digest, now).await;
        Ok(match used.map_err(unwritten("the owner's answer"))? {
            Approving::Granted => {
                judged.approved = true;
                None
            }
            Approving::Refused(denial) => Some(denial),
        })
    }
}

/// The books did not take something; nobody else has it.
pub(crate) fn unwritten(what: &'static str) -> impl FnOnce(BoxError) -> CustodyError {
    move |source| CustodyError::Books { what, source }
}

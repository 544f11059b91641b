//! From what somebody wants to what may be rehearsed: the first two stages of an intent (DESIGN, "Life of one intent").

use crate::{
    Act, Approvals, Approving, Books, BoxError, Caps, Counted, CustodyError, Denial, DenialCode,
    Drift, Entry, IntentId, Leftover, Question, Redemption, RegistryUpdate, Reserving, WalletCall,
    crash::Failpoint,
};
use alloy_primitives::{Address, B256};
use alloy_signer::k256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use bardo_bindings::golem_charter_enforcer;
use golem_delegation::terms::GolemCharter;
use golem_safety::{Cage, Call, CallsDigest, Facts, Intent, Parties, Permit, Verdict};
use serde_json::{Value, json};
use std::{fmt, sync::Arc};

/// Seconds for which what was reserved may count of a day: what is written down late counts from a little later than it says.
const A_DAY_AND_LATER: u64 = 86_400 + 300;
/// Where the books have what a wallet at a service does.
pub(crate) const WALLET: &str = "wallet";

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
                let most = match within_books(&permit) {
                    Ok(most) => most,
                    Err(denial) => return Judgement::Refused(vec![denial]),
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
        let act = redemption.into();
        Judged { intent, act, what, digest, most, by, asked: None, approved: false }
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

/// Most that is spent, as books have it.
fn within_books(permit: &Permit) -> Result<u64, Denial> {
    u64::try_from(permit.most().get()).map_err(|_beyond| {
        Denial::new(DenialCode::PolicyAmount, format!("{} are beyond the books", permit.most()))
    })
}

pub(crate) fn judged_call(call: &crate::Execution) -> Call {
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
    /// As the owner was asked about it before: for how much, and until when.
    asked: Option<Asked>,
    /// Whether the owner's yes was used for it.
    approved: bool,
}

/// What a question said that is no part of the deed itself.
#[derive(Clone, Copy, Debug)]
struct Asked {
    micro_dollars: u64,
    expires_at: u64,
}

impl Judged {
    /// What a Golem says of itself on the register. There is nothing to judge in it: it moves no money, and who reads it knows whose
    /// word it is (SPEC D10). It takes the same way as all that its key signs.
    pub fn said(intent: IntentId, update: RegistryUpdate) -> Self {
        let (act, what) = (Act::Update(update), Value::Null);
        Self {
            intent,
            act,
            what,
            digest: None,
            most: 0,
            by: By::Itself,
            asked: None,
            approved: false,
        }
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
        Self {
            intent,
            act,
            what,
            digest: None,
            most: 0,
            by: By::Itself,
            asked: None,
            approved: false,
        }
    }

    /// What a wallet at a service is to do, which its owner's policy permits.
    pub(crate) fn by_wallet(
        intent: IntentId,
        call: WalletCall,
        what: Value,
        permit: Permit,
    ) -> Result<Self, Denial> {
        let most = within_books(&permit)?;
        let (digest, by) = (Some(permit.digest()), By::Policy(permit));
        let act = Act::Wallet(call);
        Ok(Self { intent, act, what, digest, most, by, asked: None, approved: false })
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

    /// The same, about which the owner is or was asked in these words: for so many micro-dollars, until that second. Proposed again
    /// later it is the same question, and needs his yes whatever it is worth by then (SPEC P8).
    pub const fn asked(mut self, micro_dollars: u64, expires_at: u64) -> Self {
        self.asked = Some(Asked { micro_dollars, expires_at });
        self
    }

    /// The same deed once more, after the first attempt at it can never take effect: under a name of its own, that whoever knows
    /// the first can find.
    pub(crate) fn again(mut self) -> Self {
        self.intent = self.intent.again();
        self
    }

    fn entry(&self, mandate: &Mandate, session: Address, drift: Option<Drift>, now: u64) -> Entry {
        let by = match &self.by {
            By::Policy(permit) => json!({ "policy": permit.policy_version() }),
            By::Hand => json!("hand"),
            By::Runway => json!("runway"),
            By::Itself => json!("itself"),
        };
        let what = match &self.act {
            Act::Update(update) => json!({ "update": update.told(), "judgedBy": by }),
            Act::Home(leftover) => json!({ "home": leftover.told(), "judgedBy": by }),
            Act::Wallet(call) => json!({
                "about": self.what,
                WALLET: call.wallet,
                "digest": self.digest(),
                "judgedBy": by,
                "calls": [call.told()],
            }),
            Act::Redemption(redemption) => {
                let told = |(account, call): (Address, &crate::Execution)| {
                    let (target, value, data) = (call.target, call.value, &call.data);
                    json!({ "account": account, "target": target, "value": value, "data": data })
                };
                let mut what = json!({
                    "about": self.what,
                    "delegation": redemption.context().leaf().hash(),
                    "digest": self.digest(),
                    "judgedBy": by,
                    "calls": redemption.calls().map(told).collect::<Vec<_>>(),
                });
                if let (Some(drift), Some(what)) = (drift, what.as_object_mut()) {
                    what.insert("drift".to_owned(), json!(drift));
                }
                what
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

impl Consent {
    /// Whether the owner wants to be asked about it. What moves no money is no question; running costs go to whom he named, within
    /// what he signed for them, and are agreed to already.
    #[must_use]
    pub const fn asks_about(&self, judged: &Judged) -> bool {
        judged.digest.is_some() && !matches!(judged.by, By::Runway) && judged.most > self.above
    }
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

    /// Asks the owner where he has to be asked, sets the sum aside, and uses his yes: all is on the disk when this returns.
    pub(crate) async fn reserve(
        &self,
        judged: &mut Judged,
        session: Address,
        counted: Option<Counted>,
        now: u64,
    ) -> Result<Option<Denial>, CustodyError> {
        if let Act::Update(update) = judged.act()
            && update.golem != self.golem
        {
            let reason =
                format!("{} speaks for itself alone, and not for {}", self.golem, update.golem);
            return Ok(Some(Denial::new(DenialCode::PolicyParty, reason)));
        }
        if let Act::Wallet(call) = judged.act()
            && call.wallet != session
        {
            let reason = format!("{session} does nothing in the place of wallet {}", call.wallet);
            return Ok(Some(Denial::new(DenialCode::PolicyParty, reason)));
        }
        if let Act::Home(leftover) = judged.act()
            && leftover.to != self.owner
        {
            let reason =
                format!("a key's own money goes to {}, and not to {}", self.owner, leftover.to);
            return Ok(Some(Denial::new(DenialCode::PolicyParty, reason)));
        }
        let yes = match self.approve(judged, now).await? {
            Asking::Needless => None,
            Asking::Yes(consent, digest) => Some((consent, digest)),
            Asking::No(denial) => return Ok(Some(denial)),
        };
        // Where nothing is to be spent, and where another's spending is counted, there is nothing to hold against each other.
        let counted = counted.filter(|counted| judged.most > 0 && counted.golem == self.golem);
        let (caps, drift) = match counted {
            Some(counted) => self.reconcile(&counted, session, now).await?,
            None => (self.caps, None),
        };
        let entry = judged.entry(self, session, drift, now);
        let reserving = self.books.reserve(&entry, &caps).await;
        match reserving.map_err(unwritten("the intent"))? {
            Reserving::Made => Failpoint::IntentReserved.reached(),
            Reserving::Refused(mut denial) => {
                if let Some(Drift::ChainCountsMore(more)) = drift {
                    let words =
                        format!("; the chain counts {more} micro-dollars more than the books");
                    denial.reason.push_str(&words);
                }
                return Ok(Some(denial));
            }
        }
        match yes {
            None => Ok(None),
            Some((consent, digest)) => self.use_up(consent, judged, digest, now).await,
        }
    }

    /// Uses the owner's yes, last of all: what is refused before it leaves him his word, to be used when there is room. The name is
    /// in the books by now, and they take no name twice: whatever ends this process here, a yes makes one signature at most (INV-10).
    async fn use_up(
        &self,
        consent: &Consent,
        judged: &mut Judged,
        digest: B256,
        now: u64,
    ) -> Result<Option<Denial>, CustodyError> {
        let intent = judged.intent();
        let used = consent.approvals.consume(intent, digest, now).await;
        match used {
            Ok(Approving::Granted) => {
                judged.approved = true;
                Ok(None)
            }
            Ok(Approving::Refused(denial)) => {
                self.give_back(intent, "its owner's yes was gone when it was used", now).await?;
                Ok(Some(denial))
            }
            Err(source) => {
                self.give_back(intent, "its owner's yes could not be used", now).await?;
                Err(unwritten("the owner's answer")(source))
            }
        }
    }

    /// What may still be spent by the stricter of the books and the chain, and how they differ.
    async fn reconcile(
        &self,
        counted: &Counted,
        session: Address,
        now: u64,
    ) -> Result<(Caps, Option<Drift>), CustodyError> {
        let spent = self.books.spent(session, now).await;
        let spent = spent.map_err(unwritten("what is spent"))?;
        let all = self.books.open().await.map_err(unwritten("what is open"))?;
        // What the books no longer count of the day is no part of their sum.
        let open = all.iter().map(|one| &one.entry);
        let open = open.filter(|entry| entry.at.saturating_add(A_DAY_AND_LATER) > now);
        let open = open.map(|entry| entry.micro_dollars).fold(0, u64::saturating_add);
        Ok((counted.tighten(&self.caps, &spent, open), counted.against(&spent, open)))
    }

    /// Asks the owner where he has to be asked, and weighs what he says.
    async fn approve(&self, judged: &Judged, now: u64) -> Result<Asking<'_>, CustodyError> {
        let Some(consent) = &self.consent else { return Ok(Asking::Needless) };
        if judged.approved || (judged.asked.is_none() && !consent.asks_about(judged)) {
            return Ok(Asking::Needless);
        }
        let Asked { micro_dollars, expires_at } = judged.asked.unwrap_or_else(|| Asked {
            micro_dollars: judged.most,
            expires_at: now.saturating_add(consent.lifetime),
        });
        // What moves no money is no question.
        let Some(digest) = judged.digest() else { return Ok(Asking::Needless) };
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
                expires_at,
            };
            consent.approvals.ask(&question).await.map_err(unwritten("a question"))?;
        }
        let weighed = consent.approvals.weigh(intent, digest, now).await;
        Ok(match weighed.map_err(unwritten("the owner's answer"))? {
            Approving::Granted => Asking::Yes(consent, digest),
            Approving::Refused(denial) => Asking::No(denial),
        })
    }
}

/// What the owner says to something, before his word is used.
enum Asking<'a> {
    /// He need not be asked, or his yes was used for it before.
    Needless,
    /// A yes to this digest, that is not used yet.
    Yes(&'a Consent, B256),
    /// No yes.
    No(Denial),
}

/// The books did not take something; nobody else has it.
pub(crate) fn unwritten(what: &'static str) -> impl FnOnce(BoxError) -> CustodyError {
    move |source| CustodyError::Books { what, source }
}

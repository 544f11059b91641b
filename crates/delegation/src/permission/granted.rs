use super::{
    Allowance, Answer, Asset, Dependency, Edit, Health, Periodic, Permission, Request, Stream,
    Usage,
};
use crate::{
    ANY_DELEGATE, ContextError, Delegation, Environment, Kind, PermissionContext, Rule,
    SigningDomain, TermsError, Utc,
    terms::{
        AllowedCalldata, Erc20PeriodTransfer, Erc20Streaming, NativeTokenPeriodTransfer,
        NativeTokenStreaming, Timestamp,
    },
};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeSet, fmt};

/// Where a transfer's calldata names who is paid.
const PAYEE_AT: U256 = U256::from_limbs([4, 0, 0, 0]);

/// What must hold whatever the answer says.
///
/// ```
/// use golem_delegation::permission::{Expected, GrantError, Granted};
/// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
/// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
/// # use alloy_primitives::{Address, Bytes, U256, bytes};
/// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
/// # let environment = Environment::stock();
/// # let limit = terms::NativeTokenPeriodTransfer {
/// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
/// # let rules = [
/// #     Rule::NativeTokenPeriodTransfer(limit),
/// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
/// # ];
/// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
/// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
/// # let context = PermissionContext::new(vec![leaf])?.encode();
/// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
/// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
/// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
/// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
/// let expected = Expected { session, manager, environment: &environment };
/// assert!(Granted::check(&answer, expected).is_ok());
///
/// // The same answer is not for another session account.
/// let other = Address::repeat_byte(9);
/// let refused = Granted::check(&answer, Expected { session: other, ..expected });
/// assert!(matches!(refused, Err(GrantError::NotOurs { actual, .. }) if actual == session));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Our session account: the one the permission must be for.
    pub session: Address,
    /// The manager we redeem at.
    pub manager: Address,
    /// Which enforcers are believed to be what.
    pub environment: &'a Environment,
}

/// Whose signature the context carries, as far as that can be told without a chain.
///
/// ```
/// use golem_delegation::permission::{Expected, Granted, Signed};
/// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
/// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
/// # use alloy_primitives::{Address, Bytes, U256, bytes};
/// # let [session, manager] = [1, 3].map(Address::repeat_byte);
/// # let owner = alloy_primitives::address!("7e5f4552091a69125d5dfcb7b8c2659029395bdf");
/// # let environment = Environment::stock();
/// # let limit = terms::NativeTokenPeriodTransfer {
/// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
/// # let rules = [
/// #     Rule::NativeTokenPeriodTransfer(limit),
/// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
/// # ];
/// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
/// # let mut leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
/// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
/// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
/// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
/// # let by_key = bytes!("085fe2ca7a5758957ea811bd8e743d9cee6bc20072f1470a888c43a1091a8e8b"
/// #     "39895cd04568b7755a513d61e062319360696f3fe283669f09c964a3e12265d71c");
/// # let expected = Expected { session, manager, environment: &environment };
/// # let mut answer_signed = |signature| -> Result<_, Box<dyn std::error::Error>> {
/// #     leaf.signature = signature;
/// #     let context = PermissionContext::new(vec![leaf.clone()])?.encode();
/// #     Ok(Answer { granted: granted.clone(), context, dependencies: vec![], manager: Some(manager) })
/// # };
/// let granted = Granted::check(&answer_signed(by_key)?, expected)?;
/// assert_eq!(granted.signed(), Signed::ByOwnersKey);
/// // What no key signed, an account may still accept.
/// let granted = Granted::check(&answer_signed(bytes!("01"))?, expected)?;
/// assert_eq!(granted.signed(), Signed::LeftToChain);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signed {
    /// The key of the owner's own account, for this chain and this manager.
    ByOwnersKey,
    /// Something that only the account can judge (ERC-1271): ask the chain.
    LeftToChain,
}

/// Why an answer is not believed.
///
/// ```
/// use golem_delegation::permission::{Expected, GrantError, Granted};
/// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
/// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
/// # use alloy_primitives::{Address, Bytes, U256, bytes};
/// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
/// # let environment = Environment::stock();
/// # let limit = terms::NativeTokenPeriodTransfer {
/// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
/// # let rules = [
/// #     Rule::NativeTokenPeriodTransfer(limit),
/// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
/// # ];
/// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
/// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
/// # let context = PermissionContext::new(vec![leaf])?.encode();
/// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
/// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
/// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
/// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
/// # let expected = Expected { session, manager, environment: &environment };
/// // The signed caveats give 7 wei.
/// let mut more = answer.clone();
/// let eight = Allowance { amount: U256::from(8), ..allowance };
/// more.granted.permission = Permission::Allowance(eight);
/// let refused = Granted::check(&more, expected).unwrap_err();
/// assert_eq!(refused.to_string(), "the allowance: the answer says 8, the signed caveats say 7");
///
/// let nowhere = Granted::check(&Answer { manager: None, ..answer }, expected);
/// assert_eq!(nowhere, Err(GrantError::Manager { answered: None, ours: manager }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The context is none.
    #[error("the answer's context cannot be read")]
    Context(#[from] ContextError),
    /// More than the one delegation that wallets give.
    #[error("the answer's context is a chain of {links} delegations, a wallet gives one")]
    Links {
        /// How many.
        links: usize,
    },
    /// To be redeemed elsewhere, or nowhere.
    #[error("the answer names the manager {}, ours is {ours}", shown(*.answered))]
    Manager {
        /// What the answer says.
        answered: Option<Address>,
        /// Where we redeem.
        ours: Address,
    },
    /// The delegation is open to anybody who learns its bytes (ATK-11).
    #[error("the delegation is open to any delegate")]
    AnyDelegate,
    /// Granted to somebody else.
    #[error("{field} is {actual}, our session account is {session}")]
    NotOurs {
        /// Which field.
        field: &'static str,
        /// Who it names.
        actual: Address,
        /// Who we are.
        session: Address,
    },
    /// Redeemable by others only.
    #[error("our session account {session} is not among the {redeemers} redeemers")]
    NotRedeemer {
        /// Who we are.
        session: Address,
        /// How many there are.
        redeemers: usize,
    },
    /// No signature at all.
    #[error("the delegation is not signed")]
    Unsigned,
    /// A caveat that its contract would refuse: nothing can be redeemed under it.
    #[error("caveat {index} has terms its contract refuses")]
    Terms {
        /// Which, from zero.
        index: usize,
        /// What is wrong.
        source: TermsError,
    },
    /// Two caveats of a kind, of which one says what is granted (ATK-23).
    #[error("there are two caveats of the kind {kind}")]
    Twice {
        /// Which kind.
        kind: Kind,
    },
    /// Nothing in the context limits what is spent.
    #[error("no caveat says what may be spent")]
    NoLimit,
    /// A caveat that leaves nothing of the permission.
    #[error("the {kind} caveat lets nothing of this be done")]
    Dead {
        /// Which.
        kind: Kind,
    },
    /// The caveat that keeps the permission to what it says is missing.
    #[error("without a caveat {kind} of nothing the permission allows more than it says")]
    Open {
        /// Which is missing.
        kind: Kind,
    },
    /// A number in the terms that no answer can say.
    #[error("{what} is {number}, more than an answer can say")]
    Number {
        /// Of what.
        what: &'static str,
        /// Which.
        number: U256,
    },
    /// The answer says one thing and the signed caveats another.
    #[error("{what}: the answer says {said}, the signed caveats say {bound}")]
    Mismatch {
        /// About what.
        what: &'static str,
        /// The answer's words.
        said: String,
        /// What binds.
        bound: String,
    },
}

fn shown(address: Option<Address>) -> String {
    address.map_or_else(|| "none".to_owned(), |address| address.to_string())
}

/// What the signed caveats say.
#[derive(Default)]
struct Bound {
    permission: Option<Permission>,
    expiry: Option<u64>,
    redeemers: Vec<Address>,
    /// As an ERC-20 transfer is bound, and as a native one is.
    token_payee: Option<Address>,
    native_payees: Vec<Address>,
    no_value: bool,
    no_calldata: bool,
    nonce: Option<U256>,
    further: Vec<Rule>,
}

fn moment(what: &'static str, number: U256) -> Result<u64, GrantError> {
    u64::try_from(number).map_err(|_too_large| GrantError::Number { what, number })
}

/// A cap whose period never ends is an allowance.
fn period(
    asset: Asset,
    amount: U256,
    duration: U256,
    start: U256,
) -> Result<Permission, GrantError> {
    let start = Some(moment("the start", start)?);
    if duration == U256::MAX {
        return Ok(Permission::Allowance(Allowance { asset, amount, start }));
    }
    let duration = moment("the period", duration)?;
    Ok(Permission::Periodic(Periodic { asset, amount, duration, start }))
}

impl Bound {
    fn read(leaf: &Delegation, environment: &Environment) -> Result<Self, GrantError> {
        let mut bound = Self::default();
        let mut seen = BTreeSet::new();
        for (index, caveat) in leaf.caveats.iter().enumerate() {
            let rule =
                environment.read(caveat).map_err(|source| GrantError::Terms { index, source })?;
            if let Some(kind) = rule.kind()
                && !seen.insert(kind)
            {
                return Err(GrantError::Twice { kind });
            }
            bound.add(rule)?;
        }
        Ok(bound)
    }

    fn add(&mut self, rule: Rule) -> Result<(), GrantError> {
        match rule {
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address,
                period_amount,
                period_duration,
                start_date,
            }) => {
                let asset = Asset::Erc20(token_address);
                self.limit(period(asset, period_amount, period_duration, start_date)?)
            }
            Rule::NativeTokenPeriodTransfer(NativeTokenPeriodTransfer {
                period_amount,
                period_duration,
                start_date,
            }) => self.limit(period(Asset::Native, period_amount, period_duration, start_date)?),
            Rule::Erc20Streaming(stream) => self.limit(Permission::Stream(Stream {
                asset: Asset::Erc20(stream.token_address),
                ..of_stream(stream)?
            })),
            Rule::NativeTokenStreaming(stream) => self.limit(Permission::Stream(native(stream)?)),
            Rule::ApprovalRevocation(kinds) => self.limit(Permission::ApprovalRevocation(kinds)),
            // What is not an end alone, as the wallet writes it, is shown and not taken for one.
            Rule::Timestamp(Timestamp { after: 0, before }) if before != 0 => {
                self.expiry = Some(moment("the expiry", U256::from(before))?);
                Ok(())
            }
            Rule::Redeemer(redeemers) => {
                self.redeemers = redeemers.0;
                Ok(())
            }
            Rule::AllowedCalldata(calldata) => match payee(&calldata) {
                Some(payee) => {
                    self.token_payee = Some(payee);
                    Ok(())
                }
                None => {
                    self.further.push(Rule::AllowedCalldata(calldata));
                    Ok(())
                }
            },
            Rule::AllowedTargets(targets) => {
                self.native_payees = targets.0;
                Ok(())
            }
            Rule::ValueLte(most) if most.0.is_zero() => {
                self.no_value = true;
                Ok(())
            }
            Rule::ExactCalldata(calldata) if calldata.0.is_empty() => {
                self.no_calldata = true;
                Ok(())
            }
            Rule::Nonce(nonce) => {
                self.nonce = Some(nonce.0);
                Ok(())
            }
            other => {
                self.further.push(other);
                Ok(())
            }
        }
    }

    /// One caveat says what is spent; a second would be a second permission in the same context.
    fn limit(&mut self, permission: Permission) -> Result<(), GrantError> {
        if let Some(before) = self.permission {
            return Err(GrantError::Mismatch {
                what: "the type",
                said: before.type_name().to_owned(),
                bound: format!("{} as well", permission.type_name()),
            });
        }
        self.permission = Some(permission);
        Ok(())
    }

    /// The permission, closed against what its caveat does not look at, and who it may pay.
    fn close(&mut self) -> Result<(Permission, Vec<Address>), GrantError> {
        let Some(permission) = self.permission else { return Err(GrantError::NoLimit) };
        match permission.asset() {
            // The token's caveat looks at a transfer and not at the coins sent along with it.
            Some(Asset::Erc20(_)) if !self.no_value => {
                Err(GrantError::Open { kind: Kind::ValueLte })
            }
            // The coin's caveat looks at the coins and not at what is called with them.
            Some(Asset::Native) if !self.no_calldata => {
                Err(GrantError::Open { kind: Kind::ExactCalldata })
            }
            // A transfer and a revocation are calls with data; coins that must not be sent are no payment.
            Some(Asset::Erc20(_)) | None if self.no_calldata => {
                Err(GrantError::Dead { kind: Kind::ExactCalldata })
            }
            Some(Asset::Native) if self.no_value => Err(GrantError::Dead { kind: Kind::ValueLte }),
            Some(Asset::Erc20(_)) => {
                let targets = std::mem::take(&mut self.native_payees);
                if !targets.is_empty() {
                    self.further.push(Rule::AllowedTargets(crate::terms::AllowedTargets(targets)));
                }
                Ok((permission, self.token_payee.into_iter().collect()))
            }
            _ => {
                if let Some(payee) = self.token_payee {
                    let value = payee.into_word().into();
                    let calldata = AllowedCalldata { start: PAYEE_AT, value };
                    self.further.push(Rule::AllowedCalldata(calldata));
                }
                Ok((permission, std::mem::take(&mut self.native_payees)))
            }
        }
    }
}

fn native(stream: NativeTokenStreaming) -> Result<Stream, GrantError> {
    let NativeTokenStreaming { initial_amount, max_amount, amount_per_second, start_time } = stream;
    Ok(Stream {
        asset: Asset::Native,
        per_second: amount_per_second,
        initial: Some(initial_amount),
        max: Some(max_amount),
        start: Some(moment("the start", start_time)?),
    })
}

fn of_stream(stream: Erc20Streaming) -> Result<Stream, GrantError> {
    let Erc20Streaming { initial_amount, max_amount, amount_per_second, start_time, .. } = stream;
    native(NativeTokenStreaming { initial_amount, max_amount, amount_per_second, start_time })
}

/// Who a bound on calldata lets a transfer pay, if that is what it is.
fn payee(calldata: &AllowedCalldata) -> Option<Address> {
    let word = <[u8; 32]>::try_from(calldata.value.as_ref()).ok()?;
    let (zeros, address) = word.split_first_chunk::<12>()?;
    (calldata.start == PAYEE_AT && *zeros == [0; 12]).then(|| Address::from_slice(address))
}

/// A permission that binds as its answer says: every field was found in the signed caveats, and every caveat that
/// the fields do not account for is listed.
///
/// ```
/// use golem_delegation::{Environment, permission::{Expected, Granted, Message, read}};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let session = alloy_primitives::Address::repeat_byte(1);
/// # let manager = alloy_primitives::Address::repeat_byte(2);
/// # let text = r#"{"chainId":"0x1","to":"0x0101010101010101010101010101010101010101","permission":{"type":
/// #   "native-token-allowance","isAdjustmentAllowed":false,"data":{"allowanceAmount":"0x1"}},"rules":[],
/// #   "context":"0x","dependencies":[],"delegationManager":"0x0202020202020202020202020202020202020202"}"#;
/// let Message::Answers(answers) = read(text)?.message else { return Ok(()) };
/// let environment = Environment::stock();
/// for answer in &answers {
///     // An answer whose context says nothing grants nothing.
///     assert!(Granted::check(answer, Expected { session, manager, environment: &environment }).is_err());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    granted: Request,
    owner: Address,
    context: PermissionContext,
    manager: Address,
    dependencies: Vec<Dependency>,
    nonce: Option<U256>,
    further: Vec<Rule>,
    signed: Signed,
}

impl Granted {
    /// Holds an answer against its own context.
    ///
    /// ```
    /// use golem_delegation::permission::{Expected, Granted};
    /// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
    /// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, Bytes, U256, bytes};
    /// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
    /// # let environment = Environment::stock();
    /// # let limit = terms::NativeTokenPeriodTransfer {
    /// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
    /// # let rules = [
    /// #     Rule::NativeTokenPeriodTransfer(limit),
    /// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
    /// # ];
    /// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
    /// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
    /// # let context = PermissionContext::new(vec![leaf])?.encode();
    /// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
    /// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
    /// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
    /// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    /// # let expected = Expected { session, manager, environment: &environment };
    /// // The answer says neither whose it is nor when it starts; the signed caveats do.
    /// assert_eq!((answer.granted.from, answer.granted.permission.start()), (None, None));
    /// let granted = Granted::check(&answer, expected)?;
    /// assert_eq!((granted.owner(), granted.permission().start()), (owner, Some(1_000)));
    /// assert_eq!(granted.terms().from, Some(owner));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(answer: &Answer, expected: Expected<'_>) -> Result<Self, GrantError> {
        let Expected { session, manager, environment } = expected;
        if answer.manager != Some(manager) {
            return Err(GrantError::Manager { answered: answer.manager, ours: manager });
        }
        let context = PermissionContext::decode(&answer.context)?;
        let [leaf] = context.links() else {
            return Err(GrantError::Links { links: context.links().len() });
        };
        let ours = |field, actual| {
            if actual == session {
                Ok(())
            } else {
                Err(GrantError::NotOurs { field, actual, session })
            }
        };
        if leaf.delegate == ANY_DELEGATE {
            return Err(GrantError::AnyDelegate);
        }
        ours("the answer's account", answer.granted.to)?;
        ours("the delegate", leaf.delegate)?;
        if leaf.signature.is_empty() {
            return Err(GrantError::Unsigned);
        }
        let mut bound = Bound::read(leaf, environment)?;
        let (permission, payees) = bound.close()?;
        let said = &answer.granted;
        agree("the owner's account", said.from.unwrap_or(leaf.delegator), leaf.delegator)?;
        same_permission(&said.permission, &permission)?;
        agree_on("the expiry", said.rules.expiry.map(Utc), bound.expiry.map(Utc))?;
        agree_all("who may redeem", &said.rules.redeemers, &bound.redeemers)?;
        agree_all("who may be paid", &said.rules.payees, &payees)?;
        if !bound.redeemers.is_empty() && !bound.redeemers.contains(&session) {
            let redeemers = bound.redeemers.len();
            return Err(GrantError::NotRedeemer { session, redeemers });
        }
        let domain = SigningDomain { chain_id: said.chain_id, manager };
        let signed = match domain.verify(leaf, leaf.delegator) {
            Ok(()) => Signed::ByOwnersKey,
            Err(_) => Signed::LeftToChain,
        };
        let owner = leaf.delegator;
        let granted = Request { permission, from: Some(owner), ..said.clone() };
        Ok(Self {
            granted,
            owner,
            manager,
            dependencies: answer.dependencies.clone(),
            nonce: bound.nonce,
            further: bound.further,
            signed,
            context,
        })
    }

    /// What binds, with nothing left open.
    #[must_use]
    pub const fn permission(&self) -> &Permission {
        &self.granted.permission
    }

    /// The whole of it, in a request's words.
    #[must_use]
    pub const fn terms(&self) -> &Request {
        &self.granted
    }

    /// Whose money it is.
    #[must_use]
    pub const fn owner(&self) -> Address {
        self.owner
    }

    /// What is redeemed.
    ///
    /// ```
    /// use golem_delegation::permission::{Expected, Granted};
    /// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
    /// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, Bytes, U256, bytes};
    /// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
    /// # let environment = Environment::stock();
    /// # let limit = terms::NativeTokenPeriodTransfer {
    /// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
    /// # let rules = [
    /// #     Rule::NativeTokenPeriodTransfer(limit),
    /// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
    /// # ];
    /// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
    /// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
    /// # let context = PermissionContext::new(vec![leaf])?.encode();
    /// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
    /// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
    /// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
    /// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    /// # let expected = Expected { session, manager, environment: &environment };
    /// let granted = Granted::check(&answer, expected)?;
    /// assert_eq!(granted.context().encode(), answer.context);
    /// assert_eq!(granted.context().leaf().delegate, session);
    /// // It is redeemed there, and nothing has to be deployed before.
    /// assert_eq!(granted.manager(), manager);
    /// assert!(granted.dependencies().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn context(&self) -> &PermissionContext {
        &self.context
    }

    /// Where it is redeemed.
    #[must_use]
    pub const fn manager(&self) -> Address {
        self.manager
    }

    /// Accounts to deploy first.
    #[must_use]
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// The owner's nonce that it is good for. Another one ends it, with all his other grants of that nonce.
    ///
    /// ```
    /// use golem_delegation::permission::{Expected, Granted};
    /// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
    /// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, Bytes, U256, bytes};
    /// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
    /// # let environment = Environment::stock();
    /// # let limit = terms::NativeTokenPeriodTransfer {
    /// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
    /// # let rules = [
    /// #     Rule::NativeTokenPeriodTransfer(limit),
    /// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
    /// #     Rule::Nonce(terms::Nonce(U256::from(5))),
    /// # ];
    /// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
    /// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
    /// # let context = PermissionContext::new(vec![leaf])?.encode();
    /// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
    /// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
    /// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
    /// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    /// # let expected = Expected { session, manager, environment: &environment };
    /// // A caveat of the context; no answer speaks of it.
    /// let granted = Granted::check(&answer, expected)?;
    /// assert_eq!(granted.nonce(), Some(U256::from(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn nonce(&self) -> Option<U256> {
        self.nonce
    }

    /// Caveats that the answer does not account for. Each binds as well; what an opaque one asks nobody here knows.
    ///
    /// ```
    /// use golem_delegation::{Opaque, permission::{Expected, Granted}};
    /// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
    /// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, Bytes, U256, bytes};
    /// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
    /// # let environment = Environment::stock();
    /// # let limit = terms::NativeTokenPeriodTransfer {
    /// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
    /// let opaque = Opaque { enforcer: Address::repeat_byte(9), terms: Bytes::new() };
    /// let once = Rule::LimitedCalls(terms::LimitedCalls(U256::ONE));
    /// # let rules = [
    /// #     Rule::NativeTokenPeriodTransfer(limit),
    /// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
    /// #     once.clone(), Rule::Opaque(opaque.clone()),
    /// # ];
    /// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
    /// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
    /// # let context = PermissionContext::new(vec![leaf])?.encode();
    /// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
    /// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
    /// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
    /// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    /// # let expected = Expected { session, manager, environment: &environment };
    /// let granted = Granted::check(&answer, expected)?;
    /// assert_eq!(granted.further(), [once, Rule::Opaque(opaque.clone())]);
    /// assert!(granted.unknown().eq([&Rule::Opaque(opaque)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn further(&self) -> &[Rule] {
        &self.further
    }

    /// Those of them that are not understood.
    pub fn unknown(&self) -> impl Iterator<Item = &Rule> {
        self.further.iter().filter(|rule| rule.kind().is_none())
    }

    /// Whose signature it carries.
    #[must_use]
    pub const fn signed(&self) -> Signed {
        self.signed
    }

    /// Every difference from what was asked for.
    ///
    /// ```
    /// use golem_delegation::permission::{Edit, Expected, Figure, Granted};
    /// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
    /// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, Bytes, U256, bytes};
    /// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
    /// # let environment = Environment::stock();
    /// # let limit = terms::NativeTokenPeriodTransfer {
    /// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
    /// # let rules = [
    /// #     Rule::NativeTokenPeriodTransfer(limit),
    /// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
    /// # ];
    /// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
    /// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
    /// # let context = PermissionContext::new(vec![leaf])?.encode();
    /// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
    /// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
    /// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
    /// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    /// # let expected = Expected { session, manager, environment: &environment };
    /// let granted = Granted::check(&answer, expected)?;
    /// let (ten, seven) = (U256::from(10), U256::from(7));
    /// let permission = Permission::Allowance(Allowance { amount: ten, ..allowance });
    /// let asked = Request { permission, ..answer.granted };
    /// let less = Edit::Amount { of: Figure::Amount, asked: ten, granted: seven };
    /// // When it starts was left open, and the wallet chose.
    /// assert_eq!(granted.edits(&asked), [less, Edit::StartChosen { granted: 1_000 }]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn edits(&self, asked: &Request) -> Vec<Edit> {
        Edit::between(asked, &self.granted)
    }

    /// How it is doing. A caveat that the answer did not account for ends it as well.
    ///
    /// ```
    /// use golem_delegation::permission::{Cause, Condition, Expected, Granted, Usage};
    /// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY, Rule, terms};
    /// # use golem_delegation::permission::{Allowance, Answer, Asset, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, Bytes, U256, bytes};
    /// # let [session, owner, manager] = [1, 2, 3].map(Address::repeat_byte);
    /// # let environment = Environment::stock();
    /// # let limit = terms::NativeTokenPeriodTransfer {
    /// #     period_amount: U256::from(7), period_duration: U256::MAX, start_date: U256::from(1_000) };
    /// # let rules = [
    /// #     Rule::NativeTokenPeriodTransfer(limit),
    /// #     Rule::ExactCalldata(terms::ExactCalldata(Bytes::new())),
    /// #     Rule::Timestamp(terms::Timestamp { after: 1_000, before: 2_000 }),
    /// # ];
    /// # let caveats = rules.iter().map(|rule| environment.caveat(rule).map(Option::unwrap));
    /// # let leaf = Delegation { delegate: session, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: caveats.collect::<Result<_, _>>()?, salt: U256::ZERO, signature: bytes!("01") };
    /// # let context = PermissionContext::new(vec![leaf])?.encode();
    /// # let allowance = Allowance { asset: Asset::Native, amount: U256::from(7), start: None };
    /// # let granted = Request { chain_id: 8453, from: None, to: session, adjustable: true,
    /// #     permission: Permission::Allowance(allowance), justification: None, rules: Rules::default() };
    /// # let answer = Answer { granted, context, dependencies: vec![], manager: Some(manager) };
    /// # let expected = Expected { session, manager, environment: &environment };
    /// // The answer names no end; a caveat that it does not account for does.
    /// let granted = Granted::check(&answer, expected)?;
    /// assert_eq!(granted.terms().rules.expiry, None);
    /// let health = granted.health(Usage { spent: U256::ZERO, now: 2_000, disabled: false });
    /// assert_eq!(health.condition, Condition::Revoked(Cause::Expired));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn health(&self, usage: Usage) -> Health {
        let first_dead = |rule: &Rule| match rule {
            Rule::Timestamp(rule) if rule.before != 0 => {
                Some(u64::try_from(rule.before).unwrap_or(u64::MAX))
            }
            Rule::MortalityTimeWindow(rule) => Some(rule.end().saturating_add(1)),
            // Nobody can use it at all.
            Rule::LimitedCalls(rule) if rule.0.is_zero() => Some(0),
            _ => None,
        };
        let expiry =
            self.further.iter().filter_map(first_dead).chain(self.granted.rules.expiry).min();
        Health::of(&self.granted.permission, expiry, usage)
    }
}

fn agree<T: PartialEq + fmt::Display>(
    what: &'static str,
    said: T,
    bound: T,
) -> Result<(), GrantError> {
    if said == bound {
        return Ok(());
    }
    Err(GrantError::Mismatch { what, said: said.to_string(), bound: bound.to_string() })
}

fn agree_on<T: PartialEq + fmt::Display>(
    what: &'static str,
    said: Option<T>,
    bound: Option<T>,
) -> Result<(), GrantError> {
    let words = |value: Option<T>| value.map_or_else(|| "none".to_owned(), |it| it.to_string());
    if said == bound {
        return Ok(());
    }
    Err(GrantError::Mismatch { what, said: words(said), bound: words(bound) })
}

/// The same accounts, in whatever order.
fn agree_all(what: &'static str, said: &[Address], bound: &[Address]) -> Result<(), GrantError> {
    let set = |list: &[Address]| list.iter().copied().collect::<BTreeSet<_>>();
    if set(said) == set(bound) {
        return Ok(());
    }
    let words = |list: &[Address]| {
        let names: Vec<_> = list.iter().map(ToString::to_string).collect();
        if names.is_empty() { "nobody in particular".to_owned() } else { names.join(", ") }
    };
    Err(GrantError::Mismatch { what, said: words(said), bound: words(bound) })
}

/// What the answer says, the caveats must say too; where it leaves the start open, they decide.
fn same_permission(said: &Permission, bound: &Permission) -> Result<(), GrantError> {
    agree("the type", said.type_name(), bound.type_name())?;
    if let (Some(Asset::Erc20(said)), Some(Asset::Erc20(bound))) = (said.asset(), bound.asset()) {
        agree("the token", said, bound)?;
    }
    if let (Some(said), Some(bound)) = (said.start(), bound.start()) {
        agree("the start", Utc(said), Utc(bound))?;
    }
    match (said, bound) {
        (Permission::Periodic(said), Permission::Periodic(bound)) => {
            agree("the amount of a period", said.amount, bound.amount)?;
            agree("the period in seconds", said.duration, bound.duration)
        }
        (Permission::Allowance(said), Permission::Allowance(bound)) => {
            agree("the allowance", said.amount, bound.amount)
        }
        (Permission::Stream(said), Permission::Stream(bound)) => {
            agree("the amount per second", said.per_second, bound.per_second)?;
            let zero = |amount: Option<U256>| amount.unwrap_or_default();
            let most = |amount: Option<U256>| amount.unwrap_or(U256::MAX);
            agree("the amount at the start", zero(said.initial), zero(bound.initial))?;
            agree("the most in all", most(said.max), most(bound.max))
        }
        (Permission::ApprovalRevocation(said), Permission::ApprovalRevocation(bound)) => {
            if said == bound {
                return Ok(());
            }
            let what = "the kinds of approval";
            let (said, bound) = (format!("{said:?}"), format!("{bound:?}"));
            Err(GrantError::Mismatch { what, said, bound })
        }
        // Their names were compared above.
        _ => agree("the type", said.type_name(), bound.type_name()),
    }
}

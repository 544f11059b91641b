//! Plain words for owners. One sentence a line; nothing that a stranger wrote is taken for more than his words.

use super::{
    Allowance, Asset, Edit, Figure, Granted, Periodic, Permission, Request, Signed, Stream, Time,
};
use crate::{Rule, Utc, terms::ApprovalRevocation};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, fmt::Write};

/// What people call an asset.
///
/// ```
/// use golem_delegation::permission::Token;
/// assert!(Token::new("ETH", Token::MAX_DECIMALS).is_some());
/// assert_eq!(Token::new("ETH", Token::MAX_DECIMALS + 1), None);
/// // A name of characters that nobody sees is none.
/// assert_eq!(Token::new("\u{200b}", 18), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    symbol: String,
    decimals: u8,
}

impl Token {
    /// The most decimals that an amount has room for.
    pub const MAX_DECIMALS: u8 = 77;

    /// A symbol and its decimals; none where the decimals make no sense.
    #[must_use]
    pub fn new(symbol: &str, decimals: u8) -> Option<Self> {
        let symbol: String = plain(symbol).chars().take(20).collect();
        (decimals <= Self::MAX_DECIMALS && !symbol.is_empty()).then_some(Self { symbol, decimals })
    }
}

/// The assets whose names the caller knows. All others are shown in base units.
///
/// ```
/// use golem_delegation::permission::{Asset, Token, Tokens};
/// # use alloy_primitives::{Address, U256};
/// let usdc = Asset::Erc20(Address::repeat_byte(2));
/// let tokens = Tokens::default().with(usdc, Token::new("USDC", 6).unwrap());
/// assert_eq!(tokens.amount(usdc, U256::from(10_500_000)), "10.5 USDC");
/// assert_eq!(tokens.amount(Asset::Native, U256::from(7)), "7 wei");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens(BTreeMap<Asset, Token>);

impl Tokens {
    /// The same, with one more.
    #[must_use]
    pub fn with(mut self, asset: Asset, token: Token) -> Self {
        self.0.insert(asset, token);
        self
    }

    /// An amount with its unit, exactly.
    #[must_use]
    pub fn amount(&self, asset: Asset, amount: U256) -> String {
        match (self.0.get(&asset), asset) {
            (Some(Token { symbol, decimals }), _) => {
                format!("{} {symbol}", units(amount, *decimals))
            }
            (None, Asset::Native) => format!("{amount} wei"),
            (None, Asset::Erc20(token)) => format!("{amount} base units of the token {token}"),
        }
    }
}

/// An amount in whole units, with as many decimals as it has.
fn units(amount: U256, decimals: u8) -> String {
    let unit = U256::from(10).pow(U256::from(decimals));
    let (whole, rest) = (amount / unit, amount % unit);
    if rest.is_zero() {
        return whole.to_string();
    }
    let rest = format!("{rest:0>width$}", rest = rest.to_string(), width = decimals.into());
    format!("{whole}.{}", rest.trim_end_matches('0'))
}

/// A stranger's words without what could make them look like ours: control characters, invisible ones and those that
/// turn the direction of writing.
fn plain(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|c| if hidden(c) { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// A length of time in its largest whole unit.
fn length(seconds: u64) -> String {
    let units = [(604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute")];
    let whole = units.into_iter().find(|(unit, _)| seconds != 0 && seconds.is_multiple_of(*unit));
    let (count, unit) = whole.map_or((seconds, "second"), |(unit, name)| (seconds / unit, name));
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn list(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

fn start(start: Option<u64>) -> String {
    start
        .map_or_else(|| "from the moment you grant it".to_owned(), |at| format!("from {}", Utc(at)))
}

fn until(expiry: Option<u64>) -> String {
    expiry.map_or_else(|| "without an end".to_owned(), |at| format!("until {}", Utc(at)))
}

fn approvals(kinds: ApprovalRevocation) -> String {
    let words = [
        (kinds.erc20_approve, "token allowances"),
        (kinds.erc721_approve, "approvals of single NFTs"),
        (kinds.erc721_set_approval_for_all, "approvals of whole NFT collections"),
        (kinds.permit2_approve, "Permit2 allowances"),
        (kinds.permit2_lockdown, "Permit2 allowances by lockdown"),
        (kinds.permit2_invalidate_nonces, "Permit2 signatures by their nonces"),
    ];
    let said: Vec<_> = words.into_iter().filter_map(|(set, words)| set.then_some(words)).collect();
    said.join(", ")
}

/// What may be done, in one sentence.
fn what(permission: &Permission, expiry: Option<u64>, tokens: &Tokens) -> String {
    let end = until(expiry);
    match *permission {
        Permission::Periodic(Periodic { asset, amount, duration, start: at }) => format!(
            "Up to {} in each period of {}, {}, {end}; what is not taken in a period is not carried over.",
            tokens.amount(asset, amount),
            length(duration),
            start(at),
        ),
        Permission::Stream(Stream { asset, per_second, initial, max, start: at }) => {
            let mut words = format!(
                "{} more in each second, {}, {end}",
                tokens.amount(asset, per_second),
                start(at)
            );
            if let Some(initial) = initial.filter(|initial| !initial.is_zero()) {
                let _ = write!(words, ", beginning with {}", tokens.amount(asset, initial));
            }
            match max.filter(|max| *max != U256::MAX) {
                Some(max) => {
                    let _ = write!(
                        words,
                        ", and never more than {} in all.",
                        tokens.amount(asset, max)
                    );
                }
                None => words.push_str(", without a bound on the whole."),
            }
            words
        }
        Permission::Allowance(Allowance { asset, amount, start: at }) => {
            format!("Up to {} in all, {}, {end}.", tokens.amount(asset, amount), start(at))
        }
        Permission::ApprovalRevocation(kinds) => {
            format!("Taking back {}, {end}. It moves no money.", approvals(kinds))
        }
    }
}

/// The most that can be taken until the end; none where there is no bound.
fn most(permission: &Permission, expiry: Option<u64>) -> Option<U256> {
    match *permission {
        Permission::Periodic(Periodic { amount, duration, start, .. }) => {
            let periods =
                expiry?.checked_sub(start?)?.checked_next_multiple_of(duration)? / duration;
            amount.checked_mul(U256::from(periods))
        }
        Permission::Stream(Stream { per_second, initial, max, start, .. }) => {
            // The last second that counts is the one before the end.
            let grown = expiry.zip(start).and_then(|(expiry, start)| {
                let seconds = expiry.checked_sub(start)?.saturating_sub(1);
                per_second
                    .checked_mul(U256::from(seconds))?
                    .checked_add(initial.unwrap_or_default())
            });
            let max = max.filter(|max| *max != U256::MAX);
            grown.into_iter().chain(max).min()
        }
        Permission::Allowance(Allowance { amount, .. }) => Some(amount),
        Permission::ApprovalRevocation(_) => None,
    }
}

/// Lines that a request and a grant share.
fn body(request: &Request, tokens: &Tokens) -> Vec<String> {
    let Request { permission, rules, .. } = request;
    let mut lines = vec![what(permission, rules.expiry, tokens)];
    lines.push(if rules.redeemers.is_empty() {
        "Anybody to whom the session account passes it on may redeem it.".to_owned()
    } else {
        format!("Only {} may redeem it.", list(&rules.redeemers))
    });
    if let Some(asset) = permission.asset() {
        lines.push(if rules.payees.is_empty() {
            "It may pay anybody.".to_owned()
        } else {
            format!("It may pay only {}.", list(&rules.payees))
        });
        lines.push(
            "The money leaves your account when it is redeemed, and does not come back by itself."
                .to_owned(),
        );
        let all = most(permission, rules.expiry).map_or_else(
            || "there is no bound on the whole".to_owned(),
            |all| format!("at most {} in all", tokens.amount(asset, all)),
        );
        let to = if rules.payees.is_empty() { "" } else { ", though only to those it may pay" };
        lines.push(format!(
            "Whoever steals the session account's key can take the whole of it as it becomes due{to} ({all}), and \
             what the session account itself holds. Only your revoking it, or its end, stops that."
        ));
    }
    lines
}

/// What a request asks for.
///
/// ```
/// use golem_delegation::permission::{Tokens, explain_request, read, Message};
/// let text = r#"{"chainId":"0x2105","to":"0x0101010101010101010101010101010101010101",
///     "permission":{"type":"native-token-allowance","isAdjustmentAllowed":false,
///         "data":{"allowanceAmount":"0x7"}},
///     "rules":[{"type":"expiry","data":{"timestamp":1800000000}}]}"#;
/// let Message::Requests(requests) = read(text)?.message else { unreachable!() };
/// let lines = explain_request(&requests[0], &Tokens::default());
/// assert_eq!(lines[1], "Up to 7 wei in all, from the moment you grant it, until 2027-01-15T08:00:00Z.");
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
#[must_use]
pub fn explain_request(request: &Request, tokens: &Tokens) -> Vec<String> {
    let from = request.from.map_or_else(
        || "an account that you choose".to_owned(),
        |from| format!("your account {from}"),
    );
    let (to, chain) = (request.to, request.chain_id);
    let mut lines = vec![format!(
        "The session account {to} asks for a permission on {from}, on chain {chain}."
    )];
    lines.extend(body(request, tokens));
    lines.push(if request.adjustable {
        "You may change its amounts and dates before you grant it.".to_owned()
    } else {
        "It asks you not to change it: grant it as it is, or not at all.".to_owned()
    });
    if let Some(words) = &request.justification {
        lines.push(format!("Its own words, which nobody has checked: \"{}\"", plain(words)));
    }
    lines
}

impl Granted {
    /// What was granted.
    ///
    /// ```
    /// use golem_delegation::permission::{Expected, Granted, Token, Tokens};
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
    /// let tokens = Tokens::default().with(Asset::Native, Token::new("ETH", 18).unwrap());
    /// let lines = granted.explain(&tokens);
    /// assert!(lines[1].starts_with("Up to 0.000000000000000007 ETH in all, from 1970-01-01T00:16:40Z"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(&self, tokens: &Tokens) -> Vec<String> {
        let Request { to, chain_id, .. } = self.terms();
        let owner = self.owner();
        let mut lines = vec![format!(
            "The session account {to} has a permission on the account {owner}, on chain {chain_id}."
        )];
        lines.extend(body(self.terms(), tokens));
        if let Some(nonce) = self.nonce() {
            lines.push(format!("It is good while the account's nonce is {nonce}."));
        }
        for first in self.dependencies() {
            lines.push(format!(
                "Before it can be used {} has to be called with the data {}, which nobody has checked.",
                first.factory,
                crate::explain::hex(&first.factory_data)
            ));
        }
        for rule in self.further() {
            lines.push(match rule {
                Rule::Opaque(opaque) => format!(
                    "A caveat of the contract {} binds it too; what that one asks is not known here.",
                    opaque.enforcer
                ),
                known => format!(
                    "A caveat {} binds it too, of which the answer says nothing, and what is said above is the \
                     most: {}",
                    known.kind().map_or("of no name", crate::Kind::name),
                    known.explain().join(" ")
                ),
            });
        }
        lines.push(match self.signed() {
            Signed::ByOwnersKey => "The account's own key signed it, for this chain.".to_owned(),
            Signed::LeftToChain => {
                "Whether the account accepts its signature only the chain can say.".to_owned()
            }
        });
        lines
    }
}

impl Edit {
    /// What was changed, in one sentence. `asset` is what the permission spends.
    ///
    /// ```
    /// use golem_delegation::permission::{Asset, Edit, Figure, Tokens};
    /// # use alloy_primitives::U256;
    /// let less = Edit::Amount { of: Figure::Rate, asked: U256::from(2), granted: U256::ONE };
    /// let words = less.explain(Some(Asset::Native), &Tokens::default());
    /// assert_eq!(words, "The amount per second was lowered from 2 wei to 1 wei.");
    /// ```
    #[must_use]
    pub fn explain(&self, asset: Option<Asset>, tokens: &Tokens) -> String {
        match self {
            Self::Chain { asked, granted } => {
                format!("Granted on chain {granted}, asked for on chain {asked}.")
            }
            Self::Account { asked, granted } => {
                let granted = granted.map_or_else(|| "nobody".to_owned(), |it| it.to_string());
                format!("Granted by {granted}, asked of {asked}.")
            }
            Self::Delegate { asked, granted } => format!("Granted to {granted}, not to {asked}."),
            Self::Type { asked, granted } => {
                format!("Granted is {granted}, asked for was {asked}.")
            }
            Self::Asset { asked, granted } => {
                let name = |asset: &Asset| match asset {
                    Asset::Native => "the chain's coin".to_owned(),
                    Asset::Erc20(token) => format!("the token {token}"),
                };
                format!("Granted is {}, asked for was {}.", name(granted), name(asked))
            }
            Self::Amount { of, asked, granted } => {
                let of = match of {
                    Figure::Amount => "amount",
                    Figure::Rate => "amount per second",
                    Figure::Initial => "amount at the start",
                    Figure::Max => "bound on the whole",
                };
                let words = |amount: U256| match asset {
                    _ if amount == U256::MAX => "no bound".to_owned(),
                    Some(asset) => tokens.amount(asset, amount),
                    None => amount.to_string(),
                };
                let verb = if granted > asked { "raised" } else { "lowered" };
                format!("The {of} was {verb} from {} to {}.", words(*asked), words(*granted))
            }
            Self::Time { of: Time::Period, asked, granted } => {
                let verb = if granted > asked { "lengthened" } else { "shortened" };
                format!("The period was {verb} from {} to {}.", length(*asked), length(*granted))
            }
            Self::Time { of, asked, granted } => {
                let of = if *of == Time::Start { "start" } else { "end" };
                let verb = if granted > asked { "put off" } else { "brought forward" };
                format!("The {of} was {verb} from {} to {}.", Utc(*asked), Utc(*granted))
            }
            Self::StartChosen { granted } => format!(
                "It starts on {}, which was left open: what has come together since then can be taken at once.",
                Utc(*granted)
            ),
            Self::ExpiryAdded { granted } => format!("It was given an end: {}.", Utc(*granted)),
            Self::ExpiryRemoved { asked } => {
                format!("It has no end, though one was asked for: {}.", Utc(*asked))
            }
            Self::Redeemers { asked, granted } => {
                format!("It may be redeemed by {}, not by {}.", who(granted), who(asked))
            }
            Self::Payees { asked, granted } => {
                format!("It may pay {}, not {}.", who(granted), who(asked))
            }
            Self::Approvals { asked, granted } => {
                format!("It takes back {}, not {}.", approvals(*granted), approvals(*asked))
            }
            Self::Adjustable { granted: true, .. } => {
                "It could be edited, though that was not asked for.".to_owned()
            }
            Self::Adjustable { granted: false, .. } => "It could not be edited.".to_owned(),
            Self::Justification => "The asker's words were changed.".to_owned(),
        }
    }
}

fn who(addresses: &[Address]) -> String {
    if addresses.is_empty() { "anybody".to_owned() } else { list(addresses) }
}

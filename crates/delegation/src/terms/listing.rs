use super::{Reader, TermsError};
use alloy_primitives::Address;

/// What kind of contract a target is, as the owner signs it; `Role` of `Actions.sol`.
///
/// ```
/// use golem_delegation::terms::Role;
/// // Numbers are those of the contract, from one on.
/// assert!(Role::ALL.into_iter().zip(1..).all(|(role, number)| role as u8 == number));
/// assert_eq!(Role::SwapRouter02.name(), "swapRouter02");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Role {
    /// An ERC-20.
    Token = 1,
    /// Wrapped ether.
    Weth,
    /// Uniswap's first V3 router.
    SwapRouter,
    /// Uniswap's second V3 router.
    SwapRouter02,
    /// Uniswap's NonfungiblePositionManager.
    PositionManager,
    /// An ERC-4626 vault.
    Vault,
    /// GolemLifecycle.
    Lifecycle,
    /// The agent's own key, which is paid gas money.
    AgentKey,
    /// GolemRegistry, for what an agent says of itself.
    Registry,
    /// KnowledgeMarket.
    Market,
}

impl Role {
    /// Every role, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Token,
        Self::Weth,
        Self::SwapRouter,
        Self::SwapRouter02,
        Self::PositionManager,
        Self::Vault,
        Self::Lifecycle,
        Self::AgentKey,
        Self::Registry,
        Self::Market,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Weth => "weth",
            Self::SwapRouter => "swapRouter",
            Self::SwapRouter02 => "swapRouter02",
            Self::PositionManager => "positionManager",
            Self::Vault => "vault",
            Self::Lifecycle => "lifecycle",
            Self::AgentKey => "agentKey",
            Self::Registry => "registry",
            Self::Market => "market",
        }
    }

    fn decode(byte: u8) -> Result<Self, TermsError> {
        Self::ALL
            .into_iter()
            .find(|role| *role as u8 == byte)
            .ok_or(TermsError::UnknownRole { role: byte })
    }
}

/// A token, what it is as a target, and the one feed that prices it.
///
/// ```
/// use golem_delegation::terms::{ListedToken, Listing, Role};
/// # use alloy_primitives::Address;
/// let usdc = ListedToken {
///     token: Address::repeat_byte(1),
///     role: Some(Role::Token),
///     feed: Address::repeat_byte(2),
///     token_decimals: 6,
///     feed_decimals: 8,
///     max_age: 86_400,
/// };
/// let listing = Listing { tokens: vec![usdc], ..Listing::default() };
/// assert_eq!(Listing::decode(&listing.encode()?)?.tokens, [usdc]);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListedToken {
    /// The token; zero is the chain's own coin.
    pub token: Address,
    /// What it is when it is called; a token without a role is priced and cannot be called.
    pub role: Option<Role>,
    /// Its feed, in dollars.
    pub feed: Address,
    /// Decimals of the token.
    pub token_decimals: u8,
    /// Decimals of the feed, which the contract compares.
    pub feed_decimals: u8,
    /// Seconds after which an answer no longer counts.
    pub max_age: u32,
}

/// A target that is no token, and what it is.
///
/// ```
/// use golem_delegation::terms::{ListedTarget, Listing, Role};
/// # use alloy_primitives::Address;
/// let vault = ListedTarget { target: Address::repeat_byte(3), role: Role::Vault };
/// let listing = Listing { targets: vec![vault], ..Listing::default() };
/// assert_eq!(Listing::decode(&listing.encode()?)?.targets, [vault]);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListedTarget {
    /// The contract, or the agent's key.
    pub target: Address,
    /// What it is.
    pub role: Role,
}

/// Tokens with feeds and targets with roles: the end of the terms of every rule that looks at
/// actions.
///
/// Terms: `sequencerFeed 20 ‖ sequencerGrace u32 ‖ tokens u8 ‖ targets u8`, then 47 bytes a token
/// and 21 a target. For the role of an address, targets count before tokens.
///
/// Stricter than the contract in one thing: a role nobody knows is refused at once, and not when
/// its target is called.
///
/// ```
/// use golem_delegation::TermsError;
/// use golem_delegation::terms::{ListedTarget, Listing, Role};
/// # use alloy_primitives::Address;
/// let router = ListedTarget { target: Address::repeat_byte(3), role: Role::SwapRouter02 };
/// let mut terms = Listing { targets: vec![router], ..Listing::default() }.encode()?;
/// assert_eq!(terms.len(), Listing::HEADER + 21);
///
/// // The last byte is the target's role.
/// *terms.last_mut().unwrap() = 99;
/// assert_eq!(Listing::decode(&terms), Err(TermsError::UnknownRole { role: 99 }));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Listing {
    /// Uptime feed of a rollup's sequencer; zero for none.
    pub sequencer_feed: Address,
    /// Seconds for which prices do not count after the sequencer came back.
    pub sequencer_grace: u32,
    /// At most 255.
    pub tokens: Vec<ListedToken>,
    /// At most 255.
    pub targets: Vec<ListedTarget>,
}

impl Listing {
    /// Everything listed that an account can hold: tokens, and targets that are tokens themselves. A target has no price, and
    /// wrapped coins need none to be unwrapped. Shares of a vault are held as what the vault is made of.
    ///
    /// ```
    /// use golem_delegation::terms::{ListedTarget, Listing, Role};
    /// # use alloy_primitives::Address;
    /// let [weth, router] = [1, 2].map(Address::repeat_byte);
    /// let targets = vec![
    ///     ListedTarget { target: weth, role: Role::Weth },
    ///     ListedTarget { target: router, role: Role::SwapRouter02 },
    /// ];
    /// let listing = Listing { targets, ..Listing::default() };
    /// assert!(listing.held().eq([weth]));
    /// ```
    pub fn held(&self) -> impl Iterator<Item = Address> + '_ {
        let holdable = |role: Role| matches!(role, Role::Token | Role::Weth);
        let targets = self.targets.iter().filter(move |known| holdable(known.role));
        self.tokens.iter().map(|known| known.token).chain(targets.map(|known| known.target))
    }

    /// Bytes before the entries.
    pub const HEADER: usize = 26;

    /// The terms; refused where there are more entries than a byte counts.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let count = |entries: usize| {
            u8::try_from(entries).map_err(|_too_many| TermsError::TooManyEntries { entries })
        };
        let mut out = Vec::new();
        out.extend(self.sequencer_feed);
        out.extend(self.sequencer_grace.to_be_bytes());
        out.extend([count(self.tokens.len())?, count(self.targets.len())?]);
        for token in &self.tokens {
            out.extend(token.token);
            out.push(token.role.map_or(0, |role| role as u8));
            out.extend(token.feed);
            out.extend([token.token_decimals, token.feed_decimals]);
            out.extend(token.max_age.to_be_bytes());
        }
        for target in &self.targets {
            out.extend(target.target);
            out.push(target.role as u8);
        }
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let listing = Self::read(&mut reader)?;
        reader.end()?;
        Ok(listing)
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, TermsError> {
        let sequencer_feed = reader.address()?;
        let sequencer_grace = reader.u32()?;
        let (tokens, targets) = (reader.u8()?, reader.u8()?);
        let tokens = (0..tokens)
            .map(|_| {
                Ok(ListedToken {
                    token: reader.address()?,
                    role: match reader.u8()? {
                        0 => None,
                        byte => Some(Role::decode(byte)?),
                    },
                    feed: reader.address()?,
                    token_decimals: reader.u8()?,
                    feed_decimals: reader.u8()?,
                    max_age: reader.u32()?,
                })
            })
            .collect::<Result<_, TermsError>>()?;
        let targets = (0..targets)
            .map(|_| {
                Ok(ListedTarget { target: reader.address()?, role: Role::decode(reader.u8()?)? })
            })
            .collect::<Result<_, TermsError>>()?;
        Ok(Self { sequencer_feed, sequencer_grace, tokens, targets })
    }
}

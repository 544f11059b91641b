use crate::{Caveat, Delegation, ROOT_AUTHORITY, abi};
use alloy_primitives::Bytes;
use alloy_sol_types::{Error as AbiError, SolValue, abi::AbiDecoderConfig};

/// Longest chain of delegations a context may carry.
///
/// The manager has no limit of its own; a chain this long costs more gas than any honest use.
pub const MAX_LINKS: usize = 32;

/// Largest context that is looked at.
pub const MAX_CONTEXT_BYTES: usize = 256 * 1024;

/// Why bytes are not a permission context.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// More bytes than [`MAX_CONTEXT_BYTES`].
    #[error("permission context of {actual} bytes is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// Not `abi.encode(Delegation[])`.
    #[error("permission context is not an ABI encoded list of delegations")]
    Malformed,
    /// Decodes, but is not what encoding the result gives: padding, offsets or trailing bytes
    /// were chosen freely, and another decoder might read something else (ATK-15).
    #[error("permission context is not in canonical ABI form")]
    NotCanonical,
    /// A context without delegations lets the redeemer act as himself: nothing to check.
    #[error("permission context holds no delegation")]
    Empty,
    /// More links than [`MAX_LINKS`].
    #[error("chain of {actual} delegations is longer than {limit}")]
    TooLong {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// The link's authority is not its parent's hash.
    #[error("authority of link {link} is not the hash of link {}", link + 1)]
    BrokenAuthority {
        /// Index from the leaf.
        link: usize,
    },
    /// The link was not granted by its parent's delegate.
    #[error("delegator of link {link} is not the delegate of link {}", link + 1)]
    BrokenDelegator {
        /// Index from the leaf.
        link: usize,
    },
    /// The last link names a parent that is not there.
    #[error("last link is not a root delegation")]
    NoRoot,
}

/// A chain of delegations, leaf first, as `redeemDelegations` takes it.
///
/// Whoever holds one knows that every link points at the next and the last is a root. Signatures
/// are the chain's to judge (ERC-1271); [`crate::SigningDomain::verify`] checks plain keys.
///
/// ```
/// use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let context = PermissionContext::new(vec![root])?;
/// let bytes = context.encode();
/// assert_eq!(PermissionContext::decode(&bytes)?, context);
/// # Ok::<(), golem_delegation::ContextError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PermissionContext {
    links: Vec<Delegation>,
}

impl PermissionContext {
    /// Checks the links, leaf first.
    pub fn new(links: Vec<Delegation>) -> Result<Self, ContextError> {
        if links.len() > MAX_LINKS {
            return Err(ContextError::TooLong { limit: MAX_LINKS, actual: links.len() });
        }
        let Some(root) = links.last() else { return Err(ContextError::Empty) };
        if root.authority != ROOT_AUTHORITY {
            return Err(ContextError::NoRoot);
        }
        for (link, (child, parent)) in links.iter().zip(links.iter().skip(1)).enumerate() {
            if child.authority != parent.hash().0 {
                return Err(ContextError::BrokenAuthority { link });
            }
            if child.delegator != parent.delegate && parent.delegate != crate::ANY_DELEGATE {
                return Err(ContextError::BrokenDelegator { link });
            }
        }
        Ok(Self { links })
    }

    /// Decodes, accepting the one canonical form of each chain.
    pub fn decode(bytes: &[u8]) -> Result<Self, ContextError> {
        if bytes.len() > MAX_CONTEXT_BYTES {
            return Err(ContextError::TooLarge { limit: MAX_CONTEXT_BYTES, actual: bytes.len() });
        }
        // Strict: every offset points right behind what was read before, so that work and memory
        // grow with the bytes given. Shared offsets would let few bytes stand for gigabytes (ATK-10).
        let strict = AbiDecoderConfig::new().strict(true);
        let raw = match Vec::<abi::Delegation>::abi_decode_with_config(bytes, strict) {
            Ok(raw) => raw,
            Err(AbiError::ReserMismatch) => return Err(ContextError::NotCanonical),
            // The other errors carry nothing a person could act on.
            Err(_) => return Err(ContextError::Malformed),
        };
        Self::new(raw.into_iter().map(Delegation::from).collect())
    }

    /// `abi.encode(Delegation[])`, leaf first.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let raw: Vec<abi::Delegation> = self.links.iter().map(abi::Delegation::from).collect();
        raw.abi_encode().into()
    }

    /// Every link, leaf first.
    #[must_use]
    pub fn links(&self) -> &[Delegation] {
        &self.links
    }

    /// The link that is redeemed.
    #[must_use]
    pub fn leaf(&self) -> &Delegation {
        #[expect(clippy::expect_used, reason = "`new` refuses an empty chain")]
        self.links.first().expect("a context has at least one link")
    }

    /// The link whose delegator executes.
    #[must_use]
    pub fn root(&self) -> &Delegation {
        #[expect(clippy::expect_used, reason = "`new` refuses an empty chain")]
        self.links.last().expect("a context has at least one link")
    }
}

impl From<abi::Delegation> for Delegation {
    fn from(raw: abi::Delegation) -> Self {
        Self {
            delegate: raw.delegate,
            delegator: raw.delegator,
            authority: raw.authority,
            caveats: raw.caveats.into_iter().map(Caveat::from).collect(),
            salt: raw.salt,
            signature: raw.signature,
        }
    }
}

impl From<&Delegation> for abi::Delegation {
    fn from(delegation: &Delegation) -> Self {
        Self {
            delegate: delegation.delegate,
            delegator: delegation.delegator,
            authority: delegation.authority,
            caveats: delegation.caveats.iter().map(abi::Caveat::from).collect(),
            salt: delegation.salt,
            signature: delegation.signature.clone(),
        }
    }
}

impl From<abi::Caveat> for Caveat {
    fn from(raw: abi::Caveat) -> Self {
        Self { enforcer: raw.enforcer, terms: raw.terms, args: raw.args }
    }
}

impl From<&Caveat> for abi::Caveat {
    fn from(caveat: &Caveat) -> Self {
        Self { enforcer: caveat.enforcer, terms: caveat.terms.clone(), args: caveat.args.clone() }
    }
}

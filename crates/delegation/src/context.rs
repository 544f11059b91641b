use crate::{Caveat, Delegation, ROOT_AUTHORITY, abi};
use alloy_primitives::Bytes;
use alloy_sol_types::{Error as AbiError, SolValue, abi::AbiDecoderConfig};

/// Longest chain of delegations a context may carry.
///
/// The manager has no limit of its own; a chain this long costs more gas than any honest use.
///
/// ```
/// use golem_delegation::{ContextError, MAX_LINKS, PermissionContext};
/// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let chain = |links: usize| {
/// #     let root = Delegation { delegate: Address::ZERO, delegator: Address::ZERO,
/// #         authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO,
/// #         signature: Bytes::new() };
/// #     let below = |above: &Delegation| {
/// #         Some(Delegation { authority: above.hash().0, ..above.clone() })
/// #     };
/// #     let mut links: Vec<_> = std::iter::successors(Some(root), below).take(links).collect();
/// #     links.reverse();
/// #     links
/// # };
/// assert!(PermissionContext::new(chain(MAX_LINKS)).is_ok());
/// let longer = PermissionContext::new(chain(MAX_LINKS + 1));
/// assert_eq!(longer, Err(ContextError::TooLong { limit: 32, actual: 33 }));
/// ```
pub const MAX_LINKS: usize = 32;

/// Largest context that is looked at.
///
/// ```
/// use golem_delegation::{ContextError, MAX_CONTEXT_BYTES, PermissionContext};
/// let mut bytes = vec![0xff; MAX_CONTEXT_BYTES];
/// assert_eq!(PermissionContext::decode(&bytes), Err(ContextError::Malformed));
///
/// bytes.push(0xff);
/// let (limit, actual) = (262_144, 262_145);
/// assert_eq!(PermissionContext::decode(&bytes), Err(ContextError::TooLarge { limit, actual }));
/// ```
pub const MAX_CONTEXT_BYTES: usize = 256 * 1024;

/// Why bytes are not a permission context.
///
/// ```
/// use golem_delegation::{ContextError, Delegation, PermissionContext, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let link = |from: u8, to: u8, authority| Delegation {
/// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
/// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let root = link(1, 2, ROOT_AUTHORITY);
/// // Account 3 hands on what was lent to account 2.
/// let child = link(3, 4, root.hash().0);
/// let refused = PermissionContext::new(vec![child, root]).unwrap_err();
/// assert_eq!(refused, ContextError::BrokenDelegator { link: 0 });
/// assert_eq!(refused.to_string(), "delegator of link 0 is not the delegate of link 1");
/// ```
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
    ///
    /// ```
    /// use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let root = link(1, 2, ROOT_AUTHORITY);
    /// let child = link(2, 3, root.hash().0);
    /// let context = PermissionContext::new(vec![child.clone(), root.clone()])?;
    /// assert_eq!(context.links(), [child, root]);
    /// # Ok::<(), golem_delegation::ContextError>(())
    /// ```
    #[must_use]
    pub fn links(&self) -> &[Delegation] {
        &self.links
    }

    /// The link that is redeemed.
    ///
    /// ```
    /// use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let root = link(1, 2, ROOT_AUTHORITY);
    /// let child = link(2, 3, root.hash().0);
    /// let context = PermissionContext::new(vec![child.clone(), root])?;
    /// assert_eq!(context.leaf(), &child);
    /// # Ok::<(), golem_delegation::ContextError>(())
    /// ```
    #[must_use]
    pub fn leaf(&self) -> &Delegation {
        #[expect(clippy::expect_used, reason = "`new` refuses an empty chain")]
        self.links.first().expect("a context has at least one link")
    }

    /// The link whose delegator executes.
    ///
    /// ```
    /// use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let root = link(1, 2, ROOT_AUTHORITY);
    /// let child = link(2, 3, root.hash().0);
    /// let context = PermissionContext::new(vec![child, root.clone()])?;
    /// assert_eq!(context.root(), &root);
    /// assert!(context.root().is_root() && !context.leaf().is_root());
    /// # Ok::<(), golem_delegation::ContextError>(())
    /// ```
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

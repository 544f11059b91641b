//! Who lent what to whom: delegations as a tree.

use crate::{
    ANY_DELEGATE, ContextError, Delegation, DelegationHash, MAX_LINKS, PasskeyError, PasskeyOwner,
    PermissionContext, SignatureError, SigningDomain,
};
use alloy_primitives::{Address, B256};
use std::{collections::BTreeMap, fmt};

/// Most delegations a tree may have.
///
/// ```
/// use golem_delegation::{Delegation, DelegationTree, MAX_NODES, ROOT_AUTHORITY, TreeError};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
/// # let root = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// let salted = |salt: usize| Delegation { salt: U256::from(salt), ..root.clone() };
/// let tree = |count: usize| DelegationTree::new((0..count).map(salted).collect());
/// assert_eq!(tree(MAX_NODES)?.len(), 2_048);
/// assert_eq!(tree(MAX_NODES + 1), Err(TreeError::TooMany { limit: 2_048, actual: 2_049 }));
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
pub const MAX_NODES: usize = 2_048;

/// Why delegations make no tree.
///
/// ```
/// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY, TreeError};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let link = |from: u8, to: u8, authority| Delegation {
/// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
/// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let alpha = link(1, 2, ROOT_AUTHORITY);
/// let replicant = link(2, 3, alpha.hash().0);
/// let orphan = TreeError::Orphan { hash: replicant.hash(), authority: alpha.hash().0 };
/// assert_eq!(DelegationTree::new(vec![replicant]), Err(orphan));
/// let twice = TreeError::Duplicate { hash: alpha.hash(), index: 1 };
/// assert_eq!(DelegationTree::new(vec![alpha.clone(), alpha.signed(vec![1; 65])]), Err(twice));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// No delegation at all.
    #[error("a tree has at least one delegation")]
    Empty,
    /// More than [`MAX_NODES`].
    #[error("{actual} delegations are more than the {limit} of a tree")]
    TooMany {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// The same delegation twice, be it with another signature.
    #[error("delegation {hash} is there twice, the second time at {index}")]
    Duplicate {
        /// Which.
        hash: DelegationHash,
        /// Where it came up again, from zero.
        index: usize,
    },
    /// It hangs from a delegation that is not there.
    #[error("delegation {hash} hangs from {authority}, which is not there")]
    Orphan {
        /// Which.
        hash: DelegationHash,
        /// What it names.
        authority: B256,
    },
    /// It was handed on by somebody who did not have it (SPEC D3).
    #[error("delegation {hash} is by {actual}, and its parent's delegate is {expected}")]
    Delegator {
        /// Which.
        hash: DelegationHash,
        /// Who has what it hangs from.
        expected: Address,
        /// Who gives it.
        actual: Address,
    },
    /// A chain longer than a context may carry, [`MAX_LINKS`].
    #[error("delegation {hash} is more than {limit} links deep")]
    TooDeep {
        /// The first below the limit.
        hash: DelegationHash,
        /// The limit.
        limit: usize,
    },
    /// No root leads to it.
    #[error("no root leads to delegation {hash}")]
    Rootless {
        /// Which.
        hash: DelegationHash,
    },
    /// It is not in the tree.
    #[error("the tree has no delegation {hash}")]
    Unknown {
        /// What was asked for.
        hash: DelegationHash,
    },
    /// Links that no context takes.
    #[error(transparent)]
    Context(#[from] ContextError),
}

/// One delegation and where it hangs.
///
/// ```
/// use golem_delegation::{Delegation, DelegationTree, Node, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let link = |from: u8, to: u8, authority| Delegation {
/// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
/// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let alpha = link(1, 2, ROOT_AUTHORITY);
/// let replicant = link(2, 3, alpha.hash().0);
/// let tree = DelegationTree::new(vec![alpha.clone(), replicant.clone()])?;
/// let node: &Node = tree.node(replicant.hash()).unwrap();
/// assert_eq!(node.delegation(), &replicant);
/// assert_eq!((node.depth(), node.parent()), (1, Some(alpha.hash())));
/// assert!(node.children().is_empty());
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    delegation: Delegation,
    children: Vec<DelegationHash>,
    depth: usize,
}

impl Node {
    /// The delegation.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![alpha.clone(), replicant.clone()])?;
    /// let node = tree.node(alpha.hash()).unwrap();
    /// assert_eq!(node.delegation(), &alpha);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub const fn delegation(&self) -> &Delegation {
        &self.delegation
    }

    /// What was handed on of it, in the order given.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![alpha.clone(), replicant.clone()])?;
    /// let node = tree.node(alpha.hash()).unwrap();
    /// assert_eq!(node.children(), [replicant.hash()]);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn children(&self) -> &[DelegationHash] {
        &self.children
    }

    /// Links above it; a root has none.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![alpha.clone(), replicant.clone()])?;
    /// let depths = [&alpha, &replicant].map(|link| tree.node(link.hash()).unwrap().depth());
    /// assert_eq!(depths, [0, 1]);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// What it hangs from.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![alpha.clone(), replicant.clone()])?;
    /// let parents = [&alpha, &replicant].map(|link| tree.node(link.hash()).unwrap().parent());
    /// assert_eq!(parents, [None, Some(alpha.hash())]);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn parent(&self) -> Option<DelegationHash> {
        (!self.delegation.is_root()).then_some(DelegationHash(self.delegation.authority))
    }
}

/// What the chain says of one delegation, whatever it says of those above.
///
/// ```
/// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY, Standing, State};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
/// # let root = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// let hash = root.hash();
/// let tree = DelegationTree::new(vec![root])?;
/// let standings = tree.standings(&[(hash, State::Expired)].into());
/// assert_eq!(standings[&hash], Standing::Dead { cause: State::Expired, by: hash });
/// assert!(tree.render(&standings).ends_with("dead: expired\n"));
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Nothing stands against it.
    Active,
    /// Its delegator took it back.
    RevokedByOwner,
    /// Its time is over.
    Expired,
    /// Nothing is left of what it lent.
    Exhausted,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::RevokedByOwner => "revoked by its owner",
            Self::Expired => "expired",
            Self::Exhausted => "exhausted",
        })
    }
}

/// What comes of a delegation with those above it.
///
/// ```
/// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY, Standing, State};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let link = |from: u8, to: u8, authority| Delegation {
/// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
/// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let alpha = link(1, 2, ROOT_AUTHORITY);
/// let replicant = link(2, 3, alpha.hash().0);
/// let tree = DelegationTree::new(vec![alpha.clone(), replicant.clone()])?;
/// // Nothing is said of the parent, so the child is not known to live either.
/// let standings = tree.standings(&[(replicant.hash(), State::Active)].into());
/// assert_eq!(standings[&replicant.hash()], Standing::Unknown);
///
/// let facts = [&alpha, &replicant].map(|link| (link.hash(), State::Active));
/// assert_eq!(tree.standings(&facts.into())[&replicant.hash()], Standing::Active);
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Standing {
    /// It and all above it are active.
    Active,
    /// It cannot be redeemed.
    Dead {
        /// Why.
        cause: State,
        /// The highest that died of it: the delegation itself, or one above.
        by: DelegationHash,
    },
    /// Nothing was said of it, or of one above it. Nobody should rely on it.
    Unknown,
}

/// By whose key a delegator signs.
///
/// ```
/// use golem_delegation::{DelegationTree, Signed, Signer, SigningDomain};
/// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{U256, address, hex};
/// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
/// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let signature = hex!(
/// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
/// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
/// # );
/// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
/// let base = SigningDomain { chain_id: 8453, manager };
/// let tree = DelegationTree::new(vec![grant.clone()])?;
/// let told = |signer| tree.signatures(&base, &[(owner, signer)].into())[&grant.hash()].clone();
/// assert_eq!(told(Signer::Key(owner)), Signed::Yes);
/// assert_eq!(told(Signer::Chain), Signed::LeftToChain);
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signer {
    /// A plain key: the delegator's own, or that of the owner of a Hybrid account.
    Key(Address),
    /// A passkey that owns a Hybrid account.
    Passkey(PasskeyOwner),
    /// An account that only the chain can ask (ERC-1271).
    Chain,
}

/// What is known of a signature without a chain.
///
/// ```
/// use golem_delegation::{DelegationTree, Signed, Signer, SigningDomain};
/// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{U256, address, hex};
/// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
/// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let signature = hex!(
/// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
/// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
/// # );
/// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
/// let base = SigningDomain { chain_id: 8453, manager };
/// let grant = Delegation { salt: U256::from(1), ..grant };
/// let tree = DelegationTree::new(vec![grant.clone()])?;
/// // It was changed behind its signature. Where no key is named, its delegator may be an account.
/// let told = |signers| tree.signatures(&base, &signers)[&grant.hash()].clone();
/// assert!(matches!(told([(owner, Signer::Key(owner))].into()), Signed::No(_)));
/// assert_eq!(told([].into()), Signed::LeftToChain);
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signed {
    /// By the key that was named.
    Yes,
    /// Not by that key.
    No(SignedError),
    /// Only the chain can tell.
    LeftToChain,
}

/// Why a signature is not by the key that was named.
///
/// ```
/// use golem_delegation::{DelegationTree, SignatureError, Signed, SignedError, Signer};
/// # use golem_delegation::SigningDomain;
/// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{U256, address, hex};
/// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
/// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let signature = hex!(
/// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
/// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
/// # );
/// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
/// let base = SigningDomain { chain_id: 8453, manager };
/// let tree = DelegationTree::new(vec![grant.clone().signed(vec![])])?;
/// let signed = tree.signatures(&base, &[(owner, Signer::Key(owner))].into());
/// let error = SignedError::Key(SignatureError::Length { actual: 0 });
/// assert_eq!(signed[&grant.hash()], Signed::No(error));
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignedError {
    /// A plain key.
    #[error(transparent)]
    Key(#[from] SignatureError),
    /// A passkey.
    #[error(transparent)]
    Passkey(#[from] PasskeyError),
}

/// Delegations by hash, each below the one whose authority it lends on.
///
/// Whoever holds one knows that every link leads to a root, was handed on by whoever had it, and is there once.
/// It says nothing of signatures or of what the chain makes of them: see [`DelegationTree::signatures`] and
/// [`DelegationTree::standings`].
///
/// ```
/// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY, Standing, State};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let link = |from: u8, to: u8, authority| Delegation {
/// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
/// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let alpha = link(1, 2, ROOT_AUTHORITY);
/// let replicant = link(2, 3, alpha.hash().0);
/// let tree = DelegationTree::new(vec![replicant.clone(), alpha.clone()])?;
/// assert_eq!(tree.chain(replicant.hash())?.links(), [replicant.clone(), alpha.clone()]);
///
/// // Whoever revokes the parent has stopped the child.
/// let facts = [(alpha.hash(), State::RevokedByOwner), (replicant.hash(), State::Active)];
/// let standing = tree.standings(&facts.into())[&replicant.hash()];
/// assert_eq!(standing, Standing::Dead { cause: State::RevokedByOwner, by: alpha.hash() });
/// # Ok::<(), golem_delegation::TreeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationTree {
    nodes: BTreeMap<DelegationHash, Node>,
    roots: Vec<DelegationHash>,
}

impl DelegationTree {
    /// Hangs delegations, in whatever order, from each other. Each is hashed once; the first fault ends it (ATK-10).
    pub fn new(delegations: Vec<Delegation>) -> Result<Self, TreeError> {
        let actual = delegations.len();
        if actual == 0 {
            return Err(TreeError::Empty);
        }
        if actual > MAX_NODES {
            return Err(TreeError::TooMany { limit: MAX_NODES, actual });
        }
        let mut nodes = BTreeMap::new();
        let mut order = Vec::with_capacity(actual);
        for (index, delegation) in delegations.into_iter().enumerate() {
            let hash = delegation.hash();
            order.push((hash, delegation.is_root(), delegation.authority, delegation.delegator));
            let node = Node { delegation, children: Vec::new(), depth: 0 };
            if nodes.insert(hash, node).is_some() {
                return Err(TreeError::Duplicate { hash, index });
            }
        }
        let mut roots = Vec::new();
        for (hash, is_root, authority, actual) in order {
            if is_root {
                roots.push(hash);
                continue;
            }
            let Some(parent) = nodes.get_mut(&DelegationHash(authority)) else {
                return Err(TreeError::Orphan { hash, authority });
            };
            let expected = parent.delegation.delegate;
            if expected != actual && expected != ANY_DELEGATE {
                return Err(TreeError::Delegator { hash, expected, actual });
            }
            parent.children.push(hash);
        }
        let mut tree = Self { nodes, roots };
        tree.measure()?;
        Ok(tree)
    }

    /// Depths, from the roots down.
    fn measure(&mut self) -> Result<(), TreeError> {
        let mut level = self.roots.clone();
        let mut reached = level.len();
        for depth in 1.. {
            let below: Vec<DelegationHash> = level
                .iter()
                .filter_map(|hash| self.nodes.get(hash))
                .flat_map(|node| node.children.iter().copied())
                .collect();
            let Some(hash) = below.first().copied() else { break };
            if depth >= MAX_LINKS {
                return Err(TreeError::TooDeep { hash, limit: MAX_LINKS });
            }
            for hash in &below {
                if let Some(node) = self.nodes.get_mut(hash) {
                    node.depth = depth;
                }
            }
            reached += below.len();
            level = below;
        }
        // A hash that names itself, or a circle of them, would be a break of keccak256; it is still refused.
        if reached < self.nodes.len() {
            let lost =
                self.nodes.iter().find(|(_, node)| node.depth == 0 && node.parent().is_some());
            if let Some((hash, _)) = lost {
                return Err(TreeError::Rootless { hash: *hash });
            }
        }
        Ok(())
    }

    /// Delegations that start at their delegator, in the order given.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![replicant, alpha.clone()])?;
    /// assert_eq!(tree.roots(), [alpha.hash()]);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn roots(&self) -> &[DelegationHash] {
        &self.roots
    }

    /// One delegation.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![alpha.clone()])?;
    /// assert!(tree.node(alpha.hash()).is_some());
    /// assert!(tree.node(replicant.hash()).is_none());
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn node(&self, hash: DelegationHash) -> Option<&Node> {
        self.nodes.get(&hash)
    }

    /// How many there are.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// assert_eq!(DelegationTree::new(vec![alpha, replicant])?.len(), 2);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: a tree has a root.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY, TreeError};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
    /// # let root = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
    /// #     salt: U256::ZERO, signature: Bytes::new() };
    /// assert!(!DelegationTree::new(vec![root])?.is_empty());
    /// assert_eq!(DelegationTree::new(vec![]), Err(TreeError::Empty));
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every delegation, each behind the one it hangs from.
    ///
    /// ```
    /// use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let link = |from: u8, to: u8, authority| Delegation {
    /// #     delegate: Address::repeat_byte(to), delegator: Address::repeat_byte(from), authority,
    /// #     caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let alpha = link(1, 2, ROOT_AUTHORITY);
    /// let replicant = link(2, 3, alpha.hash().0);
    /// let tree = DelegationTree::new(vec![replicant.clone(), alpha.clone()])?;
    /// let order: Vec<_> = tree.walk().map(|(hash, node)| (hash, node.depth())).collect();
    /// assert_eq!(order, [(alpha.hash(), 0), (replicant.hash(), 1)]);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    pub fn walk(&self) -> impl Iterator<Item = (DelegationHash, &Node)> {
        let mut rest: Vec<DelegationHash> = self.roots.iter().rev().copied().collect();
        std::iter::from_fn(move || {
            let hash = rest.pop()?;
            let node = self.nodes.get(&hash)?;
            rest.extend(node.children.iter().rev());
            Some((hash, node))
        })
    }

    /// What `redeemDelegations` takes to act under `leaf`: it, and all above it.
    pub fn chain(&self, leaf: DelegationHash) -> Result<PermissionContext, TreeError> {
        let mut links = Vec::new();
        let mut at = Some(leaf);
        while let Some(hash) = at {
            let node = self.node(hash).ok_or(TreeError::Unknown { hash })?;
            links.push(node.delegation.clone());
            at = node.parent();
        }
        Ok(PermissionContext::new(links)?)
    }

    /// What comes of each delegation by what the chain says of every one.
    ///
    /// Facts are handed in: this crate asks no chain and has no clock.
    #[must_use]
    pub fn standings(
        &self,
        facts: &BTreeMap<DelegationHash, State>,
    ) -> BTreeMap<DelegationHash, Standing> {
        let mut standings = BTreeMap::new();
        for (hash, node) in self.walk() {
            let above = node.parent().and_then(|parent| standings.get(&parent).copied());
            let own = facts.get(&hash).copied();
            let standing = match (above.unwrap_or(Standing::Active), own) {
                // The highest one: whoever looks for a remedy has to begin there.
                (dead @ Standing::Dead { .. }, _) => dead,
                (_, Some(cause)) if cause != State::Active => Standing::Dead { cause, by: hash },
                (Standing::Active, Some(_)) => Standing::Active,
                _ => Standing::Unknown,
            };
            standings.insert(hash, standing);
        }
        standings
    }

    /// Whether each delegation is signed, as far as that can be told without a chain.
    ///
    /// `signers` names the key of a delegator. For one it does not name, a plain signature of the delegator's own key
    /// counts; anything else is left to the chain, for the delegator may be an account.
    ///
    /// ```
    /// use golem_delegation::{DelegationTree, Signed, SigningDomain};
    /// # use std::collections::BTreeMap;
    /// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
    /// # use alloy_primitives::{U256, address, hex};
    /// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
    /// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
    /// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
    /// # let signature = hex!(
    /// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
    /// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
    /// # );
    /// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
    /// let base = SigningDomain { chain_id: 8453, manager };
    /// let tree = DelegationTree::new(vec![grant.clone()])?;
    /// // The delegator signed with a key of its own.
    /// assert_eq!(tree.signatures(&base, &BTreeMap::new())[&grant.hash()], Signed::Yes);
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn signatures(
        &self,
        domain: &SigningDomain,
        signers: &BTreeMap<Address, Signer>,
    ) -> BTreeMap<DelegationHash, Signed> {
        let signed = |delegation: &Delegation| match signers.get(&delegation.delegator) {
            Some(Signer::Key(key)) => domain
                .verify(delegation, *key)
                .map_or_else(|no| Signed::No(no.into()), |()| Signed::Yes),
            Some(Signer::Passkey(owner)) => domain
                .verify_passkey(delegation, owner)
                .map_or_else(|no| Signed::No(no.into()), |()| Signed::Yes),
            Some(Signer::Chain) => Signed::LeftToChain,
            None => match domain.verify(delegation, delegation.delegator) {
                Ok(()) => Signed::Yes,
                Err(_) => Signed::LeftToChain,
            },
        };
        self.nodes.iter().map(|(hash, node)| (*hash, signed(&node.delegation))).collect()
    }

    /// The tree as text, a line for each delegation: its hash, who lends to whom, its caveats, how it stands.
    ///
    /// ```
    /// # use golem_delegation::{Delegation, DelegationTree, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
    /// #     authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// let tree = DelegationTree::new(vec![root])?;
    /// let text = tree.render(&Default::default());
    /// assert!(text.ends_with("0x0202…0202 → 0x0101…0101  no caveats  state unknown\n"));
    /// # Ok::<(), golem_delegation::TreeError>(())
    /// ```
    #[must_use]
    pub fn render(&self, standings: &BTreeMap<DelegationHash, Standing>) -> String {
        let mut text = String::new();
        let mut rest: Vec<(DelegationHash, String, String)> =
            self.roots.iter().rev().map(|hash| (*hash, String::new(), String::new())).collect();
        while let Some((hash, first, others)) = rest.pop() {
            let Some(node) = self.nodes.get(&hash) else { continue };
            let standing = standings.get(&hash).copied().unwrap_or(Standing::Unknown);
            text.push_str(&first);
            text.push_str(&line(hash, &node.delegation, standing));
            text.push('\n');
            for (from_last, child) in node.children.iter().rev().enumerate() {
                let (fork, below) =
                    if from_last == 0 { ("└── ", "    ") } else { ("├── ", "│   ") };
                rest.push((*child, format!("{others}{fork}"), format!("{others}{below}")));
            }
        }
        text
    }
}

fn line(hash: DelegationHash, delegation: &Delegation, standing: Standing) -> String {
    let caveats = match delegation.caveats.len() {
        0 => "no caveats".to_owned(),
        1 => "1 caveat".to_owned(),
        many => format!("{many} caveats"),
    };
    let delegate = match delegation.delegate {
        ANY_DELEGATE => "anyone".to_owned(),
        delegate => short(&delegate.to_string()),
    };
    let state = match standing {
        Standing::Active => "active".to_owned(),
        Standing::Dead { cause, by } if by == hash => format!("dead: {cause}"),
        Standing::Dead { cause, by } => format!("dead: {} is {cause}", short(&by.to_string())),
        Standing::Unknown => "state unknown".to_owned(),
    };
    let (hash, delegator) = (short(&hash.to_string()), short(&delegation.delegator.to_string()));
    format!("{hash}  {delegator} → {delegate}  {caveats}  {state}")
}

/// Both ends of an address or a hash.
fn short(hex: &str) -> String {
    match (hex.get(..6), hex.get(hex.len().saturating_sub(4)..)) {
        (Some(head), Some(tail)) => format!("{head}…{tail}"),
        _ => hex.to_owned(),
    }
}

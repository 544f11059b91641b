use alloy_primitives::{Address, B256, keccak256};
use alloy_sol_types::{SolCall as _, SolValue as _};

mod wire {
    alloy_sol_types::sol! {
        struct Policy {
            bytes32 constitutionHash;
            uint16 concentrationBps;
            uint16 drawdownBps;
            uint64 spendPerTransaction;
            uint64 spendPerSession;
            uint64 spendPerDay;
            address[] assets;
        }
        function policyOf(bytes32 golemId) returns (Policy policy, uint64 version, bytes32 policyHash);
    }
}

/// What an owner wants his Golem's runtime to hold itself to; `Policy` of `PolicyCage.sol`. A zero allows nothing; it never
/// means "no limit".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Of the document that the runtime must have at boot, byte for byte.
    pub constitution_hash: B256,
    /// Most of the holdings' value that may be in one asset.
    pub concentration_bps: u16,
    /// Farthest that the holdings' value may fall below its highest.
    pub drawdown_bps: u16,
    /// Micro-dollars in one transaction.
    pub spend_per_transaction: u64,
    /// In the life of one session key.
    pub spend_per_session: u64,
    /// In a day.
    pub spend_per_day: u64,
    /// Ascending. Zero is the chain's own coin.
    pub assets: Vec<Address>,
}

/// Why something is no policy; what `PolicyCage.publish` reverts with, and what its getter cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyRefusal {
    /// Zero is no constitution.
    #[error("the policy names no constitution")]
    NoConstitution,
    /// A share of the holdings goes up to the whole.
    #[error("a concentration of {bps} basis points is more than the whole")]
    Concentration {
        /// What was said.
        bps: u16,
    },
    /// Holdings can fall by the whole, not more.
    #[error("a drawdown of {bps} basis points is more than the whole")]
    Drawdown {
        /// What was said.
        bps: u16,
    },
    /// One transaction could spend more than a whole session.
    #[error("one transaction could spend {once} micro-dollars, a whole session {session}")]
    OverSession {
        /// Of a transaction.
        once: u64,
        /// Of a session.
        session: u64,
    },
    /// One transaction could spend more than a whole day.
    #[error("one transaction could spend {once} micro-dollars, a whole day {day}")]
    OverDay {
        /// Of a transaction.
        once: u64,
        /// Of a day.
        day: u64,
    },
    /// A list has up to [`Policy::MAX_ASSETS`] assets.
    #[error("{count} assets are more than {}", Policy::MAX_ASSETS)]
    TooManyAssets {
        /// How many there are.
        count: usize,
    },
    /// The asset at `index` is not above the one before it.
    #[error("asset {index}, {asset}, is not above {before}")]
    NotAscending {
        /// Which one.
        index: usize,
        /// It.
        asset: Address,
        /// The one before it.
        before: Address,
    },
    /// Versions count from one.
    #[error("version zero was never published")]
    NoVersion,
    /// The hash is another policy's, another version's, or another Golem's.
    #[error("the policy's hash is {actual}, the chain said {said}")]
    Hash {
        /// Of what was read.
        actual: B256,
        /// Beside it.
        said: B256,
    },
    /// Bytes that are no answer of the contract.
    #[error("{length} bytes are no answer of the contract")]
    Encoding {
        /// How many.
        length: usize,
    },
}

impl Policy {
    /// Longest list of assets.
    pub const MAX_ASSETS: usize = 32;
    /// The whole, in basis points.
    pub const MAX_BPS: u16 = 10_000;
    const TYPE: &str = "Policy(bytes32 golemId,uint64 version,bytes32 constitutionHash,uint16 concentrationBps,\
        uint16 drawdownBps,uint64 spendPerTransaction,uint64 spendPerSession,uint64 spendPerDay,address[] assets)";

    /// Refuses what the contract would not publish.
    pub fn check(&self) -> Result<(), PolicyRefusal> {
        if self.constitution_hash.is_zero() {
            return Err(PolicyRefusal::NoConstitution);
        }
        if self.concentration_bps > Self::MAX_BPS {
            return Err(PolicyRefusal::Concentration { bps: self.concentration_bps });
        }
        if self.drawdown_bps > Self::MAX_BPS {
            return Err(PolicyRefusal::Drawdown { bps: self.drawdown_bps });
        }
        let (once, session, day) =
            (self.spend_per_transaction, self.spend_per_session, self.spend_per_day);
        if once > session {
            return Err(PolicyRefusal::OverSession { once, session });
        }
        if once > day {
            return Err(PolicyRefusal::OverDay { once, day });
        }
        self.check_assets()
    }

    fn check_assets(&self) -> Result<(), PolicyRefusal> {
        let count = self.assets.len();
        if count > Self::MAX_ASSETS {
            return Err(PolicyRefusal::TooManyAssets { count });
        }
        for (index, (before, asset)) in
            (1..).zip(self.assets.iter().zip(self.assets.iter().skip(1)))
        {
            if asset <= before {
                let (asset, before) = (*asset, *before);
                return Err(PolicyRefusal::NotAscending { index, asset, before });
            }
        }
        Ok(())
    }

    /// Commits to a policy, its version and its Golem; `hashOf` of the contract.
    #[must_use]
    pub fn hash(&self, golem_id: B256, version: u64) -> B256 {
        let assets = keccak256(self.assets.abi_encode_packed());
        let fields = (
            (keccak256(Self::TYPE), golem_id, version, self.constitution_hash),
            (
                self.concentration_bps,
                self.drawdown_bps,
                self.spend_per_transaction,
                self.spend_per_session,
                self.spend_per_day,
                assets,
            ),
        );
        keccak256(fields.abi_encode())
    }

    /// Whether the owner named this asset.
    #[must_use]
    pub fn has(&self, asset: Address) -> bool {
        self.assets.binary_search(&asset).is_ok()
    }
}

/// A policy as the chain's PolicyCage has it for one Golem: whole, and the one that its hash is of.
///
/// ```
/// use alloy_primitives::{B256, keccak256};
/// use golem_safety::{Policy, PolicyRefusal, Published};
/// let golem_id = B256::repeat_byte(7);
/// let policy = Policy {
///     constitution_hash: keccak256("Do no harm."),
///     concentration_bps: 3_000,
///     drawdown_bps: 2_000,
///     spend_per_transaction: 100_000_000,
///     spend_per_session: 1_000_000_000,
///     spend_per_day: 500_000_000,
///     assets: vec![],
/// };
/// let said = policy.hash(golem_id, 1);
/// assert!(Published::new(golem_id, policy.clone(), 1, said).is_ok());
/// // The same policy under another version is another commitment.
/// let actual = policy.hash(golem_id, 2);
/// assert_eq!(Published::new(golem_id, policy, 2, said), Err(PolicyRefusal::Hash { actual, said }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    golem_id: B256,
    version: u64,
    hash: B256,
    policy: Policy,
}

impl Published {
    /// What `policyOf` answered for `golem_id`; refused unless it is a policy that could be published, under its own hash.
    pub fn new(
        golem_id: B256,
        policy: Policy,
        version: u64,
        said: B256,
    ) -> Result<Self, PolicyRefusal> {
        if version == 0 {
            return Err(PolicyRefusal::NoVersion);
        }
        policy.check()?;
        let actual = policy.hash(golem_id, version);
        if actual != said {
            return Err(PolicyRefusal::Hash { actual, said });
        }
        Ok(Self { golem_id, version, hash: actual, policy })
    }

    /// The same from the bytes that the contract returned, in their canonical form only.
    pub fn decode(golem_id: B256, answer: &[u8]) -> Result<Self, PolicyRefusal> {
        let refusal = PolicyRefusal::Encoding { length: answer.len() };
        let read = wire::policyOfCall::abi_decode_returns_validate(answer)
            .map_err(|_malformed| refusal)?;
        if (read.policy.clone(), read.version, read.policyHash).abi_encode_params() != answer {
            return Err(refusal);
        }
        let wire::Policy {
            constitutionHash: constitution_hash,
            concentrationBps: concentration_bps,
            drawdownBps: drawdown_bps,
            spendPerTransaction: spend_per_transaction,
            spendPerSession: spend_per_session,
            spendPerDay: spend_per_day,
            assets,
        } = read.policy;
        let policy = Policy {
            constitution_hash,
            concentration_bps,
            drawdown_bps,
            spend_per_transaction,
            spend_per_session,
            spend_per_day,
            assets,
        };
        Self::new(golem_id, policy, read.version, read.policyHash)
    }

    /// Whose.
    #[must_use]
    pub const fn golem_id(&self) -> B256 {
        self.golem_id
    }

    /// Which one.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Over both and the policy.
    #[must_use]
    pub const fn hash(&self) -> B256 {
        self.hash
    }

    /// What it says.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
}

use crate::MicroDollars;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::SolValue as _;

/// One call of an intent, as typed values: nothing of it was ever text of somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Contract that is called.
    pub target: Address,
    /// Native value sent along, in wei.
    pub value: U256,
    /// Calldata.
    pub data: Bytes,
}

/// Stands for exactly these calls, in this order, by this account.
///
/// ```
/// use alloy_primitives::{Address, Bytes, U256};
/// use golem_safety::{Call, CallsDigest};
/// let account = Address::repeat_byte(1);
/// let call = |value: u64| Call { target: account, value: U256::from(value), data: Bytes::new() };
/// let [first, second] = [1, 2].map(call);
/// let digest = CallsDigest::of(account, &[first.clone(), second.clone()]);
/// assert_ne!(digest, CallsDigest::of(account, &[second, first]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallsDigest(B256);

impl CallsDigest {
    /// Of `keccak256(abi.encode(account, Execution[]))`.
    #[must_use]
    pub fn of(account: Address, calls: &[Call]) -> Self {
        let calls: Vec<_> =
            calls.iter().map(|call| (call.target, call.value, call.data.clone())).collect();
        Self(keccak256((account, calls).abi_encode_params()))
    }

    /// For the books.
    #[must_use]
    pub const fn get(self) -> B256 {
        self.0
    }
}

/// Leave to make exactly the calls that were judged, once (SPEC P3, INV-1). Only [`Cage::judge`](crate::Cage::judge) makes
/// one, so a write that asks for one cannot be compiled without a verdict.
///
/// It cannot be made by hand,
/// ```compile_fail,E0451
/// use golem_safety::{CallsDigest, MicroDollars, Permit};
/// # use alloy_primitives::Address;
/// let digest = CallsDigest::of(Address::ZERO, &[]);
/// let permit = Permit {
///     digest, account: Address::ZERO, most: MicroDollars::ZERO, judged_at: 0, policy_version: 1,
/// };
/// ```
/// nor copied,
/// ```compile_fail,E0599
/// # use golem_safety::Permit;
/// fn twice(permit: Permit) -> (Permit, Permit) { (permit.clone(), permit) }
/// ```
/// nor written down and read back,
/// ```compile_fail,E0277
/// # use golem_safety::Permit;
/// fn kept(permit: &Permit) -> String { serde_json::to_string(permit).unwrap_or_default() }
/// ```
/// nor used twice by whoever takes it for good:
/// ```compile_fail,E0382
/// # use golem_safety::Permit;
/// fn sign(permit: Permit) {}
/// fn twice(permit: Permit) { sign(permit); sign(permit); }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped permits nothing"]
pub struct Permit {
    pub(crate) digest: CallsDigest,
    pub(crate) account: Address,
    pub(crate) most: MicroDollars,
    pub(crate) judged_at: u64,
    pub(crate) policy_version: u64,
}

impl Permit {
    /// Whether these are the calls that were judged.
    #[must_use]
    pub fn covers(&self, digest: CallsDigest) -> bool {
        self.digest == digest
    }

    /// What was judged.
    #[must_use]
    pub const fn digest(&self) -> CallsDigest {
        self.digest
    }

    /// Whose account makes the calls.
    #[must_use]
    pub const fn account(&self) -> Address {
        self.account
    }

    /// Most that the calls send out: what is to be reserved.
    #[must_use]
    pub const fn most(&self) -> MicroDollars {
        self.most
    }

    /// The second that was judged by.
    #[must_use]
    pub const fn judged_at(&self) -> u64 {
        self.judged_at
    }

    /// The policy that was judged by.
    #[must_use]
    pub const fn policy_version(&self) -> u64 {
        self.policy_version
    }
}

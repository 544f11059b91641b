use super::{TermsError, entries};
use alloy_primitives::{Address, B256, Bytes, Keccak256, U256, keccak256};
use std::sync::LazyLock;

static TYPE_HASH: LazyLock<B256> = LazyLock::new(|| {
    keccak256(
        "CoSignature(address manager,bytes32 delegationHash,bytes32 mode,bytes execution,\
         uint256 nonce,uint40 deadline)",
    )
});
static DOMAIN_TYPE_HASH: LazyLock<B256> = LazyLock::new(|| {
    keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
});
static NAME_HASH: LazyLock<B256> = LazyLock::new(|| keccak256("ThresholdEnforcer"));
static VERSION_HASH: LazyLock<B256> = LazyLock::new(|| keccak256("1"));

/// `ThresholdEnforcer`: so many of these signers agree to the very execution.
///
/// Terms: `needed u8 ‖ signers 20 each`, ascending.
///
/// ```
/// use golem_delegation::terms::Threshold;
/// # use alloy_primitives::Address;
/// let council = Threshold::new(2, [3, 1, 2].map(Address::repeat_byte).to_vec())?;
/// assert_eq!(council.signers()[0], Address::repeat_byte(1));
/// assert_eq!(council.needed(), 2);
/// assert!(Threshold::new(4, council.signers().to_vec()).is_err());
/// assert_eq!(Threshold::decode(&council.encode())?, council);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Threshold {
    needed: u8,
    signers: Vec<Address>,
}

impl Threshold {
    /// `needed` of these, who are sorted here; nobody twice, and nobody who is zero.
    pub fn new(needed: u8, mut signers: Vec<Address>) -> Result<Self, TermsError> {
        signers.sort_unstable();
        Self::ascending(needed, signers)
    }

    /// How many must sign.
    #[must_use]
    pub const fn needed(&self) -> u8 {
        self.needed
    }

    /// Who may, ascending.
    #[must_use]
    pub fn signers(&self) -> &[Address] {
        &self.signers
    }

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.needed];
        out.extend(super::encode_addresses(&self.signers));
        out
    }

    /// Decodes, accepting exactly what the contract accepts.
    ///
    /// ```
    /// use golem_delegation::{TermsError, terms::Threshold};
    /// // One of two, who do not ascend.
    /// let terms = [&[1][..], &[2; 20], &[1; 20]].concat();
    /// assert_eq!(Threshold::decode(&terms), Err(TermsError::SignerOrder { index: 1 }));
    /// ```
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let Some((needed, signers)) = terms.split_first() else {
            return Err(TermsError::TooShort { least: 21, actual: 0 });
        };
        let signers = entries::<20>(signers)?.into_iter().map(Address::from).collect();
        Self::ascending(*needed, signers)
    }

    /// `needed` of these, who ascend already.
    pub(crate) fn ascending(needed: u8, signers: Vec<Address>) -> Result<Self, TermsError> {
        if needed == 0 || usize::from(needed) > signers.len() {
            return Err(TermsError::Needed { needed, signers: signers.len() });
        }
        let mut before = Address::ZERO;
        for (index, signer) in signers.iter().enumerate() {
            if *signer <= before {
                return Err(TermsError::SignerOrder { index });
            }
            before = *signer;
        }
        Ok(Self { needed, signers })
    }
}

/// What a signer of a [`Threshold`] agrees to: one execution, once, until a deadline.
///
/// ```
/// use golem_delegation::terms::CoSignature;
/// # use alloy_primitives::{Address, B256, U256, bytes};
/// # let (manager, delegation_hash) = (Address::repeat_byte(1), B256::repeat_byte(2));
/// # let mode = B256::ZERO;
/// let (execution, nonce, deadline) = (bytes!("c0ffee"), U256::from(7), 1_800_000_000);
/// let agreed = CoSignature { manager, delegation_hash, mode, execution, nonce, deadline };
/// // Another byte of the execution is another word.
/// let other = CoSignature { execution: bytes!("c0ffef"), ..agreed.clone() };
/// let enforcer = Address::repeat_byte(3);
/// assert_ne!(agreed.digest(8453, enforcer), other.digest(8453, enforcer));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSignature {
    /// The DelegationManager that will redeem.
    pub manager: Address,
    /// The link that carries the caveat.
    pub delegation_hash: B256,
    /// ERC-7579 mode of the execution.
    pub mode: B256,
    /// The execution, to the byte.
    pub execution: Bytes,
    /// Used once for the link.
    pub nonce: U256,
    /// Last second; the contract keeps 40 bits.
    pub deadline: u64,
}

impl CoSignature {
    /// What is signed, for the enforcer on one chain.
    ///
    /// ```
    /// use golem_delegation::terms::CoSignature;
    /// # use alloy_primitives::{Address, B256, U256, bytes};
    /// # let (manager, delegation_hash) = (Address::repeat_byte(1), B256::repeat_byte(2));
    /// # let mode = B256::ZERO;
    /// # let (execution, nonce, deadline) = (bytes!("c0ffee"), U256::from(7), 1_800_000_000);
    /// # let agreed = CoSignature { manager, delegation_hash, mode, execution, nonce, deadline };
    /// let [here, there] = [3, 4].map(Address::repeat_byte);
    /// let digest = agreed.digest(8453, here);
    /// assert_ne!(digest, agreed.digest(1, here));
    /// assert_ne!(digest, agreed.digest(8453, there));
    /// ```
    #[must_use]
    pub fn digest(&self, chain_id: u64, enforcer: Address) -> B256 {
        let mut domain = Keccak256::new();
        domain.update(*DOMAIN_TYPE_HASH);
        domain.update(*NAME_HASH);
        domain.update(*VERSION_HASH);
        domain.update(B256::from(U256::from(chain_id)));
        domain.update(enforcer.into_word());

        let mut message = Keccak256::new();
        message.update(*TYPE_HASH);
        message.update(self.manager.into_word());
        message.update(self.delegation_hash);
        message.update(self.mode);
        message.update(keccak256(&self.execution));
        message.update(B256::from(self.nonce));
        message.update(B256::from(U256::from(self.deadline)));

        let mut hasher = Keccak256::new();
        hasher.update([0x19, 0x01]);
        hasher.update(domain.finalize());
        hasher.update(message.finalize());
        hasher.finalize()
    }

    /// The caveat's arguments: nonce, deadline, and the signatures in the order of their signers.
    ///
    /// ```
    /// use golem_delegation::{TermsError, terms::CoSignature};
    /// # use alloy_primitives::{Address, B256, U256, bytes};
    /// # let (manager, delegation_hash) = (Address::repeat_byte(1), B256::repeat_byte(2));
    /// # let mode = B256::ZERO;
    /// # let (execution, nonce, deadline) = (bytes!("c0ffee"), U256::from(7), 1_800_000_000);
    /// # let agreed = CoSignature { manager, delegation_hash, mode, execution, nonce, deadline };
    /// let args = agreed.args(&[[0xaa; 65], [0xbb; 65]])?;
    /// assert_eq!(args.len(), 32 + 5 + 2 * 65);
    /// assert_eq!((args[31], args[37], args[102]), (7, 0xaa, 0xbb));
    ///
    /// let moment = 1 << 40;
    /// let late = CoSignature { deadline: moment, ..agreed };
    /// assert_eq!(late.args(&[]), Err(TermsError::Moment { moment }));
    /// # Ok::<(), TermsError>(())
    /// ```
    pub fn args(&self, signatures: &[[u8; 65]]) -> Result<Bytes, TermsError> {
        let mut out = self.nonce.to_be_bytes_vec();
        out.extend(super::check_moment(self.deadline)?);
        out.extend(signatures.iter().flatten());
        Ok(out.into())
    }
}

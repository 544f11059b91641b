//! Rules that state the whole call, or the whole batch of calls.

use super::{Reader, TermsError, decode_abi};
use crate::abi;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolValue;

/// A call, as ERC-7579 has it.
///
/// ```
/// use golem_delegation::terms::{ExactExecution, Execution};
/// # use alloy_primitives::{Address, U256, bytes};
/// let target = Address::repeat_byte(1);
/// let wrap = Execution { target, value: U256::from(5), call_data: bytes!("d0e30db0") };
/// // Packed, its parts follow one another.
/// let terms = ExactExecution(wrap).encode();
/// assert_eq!((&terms[..20], terms[51]), (target.as_slice(), 5));
/// assert_eq!(terms[52..], [0xd0, 0xe3, 0x0d, 0xb0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// What is called.
    pub target: Address,
    /// With how many wei.
    pub value: U256,
    /// And with which data.
    pub call_data: Bytes,
}

/// Stock `ExactCalldataEnforcer`: the call's data is this, and nothing else.
///
/// Terms: the data; any bytes are terms.
///
/// ```
/// use golem_delegation::terms::ExactCalldata;
/// # use alloy_primitives::bytes;
/// let only = ExactCalldata(bytes!("d0e30db0"));
/// assert_eq!(only.encode(), only.0);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExactCalldata(pub Bytes);

/// Stock `ExactExecutionEnforcer`: target, value and data are these.
///
/// Terms: `target 20 ‖ value u256 ‖ data`.
///
/// ```
/// use golem_delegation::terms::{ExactExecution, Execution};
/// # use alloy_primitives::{Address, U256, bytes};
/// let only = ExactExecution(Execution {
///     target: Address::repeat_byte(1),
///     value: U256::ZERO,
///     call_data: bytes!("d0e30db0"),
/// });
/// assert_eq!(ExactExecution::decode(&only.encode())?, only);
/// assert_eq!(only.encode().len(), ExactExecution::HEADER + 4);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExactExecution(pub Execution);

/// Stock `ExactCalldataBatchEnforcer`: a batch of just so many calls with this data; targets and values are
/// not looked at.
///
/// Terms: `abi.encode(Execution[])`, of which one form is taken here.
///
/// ```
/// use golem_delegation::terms::{ExactCalldataBatch, Execution};
/// # use alloy_primitives::{Address, U256, bytes};
/// let wrap = Execution {
///     target: Address::repeat_byte(1),
///     value: U256::ONE,
///     call_data: bytes!("d0e30db0"),
/// };
/// let twice = ExactCalldataBatch(vec![wrap.clone(), wrap]);
/// assert_eq!(ExactCalldataBatch::decode(&twice.encode())?, twice);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExactCalldataBatch(pub Vec<Execution>);

/// Stock `ExactExecutionBatchEnforcer`: a batch of these calls.
///
/// Terms: `abi.encode(Execution[])`, of which one form is taken here.
///
/// ```
/// use golem_delegation::terms::ExactExecutionBatch;
/// let nothing = ExactExecutionBatch(vec![]);
/// assert_eq!(ExactExecutionBatch::decode(&nothing.encode())?, nothing);
/// assert!(ExactExecutionBatch::decode(&[0; 64]).is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExactExecutionBatch(pub Vec<Execution>);

/// Stock `SpecificActionERC20TransferBatchEnforcer`: one call, then one transfer, once.
///
/// Terms: `token 20 ‖ recipient 20 ‖ amount u256 ‖ target 20 ‖ value u256 ‖ data`.
///
/// MetaMask's packages still write the layout of the contract before it, which has no value: the contract that stands
/// at the address refuses it, or takes the first 32 bytes of data for the value. Here it is read as the contract does.
///
/// ```
/// use golem_delegation::terms::SpecificActionErc20TransferBatch;
/// # use alloy_primitives::{Address, U256, bytes};
/// let action = SpecificActionErc20TransferBatch {
///     token_address: Address::repeat_byte(1),
///     recipient: Address::repeat_byte(2),
///     amount: U256::from(7),
///     target: Address::repeat_byte(3),
///     value: U256::ZERO,
///     calldata: bytes!("d0e30db0"),
/// };
/// assert_eq!(SpecificActionErc20TransferBatch::decode(&action.encode())?, action);
/// assert_eq!(action.encode().len(), SpecificActionErc20TransferBatch::HEADER + 4);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpecificActionErc20TransferBatch {
    /// The token of the transfer.
    pub token_address: Address,
    /// Who gets it.
    pub recipient: Address,
    /// How much.
    pub amount: U256,
    /// What the first call goes to.
    pub target: Address,
    /// Its value, in wei.
    pub value: U256,
    /// Its data.
    pub calldata: Bytes,
}

impl ExactCalldata {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// Decodes; the contract accepts all bytes.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        Ok(Self(terms.to_vec().into()))
    }
}

impl ExactExecution {
    /// Bytes before the data.
    pub const HEADER: usize = 52;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Execution { target, value, call_data } = &self.0;
        [target.as_slice(), &value.to_be_bytes::<32>(), call_data].concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        Ok(Self(Execution {
            target: reader.address()?,
            value: reader.u256()?,
            call_data: reader.rest(),
        }))
    }
}

fn encode_batch(executions: &[Execution]) -> Vec<u8> {
    let raw: Vec<_> = executions
        .iter()
        .map(|Execution { target, value, call_data }| abi::Execution {
            target: *target,
            value: *value,
            callData: call_data.clone(),
        })
        .collect();
    raw.abi_encode()
}

fn decode_batch(terms: &[u8]) -> Result<Vec<Execution>, TermsError> {
    let raw: Vec<abi::Execution> = decode_abi(terms)?;
    let read = |raw: abi::Execution| Execution {
        target: raw.target,
        value: raw.value,
        call_data: raw.callData,
    };
    Ok(raw.into_iter().map(read).collect())
}

impl ExactCalldataBatch {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_batch(&self.0)
    }

    /// Decodes the one canonical form, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        decode_batch(terms).map(Self)
    }
}

impl ExactExecutionBatch {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_batch(&self.0)
    }

    /// Decodes the one canonical form, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        decode_batch(terms).map(Self)
    }
}

impl SpecificActionErc20TransferBatch {
    /// Bytes before the data.
    pub const HEADER: usize = 124;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let [amount, value] = [self.amount, self.value].map(|number| number.to_be_bytes::<32>());
        [
            self.token_address.as_slice(),
            self.recipient.as_slice(),
            &amount,
            self.target.as_slice(),
            &value,
            &self.calldata,
        ]
        .concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        Ok(Self {
            token_address: reader.address()?,
            recipient: reader.address()?,
            amount: reader.u256()?,
            target: reader.address()?,
            value: reader.u256()?,
            calldata: reader.rest(),
        })
    }
}

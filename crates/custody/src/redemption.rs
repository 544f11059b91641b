use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolValue};
use bardo_bindings::framework::{self, DelegationManager, MODE_BATCH, MODE_SINGLE};
use golem_delegation::{PermissionContext, enforcers};
use serde::{Deserialize, Serialize};
use std::iter;

/// Stock enforcers that read an execution as one call, and refuse a batch.
const ONE_CALL: [Address; 12] = [
    enforcers::ALLOWED_CALLDATA,
    enforcers::ALLOWED_METHODS,
    enforcers::ALLOWED_TARGETS,
    enforcers::ERC20_PERIOD_TRANSFER,
    enforcers::ERC20_STREAMING,
    enforcers::ERC20_TRANSFER_AMOUNT,
    enforcers::EXACT_CALLDATA,
    enforcers::EXACT_EXECUTION,
    enforcers::NATIVE_TOKEN_PERIOD_TRANSFER,
    enforcers::NATIVE_TOKEN_STREAMING,
    enforcers::NATIVE_TOKEN_TRANSFER_AMOUNT,
    enforcers::VALUE_LTE,
];

/// One call made by the root delegator's account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Execution {
    /// Contract that is called.
    pub target: Address,
    /// Native value sent along, in wei.
    pub value: U256,
    /// Calldata.
    pub data: Bytes,
}

/// What an agent asks the manager to do, under one permission context or several; all or none.
///
/// Only the default execution type is offered: in try mode a failing call would still count
/// against the limits (ATK-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redemption {
    manager: Address,
    first: Deed,
    more: Vec<Deed>,
}

/// What is done under one grant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Deed {
    context: PermissionContext,
    calls: Vec<Execution>,
    mode: B256,
    execution: Bytes,
}

impl Deed {
    fn single(context: PermissionContext, call: &Execution) -> Self {
        let execution = (call.target, call.value, call.data.as_ref()).abi_encode_packed().into();
        Self { context, calls: vec![call.clone()], mode: MODE_SINGLE, execution }
    }

    fn batch(context: PermissionContext, calls: &[Execution]) -> Self {
        let execution = encode_batch(calls);
        Self { context, calls: calls.to_vec(), mode: MODE_BATCH, execution }
    }

    fn decode(context: PermissionContext, mode: B256, execution: &[u8]) -> Option<Self> {
        if mode == MODE_SINGLE {
            let (target, rest) = execution.split_first_chunk::<20>()?;
            let (value, data) = rest.split_first_chunk::<32>()?;
            let (target, value) = (Address::from(*target), U256::from_be_bytes(*value));
            let data = Bytes::copy_from_slice(data);
            return Some(Self::single(context, &Execution { target, value, data }));
        }
        if mode != MODE_BATCH {
            return None;
        }
        let calls = Vec::<framework::Execution>::abi_decode_validate(execution).ok()?;
        let calls: Vec<_> = calls
            .into_iter()
            .map(|call| Execution { target: call.target, value: call.value, data: call.callData })
            .collect();
        Some(Self::batch(context, &calls))
    }
}

impl Redemption {
    /// These calls, in the form that the grant takes: one call as itself, several as a batch. Where a caveat of any link takes
    /// one call at a time, each is redeemed by itself, in the same transaction: all or none of them still.
    ///
    /// Each of those counts for itself, too: under [`DelegationBounds`](crate::DelegationBounds) an allowance and the swap that
    /// uses it are two calls.
    #[must_use]
    pub fn of(manager: Address, context: PermissionContext, calls: &[Execution]) -> Self {
        let one_by_one = context
            .links()
            .iter()
            .flat_map(|link| &link.caveats)
            .any(|caveat| ONE_CALL.contains(&caveat.enforcer));
        match calls {
            [only] => Self::single(manager, context, only),
            [first, rest @ ..] if one_by_one => {
                rest.iter().fold(Self::single(manager, context.clone(), first), |all, call| {
                    all.and_single(context.clone(), call)
                })
            }
            several => Self::batch(manager, context, several),
        }
    }

    /// One call.
    #[must_use]
    pub fn single(manager: Address, context: PermissionContext, call: &Execution) -> Self {
        Self { manager, first: Deed::single(context, call), more: Vec::new() }
    }

    /// Several calls.
    #[must_use]
    pub fn batch(manager: Address, context: PermissionContext, calls: &[Execution]) -> Self {
        Self { manager, first: Deed::batch(context, calls), more: Vec::new() }
    }

    /// The same, and then one call under another grant, or under the same one once more.
    #[must_use]
    pub fn and_single(mut self, context: PermissionContext, call: &Execution) -> Self {
        self.more.push(Deed::single(context, call));
        self
    }

    /// The same, and then several calls under another grant, or under the same one once more.
    #[must_use]
    pub fn and_batch(mut self, context: PermissionContext, calls: &[Execution]) -> Self {
        self.more.push(Deed::batch(context, calls));
        self
    }

    /// The manager that judges.
    #[must_use]
    pub const fn manager(&self) -> Address {
        self.manager
    }

    /// The grant it stands on; of several, the first.
    #[must_use]
    pub const fn context(&self) -> &PermissionContext {
        &self.first.context
    }

    /// Every grant it stands on, in order.
    pub fn contexts(&self) -> impl Iterator<Item = &PermissionContext> {
        self.deeds().map(|deed| &deed.context)
    }

    /// Which account makes which call.
    pub fn calls(&self) -> impl Iterator<Item = (Address, &Execution)> {
        self.deeds().flat_map(|deed| {
            let account = deed.context.root().delegator;
            deed.calls.iter().map(move |call| (account, call))
        })
    }

    /// Calldata of `redeemDelegations`.
    #[must_use]
    pub fn calldata(&self) -> Bytes {
        DelegationManager::redeemDelegationsCall {
            permissionContexts: self.contexts().map(PermissionContext::encode).collect(),
            modes: self.deeds().map(|deed| deed.mode).collect(),
            executionCallDatas: self.deeds().map(|deed| deed.execution.clone()).collect(),
        }
        .abi_encode()
        .into()
    }

    /// From calldata, as [`calldata`](Self::calldata) writes it; none if it is anything else.
    #[must_use]
    pub fn decode(manager: Address, calldata: &[u8]) -> Option<Self> {
        let call = DelegationManager::redeemDelegationsCall::abi_decode_validate(calldata).ok()?;
        let count = call.permissionContexts.len();
        if call.modes.len() != count || call.executionCallDatas.len() != count {
            return None;
        }
        let parts = call.permissionContexts.iter().zip(&call.modes).zip(&call.executionCallDatas);
        let mut deeds = parts.map(|((context, mode), execution)| {
            let context = PermissionContext::decode(context).ok()?;
            Deed::decode(context, *mode, execution)
        });
        let first = deeds.next()??;
        let redemption = Self { manager, first, more: deeds.collect::<Option<_>>()? };
        // One form of each: what is read is what was written, byte for byte.
        (redemption.calldata().as_ref() == calldata).then_some(redemption)
    }

    fn deeds(&self) -> impl Iterator<Item = &Deed> {
        iter::once(&self.first).chain(&self.more)
    }
}

/// `abi.encode(Execution[])`: how accounts and manager take several calls.
#[must_use]
pub fn encode_batch(calls: &[Execution]) -> Bytes {
    let calls: Vec<framework::Execution> = calls
        .iter()
        .map(|call| framework::Execution {
            target: call.target,
            value: call.value,
            callData: call.data.clone(),
        })
        .collect();
    calls.abi_encode().into()
}

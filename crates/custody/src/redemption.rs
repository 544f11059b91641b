use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolValue};
use bardo_bindings::framework::{self, DelegationManager, MODE_BATCH, MODE_SINGLE};
use golem_delegation::PermissionContext;

/// One call made by the root delegator's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Contract that is called.
    pub target: Address,
    /// Native value sent along, in wei.
    pub value: U256,
    /// Calldata.
    pub data: Bytes,
}

/// What an agent asks the manager to do under one permission context.
///
/// Only the default execution type is offered: in try mode a failing call would still count
/// against the limits (ATK-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redemption {
    manager: Address,
    context: PermissionContext,
    mode: B256,
    execution: Bytes,
}

impl Redemption {
    /// One call.
    #[must_use]
    pub fn single(manager: Address, context: PermissionContext, call: &Execution) -> Self {
        let execution = (call.target, call.value, call.data.as_ref()).abi_encode_packed().into();
        Self { manager, context, mode: MODE_SINGLE, execution }
    }

    /// Several calls, all or none.
    #[must_use]
    pub fn batch(manager: Address, context: PermissionContext, calls: &[Execution]) -> Self {
        Self { manager, context, mode: MODE_BATCH, execution: encode_batch(calls) }
    }

    /// The manager that judges.
    #[must_use]
    pub const fn manager(&self) -> Address {
        self.manager
    }

    /// The grant it stands on.
    #[must_use]
    pub const fn context(&self) -> &PermissionContext {
        &self.context
    }

    /// Calldata of `redeemDelegations`.
    #[must_use]
    pub fn calldata(&self) -> Bytes {
        DelegationManager::redeemDelegationsCall {
            permissionContexts: vec![self.context.encode()],
            modes: vec![self.mode],
            executionCallDatas: vec![self.execution.clone()],
        }
        .abi_encode()
        .into()
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

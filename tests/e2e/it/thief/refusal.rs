//! Who refused, in which words.

use super::Prey;
use alloy::{
    primitives::{Address, B256, keccak256},
    providers::ext::DebugApi,
    rpc::types::trace::geth::{CallConfig, CallFrame, GethDebugTracingOptions, GethTrace},
    sol_types::{Revert, SolError},
};
use anyhow::{Result, bail};
use bardo_bindings::{
    deployables,
    framework::{DELEGATION_MANAGER, ENTRY_POINT},
};
use golem_delegation::enforcers;

/// Errors of the framework and of the tokens.
const ERRORS: &[&str] = &[
    "BatchDataLengthMismatch()",
    "CannotUseADisabledDelegation()",
    "ECDSAInvalidSignature()",
    "ECDSAInvalidSignatureLength(uint256)",
    "EmptySignature()",
    "ERC20InsufficientAllowance(address,uint256,uint256)",
    "ERC20InsufficientBalance(address,uint256,uint256)",
    "ERC4626ExceededMaxWithdraw(address,uint256,uint256)",
    "ERC7579DecodingError()",
    "GolemRegistry_NotOwner(bytes32,address)",
    "GolemRegistry_NotAgent(bytes32,address)",
    "GolemRegistry_PhaseBackward(bytes32,uint8,uint8)",
    "InvalidAuthority()",
    "InvalidDelegate()",
    "InvalidDelegator()",
    "InvalidEOASignature()",
    "InvalidERC1271Signature()",
    "NotDelegationManager()",
    "NotEntryPoint()",
    "NotEntryPointOrSelf()",
    "NotSelf()",
    "OwnableUnauthorizedAccount(address)",
    "SignatureTransfer_Refused(address)",
    "UnsupportedCallType(bytes1)",
    "UnsupportedExecType(bytes1)",
    "UsdCoin_InvalidSignature(address,bytes32)",
];

/// The innermost of the calls that took the transaction down. A failure that somebody caught stands
/// before the one that nobody did.
fn culprit(frame: &CallFrame) -> &CallFrame {
    match frame.calls.iter().rev().find(|inner| inner.error.is_some()) {
        Some(inner) if frame.error.is_some() => culprit(inner),
        _ => frame,
    }
}

impl Prey<'_> {
    /// Who refused a transaction and in which words: the innermost call that failed.
    pub(super) async fn refusal(&self, hash: B256) -> Result<String> {
        let options = GethDebugTracingOptions::call_tracer(CallConfig::default());
        let provider = self.stage.node().provider();
        let GethTrace::CallTracer(top) = provider.debug_trace_transaction(hash, options).await?
        else {
            bail!("not a call trace");
        };
        let frame = culprit(&top);
        let output = frame.output.clone().unwrap_or_default();
        let speaker = self.name(frame.to.unwrap_or_default());
        if let Ok(revert) = Revert::abi_decode(&output) {
            // Stock enforcers name themselves.
            let known = revert.reason.contains("Enforcer:");
            return Ok(if known { revert.reason } else { format!("{speaker}: {}", revert.reason) });
        }
        let error = output.get(..4).map(|selector| self.error(selector));
        Ok(match error {
            Some(error) => format!("{speaker}: {error}"),
            None => format!("{speaker}: no reason"),
        })
    }

    fn error(&self, selector: &[u8]) -> String {
        let known = ERRORS.iter().chain(self.column().errors());
        let mut named = known.filter(|signature| keccak256(signature).starts_with(selector));
        named.next().map_or_else(
            || format!("0x{}", alloy::hex::encode(selector)),
            |signature| signature.split('(').next().unwrap_or_default().into(),
        )
    }

    fn name(&self, at: Address) -> String {
        let book = &self.wish.book;
        let field = [
            (book.usdc, "USDC"),
            (book.weth, "WETH"),
            (book.swap_router, "SwapRouter"),
            (book.swap_router_02, "SwapRouter02"),
            (book.position_manager, "NonfungiblePositionManager"),
            (book.vault, "vault"),
            (book.pool_500, "pool"),
            (book.pool_3000, "pool"),
            (book.eth_usd, "feed"),
            (book.usdc_usd, "feed"),
            (DELEGATION_MANAGER, "DelegationManager"),
            (ENTRY_POINT, "EntryPoint"),
            (self.wish.account, "account"),
        ];
        let stock = enforcers::STOCK.iter().map(|(name, at)| (*at, *name));
        let ours = deployables().iter().map(|contract| (contract.address, contract.name));
        let found = field.into_iter().chain(stock).chain(ours).find(|(known, _)| *known == at);
        found.map_or_else(|| "a contract of his".into(), |(_, name)| name.into())
    }
}

//! What the framework's own enforcers say: strings of the form `<Name>Enforcer:<reason>`.

use super::shortened;
use alloy::{
    primitives::{Address, Bytes, U256, hex},
    sol,
    sol_types::{SolError, SolValue},
};
use golem_custody::{Denial, DenialCode as Code};
use golem_delegation::{
    Caveat, Environment, Rule, TermsError, enforcers,
    terms::{AllowedTargets, LimitedCalls, Redeemer, ValueLte},
};

/// Longest account of what was signed.
const MAX_BOUNDS: usize = 1_200;

const MALFORMED: &str = "a limit of the grant is malformed, so it refuses for ever";

sol! {
    // Of `DeployedEnforcer`.
    error DeployedEmptyContract(address contractAddress);
    error Create2FailedDeployment();
    // Of `LogicalOrWrapperEnforcer`.
    error AddressEmptyCode(address target);
}

/// A refusal in the words of a stock enforcer that was asked. What they share says
/// `CaveatEnforcer:<reason>`.
///
/// Two caveats of one enforcer, on one link or on two, cannot be told apart by its words: of all that
/// were asked, every bound that may have been the one is shown.
pub(super) fn explain(reason: &str, asked: &[Caveat]) -> Option<Denial> {
    let (speaker, detail) = reason.split_once(':')?;
    let mut bounds = asked.to_vec();
    if speaker == "CaveatEnforcer" {
        // The base of every stock enforcer; any caveat may have called it.
        let words = format!("a limit of the grant does not judge this form of call ({reason})");
        return (!bounds.is_empty()).then(|| Denial::new(Code::Mode, words));
    }
    let (name, enforcer) = *enforcers::STOCK.iter().find(|(stock, _)| *stock == speaker)?;
    bounds.retain(|caveat| caveat.enforcer == enforcer);
    if bounds.is_empty() {
        return None;
    }
    let (code, sentence) = words(enforcer, detail, &bounds);
    // The contract's own words follow: they tell apart what one sentence of ours covers.
    Some(Denial::new(code, format!("{sentence} ({reason})")).by(enforcer, name))
}

/// The two stock enforcers that make calls of their own also end in errors that are no strings.
pub(super) fn explain_error(data: &Bytes, asked: &[Caveat]) -> Option<Denial> {
    let of = |enforcer, name, code, words: String| {
        let mut bounds = asked.to_vec();
        bounds.retain(|caveat| caveat.enforcer == enforcer);
        let reason = format!("{words}: {}", each(&bounds, signed));
        (!bounds.is_empty()).then(|| Denial::new(code, reason).by(enforcer, name))
    };
    let deployed = |code, words| of(enforcers::DEPLOYED, "DeployedEnforcer", code, words);
    if let Ok(DeployedEmptyContract { contractAddress }) = DeployedEmptyContract::abi_decode(data) {
        let words = format!("the code that was signed leaves nothing at {contractAddress}");
        return deployed(Code::Terms, words);
    }
    if Create2FailedDeployment::abi_decode(data).is_ok() {
        return deployed(Code::OtherCaveat, "the contract could not be put there".into());
    }
    let AddressEmptyCode { target } = AddressEmptyCode::abi_decode(data).ok()?;
    // Targets have this error too; the wrapper has it of an enforcer that it was to ask.
    asked.iter().find(|caveat| caveat.enforcer == target)?;
    let words = format!("the enforcer {target} has no code");
    of(enforcers::LOGICAL_OR_WRAPPER, "LogicalOrWrapperEnforcer", Code::OtherCaveat, words)
}

/// The rule's code, and its bounds in a sentence.
fn words(enforcer: Address, detail: &str, bounds: &[Caveat]) -> (Code, String) {
    let (code, what) = cause(detail);
    let sentence = match (enforcer, detail) {
        (enforcers::ALLOWED_TARGETS, "target-address-not-allowed") => format!(
            "only these contracts may be called: {}",
            each(bounds, |caveat| AllowedTargets::decode(&caveat.terms)
                .map(|AllowedTargets(list)| format!("{list:?}")))
        ),
        (enforcers::VALUE_LTE, "value-too-high") => format!(
            "the call may carry at most {} wei",
            each(bounds, |caveat| ValueLte::decode(&caveat.terms)
                .map(|ValueLte(wei)| wei.to_string()))
        ),
        (enforcers::LIMITED_CALLS, "limit-exceeded") => format!(
            "all {} calls of this grant are used",
            each(bounds, |caveat| LimitedCalls::decode(&caveat.terms)
                .map(|LimitedCalls(calls)| calls.to_string()))
        ),
        (enforcers::REDEEMER, "unauthorized-redeemer") => format!(
            "only these may redeem: {}",
            each(bounds, |caveat| Redeemer::decode(&caveat.terms)
                .map(|Redeemer(list)| format!("{list:?}")))
        ),
        _ => format!("{what}: {}", each(bounds, signed)),
    };
    (code, sentence)
}

/// What a stock enforcer means by its words, whichever says them: they share what they share.
fn cause(detail: &str) -> (Code, &'static str) {
    match detail {
        "invalid-terms"
        | "invalid-terms-length"
        | "invalid-terms-size"
        | "invalid-max-amount"
        | "invalid-zero-period-amount"
        | "invalid-zero-period-duration"
        | "invalid-zero-start-date"
        | "invalid-zero-start-time"
        | "no-methods-allowed" => (Code::Terms, MALFORMED),
        "deployed-address-mismatch" => {
            (Code::Terms, "the code that was signed makes a contract at another address")
        }
        "invalid-nonce" => (
            Code::Revoked,
            "the account has another nonce than the grant: past it all grants of the old one are over, before it this one has not begun",
        ),
        "early-delegation" | "transfer-not-started" => {
            (Code::WindowEarly, "the grant has not begun")
        }
        "expired-delegation" => (Code::WindowExpired, "the grant is over"),
        "allowance-exceeded" | "transfer-amount-exceeded" => {
            (Code::Spend, "that is more than is left of what was granted")
        }
        "exceeded-balance-decrease" => (Code::Spend, "that costs more than was granted"),
        "insufficient-balance-increase" => (Code::Slippage, "too little comes back"),
        "limit-exceeded" | "id-already-used" | "delegation-already-used" => {
            (Code::Calls, "the grant is used up")
        }
        "invalid-contract"
        | "invalid-permit2-target"
        | "target-address-not-allowed"
        | "token-mismatch"
        | "unauthorized-contract-target" => (Code::Target, "that contract may not be called"),
        "erc20-approve-not-allowed"
        | "erc721-approve-not-allowed"
        | "invalid-execution-data-length"
        | "invalid-method"
        | "method-not-allowed"
        | "permit2-approve-not-allowed"
        | "permit2-invalidate-nonces-not-allowed"
        | "permit2-lockdown-not-allowed"
        | "setApprovalForAll-not-allowed"
        | "unauthorized-selector" => (Code::Method, "that function may not be called"),
        "invalid-address"
        | "invalid-call-data-length"
        | "invalid-calldata"
        | "invalid-calldata-length"
        | "invalid-execution-length"
        | "non-zero-amount"
        | "non-zero-expiration"
        | "not-a-revocation"
        | "permit2-invalid-execution-length"
        | "unauthorized-token-id" => {
            (Code::Calldata, "an argument of the call was fixed by the owner to another value")
        }
        "invalid-batch-size"
        | "invalid-execution"
        | "invalid-first-transaction"
        | "invalid-second-transaction" => {
            (Code::Calldata, "the whole call was fixed by the owner, to another")
        }
        "different-args-and-terms"
        | "invalid-caveat-args-length"
        | "invalid-group-index"
        | "invalid-token-index" => {
            (Code::Calldata, "what the redeemer brought along is not what the limit asks for")
        }
        "invalid-value" | "invalid-value-in-erc20-transfer" => {
            (Code::Value, "the call carries coins, and may not")
        }
        "invalid-zero-value-in-native-transfer" => {
            (Code::Value, "the call carries no coins, and does nothing else")
        }
        "value-too-high" => (Code::Value, "the call carries too many coins"),
        "unauthorized-redeemer" => (Code::Redeemer, "somebody else may redeem"),
        "invalid-allowance-delegations-length"
        | "missing-argsEqualityCheckEnforcer"
        | "payment-not-received" => (Code::Payment, "whoever redeems must pay for it"),
        "enforcer-is-locked" => {
            (Code::Mode, "the limit is being judged already, by the same grant within itself")
        }
        // The last two say something about the world, and nothing about the call.
        "no-approval-to-revoke" => (Code::OtherCaveat, "there is no approval to take back"),
        "only-delegation-manager" => {
            (Code::OtherCaveat, "the limit answers to another DelegationManager")
        }
        _ => (Code::OtherCaveat, "a limit of the grant does not allow it"),
    }
}

/// What the owner signed, in the words that he was shown.
fn signed(caveat: &Caveat) -> Result<String, TermsError> {
    let mut rule = Environment::stock().read(caveat)?;
    // Of a list of periods the redeemer names the one that counts.
    if let Rule::MultiTokenPeriod(list) = &mut rule
        && let Ok(named) = U256::abi_decode(&caveat.args)
        && let Some(entry) = usize::try_from(named).ok().and_then(|at| list.0.get(at).copied())
    {
        list.0 = vec![entry];
    }
    let sentences = rule.explain().join(" ");
    let mut letters = sentences.trim_end_matches('.').chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    Ok(first.into_iter().chain(letters).collect())
}

/// The bound, or every one that it may have been.
fn each(bounds: &[Caveat], show: impl Fn(&Caveat) -> Result<String, TermsError>) -> String {
    let all: Vec<String> = bounds
        .iter()
        .map(|caveat| match show(caveat) {
            Ok(words) => words,
            Err(error) if error.is_final() => error.to_string(),
            // The contract may read them otherwise.
            Err(error) => format!("{error} ({})", hex::encode_prefixed(&caveat.terms)),
        })
        .collect();
    shortened(&all.join(" or "), MAX_BOUNDS)
}

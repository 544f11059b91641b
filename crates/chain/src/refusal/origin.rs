//! Who refused. Revert data can be anybody's; the calls that it came through cannot.

use super::{asked, enforcer, grouped, manager, said, target, unsigned};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    rpc::types::trace::geth::CallFrame,
    sol,
    sol_types::{SolCall as _, SolError as _, SolInterface as _, SolValue as _},
};
use bardo_bindings::framework::{
    DeleGator, DelegationManager::DelegationManagerErrors as ManagerError, SignedBy,
};
use golem_custody::{Denial, DenialCode, Redemption};
use golem_delegation::Caveat;
use std::iter;

sol! {
    // Of the library by which signatures of keys are read.
    error ECDSAInvalidSignature();
    error ECDSAInvalidSignatureLength(uint256 length);
    error ECDSAInvalidSignatureS(bytes32 s);
}

/// What is said of bytes that are nobody's signature.
const UNREADABLE: [[u8; 4]; 3] = [
    ECDSAInvalidSignature::SELECTOR,
    ECDSAInvalidSignatureLength::SELECTOR,
    ECDSAInvalidSignatureS::SELECTOR,
];

/// A call that failed.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Who was called.
    pub(crate) to: Address,
    pub(crate) input: Bytes,
    /// Whether the caller lent itself to the code of `to`: then it speaks for itself.
    pub(crate) lent: bool,
    pub(crate) lack: Option<Lack>,
}

/// What a call was to carry, and its caller does not have.
#[derive(Clone, Debug)]
pub(crate) struct Lack {
    pub(crate) account: Address,
    pub(crate) value: U256,
    /// What it has, where that is known.
    pub(crate) holds: Option<U256>,
}

/// How a redemption failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    data: Bytes,
    /// The calls that ended with that data, from the one of the manager to the one in which it began.
    path: Vec<Frame>,
}

impl Failure {
    /// Of a call, and of the last call that it made, where that failed. What a caller does not pass on byte for byte
    /// as the last thing that it does is its own word.
    pub(crate) fn of(data: Bytes, frame: Frame, last: Option<Self>) -> Self {
        let mut path = vec![frame];
        path.extend(last.filter(|last| last.data == data).into_iter().flat_map(|last| last.path));
        Self { data, path }
    }

    /// Of a transaction that was traced. One that ran out of gas did not revert.
    pub(crate) fn traced(top: CallFrame) -> Option<Self> {
        let reverted = top.error.as_deref().is_some_and(|error| error.contains("revert"));
        failed(top).filter(|failure| reverted || !failure.data.is_empty())
    }

    /// The same of a redemption by `redeemer` within a transaction, which itself need not have failed: bundles do not.
    pub(crate) fn traced_within(
        top: CallFrame,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Option<Self> {
        let (manager, input) = (redemption.manager(), redemption.calldata());
        let mut calls = vec![top];
        while let Some(call) = calls.pop() {
            // Nobody else calls in its name.
            if call.from == redeemer && call.to == Some(manager) && call.input == input {
                if call.error.is_some() {
                    return Self::traced(call);
                }
                continue;
            }
            calls.extend(call.calls);
        }
        None
    }

    /// The refusal in words, in the name of nobody but who said them.
    pub(crate) fn explain(&self, redemption: &Redemption) -> Denial {
        let path: Vec<&Frame> = self.path.iter().filter(|frame| !frame.lent).collect();
        let Some((_manager, within)) = path.split_first() else { return target(&self.data) };
        // Signatures are read by the manager, or by the account that it asks; either may fail at that.
        let by_account = within.first().is_some_and(|first| {
            first.input.starts_with(&SignedBy::isValidSignatureCall::SELECTOR)
                && redemption
                    .contexts()
                    .flat_map(|context| context.links())
                    .any(|link| link.delegator == first.to)
        });
        let by_manager = within.is_empty() && UNREADABLE.iter().any(|it| self.data.starts_with(it));
        if by_account || by_manager {
            return unsigned();
        }
        // An account that does not even get to its call.
        if let [only] = within
            && redemption.calls().any(|(account, _)| account == only.to)
            && only.input.starts_with(&DeleGator::executeFromExecutorCall::SELECTOR)
            && only.lack.is_none()
        {
            let words =
                format!("the owner's account {} does not execute it{}", only.to, said(&self.data));
            return Denial::new(DenialCode::NoAccount, words);
        }
        let Some(origin) = within.last() else {
            return ManagerError::abi_decode(&self.data)
                .map_or_else(|_unknown| target(&self.data), |error| manager(&error));
        };
        if let Some(lack) = &origin.lack {
            return lack.explain();
        }
        let Some((caveat, beside)) = judge(within, redemption) else { return target(&self.data) };
        let other = |words: String| {
            let mut denial = Denial::new(DenialCode::OtherCaveat, words);
            denial.enforcer = Some(caveat.enforcer);
            denial
        };
        // A feed, or a token: what it says is not the enforcer's word.
        if let Some(beside) = beside {
            let (enforcer, said) = (caveat.enforcer, said(&self.data));
            return other(format!(
                "the enforcer {enforcer} could not judge: it asked {beside}{said}"
            ));
        }
        enforcer(&self.data, &asked(iter::once(&caveat))).unwrap_or_else(|| {
            // Whatever it means, it is no word of the target.
            other(format!("it failed at the enforcer {}{}", caveat.enforcer, said(&self.data)))
        })
    }
}

impl Lack {
    fn explain(&self) -> Denial {
        let Self { account, value, holds } = self;
        let holds = holds.map_or_else(|| "less".to_owned(), |holds| format!("{holds} wei"));
        let words = format!("{account} was to send {value} wei, and holds {holds}");
        Denial::new(DenialCode::Reverted, words)
    }
}

fn failed(frame: CallFrame) -> Option<Failure> {
    let error = frame.error?;
    let poor = error.contains("insufficient balance") || error.contains("OutOfFunds");
    let value = frame.value.filter(|_| poor);
    let this = Frame {
        to: frame.to.unwrap_or_default(),
        input: frame.input,
        lent: matches!(frame.typ.as_str(), "DELEGATECALL" | "CALLCODE"),
        lack: value.map(|value| Lack { account: frame.from, value, holds: None }),
    };
    let last = frame.calls.into_iter().next_back().and_then(failed);
    Some(Failure::of(frame.output.unwrap_or_default(), this, last))
}

/// The caveat in whose judgement it began: one that the manager asked about a grant of this redemption, or one that such
/// a caveat chose from a group; and whom it asked beside that, if it failed there: that is not the owner's word.
fn judge(within: &[&Frame], redemption: &Redemption) -> Option<(Caveat, Option<Address>)> {
    let (first, deeper) = within.split_first()?;
    let (mut caveat, hash) = question(first)?;
    let mut links = redemption.contexts().flat_map(|context| context.links());
    let link = links.find(|link| link.hash().0 == hash)?;
    let same =
        |one: &Caveat, other: &Caveat| one.enforcer == other.enforcer && one.terms == other.terms;
    link.caveats.iter().find(|signed| same(signed, &caveat))?;
    for frame in deeper {
        let chosen = question(frame).map(|(inner, _)| inner).filter(|inner| {
            grouped(iter::once(&caveat), 0).iter().any(|choice| same(choice, inner))
        });
        let Some(inner) = chosen else { return Some((caveat, Some(frame.to))) };
        caveat = inner;
    }
    Some((caveat, None))
}

/// What an enforcer was asked, by any of its four hooks: they all take the same; and of which delegation.
fn question(frame: &Frame) -> Option<(Caveat, B256)> {
    type Hook = (Bytes, Bytes, B256, Bytes, B256, Address, Address);
    let (_selector, words) = frame.input.split_first_chunk::<4>()?;
    let (terms, args, _, _, hash, _, _) = Hook::abi_decode_params(words).ok()?;
    Some((Caveat { enforcer: frame.to, terms, args }, hash))
}

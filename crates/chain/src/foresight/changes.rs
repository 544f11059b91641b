//! What a call does to balances and allowances: who is concerned is told by the logs, how much by the state.

use alloy::{
    primitives::{Address, Bytes, Log, U256},
    sol_types::{SolCall, SolEvent},
};
use bardo_bindings::defi::Erc20;
use golem_custody::{Asset, Change, Held};
use std::collections::BTreeSet;

/// More than a hostile token may make us look at. Beyond it nothing is decided: what is not looked at may be what leaves.
pub(super) const MOST: usize = 256;

/// What a state is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Native(Address),
    Balance { token: Address, of: Address },
    Allowance { token: Address, owner: Address, spender: Address },
}

impl Question {
    pub(super) fn call(self) -> Option<(Address, Bytes)> {
        match self {
            Self::Native(_) => None,
            Self::Balance { token, of } => {
                Some((token, Erc20::balanceOfCall { account: of }.abi_encode().into()))
            }
            Self::Allowance { token, owner, spender } => {
                Some((token, Erc20::allowanceCall { owner, spender }.abi_encode().into()))
            }
        }
    }

    const fn held(self) -> Held {
        match self {
            Self::Native(account) => Held::Balance { asset: Asset::Native, account },
            Self::Balance { token, of } => {
                Held::Balance { asset: Asset::Erc20(token), account: of }
            }
            Self::Allowance { token, owner, spender } => Held::Allowance { token, owner, spender },
        }
    }
}

/// Whom and what the logs of `calls`, which account calls which contract, concern.
///
/// Not every token logs that `transferFrom` lowers an allowance: what an account holds may have been pulled by the contract
/// that it called, and what others hold by the account itself.
pub(super) fn candidates(logs: &[Log], calls: &[(Address, Address)]) -> BTreeSet<Question> {
    let mut all = BTreeSet::new();
    for log in logs {
        let token = log.address;
        if let Ok(moved) = Erc20::Transfer::decode_log(log) {
            all.extend([moved.from, moved.to].map(|of| Question::Balance { token, of }));
            let owner = moved.from;
            for (account, target) in calls {
                if *account == owner && *target != token {
                    all.insert(Question::Allowance { token, owner, spender: *target });
                } else if *account != owner && *target == token {
                    all.insert(Question::Allowance { token, owner, spender: *account });
                }
            }
        } else if let Ok(allowed) = Erc20::Approval::decode_log(log) {
            let (owner, spender) = (allowed.owner, allowed.spender);
            all.insert(Question::Allowance { token, owner, spender });
        }
    }
    all
}

/// Those that came out otherwise than they were, with both.
pub(super) fn changes(
    candidates: &BTreeSet<Question>,
    before: Vec<Option<U256>>,
    after: Vec<Option<U256>>,
) -> Vec<Change> {
    let answers = candidates.iter().zip(before.into_iter().zip(after));
    answers
        .filter_map(|(question, (before, after))| {
            let (before, after) = (before?, after?);
            (before != after).then(|| Change { of: question.held(), before, after })
        })
        .collect()
}

//! What a call does to balances and allowances: who is concerned is told by the logs, how much by the state.

use alloy::{
    primitives::{Address, Bytes, Log, U256},
    sol,
    sol_types::{SolCall, SolEvent},
};
use bardo_bindings::defi::Erc20;
use golem_custody::{Asset, Change, Execution, Held};
use std::collections::BTreeSet;

/// More than a hostile token may make us look at. Beyond it nothing is decided: what is not looked at may be what leaves.
pub(super) const MOST: usize = 256;

/// What a state is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Native(Address),
    Balance { token: Address, of: Address },
    Allowance { token: Address, owner: Address, spender: Address },
    Operator { token: Address, owner: Address, operator: Address },
    Owner { token: Address, id: U256 },
    Item { token: Address, id: U256 },
}

sol! {
    // Of collections (ERC-721), and of those that hold several of each (ERC-1155).
    function isApprovedForAll(address owner, address operator) external view returns (bool);
    function getApproved(uint256 id) external view returns (address);
    function ownerOf(uint256 id) external view returns (address);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);
    // Of wrapped coins.
    event Deposit(address indexed to, uint256 amount);
    event Withdrawal(address indexed from, uint256 amount);
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
            Self::Operator { token, owner, operator } => {
                Some((token, isApprovedForAllCall { owner, operator }.abi_encode().into()))
            }
            Self::Owner { token, id } => Some((token, ownerOfCall { id }.abi_encode().into())),
            Self::Item { token, id } => Some((token, getApprovedCall { id }.abi_encode().into())),
        }
    }

    const fn held(self) -> Held {
        match self {
            Self::Native(account) => Held::Balance { asset: Asset::Native, account },
            Self::Balance { token, of } => {
                Held::Balance { asset: Asset::Erc20(token), account: of }
            }
            Self::Allowance { token, owner, spender } => Held::Allowance { token, owner, spender },
            Self::Operator { token, owner, operator } => Held::Operator { token, owner, operator },
            Self::Owner { token, id } => Held::Owner { token, id },
            Self::Item { token, id } => Held::Item { token, id },
        }
    }
}

/// Whom and what the logs of `calls`, which account makes which, concern; and the contracts whose logs tell of more than can be asked.
///
/// Not every token logs that `transferFrom` lowers an allowance: what an account holds may have been pulled by the contract
/// that it called, and what others hold by the account itself.
pub(super) fn candidates(
    logs: &[Log],
    calls: &[(Address, &Execution)],
) -> (BTreeSet<Question>, BTreeSet<Address>) {
    let (mut all, mut unseen) = (BTreeSet::new(), BTreeSet::new());
    for log in logs {
        let token = log.address;
        let topic = |at: usize| log.topics().get(at).copied().unwrap_or_default();
        let party = |at: usize| Address::from_word(topic(at));
        let balance = |of: Address| Question::Balance { token, of };
        // Tokens and collections share their events' names; collections say which item in a fourth place.
        match (topic(0), log.topics().len()) {
            (Erc20::Transfer::SIGNATURE_HASH, 3) => {
                let owner = party(1);
                all.extend([owner, party(2)].map(balance));
                for (account, call) in calls {
                    if *account == owner && call.target != token {
                        all.insert(Question::Allowance { token, owner, spender: call.target });
                    } else if *account != owner && call.target == token {
                        all.insert(Question::Allowance { token, owner, spender: *account });
                    }
                }
            }
            (Erc20::Transfer::SIGNATURE_HASH, 4) => {
                all.extend([party(1), party(2)].map(balance));
                all.insert(Question::Owner { token, id: topic(3).into() });
            }
            (Erc20::Approval::SIGNATURE_HASH, 3) => {
                let (owner, spender) = (party(1), party(2));
                all.insert(Question::Allowance { token, owner, spender });
            }
            (Erc20::Approval::SIGNATURE_HASH, 4) => {
                all.insert(Question::Item { token, id: topic(3).into() });
            }
            (ApprovalForAll::SIGNATURE_HASH, 3) => {
                let (owner, operator) = (party(1), party(2));
                all.insert(Question::Operator { token, owner, operator });
            }
            (Deposit::SIGNATURE_HASH | Withdrawal::SIGNATURE_HASH, 2) => {
                all.insert(balance(party(1)));
            }
            (TransferSingle::SIGNATURE_HASH | TransferBatch::SIGNATURE_HASH, _) => {
                unseen.insert(token);
            }
            // Tokens from before the standard say who and how much in other places.
            (Erc20::Transfer::SIGNATURE_HASH | Erc20::Approval::SIGNATURE_HASH, _) => {
                unseen.insert(token);
            }
            _ => {}
        }
    }
    (all, unseen)
}

/// Those that came out otherwise than they were, with both; and the contracts that did not say.
pub(super) fn changes(
    candidates: &BTreeSet<Question>,
    before: Vec<Option<U256>>,
    after: Vec<Option<U256>>,
) -> (Vec<Change>, BTreeSet<Address>) {
    let (mut all, mut silent) = (Vec::new(), BTreeSet::new());
    for (question, answers) in candidates.iter().zip(before.into_iter().zip(after)) {
        match answers {
            (Some(before), Some(after)) if before != after => {
                all.push(Change { of: question.held(), before, after });
            }
            (Some(_), Some(_)) => {}
            _ => silent.extend(question.call().map(|(token, _)| token)),
        }
    }
    (all, silent)
}

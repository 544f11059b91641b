//! What a call does to balances and allowances: who is concerned is told by the logs, how much by the state.

use alloy::{
    primitives::{Address, B256, Bytes, Log, U256},
    sol,
    sol_types::{SolCall, SolEvent},
};
use bardo_bindings::defi::{Erc20, UniswapV3Pool};
use golem_custody::{Asset, Change, Execution, Held, Redemption};
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
    function setApprovalForAll(address operator, bool approved) external;
    function transferFrom(address from, address to, uint256 amount) external;
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);
    // Of wrapped coins.
    event Deposit(address indexed to, uint256 amount);
    event Withdrawal(address indexed from, uint256 amount);

    interface Pool {
        event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
        event Collect(address indexed owner, address recipient, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount0, uint128 amount1);
    }
    interface Positions {
        event Collect(uint256 indexed tokenId, address recipient, uint256 amount0, uint256 amount1);
    }
    interface Vault {
        event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
        event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);
    }
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

/// An allowance that tokens take for endless: more than the smallest word that is used for it.
const ENDLESS: U256 = U256::from_limbs([0, 1 << 31, 0, 0]);

/// Words of tokens, and of a pool that moves nothing but what tokens tell of, too; each with its number of places.
const UNDERSTOOD: [(B256, usize); 11] = [
    (Erc20::Transfer::SIGNATURE_HASH, 3),
    (Erc20::Transfer::SIGNATURE_HASH, 4),
    (Erc20::Approval::SIGNATURE_HASH, 3),
    (Erc20::Approval::SIGNATURE_HASH, 4),
    (ApprovalForAll::SIGNATURE_HASH, 3),
    (Deposit::SIGNATURE_HASH, 2),
    (Withdrawal::SIGNATURE_HASH, 2),
    (UniswapV3Pool::Swap::SIGNATURE_HASH, 3),
    (Pool::Mint::SIGNATURE_HASH, 4),
    (Pool::Collect::SIGNATURE_HASH, 4),
    (Positions::Collect::SIGNATURE_HASH, 2),
];

/// Words of a vault, whose shares are a token: where it tells of them, too.
const OF_SHARES: [(B256, usize); 2] =
    [(Vault::Deposit::SIGNATURE_HASH, 3), (Vault::Withdraw::SIGNATURE_HASH, 4)];

fn shape(log: &Log) -> (B256, usize) {
    (log.topics().first().copied().unwrap_or_default(), log.topics().len())
}

/// Whether a contract tells of what it moves as tokens do.
pub(super) fn tells(logs: &[Log], token: Address) -> bool {
    logs.iter().any(|log| log.address == token && UNDERSTOOD.contains(&shape(log)))
}

/// What is asked of tokens by the calls themselves.
pub(super) fn asked(calls: &[(Address, &Execution)]) -> BTreeSet<Question> {
    let mut all = BTreeSet::new();
    for (account, call) in calls {
        let (token, owner) = (call.target, *account);
        let balance = |of: Address| Question::Balance { token, of };
        let data = &call.data;
        if let Ok(Erc20::transferCall { to, .. }) = Erc20::transferCall::abi_decode(data) {
            all.extend([owner, to].map(balance));
        } else if let Ok(Erc20::approveCall { spender, .. }) = Erc20::approveCall::abi_decode(data)
        {
            all.insert(Question::Allowance { token, owner, spender });
        } else if let Ok(pull) = transferFromCall::abi_decode(data) {
            all.extend([pull.from, pull.to].map(balance));
        } else if let Ok(rights) = setApprovalForAllCall::abi_decode(data) {
            all.insert(Question::Operator { token, owner, operator: rights.operator });
        }
    }
    all
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

/// Who says something of an owner's account, and of which, in words that are not known here: a right was given, perhaps, or
/// something moved.
pub(super) fn unknown_words(logs: &[Log], redemption: &Redemption) -> BTreeSet<(Address, Address)> {
    let accounts: BTreeSet<Address> = redemption.calls().map(|(account, _)| account).collect();
    // What the manager and the enforcers say by themselves is about the grant.
    let links = redemption.contexts().flat_map(|context| context.links());
    let mut judges: BTreeSet<Address> =
        links.flat_map(|link| &link.caveats).map(|caveat| caveat.enforcer).collect();
    judges.insert(redemption.manager());
    for (_, call) in redemption.calls() {
        judges.remove(&call.target);
    }
    logs.iter()
        .filter(|log| !judges.contains(&log.address))
        .filter(|log| {
            let shape = shape(log);
            let shares = OF_SHARES.contains(&shape) && tells(logs, log.address);
            !(shares || UNDERSTOOD.contains(&shape))
        })
        .flat_map(|log| {
            let in_data = log.data.data.chunks_exact(32).map(B256::from_slice);
            let words: BTreeSet<B256> = log.topics().iter().copied().chain(in_data).collect();
            let named = accounts.iter().filter(move |account| words.contains(&account.into_word()));
            named.map(|account| (log.address, *account)).collect::<Vec<_>>()
        })
        .collect()
}

/// Tokens of an owner's account that somebody pulled who was not called by it, by an allowance of which no change is shown:
/// token and account.
pub(super) fn pulled_unseen(
    logs: &[Log],
    calls: &[(Address, &Execution)],
    candidates: &BTreeSet<Question>,
    before: &[Option<U256>],
    changes: &[Change],
) -> BTreeSet<(Address, Address)> {
    let shown = |token, owner| {
        let lowered = changes.iter().filter(|change| change.after < change.before);
        let changed = lowered.into_iter().any(|change| {
            matches!(change.of, Held::Allowance { token: of, owner: whose, .. } if of == token && whose == owner)
        });
        // One without end is not lowered.
        let endless = candidates.iter().zip(before).any(|(question, before)| {
            matches!(question, Question::Allowance { token: of, owner: whose, .. } if *of == token && *whose == owner)
                && before.is_some_and(|before| before >= ENDLESS)
        });
        changed || endless
    };
    logs.iter()
        .filter(|log| {
            log.topics().first() == Some(&Erc20::Transfer::SIGNATURE_HASH)
                && log.topics().len() == 3
        })
        .filter_map(|log| Some((log.address, Address::from_word(*log.topics().get(1)?))))
        .filter(|(token, owner)| {
            let mut own = calls.iter().filter(|(account, _)| account == owner).peekable();
            // What it was asked to send it sent itself; to approve moves nothing.
            let approves = |call: &Execution| call.data.starts_with(&Erc20::approveCall::SELECTOR);
            own.peek().is_some() && own.all(|(_, call)| call.target != *token || approves(call))
        })
        .filter(|(token, owner)| !shown(*token, *owner))
        .collect()
}

/// Those that came out otherwise than they were, with both; and those that were not answered.
pub(super) fn changes(
    candidates: &BTreeSet<Question>,
    before: &[Option<U256>],
    after: &[Option<U256>],
) -> (Vec<Change>, BTreeSet<Question>) {
    let (mut all, mut silent) = (Vec::new(), BTreeSet::new());
    for (question, answers) in
        candidates.iter().zip(before.iter().copied().zip(after.iter().copied()))
    {
        match answers {
            (Some(before), Some(after)) if before != after => {
                all.push(Change { of: question.held(), before, after });
            }
            (Some(_), Some(_)) => {}
            _ => {
                silent.insert(*question);
            }
        }
    }
    (all, silent)
}

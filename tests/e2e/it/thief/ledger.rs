//! What a trick came to, measured: worth before and after at the feeds' prices, and what went out.

use super::{Prey, Wish, calls, wish::THIEVES};
use alloy::{
    network::TransactionBuilder,
    primitives::{Address, U256},
    providers::Provider,
    rpc::types::{Filter, TransactionRequest},
    sol_types::{SolCall, SolEvent},
};
use anyhow::{Context, Result};
use bardo_bindings::defi::{Erc20, Erc4626, NonfungiblePositionManager};
use bardo_testkit::Stage;
use std::fmt;

/// A millionth of a dollar, as USDC has it.
pub(super) type Micros = i128;

/// What rounding inside pools and vault may cost: one cent.
const DUST: Micros = 10_000;
const DAY: u64 = 86_400;

/// What became of a trick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The owner lost more than he agreed to, or the thief has what is not his.
    Taken { lost: Micros, gained: Micros },
    /// Something happened that the owner had ruled out.
    Exceeded { what: String, lost: Micros },
    /// Something went through, all of it as the owner agreed; some of it did not.
    Within { lost: Micros, by: Vec<String> },
    /// Nothing went through.
    Refused { by: Vec<String> },
}

impl Outcome {
    /// Whether the thief won.
    pub(super) const fn is_win(&self) -> bool {
        matches!(self, Self::Taken { .. } | Self::Exceeded { .. })
    }

    /// What the owner lost by it.
    pub(super) const fn lost(&self) -> Micros {
        match self {
            Self::Taken { lost, .. } | Self::Exceeded { lost, .. } | Self::Within { lost, .. } => {
                *lost
            }
            Self::Refused { .. } => 0,
        }
    }
}

/// From here on a loss is worth a word: one dollar.
const WORTH_A_WORD: Micros = 1_000_000;

/// Whole dollars, without fractions that would make the table move for nothing.
pub(super) fn whole(amount: Micros) -> String {
    let dollars = (amount + amount.signum() * 500_000) / 1_000_000;
    let digits = dollars.unsigned_abs().to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{}${grouped}", if dollars < 0 { "-" } else { "" })
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { lost, gained } => {
                write!(f, "**owner loses {}, thief gains {}**", whole(*lost), whole(*gained))
            }
            Self::Exceeded { what, lost } if *lost >= WORTH_A_WORD => {
                write!(f, "**{what}, owner loses {}**", whole(*lost))
            }
            Self::Exceeded { what, .. } => write!(f, "**{what}**"),
            Self::Within { lost, .. } if *lost >= WORTH_A_WORD => {
                write!(f, "within the wish, owner loses {}", whole(*lost))
            }
            Self::Within { by, .. } if by.is_empty() => write!(f, "nothing gained"),
            Self::Within { by, .. } => write!(f, "nothing gained, refused: {}", by.join("; ")),
            Self::Refused { by } => write!(f, "refused: {}", by.join("; ")),
        }
    }
}

/// Worth of both sides at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger {
    block: u64,
    time: u64,
    owner: Micros,
    owner_ether: U256,
    thieves: Micros,
}

impl Ledger {
    /// Counts what the owner and his beneficiary have, and what the thief and his helpers have.
    pub(super) async fn take(stage: &Stage, wish: &Wish) -> Result<Self> {
        let head = stage.node().head().await?;
        let mut owner = 0;
        for holder in [wish.account, wish.beneficiary] {
            owner += worth(stage, wish, holder).await?;
        }
        let mut stolen = 0;
        for holder in THIEVES {
            stolen += worth(stage, wish, holder).await?;
        }
        Ok(Self {
            block: head.number,
            time: head.timestamp,
            owner,
            owner_ether: stage.node().provider().get_balance(wish.account).await?,
            thieves: stolen,
        })
    }
}

impl Ledger {
    /// What the owner lost and the thief gained from here to `end`.
    pub(super) const fn until(&self, end: &Self) -> (Micros, Micros) {
        (self.owner - end.owner, end.thieves - self.thieves)
    }
}

/// Everything an address could turn into money, at the prices of the start: a trick that makes a
/// feed lie does not change what things are worth.
async fn worth(stage: &Stage, wish: &Wish, holder: Address) -> Result<Micros> {
    let book = stage.book();
    let node = stage.node();
    let ether = node.provider().get_balance(holder).await?;
    let mut weth = stage.balance_of(book.weth, holder).await?;
    let mut usdc = stage.balance_of(book.usdc, holder).await?;
    let shares = stage.balance_of(book.vault, holder).await?;
    usdc += node.read(book.vault, Erc4626::convertToAssetsCall { shares }).await?;
    let manager = book.position_manager;
    let count: u64 = node
        .read(manager, NonfungiblePositionManager::balanceOfCall { owner: holder })
        .await?
        .try_into()?;
    for index in 0..count {
        let index = U256::from(index);
        let nth = NonfungiblePositionManager::tokenOfOwnerByIndexCall { owner: holder, index };
        let id = node.read(manager, nth).await?;
        let position =
            node.read(manager, NonfungiblePositionManager::positionsCall { tokenId: id }).await?;
        let mut steps = vec![calls::collect(manager, id, holder)];
        if position.liquidity > 0 {
            steps.insert(0, calls::decrease(manager, id, position.liquidity));
        }
        let both = calls::multicall(manager, &steps);
        let request = TransactionRequest::default()
            .with_from(holder)
            .with_to(manager)
            .with_input(both.data.clone());
        let answer = node.provider().call(request).await?;
        let answers = calls::Periphery::multicallCall::abi_decode_returns(&answer)?;
        let last = answers.last().context("multicall answers every call")?;
        let out = NonfungiblePositionManager::collectCall::abi_decode_returns(last)?;
        for (token, amount) in [(position.token0, out.amount0), (position.token1, out.amount1)] {
            // A token without a price is worth nothing.
            if token == book.weth {
                weth += amount;
            } else if token == book.usdc {
                usdc += amount;
            }
        }
    }
    Ok(wish.ether_in_dollars(ether + weth)? + Micros::try_from(usdc)?)
}

/// Dollars that left the account since `start`, wherever they went but home: all, and those of the worst
/// 24 hours. A dying Golem turns what it has into dollars, all of it at once (SPEC D18): from the block
/// `dying` on, what is no dollar does not count for the day.
async fn volume(
    stage: &Stage,
    wish: &Wish,
    start: &Ledger,
    dying: u64,
) -> Result<(Micros, Micros)> {
    let book = stage.book();
    let filter = Filter::new()
        .from_block(start.block + 1)
        .address(vec![book.usdc, book.weth])
        .event_signature(Erc20::Transfer::SIGNATURE_HASH)
        .topic1(wish.account.into_word());
    let mut spent: Vec<(u64, Micros)> = Vec::new();
    let mut settled = 0;
    for log in stage.node().provider().get_logs(&filter).await? {
        let token = log.address();
        let moved = Erc20::Transfer::decode_log(&log.inner)?;
        if moved.to == wish.beneficiary {
            continue;
        }
        let number = log.block_number.context("a mined log")?;
        let block = stage.node().provider().get_block_by_number(number.into()).await?;
        let time = block.context("a block of a log")?.header.timestamp;
        let dollars = if token == book.usdc {
            Micros::try_from(moved.value)?
        } else {
            wish.ether_in_dollars(moved.value)?
        };
        if token == book.weth && number >= dying {
            settled += dollars;
        } else {
            spent.push((time, dollars));
        }
    }
    let worst = spent.iter().map(|(from, _)| {
        spent.iter().filter(|(at, _)| (*from..from + DAY).contains(at)).map(|(_, sum)| sum).sum()
    });
    let worst = worst.max().unwrap_or(0);
    Ok((spent.iter().map(|(_, sum)| sum).sum::<Micros>() + settled, worst))
}

/// Judges a trick by what is there now, against what was there at `start`.
pub(super) async fn judge(prey: &Prey<'_>, start: &Ledger) -> Result<Outcome> {
    let (stage, wish) = (prey.stage, &prey.wish);
    let end = Ledger::take(stage, wish).await?;
    // Without a new block there is no log to ask for.
    let (volume, in_a_day) = if end.block > start.block {
        volume(stage, wish, start, prey.dying()).await?
    } else {
        (0, 0)
    };
    let cap = Micros::try_from(wish.cap)?;
    let days = Micros::from((end.time - start.time) / DAY + 1);
    // The wish lets go of slippage on what was traded, and of ether up to the stipend. Whether too
    // much was traded is asked below.
    let slippage = volume * Micros::from(wish.slippage_bps) / 10_000;
    let ether = start.owner_ether.saturating_sub(end.owner_ether).min(wish.gas_daily);
    let allowed = slippage + wish.ether_in_dollars(ether)? * days + DUST;
    let (lost, gained) = start.until(&end);
    Ok(if lost > allowed || gained > allowed {
        Outcome::Taken { lost, gained }
    } else if let Some(what) = prey.broken() {
        Outcome::Exceeded { what: what.into(), lost }
    } else if in_a_day > cap {
        Outcome::Exceeded { what: format!("{} moved in a day", whole(in_a_day)), lost }
    } else if prey.went_through() {
        Outcome::Within { lost, by: prey.refusals().to_vec() }
    } else {
        Outcome::Refused { by: prey.refusals().to_vec() }
    })
}

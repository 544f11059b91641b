//! The long run: agents with random grants try at random times, and a model that knows only the
//! grant says what must happen. Judge, chain and model have to agree on every attempt.
//!
//! `soak` runs for SOAK_SECONDS (120) from SOAK_SEED (1) and prints one JSON object.
//! `soak hold` starts a chain, prints its guard's process id and waits: for the test that kills it.

use anyhow::{Context, Result, bail, ensure};
use bardo_testkit::{Agent, Attempt, Stage, dollars, root, swap};
use golem_chain::{
    AccountKind,
    local::{LocalChain, LocalFiles},
};
use golem_custody::DenialCode;
use golem_delegation::terms::MortalityTimeWindow;
use serde_json::json;
use std::{
    env,
    io::{IsTerminal, Write, stderr, stdin, stdout},
    str::FromStr,
    time::{Duration, Instant},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("hold") => hold(),
        None => soak().await,
        Some(other) => bail!("usage: soak [hold], not {other}"),
    }
}

fn hold() -> Result<()> {
    let chain = LocalChain::start(&LocalFiles::at(root()))?;
    writeln!(stdout(), "{}", chain.pid())?;
    stdin().read_line(&mut String::new())?;
    Ok(())
}

fn setting<T: FromStr>(name: &str, default: T) -> Result<T> {
    match env::var(name) {
        Ok(text) => text.parse().ok().with_context(|| format!("{name} is not a number")),
        Err(_) => Ok(default),
    }
}

/// SplitMix64: the same numbers everywhere from one seed.
struct Dice(u64);

impl Dice {
    const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    const fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }
}

#[derive(Default)]
struct Tally {
    lives: u64,
    allowed: u64,
    refused: u64,
    forced: u64,
}

async fn soak() -> Result<()> {
    let seconds = setting("SOAK_SECONDS", 120)?;
    let seed = setting("SOAK_SEED", 1)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut dice = Dice(seed);
    let mut tally = Tally::default();
    while Instant::now() < end {
        life(&mut dice, &mut tally)
            .await
            .with_context(|| format!("life {} of seed {seed}", tally.lives))?;
        tally.lives += 1;
        if stderr().is_terminal() {
            let left = end.saturating_duration_since(Instant::now()).as_secs();
            write!(stderr(), "\r\x1b[Ksoak: {} lives, {left} s left", tally.lives)?;
        }
    }
    let Tally { lives, allowed, refused, forced } = tally;
    ensure!(allowed > 0 && refused > 0, "a run without both answers shows nothing");
    let result = json!({
        "ok": true, "seconds": seconds, "seed": seed, "lives": lives,
        "allowed": allowed, "refused": refused, "forced": forced, "disagreements": 0,
    });
    writeln!(stdout(), "{result}")?;
    Ok(())
}

/// One owner, one grant, up to a dozen attempts.
async fn life(dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let stage = Stage::open().await?;
    let kind = if dice.below(2) == 0 { AccountKind::Stateless7702 } else { AccountKind::Hybrid };
    let owner = stage.owner(kind).await?;
    let start = stage.now().await? + dice.below(120);
    let window = MortalityTimeWindow::new(start, start + dice.below(1_000))?;
    let limit = 1 + dice.below(6);
    let agent = Agent::hired_for(&stage, &owner, limit, window).await?;
    let call = swap(&stage, agent.account, dollars(1 + dice.below(20)));
    let (mut used, mut revoked) = (0, false);
    for _ in 0..12 {
        let now = stage.now().await? + 1 + dice.below(80);
        stage.warp(now).await?;
        if dice.below(12) == 0 && !revoked {
            let chain_id = stage.node().chain_id();
            let stop = owner.account.revocation(chain_id, &owner.signer, &agent.grant)?;
            let receipt = stage.send_as(stop.from, stop.to, Default::default(), stop.data).await?;
            ensure!(receipt.status(), "revocation failed");
            revoked = true;
        }
        // Blocks made on the way have moved the clock: the model judges the newest one.
        let now = stage.now().await?;
        let expected = expected(revoked, &window, now, used, limit);
        if dice.below(3) == 0 {
            // The thief's block comes a second later, so the bound itself is left to the judge.
            let later = now + 1;
            let receipt = {
                use alloy::providers::ext::AnvilApi;
                stage.node().provider().anvil_set_next_block_timestamp(later).await?;
                agent.force(&stage, &call).await?
            };
            let must = self::expected(revoked, &window, later, used, limit).is_none();
            ensure!(receipt.status() == must, "forced at {later}: chain said {}", receipt.status());
            used += u64::from(must);
            tally.forced += 1;
            continue;
        }
        match (agent.attempt(&stage, &call).await?, expected) {
            (Attempt::Refused(denial), Some(code)) if denial.code == code => tally.refused += 1,
            (Attempt::Done(receipt), None) if receipt.success => {
                used += 1;
                tally.allowed += 1;
            }
            // Judged in the last second, mined after it.
            (Attempt::Done(receipt), None) if !receipt.success && now >= window.end() => {
                tally.refused += 1;
            }
            (found, expected) => bail!("at {now}: expected {expected:?}, found {found:?}"),
        }
    }
    Ok(())
}

/// Why the grant must refuse, if it must; in the order in which the manager asks.
const fn expected(
    revoked: bool,
    window: &MortalityTimeWindow,
    now: u64,
    used: u64,
    limit: u64,
) -> Option<DenialCode> {
    if revoked {
        Some(DenialCode::DelegationDisabled)
    } else if now < window.start() {
        Some(DenialCode::WindowEarly)
    } else if now > window.end() {
        Some(DenialCode::WindowExpired)
    } else if used >= limit {
        Some(DenialCode::Calls)
    } else {
        None
    }
}

//! Whether numbers of this machine mean anything now.

use anyhow::{Context as _, Result, ensure};
use std::{fs, thread, time::Duration};

/// Share of all cores' time that others may take before numbers mean nothing.
const BUSY: f64 = 0.25;

/// Refuses to go on while others work; the share of time that they take.
pub(crate) fn quiet() -> Result<f64> {
    let busy = busy()?;
    ensure!(
        busy < BUSY || std::env::var_os("BENCH_BUSY").is_some(),
        "the machine is busy ({:.0} % of its time): try later, or set BENCH_BUSY=1",
        busy * 100.0
    );
    Ok(busy)
}

/// Share of the machine's time that is taken while we do nothing.
fn busy() -> Result<f64> {
    let sample = || -> Result<(u64, u64)> {
        let stat = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
        // The fourth and fifth: idle, and waiting for a disk.
        Ok((ticks.iter().take(8).sum(), ticks.iter().skip(3).take(2).sum()))
    };
    let (all, idle) = sample()?;
    thread::sleep(Duration::from_secs(1));
    let (all_then, idle_then) = sample()?;
    let share = |part: u64| Duration::from_millis(part).as_secs_f64();
    let (all, idle) = (all_then.saturating_sub(all), idle_then.saturating_sub(idle));
    Ok(if all == 0 { 0.0 } else { 1.0 - share(idle) / share(all) })
}

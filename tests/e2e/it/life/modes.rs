//! SPEC K1: whoever wakes a Golem wakes it as it was made.

use super::Home;
use anyhow::{Context as _, Result, ensure};
use golem_custody::{CustodyMode, Keys, Password};
use golem_runtime::{Golem, Provisions, WakeError};
use std::path::Path;

const NOTHING: &str = "- goal: to be there\n";
const HOURLY: &str = "- every: 1h\n";

fn local(folder: &Path) -> Result<Keys> {
    let password = Password::typed("a mode".to_owned().into()).context("a password")?;
    Ok(Keys::local(folder, password)?)
}

/// Before its first tick and after it; nothing is written.
#[tokio::test]
async fn a_golem_wakes_with_keys_of_its_own_mode_and_no_other() -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    for (mine, other, mode) in [
        (Keys::hosted(), local(elsewhere.path())?, CustodyMode::LocalKey),
        (local(elsewhere.path())?, Keys::hosted(), CustodyMode::Delegation),
    ] {
        let home = Home::keeping(|_| Ok(mine), NOTHING, HOURLY, |_| ()).await?;
        for ticks in 0..2 {
            let before = home.log()?.len();

            let woken = Golem::wake(Provisions { keys: other.clone(), ..home.provisions()? }).await;

            let Err(WakeError::AnotherMode { started, chosen }) = woken else {
                anyhow::bail!("after {ticks} ticks it woke")
            };
            ensure!(started == mode && chosen != mode, "{chosen:?}, {started:?}");
            assert_eq!(home.log()?.len(), before);
            let _ = super::ticks(&mut home.wakes().await?).await?;
            home.later(3_600).await?;
        }
    }
    Ok(())
}

//! What can happen to a Golem: moods, a crash, its owner's care, another key.

use super::{DAY, Play, number};
use crate::demo::Narrator;
use alloy::primitives::Address;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::{fs, path::PathBuf};

impl Play {
    pub(super) async fn emotion(&mut self, narrator: &mut Narrator) -> Result<()> {
        let since = self.now().await?;
        self.ether_costs(30).await?;
        self.until(self.born + 4 * DAY + 3_600).await?;
        let (times, reason) = self.refusals("CAV-EMOTION", since)?;
        let bought = self.done();
        narrator.step(
            "ether falls overnight, and it is upset: the trade that it wants is refused because of how it feels",
            times > 0 && bought == 4,
            || reason,
        );
        self.ether_costs(100).await?;
        self.until(self.born + 5 * DAY + 3_600).await?;
        let bought = self.done();
        narrator.step("the price comes back, it calms down, and trades again", bought > 4, || {
            format!("{bought} trades by now")
        });
        Ok(())
    }

    pub(super) async fn crash_and_feed(&mut self, narrator: &mut Narrator) -> Result<()> {
        self.until(self.born + 6 * DAY - 3 * 3_600).await?;
        let (since, before) = (self.now().await?, self.done());
        self.ether_costs(20).await?;
        self.until(self.born + 6 * DAY + 3_600).await?;
        let phase = self.phase().await?;
        let vitality = number(&self.last, "vitality");
        narrator.step(
            "ether crashes: what its owner bears is half used up, and it goes into Conservation by itself",
            phase == "Conservation",
            || format!("vitality {vitality} of 10000; the registry says {phase}"),
        );
        self.ether_costs(100).await?;
        self.until(self.born + 7 * DAY + 3_600).await?;
        let phase = self.phase().await?;
        narrator.step(
            "prices come back, and the phase does not: it only goes forward",
            phase == "Conservation",
            || format!("vitality {} of 10000, and still {phase}", number(&self.last, "vitality")),
        );
        let (times, reason) = self.refusals("CAV-PHASE", since)?;
        let bought = self.done();
        narrator.step(
            "and there the chain lets it buy nothing new",
            times > 0 && bought == before,
            || reason,
        );
        let fed =
            self.as_owner(&["golem", "feed", "--phase", "stable", "--data", &self.path("golem")])?;
        self.until(self.born + 8 * DAY + 3_600).await?;
        let (phase, after) = (self.phase().await?, self.done());
        narrator.step(
            "its owner feeds it, by one transaction, and it trades again",
            fed.yes() && phase == "Stable" && after > before,
            || format!("{phase}; {after} trades by now"),
        );
        Ok(())
    }

    /// The owner signs for the key that waits. Where his letter will lie, and for which key it is.
    pub(super) fn signs_for_next(&self) -> Result<(PathBuf, Address)> {
        let reply = self.as_owner(&["golem", "grant", "--data", &self.path("golem")])?;
        ensure!(reply.yes(), "not granted: {}", reply.field("reason"));
        let letter = PathBuf::from(reply.field("file"));
        let name = letter.file_name().context("no file")?;
        Ok((self.data().join("inbox/done").join(name), reply.field("key").parse()?))
    }

    /// The Golem reads it, and that key takes its place. It wakes for a letter of its owner's.
    pub(super) async fn takes(
        &mut self,
        (letter, key): (PathBuf, Address),
        file: &str,
    ) -> Result<bool> {
        for _ in 0..4 {
            if letter.is_file() && self.key()? == key {
                break;
            }
            self.tick().await?;
        }
        let said: Value = serde_json::from_str(&fs::read_to_string(&letter)?)?;
        let grant = said.get("grant").context("no grant")?;
        self.folder.write(file, &grant.to_string())?;
        Ok(self.key()? == key)
    }

    /// What his wallet grants for running costs is for one key: the one that the Golem has now is granted the same.
    pub(super) async fn wallet_pays_on(&self) -> Result<()> {
        let golem = self.path("golem");
        let terms = ["--per-day", "2000000", "--days", "21", "--data", &golem];
        let asked =
            self.as_owner(&[&["golem", "runway", "--print-request"], &terms[..]].concat())?;
        ensure!(asked.yes(), "no request for running costs: {}", asked.field("reason"));
        let now = self.now().await?;
        self.folder.write("runway-answer.json", &self.wallet_grants(asked.json(), now)?)?;
        let answer = self.path("runway-answer.json");
        let taken = self.as_owner(&["golem", "runway", "--take", &answer, "--data", &golem])?;
        ensure!(taken.yes(), "its wallet's answer was not taken: {}", taken.field("reason"));
        Ok(())
    }

    pub(super) async fn rotation(&mut self, narrator: &mut Narrator) -> Result<()> {
        self.until(self.born + 9 * DAY - 3 * 3_600).await?;
        let old = self.key()?;
        let letter = self.signs_for_next()?;
        let key = letter.1;
        let rotated = self.takes(letter, "grant-2.json").await? && key != old;
        let before = self.done();
        self.until(self.born + 9 * DAY + 14 * 3_600).await?;
        let after = self.done();
        let reply = self.simulate("grant-1.json", &self.swap(10, 99))?;
        narrator.step(
            "after a week it asks for another key: its owner signs, the new one acts, the old one is dead",
            rotated && after > before && !reply.yes(),
            || format!("{key} in the place of {old}; of the old one the chain says: {}", reply.words()),
        );
        Ok(())
    }
}

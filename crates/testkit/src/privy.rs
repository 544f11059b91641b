//! The fake of Privy's wallet API, as a process of its own. None of what it does is our code.

use alloy::transports::http::Client;
use anyhow::{Context, Result, ensure};
use golem_chain::{
    Privy,
    local::{Companion, LocalFiles},
};
use golem_custody::{AppSecret, Password, WalletApp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

use crate::root;

/// The app that the fake serves.
const APP_ID: &str = "fake-app";
const APP_SECRET: &str = "fake-secret-of-the-fake-app";

/// How the fake can fail.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum PrivyTrouble {
    /// Status 503; nothing is done.
    Away,
    /// It hears, and never answers.
    Stall,
    /// Status 429; nothing is done.
    Busy {
        /// What it says in `Retry-After`.
        seconds: u64,
    },
    /// The connection ends before it does anything.
    Drop,
    /// It does what it is asked, and the connection ends before the answer.
    DropAfter,
    /// It does what it is asked, and half of the answer comes.
    Half,
    /// It does what it is asked, and says this.
    Lie {
        /// What.
        body: Value,
    },
}

/// One request that the fake heard.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PrivyRequest {
    /// HTTP's verb.
    pub method: String,
    /// Its path.
    pub url: String,
    /// Its idempotency key.
    pub idempotency: Option<String>,
}

/// What the fake did.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PrivyLog {
    /// Everything that was asked, in order.
    pub requests: Vec<PrivyRequest>,
    /// How often a wallet's key signed.
    pub signatures: u64,
}

/// A running fake. Dropping it ends the process; so does the end of this one.
#[derive(Debug)]
pub struct FakePrivy {
    process: Companion,
    client: Client,
}

impl FakePrivy {
    /// Starts it with its clock at `now`.
    pub async fn start(now: u64) -> Result<Self> {
        let process = Companion::start(
            &LocalFiles::at(root()),
            "fake-privy",
            "crates/testkit/node/privy.mjs",
            &[("FAKE_PRIVY_APP_ID", APP_ID), ("FAKE_PRIVY_APP_SECRET", APP_SECRET)],
        )?;
        let fake = Self { process, client: Client::builder().no_proxy().build()? };
        fake.set_clock(now).await?;
        Ok(fake)
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        self.process.url()
    }

    /// How it is asked.
    pub fn app(&self) -> Result<WalletApp> {
        Ok(WalletApp::new(self.url().as_str(), APP_ID)?)
    }

    /// What proves that it is the app that asks.
    pub fn secret() -> Result<AppSecret> {
        let typed = Password::typed(APP_SECRET.to_owned().into()).context("no secret")?;
        Ok(AppSecret::new(typed))
    }

    /// The app's id and secret, for whoever reads them from files.
    #[must_use]
    pub const fn credentials() -> (&'static str, &'static str) {
        (APP_ID, APP_SECRET)
    }

    /// The real client of it, with little patience.
    pub fn client(&self) -> Result<Privy> {
        Ok(Privy::answering_within(self.app()?, &Self::secret()?, Duration::from_secs(2))?)
    }

    /// Sets its clock.
    pub async fn set_clock(&self, now: u64) -> Result<()> {
        self.control(&json!({ "clock": now })).await.map(drop)
    }

    /// Fails the next `times` requests whose path has `path` in it.
    pub async fn fail(&self, path: &str, times: u64, trouble: &PrivyTrouble) -> Result<()> {
        let mut fault = serde_json::to_value(trouble)?;
        if let Some(fault) = fault.as_object_mut() {
            fault.insert("path".into(), path.into());
            fault.insert("times".into(), times.into());
        }
        self.control(&json!({ "fault": fault })).await.map(drop)
    }

    /// Fails no more.
    pub async fn recover(&self) -> Result<()> {
        self.control(&json!({ "forget": true })).await.map(drop)
    }

    /// What it did.
    pub async fn log(&self) -> Result<PrivyLog> {
        self.control(&json!({})).await
    }

    async fn control(&self, body: &Value) -> Result<PrivyLog> {
        let url = self.url().join("fake")?;
        let answer = self.client.post(url).body(serde_json::to_vec(body)?).send().await?;
        ensure!(answer.status().is_success(), "the fake answers {}", answer.status());
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
    }
}

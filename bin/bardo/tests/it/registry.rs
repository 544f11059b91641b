//! `bardo registry`: what an owner and his agent write about a Golem, and what everybody reads.

use crate::command::{Key, Ran, bardo};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::ext::AnvilApi,
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{GolemRegistry, golem_registry};
use bardo_testkit::Stage;
use serde_json::{Value, json};

const SALT: B256 = B256::repeat_byte(0x5a);

struct Life {
    stage: Stage,
    owner: Key,
    agent: Key,
    golem: String,
}

impl Life {
    /// A Golem on the register, with a key.
    async fn begun() -> Result<Self> {
        let stage = Stage::open().await?;
        let (owner, agent) = (Key::funded(&stage, 0x51).await?, Key::funded(&stage, 0x52).await?);
        let mut life = Self { stage, owner, agent, golem: String::new() };
        let key = life.agent.address.to_string();
        let salt = SALT.to_string();
        let born = life.by(&life.owner, &["register", "--salt", &salt, "--agent-key", &key])?;
        ensure!(born.code == 0, "{born:?}");
        life.golem = born.json()?["golemId"].as_str().context("no id")?.to_owned();
        Ok(life)
    }

    fn by(&self, key: &Key, words: &[&str]) -> Result<Ran> {
        let rpc = self.stage.chain().url().as_str();
        let more = ["--rpc", rpc, "--key-file", &key.file, "--json"];
        bardo([&["registry"], words, &more].concat())
    }

    fn status(&self, more: &[&str]) -> Result<Ran> {
        let rpc = self.stage.chain().url().as_str();
        bardo([&["registry", "status", &self.golem, "--rpc", rpc], more].concat())
    }

    fn known(&self) -> Result<Value> {
        let ran = self.status(&["--json"])?;
        ensure!(ran.code == 0, "{ran:?}");
        ran.json()
    }

    async fn read<C: SolCall>(&self, call: C) -> Result<C::Return> {
        Ok(self.stage.node().read(golem_registry(), call).await?)
    }

    fn id(&self) -> Result<B256> {
        Ok(self.golem.parse()?)
    }
}

fn lower(address: Address) -> Value {
    json!(address)
}

#[tokio::test]
async fn what_owner_and_agent_write_is_what_the_chain_and_the_status_say() -> Result<()> {
    let life = Life::begun().await?;
    let golem = life.id()?;
    let (owner, agent) = (&life.owner, &life.agent);
    let derived = GolemRegistry::golemIdOfCall { owner: owner.address, salt: SALT };
    assert_eq!(golem, life.read(derived).await?);
    let known = life.known()?;
    assert_eq!(known["owner"], lower(owner.address));
    assert_eq!(known["agentKey"], lower(agent.address));
    assert_eq!((&known["phase"], &known["score"]), (&json!("Thriving"), &json!(10_000)));

    let done = |ran: Ran| {
        ensure!(ran.code == 0 && ran.json()?["written"] == true, "{ran:?}");
        Ok(ran.json()?["entry"].clone())
    };
    done(life.by(owner, &["advance", &life.golem, "--phase", "2"])?)?;
    ensure!(life.known()?["phase"] == "Conservation");
    done(life.by(owner, &["feed", &life.golem, "--phase", "Stable"])?)?;
    ensure!(life.known()?["phase"] == "Stable");
    let told = ["vitality", &life.golem, "--phase", "declining", "--score", "1234"];
    done(life.by(agent, &told)?)?;
    let slept = done(life.by(agent, &["dream", &life.golem, "--on"])?)?;
    ensure!(slept["dreaming"] == true, "{slept}");
    done(life.by(agent, &["pad", &life.golem, "-100", "37", "-1"])?)?;

    let known = life.known()?;
    let vitality = life.read(GolemRegistry::vitalityOfCall { golemId: golem }).await?;
    assert_eq!((vitality.phase, vitality.score), (3, 1234));
    assert_eq!((&known["phase"], &known["score"]), (&json!("Declining"), &json!(1234)));
    assert_eq!(known["updatedAt"], json!(vitality.updatedAt.to::<u64>()));
    let pad = life.read(GolemRegistry::padOfCall { golemId: golem }).await?;
    assert_eq!((pad.pleasure, pad.arousal, pad.dominance), (-100, 37, -1));
    assert_eq!(known["pad"], json!({ "pleasure": -100, "arousal": 37, "dominance": -1 }));
    ensure!(life.read(GolemRegistry::isDreamingCall { golemId: golem }).await?);
    ensure!(known["dreaming"] == true);
    done(life.by(agent, &["dream", &life.golem, "--off"])?)?;
    ensure!(life.known()?["dreaming"] == false);

    let next = Key::funded(&life.stage, 0x53).await?;
    let key = next.address.to_string();
    done(life.by(owner, &["attach", &life.golem, "--agent-key", &key])?)?;
    assert_eq!(life.known()?["agentKey"], lower(next.address));
    let attached = life.read(GolemRegistry::agentOfCall { golemId: golem }).await?;
    assert_eq!(attached.agentKey, next.address);
    Ok(())
}

/// Epoch and generation are the registry's, too.
#[tokio::test]
async fn the_status_shows_which_grants_count() -> Result<()> {
    let life = Life::begun().await?;
    let owner = life.owner.address;
    let revoke = GolemRegistry::revokeCall { golemId: life.id()? }.abi_encode();
    let all = GolemRegistry::revokeAllCall {}.abi_encode();

    for call in [revoke, all.clone(), all] {
        let sent = life.stage.send_as(owner, golem_registry(), U256::ZERO, call.into()).await?;
        ensure!(sent.status());
    }

    let known = life.known()?;
    assert_eq!((&known["minEpoch"], &known["generation"]), (&json!(1024), &json!(2)));
    Ok(())
}

#[tokio::test]
async fn the_status_says_how_old_an_entry_is_and_what_a_charter_makes_of_it() -> Result<()> {
    let life = Life::begun().await?;
    let written = life.known()?["updatedAt"].as_u64().context("no time")?;
    life.stage.warp(written + 601).await?;

    let words = life.status(&[])?;
    assert_eq!(life.known()?["ageSeconds"], 601);
    ensure!(words.stdout.contains("601 seconds before block"), "{words:?}");
    ensure!(words.stdout.contains("staleness bound as Conservation"), "{words:?}");
    for name in
        ["owner", "agent key", "Thriving", "10000", "dreaming", "pad", "epoch", "generation"]
    {
        ensure!(words.stdout.contains(name), "{name}: {words:?}");
    }
    for (bound, counted) in [("601", "Thriving"), ("600", "Conservation")] {
        let ran = life.status(&["--staleness", bound, "--json"])?;
        assert_eq!(ran.json()?["countedPhase"], counted, "{bound}");
        assert_eq!(ran.json()?["phase"], "Thriving", "as it was written");
    }
    Ok(())
}

#[tokio::test]
async fn what_the_registry_would_refuse_is_refused_in_words_and_not_sent() -> Result<()> {
    let life = Life::begun().await?;
    let stranger = Key::funded(&life.stage, 0x54).await?;
    let (owner, agent, golem) = (&life.owner, &life.agent, life.golem.as_str());
    let other = B256::repeat_byte(0x99).to_string();
    let key = stranger.address.to_string();
    let nobody = Address::ZERO.to_string();
    let salt = SALT.to_string();
    let advanced = life.by(owner, &["advance", golem, "--phase", "stable"])?;
    ensure!(advanced.code == 0, "{advanced:?}");
    let before = (owner.sent(&life.stage).await?, agent.sent(&life.stage).await?);

    for (by, words, reason) in [
        (&stranger, &["attach", golem, "--agent-key", &key][..], "is not the owner of"),
        (&stranger, &["feed", golem, "--phase", "0"], "is not the owner of"),
        (agent, &["advance", golem, "--phase", "4"], "is not the owner of"),
        (owner, &["dream", golem, "--on"], "is not the key attached to"),
        (owner, &["pad", golem, "1", "2", "3"], "is not the key attached to"),
        (owner, &["vitality", golem, "--phase", "2", "--score", "1"], "is not the key attached to"),
        (owner, &["advance", golem, "--phase", "0"], "Thriving lies behind Stable"),
        (
            agent,
            &["vitality", golem, "--phase", "0", "--score", "1"],
            "Thriving lies behind Stable",
        ),
        (owner, &["feed", golem, "--phase", "2"], "not from Stable to Conservation"),
        (owner, &["attach", golem, "--agent-key", &nobody], "nobody holds the key"),
        (owner, &["advance", &other, "--phase", "1"], "is not on the register"),
        (owner, &["register", "--salt", &salt], "once only"),
    ] {
        let ran = life.by(by, words)?;
        ensure!(ran.code == 1 && ran.json()?["written"] == false, "{words:?} {ran:?}");
        let said = ran.json()?["reason"].as_str().context("no reason")?.to_owned();
        ensure!(said.contains(reason), "{words:?} {said}");
    }
    assert_eq!((owner.sent(&life.stage).await?, agent.sent(&life.stage).await?), before);
    assert_eq!(stranger.sent(&life.stage).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_dead_golem_a_removed_one_and_none_are_told_apart() -> Result<()> {
    let life = Life::begun().await?;
    let golem = life.id()?;
    let send = async |from, data: Vec<u8>| {
        life.stage.send_as(from, golem_registry(), U256::ZERO, data.into()).await
    };

    send(life.agent.address, GolemRegistry::closeCall { golemId: golem }.abi_encode()).await?;
    let dead = life.status(&[])?;
    ensure!(dead.code == 0 && dead.stdout.contains("It died"), "{dead:?}");
    let late = life.by(&life.agent, &["dream", &life.golem, "--on"])?;
    ensure!(late.code == 1 && late.stdout.contains("died"), "{late:?}");

    send(life.owner.address, GolemRegistry::deregisterCall { golemId: golem }.abi_encode()).await?;
    let rpc = life.stage.chain().url().as_str();
    let over = bardo([
        "delegation",
        "revoke",
        "--golem",
        &life.golem,
        "--rpc",
        rpc,
        "--key-file",
        &life.owner.file,
        "--json",
    ])?;
    ensure!(over.code == 1 && over.json()?["revoked"] == false, "{over:?}");
    ensure!(over.stdout.contains("nothing was sent") && !over.stdout.contains("0x2"), "{over:?}");
    let gone = life.status(&[])?;
    ensure!(gone.code == 1 && gone.stdout.contains("took it off the register"), "{gone:?}");
    ensure!(life.status(&["--json"])?.json()?["registered"] == false);

    let other = B256::repeat_byte(0x99).to_string();
    let none = bardo(["registry", "status", &other, "--rpc", rpc])?;
    ensure!(none.code == 1 && none.stdout.contains("was never registered"), "{none:?}");
    Ok(())
}

/// A Golem can be registered before it has a key.
#[tokio::test]
async fn a_golem_without_a_key_is_shown_without_one() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = Key::funded(&stage, 0x55).await?;
    let rpc = stage.chain().url().as_str();
    let salt = SALT.to_string();

    let words = ["registry", "register", "--salt", &salt, "--rpc", rpc, "--key-file", &owner.file];
    let born = bardo([&words[..], &["--json"]].concat())?;

    ensure!(born.code == 0 && born.json()?["entry"]["agentKey"].is_null(), "{born:?}");
    Ok(())
}

#[tokio::test]
async fn without_a_registry_or_above_the_ceiling_nothing_is_sent() -> Result<()> {
    let life = Life::begun().await?;
    let before = life.owner.sent(&life.stage).await?;
    let words = ["advance", &life.golem, "--phase", "1"];

    let dear = life.by(&life.owner, &[&words[..], &["--fee-ceiling", "1"]].concat())?;
    life.stage.node().provider().anvil_set_code(golem_registry(), Bytes::new()).await?;
    let missing = life.by(&life.owner, &words)?;
    let unread = life.status(&[])?;

    ensure!(dear.code == 1 && dear.stderr.contains("more than its ceiling of 1 wei"), "{dear:?}");
    for ran in [missing, unread] {
        ensure!(ran.code == 3 && ran.stderr.contains("GolemRegistry"), "{ran:?}");
        ensure!(ran.stderr.contains("bardo chains check"), "says what to do: {ran:?}");
    }
    assert_eq!(life.owner.sent(&life.stage).await?, before);
    Ok(())
}

#[test]
fn words_that_no_registry_could_mean_are_wrong_use() -> Result<()> {
    let golem = B256::ZERO.to_string();
    let key = Key::kept(0x56)?;
    // Nobody answers there: what is well said is a fault, and no wrong use.
    let node = ["--rpc", "http://127.0.0.1:1", "--key-file", &key.file];
    let good = bardo([&["registry", "dream", &golem, "--on"], &node[..]].concat())?;
    ensure!(good.code == 3, "{good:?}");
    for words in [
        &["dream", &golem][..],
        &["dream", &golem, "--on", "--off"],
        &["pad", &golem, "101", "0", "0"],
        &["pad", &golem, "0", "0"],
        &["advance", &golem, "--phase", "5"],
        &["feed", &golem, "--phase", "happy"],
        &["vitality", &golem, "--phase", "0", "--score", "10001"],
        &["attach", "0x1234", "--agent-key", "0x00"],
        &["register", "--salt", "1"],
    ] {
        let ran = bardo([&["registry"], words, &node].concat())?;
        ensure!(ran.code == 2 && ran.stdout.is_empty(), "{words:?} {ran:?}");
    }
    Ok(())
}

//! `bardo golem`: a Golem as a process of its own, on a real chain, and its owner's commands around it (SPEC L1, D12, D19, D21, G8).

mod approvals;
mod bounds;
mod budget;
mod care;
mod coins;
mod custody;
mod deaths;
mod habits;
mod hosted;
mod replicants;
mod runway;
mod stopped;
mod watcher;

use crate::command::{Key, Ran, bardo, bardo_knowing};
use alloy::primitives::{Address, B256, U256};
use anyhow::{Context as _, Result, ensure};
use bardo_store::Archive;
use bardo_testkit::{Fault, Proxy, STIPEND, Stage, dollars, root};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub(crate) const HOUR: u64 = 3_600;
pub(crate) const DAY: u64 = 86_400;
const DCA: &str =
    "# Strategy\n\n- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 1d\n";
/// Longer than anything takes here; who waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(90);

/// An owner with a thousand dollars to give, and a folder for his Golem, who buys for fifty a day and looks up once an hour.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) owner: Key,
    folder: TempDir,
}

impl Scene {
    pub(crate) async fn open() -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = Key::kept(0x61)?;
        stage.fund(owner.address, STIPEND * U256::from(20), dollars(5_000)).await?;
        let scene = Self { stage, owner, folder: tempfile::tempdir()? };
        fs::create_dir(scene.data())?;
        fs::set_permissions(scene.data(), fs::Permissions::from_mode(0o700))?;
        fs::write(scene.data().join("STRATEGY.md"), DCA)?;
        fs::write(
            scene.data().join("HEARTBEAT.md"),
            "- every: 1h\n- fastest: 1h\n- slowest: 1h\n",
        )?;
        scene.private("pw", "one key\n")?;
        Ok(scene)
    }

    /// The same with a Golem whose key is in the folder.
    pub(crate) async fn local() -> Result<Self> {
        let scene = Self::open().await?;
        let pw = scene.path("pw");
        scene.onboards(&["--mode", "local", "--session-password-file", &pw])?;
        Ok(scene)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("golem")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn rpc(&self) -> &str {
        self.stage.chain().url().as_str()
    }

    pub(crate) fn private(&self, name: &str, text: &str) -> Result<String> {
        let path = self.folder.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(path.display().to_string())
    }

    pub(crate) fn onboards(&self, words: &[&str]) -> Result<Value> {
        let deposit = format!("{}={}", self.stage.book().usdc, dollars(1_000));
        let data = self.path("golem");
        let whose = ["--rpc", self.rpc(), "--data", &data, "--key-file", &self.owner.file];
        let more = ["--deposit", &deposit, "--days", "60", "--json"];
        let ran = bardo([&["onboard"][..], &whose, &more, words].concat())?;
        ensure!(ran.code == 0, "{ran:?}");
        ran.json()
    }

    /// `bardo golem VERB --data … --json`
    pub(crate) fn golem(&self, verb: &str, words: &[&str]) -> Result<Ran> {
        let data = self.path("golem");
        bardo([&["golem", verb, "--data", &data, "--json"][..], words].concat())
    }

    /// The same by the owner's key.
    pub(crate) fn owner(&self, verb: &str, words: &[&str]) -> Result<Ran> {
        let key = ["--rpc", self.rpc(), "--key-file", &self.owner.file];
        self.golem(verb, &[&key[..], words].concat())
    }

    /// How it is, on the chain's time.
    pub(crate) fn status(&self) -> Result<Value> {
        self.golem("status", &["--rpc", self.rpc()])?.json()
    }

    pub(crate) async fn later(&self, seconds: u64) -> Result<()> {
        self.until(self.stage.now().await? + seconds).await
    }

    pub(crate) async fn until(&self, second: u64) -> Result<()> {
        self.stage.warp(second).await
    }

    /// Lets so much time pass, and waits for what the Golem says then. A tick that time was changed under may fail: it is tried again
    /// when its pause is over, and that is the chain's time too.
    pub(crate) async fn says_after(
        &self,
        golem: &Process,
        seconds: u64,
        wanted: impl Fn(&Value) -> Result<bool>,
    ) -> Result<Value> {
        self.later(seconds).await?;
        loop {
            let said = golem.next()?;
            if let Some(pause) = said["againIn"].as_u64() {
                self.later(pause).await?;
            }
            if wanted(&said)? {
                return Ok(said);
            }
        }
    }

    /// The same, of the tick that is due then.
    pub(crate) async fn ticks_after(&self, golem: &Process, seconds: u64) -> Result<()> {
        let on_time =
            |said: &Value| Ok(said.get("tick").is_some() && self.status()?["missed"] == 0);
        self.says_after(golem, seconds, on_time).await?;
        Ok(())
    }

    /// The same, of the next tick in which something was done.
    pub(crate) async fn does_after(&self, golem: &Process, seconds: u64) -> Result<Value> {
        self.says_after(golem, seconds, |said| Ok(has_deeds(said))).await
    }

    pub(crate) fn runs(&self, words: &[&str]) -> Result<Process> {
        Process::start(
            &[&["golem", "run", "--data", &self.path("golem"), "--rpc", self.rpc()], words]
                .concat(),
        )
    }

    pub(crate) fn runs_local(&self) -> Result<Process> {
        self.runs(&["--password-file", &self.path("pw")])
    }

    /// Kinds of all records that it wrote so far.
    pub(crate) fn kinds(&self) -> Result<Vec<String>> {
        let (records, _) = Archive::open(&self.data())?.audit()?;
        Ok(records.into_iter().map(|record| record.kind).collect())
    }

    /// Dollars that the Golem's account has.
    pub(crate) async fn dollars(&self) -> Result<U256> {
        let account: Address = serde_json::from_value(self.status()?["account"].clone())?;
        self.stage.balance_of(self.stage.book().usdc, account).await
    }
}

/// A running Golem, or a watcher, and what it says.
pub(crate) struct Process {
    pub(crate) child: Child,
    lines: Receiver<Value>,
}

fn has_deeds(said: &Value) -> bool {
    said["deeds"].as_array().is_some_and(|deeds| !deeds.is_empty())
}

impl Process {
    pub(crate) fn start(words: &[&str]) -> Result<Self> {
        Self::started(Command::new(env!("CARGO_BIN_EXE_bardo")).args(words))
    }

    /// The same where `folder` has chain files of one's own.
    fn start_knowing(folder: &Path, words: &[&str]) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bardo"));
        Self::started(command.args(words).env("BARDO_CHAINS", folder))
    }

    fn started(command: &mut Command) -> Result<Self> {
        let mut child = command
            .arg("--json")
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let out = BufReader::new(child.stdout.take().context("no output")?);
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let said = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if tell.send(said).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// The next thing that it says of this kind.
    pub(crate) fn says(&self, what: &str) -> Result<Value> {
        let until = Instant::now() + PATIENCE;
        let mut before = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(said) = self.lines.recv_timeout(left) else {
                anyhow::bail!("it never said {what}, but {before:?}");
            };
            if said.get(what).is_some() {
                return Ok(said);
            }
            before.push(said);
        }
    }

    /// The next thing that it says at all.
    pub(crate) fn next(&self) -> Result<Value> {
        Ok(self.lines.recv_timeout(PATIENCE)?)
    }

    /// The next tick in which something was done.
    pub(crate) fn does(&self) -> Result<Value> {
        loop {
            let tick = self.says("tick")?;
            if has_deeds(&tick) {
                return Ok(tick);
            }
        }
    }

    pub(crate) fn signal(&self, signal: &str) -> Result<()> {
        let told = Command::new("kill").args([signal, &self.child.id().to_string()]).status()?;
        ensure!(told.success());
        Ok(())
    }

    /// Ends it as a lost machine would.
    pub(crate) fn lost(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to stop, and hears what it says last.
    pub(crate) fn stops(mut self) -> Result<Value> {
        self.signal("-TERM")?;
        let said = self.says("ended")?;
        ensure!(self.child.wait()?.code() == Some(0), "{said}");
        Ok(said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed leaves nobody behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for something that another process writes.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is_so()? {
        ensure!(Instant::now() < end, "{what} never came");
        std::thread::yield_now();
    }
    Ok(())
}

/// L1: from onboarding on, tick by tick, seen by its owner while it runs; stopped and started, it goes on.
#[tokio::test]
async fn a_golem_lives_in_a_process_of_its_own() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;

    let awake = golem.says("awake")?;
    assert_eq!(awake["key"], awake["granted"]);
    let first = golem.does()?;
    assert_eq!(
        (&first["tick"], &first["deeds"][0]["outcome"]),
        (&1.into(), &"done".into()),
        "{first}"
    );
    assert_eq!(scene.dollars().await?, dollars(950));
    scene.later(HOUR).await?;
    let second = golem.says("tick")?;
    assert_eq!((&second["tick"], &second["deeds"]), (&2.into(), &Value::Array(vec![])), "{second}");

    let status = scene.status()?;
    assert_eq!((&status["life"]["ticks"], &status["missed"]), (&2.into(), &0.into()), "{status}");
    assert_eq!(status["spent"]["day"], 50_000_000u64, "{status}");
    ensure!(status["asks"] == Value::Array(vec![]) && status["dead"] == false, "{status}");
    let history = scene.golem("history", &["--limit", "500"])?.json()?;
    let events = history["events"].as_array().context("no events")?;
    let ticks = events.iter().filter(|event| event["kind"] == "tick").count();
    assert_eq!(ticks, 2, "{history}");
    let home = scene.data().parent().context("no home")?.display().to_string();
    let list = bardo(["golem", "list", "--home", &home, "--json"])?.json()?;
    assert_eq!(list["golems"][0]["ticks"], 2, "{list}");

    assert_eq!(golem.stops()?["ended"], "stopped");
    scene.later(DAY).await?;
    let again = scene.runs_local()?;
    let third = again.does()?;
    assert_eq!(third["tick"], 3, "{third}");
    assert_eq!(scene.dollars().await?, dollars(900));
    again.stops()?;
    let data = scene.path("golem");
    let audit = bardo(["audit", "verify", "--data", &data, "--rpc", scene.rpc()])?;
    assert_eq!(audit.code, 0, "{audit:?}");
    Ok(())
}

/// SPEC X1: where a chain's file names a private endpoint, all that a Golem and its owner sign goes there, and nothing of it to the node
/// that is asked.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_golem_and_its_owner_sign_goes_to_the_private_endpoint_alone() -> Result<()> {
    let scene = Scene::open().await?;
    let node = scene.stage.chain().url();
    let open = Proxy::before(node, Duration::ZERO).await?;
    let private = Proxy::before(node, Duration::ZERO).await?;
    // Every answer is the node's own, and counted.
    for proxy in [&open, &private] {
        proxy.fail("eth_sendRawTransaction", u64::MAX, Fault::lie(|_| ()));
    }
    let chains = tempfile::tempdir()?;
    let (id, at) = (scene.stage.node().chain_id(), private.url());
    let file =
        format!("name = \"Here\"\nchain_id = {id}\ntestnet = true\nprivate_rpc = \"{at}\"\n");
    fs::write(chains.path().join("here.toml"), file)?;
    let (rpc, data, pw) = (open.url().as_str(), scene.path("golem"), scene.path("pw"));
    let deposit = format!("{}={}", scene.stage.book().usdc, dollars(1_000));
    let owner = |words: &[&str]| {
        let whose = ["--rpc", rpc, "--key-file", &scene.owner.file, "--json"];
        bardo_knowing(chains.path(), [words, &whose[..]].concat())
    };

    let onboard = ["onboard", "--data", &data, "--deposit", &deposit, "--days", "60"];
    let mode = ["--mode", "local", "--session-password-file", &pw];
    let ran = owner(&[&onboard[..], &mode].concat())?;
    ensure!(ran.code == 0, "{ran:?}");
    assert_eq!((open.failed(), private.failed()), (0, 1), "onboarding");

    let run = ["golem", "run", "--data", &data, "--rpc", rpc, "--password-file", &pw];
    let golem = Process::start_knowing(chains.path(), &run)?;
    let tick = golem.does()?;
    assert_eq!(tick["deeds"][0]["outcome"], "done", "{tick}");
    golem.stops()?;
    let (shown, hidden) = (open.failed(), private.failed());
    ensure!(shown == 0 && hidden > 0, "the Golem: {shown} in the open, {hidden} in private");

    let salt = B256::repeat_byte(7).to_string();
    for words in [&["vault", "create", "--salt", &salt][..], &["delegation", "revoke", "--all"]] {
        let ran = owner(words)?;
        ensure!(ran.code == 0, "{ran:?}");
        assert_eq!((open.failed(), private.failed()), (0, 1), "{words:?}");
    }

    // Where it does not answer, nobody gets anything, unless he is told that he may.
    let nowhere =
        "name = \"Here\"\nchain_id = 8453\ntestnet = true\nprivate_rpc = \"http://127.0.0.1:1\"\n";
    fs::write(chains.path().join("here.toml"), nowhere)?;
    let salt = B256::repeat_byte(8).to_string();
    let create = ["vault", "create", "--salt", &salt];
    let ran = owner(&create)?;
    ensure!(ran.code == 3 && ran.json()?["code"] == "UNREACHABLE", "{ran:?}");
    for words in ["the private RPC", "nothing was sent", "--in-the-open"] {
        ensure!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    assert_eq!((open.failed(), private.failed()), (0, 0));
    let ran = owner(&[&create[..], &["--in-the-open"]].concat())?;
    ensure!(ran.code == 0, "{ran:?}");
    assert_eq!((open.failed(), private.failed()), (1, 0));
    Ok(())
}

/// G5, "the owner's wallet and an RPC": what ends a Golem or takes money home does not wait for a private endpoint that is away, or that
/// takes nothing, or that serves another chain; what can wait does.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_owner_cannot_wait_for_goes_by_the_open_rpc_while_the_private_one_is_away()
-> Result<()> {
    let scene = Scene::local().await?;
    let node = scene.stage.chain().url();
    let open = Proxy::before(node, Duration::ZERO).await?;
    open.fail("eth_sendRawTransaction", u64::MAX, Fault::lie(|_| ()));
    let deaf = Proxy::before(node, Duration::ZERO).await?;
    deaf.fail("eth_sendRawTransaction", u64::MAX, Fault::DropBefore);
    let elsewhere = Proxy::before(node, Duration::ZERO).await?;
    elsewhere.fail("eth_chainId", u64::MAX, Fault::lie(|id| *id = "0x1".into()));
    let chains = tempfile::tempdir()?;
    let private = |at: &str| {
        let id = scene.stage.node().chain_id();
        let file =
            format!("name = 'Here'\nchain_id = {id}\ntestnet = true\nprivate_rpc = '{at}'\n");
        fs::write(chains.path().join("here.toml"), file)
    };
    let (data, own) = (scene.path("golem"), scene.owner.address.to_string());
    let owner = |words: &[&str]| {
        let whose = ["--rpc", open.url().as_str(), "--key-file", &scene.owner.file, "--json"];
        bardo_knowing(chains.path(), [words, &whose[..]].concat())
    };
    let home = Address::repeat_byte(0xb0).to_string();
    let withdraw = ["vault", "withdraw", "--account", &own, "--all-ether", "--to", &home];

    for at in ["http://127.0.0.1:1", deaf.url().as_str(), elsewhere.url().as_str()] {
        private(at)?;
        let ran = owner(&["delegation", "revoke", "--all"])?;
        ensure!(ran.code == 0 && ran.stderr.contains("where everybody sees it"), "{at}: {ran:?}");
        assert_eq!(open.failed(), 1, "{at}");
    }
    assert_eq!(deaf.failed(), 1, "it was asked first");
    private("http://127.0.0.1:1")?;
    for words in [&["golem", "kill", "--data", &data][..], &withdraw] {
        let ran = owner(words)?;
        ensure!(ran.code == 0 && ran.stderr.contains("where everybody sees it"), "{ran:?}");
        assert_eq!(open.failed(), 1, "{words:?}");
    }
    Ok(())
}

/// INV-6: one process has the Golem; another is refused and changes nothing.
#[tokio::test]
async fn a_second_process_is_refused() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    let before = scene.kinds()?.len();

    let (data, pw) = (scene.path("golem"), scene.path("pw"));
    let words =
        ["golem", "run", "--data", &data, "--rpc", scene.rpc(), "--password-file", &pw, "--json"];
    let second = bardo(words)?;

    assert_eq!(second.code, 1, "{second:?}");
    ensure!(second.stdout.contains("another process runs the Golem"), "{second:?}");
    assert_eq!(scene.kinds()?.len(), before);
    golem.stops()?;
    // Whatever else has the books: onboarding, or a Golem of another version.
    let id = scene.status()?["golem"].as_str().context("no id")?.parse()?;
    let config = bardo_store::StoreConfig { folder: scene.data(), golem: id, max_pages: None };
    let _books = bardo_store::Store::open(&config, None)?;
    let third = bardo(words)?;
    assert_eq!(third.code, 1, "{third:?}");
    ensure!(third.stdout.contains("another process has the books"), "{third:?}");
    Ok(())
}

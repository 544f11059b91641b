//! A Golem's children, looked after by its process: it starts theirs, hears them, starts them again, and notices those that are gone.

use super::{
    nursling::{Letter, Nursling},
    replicant::{Answered, Word},
    voice::{Voice, chain},
};
use crate::{answer::Failure, cli::RunArgs};
use anyhow::{Context as _, anyhow};
use golem_custody::{Introduction, redact};
use golem_runtime::{Child, Clock, Golem, Inheritance, Introduced, Spawning};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child as Process, ChildStdin, Command},
    sync::oneshot,
    time::{sleep, timeout},
};

/// How often letters and processes are looked at.
const GLANCE: Duration = Duration::from_millis(200);
/// Longer than a process takes to say who it is, or to stop.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often one is started again by one process of its parent's before it counts as gone.
const MOST_STARTS: u32 = 5;

/// A child's process.
struct Reared {
    process: Process,
    words: ChildStdin,
    starts: u32,
}

/// All of them.
pub(super) struct Nursery<'a> {
    args: &'a RunArgs,
    voice: Voice,
    clock: &'a Clock,
    reared: BTreeMap<String, Reared>,
    /// Those whose process another process of their parent's had started.
    adopted: BTreeSet<String>,
    /// Letters that wait for the next tick.
    held: BTreeSet<String>,
    /// Whether there was one since it was last looked.
    ticked: Arc<AtomicBool>,
}

impl<'a> Nursery<'a> {
    pub(super) fn new(args: &'a RunArgs, voice: Voice, clock: &'a Clock) -> Self {
        let (reared, adopted, held) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { args, voice, clock, reared, adopted, held, ticked: Arc::default() }
    }

    /// To be set when a tick came to its end: what waited for one is looked at again.
    pub(super) fn ticked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ticked)
    }

    /// Until there is something to do.
    pub(super) async fn wants(&mut self) {
        loop {
            let over =
                self.reared.values_mut().any(|one| !matches!(one.process.try_wait(), Ok(None)));
            let again = !self.held.is_empty() && self.ticked.swap(false, Ordering::Relaxed);
            let new = || {
                Nursling::all(&self.args.data)
                    .iter()
                    .any(|one| one.is_open() && !self.held.contains(&one.name()))
            };
            let data = &self.args.data;
            let gone = self.adopted.iter().any(|name| !Nursling::of(data, name).runs());
            if over || again || gone || new() {
                return;
            }
            sleep(GLANCE).await;
        }
    }

    /// Looks after all of them: makes those that are wanted, and sees to it that those that live have a process.
    pub(super) async fn looks_after(&mut self, golem: &Golem) {
        self.held.clear();
        // Nobody acts for one whose death is accepted, and one that cannot say whether it is has nobody start either (INV-4, INV-9).
        match golem.dying().await {
            Ok(None) => {}
            Ok(Some(_dying)) => return self.dismisses().await,
            Err(error) => {
                self.tells("", &Failure::Fault(error.into()));
                return self.dismisses().await;
            }
        }
        if let Err(failure) = self.keeps(golem).await {
            self.tells("", &failure);
        }
        for nursling in Nursling::all(&self.args.data) {
            let name = nursling.name();
            if !nursling.is_open() {
                continue;
            }
            // One that sleeps or looks on hands nothing on now, and is no no.
            let life = golem.life();
            if life.dreaming || life.observing.is_some() || life.ticks == 0 {
                self.held.insert(name);
                continue;
            }
            match self.makes(golem, &nursling).await {
                Ok(true) => {}
                Ok(false) => drop(self.held.insert(name)),
                Err(failure) => {
                    self.tells(&name, &failure);
                    self.held.insert(name);
                }
            }
        }
    }

    fn tells(&self, name: &str, failure: &Failure) {
        let (Failure::Use(error) | Failure::Fault(error) | Failure::Undecided(error)) = failure;
        let words = redact(&chain(error.as_ref())).to_string();
        let json = json!({ "replicant": name, "failed": words });
        self.voice.say(&json, &format!("replicant {name}: {words}"));
    }

    /// Those that live have a process; those that have none any more, and no key, are gone.
    async fn keeps(&mut self, golem: &Golem) -> Result<(), Failure> {
        let mut ended = Vec::new();
        for (name, one) in &mut self.reared {
            if !matches!(one.process.try_wait(), Ok(None)) {
                ended.push((name.clone(), one.starts));
            }
        }
        let before: BTreeMap<String, u32> = ended.into_iter().collect();
        for name in before.keys() {
            self.reared.remove(name);
        }
        if !before.is_empty() {
            // Why it ended is the chain's to say, where that is so.
            golem.look_after_children().await?;
        }
        let children = golem.children().await?;
        self.adopted.clear();
        for nursling in Nursling::all(&self.args.data) {
            let name = nursling.name();
            let Some(child) = nursling.among(&children).filter(|child| child.lives()) else {
                continue;
            };
            if self.reared.contains_key(&name) {
                continue;
            }
            if nursling.runs() {
                self.adopted.insert(name);
                continue;
            }
            let starts = before.get(&name).copied().unwrap_or(0);
            self.begins_again(golem, &nursling, child, starts).await?;
        }
        Ok(())
    }

    /// The key in a file is the same one in another process; one in no file is gone with its own (SPEC D21).
    async fn begins_again(
        &mut self,
        golem: &Golem,
        nursling: &Nursling,
        child: &Child,
        starts: u32,
    ) -> Result<(), Failure> {
        let name = nursling.name();
        let keeps = nursling.has_key_file() && self.args.password_file.is_some();
        if !keeps || starts >= MOST_STARTS {
            golem.lost_child(child.key).await?;
            let words = "its process is gone, and its key with it";
            let json = json!({ "replicant": name, "lost": child.key, "why": words });
            self.voice.say(&json, &format!("replicant {name}: {words}"));
            return Ok(());
        }
        self.starts(nursling, starts.saturating_add(1), None)?;
        let json = json!({ "replicant": name, "started": child.key });
        self.voice.say(&json, &format!("replicant {name} is started again"));
        Ok(())
    }

    /// A process for it. What it says is told on; its introduction is the parent's to hear.
    fn starts(
        &mut self,
        nursling: &Nursling,
        starts: u32,
        introduced: Option<oneshot::Sender<Box<Introduced>>>,
    ) -> Result<(), Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["golem", "run", "--replicant", "--json", "--rpc", self.args.rpc.as_str()])
            .arg("--data")
            .arg(&nursling.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(password) = &self.args.password_file {
            command.arg("--password-file").arg(password);
        }
        let mut process = command.spawn().context("a Replicant's process does not start")?;
        let words = process.stdin.take().context("no words for it")?;
        let said = process.stdout.take().context("no words of it")?;
        let (name, voice) = (nursling.name(), self.voice);
        let mut introduced = introduced;
        tokio::spawn(async move {
            let mut lines = BufReader::new(said).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(Answered { introduced: word }) = serde_json::from_str(&line) {
                    // Who does not wait for it any more has given it up.
                    if let Some(hears) = introduced.take() {
                        drop(hears.send(Box::new(word)));
                    }
                    continue;
                }
                let said: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
                let words = format!("replicant {name}: {line}");
                voice.say(&json!({ "replicant": name, "says": said }), &words);
            }
        });
        self.reared.insert(nursling.name(), Reared { process, words, starts });
        Ok(())
    }

    /// Makes one. False where it is to be tried again with the next tick.
    async fn makes(&mut self, golem: &Golem, nursling: &Nursling) -> Result<bool, Failure> {
        let name = nursling.name();
        let Some(letter) = nursling.letter()? else { return Ok(true) };
        let (hears, introduced) = oneshot::channel();
        if !self.reared.contains_key(&name) && nursling.runs() {
            return Err(Failure::Fault(anyhow!("another process is in its folder")));
        }
        self.reared.remove(&name);
        self.starts(nursling, 1, Some(hears))?;
        let asked = golem.asks_for_a_child(Introduction::fresh_nonce()).await?;
        self.say_to(&name, &Word::Introduce(asked)).await?;
        let introduced = match timeout(PATIENCE, introduced).await {
            Ok(Ok(introduced)) => introduced,
            _ => {
                self.lets_go(&name).await;
                return Err(Failure::Fault(anyhow!("its process did not say who it is")));
            }
        };
        let Letter { budget, until, .. } = letter;
        let errand = letter.errand(self.clock.now());
        match golem.spawns(&errand, &introduced).await? {
            Spawning::Spawned(inheritance) => {
                self.gives(nursling, *inheritance).await?;
                let key = introduced.introduction.child;
                let json =
                    json!({ "replicant": name, "made": key, "budget": budget, "until": until });
                self.voice.say(&json, &format!("replicant {name} is made: {key}"));
                Ok(true)
            }
            Spawning::Refused(denials) => {
                self.lets_go(&name).await;
                let all: Vec<String> = denials.iter().map(ToString::to_string).collect();
                let reason = all.join("; ");
                nursling.refuse(&reason)?;
                let json = json!({ "replicant": name, "refused": redact(&reason) });
                self.voice.say(&json, &format!("replicant {name} is not made: {reason}"));
                Ok(true)
            }
            Spawning::Unsettled(why) => {
                self.lets_go(&name).await;
                Err(Failure::Fault(anyhow!("it is not known whether it is made: {why}")))
            }
        }
    }

    /// On the disk first: a process that is started again has it from there.
    async fn gives(
        &mut self,
        nursling: &Nursling,
        inheritance: Inheritance,
    ) -> Result<(), Failure> {
        nursling.inherits(&inheritance)?;
        self.say_to(&nursling.name(), &Word::Inherit(Box::new(inheritance))).await
    }

    async fn say_to(&mut self, name: &str, word: &Word) -> Result<(), Failure> {
        let line = format!("{}\n", serde_json::to_string(word)?);
        let one = self.reared.get_mut(name).context("it has no process")?;
        one.words.write_all(line.as_bytes()).await?;
        one.words.flush().await?;
        Ok(())
    }

    /// Ends a process that got nothing.
    async fn lets_go(&mut self, name: &str) {
        if let Some(mut one) = self.reared.remove(name) {
            drop(one.process.kill().await);
        }
    }

    /// Ends the processes that it has, and leaves every letter where it is. One that is not its own ends by what its parent's books say.
    async fn dismisses(&mut self) {
        let names: Vec<String> = self.reared.keys().cloned().collect();
        for name in &names {
            // One that ended already hears nothing, and need not.
            drop(self.say_to(name, &Word::Stop(true)).await);
            let Some(mut one) = self.reared.remove(name) else { continue };
            if timeout(PATIENCE, one.process.wait()).await.is_err() {
                drop(one.process.kill().await);
            }
        }
        self.adopted.clear();
        let all = Nursling::all(&self.args.data);
        self.held = all.iter().filter(|one| one.is_open()).map(Nursling::name).collect();
    }

    /// Its parent stops: so do they, between two ticks. Where it died they see that by themselves.
    pub(super) async fn stops(mut self, died: bool) {
        let names: Vec<String> = self.reared.keys().cloned().collect();
        for name in &names {
            if !died {
                // One that ended already hears nothing, and need not.
                drop(self.say_to(name, &Word::Stop(true)).await);
            }
        }
        for one in self.reared.values_mut() {
            drop(timeout(PATIENCE, one.process.wait()).await);
        }
    }
}

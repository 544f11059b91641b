//! What an owner sends his Golem, as files in a folder of the Golem's.
//!
//! ```text
//! inbox/000000001794700800-0x1f….json      a signed grant, put there whole by a rename
//! inbox/done/000000001794700800-0x1f….json  the same when it was looked at, with what came of it
//! inbox/end                               the owner revoked everything, and wants it to die
//! inbox/rotate                            he wants another key in the place of the one that it names
//! inbox/runway                            his wallet's answer to a request for running costs; looked at it is done/runway
//! inbox/answer-0x…                        he answered a question, in his ledger
//! ```
//!
//! Nothing in it is authority: a grant counts by its signature, also one for running costs, an end by the chain, an answer by the ledger, and the next key of a
//! rotation by the grant that he signs for it. What is no grant is refused with words, and stops
//! nobody.

use crate::Inbox;
use alloy_primitives::Address;
use async_trait::async_trait;
use golem_custody::{BoxError, IntentId};
use golem_delegation::{
    Delegation,
    permission::{self, Answer, Form, FormError, Message},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    fs::{self, DirBuilder, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::sleep;

/// Most bytes of one letter. A grant with a long list has a few thousand.
const MOST_BYTES: u64 = 64 * 1024;
/// Most letters that are looked at in one tick; the rest waits.
const MOST_LETTERS: usize = 32;
/// Most answers that are kept.
const MOST_DONE: usize = 256;
/// How often the folder is looked into.
const GLANCE: Duration = Duration::from_millis(500);
/// Where letters end up.
const DONE: &str = "done";
/// That the owner wants it to die.
const END: &str = "end";
/// That he wants another key.
const ROTATE: &str = "rotate";
/// What his wallet granted for running costs.
const RUNWAY: &str = "runway";
/// How a word begins that he has answered something.
const ANSWER: &str = "answer-";
/// Most bytes of an address, and the end of its line.
const ADDRESS: u64 = 64;

/// Why an inbox cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InboxError {
    /// The folder.
    #[error("the inbox {} cannot be used", path.display())]
    Folder {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A grant without a form.
    #[error("the grant cannot be written")]
    Form(#[from] serde_json::Error),
    /// A wallet's answer without one.
    #[error("the wallet's answer cannot be written")]
    Answer(#[from] FormError),
}

/// What an owner's wallet granted for running costs, as he sends it to his Golem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentRunway {
    /// The wallet's answer.
    pub answer: Answer,
    /// Whether he means it also where it is more than is given without saying so (SPEC T2).
    pub beyond_limits: bool,
}

/// The same on the disk.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunwayLetter {
    beyond_limits: bool,
    answer: Value,
}

impl SentRunway {
    fn written(&self) -> Result<Value, InboxError> {
        let answer = Form::Today.write_answers(std::slice::from_ref(&self.answer))?;
        Ok(serde_json::to_value(RunwayLetter { beyond_limits: self.beyond_limits, answer })?)
    }

    /// What a letter says; or in words why it says nothing.
    fn read(text: &[u8]) -> Result<Self, String> {
        let no = |why: String| format!("it is no wallet's answer: {why}");
        let RunwayLetter { beyond_limits, answer } =
            serde_json::from_slice(text).map_err(|error| no(error.to_string()))?;
        let read = permission::read(&answer.to_string()).map_err(|error| no(error.to_string()))?;
        let Message::Answers(mut answers) = read.message else {
            return Err(no("it asks for something".to_owned()));
        };
        match (answers.pop(), answers.is_empty()) {
            (Some(answer), true) => Ok(Self { answer, beyond_limits }),
            _ => Err(no("it is more than one".to_owned())),
        }
    }
}

/// A folder that an owner's commands put signed grants into.
#[derive(Debug)]
pub struct FolderInbox {
    folder: PathBuf,
    /// Letters that were there when it last looked: they wake nobody again.
    seen: Mutex<HashSet<String>>,
}

impl FolderInbox {
    /// Its name in a Golem's folder.
    pub const NAME: &str = "inbox";

    /// That of the Golem in `data`. It is made when something is put into it.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { folder: data.join(Self::NAME), seen: Mutex::default() }
    }

    /// Puts a signed grant in: whole or not at all, for nobody's eyes but the owner's. Says where.
    pub fn put(&self, grant: &Delegation, now: u64) -> Result<PathBuf, InboxError> {
        let name = format!("{now:018}-{}.json", grant.hash());
        let path = self.folder.join(&name);
        self.written(&path, &serde_json::to_vec_pretty(grant)?)?;
        // Who gives it more wants it to live.
        self.take_back_end()?;
        Ok(path)
    }

    /// Says that the end of its grants is the owner's will for it to die.
    pub fn ask_end(&self) -> Result<(), InboxError> {
        self.written(&self.folder.join(END), b"its owner revoked everything\n")
    }

    /// Takes that back.
    pub fn take_back_end(&self) -> Result<(), InboxError> {
        match fs::remove_file(self.folder.join(END)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.fault()(error)),
            _ => Ok(()),
        }
    }

    /// Says that the owner wants another key in the place of this one.
    pub fn ask_rotation(&self, key: Address) -> Result<(), InboxError> {
        self.written(&self.folder.join(ROTATE), format!("{key}\n").as_bytes())
    }

    /// Puts in what his wallet granted for running costs, in the place of what nobody has looked at yet. Says where.
    pub fn put_runway(&self, runway: &SentRunway) -> Result<PathBuf, InboxError> {
        let path = self.folder.join(RUNWAY);
        self.written(&path, &serde_json::to_vec_pretty(&runway.written()?)?)?;
        Ok(path)
    }

    /// Whether such an answer waits.
    #[must_use]
    pub fn has_runway(&self) -> bool {
        self.folder.join(RUNWAY).exists()
    }

    /// Says that there is an answer to this question in the owner's ledger: it need not wait for the next tick.
    pub fn tell_answer(&self, intent: IntentId) -> Result<(), InboxError> {
        self.written(&self.folder.join(format!("{ANSWER}{}", intent.0)), b"answered\n")
    }

    /// How many letters nobody looked at.
    pub fn waiting(&self) -> Result<usize, InboxError> {
        Ok(self.letters()?.len())
    }

    fn fault(&self) -> impl Fn(io::Error) -> InboxError {
        let path = self.folder.clone();
        move |source| InboxError::Folder { path: path.clone(), source }
    }

    fn written(&self, path: &Path, text: &[u8]) -> Result<(), InboxError> {
        let write = || {
            let done = self.folder.join(DONE);
            DirBuilder::new().recursive(true).mode(0o700).create(done)?;
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(text)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(self.fault())
    }

    /// Names of letters, the oldest first.
    fn letters(&self) -> Result<Vec<String>, InboxError> {
        let mut names = named(&self.folder).map_err(self.fault())?;
        names.retain(|name| name.ends_with(".json") && !name.starts_with('.'));
        names.sort_unstable();
        Ok(names)
    }

    /// What a letter says; or in words why it says nothing.
    fn read(&self, name: &str) -> Result<Delegation, String> {
        let text = self.text(name)?;
        serde_json::from_slice(&text).map_err(|error| format!("it is no delegation: {error}"))
    }

    /// A letter, if it is one that nobody else could have written.
    fn text(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(name);
        let about = fs::symlink_metadata(&path).map_err(|error| error.to_string())?;
        if !about.is_file() {
            return Err("it is no file".to_owned());
        }
        if about.permissions().mode() & 0o077 != 0 {
            return Err(
                "others on this machine may write or read it: only files of mode 600 count"
                    .to_owned(),
            );
        }
        let mut text = Vec::new();
        let read = File::open(&path)
            .and_then(|file| file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut text));
        let length = read.map_err(|error| error.to_string())?;
        if u64::try_from(length).is_ok_and(|length| length > MOST_BYTES) {
            return Err(format!("it has more than {MOST_BYTES} bytes"));
        }
        Ok(text)
    }

    /// Puts a letter aside with what came of it.
    fn put_aside(&self, name: &str, said: &Value, words: &str) -> Result<(), InboxError> {
        let done = self.folder.join(DONE);
        let answer = json!({ "answer": words, "grant": said });
        self.written(&done.join(name), &serde_json::to_vec_pretty(&answer)?)?;
        let letter = self.folder.join(name);
        match fs::remove_file(&letter) {
            // A folder by a letter's name.
            Err(other) if letter.is_dir() => {
                fs::rename(&letter, done.join(format!("{name}.folder"))).map_err(|_late| other)
            }
            removed => removed,
        }
        .map_err(self.fault())?;
        let mut kept = named(&done).map_err(self.fault())?;
        kept.sort_unstable();
        let old = kept.len().saturating_sub(MOST_DONE);
        for name in kept.iter().take(old) {
            // One that cannot be removed is one more.
            drop(fs::remove_file(done.join(name)));
        }
        Ok(())
    }
}

/// Names in a folder; those that are no text are of nobody here.
fn named(folder: &Path) -> io::Result<Vec<String>> {
    let found = match fs::read_dir(folder) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    Ok(found.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

#[async_trait]
impl Inbox for FolderInbox {
    async fn grants(&self) -> Result<Vec<Delegation>, BoxError> {
        let mut grants = Vec::new();
        for name in self.letters()?.into_iter().take(MOST_LETTERS) {
            match self.read(&name) {
                Ok(grant) => grants.push(grant),
                Err(words) => self.put_aside(&name, &Value::Null, &words)?,
            }
        }
        Ok(grants)
    }

    async fn answered(&self, grant: &Delegation, words: &str) -> Result<(), BoxError> {
        for name in self.letters()? {
            if self.read(&name).is_ok_and(|read| read == *grant) {
                self.put_aside(&name, &serde_json::to_value(grant)?, words)?;
            }
        }
        Ok(())
    }

    async fn came(&self) {
        loop {
            // A folder that cannot be read is the next tick's to tell of.
            let now: HashSet<String> =
                self.letters().unwrap_or_default().into_iter().chain(self.words()).collect();
            let new = {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                let new = !now.is_subset(&seen);
                *seen = now;
                new
            };
            if new {
                return;
            }
            sleep(GLANCE).await;
        }
    }

    async fn end_asked(&self) -> Result<bool, BoxError> {
        Ok(self.folder.join(END).is_file())
    }

    async fn rotation_asked(&self) -> Result<Option<Address>, BoxError> {
        let mut text = String::new();
        let read = match File::open(self.folder.join(ROTATE)) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.and_then(|file| file.take(ADDRESS).read_to_string(&mut text)),
        };
        // What is no address names no key.
        Ok(read.ok().and_then(|_length| text.trim().parse().ok()))
    }

    async fn runway(&self) -> Result<Option<SentRunway>, BoxError> {
        if fs::symlink_metadata(self.folder.join(RUNWAY)).is_err() {
            return Ok(None);
        }
        match self.text(RUNWAY).and_then(|text| SentRunway::read(&text)) {
            Ok(runway) => Ok(Some(runway)),
            Err(words) => {
                self.put_aside(RUNWAY, &Value::Null, &words)?;
                Ok(None)
            }
        }
    }

    async fn runway_answered(&self, runway: &SentRunway, words: &str) -> Result<(), BoxError> {
        // One that came meanwhile is another, and looked at next.
        if self.text(RUNWAY).and_then(|text| SentRunway::read(&text)).is_ok_and(|it| it == *runway)
        {
            self.put_aside(RUNWAY, &runway.written()?, words)?;
        }
        Ok(())
    }

    async fn noticed(&self) -> Result<(), BoxError> {
        for name in self.words().filter(|name| name != END && name != RUNWAY) {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(self.fault()(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl FolderInbox {
    /// Names of files that are words and no letters.
    fn words(&self) -> impl Iterator<Item = String> {
        let is_word = |name: &String| {
            [END, ROTATE, RUNWAY].contains(&name.as_str()) || name.starts_with(ANSWER)
        };
        let folder = self.folder.clone();
        let names = named(&self.folder).unwrap_or_default();
        names.into_iter().filter(is_word).filter(move |name| folder.join(name).is_file())
    }
}

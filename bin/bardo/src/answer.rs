use alloy::primitives::B256;
use golem_chain::{ChainFault, DeployError, LaneFault, OperationsFault, OwnerError, printable};
use golem_custody::redact;
use serde_json::{Value, json};
use std::{
    io::{self, Write, stderr, stdout},
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

/// What a command found out.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Yes, or a refusal.
    pub(crate) yes: bool,
    /// For programs.
    pub(crate) json: Value,
    /// For people; may be empty where everything was said on the way.
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn yes(json: Value, text: impl Into<String>) -> Self {
        Self { yes: true, json, text: text.into() }
    }

    pub(crate) fn no(json: Value, text: impl Into<String>) -> Self {
        Self { yes: false, json, text: text.into() }
    }

    /// The same, with one thing more for programs.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(fields) = &mut self.json {
            fields.insert(name.to_owned(), value.into());
        }
        self
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The caller's words or files are off.
    Use(anyhow::Error),
    /// Something did not work.
    Fault(anyhow::Error),
    /// The same of a question that has a yes and a no: it is neither.
    Undecided(anyhow::Error),
}

impl Failure {
    /// The error, whoever is to mend it.
    pub(crate) fn why(self) -> anyhow::Error {
        match self {
            Self::Use(error) | Self::Fault(error) | Self::Undecided(error) => error,
        }
    }

    /// What a question whether something is allowed comes to where something did not work.
    pub(crate) fn undecided(self) -> Self {
        match self {
            Self::Fault(error) => Self::Undecided(error),
            other => other,
        }
    }
}

/// Marks an error as the caller's to mend.
pub(crate) trait OrUse<T> {
    fn or_use(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrUse<T> for Result<T, E> {
    fn or_use(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::Use(error.into()))
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Fault(error.into())
    }
}

/// Answers words that are no command: help and version are answers, the rest is wrong use.
pub(crate) fn misused(error: &clap::Error) -> ExitCode {
    let asked = !error.use_stderr();
    if !asked && std::env::args().any(|word| word == "--json") {
        let words = error.to_string();
        // What is wrong comes first, then how it should be.
        let what: Vec<&str> =
            words.lines().map(str::trim).take_while(|line| !line.starts_with("Usage")).collect();
        let what = what.join(" ");
        let error = redact(what.trim_start_matches("error: ").trim());
        let _ = say(&json!({ "error": error, "code": null, "sent": [] }).to_string());
    }
    // A reader that has gone away has seen enough.
    let _ = if asked {
        error.print()
    } else {
        // It repeats what was typed, and somebody types a key where a file is asked for.
        write!(stderr(), "{}", redact(&error.to_string()))
    };
    ExitCode::from(if asked { 0 } else { 2 })
}

/// A panic says where it was and why, and nothing that has the form of a key.
pub(crate) fn redact_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let _ = writeln!(stderr(), "bardo: {}", redact(&panic.to_string()));
    }));
}

/// Prints the answer, or the talk about its absence.
pub(crate) fn finish(result: Result<Answer, Failure>, json: bool) -> ExitCode {
    let (code, written) = match result {
        Ok(answer) => {
            let text = if json { answer.json.to_string() } else { answer.text };
            (if answer.yes { 0 } else { 1 }, say(&text))
        }
        Err(failure) => {
            // What is the caller's to mend repeats his words and files, and they may be a key; hashes are in faults.
            let repeats = matches!(failure, Failure::Use(_));
            let undecided = matches!(failure, Failure::Undecided(_));
            let (code, error) = match failure {
                Failure::Use(error) => (2, error),
                // Nothing was sent: that is a no, and not something that did not work.
                Failure::Fault(error) if by_owner(&error).is_some_and(OwnerError::is_refusal) => {
                    (1, error)
                }
                Failure::Fault(error) | Failure::Undecided(error) => (3, error),
            };
            // Causes, outermost first; each message leaves its source to the next.
            let words = error
                .chain()
                .map(|cause| printable(&cause.to_string()))
                .collect::<Vec<_>>()
                .join(": ");
            let words = match advice(&error) {
                Some(advice) => format!("{words}; {advice}"),
                None => words,
            };
            let words = if repeats { redact(&words).into_owned() } else { words };
            if json {
                let mut said = json!({ "error": words, "code": name(&error), "sent": told() });
                if let (1, Value::Object(fields)) = (code, &mut said) {
                    fields.insert("reason".to_owned(), words.clone().into());
                }
                // What could not be decided is not allowed, and not refused either.
                if let (true, Value::Object(fields)) = (undecided, &mut said) {
                    fields.insert("allowed".to_owned(), Value::Null);
                    fields.insert("reason".to_owned(), words.clone().into());
                    fields.insert("enforcer".to_owned(), Value::Null);
                    fields.insert("changes".to_owned(), json!([]));
                    fields.entry("code").and_modify(|code| {
                        if code.is_null() {
                            *code = "UNDECIDED".into();
                        }
                    });
                }
                let _ = say(&said.to_string());
            }
            (code, writeln!(stderr(), "bardo: {words}"))
        }
    };
    match written {
        // A reader that has gone away, as `head` does, has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(3),
        _ => ExitCode::from(code),
    }
}

/// Which fault it was, for programs. What passes on another error's words is not among the causes, and asked itself.
fn name(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let lane = || cause.downcast_ref::<LaneFault>().map(LaneFault::code);
        let chain = || cause.downcast_ref::<ChainFault>().map(ChainFault::code);
        let bundler = || cause.downcast_ref::<OperationsFault>().and_then(OperationsFault::code);
        let deploy = || cause.downcast_ref::<DeployError>().and_then(DeployError::code);
        let owner = || cause.downcast_ref::<OwnerError>().and_then(OwnerError::code);
        let by_name = || lane().or_else(chain).or_else(bundler).map(str::to_owned);
        by_name().or_else(owner).or_else(deploy)
    })
}

/// What went wrong with an owner's transaction, whatever command made it.
fn by_owner(error: &anyhow::Error) -> Option<&OwnerError> {
    error.chain().find_map(|cause| {
        let deploy = || match cause.downcast_ref() {
            Some(DeployError::Owner(owner)) => Some(owner),
            _ => None,
        };
        cause.downcast_ref().or_else(deploy)
    })
}

/// What somebody can do about it.
fn advice(error: &anyhow::Error) -> Option<&'static str> {
    match by_owner(error)? {
        OwnerError::FeeCeiling { .. } => Some("--fee-ceiling says how much it may cost"),
        _ => None,
    }
}

/// What was signed and handed to somebody, as long as this process runs.
static TOLD: Mutex<Vec<B256>> = Mutex::new(Vec::new());

/// Says what is sent, before it is: whatever happens next, the sender can look it up.
pub(crate) fn tell(hash: B256) {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner).push(hash);
    let _ = writeln!(stderr(), "sending {hash}");
}

fn told() -> Vec<B256> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn say(text: &str) -> io::Result<()> {
    if text.is_empty() { Ok(()) } else { writeln!(stdout(), "{}", text.trim_end()) }
}

use super::LocalError;
use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Read},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Runs "$@" and ends it as soon as our side of the pipe on standard input is closed. The kernel
/// closes it when this process ends in any way, kill -9 included; no signal handler, no unsafe
/// code, no orphan. A program that does not go when asked is ended after five seconds. (A shell
/// starts its background jobs deaf to SIGINT; SIGTERM is always heard.)
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{
  cat <&3 >/dev/null
  kill -TERM "$child"
  tries=50
  while [ "$tries" -gt 0 ] && kill -0 "$child"; do
    sleep 0.1
    tries=$((tries - 1))
  done
  kill -KILL "$child"
} >/dev/null 2>&1 &
exec 3<&-
wait "$child"
"#;

/// How long a program may take until it is ready.
const START: Duration = Duration::from_secs(60);

/// How many of a program's lines are kept to quote when it fails.
const LAST_WORDS: usize = 12;

/// A process that cannot outlive this one.
#[derive(Debug)]
pub(super) struct Guarded {
    lifeline: Option<ChildStdin>,
    shell: Child,
}

impl Guarded {
    /// Starts a program and waits for the line in which `ready` finds its port.
    pub(super) fn start(
        program: &'static str,
        words: &[OsString],
        environment: &[(&str, &str)],
        ready: impl Fn(&str) -> Option<u16>,
    ) -> Result<(Self, u16), LocalError> {
        let failed = |said: String, source| LocalError::Start { program, said, source };
        let mut shell = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .args(words)
            .envs(environment.iter().copied())
            .env("DO_NOT_TRACK", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| failed(String::new(), source))?;
        let lifeline = shell.stdin.take();

        // Threads, not tasks: the program may outlive the runtime that started it, and a pipe
        // that nobody reads would stop it.
        let (sender, lines) = mpsc::channel();
        if let Some(stream) = shell.stdout.take() {
            forward(stream, sender.clone());
        }
        if let Some(stream) = shell.stderr.take() {
            forward(stream, sender.clone());
        }
        drop(sender);

        let guarded = Self { lifeline, shell };
        let mut said: Vec<String> = Vec::new();
        let deadline = Instant::now() + START;
        while let Ok(line) = lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if let Some(port) = ready(&line) {
                return Ok((guarded, port));
            }
            said.push(line);
            if said.len() > LAST_WORDS {
                said.remove(0);
            }
        }
        Err(failed(said.join("\n"), io::Error::other("it ended, or did not get ready in time")))
    }

    /// The shell that guards the program.
    pub(super) fn pid(&self) -> u32 {
        self.shell.id()
    }
}

impl Drop for Guarded {
    /// Ends the program and waits until it is gone.
    fn drop(&mut self) {
        self.lifeline.take();
        // A shell that cannot be waited for is gone already.
        let _ = self.shell.wait();
    }
}

fn forward(stream: impl Read + Send + 'static, sender: mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Nobody listens any more once the program is ready.
            let _ = sender.send(line);
        }
    });
}

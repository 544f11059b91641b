//! A subscriber's process is killed -9 between everything that it does: it hears the same again, and nothing is left out.

use crate::kit::{NOW, fabric, folder, tick};
use golem_custody::crash;
use golem_runtime::Start;
use std::{
    env,
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SIGKILL: i32 = 9;
const EVENTS: u64 = 6;

/// Says a line, at once and whole.
fn say(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Emits and listens, one after the other, and says what it did once it did it.
async fn listen(folder: &Path) {
    let (_store, fabric) = fabric(folder);
    let mut subscription = fabric.subscribe("report", Start::Beginning).await.unwrap();
    loop {
        let sequence = fabric.length() + 1;
        if sequence <= EVENTS {
            let sequence = fabric.emit(&tick(sequence), NOW).await.unwrap();
            crash::at("emitted");
            say(&format!("emitted {sequence}"));
        } else if subscription.lag() == 0 {
            say("done 0");
            return;
        }
        let told = subscription.next().await.unwrap();
        crash::at("told");
        assert_eq!(told.event, tick(told.sequence));
        say(&format!("handled {}", told.sequence));
        crash::at("handled");
        subscription.ack(told.sequence).await.unwrap();
        crash::at("acked");
        say(&format!("acked {}", told.sequence));
    }
}

/// Run by the test runner it sees that a child without a part does nothing that a test could take for one.
#[test]
fn a_child_plays_its_part() {
    let Some(folder) = env::var_os("BARDO_FOLDER").map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(listen(&folder));
}

/// One process, killed at a named place, or by its parent once it has said so many lines. What it said.
fn life(folder: &Path, at: Option<&str>, lines: usize) -> (Vec<(String, u64)>, bool) {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["kills::a_child_plays_its_part", "--exact", "--nocapture"])
        .env("BARDO_FOLDER", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if let Some(at) = at {
        command.env("BARDO_CRASH_AT", at);
    }
    let mut child = command.spawn().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let (what, number) = line.split_once(' ').unwrap_or_else(|| panic!("it said {line}"));
        said.push((what.to_owned(), number.parse().unwrap_or_else(|_| panic!("it said {line}"))));
        if said.len() == lines {
            // What it said meanwhile is read all the same.
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    let killed = status.signal() == Some(SIGKILL);
    assert!(killed || status.success(), "{status}");
    (said, killed)
}

/// What all of a subscriber's processes together were told and said.
#[derive(Default)]
struct Heard {
    /// The last one that it said it had acknowledged.
    acked: u64,
    /// The last one that it had in hand.
    handled: u64,
    again: usize,
}

impl Heard {
    #[track_caller]
    fn of(&mut self, said: &[(String, u64)]) {
        let mut first = true;
        for (what, number) in said {
            match what.as_str() {
                "handled" if first => {
                    first = false;
                    // The disk may have an acknowledgement that was not said any more.
                    let next = self.acked + 1..=self.handled + 1;
                    assert!(next.contains(number), "{number} is not in {next:?}");
                    self.again += usize::from(*number <= self.handled);
                    self.handled = *number;
                }
                "handled" => {
                    assert_eq!(*number, self.handled + 1, "one was left out");
                    self.handled = *number;
                }
                "acked" => {
                    assert_eq!(*number, self.handled);
                    self.acked = *number;
                }
                _ => {}
            }
        }
    }

    fn ends(mut self, folder: &Path) -> usize {
        let (said, killed) = life(folder, None, usize::MAX);
        self.of(&said);
        assert!(!killed && said.last().unwrap().0 == "done");
        assert_eq!(self.handled, EVENTS, "all were heard");
        assert_eq!(crate::kit::records(folder).len() as u64, EVENTS, "and each is there once");
        self.again
    }
}

#[test]
fn killed_before_it_acknowledges_it_hears_the_same_again_and_nothing_is_left_out() {
    for point in ["emitted", "told", "handled", "acked"] {
        let folder = folder();
        let mut heard = Heard::default();
        for _ in 0..4 {
            let (said, killed) = life(folder.path(), Some(point), usize::MAX);
            assert!(killed, "{point}");
            heard.of(&said);
        }
        let again = heard.ends(folder.path());
        assert_eq!(again > 0, point == "handled", "{point}: {again} were heard twice");
    }
}

#[test]
fn killed_at_any_moment_it_goes_on_where_it_was() {
    for lines in 1..=9 {
        let folder = folder();
        let mut heard = Heard::default();
        for _ in 0..3 {
            let (said, _) = life(folder.path(), None, lines);
            heard.of(&said);
        }
        heard.ends(folder.path());
    }
}

use serde::Serialize;
use std::io::{IsTerminal, Write, stderr, stdout};

/// One thing that was tried.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    title: String,
    expected: bool,
    detail: String,
}

/// Tells the story and keeps count.
#[derive(Debug)]
pub(super) struct Narrator {
    steps: Vec<Step>,
    json: bool,
    colour: bool,
}

impl Narrator {
    pub(super) fn new(json: bool) -> Self {
        Self { steps: Vec::new(), json, colour: !json && stdout().is_terminal() }
    }

    /// Background, on standard error.
    pub(super) fn say(&self, text: &str) {
        // A story nobody listens to must not stop the play.
        let _ = writeln!(stderr(), "     {text}");
    }

    /// A new owner.
    pub(super) fn scene(&self, title: &str) {
        if !self.json {
            let _ = writeln!(stdout(), "\n{title}");
        }
    }

    /// Counts a step and says how it went.
    pub(super) fn step(&mut self, title: &str, expected: bool, detail: impl FnOnce() -> String) {
        let step = Step { title: title.into(), expected, detail: detail() };
        if !self.json {
            let (mark, colour) = if expected { ("ok", "32") } else { ("SURPRISE", "31") };
            let mark =
                if self.colour { format!("\x1b[{colour}m{mark}\x1b[0m") } else { mark.into() };
            let number = self.steps.len() + 1;
            let _ =
                writeln!(stdout(), "{number:>3}. {mark} {}\n        {}", step.title, step.detail);
        }
        self.steps.push(step);
    }

    /// Something did not work at all.
    pub(super) fn fault(&mut self, error: &anyhow::Error) {
        let words = error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": ");
        self.step("the play could not go on", false, || words);
    }

    pub(super) const fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn surprises(&self) -> usize {
        self.steps.iter().filter(|step| !step.expected).count()
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

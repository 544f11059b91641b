//! Parts that child processes play: this test binary again, with one test and a few words in its environment.
//!
//! A child speaks on standard error, a line at a time; standard output belongs to the test runner.

use crate::{consents, deaths, durability, kills, lives, opening, owner};
use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A child that plays `role`.
pub(crate) fn child(role: &str, folder: &Path) -> Command {
    child_of(&env::current_exe().unwrap(), role, folder)
}

/// The same of a copy of this binary.
pub(crate) fn child_of(binary: &Path, role: &str, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    dress(&mut command, role, folder);
    command
}

/// Words and environment of a child, for a command that starts it through another program.
pub(crate) fn dress(command: &mut Command, role: &str, folder: &Path) {
    command
        .args(["roles::a_child_plays_its_part", "--exact", "--nocapture"])
        .env("BARDO_ROLE", role)
        .env("BARDO_FOLDER", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
}

/// Says a line, at once and whole.
pub(crate) fn say(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

pub(crate) fn setting(name: &str) -> u64 {
    env::var(name).unwrap().parse().unwrap()
}

/// Run by the test runner it sees that a child without a part fails, so that none of the others can seem to have played one.
#[test]
fn a_child_plays_its_part() {
    let Ok(role) = env::var("BARDO_ROLE") else {
        let nobody = child("nobody", Path::new(".")).status().unwrap();
        assert!(!nobody.success());
        return;
    };
    let folder = PathBuf::from(env::var_os("BARDO_FOLDER").unwrap());
    match role.as_str() {
        "hold" => opening::hold(&folder),
        "try" => opening::try_to_write(&folder),
        "fill" => opening::fill(&folder),
        "flood" => opening::flood(&folder),
        "load" => kills::load(&folder),
        "one-by-one" => durability::one_by_one(&folder),
        "live" => lives::live(&folder),
        "race" => owner::race(&folder),
        "die" => deaths::die(&folder),
        "choose" => deaths::choose(&folder),
        "propose" => consents::propose(&folder),
        other => panic!("no role {other}"),
    }
}

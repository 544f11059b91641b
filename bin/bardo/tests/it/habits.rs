//! Habits every command has.

use crate::command::{Ran, bardo};
use anyhow::Result;

const COMMANDS: &[&[&str]] = &[
    &["audit", "export"],
    &["audit", "verify"],
    &["bequest", "open"],
    &["caveat", "decode"],
    &["caveat", "encode"],
    &["caveat", "kinds"],
    &["chains"],
    &["chains", "check"],
    &["completions"],
    &["delegation", "explain"],
    &["delegation", "revoke"],
    &["delegation", "attenuates"],
    &["delegation", "blast-radius"],
    &["delegation", "hash"],
    &["delegation", "sign"],
    &["delegation", "tree"],
    &["delegation", "verify"],
    &["delegation", "simulate"],
    &["delegation", "status"],
    &["delegation", "redeem"],
    &["demo"],
    &["deploy"],
    &["golem", "feed"],
    &["golem", "grant"],
    &["golem", "adjust"],
    &["golem", "approvals"],
    &["golem", "approve"],
    &["golem", "deny"],
    &["golem", "rotate"],
    &["golem", "history"],
    &["golem", "kill"],
    &["golem", "list"],
    &["golem", "replicate"],
    &["golem", "report"],
    &["golem", "run"],
    &["golem", "runway"],
    &["golem", "status"],
    &["golem", "watch"],
    &["identity", "register"],
    &["identity", "same-owner"],
    &["identity", "show"],
    &["onboard"],
    &["permission", "explain"],
    &["permission", "health"],
    &["registry", "advance"],
    &["registry", "attach"],
    &["registry", "dream"],
    &["registry", "feed"],
    &["registry", "pad"],
    &["registry", "register"],
    &["registry", "status"],
    &["registry", "vitality"],
    &["session", "new"],
    &["session", "show"],
    &["up"],
    &["vault", "create"],
    &["vault", "status"],
    &["vault", "withdraw"],
    &["wallet", "status"],
    &["wallet", "sweep"],
];

#[test]
fn every_command_explains_itself_with_an_example_and_offers_json() -> Result<()> {
    for command in COMMANDS {
        let help = bardo(command.iter().chain(&["--help"]))?;
        assert_eq!(help.code, 0, "{command:?}");
        assert!(help.stdout.contains("Example"), "{command:?}: {}", help.stdout);
        assert!(help.stdout.contains("--json"), "{command:?}");
        assert!(help.stderr.is_empty(), "{command:?}");
    }
    Ok(())
}

fn listed(words: &[&str]) -> Result<Vec<String>> {
    let help = bardo(words.iter().chain(&["--help"]))?.stdout;
    Ok(help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .map(str::to_owned)
        .collect())
}

#[test]
fn the_list_of_commands_is_complete() -> Result<()> {
    let mut found = Vec::new();
    for first in listed(&[])? {
        let inner = listed(&[&first])?;
        // One that has others under it may do something by itself.
        let optional = bardo([&first, "--help"])?.stdout.contains("[COMMAND]");
        if inner.is_empty() || optional {
            found.push(first.clone());
        }
        found.extend(inner.iter().map(|second| format!("{first} {second}")));
    }
    let mut tested: Vec<String> = COMMANDS.iter().map(|words| words.join(" ")).collect();
    tested.sort();
    found.sort();

    assert_eq!(found, tested);
    Ok(())
}

#[test]
fn wrong_use_in_json_is_json_too() -> Result<()> {
    for words in [&["--json", "no-such-command"][..], &["deploy", "--json"]] {
        let ran = bardo(words)?;
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.json()?["error"].is_string(), "{ran:?}");
    }
    Ok(())
}

/// ATK-35: what a provider put into the URL is not shown, in words or in JSON.
#[test]
fn no_answer_quotes_the_urls_secrets() -> Result<()> {
    let url = "http://user:secret@127.0.0.1:1/v2/APIKEY?key=QUERY";
    for more in [&[][..], &["--json"]] {
        let ran = bardo([&["deploy", "--check", "--rpc", url], more].concat())?;
        assert_eq!(ran.code, 3);
        for secret in ["secret", "APIKEY", "QUERY"] {
            assert!(!ran.stderr.contains(secret) && !ran.stdout.contains(secret), "{ran:?}");
        }
    }
    Ok(())
}

#[test]
fn wrong_use_exits_2_and_talks_on_standard_error() -> Result<()> {
    for words in [
        &["no-such-command"][..],
        &["deploy"],
        &["delegation", "hash", "/no/such/file"],
        &["delegation", "simulate", "--rpc", "not a url"],
        &["completions", "no-such-shell"],
        &["caveat", "encode", "--kind", "noSuchKind", "--params", "{}"],
        &["caveat", "encode", "--kind", "id"],
        &["caveat", "decode", "--enforcer", "0x01", "--terms", "0x"],
        &["caveat", "decode", "--enforcer", &"11".repeat(20), "--terms", "0x"],
        &["caveat", "decode", "--enforcer", &format!("0x{}", "11".repeat(20)), "--terms", "01"],
        &["caveat", "decode", "--enforcer", &format!("0x{}", "11".repeat(20)), "--terms", "0x1"],
        &["caveat", "decode", "--enforcer", &format!("0x{}", "11".repeat(20)), "--terms", "0x0x11"],
        &["deploy", "--rpc", "ftp://127.0.0.1", "--check"],
        &["deploy", "--rpc", "file:///etc/passwd", "--check"],
        // No key, and no such chain: seen before any node is asked.
        &["deploy", "--rpc", "http://127.0.0.1:1"],
        &["chains", "check", "--rpc", "http://127.0.0.1:1", "--chain", "atlantis"],
    ] {
        let ran = bardo(words)?;
        assert_eq!(ran.code, 2, "{words:?} {ran:?}");
        assert!(ran.stdout.is_empty(), "{words:?}");
        assert!(!ran.stderr.is_empty(), "{words:?}");
    }
    Ok(())
}

#[test]
fn a_fault_exits_3_and_says_what_to_do() -> Result<()> {
    let Ran { code, stdout, stderr } = bardo(["deploy", "--rpc", "http://127.0.0.1:1", "--check"])?;

    assert_eq!(code, 3);
    assert!(stdout.is_empty());
    assert!(stderr.contains("check the URL"), "{stderr}");
    Ok(())
}

#[test]
fn a_fault_in_json_is_json_too() -> Result<()> {
    let ran = bardo(["deploy", "--rpc", "http://127.0.0.1:1", "--check", "--json"])?;

    assert_eq!(ran.code, 3);
    assert!(ran.json()?["error"].as_str().is_some_and(|words| words.contains("does not answer")));
    Ok(())
}

#[test]
fn completions_are_made_for_common_shells() -> Result<()> {
    for shell in ["bash", "zsh", "fish"] {
        let ran = bardo(["completions", shell])?;
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("delegation"), "{shell}");
    }
    Ok(())
}

#[test]
fn chains_are_the_six_of_the_spec() -> Result<()> {
    let ran = bardo(["chains", "--json"])?;

    let mut ids: Vec<u64> =
        ran.json()?.as_array().unwrap().iter().filter_map(|c| c["chainId"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 8453, 42161, 42220, 84532, 11_155_111]);
    Ok(())
}

/// A reader that goes away has seen enough.
#[test]
fn a_closed_pipe_is_no_fault() -> Result<()> {
    let script = format!(
        "{} completions bash | head -c 1; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_bardo")
    );

    let output = std::process::Command::new("bash").args(["-c", &script]).output()?;

    let said = String::from_utf8(output.stdout)?;
    assert!(said.trim_end().ends_with('0') || said.trim_end().ends_with("141"), "{said}");
    assert!(!said.trim_end().ends_with('3'), "{said}");
    Ok(())
}

/// SPEC K2, ATK-35: who types a key where a file is asked for, or names a file that is not what it should be, does not find it in a
/// log.
#[test]
fn a_key_in_the_wrong_place_is_not_repeated() -> Result<()> {
    const KEY: &str = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
    let wrong: [&[&str]; 4] = [
        &["session", "show", KEY],
        &["--json", "session", "show", KEY],
        &["delegation", "hash", KEY],
        &["--json", "delegation", "hash", KEY],
    ];
    for words in wrong {
        let ran = bardo(words)?;

        assert_eq!(ran.code, 2, "{words:?}");
        assert!(ran.stderr.contains("[redacted]"), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains(KEY) && !ran.stdout.contains(KEY), "{words:?}");
    }
    Ok(())
}

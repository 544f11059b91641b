//! `bardo delegation blast-radius`, and the example of its guide.
//!
//! `BLESS_BLAST_RADIUS=1` rewrites the example's files and what the guide quotes of the answer.

use crate::command::{bardo, bardo_with};
use alloy::primitives::{Address, B256, Bytes, U256};
use anyhow::{Context, Result};
use bardo_testkit::root;
use golem_chain::environment;
use golem_delegation::{
    Delegation, ROOT_AUTHORITY, Rule,
    terms::{Classes, GolemCharter, ListedTarget, ListedToken, Listing, MortalityTimeWindow, Role},
};
use serde_json::{Value, json};
use std::{env, fs};

const GUIDE: &str = "docs/guides/blast-radius.md";
const GRANT: &str = "testdata/blast-radius/grant.json";
const FACTS: &str = "testdata/blast-radius/facts.json";
/// 2026-11-15 00:00 UTC.
const NOW: u64 = 1_794_700_800;
const ACCOUNT: Address = Address::repeat_byte(0xac);
const KEY: Address = Address::repeat_byte(0x5e);
const OWNER: Address = Address::repeat_byte(0x0e);
const USDC: Address = Address::repeat_byte(0xdc);
const WETH: Address = Address::repeat_byte(0xe7);
const VAULT: Address = Address::repeat_byte(0x7a);
const GOLEM: B256 = B256::repeat_byte(0x60);

/// A thousand dollars a day, one per cent, 0.02 ether of gas money a day, for a week.
fn grant() -> Result<Delegation> {
    let token = |token, role, token_decimals| ListedToken {
        token,
        role: Some(role),
        feed: Address::repeat_byte(0xfe),
        token_decimals,
        feed_decimals: 8,
        max_age: 3_600,
    };
    let target = |target, role| ListedTarget { target, role };
    let charter = GolemCharter {
        golem_id: GOLEM,
        owner: OWNER,
        epoch: 1,
        generation: 0,
        registry: Address::repeat_byte(0x4e),
        account: ACCOUNT,
        beneficiary: OWNER,
        agent_key: KEY,
        replicants: false,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(NOW, NOW + 7 * 86_400 - 1)?,
        spend_cap: 1_000_000_000,
        bucket_minutes: 120,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 1_000_000_000,
        staleness: 86_400,
        gas_ceiling: 20_000_000,
        gas_daily_cap: 20_000_000,
        settlement_asset: USDC,
        max_royalty_bps: None,
        mood: None,
        listing: Listing {
            sequencer_feed: Address::ZERO,
            sequencer_grace: 0,
            tokens: vec![token(USDC, Role::Token, 6), token(WETH, Role::Weth, 18)],
            targets: vec![
                target(Address::repeat_byte(0x10), Role::SwapRouter02),
                target(VAULT, Role::Vault),
                target(KEY, Role::AgentKey),
            ],
        },
    };
    let caveat = environment().caveat(&Rule::GolemCharter(Box::new(charter)))?;
    Ok(Delegation {
        delegate: KEY,
        delegator: ACCOUNT,
        authority: ROOT_AUTHORITY,
        caveats: vec![caveat.context("the charter stands nowhere")?],
        salt: U256::ZERO,
        signature: Bytes::new(),
    })
}

/// 10,000 dollars and 1,000 more in the vault, 10 ether and one wrapped at $2,500; the key has 0.01.
fn facts() -> Value {
    let token = |token: Address,
                 decimals: &str,
                 answer: &str,
                 balance: &str,
                 in_vaults: &str,
                 key: &str| {
        json!({
            "token": token, "decimals": decimals, "price": { "answer": answer, "decimals": "8" },
            "balance": balance, "inVaults": in_vaults, "keyBalance": key,
        })
    };
    json!({
        "disabled": [],
        "charters": [{
            "delegator": ACCOUNT, "golemId": GOLEM, "spendWindow": "0", "gasWindow": "0", "settlement": "0",
            "minEpoch": "1", "generation": "0",
        }],
        "counters": [],
        "vaults": [{ "vault": VAULT, "asset": USDC }],
        "tokens": [
            token(Address::ZERO, "18", "250000000000", "10000000000000000000", "0", "10000000000000000"),
            token(USDC, "6", "100000000", "10000000000", "1000000000", "0"),
            token(WETH, "18", "250000000000", "1000000000000000000", "0", "0"),
        ],
    })
}

/// The committed file is what is made here.
fn committed(path: &str, made: &str) -> Result<()> {
    let file = root().join(path);
    if env::var_os("BLESS_BLAST_RADIUS").is_some() {
        fs::create_dir_all(file.parent().context("no folder")?)?;
        fs::write(&file, made)?;
    }
    assert!(
        fs::read_to_string(&file)? == made,
        "{path} is not what is made; run with BLESS_BLAST_RADIUS=1 and commit it"
    );
    Ok(())
}

/// The guide with its answer between the marks.
fn quoting(guide: &str, answer: &str) -> Result<String> {
    let (begin, end) = ("<!-- answer -->\n```text\n", "\n```\n<!-- end -->");
    let (before, rest) = guide.split_once(begin).context("the guide has no answer")?;
    let (_, after) = rest.split_once(end).context("the guide's answer has no end")?;
    Ok(format!("{before}{begin}{answer}{end}{after}"))
}

#[test]
fn the_guides_example_is_what_the_command_answers() -> Result<()> {
    committed(GRANT, &format!("{}\n", serde_json::to_string_pretty(&grant()?)?))?;
    committed(FACTS, &format!("{}\n", serde_json::to_string_pretty(&facts())?))?;
    let now = NOW.to_string();

    let ran = bardo(["delegation", "blast-radius", GRANT, "--facts", FACTS, "--now", &now])?;

    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let guide = fs::read_to_string(root().join(GUIDE))?;
    committed(GUIDE, &quoting(&guide, ran.stdout.trim_end())?)
}

#[test]
fn programs_get_decimal_strings_a_series_and_the_sentence() -> Result<()> {
    let grant = serde_json::to_string(&grant()?)?;
    let now = NOW.to_string();
    let words = ["delegation", "blast-radius", "-", "--facts", FACTS, "--now", &now, "--json"];

    let json = bardo_with(&grant, words)?.json()?;

    assert_eq!(json["bounded"], true);
    assert_eq!(json["total"], json["days"][6]["cumulative"]);
    assert_eq!(json["series"].as_array().map(Vec::len), Some(8));
    assert_eq!(json["series"][7]["microDollars"], json["total"]);
    assert!(json["sentence"].as_str().is_some_and(|said| said.starts_with("Whoever steals")));
    Ok(())
}

#[test]
fn without_facts_it_says_what_is_not_known() -> Result<()> {
    let grant = serde_json::to_string(&grant()?)?;

    let said = bardo_with(&grant, ["delegation", "blast-radius", "-", "--now", "1794700800"])?;
    let json =
        bardo_with(&grant, ["delegation", "blast-radius", "-", "--now", "1794700800", "--json"])?;

    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("and what cannot be told"), "{}", said.stdout);
    assert!(said.stdout.contains("not known"), "{}", said.stdout);
    assert_eq!(json.json()?["total"], Value::Null);
    assert_eq!(json.json()?["bounded"], false);
    Ok(())
}

#[test]
fn by_the_clock_of_today_an_old_grant_is_over() -> Result<()> {
    let mut old = grant()?;
    old.caveats.push(
        environment()
            .caveat(&Rule::MortalityTimeWindow(MortalityTimeWindow::new(1, 2)?))?
            .context("none")?,
    );

    let ran = bardo_with(&serde_json::to_string(&old)?, ["delegation", "blast-radius", "-"])?;

    assert!(
        ran.stdout.contains("can do nothing with the grant: it ended on 1970-01-01"),
        "{}",
        ran.stdout
    );
    Ok(())
}

#[test]
fn facts_that_are_none_are_wrong_use() -> Result<()> {
    let grant = serde_json::to_string(&grant()?)?;
    let folder = tempfile::tempdir()?;
    for odd in [r#"{"phase":"4"}"#, r#"{"tokens":[{"token":"0x00"}]}"#, "[]", r#"{"disabled":[1]}"#]
    {
        let file = folder.path().join("facts.json");
        fs::write(&file, odd)?;
        let file = file.display().to_string();
        let ran = bardo_with(&grant, ["delegation", "blast-radius", "-", "--facts", &file])?;
        assert_eq!(ran.code, 2, "{odd}: {ran:?}");
    }
    Ok(())
}

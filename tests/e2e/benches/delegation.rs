//! How fast delegations are hashed, signed, verified and decoded, beside MetaMask's kit in Node.
//!
//! Both sides get the same delegation of seven caveats, in the same run on the same machine, and
//! must give the same hash, digest, signature and links. Times are reported and not asserted:
//! what lasts is the ratio. `target/bench/delegation.json` keeps the numbers.

use alloy::primitives::{Address, B256, Bytes, U256, address, bytes, fixed_bytes};
use anyhow::{Context, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_testkit::{fixed_signer, root};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, SigningDomain,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, LimitedCalls, Redeemer, Timestamp,
        ValueLte,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    hint::black_box,
    io::Write,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const KEY: u8 = 0x0b;
const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(200);
/// Share of all cores' time that others may take before numbers mean nothing.
const BUSY: f64 = 0.25;

/// What the kit did, and how often in a second.
#[derive(Debug, Deserialize)]
struct Kit {
    version: String,
    node: String,
    hash: B256,
    digest: B256,
    signature: Bytes,
    links: Vec<Delegation>,
    chain: Vec<Delegation>,
    verified: bool,
    rates: BTreeMap<String, f64>,
}

fn main() -> Result<()> {
    let busy = busy()?;
    ensure!(
        busy < BUSY || std::env::var_os("BENCH_BUSY").is_some(),
        "the machine is busy ({:.0} % of its time): try later, or set BENCH_BUSY=1",
        busy * 100.0
    );

    let owner = fixed_signer(KEY)?;
    let domain = SigningDomain { chain_id: 8453, manager: DELEGATION_MANAGER };
    let unsigned = seven_caveats(owner.address());
    let grant = owner.grant(&domain, unsigned.clone())?;
    let context = PermissionContext::new(vec![grant.clone()])?;
    let encoded = context.encode();
    ensure!(PermissionContext::decode(&encoded)? == context, "a context decodes to another");
    let chain = chain_of_three(&grant)?;
    let encoded_chain = chain.encode();
    ensure!(PermissionContext::decode(&encoded_chain)? == chain, "a chain decodes to another");

    let kit = kit(&json!({
        "delegation": grant,
        "context": encoded,
        "chain": encoded_chain,
        "privateKey": B256::repeat_byte(KEY),
        "signer": owner.address(),
        "chainId": domain.chain_id,
        "manager": domain.manager,
        "rounds": ROUNDS,
        "milliseconds": ROUND.as_millis(),
    }))?;
    ensure!(kit.hash == grant.hash().0, "the kit hashes something else");
    ensure!(kit.digest == domain.digest(&grant), "the kit signs something else");
    ensure!(kit.signature == grant.signature, "the kit's signature differs");
    ensure!(kit.links == context.links(), "the kit decodes something else");
    ensure!(kit.chain == chain.links(), "the kit decodes another chain");
    ensure!(kit.verified && domain.verify(&grant, owner.address()).is_ok(), "not verified");

    let ours: [(&str, f64); 6] = [
        ("hash", rate(|| black_box(&grant).hash())),
        ("digest", rate(|| domain.digest(black_box(&grant)))),
        ("decode", rate(|| PermissionContext::decode(black_box(&encoded)))),
        // Ours also checks that each link names the hash of the next; the kit's does not.
        ("decode of 3", rate(|| PermissionContext::decode(black_box(&encoded_chain)))),
        ("verify", rate(|| domain.verify(black_box(&grant), owner.address()))),
        ("sign", rate(|| owner.grant(&domain, black_box(unsigned.clone())))),
    ];

    let mut table = format!("{:<12}{:>14}{:>14}{:>10}\n", "per second", "Rust", "kit", "ratio");
    let mut rows = Vec::new();
    for (operation, rust) in ours {
        let kit = *kit.rates.get(operation).with_context(|| format!("no rate of {operation}"))?;
        let ratio = rust / kit;
        table += &format!("{operation:<12}{rust:>14.0}{kit:>14.0}{ratio:>10.1}\n");
        rows.push(json!({
            "operation": operation,
            "rustPerSecond": rust.round(),
            "kitPerSecond": kit.round(),
            "ratio": (ratio * 10.0).round() / 10.0,
        }));
    }
    write!(std::io::stdout(), "{table}")?;
    let result = json!({
        "caveats": grant.caveats.len(),
        "contextBytes": encoded.len(),
        "chainBytes": encoded_chain.len(),
        "cores": thread::available_parallelism()?.get(),
        "busy": (busy * 100.0).round() / 100.0,
        "node": kit.node,
        "kit": kit.version,
        "rows": rows,
    });
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("delegation.json"), format!("{result:#}\n"))?;
    Ok(())
}

/// One of each stock kind, of the size a swap needs.
fn seven_caveats(delegator: Address) -> Delegation {
    let session = Address::repeat_byte(0x5e);
    let router = address!("2626664c2603336E57B271c5C0b26F421741e481");
    let calldata = AllowedCalldata { start: U256::from(4), value: router.into_word().into() };
    let terms = [
        AllowedTargets(vec![router]).encode(),
        AllowedMethods(vec![fixed_bytes!("04e45aaf")]).encode(),
        calldata.encode(),
        ValueLte(U256::ZERO).encode(),
        LimitedCalls(U256::from(10)).encode(),
        Redeemer(vec![session]).encode(),
        Timestamp { after: 1_800_000_000, before: 1_800_604_800 }.encode(),
    ];
    let caveat = |(byte, terms)| Caveat::new(Address::repeat_byte(byte), terms);
    Delegation {
        delegate: session,
        delegator,
        authority: ROOT_AUTHORITY,
        caveats: (0xe0..).zip(terms).map(caveat).collect(),
        salt: U256::from(7),
        signature: bytes!(""),
    }
}

/// Two more links of the same size above `root`, leaf first.
fn chain_of_three(root: &Delegation) -> Result<PermissionContext> {
    let below = |parent: &Delegation, delegate| Delegation {
        delegate,
        delegator: parent.delegate,
        authority: parent.hash().0,
        ..root.clone()
    };
    let middle = below(root, Address::repeat_byte(0x5f));
    let leaf = below(&middle, Address::repeat_byte(0x60));
    Ok(PermissionContext::new(vec![leaf, middle, root.clone()])?)
}

/// Median of several rounds, after one that only warms up.
fn rate<T>(work: impl Fn() -> T) -> f64 {
    let round = || {
        let start = Instant::now();
        let mut done = 0_u32;
        while start.elapsed() < ROUND {
            // The clock is read once in 16 times, so that it is not what is measured.
            for _ in 0..16 {
                black_box(work());
            }
            done += 16;
        }
        f64::from(done) / start.elapsed().as_secs_f64()
    };
    round();
    let mut rates: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(ROUNDS / 2).copied().unwrap_or_default()
}

/// Runs `kit.mjs` on the same subject.
fn kit(subject: &Value) -> Result<Kit> {
    let mut node = Command::new("node")
        .arg(root().join("tests/e2e/benches/kit.mjs"))
        .current_dir(root())
        .env("DO_NOT_TRACK", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("node is needed")?;
    node.stdin.take().context("node has no stdin")?.write_all(subject.to_string().as_bytes())?;
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "kit.mjs failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Share of the machine's time that is taken while we do nothing.
fn busy() -> Result<f64> {
    let sample = || -> Result<(u64, u64)> {
        let stat = fs::read_to_string("/proc/stat").context("read /proc/stat")?;
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
        // The fourth and fifth: idle, and waiting for a disk.
        Ok((ticks.iter().take(8).sum(), ticks.iter().skip(3).take(2).sum()))
    };
    let (all, idle) = sample()?;
    thread::sleep(Duration::from_secs(1));
    let (all_then, idle_then) = sample()?;
    let share = |part: u64| Duration::from_millis(part).as_secs_f64();
    let (all, idle) = (all_then.saturating_sub(all), idle_then.saturating_sub(idle));
    Ok(if all == 0 { 0.0 } else { 1.0 - share(idle) / share(all) })
}

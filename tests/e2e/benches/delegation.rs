//! How fast delegations are hashed, signed, verified and decoded, beside MetaMask's kit in Node.
//!
//! Both sides get the same delegation of seven caveats, in the same run on the same machine, and
//! must give the same hash, digest, signature and links. Nobody else compares a child with its parent: that
//! stands beside our own hash of the same twelve caveats. How each grows is shown by a hundred times as much of it.
//! Times are reported and not asserted: what lasts is the ratio. `target/bench/delegation.json` keeps the numbers.

mod machine;

use alloy::primitives::{Address, B256, Bytes, U256, address, bytes, fixed_bytes};
use anyhow::{Context, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_testkit::{fixed_signer, root};
use golem_chain::environment;
use golem_delegation::{
    Caveat, Delegation, DelegationTree, Opaque, PermissionContext, ROOT_AUTHORITY, Rule,
    SigningDomain, attenuates,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, BlockNumber, Erc20PeriodTransfer,
        Erc20TransferAmount, LimitedCalls, MortalityTimeWindow, NativeTokenTransferAmount,
        Redeemer, Timestamp, ValueLte,
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
    time::{Duration, Instant},
};

const KEY: u8 = 0x0b;
const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(200);

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
    let busy = machine::quiet()?;

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
    let (within, hashed) = attenuation()?;
    table += &format!(
        "\n{:<12}{:>14}{:>14}{:>10}\n{:<12}{within:>14.0}{hashed:>14.0}{:>10.1}\n",
        "per second",
        "Rust",
        "its hash",
        "ratio",
        "attenuates",
        within / hashed
    );
    let growth = growth()?;
    table += &format!("\n{:<12}{:>24}\n", "100 times", "time of each, times");
    for (operation, times) in &growth {
        table += &format!("{operation:<12}{times:>24.2}\n");
    }
    write!(std::io::stdout(), "{table}")?;
    let result = json!({
        "attenuatesPerSecond": within.round(),
        "hashesOfTheSamePerSecond": hashed.round(),
        "growth": growth,
        "caveats": grant.caveats.len(),
        "contextBytes": encoded.len(),
        "chainBytes": encoded_chain.len(),
        "cores": std::thread::available_parallelism()?.get(),
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

/// A child and its parent with twelve caveats each, decoded: how often in a second they are compared, and how often
/// a delegation with the same caveats is hashed.
fn attenuation() -> Result<(f64, f64)> {
    let (parent, child) = (twelve(2)?, twelve(1)?);
    ensure!(attenuates(&parent, &child).is_ok(), "half of everything is not within it");
    ensure!(attenuates(&child, &parent).is_err(), "twice everything is within it");
    let environment = environment();
    let caveats = child
        .iter()
        .filter_map(|rule| environment.caveat(rule).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    ensure!(caveats.len() == 12, "twelve caveats");
    let grant = Delegation { caveats, ..seven_caveats(Address::ZERO) };
    let within = rate(|| attenuates(black_box(&parent), black_box(&child)).is_ok());
    Ok((within, rate(|| black_box(&grant).hash())))
}

/// Twelve rules that bound something, all of it `times` over.
fn twelve(times: u64) -> Result<Vec<Rule>> {
    let [router, token, session] = [1, 2, 3].map(Address::repeat_byte);
    let sum = U256::from(1_000_000 * times);
    let end = 1_800_604_800 + 86_400 * times;
    let mut targets = vec![router];
    targets.extend((1..times).map(|_| token));
    Ok(vec![
        Rule::AllowedTargets(AllowedTargets(targets)),
        Rule::AllowedMethods(AllowedMethods(vec![fixed_bytes!("04e45aaf")])),
        Rule::AllowedCalldata(AllowedCalldata {
            start: U256::from(4),
            value: router.into_word().into(),
        }),
        Rule::ValueLte(ValueLte(sum)),
        Rule::LimitedCalls(LimitedCalls(U256::from(10 * times))),
        Rule::Redeemer(Redeemer(vec![session])),
        Rule::Timestamp(Timestamp { after: 1_800_000_000, before: end.into() }),
        Rule::BlockNumber(BlockNumber { after: 1, before: end.into() }),
        Rule::MortalityTimeWindow(MortalityTimeWindow::new(1_800_000_000, end)?),
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address: token,
            period_amount: sum,
            period_duration: U256::from(86_400),
            start_date: U256::from(1_800_000_000),
        }),
        Rule::Erc20TransferAmount(Erc20TransferAmount { token_address: token, max_amount: sum }),
        Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(sum)),
    ])
}

/// What each caveat or link costs among 1,000, beside what it costs among 10.
fn growth() -> Result<BTreeMap<&'static str, f64>> {
    let grant = |caveats: u32| Delegation {
        caveats: (0..caveats)
            .map(|number| {
                Caveat::new(Address::left_padding_from(&number.to_be_bytes()), vec![1; 32])
            })
            .collect(),
        ..seven_caveats(Address::ZERO)
    };
    let rules = |count: u32| -> Vec<Rule> {
        let opaque = |number: u32| Opaque {
            enforcer: Address::left_padding_from(&(number ^ 0x5a5a).to_be_bytes()),
            terms: bytes!("01"),
        };
        (0..count).map(|number| Rule::Opaque(opaque(number))).collect()
    };
    let children = |count: u32| -> Vec<Delegation> {
        let root = seven_caveats(Address::ZERO);
        let child = |number: u32| Delegation {
            delegator: root.delegate,
            delegate: Address::left_padding_from(&number.to_be_bytes()),
            authority: root.hash().0,
            caveats: vec![],
            ..root.clone()
        };
        (1..count).map(child).chain([root.clone()]).collect()
    };
    let (few, many) = (grant(10), grant(1_000));
    let contexts = [few.clone(), many.clone()]
        .map(|grant| PermissionContext::new(vec![grant]).map(|context| context.encode()));
    let [short, long] = contexts;
    let (short, long) = (short?, long?);
    let ([here, there], [tree, forest]) =
        ([rules(10), rules(1_000)], [children(10), children(1_000)]);
    let times = |few: f64, many: f64| few / many / 100.0;
    Ok(BTreeMap::from([
        ("hash", times(rate(|| black_box(&few).hash()), rate(|| black_box(&many).hash()))),
        (
            "decode",
            times(
                rate(|| PermissionContext::decode(black_box(&short))),
                rate(|| PermissionContext::decode(black_box(&long))),
            ),
        ),
        (
            "attenuates",
            times(
                rate(|| attenuates(black_box(&here), &here).is_ok()),
                rate(|| attenuates(black_box(&there), &there).is_ok()),
            ),
        ),
        (
            "tree",
            times(
                rate(|| DelegationTree::new(black_box(tree.clone())).is_ok()),
                rate(|| DelegationTree::new(black_box(forest.clone())).is_ok()),
            ),
        ),
    ]))
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

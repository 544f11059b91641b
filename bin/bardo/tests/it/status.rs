//! SPEC G5, G11: what an owner is told of his grant, by the chain alone.

use crate::command::{Ran, bardo};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::Erc20,
    dream_mode_enforcer,
    framework::{DELEGATION_MANAGER, SelectedGroup},
    golem_registry,
};
use bardo_testkit::{
    Agent, Owner, STIPEND, Stage, charter_of, chartered, dollars, fair_swap, swap,
};
use golem_chain::{AccountKind, revocation};
use golem_custody::{Execution, OwnerSigner, SessionKey, SessionSigner as _};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, ROOT_AUTHORITY, SigningDomain, enforcers,
    terms::{
        self, BlockNumber, DreamMode, Erc20Streaming, GolemCharter, Id, LogicalOrWrapper,
        MortalityTimeWindow, MultiTokenPeriod, NativeTokenStreaming, NativeTokenTransferAmount,
        Nonce, TokenPeriod,
    },
};
use serde_json::json;
use std::fs;

async fn asked(stage: &Stage, grant: &Delegation, command: &str) -> Result<Ran> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(grant)?)?;
    let url = stage.chain().url().as_str();
    match command {
        "status" => bardo(["delegation", "status", "--rpc", url, "--context", &file, "--json"]),
        _ => bardo(["delegation", command, &file, "--rpc", url, "--json"]),
    }
}

#[tokio::test]
async fn a_charter_shows_what_is_spent_and_what_a_thief_could_take() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let call = fair_swap(&stage, agent.account, dollars(100));
    let before = asked(&stage, &agent.grant, "status").await?;
    let _ = agent.attempt(&stage, &call).await?.receipt()?;

    let after = asked(&stage, &agent.grant, "status").await?;

    assert_eq!((before.code, after.code), (0, 0), "{before:?}");
    let (before, after) = (before.json()?, after.json()?);
    assert_eq!(after["state"], "active");
    assert_eq!(before["limits"][0]["used"], "0");
    // One unit of its window more at most: it counts in 2^k micro-dollars, rounded up.
    let used: u64 = after["limits"][0]["used"].as_str().context("none")?.parse()?;
    assert!((100_000_000..100_100_000).contains(&used), "{used}");
    let most = after["limits"][0]["most"].as_str().context("none")?;
    assert!(most.parse::<u64>()? >= used);
    // What is spent is gone for a day, so that less can be taken.
    let total = |shown: &serde_json::Value| -> Result<u64> {
        Ok(shown["blastRadius"]["total"].as_str().context("unbounded")?.parse()?)
    };
    assert!(total(&after)? < total(&before)?, "{before} {after}");
    let radius = asked(&stage, &agent.grant, "blast-radius").await?.json()?;
    assert_eq!(radius["total"], after["blastRadius"]["total"]);
    assert_eq!(radius["block"], after["block"]);
    Ok(())
}

#[tokio::test]
async fn each_end_of_a_grant_is_told_apart() -> Result<()> {
    // Its calls.
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 1).await?;
    let alive = asked(&stage, &agent.grant, "status").await?;
    assert_eq!((alive.code, &alive.json()?["state"]), (0, &json!("active")));
    assert_eq!(alive.json()?["limits"][0], json!({ "kind": "calls", "used": "0", "most": "1" }));
    let _ = agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.receipt()?;
    let used = asked(&stage, &agent.grant, "status").await?;
    assert_eq!((used.code, &used.json()?["state"]), (1, &json!("exhausted")));
    assert_eq!(used.json()?["limits"][0]["used"], "1");
    // Its owner.
    let second = Agent::hired(&stage, &owner, 5).await?;
    let disable = revocation(&second.grant);
    stage.send_as(second.account, DELEGATION_MANAGER, Default::default(), disable).await?;
    let revoked = asked(&stage, &second.grant, "status").await?;
    assert_eq!((revoked.code, &revoked.json()?["state"]), (1, &json!("revokedByOwner")));
    assert_eq!(revoked.json()?["links"][0]["disabled"], true);
    // Its owner, by the registry.
    let golem = Agent::chartered(&stage, &owner, |_| ()).await?;
    let all = bardo_bindings::GolemRegistry::revokeAllCall {};
    let data = alloy::sol_types::SolCall::abi_encode(&all).into();
    let registry = bardo_bindings::golem_registry();
    stage.send_as(owner.signer.address(), registry, Default::default(), data).await?;
    let ended = asked(&stage, &golem.grant, "status").await?;
    assert_eq!((ended.code, &ended.json()?["state"]), (1, &json!("revokedByOwner")));
    // Its time.
    let third = Agent::hired(&stage, &owner, 5).await?;
    stage.warp(stage.now().await? + 604_801).await?;
    let late = asked(&stage, &third.grant, "status").await?;
    assert_eq!((late.code, &late.json()?["state"]), (1, &json!("expired")));
    Ok(())
}

/// A root delegation of `owner` to a new key.
fn granted(stage: &Stage, owner: &Owner, caveats: Vec<Caveat>) -> Result<Agent> {
    let key = SessionKey::born();
    let account = owner.account.address;
    let grant = Delegation {
        delegate: key.address(),
        delegator: account,
        authority: ROOT_AUTHORITY,
        caveats,
        salt: U256::ZERO,
        signature: Default::default(),
    };
    let grant = owner.signer.grant(&stage.domain(), grant)?;
    Ok(Agent { key, grant, account })
}

/// The rules of `grant` that hold for any key.
fn for_any_key(grant: &Delegation) -> Vec<Caveat> {
    let all = grant.caveats.iter();
    all.filter(|caveat| caveat.enforcer != enforcers::REDEEMER).cloned().collect()
}

/// What is told of a grant that refuses everything, and why.
async fn refuses(stage: &Stage, grant: &Delegation) -> Result<(serde_json::Value, String)> {
    let ran = asked(stage, grant, "status").await?;
    ensure!(ran.code == 1, "{ran:?}");
    let said = ran.json()?;
    ensure!(said["state"] == "unusable", "{said}");
    Ok((said["code"].clone(), said["cause"].as_str().context("no cause")?.to_owned()))
}

/// What never lived is not alive, though nobody has ended it.
#[tokio::test]
async fn a_grant_that_cannot_be_used_is_not_active() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let good = Agent::hired(&stage, &owner, 5).await?.grant;
    assert_eq!(asked(&stage, &good, "status").await?.code, 0);

    let unsigned = Delegation { signature: Default::default(), ..good.clone() };
    assert_eq!(refuses(&stage, &unsigned).await?.0, "DEL-SIGNATURE");
    let elsewhere = SigningDomain { chain_id: stage.domain().chain_id + 1, ..stage.domain() };
    let foreign = owner.signer.grant(&elsewhere, good.clone())?;
    assert_eq!(refuses(&stage, &foreign).await?.0, "DEL-SIGNATURE");

    let nobody = OwnerSigner::born();
    let homeless = Delegation { delegator: nobody.address(), ..good.clone() };
    let homeless = nobody.grant(&stage.domain(), homeless)?;
    assert_eq!(refuses(&stage, &homeless).await?.0, "DEL-NO-ACCOUNT");

    let nothing = Address::repeat_byte(0xe7);
    let missing = granted(&stage, &owner, vec![Caveat::new(nothing, vec![])])?.grant;
    let (code, cause) = refuses(&stage, &missing).await?;
    ensure!(code == "CAV-OTHER" && cause.contains(&nothing.to_string()), "{code} {cause}");

    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now + 86_400, now + 604_800)?;
    let early = Agent::hired_for(&stage, &owner, 5, window).await?.grant;
    assert_eq!(refuses(&stage, &early).await?.0, "CAV-WINDOW-EARLY");

    let unborn = DreamMode { golem_id: B256::repeat_byte(9), registry: golem_registry() };
    let unborn = Caveat::new(dream_mode_enforcer(), unborn.encode());
    // Also behind a rule that refuses the question itself.
    let shared = for_any_key(&good);
    let behind = [shared.clone(), vec![unborn.clone()]].concat();
    for caveats in [vec![unborn], behind] {
        let unborn = granted(&stage, &owner, caveats)?.grant;
        assert_eq!(refuses(&stage, &unborn).await?.0, "CAV-NOT-ALIVE");
    }

    let head = u128::from(stage.node().head().await?.number);
    let blocks = |after, before| BlockNumber { after, before }.encode();
    let stranger = terms::Redeemer(vec![Address::repeat_byte(0x66)]).encode();
    let later = U256::from(now + 600);
    let period = |period_amount| terms::Erc20PeriodTransfer {
        token_address: stage.book().usdc,
        period_amount,
        period_duration: U256::from(86_400),
        start_date: later,
    };
    let unbegun = period(U256::from(100)).encode()?;
    let cut = unbegun.get(..29).context("short")?.to_vec();
    for (terms, code) in [(unbegun, "CAV-WINDOW-EARLY"), (cut, "CAV-TERMS")] {
        let caveat = Caveat::new(enforcers::ERC20_PERIOD_TRANSFER, terms);
        let grant = granted(&stage, &owner, vec![caveat])?.grant;
        assert_eq!(refuses(&stage, &grant).await?.0, code);
        let limits = asked(&stage, &grant, "status").await?.json()?["limits"].clone();
        ensure!(limits[0].is_null() || limits[0]["used"] == "0", "{limits}");
    }
    for (enforcer, terms, code) in [
        (enforcers::BLOCK_NUMBER, blocks(head + 100, 0), "CAV-WINDOW-EARLY"),
        (enforcers::NONCE, Nonce(U256::from(9)).encode(), "CAV-REVOKED"),
        (enforcers::LIMITED_CALLS, vec![1; 31], "CAV-TERMS"),
        (enforcers::REDEEMER, stranger, "CAV-REDEEMER"),
    ] {
        let last = Caveat::new(enforcer, terms);
        let behind = granted(&stage, &owner, [shared.clone(), vec![last]].concat())?.grant;
        assert_eq!(refuses(&stage, &behind).await?.0, code);
    }
    Ok(())
}

/// Whom a rule names may redeem what anybody may, and whoever redeems says which group of rules counts: neither is unusable because
/// somebody else, or another group, is refused.
#[tokio::test]
async fn what_somebody_can_use_is_active() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let now = stage.now().await?;
    let until = |before: u64| {
        let window = terms::Timestamp { after: 0, before: before.into() };
        vec![Caveat::new(enforcers::TIMESTAMP, window.encode())]
    };
    let group = |groups: Vec<Vec<Caveat>>| -> Result<Caveat> {
        let mut caveat =
            Caveat::new(enforcers::LOGICAL_OR_WRAPPER, LogicalOrWrapper(groups).encode()?);
        // The first of them, for now.
        caveat.args = SelectedGroup { groupIndex: U256::ZERO, caveatArgs: vec![Bytes::new()] }
            .abi_encode()
            .into();
        Ok(caveat)
    };
    let (over, good) = (until(now - 9), until(now + 9_000));
    let one_of = |names: &[u8]| {
        let names = names.iter().copied().map(Address::repeat_byte).collect();
        Caveat::new(enforcers::REDEEMER, terms::Redeemer(names).encode())
    };
    for (caveats, open, usable) in [
        (vec![one_of(&[0x66])], true, true),
        (vec![one_of(&[0x67, 0x66]), one_of(&[0x66])], true, true),
        (vec![one_of(&[0x66])], false, false),
        (vec![group(vec![over.clone(), good])?], false, true),
        (vec![group(vec![over.clone(), over])?], false, false),
    ] {
        let mut grant = granted(&stage, &owner, caveats)?.grant;
        if open {
            grant.delegate = ANY_DELEGATE;
        }
        let grant = owner.signer.grant(&stage.domain(), grant)?;

        let ran = asked(&stage, &grant, "status").await?;

        let state = if usable { "active" } else { "unusable" };
        assert_eq!(ran.json()?["state"], state, "{ran:?}");
    }
    Ok(())
}

/// Dead Golems and used ids are over for ever; so is what a block ended, or what was all sent.
#[tokio::test]
async fn a_dead_golem_and_a_used_id_end_a_grant() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    for (closes, state, cause) in
        [(true, "expired", "is dead"), (false, "revokedByOwner", "off the register")]
    {
        let key = SessionKey::born();
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        let salt = B256::repeat_byte(u8::from(closes));
        let law = charter_of(&stage, &owner, salt, key.address(), |_| ()).await?;
        let GolemCharter { golem_id, registry, .. } = law;
        let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
        assert_eq!(asked(&stage, &grant, "status").await?.code, 0);
        let (who, data) = if closes {
            (key.address(), GolemRegistry::closeCall { golemId: golem_id }.abi_encode())
        } else {
            (
                owner.signer.address(),
                GolemRegistry::deregisterCall { golemId: golem_id }.abi_encode(),
            )
        };
        ensure!(stage.send_as(who, registry, U256::ZERO, data.into()).await?.status());

        let ran = asked(&stage, &grant, "status").await?;

        let said = ran.json()?;
        assert_eq!((ran.code, &said["state"]), (1, &json!(state)), "{said}");
        ensure!(said["cause"].as_str().is_some_and(|words| words.contains(cause)), "{said}");
    }

    let head = u128::from(stage.node().head().await?.number);
    let passed = BlockNumber { after: 0, before: head }.encode();
    let passed = granted(&stage, &owner, vec![Caveat::new(enforcers::BLOCK_NUMBER, passed)])?;
    let (usdc, friend) = (stage.book().usdc, Address::repeat_byte(0xf1));
    let ten = terms::Erc20TransferAmount { token_address: usdc, max_amount: dollars(10) }.encode();
    let ten = granted(&stage, &owner, vec![Caveat::new(enforcers::ERC20_TRANSFER_AMOUNT, ten)])?;
    stage.fund(ten.key.address(), STIPEND, U256::ZERO).await?;
    let pay = Erc20::transferCall { to: friend, amount: dollars(10) }.abi_encode().into();
    let pay = Execution { target: usdc, value: U256::ZERO, data: pay };
    assert_eq!(asked(&stage, &ten.grant, "status").await?.code, 0);
    let _ = ten.attempt(&stage, &pay).await?.receipt()?;
    // Each redemption counts for both of them.
    let calls = |most: u64| {
        let most = terms::LimitedCalls(U256::from(most)).encode();
        Caveat::new(enforcers::LIMITED_CALLS, most)
    };
    let id = Caveat::new(enforcers::ID, Id(U256::from(9)).encode());
    let twice = granted(&stage, &owner, vec![calls(1), calls(1)])?;
    let ids = granted(&stage, &owner, vec![id.clone(), id])?;
    let some = granted(&stage, &owner, vec![calls(1), calls(2)])?;
    assert_eq!(asked(&stage, &some.grant, "status").await?.code, 0);
    for (over, state) in
        [(passed, "expired"), (ten, "exhausted"), (twice, "exhausted"), (ids, "exhausted")]
    {
        let ran = asked(&stage, &over.grant, "status").await?;
        assert_eq!((ran.code, &ran.json()?["state"]), (1, &json!(state)), "{ran:?}");
    }

    // Behind a rule that refuses a call of nothing.
    let hired = for_any_key(&Agent::hired(&stage, &owner, 5).await?.grant);
    let once = Caveat::new(enforcers::ID, Id(U256::from(8)).encode());
    let first = granted(&stage, &owner, vec![once.clone()])?;
    let second = granted(&stage, &owner, [hired, vec![once]].concat())?;
    assert_eq!(asked(&stage, &second.grant, "status").await?.code, 0);
    stage.fund(first.key.address(), STIPEND, U256::ZERO).await?;
    let nothing = Execution { target: first.account, value: U256::ZERO, data: Default::default() };
    let _ = first.attempt(&stage, &nothing).await?.receipt()?;
    for used in [first, second] {
        let ran = asked(&stage, &used.grant, "status").await?;
        assert_eq!((ran.code, &ran.json()?["state"]), (1, &json!("exhausted")), "{ran:?}");
    }
    Ok(())
}

/// Whoever has the account's own key, or its owner's, needs no grant; the grant is over all the same.
#[tokio::test]
async fn a_revoked_grant_to_its_owner_is_revoked() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let mut own = Agent::hired(&stage, &owner, 5).await?.grant;
    own.caveats = for_any_key(&own);
    own.delegate = own.delegator;
    let own = owner.signer.grant(&stage.domain(), own)?;
    let other = stage.owner(AccountKind::Hybrid).await?;
    let law = charter_of(&stage, &other, B256::ZERO, other.signer.address(), |_| ()).await?;
    let by_charter = other.signer.grant(&stage.domain(), chartered(&law)?)?;
    for grant in [own, by_charter] {
        let alive = asked(&stage, &grant, "status").await?;
        ensure!(alive.code == 0 && !alive.json()?["until"].is_null(), "{alive:?}");
        let disable = revocation(&grant);
        stage.send_as(grant.delegator, DELEGATION_MANAGER, U256::ZERO, disable).await?;

        let ran = asked(&stage, &grant, "status").await?;

        let said = ran.json()?;
        assert_eq!((ran.code, &said["state"]), (1, &json!("revokedByOwner")), "{said}");
        let sentence = said["blastRadius"]["sentence"].as_str().context("none")?;
        ensure!(sentence.contains("take everything"), "{sentence}");
    }
    Ok(())
}

/// Every limit that is counted has a line.
#[tokio::test]
async fn every_limit_that_is_counted_is_shown() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let (coin, usdc) = (Address::ZERO, stage.book().usdc);
    let start = U256::from(stage.now().await? - 1_000);
    let (five, ten, day) = (U256::from(5), U256::from(10), U256::from(86_400));
    let entry =
        |token| TokenPeriod { token, period_amount: ten, period_duration: day, start_date: start };
    let stream = NativeTokenStreaming {
        initial_amount: ten,
        max_amount: ten,
        amount_per_second: five,
        start_time: start,
    };
    let tokens = Erc20Streaming {
        token_address: usdc,
        initial_amount: ten,
        max_amount: ten,
        amount_per_second: five,
        start_time: start,
    };
    let list = MultiTokenPeriod(vec![entry(usdc), entry(coin)]);
    let mut coins = Agent::hired(&stage, &owner, 5).await?;
    let cases = [
        (
            enforcers::NATIVE_TOKEN_TRANSFER_AMOUNT,
            NativeTokenTransferAmount(ten).encode(),
            0,
            "wei",
        ),
        (enforcers::NATIVE_TOKEN_STREAMING, stream.encode()?, 0, "wei in its stream"),
        (enforcers::MULTI_TOKEN_PERIOD, list.encode()?, 1, "wei in this period"),
    ];
    let friend =
        Execution { target: Address::repeat_byte(0xf1), value: five, data: Default::default() };
    for (enforcer, terms, line, kind) in cases {
        let mut grant = Delegation { caveats: vec![Caveat::new(enforcer, terms)], ..coins.grant };
        // Which entry of the list.
        grant.caveats[0].args = U256::from(line).to_be_bytes_vec().into();
        coins.grant = owner.signer.grant(&stage.domain(), grant)?;
        let _ = coins.attempt(&stage, &friend).await?.receipt()?;

        let said = asked(&stage, &coins.grant, "status").await?.json()?;

        let expected = json!({ "kind": kind, "used": "5", "most": "10" });
        assert_eq!(said["limits"][line], expected, "{said}");
    }
    let caveat = Caveat::new(enforcers::ERC20_STREAMING, tokens.encode()?);
    let streamed = granted(&stage, &owner, vec![caveat])?.grant;
    let said = asked(&stage, &streamed, "status").await?.json()?;
    let kind = format!("base units of {usdc} in its stream");
    assert_eq!(said["limits"][0], json!({ "kind": kind, "used": "0", "most": "10" }));
    let said =
        asked(&stage, &Agent::chartered(&stage, &owner, |_| ()).await?.grant, "status").await?;
    let gas = &said.json()?["limits"][1];
    ensure!(gas["kind"] == "gwei of gas money of late" && gas["used"] == "0", "{gas}");
    Ok(())
}

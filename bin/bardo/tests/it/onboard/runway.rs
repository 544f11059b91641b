//! The owner's grant for running costs (ERC-7715): asked for, signed by a wallet, taken, and redeemed (SPEC D6a, D25).

use super::{SESSION, Scene};
use crate::command::{Ran, bardo};
use alloy::{
    primitives::{Address, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{defi::Erc20, framework::DELEGATION_MANAGER};
use bardo_testkit::{dollars, fixed_signer};
use golem_chain::environment;
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY, Rule, SigningDomain,
    permission::{Answer, Asset, Form, Message, Periodic, Permission, Request, read},
    terms::{Erc20PeriodTransfer, Redeemer, Timestamp, ValueLte},
};
use serde_json::json;
use std::fs;

const DAY: u64 = 86_400;
const STRANGER: Address = Address::repeat_byte(0x66);

/// What the owner's wallet grants that was asked for this: the caveats that such wallets write, and the owner's signature.
fn granted(scene: &Scene, request: Request, now: u64) -> Result<Answer> {
    granted_by(scene.owner.address, request, now)
}

/// The same of any owner here: all of them have one key.
pub(crate) fn granted_by(owner: Address, request: Request, now: u64) -> Result<Answer> {
    let Permission::Periodic(Periodic {
        asset: Asset::Erc20(token_address), amount, duration, ..
    }) = request.permission
    else {
        bail!("{request:?}")
    };
    let mut rules = vec![
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address,
            period_amount: amount,
            period_duration: U256::from(duration),
            start_date: U256::from(now),
        }),
        Rule::ValueLte(ValueLte(U256::ZERO)),
        Rule::Redeemer(Redeemer(request.rules.redeemers.clone())),
    ];
    if let Some(expiry) = request.rules.expiry {
        rules.push(Rule::Timestamp(Timestamp { after: 0, before: expiry.into() }));
    }
    let environment = environment();
    let caveat = |rule| environment.caveat(rule)?.context("no such enforcer");
    let leaf = Delegation {
        delegate: request.to,
        delegator: owner,
        authority: ROOT_AUTHORITY,
        caveats: rules.iter().map(caveat).collect::<Result<_>>()?,
        salt: U256::from(7715),
        signature: Default::default(),
    };
    let domain = SigningDomain { chain_id: request.chain_id, manager: DELEGATION_MANAGER };
    let leaf = fixed_signer(0x61)?.grant(&domain, leaf)?;
    let context = PermissionContext::new(vec![leaf])?.encode();
    let manager = Some(DELEGATION_MANAGER);
    Ok(Answer { granted: request, context, dependencies: vec![], manager })
}

pub(crate) fn requested(ran: &Ran) -> Result<Request> {
    assert_eq!(ran.code, 0, "{ran:?}");
    match read(&ran.stdout)?.message {
        Message::Requests(mut requests) => requests.pop().context("none"),
        other => bail!("{other:?}"),
    }
}

impl Scene {
    fn answered(&self, form: Form, answer: &Answer) -> Result<String> {
        let text = form.write_answers(std::slice::from_ref(answer))?.to_string();
        fs::write(self.folder.path().join("answer.json"), text)?;
        Ok(self.path("answer.json"))
    }
}

#[tokio::test]
async fn a_runway_in_any_form_is_asked_for_taken_kept_and_redeemed() -> Result<()> {
    for form in [Form::Today, Form::Year2025, Form::Draft] {
        let scene = Scene::open().await?;
        let (usdc, now) = (scene.stage.book().usdc, scene.stage.now().await?);
        let request = requested(&scene.local(&["--print-runway-request"])?)?;
        assert_eq!(
            (request.rules.redeemers.as_slice(), request.from),
            (&[request.to][..], Some(scene.owner.address))
        );
        let expiry = request.rules.expiry.context("no expiry")?;
        ensure!((now + 7 * DAY..now + 7 * DAY + 600).contains(&expiry), "{expiry}");
        assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
        let mut answer = granted(&scene, request.clone(), now)?;
        if form == Form::Draft {
            // It has no words for these; the caveats stay as they are.
            (answer.granted.justification, answer.granted.rules.redeemers) = (None, vec![]);
        }
        let file = scene.answered(form, &answer)?;

        let ran = scene.local(&["--runway", &file])?;

        assert_eq!(ran.code, 0, "{}: {ran:?}", form.name());
        let words = ran.stdout.replace('\n', " ");
        ensure!(words.contains("No charter binds it: whoever takes that key"), "{words}");
        ensure!(words.contains("all of this grant, 70000000 units of"), "{words}");
        let said = scene.local(&["--json"])?.json()?;
        assert_eq!(said["session"], json!(request.to), "the key that was asked for");
        assert_eq!(
            said["runway"]["blastRadius"]["grant"], "70000000",
            "kept: nobody gave it again"
        );
        ensure!(said["runway"]["blastRadius"]["sessionBalance"] != "0", "{said}");
        let config: toml::Table =
            toml::from_str(&fs::read_to_string(scene.data().join("golem.toml"))?)?;
        assert_eq!(config["runway"].as_str(), Some("runway.json"));

        // Ten dollars a day out of the owner's own account, and not one unit more.
        let rpc = scene.stage.chain().url().as_str();
        let (context, key, pw) = (
            scene.path("golem/runway.json"),
            scene.path("golem/session-key.json"),
            scene.path("pw"),
        );
        for (amount, code) in [(dollars(10), 0), (U256::from(1), 1)] {
            let pay = Erc20::transferCall { to: STRANGER, amount }.abi_encode();
            let (target, data) = (usdc.to_string(), alloy::hex::encode_prefixed(pay));
            let redeemed = bardo(
                [
                    &["delegation", "redeem", "--rpc", rpc, "--context", &context][..],
                    &["--target", &target, "--data", &data, "--keystore", &key],
                    &["--password-file", &pw, "--json", "--timeout", "60"],
                ]
                .concat(),
            )?;
            assert_eq!(redeemed.code, code, "{redeemed:?}");
        }
        assert_eq!(scene.stage.balance_of(usdc, STRANGER).await?, dollars(10));
    }
    Ok(())
}

#[tokio::test]
async fn a_runway_that_is_not_this_golems_or_too_much_is_refused_before_anything_is_asked()
-> Result<()> {
    type Change = fn(&mut Request);
    let scene = Scene::open().await?;
    let now = scene.stage.now().await?;
    let honest = requested(&scene.vault(&["--print-runway-request"])?)?;
    assert_eq!(honest.to, SESSION);
    fs::remove_dir_all(scene.data())?;
    fn periodic(request: &mut Request, amount: U256) {
        if let Permission::Periodic(periodic) = &mut request.permission {
            periodic.amount = amount;
        }
    }
    let cases: [(Change, &str, bool); 6] = [
        (
            |it| {
                it.to = STRANGER;
                it.rules.redeemers = vec![STRANGER];
            },
            "our session account is",
            false,
        ),
        (|it| it.chain_id += 1, "the runway is for chain", false),
        (|it| it.rules.expiry = None, "has no end", false),
        (|it| it.rules.redeemers.push(STRANGER), "nobody else", false),
        (|it| it.rules.expiry = it.rules.expiry.map(|end| end + 90 * DAY), "longer than 90", true),
        (|it| periodic(it, dollars(101)), "more than 100000000", true),
    ];
    for (change, says, a_limit) in cases {
        let mut request = honest.clone();
        change(&mut request);
        let file = scene.answered(Form::Today, &granted(&scene, request, now)?)?;

        let ran = scene.vault(&["--runway", &file, "--json"])?;

        assert_eq!(ran.code, 1, "{says}: {ran:?}");
        let reason = ran.json()?["reason"].as_str().context("no reason")?.to_owned();
        ensure!(reason.contains(says) && reason.starts_with("runway: "), "{says}: {reason}");
        assert_eq!(reason.contains("--runway-beyond-limits"), a_limit, "{reason}");
        ensure!(!scene.data().exists(), "{says}: something was born");
        if !a_limit {
            let meant = scene.vault(&["--runway", &file, "--runway-beyond-limits"])?;
            assert_eq!(meant.code, 1, "{says}: no meaning it helps: {meant:?}");
        }
    }
    for words in [&["--runway-days", "91"][..], &["--runway-per-day", "100000001"]] {
        let words = [&["--print-runway-request"], words].concat();
        let ran = scene.vault(&words)?;
        assert_eq!(ran.code, 1, "{words:?}: {ran:?}");
        let meant = scene.vault(&[&words[..], &["--runway-beyond-limits"]].concat())?;
        requested(&meant)?;
    }
    fs::remove_dir_all(scene.data())?;
    // Of a key that is not born yet it is somebody else's.
    let file = scene.answered(Form::Today, &granted(&scene, honest.clone(), now)?)?;
    let early = scene.local(&["--runway", &file])?;
    assert_eq!(early.code, 1, "{early:?}");
    ensure!(early.stdout.contains("not born yet"), "{early:?}");
    ensure!(!scene.data().join("session-key.json").exists());
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);

    let mut much = honest;
    periodic(&mut much, dollars(101));
    let file = scene.answered(Form::Today, &granted(&scene, much, now)?)?;
    let meant = scene.vault(&["--runway", &file, "--runway-beyond-limits", "--json"])?;
    assert_eq!(meant.code, 0, "{meant:?}");
    assert_eq!(meant.json()?["runway"]["perDay"], "101000000");
    Ok(())
}

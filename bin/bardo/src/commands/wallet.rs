//! `bardo wallet`: a wallet at a service, in its owner's hands (SPEC K5, D33). A Golem sweeps when it dies; this is for when it could not.

use super::onboard::folder::{GolemFile, GolemWallet, written};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{WalletCommand, WalletStatusArgs, WalletSweepArgs},
    input,
};
use alloy::primitives::{Address, U256};
use anyhow::{Context as _, anyhow};
use bardo_store::{Archive, Store, StoreConfig, StoreError};
use golem_chain::{Holdings, Privy};
use golem_custody::{
    Answered, AppSecret, Backoff, BardoManifest, ClearingPolicy, Holding, KeeperKey, Means,
    Onboarding, OnboardingSteps, Password, RiskBounds, Steps as _, Sweep, SweepOrder, SweepSoFar,
    Swept, TokenBound, Wallet, WalletApp, WalletError, WalletId, WalletKeeper, WalletService as _,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// The last account of a wallet, for its owner.
const MANIFEST: &str = "bardo-manifest.json";

/// `bardo wallet`
pub(crate) async fn wallet(command: &WalletCommand) -> Result<Answer, Failure> {
    match command {
        WalletCommand::Status(args) => status(args).await,
        WalletCommand::Sweep(args) => sweep(args).await,
    }
}

fn refused(reason: String) -> Answer {
    Answer::no(json!({ "swept": false, "reason": reason }), reason)
}

/// The Golem of a folder and its wallet; or why there is none.
fn of_folder(data: &Path) -> Result<Result<(GolemFile, GolemWallet), String>, Failure> {
    let Some(mut file) = GolemFile::of(data)? else {
        return Err(Failure::Use(anyhow!(
            "{} has no golem.toml: `bardo onboard` first; with your keeper's key and the same salt it finds the same wallet",
            data.display()
        )));
    };
    Ok(match file.wallet.take() {
        Some(wallet) => Ok((file, wallet)),
        None => Err(format!(
            "the Golem has no wallet elsewhere: what it acted with is in {}, and `bardo vault withdraw` gets it out",
            file.account
        )),
    })
}

fn id(wallet: &GolemWallet) -> Result<WalletId, Failure> {
    WalletId::try_from(wallet.id.clone()).context("golem.toml: the wallet's name").or_use()
}

fn privy(wallet: &GolemWallet, secret: &Path) -> Result<Privy, Failure> {
    let app = WalletApp::new(&wallet.service, &wallet.app_id).context("golem.toml").or_use()?;
    let secret = Password::from_file(secret).context("privy-app-secret-file").or_use()?;
    Privy::new(app, &AppSecret::new(secret)).context("privy-app-secret-file").or_use()
}

/// What it may hold, and what else was named.
fn tokens(wallet: &GolemWallet, named: &[Address]) -> BTreeSet<Address> {
    wallet.tokens.iter().chain(named).copied().collect()
}

/// `bardo wallet status`
async fn status(args: &WalletStatusArgs) -> Result<Answer, Failure> {
    let (file, wallet) = match of_folder(&args.data)? {
        Ok(found) => found,
        Err(reason) => return Ok(refused(reason)),
    };
    let id = id(&wallet)?;
    let service = match &args.privy_app_secret_file {
        Some(secret) => Some(privy(&wallet, secret)?),
        None => None,
    };
    let step = Archive::open(&args.data).and_then(|archive| archive.step(&SweepSoFar::name(&id)));
    let so_far = step?.map(|step| SweepSoFar::read(step.value)).transpose()?;
    let node = args.node.connect().await?;
    let tokens: Vec<Address> = tokens(&wallet, &args.tokens).into_iter().collect();
    let held = Holdings::of(&node, file.account, &tokens).await?;
    let said = match &service {
        Some(service) => {
            let said = asked(service, &id, file.account).await.context(
                "who may ask for the wallet's signatures is not known; what it holds is said without --privy-app-secret-file",
            );
            Some(said?)
        }
        None => None,
    };

    let state = match &so_far {
        None => "not begun",
        Some(SweepSoFar { manifest: None, .. }) => "begun",
        Some(_) => "done",
    };
    let mut text = format!("wallet   {id}, {}\nowner    {}\n", file.account, file.owner);
    text.push_str(&format!("ether    {} wei\n", held.ether));
    for (token, amount) in &held.tokens {
        text.push_str(&format!("token    {token}: {amount}\n"));
    }
    text.push_str(&match &so_far {
        Some(SweepSoFar { left, manifest: None, .. }) => {
            format!(
                "sweep    begun, {left} holdings are on their way: `bardo wallet sweep` goes on\n"
            )
        }
        _ => format!("sweep    {state}\n"),
    });
    match &said {
        Some(Ok(others)) => {
            text.push_str(&format!("service  answers; {others} keys may ask beside yours\n"));
        }
        Some(Err(why)) => text.push_str(&format!("service  {why}\n")),
        None => {}
    }
    let rows: Vec<Value> = held
        .tokens
        .iter()
        .map(|(token, amount)| json!({ "token": token, "balance": amount.to_string() }))
        .collect();
    let json = json!({
        "golem": file.golem,
        "owner": file.owner,
        "wallet": id,
        "address": file.account,
        "policy": wallet.policy,
        "ether": held.ether.to_string(),
        "tokens": rows,
        "sweep": state,
        "onTheWay": so_far.as_ref().map(|so_far| so_far.left),
        "manifest": so_far.as_ref().and_then(|so_far| so_far.manifest.as_ref()),
        "answers": said.as_ref().map(Result::is_ok),
        "signers": said.as_ref().and_then(|said| said.as_ref().ok()),
        "reason": said.as_ref().and_then(|said| said.as_ref().err()),
    });
    Ok(if matches!(said, Some(Err(_))) { Answer::no(json, text) } else { Answer::yes(json, text) })
}

/// How many may ask for the wallet's signatures beside its owner; or what the service says instead.
async fn asked(
    service: &Privy,
    id: &WalletId,
    address: Address,
) -> Result<Result<usize, String>, WalletError> {
    let what = "who may ask";
    let reply = service.ask(&service.app().read_wallet(id)).await;
    let reply = reply.map_err(|source| WalletError::Lost { what, source })?;
    Ok(match reply.answer::<Wallet>(what)? {
        Answered::Done(wallet) if wallet.address != address => {
            Err(format!("has another wallet by this name, at {}", wallet.address))
        }
        Answered::Done(wallet) => Ok(wallet.additional_signers.len()),
        Answered::Refused(denial) => Err(denial.to_string()),
    })
}

/// `bardo wallet sweep`
async fn sweep(args: &WalletSweepArgs) -> Result<Answer, Failure> {
    let (file, wallet) = match of_folder(&args.data)? {
        Ok(found) => found,
        Err(reason) => return Ok(refused(reason)),
    };
    let id = id(&wallet)?;
    let node = args.send.connect_in_need().await?;
    let no = |reason: String| Ok(refused(format!("{reason}; nothing was signed or sent")));
    if node.chain_id() != file.chain_id {
        return no(format!(
            "the Golem is on chain {}, the node on {}",
            file.chain_id,
            node.chain_id()
        ));
    }
    let config = StoreConfig { folder: args.data.clone(), golem: file.golem, max_pages: None };
    let store = match Store::open(&config, None) {
        Ok(store) => store,
        Err(StoreError::Locked { .. }) => {
            return no(format!("another process has the books in {}", args.data.display()));
        }
        Err(error) => return Err(error.into()),
    };
    // The folder lay where the Golem ran: what it says of the owner counts only where he says the same.
    let at = OnboardingSteps::new(&store).at().await?;
    let owner = at.as_ref().map(Onboarding::owner);
    if owner != Some(args.to) || file.owner != args.to {
        let named = owner.map_or_else(|| "nobody".to_owned(), |owner| owner.to_string());
        return no(format!(
            "its books name {named} as owner, golem.toml {}, and you {}",
            file.owner, args.to
        ));
    }
    if !matches!(
        at.as_ref().and_then(Onboarding::means),
        Some(Means::Provided { wallet, address, .. }) if *wallet == id.as_str() && *address == file.account
    ) {
        return no("golem.toml names another wallet than its books".to_owned());
    }
    let so_far = store.load(&SweepSoFar::name(&id)).await.map_err(|error| anyhow!(error))?;
    let so_far = so_far.map(|step| SweepSoFar::read(step.value)).transpose()?;
    let done = so_far.as_ref().is_some_and(|so_far| so_far.manifest.is_some());
    let mut all = tokens(&wallet, &args.tokens);
    all.extend(so_far.iter().flat_map(|so_far| so_far.tokens.iter().copied()));
    let bounds = RiskBounds {
        wallet: file.account,
        chains: [file.chain_id].into(),
        calls: Vec::new(),
        max_value: U256::ZERO,
        tokens: all.into_iter().map(|token| TokenBound { token, cap: U256::ZERO }).collect(),
        payees: Vec::new(),
        beneficiary: args.to,
        expires_at: 0,
    };
    bounds.check().or_use()?;
    let password = Password::from_file(&args.keeper_password_file);
    let password = password.context("keeper-password-file").or_use()?;
    let key = KeeperKey::open(&args.keeper_keystore, &password);
    let service = privy(&wallet, &args.privy_app_secret_file)?;
    let keeper = WalletKeeper::new(service, key.context("keeper-keystore").or_use()?);
    let now = if node.is_near() { node.head().await?.timestamp } else { input::now()? };
    let goes_on = "nothing is lost, and the same command goes on";
    if !done || args.again {
        // What the Golem asks for from here on would be in the way.
        match keeper.dismiss(&id, now).await.context(goes_on)? {
            Answered::Done(()) => {}
            Answered::Refused(denial) => return no(denial.to_string()),
        }
    }
    let wallet = keeper.holding(id, file.account, Backoff::default());
    let sweep = Sweep {
        wallet: &wallet,
        bounds: &bounds,
        policy: ClearingPolicy {
            fee_ceiling: args.send.ceiling(&node)?,
            ..ClearingPolicy::default()
        },
        steps: &store,
        submit: &node,
        purse: &node,
    };
    // A rollup takes a fee for the bytes of the last transaction, too, and it moves: a quarter more.
    let data_fee = node.data_fee(0).await?;
    let reserve = data_fee.saturating_add(data_fee >> 2);
    let order = SweepOrder { golem: file.golem, closed: vec![], unclosed: vec![], reserve };
    // One run asks once: there is nobody for whom waits would have to differ.
    let swept = if args.again {
        sweep.run_anew(&order, now, 0).await
    } else {
        sweep.run(&order, now, 0).await
    };
    match swept.context(goes_on)? {
        Swept::Done(manifest) => shown(&args.data, &manifest, done && !args.again),
        Swept::Halted(denial) => Err(Failure::Fault(anyhow!("{denial}: {goes_on}"))),
    }
}

fn shown(folder: &Path, manifest: &BardoManifest, before: bool) -> Result<Answer, Failure> {
    let path = written(folder, MANIFEST, &serde_json::to_string_pretty(manifest)?)?;
    let mut text = String::new();
    if before {
        text.push_str(
            "It was done before: nothing was asked or sent. --again begins another sweep.\n",
        );
    }
    for one in &manifest.positions_settled {
        let (of, amount, block) = (named(one.of), one.amount, one.block);
        text.push_str(&format!(
            "  {amount} of {of} went home in block {block}: {}\n",
            one.transaction
        ));
    }
    for one in &manifest.positions_deferred {
        text.push_str(&format!("  {} of {} stay: {}\n", one.amount, named(one.of), one.reason));
    }
    if manifest.positions_settled.is_empty() && manifest.positions_deferred.is_empty() {
        text.push_str("  it held nothing\n");
    }
    text.push_str(&format!("to {}; {}\n", manifest.beneficiary, path.display()));
    let whole = manifest.positions_deferred.is_empty();
    let json = json!({
        "swept": whole, "wasDone": before, "manifest": manifest, "hash": manifest.hash(), "file": path,
    });
    Ok(if whole { Answer::yes(json, text) } else { Answer::no(json, text) })
}

fn named(of: Holding) -> String {
    match of {
        Holding::Native => "the chain's coin".to_owned(),
        Holding::Token(token) => token.to_string(),
        Holding::Position { contract, id } => format!("{contract} number {id}"),
    }
}

pub(super) mod bounds;
mod embedded;
pub(super) mod folder;
mod plan;
pub(super) mod runway;
mod shown;

use crate::{
    answer::{Answer, Failure, OrUse},
    cli::OnboardArgs,
    input,
};
use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use anyhow::{Context as _, anyhow};
use bardo_bindings::{ChainSpec, GolemRegistry, golem_charter_enforcer, golem_registry};
use bardo_store::{Store, StoreConfig};
use embedded::Declined;
use folder::{CONSTITUTION, GolemFile, HEARTBEAT, STRATEGY};
use golem_chain::{
    Node, Onboard, OnboardError, OwnerError, Registry, Wished, environment, hybrid_account,
    local::{CharterParties, LocalFiles},
};
use golem_custody::{
    AgentKey, BoxError, CustodyMode, DelegationBounds, Keyring as _, Keys, Means, Onboarding,
    OnboardingSteps, RiskBounds, RunwayFor, Runways, SignIn, WalletApp,
};
use golem_delegation::{
    Caveat, Delegation, ROOT_AUTHORITY,
    terms::{GolemCharter, MortalityTimeWindow, Role},
};
use golem_safety::Policy;
use plan::{Plan, PlannedKey};
use serde_json::json;
use shown::Shown;
use std::{
    io::{Write as _, stderr},
    path::Path,
};
use tokio::time::Instant;

const DAY: u64 = 86_400;
/// How long a sign-in may take.
const PATIENCE: u64 = 600;
/// Where a local Golem's key is.
const KEY_FILE: &str = "session-key.json";

/// What whoever puts money into a wallet elsewhere knows before (ADR 10).
const NOT_WOKEN: &str = "mode embedded makes, rules and funds a wallet, and no more: `bardo golem run` does not wake its Golem, and \
                         nothing acts until a program of yours asks with the Golem's key; `bardo wallet sweep` brings everything home";

/// `bardo onboard`
pub(crate) async fn onboard(args: &OnboardArgs) -> Result<Answer, Failure> {
    let began = Instant::now();
    let plan = Plan::of(args)?;
    if plan.mode == CustodyMode::Embedded {
        // Standard output is the answer's.
        let _gone = writeln!(stderr(), "bardo: {NOT_WOKEN}");
    }
    // What he wrote about its life stays, so it has to be right.
    if let Some(file) = GolemFile::of(&args.data)? {
        file.shared_ledger(&args.data)?;
    }
    let signer = input::owner(&args.key)?;
    let owner = signer.address();
    let vault = plan.proxy_code.as_ref().map(|code| hybrid_account(owner, B256::ZERO, code));
    let account = vault.as_ref().map_or(owner, |vault| vault.address);
    let node = args.send.connect().await?;
    // A chain to play with has a clock of its own.
    let now = if node.is_near() { node.head().await?.timestamp } else { input::now()? };
    let golem_id = Registry::golem_id(owner, plan.salt);
    let (generation, epoch) = counted(&node, owner, golem_id).await?;
    let window = MortalityTimeWindow::new(now, now.saturating_add(plan.days * DAY)).or_use()?;
    let law_for = |agent_key: Address| -> Result<GolemCharter, Failure> {
        let parties = CharterParties { golem_id, owner, account, agent_key, epoch };
        let law = match plan.charter.clone() {
            Some(charter) => of_parties(charter, &parties, window),
            None => local_charter(&node, &parties, window)?,
        };
        let law = GolemCharter { generation, ..law };
        match &plan.bounds {
            // A key in a file is bounded on the chain by more than its charter (SPEC K6).
            Some(bounds) => bounds.within(&law).charter(law, now).context("bounds").or_use(),
            None => Ok(law),
        }
    };
    // Whose key it will be is the only thing that may not be known yet.
    let law = law_for(plan.known_key().unwrap_or(owner))?;
    law.encode().context("charter").or_use()?;
    let most_per_call = most_per_call(&node, &plan, &law)?;
    let texts = [STRATEGY, HEARTBEAT, CONSTITUTION];
    let [strategy, heartbeat, constitution] = texts.map(|one| one.text(&args.data));
    let (strategy, heartbeat, constitution) = (strategy?, heartbeat?, constitution?);
    Onboarding::check_texts(&strategy, &heartbeat).or_use()?;
    let policy = policy(&plan, &law, &constitution);
    policy.check().or_use()?;
    let identity = plan.identity.as_ref().map(|uri| identity(&node, uri)).transpose()?;
    let ceiling = args.send.ceiling(&node)?;
    let of = |session| RunwayFor { chain_id: node.chain_id(), owner, session };
    let dollars = law.settlement_asset;
    let take = |session| match &plan.runway {
        None => Ok(None),
        Some(answer) => {
            runway::taken(answer, &of(session), dollars, plan.beyond_limits, now).map(Some)
        }
    };
    if let Some(session) = plan.known_key()
        && let Err(refused) = take(session)
    {
        return Ok(refused);
    }
    let validation = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);

    // From here on something may be born.
    let config = StoreConfig { folder: args.data.clone(), golem: golem_id, max_pages: None };
    let store = Store::open(&config, None).or_use()?;
    let before = OnboardingSteps::new(&store).at().await?;
    // Another key may have followed its first: what a wallet grants now is for that one.
    let asks = plan.runway.is_some() || args.request.print_runway_request;
    if asks && matches!(before, Some(Onboarding::Live { .. })) {
        let why =
            "it lives: `bardo golem runway` asks for the key that it has, and gives it the answer";
        return Ok(runway::no(why.to_owned()));
    }
    if args.request.print_runway_request {
        let Some(session) = born(&plan.key, &args.data).await? else {
            return Err(Failure::Use(anyhow!(
                "print-runway-request: a wallet elsewhere redeems no grants; it is for modes vault and local"
            )));
        };
        return runway::asked(&args.request, &of(session), dollars, plan.beyond_limits, now);
    }
    let runway = match key_now(&plan, before.as_ref(), &args.data).await? {
        Some(session) => match take(session) {
            Ok(runway) => runway,
            Err(refused) => return Ok(refused),
        },
        None if plan.runway.is_some() => {
            let why = "the Golem's key is not born yet, so that it is for another; \
                       ask by --print-runway-request";
            return Ok(runway::no(why.to_owned()));
        }
        None => None,
    };
    for (document, text) in
        texts.iter().zip([strategy.as_str(), heartbeat.as_str(), constitution.as_str()])
    {
        document.laid_down(&args.data, text)?;
    }
    let wished_identity = identity.is_some();
    let key = key_to_compare(&plan.key, before.as_ref(), &args.data).await?;
    let way = Onboard {
        node: &node,
        owner: &signer,
        steps: &store,
        mode: plan.mode,
        salt: plan.salt,
        key,
        vault: vault.clone(),
        policy,
        stipend: plan.stipend,
        deposits: plan.deposits.clone(),
        identity,
        strategy,
        heartbeat,
        ceiling,
    };
    let request = sign_in(owner, node.chain_id(), now);
    let (mode, app, chain_id) = (plan.mode, app(&plan.key), node.chain_id());
    let tokens = RiskBounds::holdings_of(&law).into_iter().collect();
    let set_up = async || match plan.key {
        PlannedKey::Provided(wallet) => {
            wallet.made(golem_id, &law, chain_id, most_per_call, now).await
        }
        ref key => {
            let session = match key {
                PlannedKey::Elsewhere(session) => *session,
                _ => opened(key, &args.data).await?,
            };
            match law_for(session) {
                Ok(law) => means(&law, plan.bounds.as_ref().map(|bounds| bounds.within(&law)), now),
                Err(failure) => Err(failure.why().into()),
            }
        }
    };
    let onboarded = match way.run(&request, set_up, now).await {
        Ok(onboarded) => onboarded,
        Err(OnboardError::Otherwise { what: "session" }) => {
            let signed = way.has_signed().await?;
            let means = before.as_ref().and_then(Onboarding::means);
            return Ok(another_key(args, mode, means.and_then(Means::key), signed));
        }
        Err(OnboardError::Otherwise { what }) => return Ok(otherwise(args, what)),
        Err(refused @ OnboardError::Policy(_)) => return Err(refused).or_use(),
        // What it may cost is the caller's to say, as everywhere.
        Err(OnboardError::Owner(dear @ OwnerError::FeeCeiling { .. })) => return Err(dear.into()),
        Err(OnboardError::SetUp { source }) if source.is::<Declined>() => {
            let reason = format!("step 3 is not made: {source}; nothing was sent");
            return Ok(Answer::no(json!({ "done": false, "reason": reason }), reason));
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(runway) = &runway {
        Runways::new(&store).keep(runway, now).await?;
    }
    let live = matches!(onboarded.at, Onboarding::Live { .. });
    let shown = Shown {
        folder: &args.data,
        salt: plan.salt,
        node: &node,
        onboarded: &onboarded,
        was_done: matches!(before, Some(Onboarding::Summoning { .. } | Onboarding::Live { .. })),
        wished: Wished { mode, identity: wished_identity, live, validation },
        app,
        tokens,
        runway: Runways::new(&store).at().await?,
    };
    shown.answer().await
}

fn otherwise(args: &OnboardArgs, what: &str) -> Answer {
    let reason = format!(
        "{} was begun with another {what}: it goes on with that one, or in another folder; nothing was sent",
        args.data.display()
    );
    Answer::no(json!({ "done": false, "reason": reason }), reason)
}

/// Its key is another than it was begun with, and only that one would get gas money and a say: how to go on.
fn another_key(
    args: &OnboardArgs,
    mode: CustodyMode,
    began: Option<AgentKey>,
    signed: bool,
) -> Answer {
    let began = match began {
        Some(AgentKey::Session(address)) => format!(", {address}"),
        Some(AgentKey::Asking(key)) => format!(", {key}"),
        None => String::new(),
    };
    let on = match (mode, signed) {
        (CustodyMode::LocalKey, _) => {
            format!("put back the {KEY_FILE} that it had, or begin in another folder")
        }
        (_, false) => "begin with the new one in another folder".to_owned(),
        (CustodyMode::Embedded, true) => {
            "go on by --session-public-key with the one that it was begun with, and `bardo wallet \
            sweep` brings everything home"
                .to_owned()
        }
        (CustodyMode::Delegation, true) => {
            "go on by --session with the one that it was begun with, and `bardo golem grant` hands \
            its grant to a later one"
                .to_owned()
        }
    };
    let so_far = if signed { "its transaction is signed" } else { "nothing of it is on the chain" };
    let reason = format!(
        "{} was begun with another session{began}; {so_far}: {on}; nothing was sent",
        args.data.display()
    );
    Answer::no(json!({ "done": false, "reason": reason }), reason)
}

fn app(key: &PlannedKey) -> Option<WalletApp> {
    match key {
        PlannedKey::Provided(wallet) => Some(wallet.app.clone()),
        _ => None,
    }
}

/// How often the owner has revoked everything, and the least number of a grant that counts: a grant below either is dead.
async fn counted(node: &Node, owner: Address, golem: B256) -> Result<(u32, u16), Failure> {
    node.require("GolemRegistry", golem_registry()).await?;
    let ask = GolemRegistry::generationOfCall { owner };
    let generation = node.read(golem_registry(), ask).await?;
    let entry = Registry::open(node).await?.entry(golem).await?;
    let least = entry.map(|entry| entry.state.min_epoch.max(entry.attached_epoch));
    Ok((generation, least.unwrap_or_default().max(1)))
}

/// The Golem's key, which is born here in local mode only; none where a wallet elsewhere has it.
async fn born(key: &PlannedKey, folder: &Path) -> Result<Option<Address>, Failure> {
    match key {
        PlannedKey::Elsewhere(session) => Ok(Some(*session)),
        PlannedKey::Provided(_) => Ok(None),
        PlannedKey::Here(_) => Ok(Some(opened(key, folder).await.map_err(|e| anyhow!(e))?)),
    }
}

/// The Golem's key as it is now, for whoever compares it with the one that it was begun with; none where there is nothing to compare.
async fn key_to_compare(
    key: &PlannedKey,
    before: Option<&Onboarding>,
    folder: &Path,
) -> Result<Option<AgentKey>, Failure> {
    // Once it lives, its key in the folder is replaced by later ones.
    let under_way = before.is_some_and(|at| at.means().is_some() && at.number() < 6);
    Ok(match key {
        PlannedKey::Elsewhere(session) => Some(AgentKey::Session(*session)),
        PlannedKey::Provided(wallet) => Some(AgentKey::Asking(wallet.key.clone())),
        PlannedKey::Here(_) if !under_way => None,
        // One that is gone is nobody's, and none is born in its place.
        PlannedKey::Here(_) if !folder.join(KEY_FILE).exists() => {
            Some(AgentKey::Session(Address::ZERO))
        }
        PlannedKey::Here(_) => born(key, folder).await?.map(AgentKey::Session),
    })
}

/// The key in the folder; a first one is born.
async fn opened(key: &PlannedKey, folder: &Path) -> Result<Address, BoxError> {
    let PlannedKey::Here(password) = key else { return Err("there is no key here".into()) };
    let keys = Keys::local(folder, password.again())?;
    keys.current().await.ok_or_else(|| "there is no key".into())
}

/// The Golem's key as far as there is one: none is born for it.
async fn key_now(
    plan: &Plan,
    before: Option<&Onboarding>,
    folder: &Path,
) -> Result<Option<Address>, Failure> {
    match (before.and_then(Onboarding::means), &plan.key) {
        (Some(Means::Granted { session, .. }), _) => Ok(Some(*session)),
        (None, PlannedKey::Here(_)) if !folder.join(KEY_FILE).exists() => Ok(None),
        (_, key) => born(key, folder).await,
    }
}

/// A charter of somebody's, made one for these parties.
fn of_parties(
    charter: GolemCharter,
    parties: &CharterParties,
    window: MortalityTimeWindow,
) -> GolemCharter {
    let mut law = GolemCharter {
        golem_id: parties.golem_id,
        owner: parties.owner,
        epoch: parties.epoch,
        registry: golem_registry(),
        account: parties.account,
        beneficiary: parties.owner,
        agent_key: parties.agent_key,
        window,
        ..charter
    };
    for listed in &mut law.listing.targets {
        if listed.role == Role::AgentKey {
            listed.target = parties.agent_key;
        }
    }
    law
}

/// What Golems of the local chain live under; there is no such thing for other chains.
fn local_charter(
    node: &Node,
    parties: &CharterParties,
    window: MortalityTimeWindow,
) -> Result<GolemCharter, Failure> {
    if !node.is_near() {
        return Err(Failure::Use(anyhow!(
            "what the Golem may do on this chain is yours to say: give --charter FILE"
        )));
    }
    let book = LocalFiles::find()
        .and_then(|files| files.address_book())
        .context("a charter is needed: --charter FILE")
        .or_use()?;
    Ok(book.charter(parties, window))
}

/// Most that one call of an embedded wallet takes of the settlement asset. What a unit of it is worth is known of the local chain's only.
fn most_per_call(node: &Node, plan: &Plan, law: &GolemCharter) -> Result<U256, Failure> {
    match &plan.key {
        PlannedKey::Provided(wallet) => match wallet.most_per_call {
            Some(most) => Ok(most),
            None if node.is_near() => Ok(U256::from(law.nav_cap.min(law.spend_cap))),
            None => Err(Failure::Use(anyhow!(
                "most-per-call: it is missing: say how much of {} one call may take",
                law.settlement_asset
            ))),
        },
        _ => Ok(U256::ZERO),
    }
}

/// What the runtime holds itself to: the charter's own bounds, and the owner's two.
fn policy(plan: &Plan, law: &GolemCharter, constitution: &str) -> Policy {
    let mut assets: Vec<Address> = law.listing.tokens.iter().map(|listed| listed.token).collect();
    assets.push(Address::ZERO);
    assets.sort_unstable();
    assets.dedup();
    Policy {
        constitution_hash: keccak256(constitution),
        concentration_bps: plan.concentration_bps,
        drawdown_bps: plan.drawdown_bps,
        spend_per_transaction: law.nav_cap.min(law.spend_cap),
        spend_per_session: law.spend_cap.saturating_mul(plan.days),
        spend_per_day: law.spend_cap,
        assets,
    }
}

fn identity(node: &Node, uri: &str) -> Result<(Address, String), Failure> {
    let chain_id = node.chain_id();
    let at = input::chains()?.of(chain_id).map(ChainSpec::identity_registry);
    let at = at.with_context(|| format!("Bardo knows no identity registry on chain {chain_id}"));
    Ok((at.or_use()?, uri.to_owned()))
}

fn sign_in(address: Address, chain_id: u64, now: u64) -> SignIn {
    SignIn {
        domain: "localhost".to_owned(),
        address,
        statement: "Become the owner of a Golem.".to_owned(),
        uri: "bardo:onboard".to_owned(),
        chain_id,
        nonce: SignIn::fresh_nonce(),
        issued_at: now,
        expires_at: now.saturating_add(PATIENCE),
    }
}

/// What the owner is asked to sign: the charter, and in local mode what bounds the key beside it.
fn means(
    law: &GolemCharter,
    bounds: Option<DelegationBounds>,
    now: u64,
) -> Result<Means, BoxError> {
    let caveats = match bounds {
        Some(bounds) => bounds.compile(law.clone(), &environment(), now)?,
        None => vec![Caveat::new(golem_charter_enforcer(), law.encode()?)],
    };
    let grant = Delegation {
        delegate: law.agent_key,
        delegator: law.account,
        authority: ROOT_AUTHORITY,
        caveats,
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let (account, session) = (law.account, law.agent_key);
    Ok(Means::Granted { account, session, grant: Box::new(grant) })
}

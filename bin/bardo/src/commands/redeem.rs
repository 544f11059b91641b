use crate::{
    answer::{Answer, Failure, OrUse, tell},
    cli::{Curve, RedeemArgs, SessionAccountKind, confirmations},
    commands::simulate::{redemption, refused},
    input,
};
use alloy::primitives::{Address, B256};
use anyhow::{Context, anyhow};
use bardo_store::{Store, StoreConfig, StoreError};
use golem_chain::{
    Foresight, Landing, Lane, LaneFault, LanePolicy, Node, Operations, hybrid_account,
};
use golem_custody::{
    Books as _, Ending, Execution, IntentId, Mandate, Open, Proposed, Receipt, Redemption,
    SessionAccount, SessionSigner,
};
use serde_json::{Value, json};
use std::{
    env,
    io::{Write, stderr},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How often the node is asked by somebody who waits.
const POLL: Duration = Duration::from_millis(250);

/// `bardo delegation redeem`
pub(crate) async fn redeem(args: &RedeemArgs) -> Result<Answer, Failure> {
    let redemption = redemption(&args.call)?;
    match args.form.curve {
        Curve::Secp256k1 => {
            let key = input::session(&args.secret)?;
            let account = session_account(args, key.address())?;
            redeem_by(args, redemption, key, account).await
        }
        Curve::P256 => {
            if args.bundler.is_none() {
                return Err(Failure::Use(anyhow!(
                    "no chain takes a transaction of a P-256 key: name a --bundler; nothing was sent"
                )));
            }
            if args.account == Some(SessionAccountKind::Key) {
                return Err(Failure::Use(anyhow!(
                    "a P-256 key has no address of its own: leave out --account key; nothing was sent"
                )));
            }
            let (key, account) = input::p256_session(&args.secret, &args.form)?;
            redeem_by(args, redemption, key, account).await
        }
    }
}

/// Redeems with a key of whatever curve. Without a bundler `account` has no part in it.
async fn redeem_by<K: SessionSigner>(
    args: &RedeemArgs,
    redemption: Redemption,
    key: K,
    account: SessionAccount,
) -> Result<Answer, Failure> {
    let mut node = args.call.node.connect().await?.instead_of(args.instead_of);
    if args.bundler.is_none() {
        node = input::privately(node, args.private_rpc.as_ref()).await?;
    }
    // What was judged on an old head is not signed. A chain to play with has a clock of its own.
    let (began, asked_at) = (node.head().await?.timestamp, Instant::now());
    let (near, machine) = (node.is_near(), input::now()?);
    let clock = move || {
        let passed = asked_at.elapsed().as_secs();
        if near { began.saturating_add(passed) } else { machine.saturating_add(passed) }
    };
    let mut policy = LanePolicy {
        confirmations: confirmations(args.confirmations, &node),
        poll: POLL,
        give_up: Duration::from_secs(args.timeout),
        ..LanePolicy::default()
    };
    if let Some(ceiling) = args.fee_ceiling.or(input::chain_ceiling(&node)?) {
        policy.clearing.fee_ceiling = ceiling;
    }
    let foresight = Arc::new(Foresight::new(node.clone()));
    let owner = redemption.context().root().delegator;
    let books = match OpenBooks::open(args, &node, key.address())? {
        Ok(books) => books,
        Err(folder) => {
            let reason = format!(
                "another redemption of this key has its books in {}: wait for it; nothing was sent",
                folder.display()
            );
            let json = json!({ "allowed": null, "code": "BUSY_BOOKS", "reason": reason });
            return Ok(Answer::no(json, reason));
        }
    };
    let mandate = Mandate::by_hand(key.address().into_word(), owner, books.store.clone());
    // Whoever asks again because he was not told what became of it has not asked for it twice.
    let before =
        if args.again { Vec::new() } else { asked_before(&books.store, &redemption).await? };
    #[expect(clippy::disallowed_methods, reason = "somebody typed it")]
    let judged = Proposed::unnamed(redemption).about("bardo delegation redeem").by_hand();
    let landing = if let Some(bundler) = &args.bundler {
        let operations =
            Operations::through(bundler, foresight, account, key, mandate, policy, clock).await?;
        let operations = operations.telling(tell);
        // What is to be replaced is not waited for.
        let ends = if args.instead_of.is_none() { operations.finish().await } else { Vec::new() };
        if let Some(answer) = earlier(&before, ends, args.instead_of)? {
            return Ok(answer);
        }
        operations.redeem(judged).await
    } else {
        let lane = Lane::open(foresight, key, mandate, policy, clock).await?.telling(tell);
        let ends = if args.instead_of.is_none() { lane.finish().await } else { Vec::new() };
        if let Some(answer) = earlier(&before, ends, args.instead_of)? {
            return Ok(answer);
        }
        let landing = lane.redeem(judged).await;
        if let Err(LaneFault::Displaced { .. }) = &landing {
            // What has its place may be what it was to replace.
            said_of_earlier(&lane.finish().await);
        }
        landing
    };
    match landing {
        Err(displaced @ LaneFault::Displaced { .. }) => {
            done_before(&books.store, &before).await?.ok_or_else(|| displaced.into())
        }
        landing => answered(landing?),
    }
}

/// What was signed before for the very same calls of the same accounts and has no end in the books.
async fn asked_before(store: &Store, redemption: &Redemption) -> Result<Vec<Open>, Failure> {
    let told = |(account, call): (Address, &Execution)| {
        let (target, value, data) = (call.target, call.value, &call.data);
        json!({ "account": account, "target": target, "value": value, "data": data })
    };
    let calls = Value::Array(redemption.calls().map(told).collect());
    let open = store.open().await.map_err(|error| anyhow!(error))?;
    let same = |one: &Open| one.entry.what.get("calls") == Some(&calls) && !one.bids.is_empty();
    Ok(open.into_iter().filter(same).collect())
}

/// The answer to who asks again: what became of what an earlier run signed. None where none of it can take effect beside another one.
fn earlier(
    before: &[Open],
    ends: Vec<(IntentId, Result<Landing, LaneFault>)>,
    instead_of: Option<B256>,
) -> Result<Option<Answer>, Failure> {
    said_of_earlier(&ends);
    let mut landed = None;
    let mut unsettled = None;
    let mut elsewhere: Vec<&Open> = before.iter().collect();
    for (intent, end) in ends {
        let asked = before.iter().any(|one| one.entry.intent == intent);
        elsewhere.retain(|one| one.entry.intent != intent);
        match end {
            Ok(landing) if asked && landed.is_none() => landed = Some(landing),
            // What is given up leaves its place to the next, and what lost its place never takes effect.
            Err(LaneFault::Forsaken { .. } | LaneFault::Displaced { .. }) => {}
            Err(fault) if asked => unsettled = Some(fault),
            Ok(_) | Err(_) => {}
        }
    }
    if let Some(landing) = landed {
        return answered(landing).map(|answer| Some(answer.with("earlier", true)));
    }
    if let Some(fault) = unsettled {
        return Err(fault.into());
    }
    // Somebody who names what is to give way knows of it.
    if instead_of.is_some() {
        return Ok(None);
    }
    // Sent the other way, by a transaction or through a bundler, it has a place of its own: both could take effect.
    let Some(bid) = elsewhere.iter().find_map(|one| one.bids.last()) else { return Ok(None) };
    let reason = format!(
        "the same was sent before as {}, and what became of it is not known: ask again the way that it was sent, with --bundler or \
         without; --again does it once more in any case; nothing was sent",
        bid.hash
    );
    let json =
        json!({ "allowed": null, "code": "UNSETTLED", "reason": reason, "sent": [bid.hash] });
    Ok(Some(Answer::no(json, reason)))
}

/// What the books say that one of them came to: its place was taken by what it was to replace.
async fn done_before(store: &Store, before: &[Open]) -> Result<Option<Answer>, Failure> {
    for one in before {
        let ended = store.ended(one.entry.intent).await.map_err(|error| anyhow!(error))?;
        if let Some(Ending::Done { hash, block }) = ended {
            let json = json!({
                "transaction": hash, "success": true, "gasUsed": null, "block": block, "earlier": true,
            });
            let text = format!("done: {hash}, which was quicker than what was to replace it");
            return Ok(Some(Answer::yes(json, text)));
        }
    }
    Ok(None)
}

fn answered(landing: Landing) -> Result<Answer, Failure> {
    Ok(match landing {
        Landing::Done(receipt) => {
            let text = format!("done: {} ({} gas)", receipt.hash, receipt.gas_used);
            Answer::yes(shown(&receipt), text)
        }
        Landing::Refused(denial) => return refused(&denial),
        Landing::Failed { receipt, cause } => {
            let text =
                format!("allowed by the dry run, but failed on chain: {}: {cause}", receipt.hash);
            Answer::no(shown(&receipt), text).with("cause", serde_json::to_value(&cause)?)
        }
    })
}

/// Where it is written down what the key signed.
struct OpenBooks {
    store: Arc<Store>,
    /// A chain to play with forgets, and so do its books.
    _passing: Option<TempDir>,
}

impl OpenBooks {
    /// Or the folder, where another process has them.
    fn open(
        args: &RedeemArgs,
        node: &Node,
        key: Address,
    ) -> Result<Result<Self, PathBuf>, Failure> {
        let named = args.books.clone().or_else(|| env::var_os("BARDO_DATA").map(PathBuf::from));
        let (root, passing) = match named {
            Some(folder) => (folder, None),
            None if node.is_near() => {
                let passing = TempDir::new().context("no folder for the books")?;
                (passing.path().to_owned(), Some(passing))
            }
            None => (data_folder()?, None),
        };
        let folder = root.join(node.chain_id().to_string()).join(key.to_string());
        let config = StoreConfig { folder, golem: key.into_word(), max_pages: None };
        Ok(match Store::open(&config, None) {
            Ok(store) => Ok(Self { store: Arc::new(store), _passing: passing }),
            Err(StoreError::Locked { .. }) => Err(config.folder),
            Err(fault) => return Err(fault.into()),
        })
    }
}

/// Where programs of this person keep what is theirs.
fn data_folder() -> Result<PathBuf, Failure> {
    let named = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = named("XDG_DATA_HOME").or_else(|| Some(named("HOME")?.join(".local/share")));
    let folder =
        folder.context("neither XDG_DATA_HOME nor HOME is set: name a folder with --books");
    Ok(folder.or_use()?.join("bardo"))
}

/// Tells what became of what an earlier run left.
fn said_of_earlier(ends: &[(IntentId, Result<Landing, LaneFault>)]) {
    for (intent, end) in ends {
        let words = match end {
            Ok(Landing::Done(receipt)) => format!("done: {}", receipt.hash),
            Ok(Landing::Failed { receipt, cause }) => format!("failed: {}: {cause}", receipt.hash),
            Ok(Landing::Refused(denial)) => format!("refused: {denial}"),
            Err(fault) => fault.to_string(),
        };
        let _ = writeln!(stderr(), "earlier redemption {}: {words}", intent.0);
    }
}

fn shown(receipt: &Receipt) -> Value {
    json!({
        "transaction": receipt.hash,
        "success": receipt.success,
        "gasUsed": receipt.gas_used,
        "block": receipt.block_number,
    })
}

/// Who executes an operation: whoever the grant names must be this one.
fn session_account(args: &RedeemArgs, key: Address) -> Result<SessionAccount, Failure> {
    Ok(match args.account.unwrap_or(SessionAccountKind::Key) {
        SessionAccountKind::Key => SessionAccount::Key(key),
        SessionAccountKind::Hybrid => {
            let proxy_code = input::proxy_code(args.form.proxy_code.as_deref())?;
            let account = hybrid_account(key, B256::ZERO, &proxy_code);
            let creation = account.creation().context("a Hybrid account is created")?.clone();
            SessionAccount::Hybrid { address: account.address, creation }
        }
    })
}

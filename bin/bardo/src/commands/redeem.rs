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
    Books as _, IntentId, Judged, Mandate, Proposed, Receipt, Redemption, SessionAccount,
    SessionSigner,
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
    #[expect(clippy::disallowed_methods, reason = "somebody typed it")]
    let judged = Proposed::unnamed(redemption).about("bardo delegation redeem").by_hand();
    // Whoever asks again because he was not told what became of it has not asked for it twice.
    let before = if args.again { Vec::new() } else { asked_before(&books.store, &judged).await? };
    let landing = if let Some(bundler) = &args.bundler {
        let operations =
            Operations::through(bundler, foresight, account, key, mandate, policy, clock).await?;
        let operations = operations.telling(tell);
        // What is to be replaced is not waited for.
        if args.instead_of.is_none() {
            let ends = operations.finish().await;
            said_of_earlier(&ends);
            if let Some(end) = the_same(ends, &before) {
                return answered(end?).map(|answer| answer.with("earlier", true));
            }
        }
        operations.redeem(judged).await?
    } else {
        let lane = Lane::open(foresight, key, mandate, policy, clock).await?.telling(tell);
        // What is to be replaced is not waited for.
        if args.instead_of.is_none() {
            let ends = lane.finish().await;
            said_of_earlier(&ends);
            if let Some(end) = the_same(ends, &before) {
                return answered(end?).map(|answer| answer.with("earlier", true));
            }
        }
        lane.redeem(judged).await?
    };
    answered(landing)
}

/// What an earlier run signed for the very same calls, and was not told the end of.
async fn asked_before(store: &Store, judged: &Judged) -> Result<Vec<IntentId>, Failure> {
    let digest = json!(judged.digest());
    let open = store.open().await.map_err(|error| anyhow!(error))?;
    let same = open.into_iter().filter(|one| {
        one.entry.what.get("digest") == Some(&digest) && !one.bids.is_empty() && !one.forsaken
    });
    Ok(same.map(|one| one.entry.intent).collect())
}

/// What became of that.
fn the_same(
    ends: Vec<(IntentId, Result<Landing, LaneFault>)>,
    before: &[IntentId],
) -> Option<Result<Landing, LaneFault>> {
    ends.into_iter().find(|(intent, _)| before.contains(intent)).map(|(_, end)| end)
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

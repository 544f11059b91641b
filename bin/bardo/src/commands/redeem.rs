use crate::{
    answer::{Answer, Failure, OrUse, tell},
    cli::{RedeemArgs, SessionAccountKind, confirmations},
    commands::simulate::{redemption, refused},
    input,
};
use alloy::primitives::{Address, B256};
use anyhow::Context;
use golem_chain::{Foresight, Landing, Lane, LanePolicy, Node, Operations, hybrid_account};
use golem_custody::{Receipt, SessionAccount, SessionSigner};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How often the node is asked by somebody who waits.
const POLL: Duration = Duration::from_millis(250);

/// `bardo delegation redeem`
pub(crate) async fn redeem(args: &RedeemArgs) -> Result<Answer, Failure> {
    let redemption = redemption(&args.call)?;
    let key = input::session(&args.secret)?;
    let node = args.call.node.connect().await?.instead_of(args.instead_of);
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
    if let Some(ceiling) = args.fee_ceiling {
        policy.clearing.fee_ceiling = ceiling;
    }
    let foresight = Arc::new(Foresight::new(node.clone()));
    let landing = if let Some(bundler) = &args.bundler {
        let account = session_account(args, key.address())?;
        let operations =
            Operations::through(bundler, foresight, account, key, policy, clock).await?;
        let operations = operations.telling(tell);
        operations.redeem(&redemption).await?
    } else {
        let mut lane = Lane::new(foresight, key, policy, clock).telling(tell);
        if let Some(private) = private(args, &node).await? {
            lane = lane.through(private);
        }
        lane.redeem(redemption).await?
    };
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

fn shown(receipt: &Receipt) -> Value {
    json!({
        "transaction": receipt.hash,
        "success": receipt.success,
        "gasUsed": receipt.gas_used,
        "block": receipt.block_number,
    })
}

/// Where what is signed is handed in, if not to the node that is asked.
async fn private(args: &RedeemArgs, node: &Node) -> Result<Option<Node>, Failure> {
    let id = node.chain_id();
    let listed = input::chains()?.of(id).and_then(|chain| chain.private_rpc.clone());
    let url = match (&args.private_rpc, listed) {
        (Some(url), _) => url.clone(),
        (None, Some(listed)) => listed.parse().context("the chain's private RPC").or_use()?,
        (None, None) => return Ok(None),
    };
    let private = Node::connect(&url).await?;
    if private.chain_id() != id {
        let (found, wanted) = (private.chain_id(), id);
        let off = anyhow::anyhow!("the private RPC serves chain {found}, and --rpc chain {wanted}");
        return Err(Failure::Use(off));
    }
    Ok(Some(private))
}

/// Who executes an operation: whoever the grant names must be this one.
fn session_account(args: &RedeemArgs, key: Address) -> Result<SessionAccount, Failure> {
    Ok(match args.account {
        SessionAccountKind::Key => SessionAccount::Key(key),
        SessionAccountKind::Hybrid => {
            let account =
                hybrid_account(key, B256::ZERO, &input::proxy_code(args.proxy_code.as_deref())?);
            let creation = account.creation().context("a Hybrid account is created")?.clone();
            SessionAccount::Hybrid { address: account.address, creation }
        }
    })
}

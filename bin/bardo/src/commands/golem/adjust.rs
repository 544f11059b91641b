use super::{
    estate::Estate,
    moment,
    policy::{Asked, Widened, widened},
    refused,
};
use crate::{
    answer::{Answer, Failure},
    cli::AdjustArgs,
};
use golem_chain::environment;
use golem_delegation::grant::{Adjustment, Grant};
use serde_json::json;

const DAY: u64 = 86_400;

/// `bardo golem adjust`: other limits by a signature (SPEC G11).
pub(super) async fn adjust(args: &AdjustArgs) -> Result<Answer, Failure> {
    const WHAT: &str = "adjusted";
    let estate = match Estate::of(WHAT, &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    if let Some(over) = estate.is_over().await? {
        return Ok(refused(WHAT, &format!("{over}; nothing was signed or sent")));
    }
    if let Some(reason) = estate.asks_in_vain()? {
        return Ok(refused(WHAT, reason));
    }
    let to = Adjustment {
        until: args.days.map(|days| estate.now.saturating_add(days.saturating_mul(DAY))),
        spend_cap: args.cap,
        slippage_bps: args.slippage_bps,
    };
    let environment = environment();
    let grant = Grant::read(&estate.grant, &environment);
    let renewal = match grant.and_then(|grant| grant.adjust(to)) {
        Ok(renewal) => renewal,
        Err(no) => return Ok(refused(WHAT, &format!("{no}; nothing was signed or sent"))),
    };
    let (next, ceiling) = (&renewal.charter, args.send.ceiling(&estate.node)?);
    let (data, salt) = (args.data.as_path(), args.salt);
    let asked = Asked { what: WHAT, data, next, cap: args.cap, salt, ceiling };
    let widened = match widened(&estate, asked).await? {
        Ok(widened) => widened,
        Err(no) => return Ok(no),
    };
    let signed = estate.signer.grant(&estate.domain(), renewal.delegation)?;
    let path = estate.inbox.put(&signed, estate.now)?;
    let (old, new) = (&estate.charter, &renewal.charter);
    let dollars = |micro: u64| format!("${}.{:02}", micro / 1_000_000, micro / 10_000 % 100);
    let mut text = format!(
        "signed, as number {}: {} a period (before {}), {} basis points of slippage (before {}), until {} (before {}).\n\
         It is in its inbox, and counts once the Golem has verified it. From then on {}",
        new.epoch,
        dollars(new.spend_cap),
        dollars(old.spend_cap),
        new.slippage_bps,
        old.slippage_bps,
        moment(new.window.end()),
        moment(old.window.end()),
        renewal.supersedes,
    );
    text.extend(widened.as_ref().map(|widened| format!("\n{}", widened.text())));
    let json = json!({
        "adjusted": true, "golem": estate.glance.golem, "epoch": new.epoch, "spendCap": new.spend_cap,
        "slippageBps": new.slippage_bps, "until": new.window.end(), "file": path,
        "policy": widened.as_ref().map(Widened::json),
    });
    Ok(Answer::yes(json, text))
}

//! An owner's yes or no to what his Golem asks (SPEC P8).

use super::{archive, connected, moment, now, refused};
use crate::{
    answer::{Answer, Failure},
    cli::{AnswerArgs, LookArgs},
    commands::onboard::folder::GolemFile,
    input,
    prose::dollars,
};
use alloy::primitives::{Address, B256, U256};
use anyhow::anyhow;
use bardo_store::{OwnerLedger, Replying};
use golem_custody::{Approvals as _, IntentId, Question};
use golem_runtime::{Aim, FolderInbox, Glance, GolemEvent, Pending, Told};
use serde_json::{Value, json};
use std::path::Path;

/// A Golem's questions, as its books and its owner's ledger have them.
struct Desk {
    file: GolemFile,
    glance: Glance,
    ledger: Option<OwnerLedger>,
    now: u64,
}

impl Desk {
    async fn of(data: &Path, rpc: Option<&url::Url>) -> Result<Self, Failure> {
        let Some(file) = GolemFile::of(data)? else {
            return Err(Failure::Use(anyhow!(
                "{} has no golem.toml: `bardo onboard` first",
                data.display()
            )));
        };
        let node = connected(rpc).await?;
        let now = now(node.as_ref()).await?;
        let glance = Glance::of(&archive(data)?, now)?;
        let place = file.ledger(data);
        let ledger =
            if place.is_file() { Some(OwnerLedger::open(&place, file.owner)?) } else { None };
        Ok(Self { file, glance, ledger, now })
    }

    fn pending(&self) -> &[Pending] {
        self.glance.life.as_ref().map_or(&[], |life| &life.pending)
    }

    /// What the owner is asked, made of the very calls in the Golem's books.
    fn question(&self, pending: &Pending) -> Option<Question> {
        let (_, charter) = self.glance.grant.as_ref()?;
        Some(Question {
            intent: pending.intent,
            golem: self.glance.golem,
            owner: self.file.owner,
            digest: pending.digest(charter.account),
            micro_dollars: pending.micro_dollars,
            words: Value::from(pending.about.as_str()).to_string(),
            expires_at: pending.expires_at,
        })
    }
}

/// When an answer to this counted, if it was ever asked.
fn asked_until(data: &Path, id: IntentId) -> Result<Option<u64>, Failure> {
    let (records, _) = archive(data)?.audit()?;
    Ok(records.iter().find_map(|record| match Told::of(record).event {
        GolemEvent::ApprovalAsked { intent, expires_at, .. } if intent == id => Some(expires_at),
        _ => None,
    }))
}

/// `bardo golem approvals`
pub(super) async fn approvals(args: &LookArgs) -> Result<Answer, Failure> {
    let desk = Desk::of(&args.data, args.rpc.as_ref()).await?;
    let waiting = match &desk.ledger {
        Some(ledger) => ledger.waiting(desk.now).await?,
        None => Vec::new(),
    };
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for pending in desk.pending() {
        // What the ledger has otherwise, or has an answer to, is nothing to answer.
        if !desk.question(pending).is_some_and(|question| waiting.contains(&question)) {
            continue;
        }
        let Pending { intent, micro_dollars, expires_at, calls, .. } = pending;
        let what = words(&pending.aim, *micro_dollars);
        rows.push(json!({
            "id": intent, "what": what, "microDollars": micro_dollars, "expiresAt": expires_at,
            "calls": calls,
        }));
        lines.push(format!("{}\n  {what}\n  answer until {}", intent.0, moment(*expires_at)));
    }
    let text = if lines.is_empty() {
        "it asks for nothing".to_owned()
    } else {
        lines.push("`bardo golem approve ID` or `bardo golem deny ID` with your key".to_owned());
        lines.join("\n")
    };
    Ok(Answer::yes(json!({ "golem": desk.glance.golem, "waiting": rows }), text))
}

/// `bardo golem approve` and `bardo golem deny`
pub(super) async fn answer(args: &AnswerArgs, approved: bool) -> Result<Answer, Failure> {
    let what = if approved { "approved" } else { "denied" };
    let no = |reason: String| Ok(refused(what, &format!("{reason}; nothing was signed")));
    let desk = Desk::of(&args.data, args.rpc.as_ref()).await?;
    let signer = input::owner(&args.key)?;
    if signer.address() != desk.file.owner || desk.glance.owner() != Some(desk.file.owner) {
        let owner = desk.file.owner;
        return no(format!("{} is {owner}'s and not {}'s", desk.glance.golem, signer.address()));
    }
    let intent = IntentId(args.id);
    let Some(ledger) = &desk.ledger else {
        return no(format!("it never asked about {}", args.id));
    };
    let before = ledger.answer(intent).await.map_err(|fault| anyhow!(fault))?;
    if let Some(before) = &before
        && (approved || !before.approved)
    {
        let said = if before.approved { "yes" } else { "no" };
        return no(format!("you said {said} to {} before", args.id));
    }
    let Some(pending) = desk.pending().iter().find(|pending| pending.intent == intent) else {
        return match asked_until(&args.data, intent)? {
            Some(until) => no(over(args.id, until)),
            None => no(format!("it never asked about {}", args.id)),
        };
    };
    if desk.now > pending.expires_at {
        return no(over(args.id, pending.expires_at));
    }
    let question = desk.question(pending).ok_or_else(|| anyhow!("it has no grant"))?;
    // What is signed is what its books show, and what the ledger has: of anything else nobody knows what it would be.
    let same = before.is_some() || ledger.waiting(desk.now).await?.contains(&question);
    if !same {
        return no(format!("its books and your ledger do not have the same about {}", args.id));
    }
    let signed = signer.answer(&question, approved)?;
    match ledger.reply(intent, &signed, desk.now).await? {
        Replying::Kept => {}
        Replying::Refused(denial) => return no(denial.to_string()),
    }
    FolderInbox::of(&args.data).tell_answer(intent)?;
    let said = words(&pending.aim, pending.micro_dollars);
    let json = json!({
        what: true, "golem": desk.glance.golem, "id": intent, "what": said,
        "microDollars": pending.micro_dollars, "expiresAt": pending.expires_at,
    });
    let text = if approved {
        format!(
            "yes to: {said}. It is done once, with its next tick, if it may be until {}",
            moment(pending.expires_at)
        )
    } else {
        format!(
            "no to: {said}. It is not done, and not asked again before {}",
            moment(pending.expires_at)
        )
    };
    Ok(Answer::yes(json, text))
}

fn over(id: B256, until: u64) -> String {
    format!("an answer to {id} counted until {}, or it is done with", moment(until))
}

/// What is asked, in plain words.
fn words(aim: &Aim, micro_dollars: u64) -> String {
    let most = dollars(U256::from(micro_dollars));
    let token =
        |token: &Address| if token.is_zero() { "coins".to_owned() } else { token.to_string() };
    match aim {
        Aim::Swap { sell, buy } => {
            format!("give at most {most} of {}, for {}", token(sell), token(buy))
        }
        Aim::Gas => format!("give its key at most {most} of gas money"),
        _ => format!("spend at most {most}"),
    }
}

/// What waits for an answer, in words for whoever looks at the Golem.
pub(super) fn asked(glance: &Glance, now: u64) -> Vec<String> {
    let pending = glance.life.as_ref().map_or(&[][..], |life| &life.pending);
    pending
        .iter()
        .filter(|one| one.asked && one.waits(now))
        .map(|one| {
            let (what, until) = (words(&one.aim, one.micro_dollars), moment(one.expires_at));
            format!(
                "it asks whether it may {what}, until {until}: `bardo golem approve {}`",
                one.intent.0
            )
        })
        .collect()
}

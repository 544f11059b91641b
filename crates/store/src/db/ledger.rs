use super::{
    DAY, Names,
    books::{a_day_before, fits, late, live_sums, over, stands},
    counted, counts_from, stored, word,
};
use crate::{StoreError, audit::signed_by};
use alloy_primitives::{Address, B256};
use golem_custody::{Answer, Approving, Denial, DenialCode, IntentId, Question};
use rusqlite::{Connection, OptionalExtension, params};

const HOLD: &str = "holding a sum in the owner's ledger";
const RELEASE: &str = "releasing a sum in the owner's ledger";
const ASK: &str = "asking the owner";
const REPLY: &str = "keeping the owner's answer";
const CONSUME: &str = "using the owner's answer";

/// A sum that an owner's ledger is to hold for one of his Golems.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) golem: B256,
    pub(crate) intent: IntentId,
    pub(crate) micro_dollars: u64,
    pub(crate) at: u64,
    pub(crate) cap: Option<u64>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    /// It is held.
    Made,
    /// It was before: the name was used.
    Already,
    /// There is no room.
    Refused(Denial),
}

/// Holds a sum, if the owner's cap has room for it. One statement writes, the last: where this fails, nothing of it is there.
pub(crate) fn hold(connection: &Connection, hold: &Hold) -> Result<Held, StoreError> {
    let Hold { golem, intent, micro_dollars, at, cap } = *hold;
    let (held, newest): (bool, i64) = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM held WHERE golem = ?1 AND intent = ?2 AND released = 0),
                    max(coalesce((SELECT max(at) FROM held WHERE released = 0), 0),
                        coalesce((SELECT max(at) FROM held WHERE released = 1), 0))",
        )
        .and_then(|mut standing| {
            standing.query_row([golem.as_slice(), intent.0.as_slice()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        })
        .map_err(StoreError::sql(HOLD))?;
    if held {
        return Ok(Held::Already);
    }
    let newest = counted(HOLD, newest)?;
    let Some(now) = counts_from(at, newest) else {
        return Ok(Held::Refused(late(at, newest)));
    };
    let sum = stored("a sum in micro-dollars", micro_dollars)?;
    if let Some(cap) = cap {
        let since = a_day_before(now)?;
        // More than SQLite can count is its error, and so ours.
        let taken: i64 = connection
            .prepare_cached(
                "SELECT (SELECT coalesce(sum(micro_dollars), 0) FROM minutes WHERE minute > ?1 / 60)
                      + (SELECT coalesce(sum(micro_dollars), 0) FROM held
                         WHERE released = 0 AND at > ?1 AND at < (?1 / 60 + 1) * 60)",
            )
            .and_then(|mut taken| taken.query_row([since], |row| row.get(0)))
            .map_err(StoreError::sql(HOLD))?;
        let taken = counted(HOLD, taken)?;
        if !fits(micro_dollars, taken, cap) {
            let whose = "all Golems of the owner in any 24 hours";
            let denial = over(DenialCode::BudgetOwner, micro_dollars, taken, cap, whose);
            return Ok(Held::Refused(denial));
        }
    }
    write(connection, golem, intent, sum, stored("a time", now)?)?;
    Ok(Held::Made)
}

fn write(
    connection: &Connection,
    golem: B256,
    intent: IntentId,
    sum: i64,
    at: i64,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO held (golem, intent, micro_dollars, at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (golem, intent) DO UPDATE SET micro_dollars = ?3, at = ?4, released = 0",
        )
        .and_then(|mut insert| {
            insert.execute(params![golem.as_slice(), intent.0.as_slice(), sum, at])
        })
        .map_err(StoreError::sql(HOLD))?;
    Ok(())
}

fn newest(connection: &Connection) -> Result<u64, StoreError> {
    let newest: i64 = connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(at) FROM held WHERE released = 0), 0),
                        coalesce((SELECT max(at) FROM held WHERE released = 1), 0))",
        )
        .and_then(|mut newest| newest.query_row([], |row| row.get(0)))
        .map_err(StoreError::sql(HOLD))?;
    counted(HOLD, newest)
}

/// Gives sums of a Golem back; what is not held stays so.
pub(crate) fn release(
    connection: &Connection,
    golem: B256,
    intents: &[IntentId],
) -> Result<(), StoreError> {
    for intent in intents {
        connection
            .prepare_cached("UPDATE held SET released = 1 WHERE golem = ?1 AND intent = ?2")
            .and_then(|mut release| release.execute([golem.as_slice(), intent.0.as_slice()]))
            .map_err(StoreError::sql(RELEASE))?;
    }
    Ok(())
}

/// Makes the ledger say of one Golem what its own books say: at boot, when nobody else speaks for it.
///
/// What the books do not know was never signed, and what they gave back is free. What they count and the ledger lost is held again,
/// without asking for room: it is spent.
pub(crate) fn reconcile(
    ledger: &Connection,
    (books, names): (&Connection, &Names),
    golem: B256,
    owner: Address,
) -> Result<(), StoreError> {
    let since = stored("a time", newest(ledger)?.saturating_sub(DAY))?;
    let held: Vec<Vec<u8>> = ledger
        .prepare("SELECT intent FROM held WHERE golem = ?1 AND released = 0 AND at > ?2")
        .and_then(|mut held| {
            let rows = held.query_map(params![golem.as_slice(), since], |row| row.get(0))?;
            rows.collect()
        })
        .map_err(StoreError::sql(RELEASE))?;
    for intent in held {
        let intent = IntentId(word(RELEASE, &intent)?);
        if !stands(books, names, intent)? {
            release(ledger, golem, &[intent])?;
        }
    }
    for (intent, of, sum, at) in live_sums(books)? {
        if of != owner {
            continue;
        }
        let lost: bool = ledger
            .query_row(
                "SELECT NOT EXISTS (SELECT 1 FROM held WHERE golem = ?1 AND intent = ?2 AND released = 0)",
                [golem.as_slice(), intent.0.as_slice()],
                |row| row.get(0),
            )
            .map_err(StoreError::sql(HOLD))?;
        if lost {
            let (sum, at) = (stored("a sum in micro-dollars", sum)?, stored("a time", at)?);
            write(ledger, golem, intent, sum, at)?;
        }
    }
    Ok(())
}

/// A question as it lies there.
struct Asked {
    question: Question,
    answer: Option<Answer>,
    used: bool,
}

impl Asked {
    fn find(
        connection: &Connection,
        what: &'static str,
        intent: IntentId,
    ) -> Result<Option<Self>, StoreError> {
        let found: Option<(String, Option<String>, bool)> = connection
            .prepare_cached(
                "SELECT question, answer, used_at IS NOT NULL FROM questions WHERE intent = ?1",
            )
            .and_then(|mut found| {
                found
                    .query_row([intent.0.as_slice()], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                    })
                    .optional()
            })
            .map_err(StoreError::sql(what))?;
        let Some((question, answer, used)) = found else { return Ok(None) };
        let unreadable = |source| StoreError::Unreadable { what, source: Some(source) };
        Ok(Some(Self {
            question: serde_json::from_str(&question).map_err(unreadable)?,
            answer: answer
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .map_err(unreadable)?,
            used,
        }))
    }

    fn missing(intent: IntentId) -> Denial {
        let reason = format!("the owner was not asked about intent {}", intent.0);
        Denial::new(DenialCode::ApprovalMissing, reason)
    }

    fn expired(&self, at: u64) -> Option<Denial> {
        let end = self.question.expires_at;
        (at > end).then(|| {
            let reason = format!("an answer counted until second {end}, and this is second {at}");
            Denial::new(DenialCode::ApprovalExpired, reason)
        })
    }

    /// The file is shared: what counts is the signature, and whose it is.
    fn unsigned(&self, answer: &Answer, owner: Address) -> Option<Denial> {
        let digest = self.question.answer_digest(answer.approved);
        let by = signed_by(&digest, &answer.signature);
        (by != Some(owner)).then(|| {
            let whose = by.map_or("nobody".to_owned(), |by| by.to_string());
            let reason = format!("the answer has to be signed by {owner}, and is by {whose}");
            Denial::new(DenialCode::ApprovalSigner, reason)
        })
    }

    fn used(intent: IntentId) -> Denial {
        let reason =
            format!("the owner's answer about intent {} was used, and once only", intent.0);
        Denial::new(DenialCode::ApprovalUsed, reason)
    }

    fn denied(intent: IntentId) -> Denial {
        let reason = format!("the owner said no to intent {}", intent.0);
        Denial::new(DenialCode::ApprovalDenied, reason)
    }
}

/// Asks, once.
pub(crate) fn ask(
    connection: &Connection,
    owner: Address,
    question: &Question,
) -> Result<(), StoreError> {
    if question.owner != owner {
        return Err(StoreError::OtherOwner { asked: question.owner, found: owner });
    }
    if let Some(before) = Asked::find(connection, ASK, question.intent)? {
        let same = before.question == *question;
        return if same { Ok(()) } else { Err(StoreError::OtherQuestion(question.intent)) };
    }
    let text = serde_json::to_string(question)
        .map_err(|source| StoreError::Unreadable { what: ASK, source: Some(source) })?;
    connection
        .execute(
            "INSERT INTO questions (intent, question) VALUES (?1, ?2)",
            params![question.intent.0.as_slice(), text],
        )
        .map_err(StoreError::sql(ASK))?;
    Ok(())
}

/// What the owner said, if he did.
pub(crate) fn read_answer(
    connection: &Connection,
    intent: IntentId,
) -> Result<Option<Answer>, StoreError> {
    Ok(Asked::find(connection, ASK, intent)?.and_then(|asked| asked.answer))
}

/// Questions that can still be answered, the soonest to expire first.
pub(crate) fn waiting(connection: &Connection, at: u64) -> Result<Vec<Question>, StoreError> {
    let texts: Vec<String> = connection
        .prepare_cached("SELECT question FROM questions WHERE answer IS NULL")
        .and_then(|mut open| open.query_map([], |row| row.get(0))?.collect())
        .map_err(StoreError::sql(ASK))?;
    let mut questions = Vec::new();
    for text in texts {
        let question: Question = serde_json::from_str(&text)
            .map_err(|source| StoreError::Unreadable { what: ASK, source: Some(source) })?;
        if at <= question.expires_at {
            questions.push(question);
        }
    }
    questions.sort_by_key(|question| question.expires_at);
    Ok(questions)
}

/// Whether an owner's answer was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Replying {
    /// It was.
    Kept,
    /// It was not.
    Refused(Denial),
}

/// Keeps an answer: the owner's, in time. A no replaces a yes that was not used yet; a yes never replaces a no.
pub(crate) fn reply(
    connection: &Connection,
    owner: Address,
    intent: IntentId,
    answer: &Answer,
    at: u64,
) -> Result<Replying, StoreError> {
    let Some(asked) = Asked::find(connection, REPLY, intent)? else {
        return Ok(Replying::Refused(Asked::missing(intent)));
    };
    let withdrawn = matches!(&asked.answer, Some(before) if !before.approved && answer.approved);
    let denial = asked
        .unsigned(answer, owner)
        .or_else(|| asked.used.then(|| Asked::used(intent)))
        .or_else(|| asked.expired(at))
        .or_else(|| withdrawn.then(|| Asked::denied(intent)));
    if let Some(denial) = denial {
        return Ok(Replying::Refused(denial));
    }
    let text = serde_json::to_string(answer)
        .map_err(|source| StoreError::Unreadable { what: REPLY, source: Some(source) })?;
    connection
        .execute(
            "UPDATE questions SET answer = ?2 WHERE intent = ?1",
            params![intent.0.as_slice(), text],
        )
        .map_err(StoreError::sql(REPLY))?;
    Ok(Replying::Kept)
}

/// Whether there is a yes to be used: to this digest, by the owner, in time, and not used before.
pub(crate) fn weigh(
    connection: &Connection,
    owner: Address,
    intent: IntentId,
    digest: B256,
    at: u64,
) -> Result<Approving, StoreError> {
    let refused = |denial| Ok(Approving::Refused(denial));
    let Some(asked) = Asked::find(connection, CONSUME, intent)? else {
        return refused(Asked::missing(intent));
    };
    if asked.question.digest != digest {
        let reason = format!("the owner was asked about {}, not {digest}", asked.question.digest);
        return refused(Denial::new(DenialCode::ApprovalOther, reason));
    }
    if asked.used {
        return refused(Asked::used(intent));
    }
    if let Some(denial) = asked.expired(at) {
        return refused(denial);
    }
    let Some(answer) = &asked.answer else {
        let end = asked.question.expires_at;
        let reason = format!("the owner has not answered; he can until second {end}");
        return refused(Denial::new(DenialCode::ApprovalMissing, reason));
    };
    if let Some(denial) = asked.unsigned(answer, owner) {
        return refused(denial);
    }
    if !answer.approved {
        return refused(Asked::denied(intent));
    }
    Ok(Approving::Granted)
}

/// Uses up a yes, if it is one.
pub(crate) fn consume(
    connection: &Connection,
    owner: Address,
    intent: IntentId,
    digest: B256,
    at: u64,
) -> Result<Approving, StoreError> {
    let weighed = weigh(connection, owner, intent, digest, at)?;
    if weighed != Approving::Granted {
        return Ok(weighed);
    }
    connection
        .execute(
            "UPDATE questions SET used_at = ?2 WHERE intent = ?1",
            params![intent.0.as_slice(), stored("a time", at)?],
        )
        .map_err(StoreError::sql(CONSUME))?;
    Ok(weighed)
}

use super::{DAY, append, counted, counts_from, stored, whose};
use crate::StoreError;
use alloy_primitives::{Address, B256, U256};
use golem_custody::{
    Bid, Caps, Denial, DenialCode, Ending, Entry, IntentId, Open, Reserving, Spent,
};
use golem_delegation::blast_radius::Dollars;
use rusqlite::{Connection, OptionalExtension, Params, params};
use serde::de::DeserializeOwned;
use serde_json::json;

const RESERVE: &str = "reserving";
const SIGN: &str = "keeping a signature";
const SETTLE: &str = "settling";
const OPEN: &str = "reading what is open";

/// Sets a sum aside if there is room for it, and writes down either way what became of it.
///
/// `over` is what the owner's ledger said against it; then nothing is reserved here.
pub(crate) fn reserve(
    connection: &Connection,
    entry: &Entry,
    caps: &Caps,
    over: Option<&Denial>,
) -> Result<Reserving, StoreError> {
    let found = whose(connection)?;
    if entry.golem != found {
        return Err(StoreError::OtherGolem { asked: entry.golem, found });
    }
    let judged = match used(connection, entry)?.or_else(|| over.cloned()) {
        Some(denial) => Err(denial),
        None => room(connection, entry, caps)?,
    };
    let from = match judged {
        Ok(from) => from,
        Err(denial) => {
            let body =
                json!({ "intent": entry.intent, "entry": entry, "caps": caps, "denial": denial });
            append(connection, "intent.refused", &body, entry.at)?;
            return Ok(Reserving::Refused(denial));
        }
    };
    let (sum, at) =
        (stored("a sum in micro-dollars", entry.micro_dollars)?, stored("a time", from)?);
    connection
        .prepare_cached(
            "INSERT INTO reservations (intent, session, micro_dollars, at, entry) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                entry.intent.0.as_slice(),
                entry.session.as_slice(),
                sum,
                at,
                text(entry)?,
            ])
        })
        .map_err(StoreError::sql(RESERVE))?;
    let body = json!({ "intent": entry.intent, "entry": entry, "caps": caps });
    append(connection, "intent.reserved", &body, entry.at)?;
    Ok(Reserving::Made)
}

fn text(value: &impl serde::Serialize) -> Result<String, rusqlite::Error> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn read<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|source| StoreError::Unreadable { what, source: Some(source) })
}

fn used(connection: &Connection, entry: &Entry) -> Result<Option<Denial>, StoreError> {
    let used = known(connection, entry.intent)?;
    Ok(used.then(|| {
        Denial::new(
            DenialCode::IntentUsed,
            format!("the name {} was used for an intent before, and once only", entry.intent.0),
        )
    }))
}

/// Whether a name was used.
pub(crate) fn known(connection: &Connection, intent: IntentId) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM reservations WHERE intent = ?1)")
        .and_then(|mut known| known.query_row([intent.0.as_slice()], |row| row.get(0)))
        .map_err(StoreError::sql(RESERVE))
}

/// The second that the sum would count from, where all caps have room for it.
fn room(
    connection: &Connection,
    entry: &Entry,
    caps: &Caps,
) -> Result<Result<u64, Denial>, StoreError> {
    let newest = newest(connection)?;
    let Some(now) = counts_from(entry.at, newest) else {
        return Ok(Err(late(entry.at, newest)));
    };
    // What cannot be stored cannot be counted: an error, and no cap is asked.
    stored("a sum in micro-dollars", entry.micro_dollars)?;
    let asked = entry.micro_dollars;
    let Spent { session, day } = spent_by(connection, entry.session, now)?;
    if !fits(asked, session, caps.session) {
        let whose = format!("session key {} in its whole life", entry.session);
        return Ok(Err(over(DenialCode::BudgetSession, asked, session, caps.session, &whose)));
    }
    if !fits(asked, day, caps.day) {
        let whose = format!("Golem {} in any 24 hours", entry.golem);
        return Ok(Err(over(DenialCode::BudgetDay, asked, day, caps.day, &whose)));
    }
    Ok(Ok(now))
}

/// What counts for a session key, and for its Golem on the day before `now`.
pub(crate) fn spent_by(
    connection: &Connection,
    session: Address,
    now: u64,
) -> Result<Spent, StoreError> {
    let session = spent(
        connection,
        "SELECT coalesce((SELECT micro_dollars FROM sessions WHERE session = ?1), 0)",
        [session.as_slice()],
    )?;
    let day = spent(
        connection,
        "SELECT (SELECT coalesce(sum(micro_dollars), 0) FROM minutes WHERE minute > ?1 / 60)
              + (SELECT coalesce(sum(micro_dollars), 0) FROM reservations
                 WHERE given_back = 0 AND at > ?1 AND at < (?1 / 60 + 1) * 60)",
        [a_day_before(now)?],
    )?;
    Ok(Spent { session, day })
}

/// The last second that does not count any more: what was reserved a day ago to the second is a day ago.
///
/// Whole minutes behind it are added up already; of its own minute the rest is, row by row.
pub(super) fn a_day_before(now: u64) -> Result<i64, StoreError> {
    match now.checked_sub(DAY) {
        Some(since) => stored("a time", since),
        // Before the first day was over, the minute before time began.
        None => Ok(-60),
    }
}

/// A sum that SQLite adds up; more than it can count is its error, and so ours.
pub(super) fn spent(
    connection: &Connection,
    query: &str,
    params: impl Params,
) -> Result<u64, StoreError> {
    let sum: i64 = connection
        .prepare_cached(query)
        .and_then(|mut sum| sum.query_row(params, |row| row.get(0)))
        .map_err(StoreError::sql(RESERVE))?;
    counted(RESERVE, sum)
}

pub(super) fn fits(asked: u64, spent: u64, cap: u64) -> bool {
    spent.checked_add(asked).is_some_and(|sum| sum <= cap)
}

pub(super) fn over(code: DenialCode, asked: u64, spent: u64, cap: u64, whose: &str) -> Denial {
    let dollars = |micro: u64| Dollars(U256::from(micro));
    Denial::new(
        code,
        format!(
            "{} more than {} of {} would be spent by {whose}: {asked} micro-dollars are asked for, {spent} of {cap} are taken",
            dollars(asked),
            dollars(spent),
            dollars(cap),
        ),
    )
}

pub(super) fn late(at: u64, newest: u64) -> Denial {
    Denial::new(
        DenialCode::Clock,
        format!(
            "it is asked for in second {at}, and second {newest} was written already: a clock that goes back would free what is spent"
        ),
    )
}

/// The newest second that a reservation counts from.
fn newest(connection: &Connection) -> Result<u64, StoreError> {
    let newest: i64 = connection
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(at) FROM reservations WHERE given_back = 0), 0),
                        coalesce((SELECT max(at) FROM reservations WHERE given_back = 1), 0))",
        )
        .and_then(|mut newest| newest.query_row([], |row| row.get(0)))
        .map_err(StoreError::sql(RESERVE))?;
    counted(RESERVE, newest)
}

/// How an intent stands: its end, if it has one.
fn standing(connection: &Connection, intent: IntentId) -> Result<Option<Ending>, StoreError> {
    let ending: Option<Option<String>> = connection
        .prepare_cached("SELECT ending FROM reservations WHERE intent = ?1")
        .and_then(|mut found| found.query_row([intent.0.as_slice()], |row| row.get(0)).optional())
        .map_err(StoreError::sql(SETTLE))?;
    match ending {
        None => Err(StoreError::UnknownIntent(intent)),
        Some(None) => Ok(None),
        Some(Some(text)) => read(SETTLE, &text).map(Some),
    }
}

/// Keeps what was signed for an intent that has not ended.
pub(crate) fn keep_bid(
    connection: &Connection,
    intent: IntentId,
    bid: &Bid,
    at: u64,
) -> Result<(), StoreError> {
    if standing(connection, intent)?.is_some() {
        return Err(StoreError::Ended(intent));
    }
    let kept: Option<(Vec<u8>, String)> = connection
        .prepare_cached("SELECT intent, bid FROM bids WHERE hash = ?1")
        .and_then(|mut kept| {
            kept.query_row([bid.hash.as_slice()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(StoreError::sql(SIGN))?;
    if let Some((of, text)) = kept {
        // A caller that did not hear the answer asks again.
        let same = of == intent.0.as_slice() && read::<Bid>(SIGN, &text)? == *bid;
        return if same { Ok(()) } else { Err(StoreError::OtherBid(bid.hash)) };
    }
    connection
        .prepare_cached("INSERT INTO bids (intent, hash, bid) VALUES (?1, ?2, ?3)")
        .and_then(|mut insert| {
            insert.execute(params![intent.0.as_slice(), bid.hash.as_slice(), text(bid)?])
        })
        .map_err(StoreError::sql(SIGN))?;
    // The bytes are in the books; their hash is enough here.
    let body = json!({
        "intent": intent, "route": bid.route, "hash": bid.hash, "place": bid.place, "since": bid.since,
    });
    append(connection, "intent.signed", &body, at)?;
    Ok(())
}

/// Ends an intent. Whether its sum was given back by this call or an earlier one.
pub(crate) fn settle(
    connection: &Connection,
    intent: IntentId,
    ending: &Ending,
    at: u64,
) -> Result<bool, StoreError> {
    let gives_back = !matches!(ending, Ending::Done { .. });
    match standing(connection, intent)? {
        Some(before) if before == *ending => return Ok(gives_back),
        Some(_) => return Err(StoreError::Ended(intent)),
        None => {}
    }
    connection
        .prepare_cached("UPDATE reservations SET ending = ?2, given_back = ?3 WHERE intent = ?1")
        .and_then(|mut end| end.execute(params![intent.0.as_slice(), text(ending)?, gives_back]))
        .map_err(StoreError::sql(SETTLE))?;
    let body = json!({ "intent": intent, "ending": ending });
    append(connection, "intent.settled", &body, at)?;
    Ok(gives_back)
}

/// What has not ended, the oldest first.
pub(crate) fn open_intents(connection: &Connection) -> Result<Vec<Open>, StoreError> {
    let mut select = connection
        .prepare_cached(
            "SELECT r.entry, b.bid FROM reservations r LEFT JOIN bids b ON b.intent = r.intent
             WHERE r.ending IS NULL ORDER BY r.number, b.number",
        )
        .map_err(StoreError::sql(OPEN))?;
    let rows = select
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?)))
        .map_err(StoreError::sql(OPEN))?;
    let mut open: Vec<Open> = Vec::new();
    for row in rows {
        let (entry, bid) = row.map_err(StoreError::sql(OPEN))?;
        let entry: Entry = read(OPEN, &entry)?;
        let bid: Option<Bid> = bid.map(|bid| read(OPEN, &bid)).transpose()?;
        match open.last_mut() {
            Some(last) if last.entry.intent == entry.intent => last.bids.extend(bid),
            _ => open.push(Open { entry, bids: bid.into_iter().collect() }),
        }
    }
    Ok(open)
}

/// Whether a sum counts: it was reserved, and not given back.
pub(crate) fn stands(connection: &Connection, intent: B256) -> Result<bool, StoreError> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM reservations WHERE intent = ?1 AND given_back = 0)",
        )
        .and_then(|mut stands| stands.query_row([intent.as_slice()], |row| row.get(0)))
        .map_err(StoreError::sql(OPEN))
}

/// Every sum that still counts in a rolling window: name, owner, micro-dollars, and the second that it counts from.
pub(crate) fn live_sums(
    connection: &Connection,
) -> Result<Vec<(IntentId, Address, u64, u64)>, StoreError> {
    let since = newest(connection)?.saturating_sub(DAY);
    let since = stored("a time", since)?;
    let mut select = connection
        .prepare(
            "SELECT entry, micro_dollars, at FROM reservations WHERE given_back = 0 AND at > ?1",
        )
        .map_err(StoreError::sql(OPEN))?;
    let rows = select
        .query_map([since], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        })
        .map_err(StoreError::sql(OPEN))?;
    rows.map(|row| {
        let (entry, sum, at) = row.map_err(StoreError::sql(OPEN))?;
        let entry: Entry = read(OPEN, &entry)?;
        Ok((entry.intent, entry.owner, counted(OPEN, sum)?, counted(OPEN, at)?))
    })
    .collect()
}

use super::{DAY, Draft, Names, Standing, append, counted, counts_from, names, stored};
use crate::StoreError;
use alloy_primitives::{Address, U256};
use golem_custody::{
    Bid, Caps, Denial, DenialCode, Ending, Entry, IntentId, Open, Reserving, Spent,
};
use golem_delegation::blast_radius::Dollars;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

pub(super) const RESERVE: &str = "reserving";
const SIGN: &str = "keeping a signature";
const FORSAKE: &str = "giving something up";
const SETTLE: &str = "settling";
const OPEN: &str = "reading what is open";

/// An intent that asks for a sum, ready to be written: its texts are made by the caller, before he waits for his turn.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) entry: Entry,
    caps: Caps,
    draft: Draft,
}

impl Request {
    pub(crate) fn new(entry: &Entry, caps: &Caps) -> Result<Self, StoreError> {
        let body = json!({ "intent": entry.intent, "entry": entry, "caps": caps });
        Ok(Self {
            draft: Draft::new("intent.reserved", &body, entry.at)?,
            entry: entry.clone(),
            caps: *caps,
        })
    }
}

/// Sets a sum aside if there is room for it, and writes down either way what became of it.
///
/// `over` is what the owner's ledger said against it; then nothing is reserved here.
pub(crate) fn reserve(
    connection: &Connection,
    standing: &mut Standing<'_>,
    request: &Request,
    over: Option<&Denial>,
) -> Result<Reserving, StoreError> {
    let Request { entry, caps, draft } = request;
    let found = standing.head(connection)?.golem;
    if entry.golem != found {
        return Err(StoreError::OtherGolem { asked: entry.golem, found });
    }
    let judged = match over {
        Some(denial) => Err(denial.clone()),
        None => room(connection, standing, entry, caps)?,
    };
    let denial = match judged {
        Ok(from) if insert(connection, standing, request, from)? => {
            append(connection, standing, draft)?;
            return Ok(Reserving::Made);
        }
        Ok(_) => used_before(entry.intent),
        // That the name was used says more than that there is no room for it.
        Err(_) if standing.knows(connection, entry.intent)? => used_before(entry.intent),
        Err(denial) => denial,
    };
    let body = json!({ "intent": entry.intent, "entry": entry, "caps": caps, "denial": denial });
    append(connection, standing, &Draft::new("intent.refused", &body, entry.at)?)?;
    Ok(Reserving::Refused(denial))
}

/// Whether the reservation is made; else its name was used before, and nothing was written.
fn insert(
    connection: &Connection,
    standing: &mut Standing<'_>,
    request: &Request,
    from: u64,
) -> Result<bool, StoreError> {
    let Request { entry, caps, .. } = request;
    if standing.knows(connection, entry.intent)? {
        return Ok(false);
    }
    let sum = stored("a sum in micro-dollars", entry.micro_dollars)?;
    let at = stored("a time", from)?;
    // The record that says what is asked for comes next.
    let record = standing.head(connection)?.length.saturating_add(1);
    let record = stored("a number of records", record)?;
    let number = connection
        .prepare_cached(
            "INSERT INTO reservations (intent, session, micro_dollars, at, session_cap, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .and_then(|mut insert| {
            insert.insert(params![
                entry.intent.0.as_slice(),
                entry.session.as_slice(),
                sum,
                at,
                // What the disk cannot count is no bound.
                i64::try_from(caps.session).unwrap_or(i64::MAX),
                record,
            ])
        })
        .map_err(StoreError::sql(RESERVE))?;
    standing.reserve(connection, (entry.intent, number), entry.session, sum, from)?;
    Ok(true)
}

/// What the record of a reservation says, as far as the books read it again.
#[derive(Deserialize)]
struct Asked {
    entry: Entry,
}

fn text(what: &'static str, value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| {
        StoreError::sql(what)(rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
    })
}

fn read<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|source| StoreError::Unreadable { what, source: Some(source) })
}

fn used_before(intent: IntentId) -> Denial {
    Denial::new(
        DenialCode::IntentUsed,
        format!("the name {} was used for an intent before, and once only", intent.0),
    )
}

/// The second that the sum would count from, where all caps have room for it.
fn room(
    connection: &Connection,
    standing: &mut Standing<'_>,
    entry: &Entry,
    caps: &Caps,
) -> Result<Result<u64, Denial>, StoreError> {
    let newest = standing.newest(connection)?;
    let Some(now) = counts_from(entry.at, newest) else {
        return Ok(Err(late(entry.at, newest)));
    };
    // What cannot be stored cannot be counted: an error, and no cap is asked.
    stored("a sum in micro-dollars", entry.micro_dollars)?;
    let asked = entry.micro_dollars;
    let Spent { session, day } = standing.spent(connection, entry.session, now)?;
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
    let since = a_day_before(now)?;
    // More than SQLite can count is its error, and so ours.
    let (session, day): (i64, i64) = connection
        .prepare_cached(
            "SELECT coalesce((SELECT micro_dollars FROM sessions WHERE session = ?1), 0),
                    (SELECT coalesce(sum(micro_dollars), 0) FROM minutes WHERE minute > ?2 / 60)
                  + (SELECT coalesce(sum(micro_dollars), 0) FROM reservations
                     WHERE given_back = 0 AND at > ?2 AND at < (?2 / 60 + 1) * 60
                       AND number >= (SELECT first FROM minutes WHERE minute = ?2 / 60)
                       AND number < coalesce((SELECT first FROM minutes WHERE minute > ?2 / 60
                                              ORDER BY minute LIMIT 1), 9223372036854775807))",
        )
        .and_then(|mut sums| {
            sums.query_row(params![session.as_slice(), since], |row| Ok((row.get(0)?, row.get(1)?)))
        })
        .map_err(StoreError::sql(RESERVE))?;
    Ok(Spent { session: counted(RESERVE, session)?, day: counted(RESERVE, day)? })
}

/// How often a session key signed for an intent, from second `since` on: only what was reserved since then is looked at.
pub(crate) fn signatures(
    connection: &Connection,
    session: Address,
    since: u64,
) -> Result<u64, StoreError> {
    let minute = stored("a time", since / 60)?;
    let count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM reservations r JOIN bids b ON b.reservation = r.number
             WHERE r.session = ?1 AND r.number >= coalesce(
               (SELECT first FROM minutes WHERE minute >= ?2 ORDER BY minute LIMIT 1), 9223372036854775807)",
        )
        .and_then(|mut count| {
            count.query_row(params![session.as_slice(), minute], |row| row.get(0))
        })
        .map_err(StoreError::sql(SIGN))?;
    counted(SIGN, count)
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
pub(super) fn newest(connection: &Connection) -> Result<u64, StoreError> {
    let newest: i64 = connection
        .prepare_cached(
            // None counts from before the one that was written before it.
            "SELECT coalesce((SELECT at FROM reservations ORDER BY number DESC LIMIT 1), 0)",
        )
        .and_then(|mut newest| newest.query_row([], |row| row.get(0)))
        .map_err(StoreError::sql(RESERVE))?;
    counted(RESERVE, newest)
}

/// How an intent ended; none where it has not, or is not known.
pub(crate) fn ended(
    connection: &Connection,
    intent: IntentId,
) -> Result<Option<Ending>, StoreError> {
    match names::find(connection, intent)? {
        None => Ok(None),
        Some(number) => ending_of(connection, number),
    }
}

/// How a reservation stands: its end, if it has one.
fn ending_of(connection: &Connection, number: i64) -> Result<Option<Ending>, StoreError> {
    let ending: Option<String> = connection
        .prepare_cached("SELECT ending FROM reservations WHERE number = ?1")
        .and_then(|mut found| found.query_row([number], |row| row.get(0)))
        .map_err(StoreError::sql(SETTLE))?;
    ending.map(|text| read(SETTLE, &text)).transpose()
}

/// The number of an intent's reservation, where it has one.
fn reserved(
    connection: &Connection,
    standing: &Standing<'_>,
    intent: IntentId,
) -> Result<i64, StoreError> {
    standing.find(connection, intent)?.ok_or(StoreError::UnknownIntent(intent))
}

/// What was signed for an intent, ready to be written.
#[derive(Debug)]
pub(crate) struct Signed {
    intent: IntentId,
    bid: Bid,
    text: String,
    at: u64,
}

impl Signed {
    pub(crate) fn new(intent: IntentId, bid: &Bid, at: u64) -> Result<Self, StoreError> {
        Ok(Self { intent, text: text(SIGN, bid)?, at, bid: bid.clone() })
    }

    /// The bytes are in the books; their hash is enough in the chain.
    fn draft(&self, budget: Budget) -> Result<Draft, StoreError> {
        let Self { intent, bid, at, .. } = self;
        let body = json!({
            "intent": intent, "route": bid.route, "hash": bid.hash, "place": bid.place, "since": bid.since,
            "microDollars": budget.micro_dollars, "remaining": budget.remaining,
        });
        Draft::new("intent.signed", &body, *at)
    }
}

/// What an intent may spend, and what its key may beside it, in micro-dollars.
struct Budget {
    micro_dollars: u64,
    /// None where the key's cap was not kept.
    remaining: Option<u64>,
}

impl Budget {
    fn of(connection: &Connection, number: i64) -> Result<Self, StoreError> {
        let (sum, cap, taken): (i64, Option<i64>, i64) = connection
            .prepare_cached(
                "SELECT r.micro_dollars, r.session_cap, s.micro_dollars
                 FROM reservations r JOIN sessions s ON s.session = r.session WHERE r.number = ?1",
            )
            .and_then(|mut sums| {
                sums.query_row([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            })
            .map_err(StoreError::sql(SIGN))?;
        let (micro_dollars, taken) = (counted(SIGN, sum)?, counted(SIGN, taken)?);
        let cap = cap.map(|cap| counted(SIGN, cap)).transpose()?;
        Ok(Self { micro_dollars, remaining: cap.map(|cap| cap.saturating_sub(taken)) })
    }
}

/// Keeps what was signed for an intent that has not ended.
pub(crate) fn keep_bid(
    connection: &Connection,
    standing: &mut Standing<'_>,
    signed: &Signed,
) -> Result<(), StoreError> {
    let Signed { intent, bid, text, .. } = signed;
    let number = reserved(connection, standing, *intent)?;
    if ending_of(connection, number)?.is_some() {
        return Err(StoreError::Ended(*intent));
    }
    let kept: Option<(i64, String)> = connection
        .prepare_cached("SELECT reservation, bid FROM bids WHERE hash = ?1")
        .and_then(|mut kept| {
            kept.query_row([bid.hash.as_slice()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(StoreError::sql(SIGN))?;
    if let Some((of, kept)) = kept {
        // A caller that did not hear the answer asks again.
        let same = of == number && read::<Bid>(SIGN, &kept)? == *bid;
        return if same { Ok(()) } else { Err(StoreError::OtherBid(bid.hash)) };
    }
    connection
        .prepare_cached("INSERT INTO bids (reservation, hash, bid) VALUES (?1, ?2, ?3)")
        .and_then(|mut insert| insert.execute(params![number, bid.hash.as_slice(), text]))
        .map_err(StoreError::sql(SIGN))?;
    // What others of the same batch reserved counts, and is in the file first.
    standing.count(connection).map_err(StoreError::sql(SIGN))?;
    append(connection, standing, &signed.draft(Budget::of(connection, number)?)?)?;
    Ok(())
}

/// Keeps that what was signed for an intent is not handed over any more.
pub(crate) fn forsake(
    connection: &Connection,
    standing: &mut Standing<'_>,
    intent: IntentId,
    draft: &Draft,
) -> Result<(), StoreError> {
    let number = reserved(connection, standing, intent)?;
    if ending_of(connection, number)?.is_some() {
        return Err(StoreError::Ended(intent));
    }
    // What others of the same batch reserved is in the file first.
    standing.count(connection).map_err(StoreError::sql(FORSAKE))?;
    let fresh = connection
        .prepare_cached("INSERT INTO forsaken (reservation) VALUES (?1) ON CONFLICT DO NOTHING")
        .and_then(|mut insert| insert.execute([number]))
        .map_err(StoreError::sql(FORSAKE))?;
    if fresh > 0 {
        append(connection, standing, draft)?;
    }
    Ok(())
}

/// An intent's end, ready to be written.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) intent: IntentId,
    ending: Ending,
    text: String,
    draft: Draft,
}

impl Settlement {
    pub(crate) fn new(intent: IntentId, ending: &Ending, at: u64) -> Result<Self, StoreError> {
        let draft =
            Draft::new("intent.settled", &json!({ "intent": intent, "ending": ending }), at)?;
        Ok(Self { intent, text: text(SETTLE, ending)?, draft, ending: ending.clone() })
    }
}

/// Ends an intent. Whether its sum was given back by this call or an earlier one.
pub(crate) fn settle(
    connection: &Connection,
    standing: &mut Standing<'_>,
    settlement: &Settlement,
) -> Result<bool, StoreError> {
    let Settlement { intent, ending, text, draft } = settlement;
    let number = reserved(connection, standing, *intent)?;
    let gives_back = !matches!(ending, Ending::Done { .. });
    match ending_of(connection, number)? {
        Some(before) if before == *ending => return Ok(gives_back),
        Some(_) => return Err(StoreError::Ended(*intent)),
        None => {}
    }
    if gives_back {
        standing.give_back(connection).map_err(StoreError::sql(SETTLE))?;
    }
    connection
        .prepare_cached("UPDATE reservations SET ending = ?2, given_back = ?3 WHERE number = ?1")
        .and_then(|mut end| end.execute(params![number, text, gives_back]))
        .map_err(StoreError::sql(SETTLE))?;
    append(connection, standing, draft)?;
    Ok(gives_back)
}

/// What has not ended, the oldest first.
pub(crate) fn open_intents(connection: &Connection) -> Result<Vec<Open>, StoreError> {
    let mut select = connection
        .prepare_cached(
            "SELECT a.body, b.bid, f.reservation IS NOT NULL
             FROM reservations r LEFT JOIN audit a ON a.sequence = r.record
             LEFT JOIN bids b ON b.reservation = r.number
             LEFT JOIN forsaken f ON f.reservation = r.number
             WHERE r.ending IS NULL ORDER BY r.number, b.number",
        )
        .map_err(StoreError::sql(OPEN))?;
    let rows = select
        .query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get(2)?))
        })
        .map_err(StoreError::sql(OPEN))?;
    let mut open: Vec<Open> = Vec::new();
    for row in rows {
        let (body, bid, forsaken) = row.map_err(StoreError::sql(OPEN))?;
        let Asked { entry } = read(OPEN, &body)?;
        let bid: Option<Bid> = bid.map(|bid| read(OPEN, &bid)).transpose()?;
        match open.last_mut() {
            Some(last) if last.entry.intent == entry.intent => last.bids.extend(bid),
            _ => open.push(Open { entry, bids: bid.into_iter().collect(), forsaken }),
        }
    }
    Ok(open)
}

/// Whether a sum counts: it was reserved, and not given back.
pub(crate) fn stands(
    connection: &Connection,
    names: &Names,
    intent: IntentId,
) -> Result<bool, StoreError> {
    let Some(number) = names.find(connection, intent)? else { return Ok(false) };
    connection
        .prepare_cached("SELECT given_back = 0 FROM reservations WHERE number = ?1")
        .and_then(|mut stands| stands.query_row([number], |row| row.get(0)))
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
            "SELECT a.body, r.micro_dollars, r.at
             FROM reservations r LEFT JOIN audit a ON a.sequence = r.record
             WHERE r.given_back = 0 AND r.at > ?1
               AND r.number >= (SELECT first FROM minutes WHERE minute >= ?1 / 60
                                ORDER BY minute LIMIT 1)",
        )
        .map_err(StoreError::sql(OPEN))?;
    let rows = select
        .query_map([since], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        })
        .map_err(StoreError::sql(OPEN))?;
    rows.map(|row| {
        let (body, sum, at) = row.map_err(StoreError::sql(OPEN))?;
        let Asked { entry } = read(OPEN, &body)?;
        Ok((entry.intent, entry.owner, counted(OPEN, sum)?, counted(OPEN, at)?))
    })
    .collect()
}

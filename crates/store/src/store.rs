use crate::{
    Memory, MemoryId, MemoryKind, NewMemory, OwnerLedger, Page, Record, Seal, StoreError,
    db::{self, Advance, Database, Draft, Held, Hold, Kind, Names, Request, Settlement, Signed},
    place::{self, Lock},
    worker::Worker,
    writer::{Desk, Writer},
};
use alloy_primitives::{Address, B256, Bytes};
use async_trait::async_trait;
use golem_custody::{
    Audit, AuditHead, Bid, Books, BoxError, Caps, Ending, Entry, IntentId, Open, Reserving, Spent,
    Step, Steps,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use tokio::sync::watch;

/// Name of the database in a store's folder.
pub const DATABASE: &str = "golem.db";
/// Name of the file that a running Golem has locked.
pub const LOCK: &str = "golem.lock";

/// Where a Golem's store lies, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoreConfig {
    /// A folder of its own.
    pub folder: PathBuf,
    /// The Golem's id on chain.
    pub golem: B256,
    /// Most pages of 4 KiB that the database may have; none for as many as the disk has.
    #[serde(default)]
    pub max_pages: Option<u32>,
}

/// The durable store of one Golem, for one process.
///
/// Every method that writes returns once the disk has it. Whoever stops waiting loses the answer and nothing else.
#[derive(Debug)]
pub struct Store {
    golem: B256,
    owner: Option<Address>,
    reader: Worker<Database>,
    writer: Writer,
}

impl Store {
    /// Opens the store, or begins it. Refused while another process has it.
    ///
    /// With an owner's ledger, its sums of this Golem are made to agree with the books first.
    pub fn open(config: &StoreConfig, ledger: Option<&OwnerLedger>) -> Result<Self, StoreError> {
        let StoreConfig { folder, golem, max_pages } = config;
        place::private_folder(folder)?;
        let lock = Lock::take(&folder.join(LOCK))?;
        let path = folder.join(DATABASE);
        let mut books = Database::open(&path, Kind::Golem, *max_pages)?;
        let what = "claiming the store";
        let claim = books.begin().map_err(StoreError::sql(what))?;
        db::claim_golem(claim.writing(), *golem)?;
        claim.commit().map_err(StoreError::sql(what))?;
        place::sync_folder(folder)?;
        // Before anything is learnt from it: what is learnt stays true.
        books.be_alone().map_err(StoreError::sql(what))?;
        let names = Names::load(books.reading())?;
        let owners = match ledger {
            None => None,
            Some(ledger) => {
                let mut owners = ledger.again()?;
                let what = "making the owner's ledger agree with the books";
                let together = owners.begin().map_err(StoreError::sql(what))?;
                let known = (books.reading(), &names);
                db::reconcile(together.writing(), known, *golem, ledger.owner())?;
                together.commit().map_err(StoreError::sql(what))?;
                Some(owners)
            }
        };
        let reader = Worker::start("bardo-store-reader", Database::read(&path, Kind::Golem)?)?;
        let writer = Writer::start(*golem, books, names, owners, lock)?;
        Ok(Self { golem: *golem, owner: ledger.map(OwnerLedger::owner), reader, writer })
    }

    /// Whose store it is.
    #[must_use]
    pub const fn golem(&self) -> B256 {
        self.golem
    }

    /// Keeps a memory in the Grimoire.
    pub async fn remember(&self, memory: NewMemory) -> Result<MemoryId, StoreError> {
        self.writer
            .write("keeping a memory", None, move |desk| db::remember(desk.connection, &memory))
            .await
    }

    /// Memories of one kind, or of all, the newest first.
    pub async fn memories(
        &self,
        kind: Option<MemoryKind>,
        page: Page,
    ) -> Result<Vec<Memory>, StoreError> {
        let read = move |database: &mut Database| db::list(database.reading(), kind, page);
        self.reader.ask("reading the Grimoire", read).await
    }

    /// Memories that have all of these words, the newest first. Whatever the words are, they are looked for and nothing else.
    pub async fn search(&self, words: &str, page: Page) -> Result<Vec<Memory>, StoreError> {
        let words = words.to_owned();
        let read = move |database: &mut Database| db::search(database.reading(), &words, page);
        self.reader.ask("searching the Grimoire", read).await
    }

    /// Records behind `sequence`, the oldest first, at most so many. What they say is not believed yet: see [`Record::computed_hash`].
    pub async fn records_after(&self, sequence: u64, most: u32) -> Result<Vec<Record>, StoreError> {
        let read =
            move |database: &mut Database| db::read_after(database.reading(), sequence, most);
        self.reader.ask("reading the audit chain", read).await
    }

    /// Every seal, in the order of what they are of. What they say is not believed yet: see [`Seal::is_genuine`].
    pub async fn seals(&self) -> Result<Vec<Seal>, StoreError> {
        let read = |database: &mut Database| db::read_seals(database.reading());
        self.reader.ask("reading the seals", read).await
    }

    /// How many records the disk has. It changes once the disk has more, whoever wrote them.
    #[must_use]
    pub fn length(&self) -> watch::Receiver<u64> {
        self.writer.length()
    }

    /// Whether the disk failed, or somebody else wrote: from then on every writing is [`StoreError::Stopped`], until the store is
    /// opened again.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.writer.has_stopped()
    }

    /// How far the reader of this name has come; none if there is no such reader.
    pub async fn cursor(&self, reader: &str) -> Result<Option<u64>, StoreError> {
        let reader = reader.to_owned();
        let read = move |database: &mut Database| db::cursor(database.reading(), &reader);
        self.reader.ask("reading a cursor", read).await
    }

    /// Begins a reader's cursor, before the first record or behind the last; one that is there stays where it is. Where it is.
    pub async fn begin_cursor(&self, reader: &str, behind_all: bool) -> Result<u64, StoreError> {
        let reader = reader.to_owned();
        let work = move |desk: Desk<'_, '_>| db::begin_cursor(desk.connection, &reader, behind_all);
        self.writer.write("beginning a cursor", None, work).await
    }

    /// Moves a reader's cursor on. Back it does not go, and ahead of the chain it is refused. Where it is.
    ///
    /// No record is written of it: who reads a log does not make it longer.
    pub async fn advance_cursor(&self, reader: &str, to: u64) -> Result<u64, StoreError> {
        let reader = reader.to_owned();
        let work = move |desk: Desk<'_, '_>| db::advance_cursor(desk.connection, &reader, to);
        self.writer.write("moving a cursor", None, work).await
    }

    /// The head that was sealed last: the longest; none if none was.
    pub async fn newest_seal(&self) -> Result<Option<AuditHead>, StoreError> {
        let read = |database: &mut Database| db::newest_seal(database.reading());
        self.reader.ask("reading the newest seal", read).await
    }

    /// How often a session key has signed for intents that count from second `since` on or later, prices that it raised included.
    pub async fn signatures(&self, session: Address, since: u64) -> Result<u64, StoreError> {
        let read =
            move |database: &mut Database| db::signatures(database.reading(), session, since);
        self.reader.ask("counting signatures", read).await
    }

    /// The sum that the owner's ledger has to hold before the books do.
    fn hold(&self, entry: &Entry, caps: &Caps) -> Result<Option<Hold>, StoreError> {
        match self.owner {
            None if caps.owner_day.is_some() => Err(StoreError::NoLedger(entry.intent)),
            None => Ok(None),
            Some(found) if found != entry.owner => {
                Err(StoreError::OtherOwner { asked: entry.owner, found })
            }
            Some(_) => Ok(Some(Hold {
                golem: self.golem,
                intent: entry.intent,
                micro_dollars: entry.micro_dollars,
                at: entry.at,
                cap: caps.owner_day,
            })),
        }
    }
}

/// Reserves in the books what the owner's ledger holds already, or writes down why not.
fn reserve(desk: Desk<'_, '_>, request: &Request) -> Result<Reserving, StoreError> {
    let intent = request.entry.intent;
    let refused = match desk.held {
        None | Some(Ok(Held::Made)) => None,
        Some(Ok(Held::Refused(denial))) => Some(denial),
        Some(Ok(Held::Already)) => {
            // Held for an intent of the books; or left over, and then it is not this one's.
            if !desk.standing.knows(desk.connection, intent)? {
                return Err(StoreError::StillHeld(intent));
            }
            None
        }
        Some(Err(error)) => return Err(StoreError::Ledger(error.clone())),
    };
    let reserving = db::reserve(desk.connection, desk.standing, request, refused)?;
    if let (Reserving::Refused(_), Some(Ok(Held::Made))) = (&reserving, desk.held) {
        desk.release.push(intent);
    }
    Ok(reserving)
}

#[async_trait]
impl Books for Store {
    async fn reserve(&self, entry: &Entry, caps: &Caps) -> Result<Reserving, BoxError> {
        let hold = self.hold(entry, caps)?;
        if entry.golem != self.golem {
            return Err(StoreError::OtherGolem { asked: entry.golem, found: self.golem }.into());
        }
        let request = Request::new(entry, caps)?;
        let work = move |desk: Desk<'_, '_>| reserve(desk, &request);
        Ok(self.writer.write("reserving", hold, work).await?)
    }

    async fn spent(&self, session: Address, at: u64) -> Result<Spent, BoxError> {
        let read = move |database: &mut Database| db::spent_by(database.reading(), session, at);
        Ok(self.reader.ask("reading what was spent", read).await?)
    }

    async fn signed(&self, intent: IntentId, bid: &Bid, at: u64) -> Result<(), BoxError> {
        let signed = Signed::new(intent, bid, at)?;
        let work = move |desk: Desk<'_, '_>| db::keep_bid(desk.connection, desk.standing, &signed);
        Ok(self.writer.write("keeping a signature", None, work).await?)
    }

    async fn forsake(&self, intent: IntentId, at: u64) -> Result<(), BoxError> {
        let draft = Draft::new("intent.forsaken", &json!({ "intent": intent }), at)?;
        let work =
            move |desk: Desk<'_, '_>| db::forsake(desk.connection, desk.standing, intent, &draft);
        Ok(self.writer.write("giving something up", None, work).await?)
    }

    async fn settle(&self, intent: IntentId, ending: &Ending, at: u64) -> Result<(), BoxError> {
        let settlement = Settlement::new(intent, ending, at)?;
        let work = move |desk: Desk<'_, '_>| {
            if db::settle(desk.connection, desk.standing, &settlement)? {
                desk.release.push(settlement.intent);
            }
            Ok(())
        };
        Ok(self.writer.write("settling", None, work).await?)
    }

    async fn open(&self) -> Result<Vec<Open>, BoxError> {
        let read = |database: &mut Database| db::open_intents(database.reading());
        Ok(self.reader.ask("reading what is open", read).await?)
    }

    async fn ended(&self, intent: IntentId) -> Result<Option<Ending>, BoxError> {
        let read = move |database: &mut Database| db::ended(database.reading(), intent);
        Ok(self.reader.ask("reading how an intent ended", read).await?)
    }
}

#[async_trait]
impl Audit for Store {
    async fn note(&self, kind: &str, body: &Value, at: u64) -> Result<AuditHead, BoxError> {
        let draft = Draft::new(kind, body, at)?;
        let work = move |desk: Desk<'_, '_>| db::append(desk.connection, desk.standing, &draft);
        Ok(self.writer.write("adding to the audit chain", None, work).await?)
    }

    async fn head(&self) -> Result<AuditHead, BoxError> {
        let read = |database: &mut Database| db::audit_head(database.reading());
        Ok(self.reader.ask("reading the audit chain", read).await?)
    }

    async fn sealed(&self, head: &AuditHead, by: Address, seal: &Bytes) -> Result<(), BoxError> {
        let seal = Seal { head: *head, by, seal: seal.clone() };
        db::refuse_forged(&seal)?;
        let work = move |desk: Desk<'_, '_>| db::keep_seal(desk.connection, &seal);
        Ok(self.writer.write("keeping a seal", None, work).await?)
    }
}

#[async_trait]
impl Steps for Store {
    async fn load(&self, name: &str) -> Result<Option<Step>, BoxError> {
        let name = name.to_owned();
        let read = move |database: &mut Database| db::load(database.reading(), &name);
        Ok(self.reader.ask("reading a step", read).await?)
    }

    async fn advance(&self, name: &str, from: u64, to: &Value, at: u64) -> Result<(), BoxError> {
        let step = Advance::new(name, from, to, at)?;
        let work = move |desk: Desk<'_, '_>| db::advance(desk.connection, desk.standing, &step);
        Ok(self.writer.write("moving a step", None, work).await?)
    }
}

use crate::{
    Replying, StoreError,
    db::{self, Database, Kind},
    place::{self, Lock},
    worker::Worker,
};
use alloy_primitives::{Address, B256};
use async_trait::async_trait;
use golem_custody::{Answer, Approvals, Approving, BoxError, IntentId, Question};
use std::path::{Path, PathBuf};

/// What all Golems of one owner on one machine share: his cap over all of them, and his answers.
///
/// Several processes have it open at once. Each change is a transaction that begins by taking the file for itself.
#[derive(Debug)]
pub struct OwnerLedger {
    path: PathBuf,
    owner: Address,
    worker: Worker<Database>,
}

impl OwnerLedger {
    /// Opens the ledger of `owner`, or begins it.
    pub fn open(path: &Path, owner: Address) -> Result<Self, StoreError> {
        let database = Self::database(path, owner)?;
        let worker = Worker::start("bardo-store-ledger", database)?;
        Ok(Self { path: path.into(), owner, worker })
    }

    /// Another connection to the same file.
    pub(crate) fn again(&self) -> Result<Database, StoreError> {
        Self::database(&self.path, self.owner)
    }

    fn database(path: &Path, owner: Address) -> Result<Database, StoreError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        place::private_folder(folder)?;
        // Several Golems may be the first at once. A file that is being made looks like somebody else's to whoever looks in.
        let _turn = Lock::wait(&path.with_extension("lock"))?;
        let mut database = Database::open(path, Kind::Owner, None)?;
        let what = "claiming the owner's ledger";
        let claim = database.begin().map_err(StoreError::sql(what))?;
        db::claim_owner(claim.writing(), owner)?;
        claim.commit().map_err(StoreError::sql(what))?;
        place::sync_folder(folder)?;
        Ok(database)
    }

    /// Whose ledger it is.
    #[must_use]
    pub const fn owner(&self) -> Address {
        self.owner
    }

    /// Keeps what the owner answered: signed by him, and in time. A no takes back a yes that was not used yet.
    pub async fn reply(
        &self,
        intent: IntentId,
        answer: &Answer,
        at: u64,
    ) -> Result<Replying, StoreError> {
        let (owner, answer) = (self.owner, answer.clone());
        self.change("keeping the owner's answer", move |connection| {
            db::reply(connection, owner, intent, &answer, at)
        })
        .await
    }

    /// Questions that wait for an answer in second `at`, the soonest to expire first.
    pub async fn waiting(&self, at: u64) -> Result<Vec<Question>, StoreError> {
        self.worker
            .ask("reading questions", move |database| db::waiting(database.reading(), at))
            .await
    }

    async fn change<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.worker
            .ask(what, move |database| {
                let together = database.begin().map_err(StoreError::sql(what))?;
                let value = work(together.writing())?;
                match together.commit() {
                    Ok(()) => Ok(value),
                    Err(error) => Err(StoreError::of_commit(what, &error.into())),
                }
            })
            .await
    }
}

#[async_trait]
impl Approvals for OwnerLedger {
    async fn ask(&self, question: &Question) -> Result<(), BoxError> {
        let (owner, question) = (self.owner, question.clone());
        let asked = self
            .change("asking the owner", move |connection| db::ask(connection, owner, &question));
        Ok(asked.await?)
    }

    async fn answer(&self, intent: IntentId) -> Result<Option<Answer>, BoxError> {
        let answer = self.worker.ask("reading the owner's answer", move |database| {
            db::read_answer(database.reading(), intent)
        });
        Ok(answer.await?)
    }

    async fn weigh(&self, intent: IntentId, digest: B256, at: u64) -> Result<Approving, BoxError> {
        let owner = self.owner;
        let weighed = self.worker.ask("weighing the owner's answer", move |database| {
            db::weigh(database.reading(), owner, intent, digest, at)
        });
        Ok(weighed.await?)
    }

    async fn consume(
        &self,
        intent: IntentId,
        digest: B256,
        at: u64,
    ) -> Result<Approving, BoxError> {
        let owner = self.owner;
        let used = self.change("using the owner's answer", move |connection| {
            db::consume(connection, owner, intent, digest, at)
        });
        Ok(used.await?)
    }
}

use super::opening;
use crate::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// One step of a schema, never changed once it was shipped: the next step comes after it.
pub(super) type Migration = &'static str;

/// What a file is, and how it became so.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// SQLite's `application_id`, by which a file is told from others.
    pub(super) application: i32,
    /// Each brings the schema one number further.
    pub(super) migrations: &'static [Migration],
}

/// "BGol"
pub(super) const GOLEM: Plan = Plan {
    application: 0x4247_6f6c,
    migrations: &[
        include_str!("golem-1.sql"),
        include_str!("golem-2.sql"),
        include_str!("golem-3.sql"),
        include_str!("golem-4.sql"),
        include_str!("golem-5.sql"),
    ],
};

/// "BOwn"
pub(super) const OWNER: Plan =
    Plan { application: 0x424f_776e, migrations: &[include_str!("owner-1.sql")] };

impl Plan {
    fn known(&self) -> i64 {
        i64::try_from(self.migrations.len()).unwrap_or(i64::MAX)
    }
}

/// Refuses what is no database, what is another's, and what a later program wrote. Changes nothing.
///
/// All of it is of one moment: while a shared file is made, another process would see half of it otherwise.
pub(super) fn recognise(
    connection: &Connection,
    path: &Path,
    plan: &Plan,
) -> Result<i64, StoreError> {
    let moment = connection.unchecked_transaction().map_err(opening(path))?;
    recognise_now(&moment, path, plan)
}

fn recognise_now(connection: &Connection, path: &Path, plan: &Plan) -> Result<i64, StoreError> {
    let number = |pragma: &str| -> Result<i64, StoreError> {
        connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(opening(path))
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(opening(path))?;
    let fresh = application == 0 && version == 0 && tables == 0;
    if !fresh && application != i64::from(plan.application) {
        return Err(StoreError::OtherDatabase { path: path.into() });
    }
    if version > plan.known() {
        return Err(StoreError::Newer { path: path.into(), found: version, known: plan.known() });
    }
    Ok(version)
}

/// Brings a file to the newest schema, one transaction a step: killed in the middle, it is where it was before the step.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    plan: &Plan,
) -> Result<(), StoreError> {
    loop {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(opening(path))?;
        // Several processes may open a shared file at once: who comes second sees what the first did.
        let version = recognise_now(&transaction, path, plan)?;
        let step = usize::try_from(version).ok().and_then(|done| plan.migrations.get(done));
        let Some(step) = step else { return Ok(()) };
        let to = version.saturating_add(1);
        let migration = |source| StoreError::Migration { path: path.into(), to, source };
        transaction.execute_batch(step).map_err(migration)?;
        transaction
            .pragma_update(None, "application_id", plan.application)
            .and_then(|()| transaction.pragma_update(None, "user_version", to))
            .and_then(|()| transaction.commit())
            .map_err(migration)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Plan =
        Plan { application: 7, migrations: &["CREATE TABLE one (a); INSERT INTO one VALUES (1);"] };
    const SECOND: Plan = Plan {
        application: 7,
        migrations: &[
            FIRST.migrations[0],
            "CREATE TABLE two (b); UPDATE one SET a = 2; INSERT INTO three VALUES (1);",
        ],
    };
    const MENDED: Plan = Plan {
        application: 7,
        migrations: &[FIRST.migrations[0], "CREATE TABLE two (b); UPDATE one SET a = 3;"],
    };

    fn at(connection: &Connection) -> (i64, i64, i64) {
        connection
            .query_row(
                "SELECT (SELECT a FROM one), (SELECT count(*) FROM sqlite_master),
                 (SELECT user_version FROM pragma_user_version)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .unwrap()
    }

    #[test]
    fn a_step_that_fails_half_way_leaves_the_file_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("memory");
        migrate(&mut connection, path, &FIRST).unwrap();

        let failed = migrate(&mut connection, path, &SECOND);

        assert!(matches!(failed, Err(StoreError::Migration { to: 2, .. })), "{failed:?}");
        assert_eq!(at(&connection), (1, 1, 1));
        migrate(&mut connection, path, &MENDED).unwrap();
        assert_eq!(at(&connection), (3, 2, 2));
        migrate(&mut connection, path, &MENDED).unwrap();
        assert_eq!(at(&connection), (3, 2, 2), "a second time changes nothing");
    }

    #[test]
    fn a_file_of_a_later_program_is_refused_and_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("memory");
        migrate(&mut connection, path, &MENDED).unwrap();

        let refused = migrate(&mut connection, path, &FIRST);

        assert!(matches!(refused, Err(StoreError::Newer { found: 2, known: 1, .. })));
        assert_eq!(at(&connection), (3, 2, 2));
    }
}

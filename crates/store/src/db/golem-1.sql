CREATE TABLE whose (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id   BLOB NOT NULL CHECK (length(id) = 32)
) STRICT;

-- The audit chain. Nothing here is ever changed or deleted, not even by us.
CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
  at       INTEGER NOT NULL CHECK (at >= 0),
  kind     TEXT NOT NULL,
  body     TEXT NOT NULL,
  previous BLOB NOT NULL CHECK (length(previous) = 32),
  hash     BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TRIGGER audit_goes_on BEFORE INSERT ON audit
WHEN new.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM audit)
BEGIN SELECT RAISE(ABORT, 'a record comes after the last one'); END;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit chain is append-only'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit chain is append-only'); END;

CREATE TABLE seals (
  length INTEGER NOT NULL,
  hash   BLOB NOT NULL CHECK (length(hash) = 32),
  by     BLOB NOT NULL CHECK (length(by) = 20),
  seal   BLOB NOT NULL,
  PRIMARY KEY (length, by)
) STRICT;

CREATE TRIGGER seals_are_not_changed BEFORE UPDATE ON seals
BEGIN SELECT RAISE(ABORT, 'a seal is kept as it is'); END;
CREATE TRIGGER seals_are_not_deleted BEFORE DELETE ON seals
BEGIN SELECT RAISE(ABORT, 'a seal is kept as it is'); END;

-- The books. `at` is the second that a sum counts from; what was asked is in `entry`.
CREATE TABLE reservations (
  number        INTEGER PRIMARY KEY,
  intent        BLOB NOT NULL UNIQUE CHECK (length(intent) = 32),
  session       BLOB NOT NULL CHECK (length(session) = 20),
  micro_dollars INTEGER NOT NULL CHECK (micro_dollars >= 0),
  at            INTEGER NOT NULL CHECK (at >= 0),
  entry         TEXT NOT NULL,
  ending        TEXT,
  given_back    INTEGER NOT NULL DEFAULT 0 CHECK (given_back IN (0, 1))
) STRICT;

CREATE INDEX reservations_by_time ON reservations (given_back, at, micro_dollars);
CREATE INDEX reservations_open ON reservations (number) WHERE ending IS NULL;

-- What counts of all that, added up: by session key, and by minute. Kept by the database itself, in the same transaction.
CREATE TABLE sessions (
  session       BLOB PRIMARY KEY,
  micro_dollars INTEGER NOT NULL CHECK (micro_dollars >= 0)
) STRICT;
CREATE TABLE minutes (
  minute        INTEGER PRIMARY KEY,
  micro_dollars INTEGER NOT NULL CHECK (micro_dollars >= 0)
) STRICT;

CREATE TRIGGER reservations_count AFTER INSERT ON reservations
BEGIN
  INSERT INTO sessions VALUES (new.session, new.micro_dollars)
    ON CONFLICT DO UPDATE SET micro_dollars = micro_dollars + new.micro_dollars;
  INSERT INTO minutes VALUES (new.at / 60, new.micro_dollars)
    ON CONFLICT DO UPDATE SET micro_dollars = micro_dollars + new.micro_dollars;
END;
CREATE TRIGGER reservations_are_given_back AFTER UPDATE ON reservations
WHEN old.given_back = 0 AND new.given_back = 1
BEGIN
  UPDATE sessions SET micro_dollars = micro_dollars - old.micro_dollars WHERE session = old.session;
  UPDATE minutes SET micro_dollars = micro_dollars - old.micro_dollars WHERE minute = old.at / 60;
END;

CREATE TRIGGER reservations_end_once BEFORE UPDATE ON reservations
WHEN old.ending IS NOT NULL OR new.ending IS NULL
  OR (new.number, new.intent, new.session, new.micro_dollars, new.at, new.entry)
    IS NOT (old.number, old.intent, old.session, old.micro_dollars, old.at, old.entry)
BEGIN SELECT RAISE(ABORT, 'a reservation ends once, and nothing else about it changes'); END;
CREATE TRIGGER reservations_are_not_deleted BEFORE DELETE ON reservations
BEGIN SELECT RAISE(ABORT, 'a reservation is kept'); END;

CREATE TABLE bids (
  number INTEGER PRIMARY KEY,
  intent BLOB NOT NULL REFERENCES reservations (intent),
  hash   BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  bid    TEXT NOT NULL
) STRICT;

CREATE INDEX bids_of_an_intent ON bids (intent, number);

CREATE TRIGGER bids_are_not_changed BEFORE UPDATE ON bids
BEGIN SELECT RAISE(ABORT, 'a bid is kept as it is'); END;
CREATE TRIGGER bids_are_not_deleted BEFORE DELETE ON bids
BEGIN SELECT RAISE(ABORT, 'a bid is kept as it is'); END;

CREATE TABLE steps (
  name    TEXT PRIMARY KEY,
  version INTEGER NOT NULL CHECK (version > 0),
  value   TEXT NOT NULL
) STRICT;

-- The Grimoire. Its texts are data: they are found by their words and never read as anything else.
CREATE TABLE memories (
  id     INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL,
  author BLOB NOT NULL CHECK (length(author) = 20),
  source TEXT NOT NULL,
  at     INTEGER NOT NULL CHECK (at >= 0),
  text   TEXT NOT NULL,
  data   TEXT NOT NULL
) STRICT;

CREATE INDEX memories_of_a_kind ON memories (kind, id);

-- A child is younger than its parents, so that nothing can come of itself.
CREATE TABLE ancestry (
  child  INTEGER NOT NULL REFERENCES memories (id),
  parent INTEGER NOT NULL REFERENCES memories (id),
  PRIMARY KEY (child, parent),
  CHECK (parent < child)
) STRICT;

CREATE VIRTUAL TABLE memories_text USING fts5 (text, content = 'memories', content_rowid = 'id');
CREATE TRIGGER memories_are_found AFTER INSERT ON memories
BEGIN INSERT INTO memories_text (rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER memories_are_not_changed BEFORE UPDATE ON memories
BEGIN SELECT RAISE(ABORT, 'a memory is kept as it is'); END;
CREATE TRIGGER memories_are_not_deleted BEFORE DELETE ON memories
BEGIN SELECT RAISE(ABORT, 'a memory is kept as it is'); END;

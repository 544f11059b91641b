-- Names are hashes: an index of them has a page for each, and a commit of many intents wrote as many pages. So they are sorted in
-- later, many at once: `named` says up to which reservation `names` has them, and who writes knows the others by heart.
CREATE TABLE names (
  intent BLOB PRIMARY KEY CHECK (length(intent) = 32),
  number INTEGER NOT NULL CHECK (number > 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE named (
  only  INTEGER PRIMARY KEY CHECK (only = 1),
  up_to INTEGER NOT NULL CHECK (up_to >= 0)
) STRICT;
CREATE TRIGGER names_are_not_changed BEFORE UPDATE ON names
BEGIN SELECT RAISE(ABORT, 'a name is used once'); END;
CREATE TRIGGER names_are_not_deleted BEFORE DELETE ON names
BEGIN SELECT RAISE(ABORT, 'a name is used once'); END;
CREATE TRIGGER named_only_grows BEFORE UPDATE ON named WHEN new.up_to < old.up_to
BEGIN SELECT RAISE(ABORT, 'a name is used once'); END;
CREATE TRIGGER named_is_not_deleted BEFORE DELETE ON named
BEGIN SELECT RAISE(ABORT, 'a name is used once'); END;

ALTER TABLE reservations RENAME TO old_reservations;
ALTER TABLE bids RENAME TO old_bids;

-- What was asked for is said once, by the record that the reservation is made with. Sums count from a second that never goes back
-- as the numbers grow.
CREATE TABLE reservations (
  number        INTEGER PRIMARY KEY CHECK (number > 0),
  intent        BLOB NOT NULL CHECK (length(intent) = 32),
  session       BLOB NOT NULL CHECK (length(session) = 20),
  micro_dollars INTEGER NOT NULL CHECK (micro_dollars >= 0),
  at            INTEGER NOT NULL CHECK (at >= 0),
  session_cap   INTEGER CHECK (session_cap >= 0),
  record        INTEGER NOT NULL CHECK (record > 0),
  ending        TEXT,
  given_back    INTEGER NOT NULL DEFAULT 0 CHECK (given_back IN (0, 1))
) STRICT;
CREATE TABLE bids (
  number      INTEGER PRIMARY KEY,
  reservation INTEGER NOT NULL REFERENCES reservations (number),
  hash        BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  bid         TEXT NOT NULL
) STRICT;

-- A reservation without its record stops this: it would be lost otherwise, and its sum be free.
INSERT INTO reservations
  SELECT r.number, r.intent, r.session, r.micro_dollars, r.at, r.session_cap, a.sequence, r.ending, r.given_back
  FROM old_reservations r LEFT JOIN (
    SELECT sequence, json_extract(body, '$.intent') AS intent FROM audit WHERE kind = 'intent.reserved'
  ) a ON a.intent = '0x' || lower(hex(r.intent))
  ORDER BY r.number;
INSERT INTO bids
  SELECT b.number, r.number, b.hash, b.bid
  FROM old_bids b JOIN old_reservations r ON r.intent = b.intent ORDER BY b.number;
INSERT INTO names SELECT intent, number FROM reservations ORDER BY intent;
INSERT INTO named SELECT 1, coalesce(max(number), 0) FROM reservations;

DROP TABLE old_bids;
DROP TABLE old_reservations;

CREATE INDEX reservations_open ON reservations (number) WHERE ending IS NULL;
CREATE INDEX bids_of_a_reservation ON bids (reservation, number);

CREATE TRIGGER reservations_are_given_back AFTER UPDATE ON reservations
WHEN old.given_back = 0 AND new.given_back = 1
BEGIN
  UPDATE sessions SET micro_dollars = micro_dollars - old.micro_dollars WHERE session = old.session;
  UPDATE minutes SET micro_dollars = micro_dollars - old.micro_dollars WHERE minute = old.at / 60;
END;
CREATE TRIGGER reservations_end_once BEFORE UPDATE ON reservations
WHEN old.ending IS NOT NULL OR new.ending IS NULL
  OR (new.number, new.intent, new.session, new.micro_dollars, new.at, new.session_cap, new.record)
    IS NOT (old.number, old.intent, old.session, old.micro_dollars, old.at, old.session_cap, old.record)
BEGIN SELECT RAISE(ABORT, 'a reservation ends once, and nothing else about it changes'); END;
CREATE TRIGGER reservations_are_not_deleted BEFORE DELETE ON reservations
BEGIN SELECT RAISE(ABORT, 'a reservation is kept'); END;
CREATE TRIGGER bids_are_not_changed BEFORE UPDATE ON bids
BEGIN SELECT RAISE(ABORT, 'a bid is kept as it is'); END;
CREATE TRIGGER bids_are_not_deleted BEFORE DELETE ON bids
BEGIN SELECT RAISE(ABORT, 'a bid is kept as it is'); END;

-- Where a minute's reservations begin, so that they are found without an index of times.
ALTER TABLE minutes ADD COLUMN first INTEGER NOT NULL DEFAULT 0 CHECK (first >= 0);
UPDATE minutes SET first = begins.number
  FROM (SELECT at / 60 AS minute, min(number) AS number FROM reservations GROUP BY at / 60) begins
  WHERE minutes.minute = begins.minute;

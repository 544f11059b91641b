-- What the key of an intent may spend in its life, so that a signature's record can say what is left. None from before it was kept.
ALTER TABLE reservations ADD COLUMN session_cap INTEGER CHECK (session_cap >= 0);

DROP TRIGGER reservations_end_once;
CREATE TRIGGER reservations_end_once BEFORE UPDATE ON reservations
WHEN old.ending IS NOT NULL OR new.ending IS NULL
  OR (new.number, new.intent, new.session, new.micro_dollars, new.at, new.entry, new.session_cap)
    IS NOT (old.number, old.intent, old.session, old.micro_dollars, old.at, old.entry, old.session_cap)
BEGIN SELECT RAISE(ABORT, 'a reservation ends once, and nothing else about it changes'); END;

-- How far each reader of the audit chain has come, by its own word. Of what is behind a cursor nothing is told again.
CREATE TABLE cursors (
  name     TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL CHECK (sequence >= 0)
) STRICT;

CREATE TRIGGER cursors_begin_in_the_chain BEFORE INSERT ON cursors
WHEN new.sequence > (SELECT coalesce(max(sequence), 0) FROM audit)
BEGIN SELECT RAISE(ABORT, 'a cursor is not ahead of the chain'); END;
CREATE TRIGGER cursors_only_advance BEFORE UPDATE ON cursors
WHEN new.name IS NOT old.name OR new.sequence < old.sequence
  OR new.sequence > (SELECT coalesce(max(sequence), 0) FROM audit)
BEGIN SELECT RAISE(ABORT, 'a cursor goes on, and not ahead of the chain'); END;
CREATE TRIGGER cursors_are_not_deleted BEFORE DELETE ON cursors
BEGIN SELECT RAISE(ABORT, 'a cursor is kept'); END;

CREATE TABLE whose (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id   BLOB NOT NULL CHECK (length(id) = 20)
) STRICT;

-- What all Golems of the owner have set aside. A name that was released may be held again.
CREATE TABLE held (
  number        INTEGER PRIMARY KEY,
  golem         BLOB NOT NULL CHECK (length(golem) = 32),
  intent        BLOB NOT NULL CHECK (length(intent) = 32),
  micro_dollars INTEGER NOT NULL CHECK (micro_dollars >= 0),
  at            INTEGER NOT NULL CHECK (at >= 0),
  released      INTEGER NOT NULL DEFAULT 0 CHECK (released IN (0, 1)),
  UNIQUE (golem, intent)
) STRICT;

CREATE INDEX held_by_time ON held (released, at, micro_dollars);

-- What counts of that, by minute.
CREATE TABLE minutes (
  minute        INTEGER PRIMARY KEY,
  micro_dollars INTEGER NOT NULL CHECK (micro_dollars >= 0)
) STRICT;

CREATE TRIGGER held_counts AFTER INSERT ON held WHEN new.released = 0
BEGIN
  INSERT INTO minutes VALUES (new.at / 60, new.micro_dollars)
    ON CONFLICT DO UPDATE SET micro_dollars = micro_dollars + new.micro_dollars;
END;
CREATE TRIGGER held_no_more AFTER UPDATE ON held WHEN old.released = 0
BEGIN
  UPDATE minutes SET micro_dollars = micro_dollars - old.micro_dollars WHERE minute = old.at / 60;
END;
CREATE TRIGGER held_again AFTER UPDATE ON held WHEN new.released = 0
BEGIN
  INSERT INTO minutes VALUES (new.at / 60, new.micro_dollars)
    ON CONFLICT DO UPDATE SET micro_dollars = micro_dollars + new.micro_dollars;
END;
CREATE TRIGGER held_is_not_deleted BEFORE DELETE ON held
BEGIN SELECT RAISE(ABORT, 'a sum is released, not forgotten'); END;

CREATE TABLE questions (
  intent   BLOB PRIMARY KEY CHECK (length(intent) = 32),
  question TEXT NOT NULL,
  answer   TEXT,
  used_at  INTEGER
) STRICT;

CREATE TRIGGER questions_stay BEFORE UPDATE ON questions
WHEN old.used_at IS NOT NULL OR new.question IS NOT old.question OR new.intent IS NOT old.intent
  OR (new.used_at IS NOT NULL AND new.answer IS NULL)
BEGIN SELECT RAISE(ABORT, 'a question is kept, and its answer is used once'); END;
CREATE TRIGGER questions_are_not_deleted BEFORE DELETE ON questions
BEGIN SELECT RAISE(ABORT, 'a question is kept'); END;

-- What was signed and given up: nothing of it is handed over any more. It has not ended, and counts, until something else has its place.
CREATE TABLE forsaken (
  reservation INTEGER PRIMARY KEY REFERENCES reservations (number)
) STRICT;
CREATE TRIGGER forsaken_is_not_changed BEFORE UPDATE ON forsaken
BEGIN SELECT RAISE(ABORT, 'what is given up stays given up'); END;
CREATE TRIGGER forsaken_is_not_deleted BEFORE DELETE ON forsaken
BEGIN SELECT RAISE(ABORT, 'what is given up stays given up'); END;

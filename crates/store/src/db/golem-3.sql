-- The sums of what is reserved are added up by the writer, in the same transaction: once a batch and not once a row. What is given
-- back is still taken off by the database itself.
DROP TRIGGER IF EXISTS reservations_count;

-- It fails before anything of its statement is written, so that there is nothing to take back, and no pages to keep aside for it.
DROP TRIGGER IF EXISTS audit_goes_on;
CREATE TRIGGER audit_goes_on BEFORE INSERT ON audit
WHEN new.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM audit)
BEGIN SELECT RAISE(FAIL, 'a record comes after the last one'); END;

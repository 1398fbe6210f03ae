-- The message in which a change is reported with others of the same run; NULL for one of its own.
ALTER TABLE alerts ADD COLUMN part_of TEXT;

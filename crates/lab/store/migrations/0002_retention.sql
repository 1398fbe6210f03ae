-- What keeps raw traces of a run, and since when they are gone.
ALTER TABLE runs ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN pruned_unix_ns BIGINT;

CREATE TABLE pins (
    digest TEXT NOT NULL,
    reason TEXT NOT NULL,
    pinned_unix_ns BIGINT NOT NULL,
    PRIMARY KEY (digest, reason)
);

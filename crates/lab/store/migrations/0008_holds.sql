-- Who changes what is beside an archive: one process at a time, while it waits for the object store, without holding a row.
CREATE TABLE holds (
    digest TEXT PRIMARY KEY,
    hold TEXT NOT NULL,
    until_unix_ns BIGINT NOT NULL
);

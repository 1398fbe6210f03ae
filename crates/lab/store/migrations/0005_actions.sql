-- What people and programs changed, and who they were.
CREATE TABLE actions (
    action TEXT PRIMARY KEY,
    at_unix_ns BIGINT NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX actions_by_time ON actions (at_unix_ns, action);

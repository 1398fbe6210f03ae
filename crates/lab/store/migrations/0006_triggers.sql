-- Plans that are queued by themselves: at an interval, by a webhook, or for the kernels around a change.
CREATE TABLE triggers (
    name TEXT PRIMARY KEY,
    boards TEXT NOT NULL,
    plan_name TEXT NOT NULL,
    plan TEXT NOT NULL,
    -- From old to new, as boards report them; a webhook appends to them.
    kernels TEXT NOT NULL,
    priority BIGINT NOT NULL,
    attempts_max BIGINT NOT NULL,
    every_ns BIGINT,
    next_unix_ns BIGINT,
    -- Key of the signatures of a webhook: verifying one needs it as it is.
    secret TEXT,
    branch TEXT,
    created_by TEXT NOT NULL,
    created_unix_ns BIGINT NOT NULL
);
CREATE INDEX triggers_due ON triggers (next_unix_ns);

-- Every message that a webhook took, by its checksum, with the jobs that it queued: the same message again queues nothing.
CREATE TABLE deliveries (
    trigger_name TEXT NOT NULL REFERENCES triggers (name) ON DELETE CASCADE,
    body_sha256 TEXT NOT NULL,
    at_unix_ns BIGINT NOT NULL,
    jobs TEXT NOT NULL,
    PRIMARY KEY (trigger_name, body_sha256)
);

-- Plans to run on boards. A lease names the claim that runs a job; a job has one exactly while it runs.
CREATE TABLE jobs (
    job TEXT PRIMARY KEY,
    board TEXT NOT NULL,
    plan_name TEXT NOT NULL,
    plan TEXT NOT NULL,
    kernel TEXT,
    because TEXT NOT NULL,
    priority BIGINT NOT NULL,
    queued_unix_ns BIGINT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    attempts_max BIGINT NOT NULL,
    worker TEXT,
    lease TEXT,
    lease_until_unix_ns BIGINT,
    started_unix_ns BIGINT,
    ended_unix_ns BIGINT,
    message TEXT NOT NULL,
    CHECK ((state = 'running') = (lease IS NOT NULL))
);
CREATE INDEX jobs_to_claim ON jobs (board, state, priority, queued_unix_ns, job);
CREATE INDEX jobs_by_time ON jobs (queued_unix_ns, job);
-- One runner a board, whatever the workers think.
CREATE UNIQUE INDEX one_runner_a_board ON jobs (board) WHERE state = 'running';

CREATE TABLE job_runs (
    job TEXT NOT NULL REFERENCES jobs (job),
    digest TEXT NOT NULL,
    PRIMARY KEY (job, digest)
);

CREATE TABLE workers (
    worker TEXT PRIMARY KEY,
    boards TEXT NOT NULL,
    version TEXT NOT NULL,
    started_unix_ns BIGINT NOT NULL,
    heartbeat_unix_ns BIGINT NOT NULL
);

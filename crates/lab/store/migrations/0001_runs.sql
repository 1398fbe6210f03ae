-- One text for SQLite and PostgreSQL: BIGINT, DOUBLE PRECISION, TEXT and BYTEA mean the same in both, and no key is counted up.

-- Board, load and way to measure: what must be equal for runs to be compared, whatever kernel they ran on.
CREATE TABLE scenarios (
    scenario TEXT PRIMARY KEY,
    words TEXT NOT NULL,
    board TEXT NOT NULL,
    load TEXT NOT NULL,
    method TEXT NOT NULL,
    -- Start of the oldest run that a sparkline shows.
    recent_from_unix_ns BIGINT NOT NULL
);
CREATE INDEX scenarios_by_board ON scenarios (board);

-- Fingerprints and settings, each stored once by its SHA-256.
CREATE TABLE documents (
    document TEXT PRIMARY KEY,
    json TEXT NOT NULL
);

CREATE TABLE runs (
    digest TEXT PRIMARY KEY,
    location TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    scenario TEXT NOT NULL REFERENCES scenarios (scenario),
    kernel TEXT NOT NULL,
    kernel_line TEXT NOT NULL,
    preemption TEXT NOT NULL,
    environment TEXT NOT NULL,
    settings TEXT NOT NULL,
    -- The start of the run, or of the import where it is unknown.
    started_unix_ns BIGINT NOT NULL,
    measured_ns BIGINT NOT NULL,
    state TEXT NOT NULL,
    valid BIGINT NOT NULL,
    degraded BIGINT NOT NULL,
    emulated BIGINT NOT NULL,
    virtual_time BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    standing TEXT NOT NULL,
    samples BIGINT NOT NULL,
    latency_max_ns BIGINT,
    limit_ns BIGINT,
    over_limit BIGINT NOT NULL,
    missed BIGINT,
    spikes BIGINT NOT NULL,
    worst_cause TEXT,
    -- All samples of the run, and the same in few buckets.
    histogram BYTEA NOT NULL,
    outline BYTEA NOT NULL,
    -- The figures by name, and the rest of the summary without spikes, environment and settings.
    figures TEXT NOT NULL,
    summary TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    ingested_unix_ns BIGINT NOT NULL
);
CREATE INDEX runs_of_scenario ON runs (scenario, started_unix_ns, digest);
CREATE INDEX runs_by_standing ON runs (scenario, standing, started_unix_ns);
CREATE INDEX runs_by_id ON runs (id);
CREATE INDEX runs_by_time ON runs (started_unix_ns, digest);

-- Sums over the valid runs of a scenario on a kernel, so that an overview reads no runs.
CREATE TABLE coverage (
    scenario TEXT NOT NULL REFERENCES scenarios (scenario),
    kernel TEXT NOT NULL,
    runs BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    measured_ns BIGINT NOT NULL,
    latency_max_ns BIGINT,
    PRIMARY KEY (scenario, kernel)
);

CREATE TABLE series (
    series TEXT PRIMARY KEY,
    scenario TEXT NOT NULL REFERENCES scenarios (scenario),
    kernel_line TEXT NOT NULL,
    figure TEXT NOT NULL
);
CREATE INDEX series_of_scenario ON series (scenario);

CREATE TABLE causes (
    digest TEXT NOT NULL REFERENCES runs (digest) ON DELETE CASCADE,
    culprit TEXT NOT NULL,
    spikes BIGINT NOT NULL,
    latency_max_ns BIGINT NOT NULL,
    PRIMARY KEY (digest, culprit)
);
CREATE INDEX causes_by_culprit ON causes (culprit);

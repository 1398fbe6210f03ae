-- Where a figure of a scenario changed its level, between two runs.
CREATE TABLE changes (
    change TEXT PRIMARY KEY,
    scenario TEXT NOT NULL REFERENCES scenarios (scenario),
    figure TEXT NOT NULL,
    before_digest TEXT NOT NULL,
    after_digest TEXT NOT NULL,
    level_before DOUBLE PRECISION NOT NULL,
    level_after DOUBLE PRECISION NOT NULL,
    p_value DOUBLE PRECISION NOT NULL,
    differences TEXT NOT NULL,
    sentence TEXT NOT NULL,
    triage TEXT NOT NULL,
    found_unix_ns BIGINT NOT NULL,
    reported_unix_ns BIGINT
);
CREATE INDEX changes_of_scenario ON changes (scenario);
CREATE INDEX changes_before ON changes (before_digest);
CREATE INDEX changes_after ON changes (after_digest);

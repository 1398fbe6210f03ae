-- The newest good run of a board without one was looked for in all its runs: the index now has the order that is asked for.
DROP INDEX runs_by_standing;
CREATE INDEX runs_by_standing ON runs (scenario, standing, started_unix_ns, digest);

-- Time that the spikes of a cause lost; NULL in rows of an earlier version, until the archive is read again.
ALTER TABLE causes ADD COLUMN lost_ns BIGINT;
-- The largest latency of a kernel line before an instant, and the newest run on a kernel, without reading all runs.
CREATE INDEX runs_by_maximum ON runs (scenario, kernel_line, valid, latency_max_ns, started_unix_ns);
CREATE INDEX runs_of_kernel ON runs (scenario, kernel, started_unix_ns, digest);

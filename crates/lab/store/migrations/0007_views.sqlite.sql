-- What programs outside read: names and meanings of version 1 stay; columns are only added.
CREATE VIEW lab_v1_runs AS
SELECT r.digest, r.id, s.board, strftime('%Y-%m', r.started_unix_ns / 1000000000, 'unixepoch') AS month, r.scenario, s.load, s.method, r.kernel, r.kernel_line, r.preemption,
       r.started_unix_ns, strftime('%Y-%m-%dT%H:%M:%SZ', r.started_unix_ns / 1000000000, 'unixepoch') AS started_at, r.measured_ns, r.state, r.valid, r.degraded, r.emulated, r.virtual_time,
       r.verdict, r.standing, r.samples, r.latency_max_ns, r.limit_ns, r.over_limit, r.missed, r.spikes, r.worst_cause,
       CAST(json_extract(r.figures, '$.latency_ns."p50"') AS BIGINT) AS p50_ns, CAST(json_extract(r.figures, '$.latency_ns."p99"') AS BIGINT) AS p99_ns, CAST(json_extract(r.figures, '$.latency_ns."p99.9"') AS BIGINT) AS p99_9_ns,
       CAST(json_extract(r.figures, '$.latency_ns."p99.99"') AS BIGINT) AS p99_99_ns, CAST(json_extract(r.figures, '$.latency_ns."p99.999"') AS BIGINT) AS p99_999_ns,
       CASE WHEN r.pruned_unix_ns IS NULL THEN 1 ELSE 0 END AS raw
FROM runs r JOIN scenarios s ON s.scenario = r.scenario;

CREATE VIEW lab_v1_causes AS
SELECT c.digest, s.board, strftime('%Y-%m', r.started_unix_ns / 1000000000, 'unixepoch') AS month, r.started_unix_ns, s.load, s.method, r.kernel, r.kernel_line,
       c.culprit, c.spikes, c.latency_max_ns
FROM causes c JOIN runs r ON r.digest = c.digest JOIN scenarios s ON s.scenario = r.scenario;

CREATE VIEW lab_v1_changes AS
SELECT c.change, s.board, strftime('%Y-%m', c.found_unix_ns / 1000000000, 'unixepoch') AS month, c.scenario, s.load, s.method, c.figure, c.before_digest, c.after_digest,
       b.kernel AS kernel_before, a.kernel AS kernel_after, a.started_unix_ns, c.level_before, c.level_after, c.p_value, c.sentence,
       c.triage, c.found_unix_ns
FROM changes c JOIN scenarios s ON s.scenario = c.scenario
LEFT JOIN runs b ON b.digest = c.before_digest LEFT JOIN runs a ON a.digest = c.after_digest;

-- Where messages about changes go, and since when: a new destination gets what is found from then on.
CREATE TABLE destinations (
    destination TEXT PRIMARY KEY,
    since_unix_ns BIGINT NOT NULL
);

-- One message for each change and destination. A lease names the attempt that is under way; a message has one exactly then.
CREATE TABLE alerts (
    alert TEXT PRIMARY KEY,
    change TEXT NOT NULL,
    destination TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    queued_unix_ns BIGINT NOT NULL,
    next_unix_ns BIGINT NOT NULL,
    first_attempt_unix_ns BIGINT,
    last_attempt_unix_ns BIGINT,
    lease TEXT,
    lease_until_unix_ns BIGINT,
    sent_unix_ns BIGINT,
    -- Where it is, or why the last attempt failed; never a secret.
    message TEXT NOT NULL,
    CHECK ((state = 'sending') = (lease IS NOT NULL))
);
CREATE UNIQUE INDEX one_alert_a_change_and_destination ON alerts (change, destination);
CREATE INDEX alerts_due ON alerts (state, next_unix_ns);

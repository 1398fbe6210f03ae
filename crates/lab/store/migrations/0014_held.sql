-- An invalid run has no figure.
UPDATE runs SET latency_max_ns = NULL, figures = '{}' WHERE valid = 0;
-- A run that exceeded no limit, and did not pass one, held it; one without samples shows nothing.
UPDATE runs SET standing = 'held' WHERE standing = 'good' AND verdict = 'measured' AND samples > 0;
UPDATE runs SET standing = 'undecided' WHERE standing = 'good' AND verdict = 'measured' AND samples = 0;
UPDATE runs SET standing = 'held' WHERE standing = 'undecided' AND verdict = 'not_enough_data' AND limit_ns IS NOT NULL
    AND over_limit = 0 AND samples > 0;

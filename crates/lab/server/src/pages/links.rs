//! Addresses that stay: a board by its name, a run by the checksum of its archive.

use words::address::path_segment;

/// The page of a board.
pub fn board_address(board: &str) -> String {
    format!("/boards/{}", path_segment(board))
}

/// The page of a run.
pub fn run_address(digest: &str) -> String {
    format!("/runs/{}", path_segment(digest))
}

/// The page that compares two runs.
pub fn compare_address(a: &str, b: &str) -> String {
    format!("/compare?a={}&b={}", path_segment(a), path_segment(b))
}

/// The page of an experiment.
pub fn experiment_address(key: &str) -> String {
    format!("/experiments/{}", path_segment(key))
}

/// Where a decision about a change is sent.
pub fn decision_address(change: &str) -> String {
    format!("/changes/{}/triage", path_segment(change))
}

/// Where the kernels around a change are queued.
pub fn backfill_address(change: &str) -> String {
    format!("/backfill/{}", path_segment(change))
}

/// Where a job is cancelled.
pub fn cancel_address(job: &str) -> String {
    format!("/queue/{}/cancel", path_segment(job))
}

/// The page of a run in progress, and where its states come from.
pub fn live_address(run: &str) -> String {
    format!("/live/{}", path_segment(run))
}

pub fn events_address(run: &str) -> String {
    format!("/api/v1/live/{}/events", path_segment(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment() {
        assert_eq!(board_address("pi-4.lab"), "/boards/pi-4.lab");
        assert_eq!(board_address("../a b?c#d/é\""), "/boards/..%2Fa%20b%3Fc%23d%2F%C3%A9%22");
        assert_eq!(board_address(".."), "/boards/%2E%2E");
    }
}

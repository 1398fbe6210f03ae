//! Addresses that stay: a board by its name, a run by the checksum of its archive.

/// The page of a board.
pub fn board_address(board: &str) -> String {
    format!("/boards/{}", encoded(board))
}

/// The page of a run.
pub fn run_address(digest: &str) -> String {
    format!("/runs/{}", encoded(digest))
}

/// Where a decision about a change is sent.
pub fn decision_address(change: &str) -> String {
    format!("/changes/{}/triage", encoded(change))
}

/// Where the kernels around a change are queued.
pub fn backfill_address(change: &str) -> String {
    format!("/backfill/{}", encoded(change))
}

/// Where a job is cancelled.
pub fn cancel_address(job: &str) -> String {
    format!("/queue/{}/cancel", encoded(job))
}

/// The page of a run in progress, and where its states come from.
pub fn live_address(run: &str) -> String {
    format!("/live/{}", encoded(run))
}

pub fn events_address(run: &str) -> String {
    format!("/api/v1/live/{}/events", encoded(run))
}

/// A text as one segment of a path.
fn encoded(text: &str) -> String {
    let mut segment = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => segment.push(char::from(byte)),
            // A segment of dots alone is a directory.
            b'.' if text.bytes().any(|byte| byte != b'.') => segment.push('.'),
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    segment
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

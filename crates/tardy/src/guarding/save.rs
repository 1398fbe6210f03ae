//! `tardy guard --save`: asks the running guard to keep the last seconds, and waits for its account.

use super::ring;
use super::state::GuardState;
use crate::exit::{Exit, UsageError};
use serde::Deserialize;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use words::printable::printable;

const PATIENCE: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct Line {
    number: u64,
    kind: String,
}

/// Saves, and prints the account as one line of JSON.
///
/// # Errors
/// If no guard runs with this directory, or it answers nothing.
pub fn save(directory: &Path) -> anyhow::Result<Exit> {
    let shown = directory.display();
    let Some(guard) = GuardState::running(directory) else {
        let text = format!("no guard runs with {shown}; start one, or name its directory with --directory or --config");
        return Err(UsageError(text).into());
    };
    let before = ring::entries(directory).last().map_or(0, |last| last.number);
    guard.ask_to_save().map_err(|error| {
        UsageError(format!(
            "failed to signal the guard (process {}): {error}; run this as the user of the guard",
            guard.pid
        ))
    })?;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let is_new = |line: &&String| {
            let known = serde_json::from_str::<Line>(line.as_str());
            known.is_ok_and(|known| known.number > before && known.kind == "saved")
        };
        if let Some(line) = ring::lines(directory).iter().find(is_new) {
            let _ = writeln!(std::io::stdout(), "{}", printable(line));
            return Ok(Exit::Measured);
        }
        thread::sleep(LOOK_EVERY);
    }
    complain!(
        "tardy: the guard saved nothing within {} s: no watched thread woke in the last seconds, or its trace is off; its own lines name the reason",
        PATIENCE.as_secs()
    );
    Ok(Exit::NotMeasured)
}

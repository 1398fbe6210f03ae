//! Opens a page in the browser of the user.

use std::process::{Command, Stdio};
use std::thread;

const OPENER: &str = "xdg-open";

/// Asks the desktop to open the page; without one the printed link remains.
pub fn open(link: &str) {
    let started =
        Command::new(OPENER).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        // It may live as long as the browser.
        Ok(mut opener) => drop(thread::spawn(move || opener.wait())),
        Err(error) => complain!("tardy desk: failed to start {OPENER}: {error}; open the link in a browser"),
    }
}

//! Opens a page in the browser of the user.

use rustix::process::geteuid;
use std::process::{Command, Stdio};
use std::thread;

const OPENER: &str = "xdg-open";

/// Asks the desktop to open the page; without one the printed link remains.
pub fn open(link: &str) {
    if geteuid().is_root() {
        // Its browser would run as root, or not at all.
        complain!(
            "tardy desk: --open starts no browser as root; open the link in your own, or run it without root after `sudo tardy setup --apply`"
        );
        return;
    }
    let started =
        Command::new(OPENER).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut opener = match started {
        Ok(opener) => opener,
        Err(error) => {
            complain!("tardy desk: failed to start {OPENER}: {error}; open the link in a browser");
            return;
        }
    };
    // It may live as long as the browser.
    thread::spawn(move || match opener.wait() {
        Ok(ended) if !ended.success() => {
            complain!("tardy desk: {OPENER} opened no browser ({ended}); open the link in one")
        }
        _ => {}
    });
}

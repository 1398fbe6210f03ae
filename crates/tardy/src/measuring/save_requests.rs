//! Requests of the user to keep the last seconds of a watch: SIGUSR1, and Enter at the terminal.

use runner::run::MeterRequests;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;
use std::io::{self, BufRead, IsTerminal};
use std::thread;

/// Interval at which the terminal is asked whether this process may read from it.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Passes requests on for the rest of the process; from the terminal only if `keys`.
///
/// # Errors
/// If the kernel refuses a handler.
pub fn listen(requests: &MeterRequests, keys: bool) -> io::Result<()> {
    let mut received = Signals::new([SIGUSR1])?;
    let by_signal = requests.clone();
    thread::spawn(move || received.forever().for_each(|_| by_signal.save()));
    if keys && io::stdin().is_terminal() {
        let by_key = requests.clone();
        thread::spawn(move || read_keys(&by_key));
    }
    Ok(())
}

/// Each line is a request, with its text as the reason. In the background, reading from the terminal would stop the process.
fn read_keys(requests: &MeterRequests) {
    let stdin = io::stdin();
    loop {
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        let ready = poll(&mut input, Some(&LOOK)).is_ok_and(|count| count > 0);
        let is_ours = tcgetpgrp(&stdin).is_ok_and(|group| group == getpgrp());
        if !is_ours {
            thread::sleep(std::time::Duration::from_millis(200));
            continue;
        }
        if !ready {
            continue;
        }
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => requests.save_by_key(line.trim()),
        }
    }
}

//! Stops the virtual machine this process runs repeatedly, as a busy host does.

use crate::host::{now_ns, signal};
use crate::injection::Injection;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that stops every emulator this process has started, and lets it go on.
#[derive(Debug)]
pub struct Stopper {
    on: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<String>>,
}

impl Stopper {
    /// One that waits for its start.
    pub fn new(length: Duration, pause: Duration) -> Self {
        let (on, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (asked, over) = (Arc::clone(&on), Arc::clone(&ended));
        let thread = thread::spawn(move || {
            let mut log = String::new();
            while !over.load(Ordering::SeqCst) {
                thread::sleep(pause);
                if asked.load(Ordering::SeqCst) {
                    let machines = emulators();
                    machines.iter().for_each(|&machine| signal(machine, libc::SIGSTOP));
                    // This thread may have to wait for a CPU as well, before a signal and after it.
                    let begin_ns = now_ns();
                    thread::sleep(length);
                    let end_ns = now_ns();
                    machines.iter().for_each(|&machine| signal(machine, libc::SIGCONT));
                    log += &format!("{begin_ns} {end_ns}\n");
                }
            }
            log
        });
        Self { on, ended, thread: Some(thread) }
    }

    pub fn go_on(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }

    /// When machines were stopped for sure, by this machine's CLOCK_MONOTONIC: a line each, as an injector writes them.
    pub fn log(mut self) -> String {
        self.end()
    }

    fn end(&mut self) -> String {
        self.ended.store(true, Ordering::SeqCst);
        // It does not panic; if it did, nothing would be known.
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.end();
    }
}

/// Of the gaps that a machine noted, those in which it was stopped, without what came before and after: there each of its CPUs
/// waited for one of the host as long as that took. Both in the clock of the machine.
pub fn gaps_of_stops(gaps: &[Injection], stops: &[Injection]) -> Vec<Injection> {
    let part = |gap: &Injection, stop: &Injection| Injection {
        begin_ns: gap.begin_ns.max(stop.begin_ns),
        end_ns: gap.end_ns.min(stop.end_ns),
        drawn: None,
        held_ns: None,
        unsure_ns: 0,
    };
    let parts = gaps.iter().filter_map(|gap| {
        let stop = stops.iter().max_by_key(|stop| gap.shared_ns(stop.begin_ns, stop.end_ns))?;
        let part = part(gap, stop);
        (part.ns() * 100 >= stop.ns() * SHARED_PERCENT_MIN).then_some(part)
    });
    parts.collect()
}

/// A gap that shares less with a stop is something else, or the clocks are not known.
const SHARED_PERCENT_MIN: i64 = 80;

/// Children of this process that are QEMU.
fn emulators() -> Vec<i32> {
    let own = format!("PPid:\t{}\n", std::process::id());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes
        .filter(|process: &i32| {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            status.starts_with("Name:\tqemu") && status.contains(&own)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::parse_log;

    #[test]
    fn only_gaps_with_a_stop_in_them_count_and_only_for_as_long_as_it_lasted() {
        let gaps = parse_log("1000 3000\n5000 7100\n9000 11000\n");
        let stops = parse_log("990 2950\n5100 7000\n10500 12500\n");
        assert_eq!(gaps_of_stops(&gaps, &stops), parse_log("1000 2950\n5100 7000\n"));
        assert_eq!(gaps_of_stops(&gaps, &[]), []);
    }
}

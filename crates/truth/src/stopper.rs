//! Stops the virtual machine this process runs, again and again, as a host does that has no time for it.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that stops every emulator this process has started, and lets it go on.
#[derive(Debug)]
pub struct Stopper {
    on: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stopper {
    /// One that waits to be told to begin.
    pub fn new(length: Duration, pause: Duration) -> Self {
        let (on, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (told, over) = (Arc::clone(&on), Arc::clone(&ended));
        let thread = thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                thread::sleep(pause);
                if told.load(Ordering::SeqCst) {
                    let machines = emulators();
                    send("STOP", &machines);
                    thread::sleep(length);
                    send("CONT", &machines);
                }
            }
        });
        Self { on, ended, thread: Some(thread) }
    }

    pub fn go_on(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It never panics; if it did, nothing would be left to end.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Children of this process that are QEMU.
fn emulators() -> Vec<u32> {
    let own = format!("PPid:\t{}\n", std::process::id());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes
        .filter(|process: &u32| {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            status.starts_with("Name:\tqemu") && status.contains(&own)
        })
        .collect()
}

fn send(signal: &str, processes: &[u32]) {
    for process in processes {
        // One that is gone needs no signal.
        let _ = Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).status();
    }
}

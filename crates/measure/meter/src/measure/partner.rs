//! A thread that works for a measuring thread: it gives the stimulus, or is one link of a chain.

use super::schedule::Schedule;
use super::start_instant::StartInstant;
use crate::kernel::{memory, scheduling};
use archive::settings::Policy;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

const STACK_BYTES: usize = 128 << 10;

/// Data for a partner once the run has started.
#[derive(Debug)]
pub struct PartnerContext {
    /// The schedule of its measuring thread; instants are absolute.
    pub schedule: Schedule,
    /// Set when the run is over: the partner must end soon.
    pub stop: Arc<AtomicBool>,
}

/// A partner not started yet.
pub struct Partner {
    /// At most 15 characters.
    pub name: String,
    /// CPUs to bind to; unbound if empty.
    pub cpus: Vec<u32>,
    pub policy: Policy,
    pub priority: u8,
    /// Ends when the schedule does, and soon after `stop`.
    pub body: Box<dyn FnOnce(PartnerContext) + Send>,
}

/// Starts it; it sends its thread ID on `ready`, or what the kernel rejected, and then waits for the start.
///
/// # Errors
/// If the system cannot create another thread.
pub fn spawn(
    partner: Partner,
    schedule: Schedule,
    start: Arc<StartInstant>,
    stop: Arc<AtomicBool>,
    ready: Sender<io::Result<i32>>,
) -> io::Result<JoinHandle<()>> {
    let Partner { name, cpus, policy, priority, body } = partner;
    std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || {
        let set_up = set_up(&cpus, policy, priority, schedule.interval_ns);
        let failed = set_up.is_err();
        let _ = ready.send(set_up.map(|()| scheduling::thread_id()));
        drop(ready);
        if !failed && let Some(start_ns) = start.wait() {
            body(PartnerContext { schedule: schedule.starting_at(start_ns), stop });
        }
    })
}

fn set_up(cpus: &[u32], policy: Policy, priority: u8, interval_ns: i64) -> io::Result<()> {
    if !cpus.is_empty() {
        scheduling::bind(cpus)?;
    }
    match scheduling::set_policy(policy, priority, interval_ns as u64) {
        // The measuring thread reports the missing privilege.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => scheduling::least_timer_slack()?,
        set => set?,
    }
    if policy == Policy::Other {
        scheduling::least_timer_slack()?;
    }
    memory::prefault_stack();
    Ok(())
}

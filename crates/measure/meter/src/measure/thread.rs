//! One measuring thread: set up as requested, verified by reading back, then only cycles.

use super::cycle::Cycles;
use super::schedule::Schedule;
use super::start_instant::StartInstant;
use super::thread_record::ThreadRecord;
use super::waiter::{Arrival, Waiter, WaiterCounts};
use crate::kernel::wake_up_mark;
use crate::kernel::{clock, memory, scheduling};
use archive::effective::EffectiveThread;
use archive::sample::Sample;
use archive::settings::Policy;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// Minimum stack for the loop and its set-up; locked memory is allocated in full.
const STACK_BYTES: usize = 128 << 10;

/// Requested settings of one thread.
#[derive(Debug, Clone)]
pub struct ThreadRequest {
    pub thread: u32,
    /// Its name in the kernel.
    pub name: String,
    /// CPUs to bind to; it is expected to run on the first. Not bound if `pinned` is false.
    pub cpus: Vec<u32>,
    pub pinned: bool,
    pub policy: Policy,
    pub priority: u8,
    pub interval_ns: u64,
    pub worst_kept: usize,
    /// Its instants are relative to the start instant.
    pub schedule: Schedule,
}

/// The surroundings of a thread, besides its request.
pub struct ThreadContext {
    pub record: Arc<ThreadRecord>,
    /// The event it waits for.
    pub waiter: Box<dyn Waiter>,
    pub counts: Arc<WaiterCounts>,
    /// Set once every thread is ready; threads sleep until then.
    pub start: Arc<StartInstant>,
    pub stop: Arc<AtomicBool>,
    /// Trace file to mark spikes in.
    pub marker: Option<File>,
}

/// Why a thread cannot measure; completes "the measuring thread ...".
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    #[error("could not be bound to CPUs {cpus:?}: {source}")]
    Bind { cpus: Vec<u32>, source: std::io::Error },
    #[error("could not set its timer slack: {0}")]
    TimerSlack(std::io::Error),
    #[error("could not get {}: {source}", policy_words(*policy, *priority))]
    Policy { policy: Policy, priority: u8, source: std::io::Error },
    #[error("could not prepare what it waits for: {0}")]
    Prepare(std::io::Error),
    #[error("could not read its settings back: {0}")]
    ReadBack(std::io::Error),
}

/// Results of a thread at its end.
#[derive(Debug, Default)]
pub struct Measured {
    /// The worst samples, largest first.
    pub worst: Vec<Sample>,
    /// `None` for a thread that never measured.
    pub end: Option<EndState>,
    /// It ended early, because nothing could arrive any more.
    pub gone: bool,
}

/// State of a thread after its last cycle.
#[derive(Debug, Clone)]
pub struct EndState {
    pub effective: EffectiveThread,
    pub cpu: u32,
    /// From [`scheduling::migrations_of`].
    pub migrations: Option<u64>,
}

/// Report of a thread after its set-up: its settings, or the error.
pub type Readiness = (u32, Result<EffectiveThread, SetUpError>);

/// Starts the thread; it reports on `ready` and then waits for the start.
///
/// # Errors
/// If the system cannot create another thread.
pub fn spawn(
    request: ThreadRequest,
    mut context: ThreadContext,
    ready: Sender<Readiness>,
) -> std::io::Result<JoinHandle<Measured>> {
    std::thread::Builder::new().name(request.name.clone()).stack_size(STACK_BYTES).spawn(move || {
        let effective = set_up(&request, &mut *context.waiter);
        let failed = effective.is_err();
        let _ = ready.send((request.thread, effective));
        drop(ready);
        if failed {
            return Measured::default();
        }
        match context.start.wait() {
            Some(start_ns) => measure(&request, &mut context, request.schedule.starting_at(start_ns)),
            None => Measured::default(),
        }
    })
}

fn set_up(request: &ThreadRequest, waiter: &mut dyn Waiter) -> Result<EffectiveThread, SetUpError> {
    if request.pinned {
        scheduling::bind(&request.cpus).map_err(|source| SetUpError::Bind { cpus: request.cpus.clone(), source })?;
    }
    if request.policy == Policy::Other {
        scheduling::least_timer_slack().map_err(SetUpError::TimerSlack)?;
    }
    match scheduling::set_policy(request.policy, request.priority, request.interval_ns) {
        // Without the privilege the thread measures with its current policy; the check of the settings read back
        // reports it.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            let _ = scheduling::least_timer_slack();
        }
        Err(error) => {
            return Err(SetUpError::Policy { policy: request.policy, priority: request.priority, source: error });
        }
        Ok(()) => {}
    }
    memory::prefault_stack();
    waiter.prepare().map_err(SetUpError::Prepare)?;
    read_back(request.thread).map_err(SetUpError::ReadBack)
}

/// The settings of the calling thread as set in the kernel.
fn read_back(thread: u32) -> std::io::Result<EffectiveThread> {
    let (policy, priority) = scheduling::policy_of(0)?;
    Ok(EffectiveThread {
        thread,
        tid: scheduling::thread_id(),
        cpus: scheduling::allowed_cpus(0)?,
        policy,
        priority,
        timer_slack_ns: scheduling::timer_slack_ns(),
    })
}

/// A policy in the user's notation.
pub fn policy_words(policy: Policy, priority: u8) -> String {
    match policy {
        Policy::Fifo => format!("SCHED_FIFO priority {priority}"),
        Policy::Rr => format!("SCHED_RR priority {priority}"),
        Policy::Deadline => "SCHED_DEADLINE".into(),
        Policy::Other => "SCHED_OTHER".into(),
    }
}

/// Text of the marker; the details of the spike are sent separately.
pub const MARKER: &[u8] = b"tardy-spike\n";

fn measure(request: &ThreadRequest, context: &mut ThreadContext, schedule: Schedule) -> Measured {
    let cpu = request.cpus.first().copied().unwrap_or(request.thread);
    let mut cycles = Cycles::new(schedule, &context.record, cpu, request.worst_kept);
    let mut marker = context.marker.as_ref();
    let mut gone = false;
    while let Some(due_ns) = cycles.next_due_ns() {
        context.record.next_due.set(due_ns);
        let arrival = context.waiter.wait(due_ns);
        if due_ns >= schedule.count_from_ns {
            wake_up_mark::wake_up_seen();
        }
        if !request.pinned {
            cycles.moved_to(rustix::thread::sched_getcpu() as u32);
        }
        let spike = match arrival {
            Arrival::Due { seen_ns } => cycles.seen(seen_ns),
            Arrival::Stimulus { given_ns, seen_ns, skipped } => cycles.seen_stimulus(given_ns, seen_ns, skipped),
            Arrival::Answer { given_ns, seen_ns, skipped, counted } => {
                cycles.seen_answer(given_ns, seen_ns, skipped, counted)
            }
            Arrival::Requested { given_ns, seen_ns } => cycles.seen_requested(given_ns, seen_ns),
            Arrival::Busy { from_ns, until_ns } => cycles.seen_busy(from_ns, until_ns),
            Arrival::Undisturbed { until_ns } => {
                cycles.undisturbed(until_ns);
                false
            }
            Arrival::Unstamped { seen_ns, skipped } => {
                if seen_ns >= schedule.count_from_ns {
                    context.counts.count_unstamped();
                    cycles.left_out(skipped);
                }
                cycles.undisturbed(seen_ns);
                false
            }
            Arrival::NoSignal => {
                context.counts.count_unanswered();
                if clock::monotonic_ns() >= schedule.end_ns {
                    break;
                }
                false
            }
            Arrival::Ended { skipped } => {
                cycles.left_out(skipped);
                break;
            }
            Arrival::Gone => {
                // The end of a run closes lines as well.
                gone = !context.stop.load(Relaxed) && clock::monotonic_ns() < schedule.end_ns;
                break;
            }
        };
        if spike && let Some(marker) = &mut marker {
            // A marker that cannot be written costs the snapshot, and the missing snapshot shows it; there is no time
            // for a report here.
            let _ = marker.write(MARKER);
            context.waiter.marked();
        }
        if context.stop.load(Relaxed) {
            break;
        }
    }
    context.record.next_due.set_never();
    let cpu = rustix::thread::sched_getcpu() as u32;
    let migrations = scheduling::migrations_of(scheduling::thread_id());
    let end = read_back(request.thread).ok().map(|effective| EndState { effective, cpu, migrations });
    Measured { worst: cycles.finish(), end, gone }
}

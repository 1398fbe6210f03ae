//! One measuring thread of cyclictest: set-up, then nothing but cycles.

use super::error::{MeasureError, SetupError};
use super::request::{Mode, PolicyName};
use super::smi::SmiCounter;
use super::tally::Tally;
use archive::settings::Policy;
use meter::kernel::sleep::posix_timer::PosixTimer;
use meter::kernel::sleep::{clock_sleep, relative_sleep};
use meter::kernel::{clock, memory, scheduling};
use meter::measure::cycle::Cycles;
use meter::measure::schedule::Schedule;
use meter::measure::start_instant::StartInstant;
use meter::measure::thread::MARKER;
use meter::measure::thread_record::ThreadRecord;
use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::ClockId;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

const STACK_BYTES: usize = 128 << 10;

/// The job of one thread.
#[derive(Debug, Clone)]
pub struct Job {
    pub thread: u32,
    pub cpu: Option<u32>,
    pub interval_us: i64,
    pub policy: PolicyName,
    pub priority: u8,
    pub mode: Mode,
    pub clock: ClockId,
    pub smi: bool,
    /// A larger value ends the test.
    pub break_over: Option<i64>,
    pub traced: bool,
}

/// The counters of a thread.
#[derive(Debug, Clone)]
pub struct Pages {
    pub record: Arc<ThreadRecord>,
    pub tally: Arc<Tally>,
}

/// State shared by all threads.
#[derive(Debug)]
pub struct Shared {
    /// Set when the test is over.
    pub stop: AtomicBool,
    /// Becomes readable when a thread ends.
    pub ended: OwnedFd,
    pub schedules: OnceLock<Vec<Schedule>>,
    /// The start for a snapshotter.
    pub start: Arc<StartInstant>,
    /// Thread number + 1 of the thread that exceeded the limit, and its value.
    pub broke_by: AtomicI64,
    pub broke_value: AtomicI64,
    /// Marker and switch of a trace set up by the user.
    pub tracemark: Option<(File, File)>,
}

impl Shared {
    /// # Errors
    /// Errors of eventfd(2).
    pub fn new(tracemark: Option<(File, File)>) -> std::io::Result<Self> {
        Ok(Self {
            stop: AtomicBool::new(false),
            ended: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            schedules: OnceLock::new(),
            start: Arc::default(),
            broke_by: AtomicI64::new(0),
            broke_value: AtomicI64::new(0),
            tracemark,
        })
    }

    fn broken(&self, job: &Job, value: i64) {
        if self.broke_by.compare_exchange(0, i64::from(job.thread) + 1, Relaxed, Relaxed).is_err() {
            return;
        }
        self.broke_value.store(value, Relaxed);
        if let Some((marker, switch)) = &self.tracemark {
            // The test is over: there is time to format and to write.
            let limit = job.break_over.unwrap_or(0);
            let _ = (&*marker).write_all(format!("hit latency threshold ({value} > {limit})").as_bytes());
            let _ = (&*switch).write_all(b"0");
        }
    }
}

/// Effective settings of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    pub tid: i32,
    pub cpus: Vec<u32>,
    pub policy: Policy,
    pub priority: u8,
    pub timer_slack_ns: u64,
}

/// Number of the thread, and its effective settings or why it cannot measure.
pub type Readiness = (u32, Result<Effective, SetupError>);

/// Signals that the thread ended in any way.
struct EndNotice<'a>(&'a Shared);

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Relaxed);
        let _ = rustix::io::write(&self.0.ended, &1u64.to_ne_bytes());
    }
}

/// Starts the thread. It reports on `ready`, waits for its schedule and measures until it is done, or all threads must
/// stop; it returns why it could not continue, if so.
///
/// # Errors
/// If the system cannot create another thread.
pub fn spawn(
    job: Job,
    pages: Pages,
    shared: Arc<Shared>,
    marker: Option<Arc<File>>,
    ready: Sender<Readiness>,
) -> std::io::Result<JoinHandle<Result<(), MeasureError>>> {
    let mut builder = std::thread::Builder::new().stack_size(STACK_BYTES);
    if job.traced {
        // The snapshotter recognises measuring threads by this prefix; otherwise they have the name of the process.
        builder = builder.name(format!("tardy-cpu{}", job.cpu.unwrap_or(job.thread)));
    }
    builder.spawn(move || {
        let _notice = EndNotice(&shared);
        let mut resources = match set_up(&job) {
            Ok((resources, effective)) => {
                let _ = ready.send((job.thread, Ok(effective)));
                resources
            }
            Err(why) => {
                let _ = ready.send((job.thread, Err(why)));
                return Ok(());
            }
        };
        drop(ready);
        // There is none if the test is aborted before it starts.
        let Some(schedule) = shared.schedules.wait().get(job.thread as usize).copied() else { return Ok(()) };
        measure(&job, &pages, &shared, marker, &mut resources, schedule)
    })
}

/// Resources of a measuring thread.
struct Resources {
    timer: Option<PosixTimer>,
    smi: Option<SmiCounter>,
}

fn set_up(job: &Job) -> Result<(Resources, Effective), SetupError> {
    if let Some(cpu) = job.cpu {
        scheduling::bind(&[cpu]).map_err(|source| SetupError::Pin { cpu, source })?;
    }
    let timer = match job.mode {
        Mode::PosixTimer => Some(PosixTimer::new(job.clock).map_err(SetupError::Timer)?),
        _ => None,
    };
    let set = match job.policy {
        PolicyName::Fifo => scheduling::set_policy(Policy::Fifo, job.priority, 0),
        PolicyName::Rr => scheduling::set_policy(Policy::Rr, job.priority, 0),
        PolicyName::Batch => scheduling::set_background(libc::SCHED_BATCH),
        PolicyName::Idle => scheduling::set_background(libc::SCHED_IDLE),
        // Left as inherited: `nice` and `chrt` before the command keep their effect.
        PolicyName::Other => Ok(()),
    };
    set.map_err(|source| SetupError::Priority { priority: job.priority, source })?;
    let smi = match (job.smi, job.cpu) {
        (true, Some(cpu)) => Some(SmiCounter::open(cpu)?),
        _ => None,
    };
    memory::prefault_stack();
    let effective = effective().map_err(SetupError::ReadBack)?;
    Ok((Resources { timer, smi }, effective))
}

fn effective() -> std::io::Result<Effective> {
    let (policy, priority) = scheduling::policy_of(0)?;
    Ok(Effective {
        tid: scheduling::thread_id(),
        cpus: scheduling::allowed_cpus(0)?,
        policy,
        priority,
        timer_slack_ns: scheduling::timer_slack_ns(),
    })
}

fn measure(
    job: &Job,
    pages: &Pages,
    shared: &Shared,
    marker: Option<Arc<File>>,
    resources: &mut Resources,
    schedule: Schedule,
) -> Result<(), MeasureError> {
    let interval_ns = schedule.interval_ns;
    let failed = MeasureError::Sleep;
    if let Some(timer) = &resources.timer {
        timer.start(schedule.first_due_ns, interval_ns).map_err(failed)?;
    }
    let mut cycles = Cycles::new(schedule, &pages.record, job.cpu.unwrap_or(0), 0).without_seconds();
    let mut cycle = 0;
    if let Some(smi) = &mut resources.smi {
        smi.new_ones();
    }
    while let Some(due_ns) = cycles.next_due_ns() {
        if job.cpu.is_none() {
            cycles.moved_to(rustix::thread::sched_getcpu() as u32);
        }
        let (seen_ns, wanted) = match job.mode {
            Mode::Absolute => {
                let seen_ns = clock_sleep::wake_at(job.clock, due_ns).map_err(|error| failed(error.into()))?;
                (seen_ns, cycles.seen(seen_ns))
            }
            Mode::Relative | Mode::System => {
                let (due_ns, seen_ns) =
                    relative_sleep::wake_after(job.clock, interval_ns).map_err(|error| failed(error.into()))?;
                (seen_ns, cycles.seen_unscheduled(due_ns, seen_ns))
            }
            Mode::PosixTimer => {
                let timer = resources.timer.as_ref().ok_or(MeasureError::NoTimer)?;
                let expiry = timer.wake().map_err(failed)?;
                (expiry.seen_ns, cycles.seen_with_overrun(expiry.seen_ns, expiry.overrun))
            }
        };
        let smi = resources.smi.as_mut().map_or(0, SmiCounter::new_ones);
        let value = pages.tally.count(cycle, seen_ns, pages.record.latency_ns_last(), smi);
        cycle += 1;
        if wanted && let Some(marker) = &marker {
            // A failed write costs the snapshot, whose absence shows it.
            let _ = (&**marker).write(MARKER);
        }
        if job.break_over.is_some_and(|limit| value > limit) {
            shared.broken(job, value);
            break;
        }
        if shared.stop.load(Relaxed) {
            break;
        }
    }
    drop(cycles.finish());
    Ok(())
}

/// The earliest start instant of the first of several threads, slightly in the future.
pub fn soon_ns(clock: ClockId) -> i64 {
    clock::now_ns(clock) + 2_000_000
}

//! The follower: a small trace of only the watched threads' timers, wake-ups and switches, read while it grows.
//!
//! The kernel itself selects the threads (`set_event_pid`, and `event-fork` for their children). The follower reads
//! every hundredth of a second at the lowest real-time priority, counts every wake-up, and announces to the snapshotter
//! those that deserve a snapshot: the past is still in the snapshotter's large buffers.
//!
//! There are machines whose kernel records no switch from the idle task of some CPU (seen on one that was restored from
//! a snapshot of its memory). On these, the return from the system call, some µs later, counts instead.

use crate::journal::{Entry, Journal};
use crate::kernel::bell::Bell;
use crate::kernel::{clock, scheduling};
use crate::measure::thread::MARKER;
use crate::measure::thread_record::SpikeSignal;
use crate::trace::announced_until::AnnouncedUntil;
use crate::trace::arming::INSTANCE_PREFIX;
use crate::trace::capture::Announced;
use crate::trace::error::TraceError;
use archive::settings::Policy;
use ftrace::byte_order::ByteOrder;
use ftrace::tracefs::{Instance, RawPages, Tracefs};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use wakeups::followed::{Followed, Late};
use wakeups::thread_events::{EVENTS, EventReader, RETURN, ThreadEvent, TimedEvent};
use wakeups::timer_functions::TimerFunctions;

/// Usual interval between reads of the buffers.
pub const ROUND_NS: u64 = 10_000_000;
const BUFFER_KB: u32 = 1024;
const ROUND_BYTES_MAX: usize = 4 << 20;

/// Duration of the trial of the idle tasks, and minimum number of entries to judge one.
const TRIAL: Duration = Duration::from_millis(200);
const TRIAL_ENTRIES_MIN: u32 = 3;
/// Wake-ups without a switch after which returns from system calls are recorded as well.
const UNSEEN_MAX: u64 = 3;

/// Destination of announced spikes.
pub struct Announcer {
    pub output: Sender<Announced>,
    /// Set by the thread that marks a spike, until its snapshot is copied: meanwhile spikes are announced but not
    /// marked.
    pub busy: Arc<AtomicBool>,
    /// Everything up to this instant has been announced.
    pub until: Arc<AnnouncedUntil>,
    /// Absent if the kernel itself detects the spikes.
    pub marker: Option<File>,
}

/// An armed instance, with its CPUs and functions.
pub struct Follower {
    instance: Instance,
    /// CPUs on which the kernel does not record switches from the idle task, if the threads may run there.
    pub mute_cpus: Vec<u32>,
    pub functions: TimerFunctions,
    reader: EventReader,
    pages: Vec<(u32, RawPages)>,
}

impl Follower {
    /// Creates the instance, journalled, with its events on and recording off.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn arm(tracefs: &Tracefs, journal: &mut Journal) -> Result<Self, TraceError> {
        let name = format!("{INSTANCE_PREFIX}{}-follow", std::process::id());
        journal.note(Entry::TraceInstance { name: name.clone() })?;
        let instance = tracefs.create_instance(&name)?;
        instance.set_tracing_on(false)?;
        instance.set_clock("mono")?;
        instance.set_buffer_size_kb(BUFFER_KB)?;
        let _ = instance.set_option("record-cmd", false);
        let known: Vec<_> = EVENTS.iter().chain([&RETURN]).copied().collect();
        let metadata = instance.metadata(&known)?.parse(ByteOrder::NATIVE);
        let reader = EventReader::new(&metadata.formats, instance.page_layout()?)?;
        let mut pages = Vec::new();
        for cpu in instance.cpus() {
            pages.push((cpu, instance.open_raw(cpu)?));
        }
        let mute_cpus = mute_cpus(&instance, &reader, &mut pages)?;
        let functions = timer_functions();
        let filter = filter_of(&functions);
        instance.set_event_filter("timer", "hrtimer_start", &filter).map_err(TraceError::TimerFilter)?;
        // Nothing may be recorded of other threads, so the threads are set before the events are switched on.
        instance.set_event_pids(&[std::process::id() as i32])?;
        instance.set_option("event-fork", true)?;
        for (system, event) in EVENTS {
            instance.enable_event(system, event)?;
        }
        Ok(Self { instance, mute_cpus, functions, reader, pages })
    }

    /// Starts following only these threads.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self, tids: &[i32]) -> Result<Additions, TraceError> {
        let allowed: Vec<u32> = tids.iter().filter_map(|tid| scheduling::allowed_cpus(*tid).ok()).flatten().collect();
        if !self.mute_cpus.iter().any(|cpu| allowed.contains(cpu)) {
            // Every system call of the machine would take longer, for nothing. Of threads that come later, wake-ups without a switch show
            // that it is needed.
            self.mute_cpus.clear();
        }
        if !self.mute_cpus.is_empty() {
            self.instance.enable_event(RETURN.0, RETURN.1)?;
        }
        // Without a thread the kernel would record all of them. A thread of the meter would record its own reads of the trace.
        let none = [unused_tid()];
        self.instance.set_event_pids(if tids.is_empty() { &none } else { tids })?;
        self.instance.set_tracing_on(true)?;
        Ok(Additions { instance: self.instance.clone() })
    }

    /// The instance that records only the watched threads.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Starts a thread that reads. It sends its thread id once it is running.
    ///
    /// # Errors
    /// If the system cannot create another thread.
    pub fn spawn(
        self,
        followed: Arc<Mutex<Followed>>,
        announcer: Option<Announcer>,
        cpus: Vec<u32>,
        (stop, round_ns, bell): (Arc<AtomicBool>, u64, Option<Bell>),
    ) -> std::io::Result<(JoinHandle<()>, i32)> {
        let (ready, answer) = channel();
        let handle = std::thread::Builder::new().name("tardy:follow".into()).spawn(move || {
            let _ = scheduling::bind(&cpus);
            // Without real-time priority a loaded machine may overwrite events before they are read; that is counted.
            let _ = scheduling::set_policy(Policy::Fifo, 1, 0);
            let _ = ready.send(scheduling::thread_id());
            let round_ns = round_ns.min(i64::MAX as u64) as i64;
            Reading { follower: self, followed, announcer, waiting: Vec::new(), bytes: Vec::new(), round_ns, bell }
                .until(&stop);
        })?;
        let tid = answer.recv().unwrap_or_default();
        Ok((handle, tid))
    }
}

/// The number that the kernel gives to a thread last.
fn unused_tid() -> i32 {
    let limit = std::fs::read_to_string("/proc/sys/kernel/pid_max").ok();
    limit.and_then(|text| text.trim().parse::<i32>().ok()).map_or(i32::from(i16::MAX), |max| max - 1)
}

/// Adds threads to the recorded ones.
pub struct Additions {
    instance: Instance,
}

impl Additions {
    /// Follows further threads. One that has ended meanwhile is harmless.
    pub fn add(&self, tids: &[i32]) {
        let _ = self.instance.add_event_pids(tids);
    }
}

/// CPUs whose idle task is switched to and, according to the trace, never from.
fn mute_cpus(instance: &Instance, reader: &EventReader, pages: &mut [(u32, RawPages)]) -> Result<Vec<u32>, TraceError> {
    instance.set_event_filter("sched", "sched_switch", "prev_pid == 0 || next_pid == 0")?;
    instance.enable_event("sched", "sched_switch")?;
    instance.set_tracing_on(true)?;
    std::thread::sleep(TRIAL);
    instance.set_tracing_on(false)?;
    instance.disable_event("sched", "sched_switch")?;
    instance.set_event_filter("sched", "sched_switch", "0")?;
    let (mut bytes, mut mute) = (Vec::new(), Vec::new());
    for (cpu, pages) in pages {
        let mut events = Vec::new();
        bytes.clear();
        pages.drain_into(&mut bytes, ROUND_BYTES_MAX)?;
        reader.read(*cpu, &bytes, &mut events);
        let (mut into, mut from) = (0, 0);
        for event in events {
            if let ThreadEvent::Switch { prev, next, .. } = event.event {
                into += u32::from(next == 0);
                from += u32::from(prev == 0);
            }
        }
        if into >= TRIAL_ENTRIES_MIN && from == 0 {
            mute.push(*cpu);
        }
    }
    instance.clear()?;
    Ok(mute)
}

struct Reading {
    follower: Follower,
    followed: Arc<Mutex<Followed>>,
    announcer: Option<Announcer>,
    /// Events that may have a matching one on another CPU that is still to be read.
    waiting: Vec<TimedEvent>,
    /// Of one CPU in one round.
    bytes: Vec<u8>,
    round_ns: i64,
    bell: Option<Bell>,
}

impl Reading {
    fn until(mut self, stop: &AtomicBool) {
        loop {
            let stopping = stop.load(Relaxed);
            // All events before this instant are read in this round, so everything up to it is in order.
            let horizon_ns = if stopping { i64::MAX } else { clock::monotonic_ns() };
            self.round(horizon_ns);
            if stopping {
                return;
            }
            clock::sleep_until_ns(horizon_ns + self.round_ns);
        }
    }

    fn round(&mut self, horizon_ns: i64) {
        for (cpu, pages) in &mut self.follower.pages {
            self.bytes.clear();
            // A failed read is a gap that the next pages report.
            let _ = pages.drain_into(&mut self.bytes, ROUND_BYTES_MAX);
            self.follower.reader.read(*cpu, &self.bytes, &mut self.waiting);
        }
        self.waiting.sort_by_key(|event| event.ts_ns);
        let ready = self.waiting.partition_point(|event| event.ts_ns <= horizon_ns);
        self.record_returns_if_needed();
        let mut announced = Vec::new();
        {
            let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            followed.wakeups.realtime_offset_ns = clock::realtime_ns() - clock::monotonic_ns();
            let (mut finished, missed) = (Vec::new(), followed.missed_chains.len());
            for event in self.waiting.drain(..ready) {
                followed.apply(&event, &mut finished);
                announced.extend(finished.drain(..).filter_map(|sample| followed.book(&sample).map(announced_of)));
            }
            followed.expire_chains(horizon_ns);
            if followed.missed_chains.len() > missed {
                self.bell.iter().for_each(Bell::ring);
            }
        }
        if let Some(announcer) = &mut self.announcer {
            announcer.announce(announced);
            announcer.until.advance(horizon_ns);
        }
    }
}

impl Reading {
    /// A CPU that never was idle during the trial may turn out mute. Switching an event on disturbs the machine once;
    /// losing every wake-up is worse.
    fn record_returns_if_needed(&mut self) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.wakeups.unseen >= UNSEEN_MAX && self.follower.mute_cpus.is_empty() {
            let _ = self.follower.instance.enable_event(RETURN.0, RETURN.1);
            followed.wakeups.returns_since_ns = clock::monotonic_ns();
            self.follower.mute_cpus = self.follower.instance.cpus();
        }
    }
}

impl Announcer {
    fn announce(&mut self, announced: Vec<Announced>) {
        let any = !announced.is_empty();
        for spike in announced {
            let _ = self.output.send(spike);
        }
        if let Some(marker) = self.marker.as_mut().filter(|_| any && !self.busy.swap(true, SeqCst)) {
            // A marker that cannot be written costs the snapshot, and the missing snapshot shows it.
            let _ = marker.write(MARKER);
        }
    }
}

/// A spike as the capturing thread hears of it.
pub fn announced_of(late: Late) -> Announced {
    let Late { thread, tid, kind, sample, reason, previous_seen_ns } = late;
    Announced { thread, tid, kind, signal: SpikeSignal { sample, reason, previous_seen_ns }, saved: None }
}

/// A filter that passes only timers that can end a sleep.
pub fn filter_of(functions: &TimerFunctions) -> String {
    if functions.by_name {
        return "function.function == hrtimer_wakeup".into();
    }
    let known = [functions.sleep, functions.timer_file, functions.posix_timer];
    let known = known.into_iter().filter(|address| *address != 0);
    known.map(|address| format!("function == {address:#x}")).collect::<Vec<_>>().join(" || ")
}

/// From the kernel's own symbol table; if the kernel hides its addresses, filters use names instead.
fn timer_functions() -> TimerFunctions {
    let mut functions = TimerFunctions::default();
    let symbols = File::open("/proc/kallsyms").map(BufReader::new);
    for line in symbols.into_iter().flat_map(|symbols| symbols.lines().map_while(Result::ok)) {
        let mut words = line.split_whitespace();
        let (Some(address), Some(name)) = (words.next(), words.nth(1)) else { continue };
        functions.learn(name, u64::from_str_radix(address, 16).unwrap_or(0));
    }
    functions.by_name = functions.sleep == 0;
    functions
}

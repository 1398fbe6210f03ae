//! A watch: wake-ups of somebody else's threads, measured from outside, with no change to their program.
//!
//! [`targets`] finds the threads, [`start`] holds a command back until everything is armed, [`follower`] reads what the
//! kernel says of them, [`hearing`] and [`wakeups`] make samples of it and [`series`] counts them. Spikes go to the same
//! capturing thread and recorder as those of a measurement; [`recording`] tells the recorder whom it is about, and
//! [`telling`] is the main thread meanwhile.

pub mod follower;
pub mod hearing;
pub mod pattern;
mod recording;
pub mod series;
pub mod start;
pub mod targets;
mod telling;
pub mod wakeups;

use crate::environment::{self, OwnPriority};
use crate::kernel::{clock, scheduling};
use crate::load_reports;
use crate::measure::cycle::Schedule;
use crate::run::collect::Clocks;
use crate::run::effective::effective;
use crate::run::machine::Machine;
use crate::run::plan::Plan;
use crate::run::watch::Stopped;
use crate::run::{Failure, Lines};
use crate::trace::capture::Announcements;
use crate::trace::capturing::Capturing;
use crate::trace::maxima::Lateness;
use crate::trace::mount;
use crate::trace::recorder::{Armed, failed};
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::settings::RunSettings;
use archive::watched::WatchSettings;
use follower::{Additions, Bell, Followed, Follower};
use load::RunningLoads;
use pattern::Pattern;
use series::Terms;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use targets::Found;
use telling::Telling;
use wakeups::Wakeups;

/// Time between arming and the first counted instant.
const LEAD_NS: i64 = 5_000_000;

/// Everything that works while threads are watched.
struct Watching {
    followed: Arc<Mutex<Followed>>,
    following: Option<JoinHandle<()>>,
    additions: Additions,
    capturing: Option<Capturing>,
    /// Instances of the recorder, to be told of new threads.
    recording: recording::Recording,
    stop: Arc<AtomicBool>,
    count_from_ns: i64,
    end_ns: i64,
}

/// What a watch takes over from the run that prepared it.
pub(crate) struct Prepared {
    pub plan: Plan,
    pub recorder: Option<Armed>,
    pub loads: RunningLoads,
    pub clocks: Clocks,
}

/// Watches to the end. The machine is prepared; whatever happens, a command of ours does not outlive this.
///
/// # Errors
/// Nobody to watch, or a kernel that does not tell.
pub(crate) fn run<W: Write>(
    settings: &RunSettings,
    request: &WatchSettings,
    prepared: Prepared,
    lines: &mut Lines<W>,
    machine: &mut Machine,
) -> Result<Ending, Failure> {
    let mut request = request.clone();
    let mut started = None;
    if request.pid.is_none() && request.comm.is_none() && !request.command.is_empty() {
        let child = start::spawn(&request.command)
            .map_err(|error| Failure::new(format!("failed to start {}: {error}", request.command.join(" ")), ""))?;
        (request.pid, request.ours) = (Some(child.id() as i32), true);
        started = Some(child);
    }
    let ours = request.pid.filter(|_| request.ours);
    let ended = watch(settings, &request, prepared, lines, machine);
    if let Some(pid) = ours.filter(|pid| targets::state_of(*pid).is_some()) {
        start::terminate(pid);
    }
    if let Some(how) = started.and_then(start::ending) {
        lines.link.problem(Severity::Notice, how, "");
    }
    ended
}

fn watch<W: Write>(
    settings: &RunSettings,
    request: &WatchSettings,
    prepared: Prepared,
    lines: &mut Lines<W>,
    machine: &mut Machine,
) -> Result<Ending, Failure> {
    let pattern =
        request.comm.as_deref().map(Pattern::new).transpose().map_err(|why| Failure::new(why, "check --comm"))?;
    let threads = find(request, pattern.as_ref())?;
    let Prepared { plan, mut recorder, mut loads, clocks } = prepared;
    let tracefs = mount::find_or_mount().map_err(|error| blind(&failed(error)))?;
    let journal = machine.journal().ok_or_else(|| Failure::new("there is no journal", "please report this"))?;
    let follower = Follower::arm(&tracefs, journal).map_err(|why| blind(&why))?;
    let count_from_ns = clock::monotonic_ns() + LEAD_NS;
    let duration_ns = settings.duration_ns.map(|ns| ns.min(i64::MAX as u64) as i64);
    let end_ns = duration_ns.map_or(i64::MAX, |ns| count_from_ns.saturating_add(ns));

    let mut wakeups = Wakeups::new(pattern, follower.functions);
    threads.iter().for_each(|found| wakeups.add(found.tid, found.name.as_bytes()));
    let terms = Terms {
        count_from_ns,
        limit_ns: settings.limit_ns.unwrap_or(i64::MAX),
        cycle_limit_ns: request.cycle_limit_ns.unwrap_or(i64::MAX),
        spike_threshold_ns: settings.trace.threshold_ns,
        rest_ns: settings.trace.rest_ns as i64,
        worst_kept: settings.worst_kept as usize,
        every_sample: settings.every_sample,
    };
    let followed = Arc::new(Mutex::new(Followed::new(wakeups, terms, end_ns)));
    let tids: Vec<i32> = threads.iter().map(|found| found.tid).collect();
    let cpus = housekeeping(&plan, &tids);
    let lateness =
        Lateness { from_ns: count_from_ns, threshold_ns: settings.trace.threshold_ns, ..Lateness::default() };
    let recording = recording::Recording::of(recorder.as_mut(), &follower.functions, &tids, lateness, journal)
        .map_err(|why| blind(&why))?;
    let (capturing, bell) = start_capturing(settings, recorder, &cpus, count_from_ns, end_ns)?;

    let mute_cpus = follower.mute_cpus.clone();
    let additions = follower.begin(&tids).map_err(|why| blind(&why))?;
    if let Err(why) = recording.begin(follower.instance()) {
        let text = format!("the kernel does not find maxima by itself, so spikes are copied some ms later: {why}");
        lines.link.problem(Severity::Notice, text, "--trace trigger says so beforehand");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (following, follower_tid) = follower
        .spawn(followed.clone(), bell, cpus.clone(), stop.clone())
        .map_err(|error| Failure::new(format!("failed to start the following thread: {error}"), "free some threads"))?;
    let _ = scheduling::bind(&cpus);
    let mut watching =
        Watching { followed, following: Some(following), additions, capturing, recording, stop, count_from_ns, end_ns };
    announce(settings, machine, &watching, follower_tid, lines);
    say_mute(&mute_cpus, lines);

    clock::sleep_until_ns(count_from_ns);
    lines.link.send(&Message::Phase { phase: RunPhase::Measure, monotonic_ns: count_from_ns });
    if let Some(pid) = request.pid.filter(|_| request.ours) {
        start::release(pid);
    }
    let mut telling = Telling::new(settings, request, &mut loads, watching.count_from_ns, threads);
    let stopped = telling.until_done(&mut watching, lines);
    let ended_ns = match stopped {
        Stopped::AsPlanned => watching.end_ns.min(clock::monotonic_ns()),
        _ => clock::monotonic_ns(),
    };
    lines.link.send(&Message::Phase { phase: RunPhase::Collect, monotonic_ns: ended_ns });
    telling.collect(&mut watching, &mut lines.link);
    let mut complained = telling.into_complained();
    load_reports::send(loads.stop(), &mut complained, &mut lines.link);
    for problem in clocks.changes_until(Clocks::now()) {
        lines.link.send(&Message::Problem(problem));
    }
    Ok(match stopped {
        Stopped::AsPlanned | Stopped::Overdue => Ending::Complete,
        Stopped::Asked => Ending::Stopped,
        Stopped::LinkLost => Ending::LinkLost,
    })
}

/// A quirk that the figures depend on.
fn say_mute<W: Write>(mute_cpus: &[u32], lines: &mut Lines<W>) {
    if !mute_cpus.is_empty() {
        let text = format!(
            "this kernel does not record when the idle task of CPU {} gives way; a thread woken from idle there counts from \
             its return from the system call, some microseconds later, and its spikes have an untraced stretch",
            mute_cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
        );
        lines.link.problem(
            Severity::Notice,
            text,
            "reboot the machine if it was restored from a snapshot of its memory",
        );
    }
}

fn blind(why: &str) -> Failure {
    Failure::new(
        format!("threads of another program can only be watched by tracing: {why}"),
        "run as root on a kernel with CONFIG_FTRACE and CONFIG_EVENT_TRACING",
    )
}

/// The threads that are there at the beginning.
fn find(request: &WatchSettings, pattern: Option<&Pattern>) -> Result<Vec<Found>, Failure> {
    if let Some(pid) = request.pid {
        if request.ours {
            start::await_stop(pid).map_err(|why| Failure::new(why, "run the command by itself to see why"))?;
        }
        let threads = targets::threads_below(pid);
        let fix = "give the number of a running process; ps -e lists them";
        let none = || Failure::new(format!("there is no process {pid}"), fix);
        return if threads.is_empty() { Err(none()) } else { Ok(threads) };
    }
    let Some(pattern) = pattern else {
        return Err(Failure::new("nobody to watch was named", "give --pid, --comm, or a command"));
    };
    let threads = targets::threads_called(pattern, std::process::id() as i32);
    if threads.is_empty() {
        let name = request.comm.as_deref().unwrap_or_default();
        return Err(Failure::new(
            format!("no thread is called {name}"),
            "ps -eLo pid,tid,comm lists the names of all threads; start the program first, or let tardy start it",
        ));
    }
    Ok(threads)
}

/// The tool keeps off CPUs that watched threads are bound to, where there are others.
fn housekeeping(plan: &Plan, tids: &[i32]) -> Vec<u32> {
    let bound: Vec<u32> = tids
        .iter()
        .filter_map(|tid| scheduling::allowed_cpus(*tid).ok())
        .filter(|cpus| plan.housekeeping.iter().any(|cpu| !cpus.contains(cpu)))
        .flatten()
        .collect();
    let free: Vec<u32> = plan.housekeeping.iter().copied().filter(|cpu| !bound.contains(cpu)).collect();
    if free.is_empty() { plan.housekeeping.clone() } else { free }
}

fn start_capturing(
    settings: &RunSettings,
    recorder: Option<Armed>,
    cpus: &[u32],
    count_from_ns: i64,
    end_ns: i64,
) -> Result<(Option<Capturing>, Option<Bell>), Failure> {
    let Some(armed) = recorder else { return Ok((None, None)) };
    let fail = |why: String| Failure::new(format!("the recorder did not start: {why}"), "use --trace off");
    let needs_marker = armed.recorder.needs_marker();
    let marker = if needs_marker { Some(armed.recorder.marker().map_err(fail)?) } else { None };
    let (output, spikes) = channel();
    let busy = Arc::new(AtomicBool::new(false));
    let heard_until_ns = Arc::new(AtomicI64::new(i64::MIN));
    let announcements = Announcements { spikes, busy: busy.clone(), heard_until_ns: heard_until_ns.clone() };
    let schedule = Arc::new(OnceLock::new());
    let capturing = Capturing::start_for(armed, settings.trace.clone(), announcements, cpus.to_vec(), schedule.clone())
        .map_err(fail)?;
    let _ = schedule.set(vec![Schedule {
        interval_ns: settings.interval_ns as i64,
        dither: None,
        first_due_ns: count_from_ns,
        count_from_ns,
        end_ns,
        cycles_max: u64::MAX,
        limit_ns: settings.limit_ns.unwrap_or(i64::MAX),
        spike_threshold_ns: settings.trace.threshold_ns,
        traced: true,
    }]);
    Ok((Some(capturing), Some(Bell { output, busy, heard_until_ns, marker })))
}

fn announce<W: Write>(
    settings: &RunSettings,
    machine: &Machine,
    watching: &Watching,
    follower_tid: i32,
    lines: &mut Lines<W>,
) {
    let capturing = watching.capturing.as_ref();
    let mut tool_tids = vec![scheduling::thread_id(), follower_tid];
    tool_tids.extend(rustix::process::getppid().map(|host| host.as_raw_nonzero().get()));
    tool_tids.extend(capturing.map(|capturing| capturing.tid));
    let own = OwnPriority { priority: settings.priority, exclude_tids: tool_tids.clone() };
    lines.link.send(&Message::Environment(Box::new(environment::collect(Path::new("/"), &own))));
    lines.link.send(&Message::Effective(Box::new(effective(machine, capturing, tool_tids))));
    let faults = |event: &String| event.starts_with("exceptions:page_fault");
    if capturing.is_some_and(|capturing| capturing.events_absent.iter().any(faults)) {
        lines.link.problem(
            Severity::Notice,
            "this kernel has no events for page faults on this architecture: they are counted, but a single one cannot be blamed",
            "",
        );
    }
}

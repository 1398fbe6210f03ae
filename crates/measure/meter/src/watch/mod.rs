//! A watch: wake-ups of the threads of another, unmodified program, measured from outside.
//!
//! [`selection`] finds the threads, by name, process or [control group](membership), [`start`] holds a command back until everything is armed, [`follower`] reads the
//! kernel's events for them, and [`wakeups`] turns these into samples and counts them.
//! Spikes go to the same capturing thread and snapshotter as those of a measurement; [`recording`] passes the threads
//! to the snapshotter, [`housekeeping`] keeps the meter off their CPUs, and [`marks`] hears programs that ask for the last seconds. [`threads`] combines all of them into a source of samples for a [`crate::session`].

mod containers;
pub mod follower;
mod generations;
mod housekeeping;
mod kept;
mod log_reader;
mod marks;
mod membership;
mod process_looks;
mod recording;
mod selection;
pub mod start;
pub mod targets;
mod threads;

use crate::audit::AuditRecording;
use crate::gaps::Gaps;
use crate::interception::Intercepted;
use crate::journal::Journal;
use crate::kernel::bell::Bell;
use crate::kernel::trace_mount;
use crate::kernel::{clock, scheduling};
use crate::link::Link;
use crate::measure::start_instant::StartInstant;
use crate::problem::MeterProblem;
use crate::session::plan::Plan;
use crate::trace::announced_until::AnnouncedUntil;
use crate::trace::arming::Armed;
use crate::trace::capture::Announcements;
use crate::trace::capturing::{Capturing, Place, Spikes};
use crate::trace::maxima::Lateness;
use crate::trace::retention::stretches;
use crate::trace::stacks::StackSampling;
use archive::audit::{AuditSettings, AuditedThread};
use archive::message::Severity;
use archive::settings::RunSettings;
use archive::watched::WatchSettings;
use follower::{Announcer, Follower};
use housekeeping::Housekeeping;
use kept::KeptRecording;
use log_reader::LogReader;
use marks::Marks;
use recording::Recording;
use selection::Selection;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use targets::ThreadFound;
pub use threads::WatchedThreads;
use threads::{Beginning, Following, Saves};
use wakeups::chain_watch::ChainWatch;
use wakeups::followed::Followed;
use wakeups::series::Terms;
use wakeups::wakeups::Wakeups;

/// Time between arming and the first counted instant, where the kernel looks for maxima.
const LEAD_NS: i64 = 5_000_000;
/// Longest sleep of the capturing thread where each spike wakes it.
const SLEEP_UNTIL_RUNG: Duration = Duration::from_secs(1);

/// Arms everything that measures the threads of a request; they are not measured before the session starts. Also
/// returns the capturing thread, which is running.
///
/// # Errors
/// No thread to watch, or a kernel that cannot be traced.
pub fn assemble<'a, W: Write>(
    settings: &RunSettings,
    request: &'a WatchSettings,
    plan: &Plan,
    mut snapshotter: Option<Armed>,
    start: &Arc<StartInstant>,
    journal: &mut Journal,
    link: &mut Link<W>,
) -> Result<(WatchedThreads<'a>, Option<Capturing>), MeterProblem> {
    let mut selection = Selection::of(request)?;
    let threads = selection.first_threads(request.guard.is_some())?;
    let log = request.log.as_ref().map(|source| LogReader::start(source, &request.count)).transpose()?;
    let tracefs = trace_mount::find_or_mount().map_err(|error| MeterProblem::WatchNeedsTracing(error.into()))?;
    let mut follower = Follower::arm(&tracefs, journal).map_err(MeterProblem::WatchNeedsTracing)?;
    let marks = match snapshotter {
        Some(_) => Marks::arm(&tracefs, journal).map_err(MeterProblem::WatchNeedsTracing)?,
        None => None,
    };
    let soon_ns = clock::monotonic_ns() + LEAD_NS;
    let duration_ns = settings.duration_ns.map_or(i64::MAX, |ns| ns.min(i64::MAX as u64) as i64);

    let mut wakeups = Wakeups::new(selection.pattern().cloned(), follower.functions);
    wakeups.releaser = Some(scheduling::thread_id());
    threads.iter().for_each(|found| wakeups.add(found.tid, found.name.as_bytes()));
    let terms = Terms {
        count_from_ns: i64::MAX,
        end_ns: i64::MAX,
        limit_ns: settings.limit_ns.unwrap_or(i64::MAX),
        cycle_limit_ns: request.cycle_limit_ns.unwrap_or(i64::MAX),
        captures_outstanding: !request.count.is_empty() && settings.limit_ns.is_none(),
        spike_threshold_ns: settings.trace.threshold_ns,
        stretches: stretches(&settings.trace),
        rest_ns: settings.trace.rest_ns as i64,
        worst_kept: settings.worst_kept as usize,
        every_sample: settings.every_sample,
    };
    let mut followed = Followed::new(wakeups, terms);
    followed.chains = request.chains.iter().cloned().map(ChainWatch::new).collect::<Result<_, _>>()?;
    let followed = Arc::new(Mutex::new(followed));
    let tids: Vec<i32> = threads.iter().map(|found| found.tid).collect();
    let housekeeping = Housekeeping::beside(plan.housekeeping.clone(), &tids);
    let cpus = housekeeping.cpus().to_vec();
    let lateness = Lateness { from_ns: soon_ns, threshold_ns: settings.trace.threshold_ns, ..Lateness::default() };
    let traced = (&tids[..], &request.chain_events[..]);
    let mut recording = Recording::of(snapshotter.as_mut(), &follower.functions, traced, lateness, journal)
        .map_err(MeterProblem::WatchNeedsTracing)?;
    if let Some(name) = request.guard.as_ref().and_then(|guard| guard.kept_instance.as_deref()) {
        match KeptRecording::begin(&tracefs, name, &follower.functions, journal) {
            Ok(kept) => recording.kept = kept,
            Err(problem) => link.problem(Severity::Notice, &problem),
        }
    }
    let count_from_ns = Some(soon_ns).filter(|_| recording.finds_maxima() && !request.ours);
    let beginning = Beginning { count_from_ns, duration_ns, start: start.clone() };
    if let Some(count_from_ns) = count_from_ns {
        followed.lock().unwrap_or_else(PoisonError::into_inner).count_in(beginning.due(count_from_ns));
    }
    let round_ns = request.guard.as_ref().map_or(follower::ROUND_NS, |guard| guard.round_ns);
    let stacks = request.stacks.then(Arc::<StackSampling>::default);
    if let Some(stacks) = &stacks {
        stacks.add(threads.iter().map(|found| (found.tid, found.pid)));
    }
    let round = Duration::from_nanos(round_ns);
    let bell = request.guard.is_some().then(Bell::new).transpose().map_err(MeterProblem::Thread)?;
    let pace = Pace { round, bell: bell.clone() };
    let (capturing, announcer) = start_capturing(settings, snapshotter, &cpus, start.clone(), (pace, stacks.clone()))?;
    let saves = announcer.as_ref().map(|announcer| Saves {
        output: announcer.output.clone(),
        doorbell: capturing.as_ref().and_then(Capturing::doorbell),
    });

    let additions = follower.begin(&tids).map_err(MeterProblem::WatchNeedsTracing)?;
    let mute_cpus = follower.mute_cpus.clone();
    if let Err(error) = recording.begin(follower.instance()) {
        link.problem(Severity::Notice, &MeterProblem::MaximaNotFound(error));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (handle, tid) = follower
        .spawn(followed.clone(), announcer, cpus.clone(), (stop.clone(), round_ns, bell.clone()))
        .map_err(MeterProblem::Thread)?;
    let _ = scheduling::bind(&cpus);
    report_mute(&mute_cpus, link);
    report_faults(capturing.as_ref(), link);
    let following =
        Following { handle, tid, followed, stop, additions, recording, saves, marks, stacks, bell, housekeeping };
    Ok((WatchedThreads::new(request, selection, beginning, following, threads, log), capturing))
}

/// Arms the recording of what the threads of a request ask of the kernel; the session starts it.
///
/// # Errors
/// A kernel that cannot be traced, or a wrong pattern.
pub fn arm_audit(
    settings: &AuditSettings,
    duration_ns: Option<u64>,
    request: &WatchSettings,
    journal: &mut Journal,
) -> Result<AuditRecording, MeterProblem> {
    let mut selection = Selection::of(request)?;
    let threads = move || {
        let audited = |found: ThreadFound| AuditedThread {
            tid: found.tid,
            pid: found.pid,
            name: found.name,
            ..AuditedThread::default()
        };
        selection.threads().into_iter().map(audited).collect()
    };
    let tracefs = trace_mount::find_or_mount().map_err(|error| MeterProblem::AuditNeedsTracing(error.into()))?;
    let memory = settings.interception.as_ref().map(|memory| Intercepted::open(Path::new(memory)));
    let intercepted = memory.transpose().map_err(MeterProblem::NotIntercepted)?;
    AuditRecording::arm(&tracefs, settings, duration_ns, Box::new(threads), intercepted, journal)
        .map_err(MeterProblem::AuditNeedsTracing)
}

/// Reports a property of the machine that affects the figures.
fn report_mute<W: Write>(mute_cpus: &[u32], link: &mut Link<W>) {
    if !mute_cpus.is_empty() {
        let cpus = mute_cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ");
        link.problem(Severity::Notice, &MeterProblem::IdleUnrecorded { cpus });
    }
}

/// When the capturing thread looks for spikes.
struct Pace {
    /// Of the follower.
    round: Duration,
    bell: Option<Bell>,
}

fn start_capturing(
    settings: &RunSettings,
    snapshotter: Option<Armed>,
    cpus: &[u32],
    start: Arc<StartInstant>,
    (Pace { round, bell }, stacks): (Pace, Option<Arc<StackSampling>>),
) -> Result<(Option<Capturing>, Option<Announcer>), MeterProblem> {
    let Some(armed) = snapshotter else { return Ok((None, None)) };
    let needs_marker = armed.snapshotter.needs_marker();
    let marker =
        if needs_marker { Some(armed.snapshotter.marker().map_err(MeterProblem::NoSnapshotter)?) } else { None };
    let (output, spikes) = channel();
    let busy = Arc::new(AtomicBool::new(false));
    let until = Arc::new(AnnouncedUntil::default());
    // The markers of the other modes do not wake it at once.
    let is_woken = bell.is_some() && armed.snapshotter.has_doorbell();
    let sleep = if is_woken { SLEEP_UNTIL_RUNG } else { round };
    let announcements = Announcements { spikes, busy: busy.clone(), until: until.clone(), sleep, bell, stacks };
    let place = Place { cpus: cpus.to_vec(), gaps: Gaps::default() };
    let capturing = Capturing::start(armed, settings.trace.clone(), Spikes::Announced(announcements), place, start)
        .map_err(MeterProblem::NoSnapshotter)?;
    Ok((Some(capturing), Some(Announcer { output, busy, until, marker })))
}

fn report_faults<W: Write>(capturing: Option<&Capturing>, link: &mut Link<W>) {
    let faults = |event: &String| event.starts_with("exceptions:page_fault");
    if capturing.is_some_and(|capturing| capturing.events_absent.iter().any(faults)) {
        link.problem(Severity::Notice, &MeterProblem::NoFaultEvents);
    }
}

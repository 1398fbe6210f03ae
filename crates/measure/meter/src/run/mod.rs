//! One run on this machine, from the settings line to the last message.
//!
//! The phases are functions in order of execution. If any of them fails, the machine is restored and the host gets the
//! problem and its fix.

mod capture_setup;
mod machine;

use crate::block_path::BlockPathRecording;
use crate::journal::{Header, Journal, journal_directory, restore};
use crate::kernel::scheduling::{self, ProcessCpus};
use crate::kernel::{clock, signals};
use crate::kernel_tracer::setup;
use crate::kernel_tracer::tracing::KernelTracing;
use crate::link::{Lines, Link};
use crate::measure::start_instant::StartInstant;
use crate::methods::{self, MeasuringMethod, OtherMethods, RunContext};
use crate::problem::MeterProblem;
use crate::session::clocks::Clocks;
use crate::session::own_threads::OwnThreads;
use crate::session::plan::{Plan, isolated_unmeasured};
use crate::session::source::SampleSource;
use crate::session::{HeldSettings, LoadStart, Loads, Session, SessionResources};
use crate::trace::arming::Armed;
use crate::trace::capturing::{Capturing, Place, Spikes};
use crate::watch;
use crate::watch::start::HeldCommand;
use archive::load::cpu_list;
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::settings::{RunSettings, SnapshotMode};
use archive::watched::WatchSettings;
use load::RunningLoads;
use machine::Machine;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;

/// Longest settings line that is accepted.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// Runs `tardy-meter measure` on standard input and output, with the meter's own methods and `others`. Returns the exit code: 0
/// measured, 2 no usable settings, 3 could not measure.
pub fn measure(others: OtherMethods) -> i32 {
    let control = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => File::from(descriptor),
        Err(error) => return complain(&format!("failed to take standard input: {error}")),
    };
    let settings = match read_settings(&control) {
        Ok(settings) => settings,
        Err(error) => return complain(&error.to_string()),
    };
    let signals = match signals::block_and_receive() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("failed to watch signals: {error}")),
    };
    let lines = Lines { link: Link::new(io::stdout()), control, signals, bell: None };
    let measured = run_stages(lines, |lines, machine| stages(&settings, others, lines, machine));
    // The machine is restored and the host informed: now the panic ends the process as usual.
    match measured.unwrap_or_else(|panic| resume_unwind(panic)) {
        Ending::Complete | Ending::Stopped => 0,
        Ending::LinkLost | Ending::Failed => 3,
    }
}

fn complain(why: &str) -> i32 {
    eprintln!("tardy-meter: {why}");
    2
}

/// Why there are no usable settings.
#[derive(Debug, thiserror::Error)]
enum SettingsError {
    #[error("the settings line is longer than 1 MiB")]
    TooLong,
    #[error("failed to read the settings line: {0}")]
    Read(#[from] io::Error),
    #[error("no settings line on standard input; `tardy run` starts this program, or send one line of JSON")]
    Missing,
    #[error("failed to understand the settings line: {0}")]
    Json(#[from] serde_json::Error),
}

/// Reads the settings line byte by byte: the bytes after it belong to the control line.
fn read_settings(mut input: &File) -> Result<RunSettings, SettingsError> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => break,
            Ok(1) if line.len() < SETTINGS_BYTES_MAX => line.push(byte[0]),
            Ok(1) => return Err(SettingsError::TooLong),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if line.is_empty() {
        return Err(SettingsError::Missing);
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Hello, the stages of a run, and the steps that follow in any case: the machine is restored and the ending is sent to
/// the host.
///
/// # Errors
/// The payload of a panic in a stage.
fn run_stages<W: Write>(
    mut lines: Lines<W>,
    stages: impl FnOnce(&mut Lines<W>, &mut Machine) -> Result<Ending, MeterProblem>,
) -> std::thread::Result<Ending> {
    hello(&mut lines.link);
    lines.phase(RunPhase::Check);
    let mut machine = Machine::default();
    let staged = catch_unwind(AssertUnwindSafe(|| stages(&mut lines, &mut machine)));
    let (ended, panic) = match staged {
        Ok(ended) => (ended, None),
        Err(panic) => (Err(MeterProblem::Panicked), Some(panic)),
    };
    let ending = ended.unwrap_or_else(|problem| {
        lines.link.problem(Severity::Invalid, &problem);
        Ending::Failed
    });
    lines.phase(RunPhase::Restore);
    let mut slow = |what: String| lines.link.problem(Severity::Notice, &MeterProblem::SlowRestore { what });
    for left in machine.restore(&mut slow) {
        lines.link.problem(Severity::Degraded, &MeterProblem::NotRestored(left));
    }
    lines.link.send(&Message::End { ending, monotonic_ns: clock::monotonic_ns() });
    panic.map_or(Ok(ending), Err)
}

fn hello<W: Write>(link: &mut Link<W>) {
    link.send(&Message::Hello {
        stream_version: archive::STREAM_VERSION,
        meter_version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id() as i32,
        boot_id: Header::of_this_process().boot_id,
        realtime_ns: clock::realtime_ns(),
        monotonic_ns: clock::monotonic_ns(),
    });
}

/// Results of the stages before the measurement.
struct Prepared {
    plan: Plan,
    snapshotter: Option<Armed>,
    tracers: Option<setup::Armed>,
    loads: Loads,
    clocks: Clocks,
    settings: HeldSettings,
}

fn stages<W: Write>(
    settings: &RunSettings,
    others: OtherMethods,
    lines: &mut Lines<W>,
    machine: &mut Machine,
) -> Result<Ending, MeterProblem> {
    let cpus = ProcessCpus::read().map_err(MeterProblem::AllowedCpus)?;
    let plan = Plan::of(settings, &cpus)?;
    load::check(&settings.loads)?;
    let isolated = std::fs::read_to_string("/sys/devices/system/cpu/isolated").ok();
    let isolated = isolated.and_then(|text| cpu_list(text.trim())).unwrap_or_default();
    if let Some(cpus) = isolated_unmeasured(settings, &cpus, &isolated) {
        lines.link.problem(Severity::Notice, &MeterProblem::IsolatedUnmeasured { cpus });
    }
    let journals = journal_directory();
    repair(&mut lines.link, &journals);
    let method = methods::method(&settings.method, others)?;
    if settings.watch.is_none() && !settings.degrade {
        methods::check(&*method, settings)?;
    }

    lines.phase(RunPhase::Prepare);
    let journal = Journal::begin(&journals, &Header::of_this_process()).map_err(MeterProblem::Journal)?.announced();
    let journal = machine.keep(journal);
    machine::change_settings(settings, journal)?;
    let tracers = capture_setup::prepare_tracers(settings, &plan, journal, &mut lines.link)?;
    let snapshotter = capture_setup::prepare(settings, &*method, &plan, journal, &mut lines.link)?;
    machine.hold_power_request(settings, &mut lines.link)?;

    lines.phase(RunPhase::Load);
    // The loads and what else runs here are ordinary tasks: this thread must not wait in their queue, neither now nor
    // when it drains the record. Loads set their own policy.
    let _ = scheduling::set_nice(-10);
    // Before memory is locked: children do not inherit locks, but they start faster.
    let running = RunningLoads::prepare(&settings.loads)?;
    let start = match settings.watch {
        // What is watched is counted from the moment it is found on.
        Some(_) => LoadStart::Now,
        None if settings.dither_seed.is_some() => LoadStart::WithSource,
        None => LoadStart::OnceReady,
    };
    let mut loads = Loads { running, start };
    if loads.start == LoadStart::Now {
        loads.running.start_at(clock::monotonic_ns());
    }
    lines.link.still_alive();
    machine::lock_memory(settings, &mut lines.link)?;
    lines.link.still_alive();
    let held = HeldSettings::new(machine.settings());
    let prepared = Prepared { plan, snapshotter, tracers, loads, clocks: Clocks::now(), settings: held };
    match &settings.watch {
        Some(request) => watch_threads(settings, request.clone(), prepared, lines, machine),
        None => measure_threads(settings, &*method, prepared, lines, machine),
    }
}

/// Measures with the meter's own threads.
fn measure_threads<W: Write>(
    settings: &RunSettings,
    method: &dyn MeasuringMethod,
    prepared: Prepared,
    lines: &mut Lines<W>,
    machine: &mut Machine,
) -> Result<Ending, MeterProblem> {
    let Prepared { plan, snapshotter, tracers, loads, clocks, settings: held } = prepared;
    let start = Arc::new(StartInstant::default());
    let allowed = scheduling::allowed_cpus(0).map_err(MeterProblem::AllowedCpus)?;
    let context = RunContext { settings, measured: &plan.measured, allowed: &allowed };
    let setups = methods::open(method, &context, machine.journal().ok_or(MeterProblem::NoJournal)?)?;
    // Threads that wait for a start that does not come keep their markers open, and so their instances in use.
    let source = OwnThreads::assemble(settings, &plan, setups, snapshotter.as_ref(), &start, &mut lines.link)
        .inspect_err(|_| start.cancel())?;
    let capturing = snapshotter.map(|armed| {
        let place = Place { cpus: plan.housekeeping.clone(), gaps: source.gaps() };
        let spikes = Spikes::Signalled(source.measured_threads());
        Capturing::start(armed, settings.trace.clone(), spikes, place, start.clone())
            .map_err(MeterProblem::NoSnapshotter)
    });
    let capturing = capturing.transpose()?;
    lines.link.still_alive();
    let tracing = read_tracers(tracers, &plan, &start)?;
    let cpu_dma_latency_us = machine.dma_latency_us();
    let block_path = match settings.records_requests() && settings.trace.mode != SnapshotMode::Off {
        true => record_requests(settings, &method.block_places(settings), &source, machine, &mut lines.link)?,
        false => None,
    };
    let resources = SessionResources {
        capturing,
        tracing,
        audit: None,
        block_path,
        loads,
        cpu_dma_latency_us,
        clocks,
        settings: held,
    };
    Session::new(settings, source, resources).run(lines)
}

/// Arms the recording of block requests; without it the latencies are measured all the same.
fn record_requests<W: Write>(
    settings: &RunSettings,
    places: &[PathBuf],
    source: &OwnThreads,
    machine: &mut Machine,
    link: &mut Link<W>,
) -> Result<Option<BlockPathRecording>, MeterProblem> {
    let journal = machine.journal().ok_or(MeterProblem::NoJournal)?;
    match BlockPathRecording::arm(settings, places, &source.threads(), source.program(), journal) {
        Ok(Some(armed)) => return Ok(Some(armed)),
        Ok(None) => link.problem(Severity::Notice, &MeterProblem::NoBlockDevice),
        Err(error) => link.problem(Severity::Degraded, &MeterProblem::RequestsNotRecorded(error)),
    }
    Ok(None)
}

/// Measures threads of another program. A command started by the meter does not outlive this.
fn watch_threads<W: Write>(
    settings: &RunSettings,
    mut request: WatchSettings,
    prepared: Prepared,
    lines: &mut Lines<W>,
    machine: &mut Machine,
) -> Result<Ending, MeterProblem> {
    let command = HeldCommand::of(&mut request)
        .map_err(|source| MeterProblem::Command { command: request.command.join(" "), source })?;
    let ended = watch_request(settings, &request, prepared, lines, machine);
    if let Some(status) = command.end() {
        lines.link.problem(Severity::Notice, &MeterProblem::CommandFailed { status });
    }
    ended
}

fn watch_request<W: Write>(
    settings: &RunSettings,
    request: &WatchSettings,
    prepared: Prepared,
    lines: &mut Lines<W>,
    machine: &mut Machine,
) -> Result<Ending, MeterProblem> {
    let Prepared { plan, snapshotter, tracers, loads, clocks, settings: held } = prepared;
    let cpu_dma_latency_us = machine.dma_latency_us();
    let journal = machine.journal().ok_or(MeterProblem::NoJournal)?;
    let start = Arc::new(StartInstant::default());
    let audit = settings
        .audit
        .as_ref()
        .map(|audit| watch::arm_audit(audit, settings.duration_ns, request, journal))
        .transpose()?;
    let (source, capturing) = watch::assemble(settings, request, &plan, snapshotter, &start, journal, &mut lines.link)?;
    let tracing = read_tracers(tracers, &plan, &start)?;
    let resources = SessionResources {
        capturing,
        tracing,
        audit,
        block_path: None,
        loads,
        cpu_dma_latency_us,
        clocks,
        settings: held,
    };
    Session::new(settings, source, resources).run(lines)
}

/// Starts the thread that reads the kernel's own tracers, if there are any.
fn read_tracers(
    armed: Option<setup::Armed>,
    plan: &Plan,
    start: &Arc<StartInstant>,
) -> Result<Option<KernelTracing>, MeterProblem> {
    let started = armed.map(|armed| KernelTracing::start(armed, plan.housekeeping.clone(), start.clone()));
    started.transpose().map_err(MeterProblem::TracersNotStarted)
}

/// Restores what an earlier, killed meter left changed.
fn repair<W: Write>(link: &mut Link<W>, journals: &std::path::Path) {
    for restored in restore::restore_all(journals, journals, restore::Leftovers::Keep) {
        match restored {
            restore::Restored::Undone { pid, done, failures, .. } => {
                if !done.is_empty() {
                    link.problem(Severity::Notice, &MeterProblem::Repaired { pid, done });
                }
                for failure in failures {
                    link.problem(Severity::Degraded, &MeterProblem::NotRepaired(failure));
                }
            }
            // The session reports other meters, including those that start later.
            restore::Restored::InUse { .. } => {}
            restore::Restored::Unreadable { path, why } => {
                link.problem(Severity::Notice, &MeterProblem::ForeignJournal { path, why });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::SettingRoots;
    use archive::frame::{Decoder, Item};

    #[test]
    fn a_defect_puts_the_machine_back_and_ends_the_stream_as_invalid() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        std::fs::write(&setting, "1").unwrap();
        let (control, _host) = std::io::pipe().unwrap();
        let (signals, _sender) = std::io::pipe().unwrap();
        let control = File::from(std::os::fd::OwnedFd::from(control));
        let mut output = Vec::new();
        let lines = Lines { link: Link::new(&mut output), control, signals: signals.into(), bell: None };
        let ended = run_stages(lines, |_, machine| {
            let (roots, journals) = (SettingRoots::below(root.path()), root.path().join("journal"));
            let journal = machine.keep(Journal::begin_for(roots, &journals, &Header::of_this_process()).unwrap());
            journal.change_setting(&setting, "2").unwrap();
            panic!("of the test");
        });
        assert!(ended.is_err());
        assert_eq!(std::fs::read_to_string(&setting).unwrap().trim(), "1");
        let messages: Vec<Message> = Decoder::default().push(&output).into_iter().filter_map(message).collect();
        assert!(matches!(messages.last(), Some(Message::End { ending: Ending::Failed, .. })), "{messages:?}");
        let invalid = |message: &Message| matches!(message, Message::Problem(problem) if problem.severity == Severity::Invalid && problem.text.contains("defect"));
        assert!(messages.iter().any(invalid), "{messages:?}");
    }

    fn message(item: Item) -> Option<Message> {
        if let Item::Message(message) = item { Some(message) } else { None }
    }
}

//! One run on this machine, from the settings line to the last message.
//!
//! The phases are functions in the order they happen. Whatever goes wrong in one of them, the machine is put back and the
//! host is told what and how to fix it.

pub(crate) mod capture_setup;
pub(crate) mod collect;
pub(crate) mod effective;
pub(crate) mod machine;
pub(crate) mod plan;
mod team;
pub(crate) mod watch;

use crate::journal::{Header, Journal, journal_directory, restore};
use crate::kernel::{clock, memory, scheduling, signals};
use crate::kernel_tracer::refusal::Refusal;
use crate::link::Link;
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::settings::RunSettings;
use load::{LoadError, RunningLoads};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

/// Longest settings line that is accepted.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// Why a run could not be made, with the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub text: String,
    pub fix: String,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { text: text.into(), fix: fix.into() }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { text: refusal.text, fix: refusal.fix }
    }
}

/// The host's end of the line, and our own.
pub(crate) struct Lines<W: Write> {
    pub link: Link<W>,
    pub control: File,
    pub signals: OwnedFd,
}

impl<W: Write> Lines<W> {
    fn phase(&mut self, phase: RunPhase) {
        self.link.send(&Message::Phase { phase, monotonic_ns: clock::monotonic_ns() });
    }
}

/// Runs `tardy-meter measure` on standard input and output. Answers the exit code: 0 measured, 2 no usable settings,
/// 3 could not measure.
pub fn measure() -> i32 {
    let control = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => File::from(descriptor),
        Err(error) => return complain(&format!("failed to take standard input: {error}")),
    };
    let settings = match read_settings(&control) {
        Ok(settings) => settings,
        Err(why) => return complain(&why),
    };
    let signals = match signals::block_and_watch() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("failed to watch signals: {error}")),
    };
    let lines = Lines { link: Link::new(io::stdout()), control, signals };
    match run(&settings, lines) {
        Ending::Complete | Ending::Stopped => 0,
        Ending::LinkLost | Ending::Failed => 3,
    }
}

fn complain(why: &str) -> i32 {
    eprintln!("tardy-meter: {why}");
    2
}

/// Reads the settings line byte by byte: what follows it belongs to the control line.
fn read_settings(mut input: &File) -> Result<RunSettings, String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => break,
            Ok(1) if line.len() < SETTINGS_BYTES_MAX => line.push(byte[0]),
            Ok(1) => return Err("the settings line is longer than 1 MiB".into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) => break,
            Err(error) => return Err(format!("failed to read the settings line: {error}")),
        }
    }
    if line.is_empty() {
        return Err(
            "no settings line on standard input; `tardy run` starts this program, or send one line of JSON".into()
        );
    }
    serde_json::from_slice(&line).map_err(|error| format!("failed to understand the settings line: {error}"))
}

fn run<W: Write>(settings: &RunSettings, mut lines: Lines<W>) -> Ending {
    hello(&mut lines.link);
    lines.phase(RunPhase::Check);
    let mut machine = machine::Machine::default();
    let ending = stages(settings, &mut lines, &mut machine).unwrap_or_else(|failure| {
        lines.link.problem(Severity::Invalid, failure.text, failure.fix);
        Ending::Failed
    });
    lines.phase(RunPhase::Restore);
    for left in machine.restore() {
        lines.link.problem(Severity::Degraded, format!("not put back: {left}"), "run `tardy restore` on this machine");
    }
    lines.link.send(&Message::End { ending, monotonic_ns: clock::monotonic_ns() });
    ending
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

fn stages<W: Write>(
    settings: &RunSettings,
    lines: &mut Lines<W>,
    machine: &mut machine::Machine,
) -> Result<Ending, Failure> {
    let allowed = scheduling::allowed_cpus(0)
        .map_err(|error| Failure::new(format!("failed to read the allowed CPUs: {error}"), ""))?;
    let plan = plan::Plan::of(settings, &allowed)?;
    load::check(&settings.loads).map_err(cannot_load)?;
    let journals = journal_directory();
    repair(&mut lines.link, &journals);

    lines.phase(RunPhase::Prepare);
    let journal = Journal::begin(&journals, &Header::of_this_process())
        .map_err(|error| Failure::new(error.to_string(), "set TARDY_STATE_DIR to a directory that can be written"))?;
    let journal = machine.keep(journal);
    machine::change_settings(settings, journal)?;
    let tracers = capture_setup::prepare_tracers(settings, &plan, journal, &mut lines.link)?;
    let recorder = capture_setup::prepare(settings, &plan, journal, &mut lines.link)?;
    machine.hold_power_request(settings, &mut lines.link)?;

    lines.phase(RunPhase::Load);
    let mut loads = prepare_loads(settings)?;
    let begins_with_schedule = settings.dither_seed.is_some() && settings.watch.is_none();
    if !begins_with_schedule {
        loads.begin_at(clock::monotonic_ns());
    }
    machine::lock_memory(settings, &mut lines.link);
    // The loads are ordinary tasks; the thread that drains the books must not wait in their queue.
    let _ = scheduling::set_nice(-10);
    let clocks = collect::Clocks::now();

    if let Some(request) = &settings.watch {
        let prepared = crate::watch::Prepared { plan, recorder, loads, clocks };
        return crate::watch::run(settings, request, prepared, lines, machine);
    }
    let mut team = team::Team::assemble(settings, &plan, recorder, &mut lines.link)?;
    team.start_tracers(&plan, tracers)?;
    team.announce(settings, machine, &mut lines.link);
    if begins_with_schedule {
        // With the first wake-up, so that all that happens in virtual time from then on begins at one instant.
        loads.begin_at(team.start_ns);
    }
    if settings.lock_memory {
        memory::lock_new_memory_when_touched();
    }
    lines.phase(RunPhase::Settle);
    let mut watch = watch::Watch::new(settings, loads);
    let stopped = watch.until_done(&mut team, lines);

    // A loaded machine may notice the end late; the measurement ended when it was due to.
    let ended_ns = if stopped == watch::Stopped::AsPlanned {
        team.end_ns.min(clock::monotonic_ns())
    } else {
        clock::monotonic_ns()
    };
    lines.link.send(&Message::Phase { phase: RunPhase::Collect, monotonic_ns: ended_ns });
    collect::collect(team, watch, clocks, stopped, &mut lines.link)
}

/// Loads start before memory is locked: what a child inherits is none of our locked pages, but starting is quicker.
fn prepare_loads(settings: &RunSettings) -> Result<RunningLoads, Failure> {
    RunningLoads::prepare(&settings.loads).map_err(cannot_load)
}

fn cannot_load(error: LoadError) -> Failure {
    let cause = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    Failure::new(format!("failed to {error}{cause}"), "name a load this machine can run, or use --load-cmd")
}

/// Puts back what an earlier, killed meter left.
fn repair<W: Write>(link: &mut Link<W>, journals: &std::path::Path) {
    for restored in restore::restore_all(journals) {
        match restored {
            restore::Restored::Undone { pid, done, failures, .. } => {
                if !done.is_empty() {
                    let text = format!("put back what the killed meter {pid} had changed: {}", done.join("; "));
                    link.problem(Severity::Notice, text, "");
                }
                for failure in failures {
                    link.problem(Severity::Degraded, failure, "run `tardy restore` and follow what it says");
                }
            }
            restore::Restored::InUse { pid } => link.problem(
                Severity::Degraded,
                format!("another measurement (process {pid}) runs on this machine; the two disturb each other"),
                "wait for it to end, or stop it",
            ),
            restore::Restored::Unreadable { path, why } => {
                link.problem(Severity::Notice, format!("{} is no journal: {why}", path.display()), "remove it");
            }
        }
    }
}

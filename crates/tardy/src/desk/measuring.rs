//! The run of a desk: a thread of real-time priority on every CPU, until the desk ends, with the trace of each late wake-up.

use super::Asked;
use super::archives::Own;
use super::state::Shared;
use crate::archives::new_below;
use crate::measuring::machine::reporting;
use crate::nothing_measured::with_fix;
use anyhow::Context;
use archive::manifest::RunState;
use archive::message::RunPhase;
use archive::settings::{RunSettings, TraceSettings};
use machines::KnownTarget;
use machines::stop::StopRequests;
use runner::event::Event;
use runner::run::{RunRequest, TimeLimits, run};
use server::desk::Stage;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const INTERVAL_NS: u64 = 1_000_000;
const BUFFER_KB_PER_CPU: u32 = 2048;
/// Traces on the disk; when they are full, a worse wake-up replaces the least one.
const TRACES_BYTES_MAX: u64 = 256 << 20;
/// Least time between two traces that are no new maxima: what it costs to store them is bounded.
const REST_NS: u64 = 250_000_000;
/// A real-time task may keep the meter from the CPU for a while.
const SILENCE: Duration = Duration::from_secs(120);

/// The running measurement.
pub struct Measuring {
    stop: StopRequests,
    thread: JoinHandle<Option<PathBuf>>,
}

impl Measuring {
    /// Ends it, restores the machine, and returns the archive.
    pub fn end(self) -> Option<PathBuf> {
        self.stop.request();
        self.thread.join().ok().flatten()
    }
}

/// Starts to measure, below the directory.
///
/// # Errors
/// If the archive or the thread cannot be made.
pub fn start(
    asked: &Asked,
    directory: &Path,
    meter: &Path,
    typed: Vec<String>,
    shared: &Arc<Shared>,
) -> anyhow::Result<Measuring> {
    let target = asked.target.clone();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (archive, id) = new_below(directory, since_1970.as_secs(), &target.host_name())?;
    shared.own(Own::mark(&archive, asked.keeps)?);
    let settings = settings(asked);
    let request = RunRequest {
        id,
        directory: archive,
        command: typed,
        tool_version: env!("CARGO_PKG_VERSION").into(),
        meter: meter.to_owned(),
        limits: TimeLimits::of(&settings, SILENCE),
        settings,
    };
    let stop = StopRequests::default();
    let (shared, stops) = (Arc::clone(shared), stop.clone());
    let measure = move || {
        let archive = request.directory.clone();
        let ended = measure(&target, &request, &stops, &shared);
        shared.set_stage(Stage::Ended(ended.err()));
        archive.is_dir().then_some(archive)
    };
    let thread =
        thread::Builder::new().name("tardy:measure".into()).spawn(measure).context("failed to start a thread")?;
    Ok(Measuring { stop, thread })
}

/// # Errors
/// The problem that ended it, with its fix.
fn measure(known: &KnownTarget, request: &RunRequest, stop: &StopRequests, shared: &Shared) -> Result<(), String> {
    let mut target = known.open(&request.meter, reporting(), stop.clone()).map_err(|error| error.to_string())?;
    let outcome = run(target.as_mut(), request, stop, &mut |event| match event {
        Event::Begun { directory, .. } => shared.begin(directory),
        Event::Phase(RunPhase::Measure) => shared.set_stage(Stage::Measuring),
        _ => {}
    });
    let outcome = outcome.map_err(|error| error.to_string())?;
    match outcome.problem.filter(|_| outcome.state == RunState::Failed) {
        Some(problem) => Err(with_fix(&problem)),
        None => Ok(()),
    }
}

fn settings(asked: &Asked) -> RunSettings {
    RunSettings {
        interval_ns: INTERVAL_NS,
        duration_ns: None,
        priority: asked.priority,
        limit_ns: Some(asked.limit_ns),
        worst_kept: 100,
        counters: false,
        trace: TraceSettings {
            buffer_kb_per_cpu: BUFFER_KB_PER_CPU,
            threshold_ns: asked.limit_ns,
            snapshots_max: u32::MAX,
            budget_bytes: TRACES_BYTES_MAX,
            controls: 0,
            rest_ns: REST_NS,
            ..TraceSettings::default()
        },
        ..RunSettings::default()
    }
}

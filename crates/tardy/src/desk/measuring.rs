//! The runs of a desk: a thread of real-time priority on every CPU, until the desk ends, with the trace of each late wake-up.

use super::Asked;
use super::sessions::{Session, SessionStop};
use super::state::Shared;
use crate::measuring::machine::reporting;
use crate::nothing_measured::with_fix;
use anyhow::Context;
use archive::manifest::RunState;
use archive::message::RunPhase;
use archive::settings::{RunSettings, TraceSettings};
use runner::event::Event;
use runner::run::{RunRequest, TimeLimits, run};
use server::desk::Stage;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const INTERVAL_NS: u64 = 1_000_000;
const BUFFER_KB_PER_CPU: u32 = 2048;
/// Traces on the disk; when they are full, a worse wake-up replaces the least one.
const TRACES_BYTES_MAX: u64 = 256 << 20;
/// Least time between two traces that are no new maxima: what it costs to store them is bounded.
const REST_NS: u64 = 250_000_000;
/// A real-time task may keep the meter from the CPU for a while.
const SILENCE: Duration = Duration::from_secs(120);
/// Time for the last traces of another machine whose measurement nobody keeps.
const LAST_TRACES: Duration = Duration::from_secs(10);
const END_NOTICED: Duration = Duration::from_millis(50);

/// The running measurement.
pub struct Measuring {
    stop: SessionStop,
    is_local: bool,
    thread: JoinHandle<Option<PathBuf>>,
}

impl Measuring {
    /// Ends it, restores the machine, and returns the archive of the last session. A machine behind a slow line has traces left to send,
    /// for which nobody waits who keeps nothing; a meter without its line restores its machine.
    pub fn end(self, keeps: bool) -> Option<PathBuf> {
        self.stop.request();
        let asked = Instant::now();
        while !keeps && !self.is_local && !self.thread.is_finished() {
            if asked.elapsed() >= LAST_TRACES {
                self.stop.request();
                break;
            }
            thread::sleep(END_NOTICED);
        }
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
    let (first, own) = Session::begin(asked, directory, shared)?;
    shared.own(own);
    let sessions = Sessions {
        asked: asked.clone(),
        directory: directory.to_owned(),
        meter: meter.to_owned(),
        typed,
        shared: Arc::clone(shared),
        stop: SessionStop::default(),
    };
    let stop = sessions.stop.clone();
    let thread = thread::Builder::new().name("tardy:measure".into());
    let thread = thread.spawn(move || sessions.measure_all(first)).context("failed to start a thread")?;
    Ok(Measuring { stop, is_local: asked.target.is_local(), thread })
}

/// The sessions of a desk, one after the other.
struct Sessions {
    asked: Asked,
    directory: PathBuf,
    meter: PathBuf,
    typed: Vec<String>,
    shared: Arc<Shared>,
    stop: SessionStop,
}

impl Sessions {
    /// Measures one session after the other until the desk ends; the archive of the last one.
    fn measure_all(&self, first: Session) -> Option<PathBuf> {
        let mut session = first;
        loop {
            let ended = self.measure(&mut session);
            let goes_on = ended.is_ok() && session.is_full() && !self.shared.is_over();
            let next = match (goes_on, ended) {
                (true, _) => Session::begin(&self.asked, &self.directory, &self.shared),
                (false, ended) => {
                    self.shared.set_stage(Stage::Ended(ended.err()));
                    break;
                }
            };
            match next {
                Ok((next, own)) => {
                    // The mark of the old archive stays until the desk has kept or removed it.
                    self.shared.end_session(std::mem::replace(&mut session, next).archive);
                    self.shared.own(own);
                }
                Err(error) => {
                    self.shared.set_stage(Stage::Ended(Some(format!("{error:#}"))));
                    break;
                }
            }
        }
        session.archive.is_dir().then_some(session.archive)
    }

    /// # Errors
    /// The problem that ended it, with its fix.
    fn measure(&self, session: &mut Session) -> Result<(), String> {
        let stop = self.stop.begin();
        if self.shared.is_over() {
            return Ok(());
        }
        let settings = settings(&self.asked);
        let request = RunRequest {
            id: session.id.clone(),
            directory: session.archive.clone(),
            command: self.typed.clone(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            meter: self.meter.clone(),
            limits: TimeLimits::of(&settings, SILENCE),
            settings,
        };
        let shared = &self.shared;
        let target = self.asked.target.open(&self.meter, reporting(), stop.clone());
        let mut target = target.map_err(|error| error.to_string())?;
        let outcome = run(target.as_mut(), &request, &stop, &mut |event| match event {
            Event::Begun { directory, .. } => shared.begin(directory),
            Event::Phase(RunPhase::Measure) => shared.set_stage(Stage::Measuring),
            Event::Progress { .. } if session.becomes_full() => stop.request(),
            _ => {}
        });
        let outcome = outcome.map_err(|error| error.to_string())?;
        match outcome.problem.filter(|_| outcome.state == RunState::Failed) {
            Some(problem) => Err(with_fix(&problem)),
            None => Ok(()),
        }
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

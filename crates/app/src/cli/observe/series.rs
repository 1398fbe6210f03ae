//! The rounds of a series: run after run, each into an archive, failed rounds again as a whole.

use super::journal::{AbsentLevel, Attempt, Journal, JournalState, LevelRun};
use crate::cli::run::{open_target, signals::Signals};
use crate::progress::Progress;
use crate::text::printable::printable;
use archive::reader::Run;
use archive::settings::{RunSettings, SnapshotMode};
use archive::summary::RunSummary;
use archive::tracer::TracerSettings;
use judge::coin::Coin;
use judge::figures::RunFigures;
use judge::observer::{Level, Round, observer_effect};
use runner::run::{RunRequest, TimeLimits};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many void rounds in a row end the series: the next would be void, too.
const VOIDS_MAX: usize = 3;
/// Functions fill a buffer ten to a hundred times as fast as events.
const FUNCTION_BUFFER_KB: u32 = 16384;
const PROBE_NS: u64 = 200_000_000;

/// A series of rounds in its directory.
pub struct Series {
    pub directory: PathBuf,
    pub journal: Journal,
}

/// What every run of a series needs.
struct Means<'a> {
    meter: &'a Path,
    signals: &'a Signals,
    silence: Duration,
    quiet: bool,
    json: bool,
}

impl Means<'_> {
    fn stopped(&self) -> bool {
        self.signals.requests().count() > 0
    }

    fn tell(&self, line: &str) {
        if !self.quiet && !self.json && io::stderr().is_terminal() {
            eprintln!("{}", printable(line));
        }
    }
}

impl Series {
    pub fn new(directory: PathBuf, journal: Journal) -> Self {
        Self { directory, journal }
    }

    /// Measures until the rounds are complete, somebody stops it, or nothing works.
    ///
    /// # Errors
    /// When there is not even an archive to be had, or the journal cannot be written.
    pub fn measure(
        &mut self,
        meter: &Path,
        signals: &Signals,
        silence: Duration,
        quiet: bool,
        json: bool,
    ) -> anyhow::Result<()> {
        let means = Means { meter, signals, silence, quiet, json };
        self.journal.state = JournalState::Running;
        self.journal.problem = None;
        for attempt in &mut self.journal.attempts {
            if attempt.void.is_none() && attempt.runs.len() < self.journal.levels.len() {
                attempt.void = Some("the series was cut off in it".into());
            }
        }
        self.probe(&means)?;
        let resumed_at = self.journal.attempts.len();
        while self.journal.state == JournalState::Running {
            let done = self.journal.complete().count() as u32;
            if done >= self.journal.rounds_asked {
                self.journal.state = JournalState::Complete;
                break;
            }
            let fresh = &self.journal.attempts[resumed_at..];
            let voids = fresh.iter().rev().take_while(|attempt| attempt.void.is_some()).count();
            if voids >= VOIDS_MAX {
                let why = fresh.last().and_then(|attempt| attempt.void.clone()).unwrap_or_default();
                self.journal.state = JournalState::Failed;
                self.journal.problem = Some(format!("{VOIDS_MAX} rounds in a row failed; the last one: {why}"));
                break;
            }
            self.round(&means, done)?;
            if means.stopped() {
                self.journal.state = JournalState::Interrupted;
            }
        }
        self.journal.result = self.result();
        self.journal.save(&self.directory)?;
        Ok(())
    }

    /// Finds out, once, which levels this target has, with a short run of each that is thrown away.
    fn probe(&mut self, means: &Means) -> anyhow::Result<()> {
        if self.journal.probed {
            return Ok(());
        }
        for level in self.journal.levels.clone() {
            if level == Level::Off || means.stopped() {
                continue;
            }
            means.tell(&format!("trying level {}", level.name()));
            let directory = self.directory.join(format!(".trying-{}", level.name()));
            let _ = fs::remove_dir_all(&directory);
            let settings = RunSettings {
                duration_ns: Some(PROBE_NS),
                cycles: None,
                settle_ns: 0,
                loads: Vec::new(),
                ..settings_of(&self.journal.settings, level)
            };
            let tried = self.run_once(means, level, settings, directory.clone());
            let _ = fs::remove_dir_all(&directory);
            if let Err(why) = tried? {
                let why = if level == Level::Functions { functions_absent(&why) } else { why };
                self.journal.levels.retain(|other| *other != level);
                self.journal.levels_absent.push(AbsentLevel { level, why });
            }
        }
        if means.stopped() {
            self.journal.state = JournalState::Interrupted;
        } else if self.journal.levels.len() < 2 {
            let reasons: Vec<String> =
                self.journal.levels_absent.iter().map(|gone| format!("{}: {}", gone.level.name(), gone.why)).collect();
            self.journal.state = JournalState::Failed;
            self.journal.problem = Some(format!("no level can be traced ({})", reasons.join("; ")));
        } else {
            self.journal.probed = true;
        }
        self.journal.save(&self.directory)?;
        Ok(())
    }

    fn round(&mut self, means: &Means, done: u32) -> anyhow::Result<()> {
        let number = self.journal.attempts.len() as u32 + 1;
        let mut order = self.journal.levels.clone();
        Coin::of_round(self.journal.seed, number).shuffle(&mut order);
        self.journal.attempts.push(Attempt { number, order: order.clone(), runs: Vec::new(), void: None });
        self.journal.save(&self.directory)?;
        for level in order {
            let archive = format!("{number:02}-{}", level.name());
            means.tell(&format!("round {} of {}: {}", done + 1, self.journal.rounds_asked, level.name()));
            let settings = settings_of(&self.journal.settings, level);
            let mut outcome = self.run_once(means, level, settings, self.directory.join(&archive))?;
            if means.stopped() {
                outcome = Err("stopped".into());
            }
            let attempt = self.journal.attempts.last_mut().expect("it was just pushed");
            attempt.runs.push(LevelRun { level, archive });
            attempt.void = outcome.err();
            let void = attempt.void.is_some();
            self.journal.save(&self.directory)?;
            if void {
                break;
            }
        }
        Ok(())
    }

    /// One run into an archive. The inner error says why it cannot be used.
    fn run_once(
        &mut self,
        means: &Means,
        level: Level,
        settings: RunSettings,
        directory: PathBuf,
    ) -> anyhow::Result<Result<(), String>> {
        let mut target = open_target(&self.journal.target, means.meter, means.signals)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let request = RunRequest {
            id: name,
            directory,
            command: self.journal.command.clone(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            meter: means.meter.to_owned(),
            limits: TimeLimits::of(&settings, means.silence),
            settings,
        };
        let mut progress = Progress::new(means.quiet, true, request.settings.duration_ns);
        let requests = means.signals.requests();
        let outcome = runner::run::run(target.as_mut(), &request, requests, &mut |event| progress.event(&event));
        progress.clear();
        let run = Run::open(&outcome?.directory)?;
        let summary = RunSummary::of(&run, &[]);
        self.journal.emulated |= summary.emulated;
        Ok(usable(&run, &summary, level))
    }

    fn result(&self) -> Option<judge::observer::ObserverEffect> {
        let round = |attempt: &Attempt| {
            let figures = |run: &LevelRun| RunFigures::of(&Run::open(self.directory.join(&run.archive)).ok()?);
            let runs = attempt.runs.iter().map(|run| Some((run.level, figures(run)?))).collect::<Option<_>>()?;
            Some(Round { runs })
        };
        let rounds: Vec<Round> = self.journal.complete().filter_map(round).collect();
        observer_effect(&rounds, &self.journal.levels, self.journal.confidence)
    }
}

fn settings_of(settings: &RunSettings, level: Level) -> RunSettings {
    let mut settings = settings.clone();
    match level {
        Level::Off => settings.trace.mode = SnapshotMode::Off,
        Level::Events => {}
        Level::Functions => {
            settings.trace.tracer = Some(TracerSettings { name: "function".into(), ..TracerSettings::default() });
            settings.trace.buffer_kb_per_cpu = settings.trace.buffer_kb_per_cpu.max(FUNCTION_BUFFER_KB);
        }
    }
    settings
}

/// Whether a run is sound and was taken at the level it stands for.
fn usable(run: &Run, summary: &RunSummary, level: Level) -> Result<(), String> {
    if !summary.valid {
        return Err(summary.invalid_because.join("; "));
    }
    let Some(effective) = &run.effective else { return Err("the meter did not say what it was granted".into()) };
    let traced = effective.snapshot_mode != SnapshotMode::Off;
    let functions = effective.tracer.as_deref() == Some("function");
    let reached = match level {
        Level::Off => !traced && !functions,
        Level::Events => traced && !functions,
        Level::Functions => traced && functions,
    };
    if reached {
        return Ok(());
    }
    let told: Vec<&str> = run.problems.iter().map(|problem| problem.text.as_str()).collect();
    let why = if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) };
    Err(format!("it recorded {} instead of {}{why}", effective.tracing(), level.name()))
}

/// Why the level `functions` is not to be had, with the name of the option where the kernel lacks the tracer.
fn functions_absent(why: &str) -> String {
    if why.contains("CONFIG_") { why.into() } else { format!("not on this kernel (CONFIG_FUNCTION_TRACER); {why}") }
}

//! The runs of a series: each level with its settings, and a check that a run was really made at its level.

use super::question::{AbsentLevel, Cost};
use crate::exit::UsageError;
use crate::measuring::machine::find;
use crate::measuring::rounds::{Attempt, Measurable, RoundsState, RunResult, StoredSeries, VariantRun};
use archive::problem::Remark;
use archive::reader::Run;
use archive::settings::{RunSettings, SnapshotMode};
use archive::summary::RunSummary;
use archive::tracer::TracerSettings;
use judge::figures::RunFigures;
use judge::observer::{Level, ObserverEffect, Round, observer_effect};
use machines::KnownTarget;
use std::fs;
use std::path::Path;

/// Functions fill a buffer ten to a hundred times as fast as events.
const FUNCTION_BUFFER_KB: u32 = 16384;
const PROBE_NS: u64 = 200_000_000;

type Observation = StoredSeries<Cost>;

impl Measurable for Cost {
    type Machines = KnownTarget;

    fn machines(&self) -> Result<KnownTarget, UsageError> {
        find(&self.target)
    }

    /// Determines once which levels are available on this target, with a short run of each that is discarded.
    fn prepare(series: &mut Observation) -> anyhow::Result<bool> {
        series.probe()
    }

    fn run(series: &mut Observation, variant: &str, archive: &str, round: u32) -> RunResult {
        let Some(level) = level_of(variant) else { return Ok(Err(format!("there is no level {variant}"))) };
        series.measuring.report(&format!("round {round} of {}: {variant}", series.journal.rounds.rounds_asked));
        let settings = settings_of(&series.journal.question.settings, level);
        let run = series.run_level(level, settings, &series.directory.join(archive))?;
        Ok(run.map_err(|unusable| unusable.to_string()))
    }

    fn answer(series: &Observation) -> Option<ObserverEffect> {
        let round = |attempt: &Attempt| {
            let figures = |run: &VariantRun| {
                let opened = Run::open(series.directory.join(&run.archive)).ok()?;
                Some((level_of(&run.variant)?, RunFigures::of(&opened)?))
            };
            Some(Round { runs: attempt.runs.iter().map(figures).collect::<Option<_>>()? })
        };
        let journal = &series.journal;
        let rounds: Vec<Round> = journal.rounds.complete().filter_map(round).collect();
        let levels: Vec<Level> = journal.rounds.variants.iter().filter_map(|name| level_of(name)).collect();
        observer_effect(&rounds, &levels, journal.confidence)
    }
}

impl Observation {
    /// Returns whether there is something to compare.
    fn probe(&mut self) -> anyhow::Result<bool> {
        if self.journal.question.probed {
            return Ok(true);
        }
        for variant in self.journal.rounds.variants.clone() {
            let Some(level) = level_of(&variant).filter(|level| *level != Level::Off) else { continue };
            if self.measuring.stopped() {
                break;
            }
            self.measuring.report(&format!("trying level {variant}"));
            let directory = self.directory.join(format!(".trying-{variant}"));
            let _ = fs::remove_dir_all(&directory);
            let settings = RunSettings {
                duration_ns: Some(PROBE_NS),
                cycles: None,
                settle_ns: 0,
                loads: Vec::new(),
                ..settings_of(&self.journal.question.settings, level)
            };
            let tried = self.run_level(level, settings, &directory);
            let _ = fs::remove_dir_all(&directory);
            if let Err(unusable) = tried? {
                let why = match (level, &unusable) {
                    (Level::Functions, Unusable::OtherLevel { .. }) => {
                        format!("not on this kernel (CONFIG_FUNCTION_TRACER); {unusable}")
                    }
                    _ => unusable.to_string(),
                };
                self.journal.rounds.variants.retain(|other| *other != variant);
                self.journal.question.levels_absent.push(AbsentLevel { level, why });
            }
        }
        let rounds = &mut self.journal.rounds;
        if self.measuring.stopped() {
            rounds.state = RoundsState::Interrupted;
        } else if rounds.variants.len() < 2 {
            let absent = self.journal.question.levels_absent.iter();
            let reasons: Vec<String> = absent.map(|gone| format!("{}: {}", gone.level.name(), gone.why)).collect();
            rounds.state = RoundsState::Failed;
            rounds.problem = Some(format!("no level can be traced ({})", reasons.join("; ")));
        } else {
            self.journal.question.probed = true;
        }
        self.journal.save(&self.directory)?;
        Ok(self.journal.question.probed)
    }

    fn run_level(
        &mut self,
        level: Level,
        settings: RunSettings,
        directory: &Path,
    ) -> anyhow::Result<Result<(), Unusable>> {
        let run = self.measuring.run(&self.machines, settings, directory)?;
        let summary = RunSummary::of(&run, &[]);
        self.journal.emulated |= summary.emulated;
        self.journal.virtual_time |= summary.virtual_time;
        Ok(usable(&run, &summary, level))
    }
}

fn level_of(variant: &str) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level.name() == variant)
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

/// Why a run is not valid for a level.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("{}", Remark::joined(.0))]
    Invalid(Vec<Remark>),
    #[error("the meter did not report its effective settings")]
    NoEffectiveSettings,
    #[error("it recorded {recorded} instead of {level}{problems}")]
    OtherLevel { recorded: String, level: &'static str, problems: String },
}

/// Checks that a run is sound and was made at its level.
fn usable(run: &Run, summary: &RunSummary, level: Level) -> Result<(), Unusable> {
    if !summary.valid {
        return Err(Unusable::Invalid(summary.invalid_because.clone()));
    }
    let Some(effective) = &run.effective else { return Err(Unusable::NoEffectiveSettings) };
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
    let problems: Vec<&str> = run.problems.iter().map(|problem| problem.text.as_str()).collect();
    let problems = if problems.is_empty() { String::new() } else { format!(" ({})", problems.join("; ")) };
    Err(Unusable::OtherLevel { recorded: effective.tracing(), level: level.name(), problems })
}

//! Decides how a run ended from what was seen of its end.

use super::limits::phase_title;
use archive::manifest::RunState;
use archive::message::{Ending, RunPhase};
use machines::Exit;
use std::time::Duration;

/// What was seen of the end of a run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The meter could not be started at all.
    pub start_failure: Option<String>,
    /// The meter speaks another version of the stream.
    pub foreign: Option<u32>,
    /// The meter's own last word.
    pub ending: Option<Ending>,
    /// `None` when it had to be left behind alive.
    pub exit: Option<Exit>,
    /// Its output was closed although it went on.
    pub cut: bool,
    /// The line is gone, and the run goes on without it or has ended there.
    pub left_behind: bool,
    /// The phase it was in at the end.
    pub phase: Option<RunPhase>,
    /// Requests to stop by a person or a signal.
    pub stop_requests: usize,
    /// Killed because stopping was asked for twice.
    pub killed_by_request: bool,
    /// A phase was stuck for this reason.
    pub stuck: Option<Stuck>,
    /// The archive could not be written.
    pub storage_failure: Option<String>,
    /// Text of the last problem that made the numbers unusable.
    pub invalid: Option<String>,
    /// Last lines of the meter's standard error.
    pub diagnostics: Vec<String>,
}

/// Why the watchdog gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stuck {
    Silent { limit: Duration },
    PhaseTooLong { limit: Duration },
}

impl Facts {
    /// Whether the meter ended without having put its settings back itself.
    pub fn left_unrestored(&self) -> bool {
        self.start_failure.is_none() && self.ending.is_none() && !self.killed_by_request && !self.left_behind
    }
}

/// State of the run, and the sentence that explains it when it is not complete.
pub fn state_of(facts: &Facts) -> (RunState, Option<String>) {
    if let Some(why) = &facts.start_failure {
        let state = if facts.stop_requests > 0 { RunState::Interrupted } else { RunState::Failed };
        return (state, Some(why.clone()));
    }
    if let Some(why) = &facts.storage_failure {
        return (RunState::Failed, Some(why.clone()));
    }
    if facts.left_behind {
        let why = "the line to the target was lost, and the run goes on there; `tardy collect` with this archive fetches \
                   the rest";
        return (RunState::Failed, Some(why.into()));
    }
    if let Some(version) = facts.foreign {
        let ours = archive::STREAM_VERSION;
        let why = format!(
            "the meter speaks stream version {version}, this tardy understands {ours}; use the tardy-meter that came with it"
        );
        return (RunState::Failed, Some(why));
    }
    if facts.killed_by_request {
        let why = "killed by a second request to stop; settings of the target may still be changed, `tardy restore` \
                   puts them back";
        return (RunState::Interrupted, Some(why.into()));
    }
    let phase = facts.phase.map_or("start", phase_title);
    if let Some(stuck) = facts.stuck {
        let why = match stuck {
            Stuck::Silent { limit } => {
                format!("the meter said nothing for {} s in phase {phase}", limit.as_secs_f64())
            }
            Stuck::PhaseTooLong { limit } => format!("phase {phase} took longer than {} s", limit.as_secs_f64()),
        };
        return (RunState::Failed, Some(with_last_words(why, &facts.diagnostics)));
    }
    match facts.ending {
        Some(Ending::Complete) => (RunState::Complete, None),
        Some(Ending::Stopped) if facts.stop_requests > 0 => (RunState::Interrupted, Some("stopped on request".into())),
        Some(Ending::Stopped) => (RunState::Interrupted, Some("the meter was stopped by a signal".into())),
        Some(Ending::LinkLost) => (RunState::Failed, Some("the meter lost the link to the host".into())),
        Some(Ending::Failed) => {
            let why = facts.invalid.clone();
            let why = why.unwrap_or_else(|| with_last_words("the meter could not measure".into(), &facts.diagnostics));
            (RunState::Failed, Some(why))
        }
        None if facts.exit == Some(Exit::Ended) => {
            (RunState::Interrupted, Some("stopped on request, before the totals arrived".into()))
        }
        None if facts.cut => {
            let why = format!("the line to the meter was cut in phase {phase}, and the meter had to be killed");
            (RunState::Failed, Some(why))
        }
        None => {
            let exit = facts.exit.map_or("still alive".into(), |exit| exit.to_string());
            let why = format!("the meter died in phase {phase} ({exit})");
            (RunState::Failed, Some(with_last_words(why, &facts.diagnostics)))
        }
    }
}

fn with_last_words(why: String, diagnostics: &[String]) -> String {
    let words: Vec<&str> = diagnostics.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let last = &words[words.len().saturating_sub(3)..];
    if last.is_empty() { why } else { format!("{why}; its last words: {}", last.join(" | ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(ending: Ending) -> Facts {
        Facts { ending: Some(ending), exit: Some(Exit::Code(0)), ..Facts::default() }
    }

    #[test]
    fn the_meters_word_decides() {
        assert_eq!(state_of(&ended(Ending::Complete)), (RunState::Complete, None));
        assert_eq!(state_of(&ended(Ending::Stopped)).0, RunState::Interrupted);
        assert_eq!(state_of(&ended(Ending::LinkLost)).0, RunState::Failed);
        let failed = Facts { invalid: Some("CPU 7 is offline".into()), ..ended(Ending::Failed) };
        assert_eq!(state_of(&failed), (RunState::Failed, Some("CPU 7 is offline".into())));
    }

    #[test]
    fn a_start_that_was_stopped_is_interrupted_and_one_that_failed_is_not() {
        let failed = Facts { start_failure: Some("no machine".into()), ..Facts::default() };
        assert_eq!(state_of(&failed).0, RunState::Failed);
        assert_eq!(state_of(&Facts { stop_requests: 1, ..failed }).0, RunState::Interrupted);
    }

    #[test]
    fn a_line_that_was_cut_is_no_death() {
        let facts =
            Facts { cut: true, exit: Some(Exit::Signal(9)), phase: Some(RunPhase::Measure), ..Facts::default() };
        let (state, why) = state_of(&facts);
        assert_eq!(state, RunState::Failed);
        assert!(why.is_some_and(|why| why.contains("cut in phase measure") && !why.contains("died")));
        assert_eq!(state_of(&Facts { cut: true, ..ended(Ending::Complete) }).0, RunState::Complete);
    }

    #[test]
    fn a_run_that_was_left_behind_is_to_be_fetched_and_not_repaired() {
        let facts = Facts { left_behind: true, ..Facts::default() };
        assert!(state_of(&facts).1.is_some_and(|why| why.contains("tardy collect")));
        assert!(!facts.left_unrestored());
    }

    #[test]
    fn a_full_disk_outweighs_a_complete_measurement() {
        let facts = Facts { storage_failure: Some("failed to write x: full".into()), ..ended(Ending::Complete) };
        assert_eq!(state_of(&facts).0, RunState::Failed);
    }

    #[test]
    fn a_death_names_phase_status_and_last_words() {
        let facts = Facts {
            exit: Some(Exit::Signal(11)),
            phase: Some(RunPhase::Measure),
            diagnostics: ["one", "two", "", "three", "four"].map(String::from).to_vec(),
            ..Facts::default()
        };
        let (state, why) = state_of(&facts);
        assert_eq!(state, RunState::Failed);
        let expected = "the meter died in phase measure (killed by signal 11); its last words: two | three | four";
        assert_eq!(why.as_deref(), Some(expected));
        assert!(facts.left_unrestored());
        assert!(!ended(Ending::Failed).left_unrestored());
    }
}

//! Determines how a run ended from what was observed.

use crate::problem::RunProblem;
use crate::roles::Others;
use crate::roles::problem::RoleProblem;
use archive::budget::Excess;
use archive::manifest::RunState;
use archive::message::{Ending, RunPhase};
use archive::problem::{Problem, Severity};
use archive::roles::{RoleFigures, RunRole};
use machines::Exit;
use std::time::Duration;

/// Observations at the end of a run.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The meter could not be started.
    pub start_failure: Option<Problem>,
    /// The meter uses another version of the stream.
    pub foreign: Option<u32>,
    /// Its first message came.
    pub greeted: bool,
    /// It sent more than the run may send, and was killed.
    pub excess: Option<Excess>,
    /// The ending that the meter reported.
    pub ending: Option<Ending>,
    /// `None` if it was still alive when the host gave up.
    pub exit: Option<Exit>,
    /// Its output was closed although it was still running.
    pub cut: bool,
    /// The connection is lost, and the run continues without it or has ended there.
    pub left_behind: bool,
    /// The last phase.
    pub phase: Option<RunPhase>,
    /// Requests to stop by the user or a signal.
    pub stop_requests: usize,
    /// Asked to end because of the runs of other machines.
    pub for_others: Option<Others>,
    /// Killed because of a second request to stop.
    pub killed_by_request: bool,
    /// A phase was stuck for this reason.
    pub stuck: Option<Stuck>,
    /// The archive could not be written.
    pub storage_failure: Option<String>,
    /// The last problem that made the figures unusable.
    pub invalid: Option<Problem>,
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
    /// Whether the meter ended without restoring its settings.
    pub fn left_unrestored(&self) -> bool {
        let ended = self.ending.is_some() && self.excess.is_none();
        self.start_failure.is_none() && !ended && !self.killed_by_request && !self.left_behind
    }

    /// Whether the meter ended without any external cause.
    fn is_the_meters_own(&self) -> bool {
        let outside = self.storage_failure.is_some() || self.left_behind || self.foreign.is_some();
        !outside && self.excess.is_none() && !self.killed_by_request && self.stuck.is_none()
    }
}

/// State of the run, with an explanation unless it is complete.
pub fn state_of(facts: &Facts) -> (RunState, Option<Problem>) {
    if let Some(problem) = &facts.start_failure {
        let state = if facts.stop_requests > 0 { RunState::Interrupted } else { RunState::Failed };
        return (state, Some(problem.clone()));
    }
    if let (Some(problem), Some(Ending::Failed)) = (&facts.invalid, facts.ending)
        && facts.is_the_meters_own()
    {
        return (RunState::Failed, Some(problem.clone()));
    }
    match explanation(facts) {
        None => (RunState::Complete, None),
        Some((RunState::Interrupted, kind)) => (RunState::Interrupted, Some(Problem::new(Severity::Notice, &kind))),
        Some((state, kind)) => (state, Some(Problem::new(Severity::Invalid, &kind))),
    }
}

/// Whether a run that is sound by itself is short because of another one.
pub fn early_end(
    facts: &Facts,
    state: RunState,
    others: &[RoleFigures],
    failure: Option<(RunRole, String, String)>,
) -> Option<RoleProblem> {
    if state != RunState::Complete {
        return None;
    }
    if let Some((role, target, why)) = failure {
        return Some(RoleProblem::EndedEarly { role, target, why: Some(why) });
    }
    let broken = others.iter().find(|other| other.state != RunState::Complete);
    let missing = others.first().filter(|_| facts.for_others == Some(Others::AreMissing));
    broken.or(missing).map(|other| RoleProblem::EndedEarly {
        role: other.role,
        target: other.target.clone(),
        why: other.ending.clone(),
    })
}

/// `None`: the run ended as requested.
fn explanation(facts: &Facts) -> Option<(RunState, RunProblem)> {
    let failed = |kind| Some((RunState::Failed, kind));
    let interrupted = |kind| Some((RunState::Interrupted, kind));
    if let Some(why) = &facts.storage_failure {
        return failed(RunProblem::NotWritten { why: why.clone() });
    }
    if let Some(excess) = facts.excess {
        return failed(RunProblem::TooMuch(excess));
    }
    if facts.left_behind {
        return failed(RunProblem::LeftBehind);
    }
    if let Some(version) = facts.foreign {
        return failed(RunProblem::NewerStream { version });
    }
    if facts.killed_by_request {
        return interrupted(RunProblem::Killed);
    }
    let (phase, last_words) = (facts.phase, facts.diagnostics.clone());
    match (facts.stuck, facts.ending) {
        (Some(Stuck::Silent { limit }), _) => failed(RunProblem::Silent { phase, limit, last_words }),
        (Some(Stuck::PhaseTooLong { limit }), _) => failed(RunProblem::PhaseTooLong { phase, limit, last_words }),
        (None, Some(Ending::Complete)) if !facts.greeted => failed(RunProblem::NoHello),
        (None, Some(Ending::Complete)) => None,
        (None, Some(Ending::Stopped)) if facts.for_others.is_some() && facts.stop_requests == 0 => None,
        (None, Some(Ending::Stopped)) if facts.stop_requests > 0 => interrupted(RunProblem::Stopped),
        (None, Some(Ending::Stopped)) => interrupted(RunProblem::StoppedBySignal),
        (None, Some(Ending::LinkLost)) => failed(RunProblem::LinkLost),
        (None, Some(Ending::Failed)) => failed(RunProblem::CouldNotMeasure { last_words }),
        (None, None) if facts.exit == Some(Exit::Ended) => interrupted(RunProblem::StoppedBeforeTotals),
        (None, None) if facts.cut => failed(RunProblem::LineCut { phase }),
        (None, None) => failed(RunProblem::MeterDied { phase, exit: facts.exit, last_words }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(ending: Ending) -> Facts {
        Facts { greeted: true, ending: Some(ending), exit: Some(Exit::Code(0)), ..Facts::default() }
    }

    #[test]
    fn the_meters_word_decides() {
        assert_eq!(state_of(&ended(Ending::Complete)), (RunState::Complete, None));
        assert_eq!(state_of(&ended(Ending::Stopped)).0, RunState::Interrupted);
        assert_eq!(state_of(&ended(Ending::LinkLost)).0, RunState::Failed);
        let offline = Problem::new(Severity::Invalid, &RunProblem::LinkLost);
        let failed = Facts { invalid: Some(offline.clone()), ..ended(Ending::Failed) };
        assert_eq!(state_of(&failed), (RunState::Failed, Some(offline)));
    }

    #[test]
    fn a_start_that_was_stopped_is_interrupted_and_one_that_failed_is_not() {
        let failed =
            Facts { start_failure: Some(Problem::new(Severity::Invalid, &RunProblem::LinkLost)), ..Facts::default() };
        assert_eq!(state_of(&failed).0, RunState::Failed);
        assert_eq!(state_of(&Facts { stop_requests: 1, ..failed }).0, RunState::Interrupted);
    }

    #[test]
    fn a_line_that_was_cut_is_no_death() {
        let facts =
            Facts { cut: true, exit: Some(Exit::Signal(9)), phase: Some(RunPhase::Measure), ..Facts::default() };
        let (state, why) = state_of(&facts);
        assert_eq!(state, RunState::Failed);
        assert!(why.is_some_and(|why| why.code == "run.line-cut" && why.text.contains("phase measure")));
        assert_eq!(state_of(&Facts { cut: true, ..ended(Ending::Complete) }).0, RunState::Complete);
    }

    #[test]
    fn a_run_that_was_left_behind_is_to_be_fetched_and_not_repaired() {
        let facts = Facts { left_behind: true, ..Facts::default() };
        assert!(
            state_of(&facts)
                .1
                .is_some_and(|why| why.code == "run.left-behind" && why.text.contains("tardy target collect"))
        );
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
        let expected = "the meter died in phase measure (killed by signal 11); its last output: two | three | four";
        assert_eq!(why.map(|why| why.text).as_deref(), Some(expected));
        assert!(facts.left_unrestored());
        assert!(!ended(Ending::Failed).left_unrestored());
    }
}

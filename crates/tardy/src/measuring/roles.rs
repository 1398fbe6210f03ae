//! A measurement with two machines: one answers, the other gives the stimuli. Each has a meter and an archive of its own; that of
//! the stimulus machine is inside that of the target.

use super::signals::Signals;
use archive::manifest::RunState;
use archive::planned::PlannedStep;
use archive::roles::RunRole;
use machines::board::AccessOptions;
use machines::{KnownTarget, Target};
use runner::event::Event;
use runner::roles::parts;
use runner::run::{RunError, RunOutcome, RunRequest, TimeLimits, run_in_role};
use std::path::Path;
use std::thread;

/// The run of one machine.
pub struct RoleRun<'a> {
    pub request: RunRequest,
    pub planned: Option<&'a PlannedStep>,
}

/// The machine that gives the stimuli, and how it is reached.
pub struct StimulusMachine<'a> {
    pub known: &'a KnownTarget,
    pub meter: &'a Path,
    pub signals: &'a Signals,
    pub access: AccessOptions,
}

/// How both runs ended.
pub struct RolesEnded {
    pub target: Result<RunOutcome, RunError>,
    pub stimulus: anyhow::Result<RunOutcome>,
}

impl RolesEnded {
    /// The failure that led to the others, if a run has no archive.
    ///
    /// # Errors
    /// That failure.
    pub fn measured(self) -> anyhow::Result<(RunOutcome, Option<RunOutcome>)> {
        match (self.target, self.stimulus) {
            (Ok(target), Ok(stimulus)) => Ok((target, Some(stimulus))),
            // The target failed with an archive, before the other machine started.
            (Ok(target), Err(error)) if is_consequence(error.downcast_ref()) && target.state != RunState::Complete => {
                Ok((target, None))
            }
            (Err(error), Err(other)) if is_consequence(Some(&error)) => Err(other),
            (Err(error), _) => Err(error.into()),
            (Ok(_), Err(error)) => Err(error),
        }
    }
}

fn is_consequence(error: Option<&RunError>) -> bool {
    matches!(error, Some(RunError::Role(_)))
}

/// The request for the stimulus machine, beside that for the target.
pub fn stimulus_request(of_target: &RunRequest, settings: archive::settings::RunSettings) -> RunRequest {
    let role = RunRole::Stimulus;
    RunRequest {
        id: format!("{}-{role}", of_target.id),
        directory: of_target.directory.join(role.directory()),
        limits: TimeLimits::of(&settings, of_target.limits.silence),
        settings,
        ..of_target.clone()
    }
}

/// Runs both, the answering side first. Events are those of the target.
pub fn run(
    target: &mut dyn Target,
    answering: &RoleRun,
    machine: &StimulusMachine,
    stimulating: &RoleRun,
    watch: &mut dyn FnMut(Event),
) -> RolesEnded {
    let mut parts = parts([(RunRole::Target, target.name()), (RunRole::Stimulus, machine.known.name())]).into_iter();
    let (Some(first), Some(second)) = (parts.next(), parts.next()) else { unreachable!("there are two machines") };
    let stop = machine.signals.requests();
    thread::scope(|scope| {
        let stimulus = scope.spawn(move || -> anyhow::Result<RunOutcome> {
            let RoleRun { request, planned } = stimulating;
            let StimulusMachine { known, meter, signals, access } = machine;
            let opened = known.open(meter, access.clone(), signals.requests().clone());
            let mut target = opened.inspect_err(|error| second.has_failed(error.to_string()))?;
            Ok(run_in_role(target.as_mut(), request, *planned, &second, signals.requests(), &mut |_| {})?)
        });
        let outcome = run_in_role(target, &answering.request, answering.planned, &first, stop, watch);
        let stimulus = stimulus.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        RolesEnded { target: outcome, stimulus }
    })
}

//! One run: measures, explains the spikes, and prints the summary.

use super::seeds;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::{RoleSettings, RunArguments};
use crate::measuring::ending::{conclude, conclude_roles};
use crate::measuring::live_causes::LiveCauses;
use crate::measuring::machine::{self, find_target, is_board, is_in_virtual_time};
use crate::measuring::request::new_request;
use crate::measuring::roles::{self, RoleRun, StimulusMachine};
use crate::measuring::signals::Signals;
use crate::terminal::progress::Progress;
use machines::board::AccessOptions;
use machines::local;
use machines::meter_places::MeterPlaces;
use runner::event::Event;

/// Runs once; `access` sets how a board is accessed, and `command` is the command line as typed.
pub fn run(arguments: &RunArguments, access: AccessOptions, command: Vec<String>) -> anyhow::Result<Exit> {
    let settings = arguments.settings(is_in_virtual_time(&arguments.target))?;
    let stimulus = arguments.stimulus_machine(&arguments.target, is_in_virtual_time(&arguments.target))?;
    if let Some(stimulus) = &stimulus {
        find_target(&stimulus.machine)?;
    }
    if arguments.target == local::NAME {
        arguments.check_cpus_of_this_machine()?;
    }
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    if let Some(seeds) = arguments.seeds {
        return seeds::run(arguments, seeds, &settings, &command, &meter, &signals);
    }
    if access.deploy.is_some() && !is_board(&arguments.target) {
        return Err(UsageError(format!("--deploy is for boards, and {} is not a board", arguments.target)).into());
    }
    let access_of_stimulus = AccessOptions { deploy: None, ..access.clone() };
    let mut target = machine::open_with(&arguments.target, &meter, &signals, access)?;
    let request = new_request(&arguments.target, &arguments.output, command, meter, settings)?;
    let output = &arguments.output;
    if let Some(RoleSettings { machine, settings }) = &stimulus {
        let other = roles::stimulus_request(&request, settings.clone());
        let mut progress =
            Progress::new(output.view(), other.settings.duration_ns).of_samples(other.settings.method.sample());
        let meter = request.meter.clone();
        let machine = StimulusMachine { name: machine, meter: &meter, signals: &signals, access: access_of_stimulus };
        let (answering, stimulating) = (RoleRun { request, planned: None }, RoleRun { request: other, planned: None });
        let ended =
            roles::run(target.as_mut(), &answering, &machine, &stimulating, &mut |event| progress.event(&event));
        return conclude_roles(ended, &signals, &mut progress, output.showing());
    }
    let mut progress =
        Progress::new(output.view(), request.settings.duration_ns).of_samples(request.settings.method.sample());
    let mut causes = progress.is_live().then(|| LiveCauses::of(&arguments.target, request.settings.clone()));
    let mut stops_at_ns = arguments.stops_at_ns();
    let outcome = runner::run::run(target.as_mut(), &request, signals.requests(), &mut |event| {
        progress.event(&event);
        if let Some((spike, cause)) = causes.as_mut().and_then(|causes| causes.take(&event)) {
            progress.cause(spike, &cause.words());
        }
        if stops_at_ns.is_some_and(|limit_ns| latest_ns(&event) > limit_ns) {
            stops_at_ns = None;
            progress.aside(|| complain!("tardy: a latency exceeded --limit; the run ends"));
            signals.requests().request();
        }
    });
    conclude(outcome, &signals, &mut progress, output.showing())
}

/// The latest wake-up that an event reports.
fn latest_ns(event: &Event) -> i64 {
    match event {
        Event::Progress { threads, .. } => threads.iter().map(|thread| thread.latency_ns_max).max().unwrap_or(0),
        _ => 0,
    }
}

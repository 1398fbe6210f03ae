//! One run: measures, explains the spikes, and prints the summary.

use super::seeds;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::{RoleSettings, RunArguments};
use crate::measuring::ending::{conclude, conclude_roles};
use crate::measuring::live_causes::LiveCauses;
use crate::measuring::machine::find;
use crate::measuring::request::new_request;
use crate::measuring::roles::{self, RoleRun, StimulusMachine};
use crate::measuring::signals::Signals;
use crate::terminal::progress::Progress;
use machines::board::AccessOptions;
use machines::meter_places::MeterPlaces;
use runner::event::Event;

/// Runs once; `access` sets how a board is accessed, and `command` is the command line as typed.
pub fn run(arguments: &RunArguments, access: AccessOptions, command: Vec<String>) -> anyhow::Result<Exit> {
    let known = find(&arguments.target)?;
    let settings = arguments.settings(known.is_in_virtual_time()).map_err(UsageError::from)?;
    let stimulus = arguments.stimulus_machine(known.name(), known.is_in_virtual_time()).map_err(UsageError::from)?;
    let stimulus = match stimulus {
        Some(RoleSettings { machine, settings }) => Some((find(&machine)?, settings)),
        None => None,
    };
    if known.is_local() {
        arguments.check_cpus_of_this_machine()?;
    }
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    if let Some(seeds) = arguments.seeds() {
        return seeds::run((arguments, &known), seeds, &settings, &command, &meter, &signals);
    }
    if access.deploy.is_some() && !known.is_board() {
        return Err(UsageError(format!("--deploy is for boards, and {} is not a board", known.name())).into());
    }
    let access_of_stimulus = AccessOptions { deploy: None, ..access.clone() };
    let mut target = known.open(&meter, access, signals.requests().clone())?;
    let request = new_request(&known, &arguments.output, command, meter, settings)?;
    let output = &arguments.output;
    if let Some((machine, settings)) = &stimulus {
        let other = roles::stimulus_request(&request, settings.clone());
        let mut progress = Progress::new(output.view(), &other.settings);
        let meter = request.meter.clone();
        let machine = StimulusMachine { known: machine, meter: &meter, signals: &signals, access: access_of_stimulus };
        let (answering, stimulating) = (RoleRun { request, planned: None }, RoleRun { request: other, planned: None });
        let ended =
            roles::run(target.as_mut(), &answering, &machine, &stimulating, &mut |event| progress.event(&event));
        return conclude_roles(ended, &signals, &mut progress, output.showing());
    }
    let mut progress = Progress::new(output.view(), &request.settings);
    let mut causes = progress.is_live().then(|| LiveCauses::of(&known, request.settings.clone()));
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

/// The worst wake-up that an event reports.
fn latest_ns(event: &Event) -> i64 {
    match event {
        Event::Progress { threads, .. } => threads.iter().map(|thread| thread.latency_ns_max).max().unwrap_or(0),
        _ => 0,
    }
}

//! A trace instance in memory that a reset of the machine keeps: a guard records into it beside its own instances.
//!
//! The kernel makes it at boot and never frees it. It cannot be resized, and has no spare buffer to swap with.

use super::follower::filter_of;
use crate::journal::{Entry, Journal};
use crate::problem::MeterProblem;
use crate::trace::error::TraceError;
use archive::watched::guard::{EventKind, KEPT_EVENTS};
use ftrace::tracefs::{Instance, Tracefs};
use wakeups::timer_functions::TimerFunctions;

const CLOCK: &str = "mono";

/// The recording instance. The journal switches it off.
#[derive(Debug)]
pub struct KeptRecording(Instance);

impl KeptRecording {
    /// Switches the instance on, journalled; `None` if this machine does not have it.
    ///
    /// # Errors
    /// If another program uses it, or it cannot be set.
    pub fn begin(
        tracefs: &Tracefs,
        name: &str,
        functions: &TimerFunctions,
        journal: &mut Journal,
    ) -> Result<Option<Self>, MeterProblem> {
        let Ok(instance) = tracefs.open_instance(name) else { return Ok(None) };
        let failed = |source: TraceError| MeterProblem::KeptInstanceFailed { name: name.to_owned(), source };
        let is_used = instance.is_in_kept_memory() && instance.tracing_on().map_err(|error| failed(error.into()))?;
        if is_used || !instance.is_in_kept_memory() {
            return Err(MeterProblem::KeptInstanceUsed { name: name.to_owned() });
        }
        journal.note(Entry::KeptInstance { name: name.to_owned() }).map_err(|error| failed(error.into()))?;
        record(&instance, functions).map_err(failed)?;
        Ok(Some(Self(instance)))
    }

    /// Records the events of all kinds but these; `was` are those without which it records now.
    pub fn shed(&self, was: &[EventKind], kinds: &[EventKind]) {
        for (system, name) in KEPT_EVENTS {
            let kind = EventKind::of(system, name);
            // As with the other instances: an event that stays on costs a little.
            let _ = match (was.contains(&kind), kinds.contains(&kind)) {
                (false, true) => self.0.disable_event(system, name),
                (true, false) => self.0.enable_event(system, name),
                _ => Ok(false),
            };
        }
    }
}

fn record(instance: &Instance, functions: &TimerFunctions) -> Result<(), TraceError> {
    instance.set_clock(CLOCK)?;
    // Events of the last boot go: a guard has read them.
    instance.clear()?;
    let _ = instance.set_option("overwrite", true);
    instance.set_event_filter("timer", "hrtimer_start", &filter_of(functions))?;
    for (system, name) in KEPT_EVENTS {
        instance.enable_event(system, name)?;
    }
    instance.set_tracing_on(true)?;
    Ok(())
}

//! Tracers that record with the events: the functions that the kernel enters, into the snapshots of spikes.

use super::catalogue::{self, Role};
use super::refusal::{self, Refusal};
use crate::trace::maxima::hrtimer_wakeup_address;
use archive::tracer::TracerSettings;
use ftrace::tracefs::{Instance, TracefsError};

const FUNCTIONS_ENABLED: &str = "/proc/sys/kernel/ftrace_enabled";
const STACKS_IN_INSTANCES: (u32, u32) = (5, 17);
const WAKEUP: &str = "stacktrace if function.function==hrtimer_wakeup";

/// Makes an instance record what was requested in addition to its events. Recording must be off, because setting a
/// tracer takes time. Removing the instance undoes everything.
///
/// # Errors
/// The missing feature of the kernel, or its refusal.
pub fn arm(instance: &Instance, asked: &TracerSettings) -> Result<(), Refusal> {
    if asked.stack {
        record_stacks(instance)?;
    }
    let Some(tracer) = catalogue::find(&asked.name).filter(|tracer| tracer.role == Role::Recording) else {
        return Ok(());
    };
    if std::fs::read_to_string(FUNCTIONS_ENABLED).is_ok_and(|text| text.trim() == "0") {
        return Err(Refusal::FunctionsOff);
    }
    follow(instance, asked)?;
    refusal::set_in(instance, tracer)
}

/// Restricts the functions and threads; latency tracers trace functions, too.
///
/// # Errors
/// A pattern that no function matches, or a kernel without the files.
pub fn follow(instance: &Instance, asked: &TracerSettings) -> Result<(), Refusal> {
    let pattern = |option: &'static str, error: TracefsError| match error {
        TracefsError::Rejected { text, .. } => Refusal::NoFunction { option, pattern: text.trim().to_owned() },
        other => Refusal::NoFilters(other),
    };
    if !asked.functions.is_empty() {
        instance.set_functions(&asked.functions).map_err(|error| pattern("--functions", error))?;
    }
    if !asked.functions_not.is_empty() {
        instance.set_functions_not(&asked.functions_not).map_err(|error| pattern("--functions-not", error))?;
    }
    if !asked.pids.is_empty() {
        instance.set_function_pids(&asked.pids, asked.children).map_err(Refusal::Threads)?;
    }
    Ok(())
}

/// The timer of a sleeping thread expires in an interrupt, whose stack shows what it interrupted.
fn record_stacks(instance: &Instance) -> Result<(), Refusal> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if version_of(&release) < STACKS_IN_INSTANCES {
        return Err(Refusal::StacksElsewhere { release });
    }
    if instance.add_trigger("timer", "hrtimer_expire_entry", WAKEUP).is_ok() {
        return Ok(());
    }
    let address = hrtimer_wakeup_address().map_err(Refusal::NoStacks)?;
    let by_address = format!("stacktrace if function==0x{address}");
    let added = instance.add_trigger("timer", "hrtimer_expire_entry", &by_address);
    added.map_err(|error| Refusal::NoStacks(error.into()))
}

/// `6.1.0-56-rt-amd64` is (6, 1); an unknown version counts as the oldest.
fn version_of(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version_of("6.1.0-56-rt-amd64"), (6, 1));
        assert!(version_of("5.4.302") < STACKS_IN_INSTANCES && version_of("6.12-rc1") > STACKS_IN_INSTANCES);
        assert_eq!(version_of("next"), (0, 0));
    }
}

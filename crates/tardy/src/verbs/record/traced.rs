//! The second way to record: the run is repeated with the kernel's own tracer, which costs time in the guest. The cost
//! is reported to the nanosecond.

use crate::exit::{Exit, in_words};
use crate::measuring::signals::Signals;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::virtual_time::laboratory::{Laboratory, Trajectory};
use crate::virtual_time::recording::again::Again;
use crate::virtual_time::recording::{Recording, choice};
use account::{Account, ExplanationSource};
use anyhow::anyhow;
use archive::reader::Run;
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use archive::spike::SpikeReason;
use archive::tracer::TracerSettings;
use judge::virtual_time::{TracingCost, tracing_cost};
use machines::library::LibraryError;
use machines::meter_places::MeterPlaces;
use serde::Serialize;
use std::path::{Path, PathBuf};
use words::shell::quoted;

/// The function tracer writes an event for each function; a late wake-up has thousands.
const BUFFER_KB_PER_CPU: u32 = 16 << 10;

/// The second run and its cost.
#[derive(Debug, Serialize)]
pub struct Traced {
    /// All times are virtual.
    pub virtual_time: bool,
    /// Its archive, which stays.
    pub archive: PathBuf,
    pub tracing_cost: TracingCost,
}

/// Repeats the run with the function tracer, into an archive next to the first.
///
/// # Errors
/// If it cannot be repeated.
pub fn record(run: &Run, recording: &Recording, command: &[String], signals: &Signals) -> anyhow::Result<Traced> {
    let again = Again::of(run, recording.target)?;
    let spikes = choice::spikes(run, &recording.wanted)?;
    let late: Vec<u64> =
        spikes.iter().filter(|spike| spike.reason != SpikeReason::Control).map(|spike| spike.sample.cycle).collect();
    let meter = MeterPlaces::of_process().find()?;
    let settings = with_tracer(&again.settings);
    let laboratory = Laboratory { target: &again.target, meter: &meter, signals, command, quiet: recording.silent };
    let second = laboratory.run_on(&mut again.target(&meter)?, &settings, beside(&run.directory))?;
    let second = Account::of(second, ExplanationSource::Traces);
    second.save_explanations()?;
    let second = second.into_run();
    let samples = |run: &Run| -> anyhow::Result<Vec<(i64, i64)>> {
        Ok(Trajectory::of(run)?.samples().map(|sample| (sample.due_ns, sample.latency_ns)).collect())
    };
    let tracing_cost = tracing_cost(&samples(run)?, &samples(&second)?, &late)
        .ok_or_else(|| anyhow!("one of the two runs has no wake-ups"))?;
    Ok(Traced { virtual_time: true, archive: second.directory, tracing_cost })
}

fn with_tracer(settings: &RunSettings) -> RunSettings {
    let tracer = TracerSettings {
        name: "function".into(),
        functions: Vec::new(),
        functions_not: Vec::new(),
        pids: Vec::new(),
        children: false,
        threshold_ns: 0,
        stack: false,
    };
    let trace = TraceSettings {
        mode: SnapshotMode::Auto,
        buffer_kb_per_cpu: BUFFER_KB_PER_CPU,
        tracer: Some(tracer),
        ..settings.trace.clone()
    };
    RunSettings { trace, ..settings.clone() }
}

/// The first unused name of `RUN-traced`, `RUN-traced-2` ....
fn beside(directory: &Path) -> PathBuf {
    let named = |ending: &str| {
        let mut name = directory.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let numbered = (2..).map(|number| named(&format!("-traced-{number}")));
    std::iter::once(named("-traced")).chain(numbered).find(|path| !path.exists()).unwrap_or_default()
}

/// The message for using the function tracer instead; `None` unless there is no recorder or this QEMU loads no plugins.
pub fn instead(error: &anyhow::Error) -> Option<String> {
    let why = in_words(error);
    let none = matches!(error.downcast_ref(), Some(LibraryError::Missing { .. }));
    (none || why.contains("-plugin") || why.contains("plugin requires API version")).then(|| {
        format!(
            "{why}.\nThe run is made again with the kernel's function tracer instead. Tracing takes guest time, so \
             this is not the same run; its cost is shown below."
        )
    })
}

/// Prints the cost, and where the rest is.
///
/// # Errors
/// If the JSON cannot be created.
pub fn show(traced: &Traced, json: bool, quiet: bool) -> anyhow::Result<Exit> {
    let archive = traced.archive.display().to_string();
    if json {
        json::print(traced)?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    if quiet {
        page.line(&archive);
    } else {
        alarm_of_clock(true, true, &mut page);
        traced.tracing_cost.sentences.iter().for_each(|sentence| page.wrapped("", sentence));
        page.blank();
        page.wrapped("", &format!("The traced run is {archive}. Next:"));
        page.line(&format!("  tardy explain {}", quoted(&archive)));
    }
    page.print()?;
    Ok(Exit::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_recorder_is_replaced() {
        let missing = anyhow::Error::from(LibraryError::Missing { file_name: "libflight_recorder.so", variable: "X" });
        assert!(
            instead(&missing).is_some_and(|text| text.contains("libflight_recorder.so") && text.contains("instead"))
        );
        let refused = anyhow!("the machine ended: qemu-system-x86_64: -plugin r.so,out=x: invalid option");
        assert!(instead(&refused).is_some());
        let named = LibraryError::Named { file_name: "x.so", variable: "X", path: "/absent".into() };
        assert!(instead(&named.into()).is_none(), "it was named on purpose");
        assert!(instead(&anyhow!("the second run is not the first")).is_none());
    }

    #[test]
    fn a_traced_run_gets_a_name_that_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("one");
        assert_eq!(beside(&run), directory.path().join("one-traced"));
        std::fs::create_dir(directory.path().join("one-traced")).unwrap();
        assert_eq!(beside(&run), directory.path().join("one-traced-2"));
        let settings = with_tracer(&RunSettings::default());
        assert_eq!(settings.trace.tracer.map(|tracer| tracer.name).as_deref(), Some("function"));
    }
}

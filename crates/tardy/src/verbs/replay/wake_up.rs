//! The wake-up to stop the machine at. It has to be recorded: its record gives the block of code at that instant.

use crate::exit::UsageError;
use crate::measuring::signals::Signals;
use crate::virtual_time::recording::choice::CONTROLS_DEFAULT;
use crate::virtual_time::recording::{self as record, Recording};
use archive::reader::Run;
use archive::spike::Spike;

/// The requested wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Spike(u32),
    Cycle(u64),
    Worst,
}

/// A recorded wake-up, and its archive after the recording.
pub struct Recorded {
    pub run: Run,
    pub spike: Spike,
}

/// Finds the wake-up, and records it if it is not recorded yet.
///
/// # Errors
/// If there is no such wake-up, or it cannot be recorded.
pub fn recorded(
    run: &Run,
    wanted: Wanted,
    target: Option<&str>,
    command: &[String],
    signals: &Signals,
) -> anyhow::Result<Recorded> {
    let run = Run::open(&run.directory)?;
    if let Some(spike) = known(&run, wanted)? {
        return Ok(Recorded { run, spike });
    }
    let wanted_record = match wanted {
        Wanted::Spike(number) => cycles(vec![spike_of(&run, number)?.sample.cycle]),
        Wanted::Cycle(cycle) => cycles(vec![cycle]),
        Wanted::Worst => record::choice::Wanted::Worst { count: 1, controls: CONTROLS_DEFAULT },
    };
    complain!("The wake-up was not recorded yet, so it is recorded first: the run is made once more.");
    let recording = Recording { wanted: wanted_record, target, silent: false };
    let run = Run::open(record::record(&run, &recording, command, signals)?)?;
    let spike =
        known(&run, wanted)?.ok_or_else(|| UsageError("failed to replay: the recorded wake-up is missing".into()))?;
    Ok(Recorded { run, spike })
}

fn cycles(cycles: Vec<u64>) -> record::choice::Wanted {
    record::choice::Wanted::Cycles { cycles, controls: CONTROLS_DEFAULT }
}

fn known(run: &Run, wanted: Wanted) -> anyhow::Result<Option<Spike>> {
    let mut recorded = run.spikes.iter().filter(|spike| run.recordings.contains_key(&spike.number));
    Ok(match wanted {
        Wanted::Spike(number) => Some(spike_of(run, number)?).filter(|_| run.recordings.contains_key(&number)),
        Wanted::Cycle(cycle) => recorded.find(|spike| spike.sample.cycle == cycle).cloned(),
        Wanted::Worst => recorded.max_by_key(|spike| spike.sample.latency_ns).cloned(),
    })
}

fn spike_of(run: &Run, number: u32) -> anyhow::Result<Spike> {
    run.spikes.iter().find(|spike| spike.number == number).cloned().ok_or_else(|| {
        let directory = run.directory.display();
        let fix = match run.spikes.iter().map(|spike| spike.number.to_string()).collect::<Vec<_>>() {
            none if none.is_empty() => {
                format!("`tardy virtual record {directory}` finds its worst wake-ups, or name one with --cycle")
            }
            numbers => format!("it has {}; --cycle names any wake-up", numbers.join(", ")),
        };
        UsageError(format!("failed to replay: the run has no spike {number}; {fix}")).into()
    })
}

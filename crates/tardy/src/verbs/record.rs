//! `tardy virtual record`: repeats a run in virtual time with a recorder outside the machine, and explains its worst
//! wake-ups from the recorded execution.

mod traced;

use crate::archives;
use crate::exit::Exit;
use crate::measuring::signals::Signals;
use crate::options::quantity::whole;
use crate::terminal::explained::show_recorded;
use crate::verb::{Parent, Place, Verb};
use crate::virtual_time::recording::choice::{self, Wanted};
use crate::virtual_time::recording::{Recording, record};
use account::{Account, ExplanationSource};
use archive::reader::Run;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use words::printable::printable;

/// Repeat a run in virtual time and record every function of its worst wake-ups
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Path of an archive, an id below runs/, or `latest`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Record the N largest samples
    #[arg(long, value_name = "N", default_value_t = choice::WORST_DEFAULT, value_parser = whole::<u32>(1..=1000))]
    worst: u32,
    /// Record wake-up N, counted from 0; may be repeated, and replaces --worst
    #[arg(long = "cycle", value_name = "NUMBER", conflicts_with = "worst", value_parser = whole::<u64>(0..))]
    cycles: Vec<u64>,
    /// On-time samples to record for comparison
    #[arg(long, value_name = "N", default_value_t = choice::CONTROLS_DEFAULT, value_parser = whole::<u32>(0..=100))]
    controls: u32,
    /// Target to repeat the run on [default: the one in the archive]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Means of recording
    #[arg(long = "with", value_enum, value_name = "WHO", default_value = "recorder")]
    means: Means,
    /// Print the explanations as one JSON document, as `tardy explain --json` does; with ftrace what tracing added
    #[arg(long)]
    json: bool,
    /// Print only the path of the archive
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Means {
    /// The emulator, outside the machine, adding nothing; falls back to ftrace
    Recorder,
    /// The kernel's function tracer, into a further archive
    Ftrace,
}

impl Verb for RecordArguments {
    const NAME: &'static str = "record";
    const PLACE: Place = Place::Below(Parent::Virtual);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy run --target exact --duration 10s --load dentry --out runs/one",
        "tardy virtual record runs/one",
        "tardy virtual record runs/one --cycle 1817 --cycle 304",
        "tardy virtual record runs/one --with ftrace",
    ];
    const NOTES: &'static str = "\
The run is repeated with the recorder, which the machine cannot notice, and every sample is compared with the first run.
With ftrace the kernel records instead, which costs the machine time: how much is reported to the nanosecond.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &RecordArguments, command: &[String]) -> anyhow::Result<Exit> {
    let run = archives::open(&arguments.run)?;
    let signals = Signals::watch()?;
    let wanted = match arguments.cycles.as_slice() {
        [] => Wanted::Worst { count: arguments.worst, controls: arguments.controls },
        cycles => Wanted::Cycles { cycles: cycles.to_vec(), controls: arguments.controls },
    };
    let silent = arguments.quiet || arguments.json;
    let recording = Recording { wanted, target: arguments.target.as_deref(), silent };
    let recorded = match arguments.means {
        Means::Recorder => record(&run, &recording, command, &signals),
        Means::Ftrace => return traced_instead(&run, &recording, command, &signals, arguments),
    };
    let directory = match recorded {
        Ok(directory) => directory,
        Err(error) => {
            let Some(why) = traced::instead(&error) else { return Err(error) };
            complain!("tardy: {}", printable(&why));
            return traced_instead(&run, &recording, command, &signals, arguments);
        }
    };
    signals.measuring_is_over();
    show_recorded(&Account::open(directory, ExplanationSource::StoredOrTraces)?, arguments.json, arguments.quiet)
}

fn traced_instead(
    run: &Run,
    recording: &Recording,
    command: &[String],
    signals: &Signals,
    arguments: &RecordArguments,
) -> anyhow::Result<Exit> {
    let traced = traced::record(run, recording, command, signals)?;
    signals.measuring_is_over();
    traced::show(&traced, arguments.json, arguments.quiet)
}

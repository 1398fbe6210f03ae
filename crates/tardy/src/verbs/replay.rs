//! `tardy virtual replay`: repeats a run in virtual time up to one of its late wake-ups, and stops there for a
//! debugger.

mod gdb;
mod page;
mod symbol_file;
mod wake_up;

use crate::archives;
use crate::exit::Exit;
use crate::measuring::signals::Signals;
use crate::options::quantity::{TimeError, time_ns, whole};
use crate::terminal::json;
use crate::terminal::page::write_stdout;
use crate::verb::{Parent, Place, Verb};
use crate::virtual_time::laboratory::Trajectory;
use crate::virtual_time::recording::again::Again;
use crate::virtual_time::recording::symbols;
use account::{StopPoint, stop_point};
use anyhow::{Context, anyhow};
use archive::reader::Run;
use archive::spike::Spike;
use clap::Args;
use machines::flight_recorder;
use machines::meter_places::MeterPlaces;
use machines::qemu::virtual_time::StandingMachine;
use page::Page;
use std::path::PathBuf;
use thiserror::Error;
use wake_up::Wanted;

/// Repeat a run in virtual time up to a late wake-up and stop there for a debugger
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Path of an archive, an id below runs/, or `latest`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Stop at this spike [default: the worst]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..))]
    spike: Option<u32>,
    /// Stop at wake-up N, counted from 0; records it first if needed
    #[arg(long, value_name = "NUMBER", conflicts_with = "spike", value_parser = whole::<u64>(0..))]
    cycle: Option<u64>,
    /// Stop when the wake-up was `due`, when it was `seen`, or at a time after it was due, like 300us
    #[arg(long, value_name = "INSTANT", default_value = "due", value_parser = instant)]
    at: Instant,
    /// Start gdb with the stopped machine and the names of the kernel's functions
    #[arg(long, conflicts_with = "json")]
    gdb: bool,
    /// Print how to attach a debugger, and wait
    #[arg(long, conflicts_with_all = ["gdb", "json"])]
    listen: bool,
    /// Target to repeat the run on [default: the one in the archive]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Print where the machine stands as one JSON document
    #[arg(long)]
    json: bool,
    /// Arguments for gdb
    #[arg(last = true, value_name = "GDB WORDS", requires = "gdb")]
    gdb_words: Vec<String>,
}

/// An instant within a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instant {
    Due,
    Seen,
    AfterDue(i64),
}

/// Neither the name of an instant nor a time.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0}; or write due or seen")]
struct NoInstant(TimeError);

fn instant(text: &str) -> Result<Instant, NoInstant> {
    match text {
        "due" => Ok(Instant::Due),
        "seen" => Ok(Instant::Seen),
        _ => time_ns(text).map(|ns| Instant::AfterDue(i64::try_from(ns).unwrap_or(i64::MAX))).map_err(NoInstant),
    }
}

impl Instant {
    fn ns_after_due(self, spike: &Spike) -> i64 {
        match self {
            Self::Due => 0,
            Self::Seen => spike.sample.latency_ns,
            Self::AfterDue(ns) => ns,
        }
    }
}

/// A machine stopped at the requested instant.
struct Stopped {
    machine: StandingMachine,
    spike: Spike,
    point: StopPoint,
    /// Samples that were compared.
    samples_compared: usize,
    /// Lines in the format of /proc/kallsyms.
    symbols: String,
}

impl Verb for ReplayArguments {
    const NAME: &'static str = "replay";
    const PLACE: Place = Place::Below(Parent::Virtual);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy virtual replay runs/one",
        "tardy virtual replay runs/one --spike 2 --gdb",
        "tardy virtual replay runs/one --spike 2 --at 2.9ms --gdb",
        "tardy virtual replay runs/one --cycle 1817 --listen",
        "tardy virtual replay runs/one --gdb -- -batch -ex 'x/8i $pc' -ex 'stepi 100' -ex 'info registers'",
    ];
    const NOTES: &'static str = "\
The machine repeats the run to the nanosecond up to where it stops, and every sample until then is compared with the run. \
In gdb, `callers` shows the call chain; `continue` runs on from there.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &ReplayArguments, command: &[String]) -> anyhow::Result<Exit> {
    let run = archives::open(&arguments.run)?;
    let signals = Signals::watch()?;
    if arguments.gdb {
        gdb::find()?;
    }
    let mut stopped = stop(&run, arguments, command, &signals)?;
    let registers = stopped.machine.registers()?;
    check_address(&stopped.point, registers.next())?;
    let page = Page::of(&stopped.spike, &stopped.point, &registers, stopped.samples_compared);
    if arguments.json {
        json::print(&page)?;
        return Ok(Exit::Measured);
    }
    let text = if arguments.gdb || arguments.listen { page.short() } else { page.whole() };
    write_stdout(text.as_bytes())?;
    let visit = gdb::Visit::prepare(&stopped.machine, &stopped.symbols, &page)?;
    if arguments.gdb {
        visit.debug(&arguments.gdb_words, &signals)?;
    } else if arguments.listen {
        write_stdout(format!("{}\n", visit.invitation()).as_bytes())?;
        complain!("tardy: {}", visit.wait(&mut stopped.machine, &signals));
    }
    Ok(Exit::Measured)
}

/// Repeats the run up to the instant.
fn stop(run: &Run, arguments: &ReplayArguments, command: &[String], signals: &Signals) -> anyhow::Result<Stopped> {
    let target = arguments.target.as_deref();
    let again = Again::of(run, target)?;
    let recorder = flight_recorder::find()?;
    let meter = MeterPlaces::of_process().find()?;
    let wanted = match (arguments.spike, arguments.cycle) {
        (Some(number), _) => Wanted::Spike(number),
        (None, Some(cycle)) => Wanted::Cycle(cycle),
        (None, None) => Wanted::Worst,
    };
    let recorded = wake_up::recorded(run, wanted, target, command, signals)?;
    let (run, spike) = (&recorded.run, recorded.spike);
    let ns_after_due = arguments.at.ns_after_due(&spike);
    let point = stop_point(run, &spike, ns_after_due)
        .ok_or_else(|| anyhow!("the record of wake-up {} is damaged; record it again", spike.sample.cycle))?;
    let symbols =
        symbols::of(&again, &meter, signals).context("failed to learn the names of the kernel's functions")?;
    complain!("Repeating the run up to wake-up {} ...", spike.sample.cycle);
    let mut virtual_machine = again.target(&meter)?;
    let machine = virtual_machine
        .stand_at(&again.settings, &recorder, point.blocks, signals.requests())
        .map_err(|why| anyhow!("failed to stop the machine at wake-up {}: {why}", spike.sample.cycle))?;
    let samples = machine.samples()?;
    let samples_compared = Trajectory::of(run)?.begins_with(&samples).map_err(|number| {
        anyhow!(
            "the machine is not the one of the run, so it was not stopped where the wake-up is late: wake-up {number} \
             already differs. Another build of the meter, kernel, QEMU or target file makes another trajectory; run \
             again, then record"
        )
    })?;
    Ok(Stopped { machine, spike, point, samples_compared, symbols })
}

/// Checks that the next instruction is the one in the record.
fn check_address(point: &StopPoint, next: Option<u64>) -> anyhow::Result<()> {
    if next == Some(point.address) {
        return Ok(());
    }
    Err(anyhow!(
        "the machine did not stop where the record says: it stands at {:#x}, not at {:#x}. Another build of the meter, \
         kernel, QEMU or target file makes another trajectory; run again, then record",
        next.unwrap_or_default(),
        point.address
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_a_word_or_a_time_after_due() {
        assert_eq!(instant("due"), Ok(Instant::Due));
        assert_eq!(instant("seen"), Ok(Instant::Seen));
        assert_eq!(instant("2.9ms"), Ok(Instant::AfterDue(2_900_000)));
        assert!(instant("later").is_err_and(|why| why.to_string().contains("due or seen")));
    }
}

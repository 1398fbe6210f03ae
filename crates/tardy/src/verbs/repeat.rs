//! `tardy virtual repeat`: the same run several times, on an idle and on a busy host.

use crate::exit::{Exit, UsageError};
use crate::measuring::machine::{find, usage};
use crate::measuring::signals::Signals;
use crate::options::quantity::{positive_time_ns, whole};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use crate::virtual_time::laboratory::{Laboratory, Trajectory};
use anyhow::Context;
use archive::samples_file::SampleRecord;
use archive::settings::{LoadRequest, RunSettings, SnapshotMode, TraceSettings};
use archive::summary::{RunSummary, VirtualSpeed};
use clap::Args;
use machines::KnownTarget;
use machines::meter_places::MeterPlaces;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use words::figures::count;
use words::printable::printable;

/// Load of the loaded series: it uses the page cache, the dentry cache and the memory of processes.
const LOADS: [&str; 1] = ["churn"];
const SEED: u64 = 1;

/// Show that a target in virtual time repeats to the nanosecond
#[derive(Debug, Args)]
pub struct RepeatArguments {
    /// Name of the target
    name: String,
    /// Identical runs, each with an idle and with a loaded guest
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(2..))]
    runs: u32,
    /// Length of each run
    #[arg(short = 'D', long, value_name = "TIME", default_value = "2s", value_parser = positive_time_ns)]
    duration: u64,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for RepeatArguments {
    const NAME: &'static str = "repeat";
    const PLACE: Place = Place::Below(Parent::Virtual);
    const EXAMPLES: &'static [&'static str] =
        &["tardy virtual repeat exact", "tardy virtual repeat exact --runs 10 --duration 5s"];
    const NOTES: &'static str = "\
Exit codes: 0 every run is the same to the nanosecond, 2 wrong usage, 3 one differs.";
    const FORMER_NAMES: &'static [&'static str] = &["virtual verify"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &RepeatArguments) -> anyhow::Result<Exit> {
    let target = find(&arguments.name)?;
    let machine = target.virtual_machine().map_err(usage)?;
    if !target.is_in_virtual_time() {
        let text = format!("{0} does not run in virtual time; `tardy target verify {0}` looks at it", arguments.name);
        return Err(UsageError(text).into());
    }
    let meter = MeterPlaces::of_process().find_for(machine.architecture)?;
    verify(&Verification {
        target: &target,
        meter: &meter,
        runs: arguments.runs,
        duration_ns: arguments.duration,
        json: arguments.json,
    })
}

/// The runs to verify.
struct Verification<'a> {
    target: &'a KnownTarget,
    meter: &'a Path,
    /// Runs of each series.
    runs: u32,
    /// Length of each, in ns of the guest's clock.
    duration_ns: u64,
    json: bool,
}

/// The result of a series of identical plans.
#[derive(Debug, Serialize)]
struct Series {
    guest: &'static str,
    samples: usize,
    /// SHA-256 of the samples of each run, in order.
    sha256: Vec<String>,
    identical: usize,
    first_difference: Option<Difference>,
}

#[derive(Debug, Serialize)]
struct Difference {
    run: usize,
    sample: usize,
    /// Latencies in ns; absent if a run has no such sample.
    first_run_ns: Option<i64>,
    this_run_ns: Option<i64>,
    archives: [PathBuf; 2],
}

/// Runs both series and reports the result.
fn verify(asked: &Verification) -> anyhow::Result<Exit> {
    let signals = Signals::watch()?;
    let folder = std::env::temp_dir().join(format!("tardy-verify-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let mut series = Vec::new();
    for (guest, loads) in [("idle", &[][..]), ("loaded", &LOADS[..])] {
        let done = one_series(asked, &signals, guest, loads, &folder);
        if done.is_err() {
            let _ = fs::remove_dir_all(&folder);
        }
        series.push(done?);
    }
    let deterministic = series.iter().all(|series| series.first_difference.is_none());
    if deterministic {
        fs::remove_dir_all(&folder).with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    if asked.json {
        let document = serde_json::json!({ "target": asked.target.name(), "virtual_time": true,
            "deterministic": deterministic, "series": series });
        json::print(&document)?;
    } else {
        let mut page = Page::for_stdout();
        series.iter().for_each(|series| conclude(series, &mut page));
        let word = if deterministic { "is deterministic" } else { "IS NOT DETERMINISTIC" };
        page.wrapped("", &format!("{} (virtual time) {word}.", asked.target.name()));
        page.print()?;
    }
    Ok(if deterministic { Exit::Measured } else { Exit::LimitExceeded })
}

fn one_series(
    asked: &Verification,
    signals: &Signals,
    guest: &'static str,
    loads: &[&str],
    folder: &Path,
) -> anyhow::Result<Series> {
    let laboratory = Laboratory { target: asked.target, meter: asked.meter, signals, command: &[], quiet: asked.json };
    let settings = RunSettings {
        duration_ns: Some(asked.duration_ns),
        every_sample: true,
        dither_seed: Some(SEED),
        loads: loads.iter().map(|name| LoadRequest::Builtin { name: (*name).into(), workers: 0 }).collect(),
        trace: TraceSettings { mode: SnapshotMode::Off, ..TraceSettings::default() },
        counters: false,
        ..RunSettings::default()
    };
    let mut series = Series { guest, samples: 0, sha256: Vec::new(), identical: 0, first_difference: None };
    let mut first: Option<Trajectory> = None;
    for number in 1..=asked.runs as usize {
        let place = |number: usize| folder.join(format!("{guest}-{number}"));
        // During the first run, this program puts no load on the host.
        let host = (number > 1).then(BusyHost::begin);
        let run = laboratory.run(&settings, place(number))?;
        drop(host);
        let trajectory = Trajectory::of(&run)?;
        report(asked, guest, number, &trajectory, RunSummary::of(&run, &[]).virtual_speed);
        series.sha256.push(trajectory.sha256.clone());
        let Some(first) = &first else {
            (series.samples, series.identical) = (trajectory.count(), 1);
            first = Some(trajectory);
            continue;
        };
        match first.first_difference(&trajectory) {
            None => {
                series.identical += 1;
                let _ = fs::remove_dir_all(place(number));
            }
            Some(difference) if series.first_difference.is_none() => {
                series.first_difference = Some(difference_of(difference, number, [place(1), place(number)]));
            }
            Some(_) => {}
        }
    }
    Ok(series)
}

fn difference_of(
    (sample, first, this): (usize, Option<SampleRecord>, Option<SampleRecord>),
    run: usize,
    archives: [PathBuf; 2],
) -> Difference {
    let latency = |record: Option<SampleRecord>| record.map(|record| record.latency_ns);
    Difference { run, sample, first_run_ns: latency(first), this_run_ns: latency(this), archives }
}

/// One line on standard error per run, because a series takes minutes.
fn report(asked: &Verification, guest: &str, number: usize, trajectory: &Trajectory, speed: Option<VirtualSpeed>) {
    if !asked.json {
        let host = if number > 1 { "busy" } else { "as it is" };
        let (sum, samples) = (&trajectory.sha256, count(trajectory.count() as u64));
        let speed = speed.map_or(0.0, VirtualSpeed::guest_per_host);
        complain!(
            "{guest} {number}/{}: {samples} samples, sha256 {sum} (host {host}, {speed:.2} guest seconds a second)",
            printable(&asked.runs.to_string())
        );
    }
}

fn conclude(series: &Series, page: &mut Page) {
    let runs = series.sha256.len();
    page.wrapped(
        "",
        &format!(
            "{}: {} of {runs} runs of {} samples are identical in virtual time, sha256 {}",
            series.guest,
            series.identical,
            count(series.samples as u64),
            series.sha256.first().map_or("-", String::as_str)
        ),
    );
    if let Some(difference) = &series.first_difference {
        let word = |latency: Option<i64>| latency.map_or("none".into(), |ns| format!("{ns} ns"));
        page.wrapped(
            "  ",
            &format!(
                "run {} differs first in sample {}: {} instead of {}; the archives are {} and {}",
                difference.run,
                difference.sample,
                word(difference.this_run_ns),
                word(difference.first_run_ns),
                difference.archives[0].display(),
                difference.archives[1].display()
            ),
        );
    }
}

/// Keeps every CPU of the host busy until it is dropped.
struct BusyHost {
    over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl BusyHost {
    fn begin() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let work = |over: Arc<AtomicBool>| {
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let threads = (0..cpus).map(|_| Arc::clone(&over)).map(|over| thread::spawn(move || work(over))).collect();
        Self { over, threads }
    }
}

impl Drop for BusyHost {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

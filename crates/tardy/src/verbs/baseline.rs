//! `tardy virtual baseline`: expected results in virtual time as a small file next to a kernel's sources, and what has
//! changed since.

use crate::archives::{RUNS, new_below};
use crate::exit::{Exit, UsageError};
use crate::measuring::machine::find;
use crate::measuring::signals::Signals;
use crate::measuring::variant::settings_in_virtual_time;
use crate::options::quantity::{percentage, time_ns, whole};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use crate::virtual_time::baseline::{drift, file};
use crate::virtual_time::laboratory::Laboratory;
use crate::virtual_time::seed_runs::{OpenedRun, Seeds, all_seed_runs, open_all};
use clap::{Args, Subcommand};
use judge::virtual_time::Baseline;
use machines::KnownTarget;
use machines::meter_places::MeterPlaces;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Keep expected results in virtual time in a file beside a kernel, and check the kernel against it
#[derive(Debug, Args)]
pub struct BaselineArguments {
    #[command(subcommand)]
    verb: BaselineVerb,
}

#[derive(Debug, Subcommand)]
enum BaselineVerb {
    Write(WriteArguments),
    Check(CheckArguments),
}

/// Measure a target in virtual time, idle and under load, and write the results
#[derive(Debug, Args)]
struct WriteArguments {
    /// The file to write; one that is there is replaced
    file: PathBuf,
    /// Target in virtual time
    #[arg(long, value_name = "NAME")]
    target: String,
    /// Seeds to run
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole::<u32>(1..=10_000))]
    seeds: u32,
    /// By how much a figure may move before a check fails, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percentage)]
    tolerance: f64,
    /// By how much the idle guest's median may move before a check fails
    #[arg(long, value_name = "TIME", default_value = "20ns", value_parser = time_ns)]
    idle_tolerance: u64,
    /// Directory of the archives [default: runs/<time>-baseline]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Options of `tardy run`
    #[arg(last = true, value_name = "RUN OPTIONS")]
    options: Vec<String>,
}

/// Measure again with the file's settings and report what changed
#[derive(Debug, Args)]
struct CheckArguments {
    /// The file
    file: PathBuf,
    /// Target in virtual time [default: the target in the file]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Directory of the archives [default: runs/<time>-baseline]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for BaselineArguments {
    const NAME: &'static str = "baseline";
    const PLACE: Place = Place::Below(Parent::Virtual);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy virtual baseline write tardy-baseline.toml --target exact --seeds 4 -- --duration 2s --load dentry",
        "tardy virtual baseline check tardy-baseline.toml",
        "tardy judge --baseline tardy-baseline.toml runs/seeds",
    ];
    const NOTES: &'static str = "\
Exit codes: 0 nothing moved beyond its tolerance, 1 something did, 2 wrong usage, 3 could not measure.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &BaselineArguments, command: &[String]) -> anyhow::Result<Exit> {
    match &arguments.verb {
        BaselineVerb::Write(write) => write_baseline(write, command),
        BaselineVerb::Check(check) => check_baseline(check, command),
    }
}

fn write_baseline(write: &WriteArguments, command: &[String]) -> anyhow::Result<Exit> {
    let asked = Asked {
        target: &find(&write.target)?,
        options: &write.options,
        seeds: write.seeds,
        first_seed: None,
        out: write.out.as_deref(),
        quiet: write.quiet || write.json,
    };
    let (runs, directory) = asked.measure(command)?;
    let idle_tolerance_ns = i64::try_from(write.idle_tolerance).unwrap_or(i64::MAX);
    let baseline =
        Baseline::of(&all_seed_runs(&runs), &write.target, &write.options, write.tolerance, idle_tolerance_ns);
    baseline.check().map_err(|error| UsageError(error.to_string()))?;
    file::write(&write.file, &baseline)?;
    if write.json {
        json::print(&serde_json::json!({ "written": write.file, "archives": directory }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    page.wrapped(
        "",
        &format!(
            "{} holds what {} does in virtual time with {} ({}); the archives are in {}.",
            write.file.display(),
            write.target,
            baseline.kernel,
            words::figures::counted(u64::from(write.seeds), "seed"),
            directory.display()
        ),
    );
    page.print()?;
    Ok(Exit::Measured)
}

fn check_baseline(check: &CheckArguments, command: &[String]) -> anyhow::Result<Exit> {
    let baseline = file::read(&check.file)?;
    let seeds = if baseline.loaded.is_empty() { &baseline.idle } else { &baseline.loaded };
    let asked = Asked {
        target: &find(check.target.as_deref().unwrap_or(&baseline.target))?,
        options: &baseline.options,
        seeds: u32::try_from(seeds.len()).unwrap_or(u32::MAX),
        first_seed: seeds.iter().map(|seed| seed.seed).min(),
        out: check.out.as_deref(),
        quiet: check.json,
    };
    let (runs, directory) = asked.measure(command)?;
    drift::show(&baseline, &check.file, &all_seed_runs(&runs), Some(&directory), check.json)
}

/// The system to measure.
struct Asked<'a> {
    target: &'a KnownTarget,
    options: &'a [String],
    seeds: u32,
    /// The seed from the options if absent.
    first_seed: Option<u64>,
    out: Option<&'a Path>,
    quiet: bool,
}

impl Asked<'_> {
    fn measure(&self, command: &[String]) -> anyhow::Result<(Vec<OpenedRun>, PathBuf)> {
        let target = self.target;
        if !target.is_in_virtual_time() {
            let text = format!(
                "{} is not a target in virtual time; `tardy target add NAME --virtual-time` makes one",
                target.name()
            );
            return Err(UsageError(text).into());
        }
        let mut settings = settings_in_virtual_time(target.name(), self.options)?;
        settings.dither_seed = self.first_seed.or(settings.dither_seed);
        let directory = match self.out {
            Some(out) => out.to_owned(),
            None => {
                let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                new_below(Path::new(RUNS), started.as_secs(), "baseline")?.0
            }
        };
        let meter = MeterPlaces::of_process().find()?;
        let signals = Signals::watch()?;
        let laboratory = Laboratory { target, meter: &meter, signals: &signals, command, quiet: self.quiet };
        Seeds { settings: &settings, count: self.seeds, idle_too: true }.measure(&laboratory, &directory)?;
        // Reopened like any other archive: by now it contains the explanations made after the measurement.
        Ok((open_all(std::slice::from_ref(&directory))?, directory))
    }
}

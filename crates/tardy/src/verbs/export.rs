//! `tardy export`: runs and rounds of plans in the formats of other programs.

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::options::limits::LimitArguments;
use crate::published::{self, PublishedResult};
use crate::terminal::json;
use crate::terminal::page::{Page, write_stdout};
use account::{Account, SpikeTrace};
use archive::reader::Run;
use archive::spike::{Spike, SpikeReason};
use clap::{Args, ValueEnum};
use interchange::exports::perfetto::{PerfettoTrace, SpikeView};
use interchange::exports::{comma_separated, execution_map};
use report::block_shares::{Row, svg};
use source::Source;
use std::path::{Path, PathBuf};

mod results;
mod source;

/// Export a run, or a round of a plan, for other programs
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Path of an archive, an id below runs/, or `latest`; the formats of test systems take several, and the directories that
    /// `tardy run PLAN` makes
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Export spike N, or `all` [default: all; for trace-dat the worst]
    #[arg(long, value_name = "N|all")]
    spike: Option<Which>,
    /// File to write, `-` for standard output [default: named after the format, in the archive]
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
    /// For fuego: the criteria.json that says what passes
    #[arg(long, value_name = "FILE")]
    criteria: Option<PathBuf>,
    /// For kcidb: the name of the system that submits
    #[arg(long, value_name = "NAME", default_value = "tardy")]
    origin: String,
    /// For kcidb: the id of a build that KCIDB knows, like origin:123
    #[arg(long, value_name = "ID")]
    build_id: Option<String>,
    /// For results-table and results-json: who answers questions about the results
    #[arg(long, value_name = "TEXT")]
    contact: Option<String>,
    /// For results-table and results-json: add the figures that the CE Linux Forum published, marked as historical
    #[arg(long)]
    historical: bool,
    /// Print the path of what was written as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Snapshots with ledgers and findings, for ui.perfetto.dev and its trace processor
    Perfetto,
    /// The snapshot of one spike, for trace-cmd and KernelShark
    TraceDat,
    /// Figures, histograms, seconds, spikes and explanations in one JSON document
    Json,
    /// Every histogram bucket of every thread
    HistogramCsv,
    /// The worst samples that were kept
    WorstCsv,
    /// Maximum and counts of every second
    SecondsCsv,
    /// What the kernel counted in every second: switches, interrupts, softirqs, faults, pressure
    CountersCsv,
    /// The execution map around the worst gap as a picture (of --method map with --every-sample)
    MapSvg,
    /// The share of software in storage latency, a bar for each run (of --method storage)
    StorageSvg,
    /// Every sample, for DuckDB, pandas and Polars (of a run with --every-sample)
    Parquet,
    /// JUnit XML: Jenkins, GitLab and most others
    Junit,
    /// TAP version 13
    Tap,
    /// The kernel's dialect of TAP
    Ktap,
    /// Signal lines for the log of a LAVA job
    Lava,
    /// Lines of a result.txt, for LAVA's test-definitions
    LavaResult,
    /// KCIDB's I/O schema 5.3
    Kcidb,
    /// SQUAD: what limits decided
    SquadTests,
    /// SQUAD: figures
    SquadMetrics,
    /// SQUAD: the machine
    SquadMetadata,
    /// Fuego's run.json 1.0
    Fuego,
    /// Prometheus' text format
    Prometheus,
    /// The comment under a merge request
    Markdown,
    /// A table to publish, in Markdown: machine, kernel, method, load, figures
    ResultsTable,
    /// The same as JSON
    ResultsJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Number(u32),
}

impl std::str::FromStr for Which {
    type Err = String;

    /// The parser of the command line shows the error unchanged.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        text.parse().map(Self::Number).map_err(|_| "neither the number of a spike nor `all`".into())
    }
}

pub fn run(arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let format = arguments.format;
    let sources = arguments.runs.iter().map(|name| Source::open(name)).collect::<anyhow::Result<Vec<Source>>>()?;
    let [source, others @ ..] = sources.as_slice() else { return Err(UsageError("no run is named".into()).into()) };
    let accounts: Vec<&Account> = sources.iter().flat_map(Source::accounts).collect();
    let [account, more @ ..] = accounts.as_slice() else {
        return Err(UsageError("this plan has no steps".into()).into());
    };
    let run = account.run();
    if !more.is_empty() && !results::takes_several(format) {
        let first = run.directory.display();
        return Err(UsageError(format!("this format holds one run; export each by itself, {first} for one")).into());
    }
    // A step that was not run is a result, too, but has no trace.
    if run.manifest.is_none() && !run.directory.exists() && !results::is_of_results(format) {
        let round = source.directory().display();
        return Err(UsageError(format!("{} was not run: tardy run --resume {round}", run.directory.display())).into());
    }
    if !others.is_empty() && arguments.output.is_none() {
        return Err(
            UsageError("say where results of several runs go: --output FILE, or - for standard output".into()).into()
        );
    }
    let of_rows = matches!(format, Format::ResultsTable | Format::ResultsJson);
    if (arguments.historical || arguments.contact.is_some()) && !of_rows {
        let text = "--historical and --contact are for the formats results-table and results-json";
        return Err(UsageError(text.into()).into());
    }
    if arguments.spike.is_some() && !matches!(format, Format::Perfetto | Format::TraceDat) {
        return Err(UsageError("--spike is for the formats perfetto and trace-dat".into()).into());
    }
    let (name, bytes) = match format {
        Format::Perfetto => perfetto(account, arguments.spike.unwrap_or(Which::All))?,
        Format::TraceDat => trace_dat(run, arguments.spike)?,
        Format::Json => ("run.json".into(), json::line(&account.report_data())?),
        Format::HistogramCsv => ("histogram.csv".into(), comma_separated::histogram(run).into_bytes()),
        Format::WorstCsv => ("worst.csv".into(), comma_separated::worst(run).into_bytes()),
        Format::SecondsCsv => ("seconds.csv".into(), comma_separated::seconds(run).into_bytes()),
        Format::CountersCsv => ("counters.csv".into(), comma_separated::counters(run).into_bytes()),
        Format::MapSvg => ("map.svg".into(), execution_map::svg(run)?.into_bytes()),
        Format::StorageSvg => ("storage.svg".into(), storage_shares(&accounts)?.into_bytes()),
        Format::Parquet => ("samples.parquet".into(), results::samples(account)?),
        Format::ResultsTable | Format::ResultsJson => published(&accounts, arguments)?,
        format => results::of(&sources, format, arguments)?,
    };
    if arguments.output.as_deref() == Some(Path::new("-")) {
        write_stdout(&bytes)?;
        return Ok(Exit::Measured);
    }
    let path = archives::write_document(arguments.output.as_deref(), source.directory(), &name, &bytes)?;
    if arguments.json {
        json::print(&serde_json::json!({ "path": path, "bytes": bytes.len() }))?;
        return Ok(Exit::Measured);
    }
    accounts
        .iter()
        .flat_map(|account| account.run().gaps.iter())
        .for_each(|gap| complain!("gap: {}", words::printable::printable(&gap.text)));
    let mut page = Page::for_stdout();
    page.line(&path.display().to_string());
    page.print()?;
    Ok(Exit::Measured)
}

/// Every run as a row, then the historical ones.
fn published(accounts: &[&Account], arguments: &ExportArguments) -> anyhow::Result<(String, Vec<u8>)> {
    let of = |account: &&Account| PublishedResult::of(account.summary(), arguments.contact.as_deref());
    let mut rows: Vec<PublishedResult> = accounts.iter().map(of).collect();
    if arguments.historical {
        rows.extend(published::historical());
    }
    Ok(match arguments.format {
        Format::ResultsJson => ("results.json".into(), json::indented(&rows)?),
        _ => ("results.md".into(), published::markdown(&rows).into_bytes()),
    })
}

/// Where the time of the requests of each run went.
fn storage_shares(accounts: &[&Account]) -> anyhow::Result<String> {
    let row = |account: &&Account| {
        let (run, requests) = (account.run(), account.block_requests()?.clone());
        let variant = run.planned.as_ref().and_then(|planned| planned.variant.clone());
        let directory = || run.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(Row { label: variant.unwrap_or_else(directory), account: requests })
    };
    let rows: Vec<Row> = accounts.iter().filter_map(row).collect();
    anyhow::ensure!(
        !rows.is_empty(),
        "failed to draw storage latency: no block requests are recorded; measure with --method storage"
    );
    let left_out = match accounts.len() - rows.len() {
        0 => String::new(),
        number => format!("{} without recorded block requests left out", words::figures::counted(number as u64, "run")),
    };
    let in_part = rows.iter().filter(|row| row.account.split * 100 < row.account.requests * 99);
    let in_part = in_part.map(|row| {
        let percent = u128::from(row.account.split) * 100 / u128::from(row.account.requests.max(1));
        format!("{}: {percent} %", row.label)
    });
    let in_part = in_part.collect::<Vec<_>>().join(", ");
    let in_part = if in_part.is_empty() { in_part } else { format!("requests that were divided: {in_part}") };
    let remark: Vec<String> = [left_out, in_part].into_iter().filter(|part| !part.is_empty()).collect();
    Ok(svg(&rows, &remark.join("; ")))
}

/// One trace with all requested spikes, one after the other.
fn perfetto(account: &Account, which: Which) -> anyhow::Result<(String, Vec<u8>)> {
    let (run, data) = (account.run(), account.report_data());
    let mut spikes: Vec<&Spike> = match which {
        Which::All => run.spikes.iter().collect(),
        Which::Number(number) => vec![spike_of(run, number)?],
    };
    spikes.sort_by_key(|spike| (spike.sample.due_ns, spike.number));
    let mut trace = PerfettoTrace::new(&data.summary);
    if which == Which::All {
        trace.add_seconds(&data.summary, &data.seconds);
        run.threads.values().for_each(|thread| trace.add_worst(thread.cpu, &thread.worst));
    }
    for spike in spikes {
        let recorded = if spike.snapshot.is_some() { SpikeTrace::open(run, spike.number).ok() } else { None };
        let recorded = recorded.unwrap_or_default();
        let explanation = account.explanation_of(spike.number);
        let stretches = account.stretches(spike, recorded.source());
        trace.add_spike(SpikeView { spike, explanation, stretches: &stretches, trace: recorded.source() });
    }
    let name = match which {
        Which::All => "run.pftrace".into(),
        Which::Number(number) => format!("spike-{number:04}.pftrace"),
    };
    Ok((name, trace.finish()))
}

fn trace_dat(run: &Run, which: Option<Which>) -> anyhow::Result<(String, Vec<u8>)> {
    let number = match which {
        Some(Which::Number(number)) => number,
        Some(Which::All) => {
            return Err(UsageError("a trace.dat holds one spike; name it by its number".into()).into());
        }
        None => {
            let recorded = run.spikes.iter().filter(|spike| spike.snapshot.is_some());
            let late = recorded.filter(|spike| spike.reason != SpikeReason::Control);
            let worst = late.max_by_key(|spike| spike.sample.latency_ns);
            worst.ok_or_else(|| UsageError("this run has no snapshot".into()))?.number
        }
    };
    spike_of(run, number)?;
    Ok((format!("spike-{number:04}.trace.dat"), run.spike_trace(number)?))
}

fn spike_of(run: &Run, number: u32) -> Result<&Spike, UsageError> {
    run.spikes.iter().find(|spike| spike.number == number).ok_or_else(|| {
        let numbers: Vec<String> = run.spikes.iter().map(|spike| spike.number.to_string()).collect();
        UsageError(format!("this run has no spike {number}; it has: {}", numbers.join(" ")))
    })
}

//! `tardy explain`: the account of a run's spikes, as text or as JSON.

mod bound;
mod diff;
mod since;

use crate::archives;
use crate::briefs::explained::{Asked, explained as briefly, no_spike};
use crate::chained;
use crate::exit::{Exit, UsageError};
use crate::options::brief::BriefArgument;
use crate::options::moment::{Moment, moment};
use crate::options::quantity::whole;
use crate::recording::{self, Recorded, RecordingArguments};
use crate::terminal::answer::{Answer, Next};
use crate::terminal::block_requests::lay_out as lay_out_requests;
use crate::terminal::explained::timeline::Canvas;
use crate::terminal::explained::{account, alarm, causes, print_document};
use crate::terminal::json;
use crate::terminal::kernel_tracers::lay_out_latencies;
use crate::terminal::page::Page;
use crate::verb::{Group, Place, Verb};
use ::account::{Account, ExplanationSource};
use archive::reader::Run;
use archive::spike::Spike;
use clap::Args;
use std::path::PathBuf;
use words::shell::quoted;

/// Account for every nanosecond of a run's worst spikes
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Archive, id below runs/, `latest` [default], or a trace
    #[arg(value_name = "RUN|FILE")]
    run: Option<PathBuf>,
    #[command(flatten)]
    recording: RecordingArguments,
    /// Compare the causes of two runs
    #[arg(long, num_args = 2, value_names = ["RUN_A", "RUN_B"], conflicts_with_all = ["run", "spike", "events", "timeline"])]
    diff: Option<Vec<PathBuf>>,
    /// Show all causes, and ledgers of the worst spikes
    #[arg(long, conflicts_with = "json")]
    more: bool,
    /// The same of the N worst spikes
    #[arg(long, value_name = "N", conflicts_with = "spike", value_parser = whole::<usize>(1..))]
    worst: Option<usize>,
    /// Show the ledger of spike N
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..))]
    spike: Option<u32>,
    /// Show the events of the trace, too
    #[arg(long)]
    events: bool,
    /// Draw each spike with letters on any terminal
    #[arg(long)]
    timeline: bool,
    /// Show the analytical bound, or the bound of DELAYS
    #[arg(
        long,
        value_name = "DELAYS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = bound::NO_VALUES,
        conflicts_with_all = ["diff", "spike", "events", "timeline"]
    )]
    bound: Option<String>,
    /// Account for the chains of threads that FILE declares
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_WITH_CHAINS)]
    chain: Option<PathBuf>,
    /// Propose chains of threads, as a file for --chain
    #[arg(long, conflicts_with_all = NOT_WITH_CHAINS, conflicts_with_all = ["chain", "more"])]
    discover: bool,
    /// Show the part of the run, or of the archives below a directory, from WHEN: 8h before its end, or
    /// 2026-11-29T06:00 in UTC
    #[arg(long, value_name = "WHEN", value_parser = moment, conflicts_with_all = NOT_WITH_A_PART)]
    since: Option<Moment>,
    /// Show the part of the run before WHEN
    #[arg(long, value_name = "WHEN", value_parser = moment, conflicts_with_all = NOT_WITH_A_PART)]
    until: Option<Moment>,
    /// Print one JSON document
    #[arg(long, conflicts_with_all = ["events", "worst", "timeline"])]
    json: bool,
    #[command(flatten)]
    brief: BriefArgument,
    /// With --brief: show the evidence that an account names
    #[arg(long, value_name = "ID", requires = "brief", conflicts_with = "spike", hide_short_help = true)]
    evidence: Option<String>,
}

/// Options of other forms of the answer.
const NOT_WITH_CHAINS: [&str; 11] =
    ["diff", "bound", "spike", "worst", "events", "timeline", "brief", "evidence", "comm", "pid", "out"];
/// Options of other forms than the answer about a part of a run.
const NOT_WITH_A_PART: [&str; 15] = [
    "diff", "more", "bound", "spike", "worst", "events", "timeline", "brief", "evidence", "comm", "pid", "out",
    "chain", "discover", "json",
];
const NOTHING_CAPTURED: &str = "The run captured no late wake-up, so there is no trace to explain.";
/// Spikes whose ledger `--more` shows.
const WORST_SHOWN: usize = 3;

impl ExplainArguments {
    /// Whether more than the short answer was asked for.
    fn is_detailed(&self) -> bool {
        self.more || self.worst.is_some() || self.spike.is_some() || self.events || self.timeline
    }

    /// The part that `--brief` shows.
    fn asked(&self) -> Asked {
        match (self.spike, &self.evidence) {
            (Some(number), _) => Asked::Spike(number),
            (None, Some(id)) => Asked::Evidence(id.clone()),
            (None, None) => Asked::Causes,
        }
    }

    /// # Errors
    /// Options that belong to another form of the answer.
    fn check(&self) -> Result<(), UsageError> {
        if self.json && self.spike.is_some() && !self.brief.is_given() {
            return Err(UsageError("--json has every spike; add --brief for one of them".into()));
        }
        if self.brief.is_given() && (self.diff.is_some() || self.bound.is_some()) {
            return Err(UsageError("--diff and --bound have no short document; leave out --brief".into()));
        }
        Ok(())
    }
}

impl Verb for ExplainArguments {
    const NAME: &'static str = "explain";
    const PLACE: Place = Place::Listed(Group::Understand);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy explain before --spike 2 --timeline",
        "tardy explain latest --since 8h",
        "tardy explain trace.dat --chain robot.toml",
    ];

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &ExplainArguments, typed: &[String]) -> anyhow::Result<Exit> {
    arguments.check()?;
    if let Some([a, b]) = arguments.diff.as_deref() {
        return diff::run(a, b, diff::Shown { json: arguments.json, more: arguments.more, typed });
    }
    if arguments.since.is_some() || arguments.until.is_some() {
        return since::run(arguments.run.as_deref(), (arguments.since, arguments.until));
    }
    if arguments.chain.is_some() || arguments.discover {
        return chains_of(arguments);
    }
    let delays = arguments.bound.as_deref().map(bound::delays).transpose()?;
    let run = match Recorded::named(arguments.run.as_deref(), &arguments.recording)? {
        Some(recorded) => recording::archive_of(&recorded, &arguments.recording, arguments.worst.unwrap_or_default())?,
        None => archives::open_or_latest(arguments.run.as_deref())?,
    };
    let explained = Account::of(run, ExplanationSource::Traces);
    if arguments.brief.is_given() {
        json::print(&briefly(&explained, &arguments.asked())?)?;
        return Ok(Exit::Measured);
    }
    if let Some(delays) = delays {
        bound::show(&explained, delays, arguments.json)?;
        return Ok(Exit::Measured);
    }
    if arguments.json {
        return print_document(&explained);
    }
    if let Some(advice) = audit_advice(explained.run()) {
        let mut page = Page::for_stdout();
        page.wrapped("", &advice);
        page.print()?;
        return Ok(Exit::Measured);
    }
    if !arguments.is_detailed() {
        let (summary, next) = (&explained.explained_summary(), next(&explained));
        Answer { account: &explained, summary, shown: None, next }.lay_out(Page::for_stdout()).print()?;
        return Ok(Exit::Measured);
    }
    let run = explained.run();
    let mut page = Page::for_stdout();
    alarm(run, &mut page);
    run.gaps.iter().for_each(|gap| page.wrapped("gap: ", &gap.text));
    let chosen = chosen(&explained, arguments)?;
    if chosen.is_empty() {
        match advice(run) {
            Some(advice) => page.wrapped("", &advice),
            None => page.wrapped("", NOTHING_CAPTURED),
        }
    }
    if arguments.spike.is_none() {
        causes::lay_out(explained.causes(), explained.sample_word(), &mut page);
    }
    let canvas = Canvas::for_stdout(arguments.timeline);
    for spike in &chosen {
        page.blank();
        account::lay_out(spike, &explained, canvas, &mut page);
        if arguments.events {
            lay_out_events(&explained, spike, &mut page);
        }
    }
    let left = captured(run).saturating_sub(chosen.len());
    if left > 0 && arguments.spike.is_none() {
        page.blank();
        let archive = quoted(&run.directory.display().to_string());
        page.wrapped("", &format!("{left} more; tardy explain {archive} --worst {}", left + chosen.len()));
    }
    if arguments.spike.is_none() {
        lay_out_requests(explained.block_requests(), &mut page);
        lay_out_latencies(&explained.summary().latency_traces, &mut page);
    }
    page.print()?;
    Ok(Exit::Measured)
}

/// The chains of a recording, or of the snapshots of a run.
fn chains_of(arguments: &ExplainArguments) -> anyhow::Result<Exit> {
    let declared = arguments.chain.as_deref().map(|file| Ok::<_, UsageError>((file, chained::declared(file)?)));
    let declared = declared.transpose()?;
    let events = declared.as_ref().map(|(_, file)| file.events()).unwrap_or_default();
    let (recordings, name) = match Recorded::named(arguments.run.as_deref(), &arguments.recording)? {
        Some(recorded) => (chained::of_recording(&recorded, &events)?, arguments.run.clone().unwrap_or_default()),
        None => {
            let run = archives::open_or_latest(arguments.run.as_deref())?;
            (chained::of_run(&run, &events)?, run.directory)
        }
    };
    match declared {
        Some((path, file)) => {
            let (json, more) = (arguments.json, arguments.more);
            chained::show(&recordings, &file, chained::Shown { json, more, named: (&name, path) })
        }
        None => chained::propose(&recordings, arguments.json),
    }
}

/// The commands that show more of the run, or why there is no more.
fn next(explained: &Account) -> Next {
    let run = explained.run();
    if captured(run) == 0 {
        return Next::Nothing(advice(run).unwrap_or_else(|| NOTHING_CAPTURED.into()));
    }
    let archive = quoted(&run.directory.display().to_string());
    Next::Commands(vec![format!("tardy explain {archive} --more"), format!("tardy report {archive}")])
}

/// Where the answer of an audit is: the lateness of its threads is a by-product without traces.
fn audit_advice(run: &Run) -> Option<String> {
    run.manifest.as_ref()?.settings.as_ref()?.audit.as_ref()?;
    let name = quoted(&run.directory.display().to_string());
    Some(format!(
        "This is an audit: it records what a program asks of the kernel, and no trace of a late wake-up. `tardy audit --archive \
         {name}` shows its findings."
    ))
}

/// Where the answer of a run is that has no spike to explain.
fn advice(run: &Run) -> Option<String> {
    let manifest = run.manifest.as_ref()?;
    let name = quoted(&run.directory.display().to_string());
    if run.is_stretch() {
        return Some(
            "A latency tracer keeps one stretch and no cause. To see the cause, record the events: `trace-cmd record -C mono \
             -e sched -e irq -e irq_vectors -e timer`, and `tardy explain trace.dat`."
                .into(),
        );
    }
    if manifest.imported.is_some() {
        return Some(
            "An imported result holds no traces, so its causes are unknown; `tardy run` measures with traces.".into(),
        );
    }
    (manifest.virtual_time && run.recordings.is_empty()).then(|| {
        format!(
            "Nothing was recorded. `tardy virtual record {name}` makes the run again, to the nanosecond, and shows what ran."
        )
    })
}

fn captured(run: &Run) -> usize {
    run.late_spikes().count()
}

/// The requested spike, or the worst ones without the control samples.
fn chosen<'a>(account: &'a Account, arguments: &ExplainArguments) -> Result<Vec<&'a Spike>, UsageError> {
    let run = account.run();
    if let Some(number) = arguments.spike {
        let found = run.spikes.iter().find(|spike| spike.number == number);
        return Ok(vec![found.ok_or_else(|| no_spike(account, number))?]);
    }
    let mut spikes: Vec<&Spike> = run.late_spikes().collect();
    spikes.sort_by_key(|spike| (std::cmp::Reverse(spike.sample.latency_ns), spike.number));
    spikes.truncate(arguments.worst.unwrap_or(WORST_SHOWN));
    Ok(spikes)
}

fn lay_out_events(explained: &Account, spike: &Spike, page: &mut Page) {
    let events = explained.events(spike);
    page.blank();
    page.line(if events.is_empty() { "  no events" } else { "  events" });
    events.iter().for_each(|event| page.record(4, event));
}

//! `tardy judge`: what a saved run proves, and whether it shows that a limit holds.

use super::archives;
use super::exit::{Exit, UsageError};
use super::observe::confidence;
use super::quantity::time_ns;
use crate::judging::{JudgedRun, judge_run};
use crate::text::figures::latency;
use crate::text::page::{Page, write_stdout};
use crate::text::table::{Align, Table};
use archive::reader::Run;
use clap::{Args, ValueEnum};
use judge::limit::{Limit, Rate, Requirement};
use judge::machine::DoubtKind;
use judge::verdict::{CpuJudgement, Judgement, Verdict};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  tardy judge latest --limit 'latency < 100us' --allow 1/h
  tardy judge latest --limit 'p99.9 < 50us' --limit 'missed < 1/day' --confidence 99
  tardy judge latest

Exit codes: 0 every limit is passed, 1 one is failed, 2 wrong usage, 3 the run cannot be judged, 4 not enough data.
Without a limit it says what the run proves by its length.";

/// Say whether a run shows that a limit holds: PASS, FAIL or NOT ENOUGH DATA
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct JudgeArguments {
    /// Path of an archive, an id below runs/, or `latest`
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// What must hold: 'latency < 100us', 'p99.9 < 50us', 'missed < 1/h'; may be repeated [default: the run's --limit]
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<String>,
    /// How often a latency may be exceeded on each CPU, like 1/h, 3/day or never
    #[arg(long, value_name = "RATE", default_value = "1/h", value_parser = Rate::parse)]
    allow: Rate,
    /// Confidence of the verdict, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: f64,
    /// Let such a machine pass a limit all the same
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    accept: Vec<AcceptName>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AcceptName {
    /// A program imitated the processor
    Emulated,
    /// A virtual machine
    Virtual,
    Container,
    /// A kernel that is not PREEMPT_RT
    NonRt,
    /// A machine of which nothing is known
    Unknown,
}

impl AcceptName {
    fn kind(self) -> DoubtKind {
        match self {
            Self::Emulated => DoubtKind::Emulated,
            Self::Virtual => DoubtKind::Virtual,
            Self::Container => DoubtKind::Container,
            Self::NonRt => DoubtKind::NonRt,
            Self::Unknown => DoubtKind::Unknown,
        }
    }
}

pub fn run(arguments: &JudgeArguments) -> anyhow::Result<Exit> {
    let run = archives::open(&arguments.run)?;
    let limits = limits(arguments, &run)?;
    let accepted: Vec<DoubtKind> = arguments.accept.iter().map(|name| name.kind()).collect();
    let explanations = run.explanations().unwrap_or_default();
    let judged = judge_run(&run, &explanations, &limits, arguments.confidence, &accepted);
    if arguments.json {
        let mut document = serde_json::to_vec(&judged)?;
        document.push(b'\n');
        write_stdout(&document)?;
    } else {
        lay_out(&judged, Page::for_stdout()).print()?;
    }
    Ok(exit_of(&judged))
}

/// The limits that were typed, or else the one the run was measured with.
fn limits(arguments: &JudgeArguments, run: &Run) -> Result<Vec<Limit>, UsageError> {
    let typed = arguments.limits.iter().map(|text| Limit::parse(text, &arguments.allow, time_ns).map_err(UsageError));
    let typed: Vec<Limit> = typed.collect::<Result<_, _>>()?;
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    match settings.and_then(|settings| settings.limit_ns) {
        Some(latest_ns) if typed.is_empty() => Ok(vec![Limit {
            text: format!("latency <= {}", latency(latest_ns)),
            requirement: Requirement::Latency { latest_ns },
            allow: Some(arguments.allow.clone()),
        }]),
        _ => Ok(typed),
    }
}

fn exit_of(judged: &JudgedRun) -> Exit {
    match judged.judgements.iter().map(|judgement| judgement.verdict).max() {
        None if judged.proof.is_none() => Exit::NotMeasured,
        None | Some(Verdict::Pass) => Exit::Measured,
        Some(Verdict::Fail) => Exit::LimitExceeded,
        Some(Verdict::NoVerdict) => Exit::NotMeasured,
        Some(Verdict::NotEnoughData) => Exit::NotEnoughData,
    }
}

fn lay_out(judged: &JudgedRun, mut page: Page) -> Page {
    if judged.emulated {
        page.alarm("EMULATED MACHINE: these latencies mean nothing as real-time figures.");
    }
    for judgement in &judged.judgements {
        page.blank();
        lay_out_judgement(judgement, &mut page);
    }
    page.blank();
    match &judged.proof {
        Some(proof) => {
            page.heading("What this run proves by its length");
            proof.sentences.iter().for_each(|sentence| page.wrapped("  ", sentence));
            lay_out_quantiles(proof, &mut page);
        }
        None => page.line("This run proves nothing: it is not valid, or nothing was measured."),
    }
    if let Some(tracing) = judged.tracing.as_deref().filter(|tracing| *tracing != "off") {
        page.wrapped("  ", &format!("Recorded meanwhile: {tracing}; the latencies include what that costs."));
    }
    page
}

fn lay_out_judgement(judgement: &Judgement, page: &mut Page) {
    let allow = match (&judgement.limit.requirement, &judgement.limit.allow) {
        (Requirement::Latency { .. }, Some(rate)) => format!(", exceeded at most {} on each CPU", rate.text),
        _ => String::new(),
    };
    page.heading(&format!("{}{allow}", judgement.limit.text));
    page.wrapped("  ", &judgement.sentence);
    if judgement.cpus.len() > 1 {
        let mut table = Table::new(&[Align::Right, Align::Left, Align::Right, Align::Right, Align::Right]);
        let unit =
            if matches!(judgement.limit.requirement, Requirement::Quantile { .. }) { "share" } else { "an hour" };
        table.row(["  CPU", "verdict", unit, "at least", "at most"]);
        for cpu in &judgement.cpus {
            table.row(row(cpu));
        }
        table.lines().iter().for_each(|line| page.line(line));
    }
    for doubt in &judgement.doubts {
        page.wrapped("  note: ", &doubt.text);
    }
}

fn row(cpu: &CpuJudgement) -> [String; 5] {
    let number = |value: f64| match value {
        _ if cpu.blocks.is_none() && cpu.samples.is_none() => "-".into(),
        value if cpu.samples.is_some() => format!("{:.4} %", value * 100.0),
        value => format!("{value:.2}"),
    };
    [cpu.cpu.to_string(), cpu.verdict.words().into(), number(cpu.seen), number(cpu.low), number(cpu.high)]
}

fn lay_out_quantiles(proof: &judge::proof::Proof, page: &mut Page) {
    for cpu in &proof.cpus {
        for interval in &cpu.quantiles {
            let end = |ns: Option<i64>| ns.map_or("anything".into(), latency);
            page.wrapped(
                "  ",
                &format!(
                    "CPU {}: {} lies between {} and {}.",
                    cpu.cpu,
                    interval.quantile,
                    end(interval.low_ns),
                    end(interval.high_ns)
                ),
            );
        }
    }
}

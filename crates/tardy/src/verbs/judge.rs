//! `tardy judge`: what a saved run proves, and whether it shows that a limit holds.

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::options::limits::{LimitArguments, described};
use crate::options::quantity::positive_time_ns;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::summary::alarm_of_clock;
use crate::terminal::table::{Align, Table};
use crate::verb::{Group, Place, Verb};
use crate::virtual_time::baseline;
use account::{Account, ExplanationSource, JUDGE_VERSION, JudgedRun};
use clap::Args;
use judge::length::{Needed, needed};
use judge::limit::Requirement;
use judge::verdict::{CpuJudgement, Judgement, Verdict};
use std::path::PathBuf;
use words::figures::latency;

/// Decide whether a run shows that a limit holds
#[derive(Debug, Args)]
pub struct JudgeArguments {
    /// Path of an archive, an id below runs/, or `latest`
    #[arg(value_name = "RUN", required_unless_present = "plan_test")]
    runs: Vec<PathBuf>,
    /// Judge runs in virtual time by this file of `tardy virtual baseline` instead: all its seeds, or directories with them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["limits", "allow", "confidence", "accept"])]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
    /// Extrapolate to the largest latency in TIME, at most ten times the length of the run, if its tail allows
    #[arg(long, value_name = "TIME", value_parser = positive_time_ns)]
    horizon: Option<u64>,
    /// Show how long a test must be to prove each --limit; takes no run
    #[arg(long, conflicts_with_all = ["runs", "horizon", "baseline"])]
    plan_test: bool,
    /// Interval between two wake-ups of the planned test
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = positive_time_ns, requires = "plan_test")]
    interval: u64,
    /// Also show what the length of the run proves
    #[arg(long)]
    more: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for JudgeArguments {
    const NAME: &'static str = "judge";
    const PLACE: Place = Place::Listed(Group::Prove);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy judge latest --limit 'latency < 100us' --allow 1/h",
        "tardy judge latest --limit 'p99.9 < 50us' --limit 'missed < 1/day' --confidence 99",
        "tardy judge latest",
        "tardy judge latest --horizon 10d",
        "tardy judge --plan-test --limit 'latency < 100us' --allow 1/day",
        "tardy judge --baseline tardy-baseline.toml runs/seeds",
    ];
    const NOTES: &'static str = "\
Exit codes: 0 every limit is passed, 1 one is failed, 2 wrong usage, 3 the run cannot be judged, 4 not enough data.
A refused extrapolation exits with code 4. Without a limit it shows what the length of the run proves.";

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &JudgeArguments) -> anyhow::Result<Exit> {
    if let Some(file) = &arguments.baseline {
        return baseline::judge(file, &arguments.runs, arguments.json);
    }
    if arguments.plan_test {
        return plan_test(arguments);
    }
    let [run] = arguments.runs.as_slice() else {
        return Err(UsageError("a limit is judged run by run; only with --baseline several are taken".into()).into());
    };
    let run = archives::open(run)?;
    let limits = arguments.limits.of(&run)?;
    let (confidence, accepted) = (arguments.limits.confidence_of(&run), arguments.limits.accepted_of(&run));
    let account = Account::of(run, ExplanationSource::Stored);
    let mut judged = account.judged(&limits, confidence, &accepted);
    if let Some(horizon_ns) = arguments.horizon {
        judged.extrapolations = account.extrapolate(horizon_ns, confidence);
    }
    if arguments.json {
        json::print(&judged)?;
    } else {
        lay_out(&judged, arguments.more, Page::for_stdout()).print()?;
    }
    Ok(exit_of(&judged))
}

/// The test duration needed to show each of the limits.
fn plan_test(arguments: &JudgeArguments) -> anyhow::Result<Exit> {
    let limits = arguments.limits.typed()?;
    if limits.is_empty() {
        return Err(UsageError(
            "--plan-test needs what is to be shown: --limit 'latency < 100us' --allow 1/day".into(),
        )
        .into());
    }
    let plans: Vec<Needed> =
        limits.iter().map(|limit| needed(limit, arguments.interval, arguments.limits.confidence())).collect();
    if arguments.json {
        let document = serde_json::json!({ "judge_version": JUDGE_VERSION, "test_plans": plans });
        json::print(&document)?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    for plan in &plans {
        page.blank();
        page.heading(&described(&plan.limit));
        page.wrapped("  ", &plan.sentence);
    }
    page.print()?;
    Ok(Exit::Measured)
}

fn exit_of(judged: &JudgedRun) -> Exit {
    match judged.judgements.iter().map(|judgement| judgement.verdict).max() {
        None if judged.proof.is_none() => Exit::NotMeasured,
        None | Some(Verdict::Pass) if judged.extrapolations.iter().any(|cpu| cpu.refusal.is_some()) => {
            Exit::NotEnoughData
        }
        None | Some(Verdict::Pass) => Exit::Measured,
        Some(Verdict::Fail) => Exit::LimitExceeded,
        Some(Verdict::NoVerdict) => Exit::NotMeasured,
        Some(Verdict::NotEnoughData) => Exit::NotEnoughData,
    }
}

/// The proof by the length of the run is the answer where no limit is decided; elsewhere it waits for `--more`.
fn lay_out(judged: &JudgedRun, more: bool, mut page: Page) -> Page {
    alarm_of_clock(judged.virtual_time, judged.emulated, &mut page);
    for judgement in &judged.judgements {
        page.blank();
        lay_out_judgement(judgement, &mut page);
    }
    let decided = judged.judgements.iter().all(|judgement| matches!(judgement.verdict, Verdict::Pass | Verdict::Fail));
    if more || !decided || judged.judgements.is_empty() {
        lay_out_proof(judged, &mut page);
    }
    if !judged.extrapolations.is_empty() {
        page.blank();
        page.heading("Beyond the test");
        judged.extrapolations.iter().for_each(|cpu| page.wrapped("  ", &cpu.sentence));
    }
    if let Some(tracing) = judged.tracing.as_deref().filter(|tracing| *tracing != "off") {
        page.wrapped("  ", &format!("Recorded meanwhile: {tracing}; the latencies include what that costs."));
    }
    page
}

fn lay_out_proof(judged: &JudgedRun, page: &mut Page) {
    page.blank();
    match &judged.proof {
        Some(proof) => {
            page.heading("What this run proves by its length");
            proof.sentences.iter().for_each(|sentence| page.wrapped("  ", sentence));
            lay_out_quantiles(proof, page);
        }
        None if !judged.valid => page.wrapped("", "This run proves nothing: it is not valid."),
        None => page.wrapped("", "The archive does not say for how long it measured, so its length proves nothing."),
    }
}

fn lay_out_judgement(judgement: &Judgement, page: &mut Page) {
    page.heading(&described(&judgement.limit));
    page.wrapped("  ", &judgement.sentence);
    if judgement.cpus.len() > 1 {
        page.table(&table(judgement));
    }
    for doubt in &judgement.doubts {
        page.wrapped("  note: ", &doubt.text);
    }
    for caution in &judgement.cautions {
        page.wrapped("  note: ", &caution.text);
    }
}

fn table(judgement: &Judgement) -> Table {
    let watched = judgement.cpus.iter().any(|cpu| cpu.series.is_some());
    let (first, subject) = if watched { (Align::Left, "  thread") } else { (Align::Right, "  CPU") };
    if judgement.cpus.iter().all(|cpu| cpu.latest_ns.is_some()) {
        let mut table = Table::new(&[first, Align::Left, Align::Right]);
        table.row([subject, "verdict", "max"]);
        for cpu in &judgement.cpus {
            table.row([name(cpu), cpu.verdict.words().into(), cpu.latest_ns.map_or(String::new(), latency)]);
        }
        return table;
    }
    let mut table = Table::new(&[first, Align::Left, Align::Right, Align::Right, Align::Right]);
    let unit =
        if matches!(judgement.limit.requirement, Requirement::Quantile { .. }) { "share" } else { "times an hour" };
    table.row([subject, "verdict", unit, "at least", "at most"]);
    judgement.cpus.iter().for_each(|cpu| table.row(row(cpu)));
    table
}

fn name(cpu: &CpuJudgement) -> String {
    cpu.series.as_ref().map_or_else(|| cpu.cpu.to_string(), |series| format!("  {series}"))
}

fn row(cpu: &CpuJudgement) -> [String; 5] {
    let number = |value: f64| match value {
        _ if cpu.blocks.is_none() && cpu.samples.is_none() => "-".into(),
        value if cpu.samples.is_some() => format!("{:.4} %", value * 100.0),
        value => format!("{value:.2}"),
    };
    [name(cpu), cpu.verdict.words().into(), number(cpu.seen), number(cpu.low), number(cpu.high)]
}

fn lay_out_quantiles(proof: &judge::proof::Proof, page: &mut Page) {
    for cpu in &proof.cpus {
        for interval in &cpu.quantiles {
            let Some(high) = interval.high_ns.map(latency) else { continue };
            let range = match interval.low_ns {
                Some(low) => format!("lies between {} and {high}", latency(low)),
                None => format!("is {high} or less"),
            };
            let assumed = match interval.stretch_s {
                0 | 1 => String::new(),
                seconds => format!(", by stretches of {seconds} s, so long do late wake-ups come together"),
            };
            page.wrapped(
                "  ",
                &format!(
                    "CPU {}: {} {range}, with {} % confidence{assumed}.",
                    cpu.cpu,
                    interval.quantile,
                    proof.confidence * 100.0
                ),
            );
        }
    }
}

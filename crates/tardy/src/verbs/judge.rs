//! `tardy judge`: what a saved run proves, and whether it shows that a limit holds.

use crate::archives;
use crate::briefs::judged::judged;
use crate::exit::{Exit, UsageError};
use crate::options::brief::BriefArgument;
use crate::options::limits::{LimitArguments, described};
use crate::options::quantity::positive_time_ns;
use crate::terminal::clock_alarm::{alarm_of_clock, clock_alarm};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::short::Short;
use crate::terminal::table::{Align, Table};
use crate::verb::{Group, Place, Verb};
use crate::virtual_time::baseline;
use account::brief::judged::BriefJudged;
use account::{JUDGE_VERSION, JudgedRun};
use claims::limit::Requirement;
use clap::Args;
use judge::length::{Needed, needed};
use judge::verdict::{CpuJudgement, Judgement, Verdict};
use std::collections::BTreeSet;
use std::path::PathBuf;
use words::figures::latency;

/// Decide whether a run shows that a limit holds
#[derive(Debug, Args)]
pub struct JudgeArguments {
    /// Path of an archive, an id below runs/, or `latest` [default: latest]
    #[arg(value_name = "RUN")]
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
    /// Show each CPU, and what the length of the run proves
    #[arg(long, conflicts_with = "json")]
    more: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    brief: BriefArgument,
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

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &JudgeArguments, typed: &[String]) -> anyhow::Result<Exit> {
    if arguments.brief.is_given()
        && (arguments.baseline.is_some() || arguments.plan_test || arguments.horizon.is_some())
    {
        let text = "--baseline, --plan-test and --horizon have no short document; leave out --brief";
        return Err(UsageError(text.into()).into());
    }
    if let Some(file) = &arguments.baseline {
        return baseline::judge(file, &arguments.runs, arguments.json);
    }
    if arguments.plan_test {
        return plan_test(arguments);
    }
    if arguments.runs.len() > 1 {
        return Err(UsageError("a limit is judged run by run; only with --baseline several are taken".into()).into());
    }
    let run = archives::open_or_latest(arguments.runs.first().map(PathBuf::as_path))?;
    let judged = judged(run, &arguments.limits, arguments.horizon)?;
    if arguments.brief.is_given() {
        json::print(&BriefJudged::of(&judged))?;
    } else if arguments.json {
        json::print(&judged)?;
    } else {
        let page = Page::for_stdout();
        if arguments.more { lay_out(&judged, page) } else { short(&judged, typed, page) }.print()?;
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

/// The verdicts with their evidence; without a limit, what the length of the run proves.
fn short(judged: &JudgedRun, typed: &[String], page: Page) -> Page {
    let mut short = Short::on(page);
    let alarm = clock_alarm(judged.virtual_time, judged.emulated).filter(|_| judged.judgements.is_empty());
    short.optional("", alarm);
    for judgement in &judged.judgements {
        short.whole("", &described(&judgement.limit));
        short.text(2, "  ", &judgement.sentence);
    }
    if judged.judgements.is_empty() || !judged.valid {
        match &judged.proof {
            Some(proof) => proof.sentences.iter().for_each(|sentence| short.text(1, "", sentence)),
            None => short.whole("", unproven(judged)),
        }
    }
    judged.extrapolations.iter().for_each(|cpu| short.text(2, "", &cpu.sentence));
    let notes: BTreeSet<&str> = judged.judgements.iter().flat_map(notes).collect();
    let notes: Vec<&str> = notes.into_iter().collect();
    short.optional("note: ", Some(notes.join("; ")).filter(|notes| !notes.is_empty()));
    short.more(typed);
    short.lay_out()
}

/// The doubts about the machine, and the cautions.
fn notes(judgement: &Judgement) -> impl Iterator<Item = &str> {
    let doubts = judgement.doubts.iter().map(|doubt| doubt.text.as_str());
    doubts.chain(judgement.cautions.iter().map(|caution| caution.text.as_str()))
}

/// Why the length of the run proves nothing.
fn unproven(judged: &JudgedRun) -> &'static str {
    match judged.valid {
        false => "This run proves nothing: it is not valid.",
        true => "The archive does not say for how long it measured, so its length proves nothing.",
    }
}

fn lay_out(judged: &JudgedRun, mut page: Page) -> Page {
    alarm_of_clock(judged.virtual_time, judged.emulated, &mut page);
    for judgement in &judged.judgements {
        page.blank();
        lay_out_judgement(judgement, &mut page);
    }
    lay_out_proof(judged, &mut page);
    if !judged.extrapolations.is_empty() {
        page.blank();
        page.heading("Beyond the test");
        judged.extrapolations.iter().for_each(|cpu| page.wrapped("  ", &cpu.sentence));
    }
    if let Some(tracing) = judged.tracing.as_deref().filter(|tracing| *tracing != "off") {
        page.wrapped("  ", &format!("Tracing: {tracing}; the latencies include its cost."));
    }
    page
}

fn lay_out_proof(judged: &JudgedRun, page: &mut Page) {
    page.blank();
    match &judged.proof {
        Some(proof) => {
            page.heading("Claims that this length can prove");
            proof.sentences.iter().for_each(|sentence| page.wrapped("  ", sentence));
            lay_out_quantiles(proof, page);
        }
        None => page.wrapped("", unproven(judged)),
    }
}

fn lay_out_judgement(judgement: &Judgement, page: &mut Page) {
    page.heading(&described(&judgement.limit));
    page.wrapped("  ", &judgement.sentence);
    if judgement.cpus.len() > 1 {
        page.table(&table(judgement));
    }
    notes(judgement).for_each(|note| page.wrapped("  note: ", note));
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

//! The formats of systems that collect test results: each run is judged by its limits first.

use super::source::Source;
use super::{ExportArguments, Format};
use crate::exit::UsageError;
use crate::terminal::json;
use account::Account;
use anyhow::Context;
use archive::damage::Damage;
use archive::manifest::RunState;
use archive::problem::{ProblemKind, Remark};
use archive::summary::RunSummary;
use interchange::results::kcidb::{self, Submission};
use interchange::results::prometheus::{self, Measured};
use interchange::results::tap::{self, Dialect};
use interchange::results::{RunResults, fuego, gather, junit, lava, make_names_distinct, markdown, squad};
use judge::criteria::Criteria;
use std::fs;

/// Whether the format holds outcomes rather than traces and numbers.
pub fn is_of_results(format: Format) -> bool {
    !matches!(
        format,
        Format::Perfetto
            | Format::TraceDat
            | Format::Json
            | Format::HistogramCsv
            | Format::WorstCsv
            | Format::SecondsCsv
            | Format::CountersCsv
            | Format::MapSvg
            | Format::StorageSvg
            | Format::Parquet
    )
}

/// Whether one document can hold several runs.
pub fn takes_several(format: Format) -> bool {
    format == Format::StorageSvg || is_of_results(format) && format != Format::Fuego
}

/// Every sample of a run.
pub fn samples(account: &Account) -> anyhow::Result<Vec<u8>> {
    let run = account.run();
    #[cfg(feature = "parquet")]
    {
        let results = RunResults::of(account.summary().clone(), run.planned.as_ref(), Vec::new());
        Ok(interchange::exports::samples_parquet::samples(run, &results.circumstances(), Vec::new())?)
    }
    #[cfg(not(feature = "parquet"))]
    anyhow::bail!(
        "this tardy was built without Parquet, so it cannot export {}; use that of `make build`",
        run.directory.display()
    )
}

/// Name and bytes of the document.
pub fn of(sources: &[Source], format: Format, arguments: &ExportArguments) -> anyhow::Result<(String, Vec<u8>)> {
    let (mut results, mut suites) = (Vec::new(), Vec::new());
    for source in sources {
        let first = results.len();
        match source {
            Source::Run(account) => results.push(judged(account, ended(account.summary().clone()), arguments)?),
            Source::Round { steps, .. } => {
                for step in steps {
                    results.push(judged(&step.account, step.summary.clone(), arguments)?);
                }
                let plan = steps.first().and_then(|step| step.account.run().planned.as_ref());
                gather(&mut results[first..], plan.map_or("", |planned| &planned.plan), &suites);
                suites.extend(results.get(first).map(|step| step.suite.clone()));
            }
        }
    }
    make_names_distinct(&mut results);
    let runs = || sources.iter().flat_map(Source::accounts).map(Account::run);
    let (name, text) = match format {
        Format::Junit => ("junit.xml", junit::document(&results)),
        Format::Tap => ("results.tap", tap::document(&results, Dialect::Tap13)),
        Format::Ktap => ("results.ktap", tap::document(&results, Dialect::Ktap1)),
        Format::Lava => ("lava-signals.txt", lava::signals(&results)),
        Format::LavaResult => ("result.txt", lava::result_lines(&results)),
        Format::Kcidb => {
            let submission = Submission::new(&arguments.origin, arguments.build_id.as_deref())
                .map_err(|error| UsageError(error.to_string()))?;
            ("kcidb.json", pretty(&kcidb::document(&results, &submission))?)
        }
        Format::SquadTests => ("squad-tests.json", pretty(&squad::tests(&results))?),
        Format::SquadMetrics => ("squad-metrics.json", pretty(&squad::metrics(&results))?),
        Format::SquadMetadata => ("squad-metadata.json", pretty(&squad::metadata(&results))?),
        Format::Fuego => ("fuego-run.json", pretty(&fuego::document(&results[0], criteria(arguments)?.as_ref()))?),
        Format::Prometheus => {
            let measured = runs().zip(&results);
            let measured = measured.map(|(run, results)| Measured { results, threads: run.threads.values().collect() });
            ("tardy.prom", prometheus::document(&measured.collect::<Vec<_>>()))
        }
        Format::Markdown => ("comment.md", markdown::document(&results)),
        _ => return Err(UsageError("this format is not one of results".into()).into()),
    };
    Ok((name.into(), text.into_bytes()))
}

/// A run without an end is useless to a test system, even if its beginning is sound.
fn ended(mut summary: RunSummary) -> RunSummary {
    if summary.state == RunState::Running {
        let (damage, text) = match summary.goes_on {
            true => (Damage::GoesOn, "the run goes on"),
            false => (Damage::CutOff, "the run was cut off before its end"),
        };
        summary.invalid_because.push(Remark { code: damage.code(), text: text.into() });
        summary.valid = false;
    }
    summary
}

/// A run, judged and explained. `summary` says whether it may be used.
fn judged(account: &Account, summary: RunSummary, arguments: &ExportArguments) -> anyhow::Result<RunResults> {
    let run = account.run();
    let limits = arguments.limits.of(run)?;
    let (confidence, accepted) = (arguments.limits.confidence_of(run), arguments.limits.accepted_of(run));
    let judgements = account.judge(&limits, confidence, &accepted);
    let RunSummary { id, target, valid, invalid_because, .. } = summary;
    let summary = RunSummary { id, target, valid, invalid_because, ..account.explained_summary() };
    Ok(RunResults::of(summary, run.planned.as_ref(), judgements))
}

fn criteria(arguments: &ExportArguments) -> anyhow::Result<Option<Criteria>> {
    let Some(path) = &arguments.criteria else { return Ok(None) };
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let criteria = Criteria::parse(&text);
    Ok(Some(criteria.map_err(|why| UsageError(format!("failed to use {}: {why}", path.display())))?))
}

fn pretty(document: &serde_json::Value) -> anyhow::Result<String> {
    Ok(String::from_utf8(json::indented(document)?)?)
}

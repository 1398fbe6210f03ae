//! `tardy export`: runs and rounds of plans in the formats of other programs.

mod format;
mod source;

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::options::limits::LimitArguments;
use crate::terminal::json;
use crate::terminal::page::{Page, write_stdout};
use crate::verb::{Group, Place, Verb};
use account::Account;
use clap::Args;
use format::FormatOptions;
use interchange::exports::{ExportError, ExportFormat, ExportInput, ExportedRun};
use source::Source;
use std::path::{Path, PathBuf};
use words::printable::printable;

/// Export a run, or a round of a plan, for other programs
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Path of an archive, an id below runs/, or `latest`; the formats of test systems take several, and the directories that
    /// `tardy run PLAN` makes
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    #[arg(long, value_name = "FORMAT", value_parser = format::parser())]
    format: &'static dyn ExportFormat,
    /// File to write, `-` for standard output [default: named after the format, in the archive]
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: FormatOptions,
    #[command(flatten)]
    limits: LimitArguments,
    /// Print the path of what was written as one JSON document
    #[arg(long)]
    json: bool,
}

impl Verb for ExportArguments {
    const NAME: &'static str = "export";
    const PLACE: Place = Place::Listed(Group::Exchange);
    const EXAMPLES: &'static [&'static str] =
        &["tardy export latest --format perfetto", "tardy export latest --format junit --limit 'latency < 100us' -o -"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &ExportArguments) -> anyhow::Result<Exit> {
    let format = arguments.format;
    let options = arguments.options.of(format)?;
    if !format.is_judged() && arguments.limits.is_typed() {
        let text = format!("{} holds no verdicts: leave out --limit, --confidence and --accept", format.name());
        return Err(UsageError(text).into());
    }
    let sources = arguments.runs.iter().enumerate().map(|(number, name)| Source::open(number, name));
    let sources = sources.collect::<anyhow::Result<Vec<Source>>>()?;
    // The first place is that of the document.
    let directory = sources.first().map(|source| source.directory.clone());
    let is_one_source = sources.len() == 1;
    let runs: Vec<ExportedRun> = sources.into_iter().flat_map(|source| source.runs).collect();
    let judge = |account: &Account| {
        let (run, limits) = (account.run(), &arguments.limits);
        let read = limits.of(run).map_err(|error| ExportError::Limit(error.to_string()))?;
        Ok(account.judge(&read, limits.confidence_of(run), &limits.accepted_of(run)))
    };
    let (Some(directory), Some(input)) = (directory, ExportInput::new(&runs, &options, &judge)) else {
        return Err(UsageError("this plan has no steps".into()).into());
    };
    let first = &input.run().directory;
    if runs.len() > 1 && !format.takes_several() {
        let text = format!("this format holds one run; export each by itself, {} for one", first.display());
        return Err(UsageError(text).into());
    }
    if input.run().manifest.is_none() && !first.exists() && !format.includes_missing() {
        let round = directory.display();
        return Err(UsageError(format!("{} was not run: tardy run --resume {round}", first.display())).into());
    }
    if !is_one_source && arguments.output.is_none() {
        return Err(
            UsageError("say where results of several runs go: --output FILE, or - for standard output".into()).into()
        );
    }
    let mut bytes = Vec::new();
    format.write(&input, &mut bytes).map_err(refusal)?;
    if arguments.output.as_deref() == Some(Path::new("-")) {
        write_stdout(&bytes)?;
        return Ok(Exit::Measured);
    }
    let name = format.file_name(&input).map_err(refusal)?;
    let path = archives::write_document(arguments.output.as_deref(), &directory, &name, &bytes)?;
    if arguments.json {
        json::print(&serde_json::json!({ "path": path, "bytes": bytes.len() }))?;
        return Ok(Exit::Measured);
    }
    input.runs().flat_map(|run| &run.gaps).for_each(|gap| complain!("gap: {}", printable(&gap.text)));
    let mut page = Page::for_stdout();
    page.line(&path.display().to_string());
    page.print()?;
    Ok(Exit::Measured)
}

fn refusal(error: ExportError) -> anyhow::Error {
    match error {
        ExportError::Archive(error) => error.into(),
        error if error.is_usage() => UsageError(error.to_string()).into(),
        error => error.into(),
    }
}

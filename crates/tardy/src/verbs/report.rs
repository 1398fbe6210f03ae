//! `tardy report`: an archive as one HTML file, and its plots as pictures.

use crate::archives::{self, STDOUT};
use crate::exit::{Exit, UsageError};
use crate::terminal::json;
use crate::terminal::page::{Page, write_stdout};
use crate::verb::{Group, Place, Verb};
use account::{Account, ExplanationSource};
use anyhow::Context;
use clap::Args;
use report::{render_html, render_pngs};
use std::path::{Path, PathBuf};

/// Write a report of a run: one self-contained HTML file
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Path of an archive, an id below runs/, or `latest` [default: latest]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
    /// File to write, - for standard output [default: report.html in the archive]
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the plots as PNG files into this directory, too
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
    /// Print the paths of what was written as one JSON document
    #[arg(long)]
    json: bool,
}

impl Verb for ReportArguments {
    const NAME: &'static str = "report";
    const PLACE: Place = Place::Listed(Group::Understand);
    const EXAMPLES: &'static [&'static str] = &["tardy report", "tardy report latest -o report.html --png pictures"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &ReportArguments) -> anyhow::Result<Exit> {
    let run = archives::open_or_latest(arguments.run.as_deref())?;
    let directory = run.directory.clone();
    let account = Account::of(run, ExplanationSource::Traces);
    let data = account.report_data();
    let page = render_html(&data, &account.limit_judgements());
    if arguments.output.as_deref() == Some(Path::new(STDOUT)) {
        if arguments.json {
            return Err(UsageError("--json and -o - both write to standard output; name a file".into()).into());
        }
        if let Some(directory) = &arguments.png {
            render_pngs(&data, directory)
                .with_context(|| format!("failed to write plots to {}", directory.display()))?;
        }
        write_stdout(page.as_bytes())?;
        return Ok(Exit::Measured);
    }
    let html = archives::write_document(arguments.output.as_deref(), &directory, "report.html", page.as_bytes())?;
    let pictures = match &arguments.png {
        Some(directory) => render_pngs(&data, directory)
            .with_context(|| format!("failed to write plots to {}", directory.display()))?,
        None => Vec::new(),
    };
    if arguments.json {
        let document = serde_json::json!({ "html": html, "png": pictures });
        json::print(&document)?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    for path in std::iter::once(&html).chain(&pictures) {
        page.line(&path.display().to_string());
    }
    page.print()?;
    Ok(Exit::Measured)
}

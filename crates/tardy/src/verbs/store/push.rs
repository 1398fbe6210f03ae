//! `tardy lab store push`: archives of this host to the server of a lab.

use crate::archives::{all_below, find};
use crate::exit::{Exit, UsageError};
use crate::lab::push::address::ServerAddress;
use crate::lab::push::{Failure, Pushed, send};
use crate::terminal::json;
use crate::terminal::page::Page;
use clap::Args;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use store::{LeftOut, Outcome};
use tls::Roots;
use words::printable::printable;

/// The token, if no file has it. The command line of a process is readable by every user, its environment is not.
const TOKEN_VARIABLE: &str = "TARDY_TOKEN";
const TOKEN_BYTES_MAX: u64 = 4096;

/// Where archives are sent, and which.
#[derive(Debug, Args)]
pub struct PushArguments {
    /// The server: http://HOST:PORT, as `tardy lab serve` prints it, or https://HOST of a proxy before it
    #[arg(value_name = "URL")]
    server: String,
    /// Archives, or directories with archives
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// File with a token of the role run [default: the environment variable TARDY_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct PushDocument {
    store_version: u32,
    runs: Vec<Pushed>,
    left_out: Vec<LeftOut>,
}

pub async fn push(arguments: &PushArguments) -> anyhow::Result<Exit> {
    let server = ServerAddress::parse(&arguments.server)?;
    let token = token(arguments.token_file.as_deref())?;
    let roots = Roots::default();
    let mut document = PushDocument { store_version: super::STORE_VERSION, runs: Vec::new(), left_out: Vec::new() };
    let mut unreachable = None;
    for archive in archives(&arguments.runs)? {
        let name = archive.display().to_string();
        let sent = match &unreachable {
            // The next archive would fail in the same way.
            Some(because) => Err(Failure::ThisArchive(format!("not sent, as {because}"))),
            None => send(&archive, &server, token.as_deref(), &roots).await,
        };
        match sent {
            Ok(pushed) => document.runs.push(pushed),
            Err(failure) => {
                let because = failure.to_string();
                if let Failure::EveryArchive(first) = failure {
                    unreachable = Some(first);
                }
                document.left_out.push(LeftOut { archive: name, because });
            }
        }
    }
    if arguments.json {
        json::print(&document)?;
    } else {
        let mut page = Page::for_stdout();
        document.runs.iter().for_each(|run| page.line(&line(run)));
        super::page::left_out(&document.left_out, &mut page);
        page.print()?;
    }
    Ok(if document.left_out.is_empty() { Exit::Measured } else { Exit::LimitExceeded })
}

fn archives(runs: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut archives = Vec::new();
    for name in runs {
        let path = find(name)?;
        let below = all_below(&path);
        archives.extend(if below.is_empty() { vec![path] } else { below });
    }
    Ok(archives)
}

fn line(run: &Pushed) -> String {
    let outcome = if run.outcome == Outcome::Known { "known" } else { "added" };
    printable(&format!("{}  {outcome}  {}", run.digest, run.archive))
}

/// The token for the server, if there is one.
fn token(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let (text, place) = match file {
        Some(path) => {
            let mut text = String::new();
            File::open(path).and_then(|file| file.take(TOKEN_BYTES_MAX).read_to_string(&mut text)).map_err(
                |error| {
                    UsageError(format!(
                        "failed to read the token in {}: {error}",
                        printable(&path.display().to_string())
                    ))
                },
            )?;
            (text, printable(&path.display().to_string()))
        }
        None => (std::env::var(TOKEN_VARIABLE).unwrap_or_default(), TOKEN_VARIABLE.to_owned()),
    };
    let token = text.trim();
    if token.is_empty() && file.is_none() {
        return Ok(None);
    }
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let text =
            format!("{place} has no token; write the one line into it that `tardy lab serve --add-token` printed");
        return Err(UsageError(text).into());
    }
    Ok(Some(token.to_owned()))
}

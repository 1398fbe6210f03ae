//! The late wake-ups in a recording of another tool.

use crate::briefs::explained::{Asked, explained};
use crate::exit::UsageError;
use crate::mcp::context::Context;
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::problem::RequestProblem;
use crate::mcp::tool::{Tool, document};
use crate::recording::{Recorded, RecordingArguments, stored};
use account::{Account, ExplanationSource};
use anyhow::Context as _;
use std::path::Path;

const FILE: Parameter = Parameter::text("file", "A trace.dat, or the text of a trace; also in gzip or zstd").required();
const COMM: Parameter = Parameter::text("comm", "Only threads of this name (`*`, `?` match)");
const TID: Parameter = Parameter::number("tid", [1, i32::MAX as u64], "Only this thread and those that it starts");
const SPIKE: Parameter =
    Parameter::number("spike", [0, u32::MAX as u64], "The account of this spike [default: the causes of all]");

const EVIDENCE: Parameter = Parameter::text("evidence", "One piece of evidence of that account, such as 2.1.1");

/// Larger files take more time and memory than a call may.
const FILE_BYTES_MAX: u64 = 256 << 20;

pub struct ExplainFile;

impl Tool for ExplainFile {
    const NAME: &'static str = "explain_file";
    const DESCRIPTION: &'static str = "Find the late wake-ups in a recording of trace-cmd, ftrace or perf script and explain them, \
        as run_causes and explain_spike do; remarks name what the recording cannot show. Keeps no archive.";
    const PARAMETERS: &'static [Parameter] = &[FILE, COMM, TID, SPIKE, EVIDENCE];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        let file = context.directories.resolve(given.required_text(&FILE)?)?;
        check(&file)?;
        let comm = given.text(&COMM).map(str::to_owned);
        let pid = given.number(&TID).map(i32::try_from).transpose()?;
        let place = context.temporary.place()?;
        let arguments = RecordingArguments { instance: None, comm, pid, out: Some(place.path().into()) };
        let archive = stored(&Recorded::File(&file), &arguments, 0)?;
        let account = Account::open(archive, ExplanationSource::Traces)?;
        let answer = explained(&account, &asked(given)?)?;
        document(&answer.of_recording(&file.display().to_string()))
    }
}

fn check(file: &Path) -> anyhow::Result<()> {
    let metadata = file.metadata().context("failed to read the file")?;
    if !metadata.is_file() {
        return Err(UsageError("explain_file takes a file; run_causes takes an archive".into()).into());
    }
    match metadata.len() > FILE_BYTES_MAX {
        true => Err(RequestProblem::FileTooLarge { bytes_max: FILE_BYTES_MAX }.into()),
        false => Ok(()),
    }
}

fn asked(given: &Given) -> anyhow::Result<Asked> {
    Ok(match (given.text(&EVIDENCE), given.number(&SPIKE)) {
        (Some(id), _) => Asked::Evidence(id.to_owned()),
        (None, Some(number)) => Asked::Spike(u32::try_from(number)?),
        (None, None) => Asked::Causes,
    })
}

//! The `load` subcommand: a load by itself, without a measurement, and the entry point of supervisors.

use super::running::RunningLoads;
use super::supervisor::{Work, supervise};
use super::{builtin, program};
use archive::load::{BUILTIN_LOADS, BuiltinLoad, LoadWordsError};
use archive::settings::LoadRequest;
use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "usage: load NAME[:WORKERS]\n       load PROGRAM:WORD,KEY=VALUE,...\n       load --command LINE [--once]\n`tardy list loads` says more";

#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    name: Option<String>,
    workers: u32,
    command: Option<String>,
    /// The command is not restarted after success.
    once: bool,
    /// Internal: a program with its arguments.
    program: Option<String>,
    /// Internal: this process is the supervisor.
    supervised: bool,
    /// Internal: where the supervisor may put files.
    directory: Option<PathBuf>,
}

/// An error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum UsageError {
    #[error("name one load")]
    NoLoad,
    #[error("one load at a time, not `{0}` too")]
    SecondLoad(String),
    #[error("there is no option `{0}`")]
    UnknownOption(String),
    #[error("`{0}` needs a value")]
    NoValue(String),
    #[error("`{0}` is not a number of workers")]
    NotANumber(String),
    #[error(transparent)]
    Load(LoadWordsError),
}

/// Runs `load` with the arguments after that word and returns the exit code: 2 for wrong usage, 1 if a load ended.
/// Without arguments it lists the loads.
pub fn run_child(arguments: &[String]) -> i32 {
    if arguments.is_empty() {
        print!("{}", list());
        return 0;
    }
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(problem) => return wrong_usage(&problem),
    };
    if !arguments.supervised {
        return match request(&arguments) {
            Ok(request) => show(request),
            Err(problem) => wrong_usage(&problem),
        };
    }
    let work = match (arguments.name, arguments.command, arguments.program, arguments.directory) {
        (Some(name), None, None, directory) => {
            builtin::find(&name).map(|load| Work::Builtin { load, workers: arguments.workers, directory })
        }
        (None, Some(line), None, _) => Some(Work::Command { line, once: arguments.once }),
        (None, None, Some(text), Some(directory)) => match LoadRequest::parse(&text) {
            Ok(LoadRequest::Program { name, words }) => {
                program::find(&name).map(|(program, _)| Work::Program { program, words, directory })
            }
            _ => None,
        },
        _ => None,
    };
    match work {
        Some(work) => supervise(work),
        None => wrong_usage(&UsageError::NoLoad),
    }
}

/// The user's request.
fn request(arguments: &Arguments) -> Result<LoadRequest, UsageError> {
    match (&arguments.name, &arguments.command) {
        (Some(name), None) if arguments.workers > 0 => {
            Ok(LoadRequest::Builtin { name: name.clone(), workers: arguments.workers })
        }
        (Some(text), None) => LoadRequest::parse(text).map_err(UsageError::Load),
        (None, Some(line)) => Ok(LoadRequest::Command { line: line.clone(), once: arguments.once }),
        _ => Err(UsageError::NoLoad),
    }
}

fn parse(arguments: &[String]) -> Result<Arguments, UsageError> {
    let mut parsed = Arguments::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| UsageError::NoValue(argument.clone()));
        match argument.as_str() {
            "--workers" => {
                let text = value()?;
                parsed.workers = text.parse().map_err(|_| UsageError::NotANumber(text))?;
            }
            "--program" => parsed.program = Some(value()?),
            "--command" => parsed.command = Some(value()?),
            "--supervised" => parsed.supervised = true,
            "--once" => parsed.once = true,
            "--place" => parsed.directory = Some(value()?.into()),
            option if option.starts_with('-') => return Err(UsageError::UnknownOption(option.into())),
            name if parsed.name.is_none() => parsed.name = Some(name.into()),
            name => return Err(UsageError::SecondLoad(name.into())),
        }
    }
    Ok(parsed)
}

fn wrong_usage(problem: &UsageError) -> i32 {
    eprint!("{problem}\n{USAGE}\nloads:\n{}", list());
    2
}

fn list() -> String {
    let line = |load: &BuiltinLoad| format!("  {:<12} {} (a worker is a {})\n", load.name, load.what, load.worker);
    BUILTIN_LOADS.iter().map(line).collect()
}

/// Runs a load until it is interrupted or dies, printing a line of progress per second.
fn show(request: LoadRequest) -> i32 {
    let mut loads = match RunningLoads::start(&[request]) {
        Ok(loads) => loads,
        Err(error) => {
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            eprintln!("failed to {error}{}", source.unwrap_or_default());
            return 2;
        }
    };
    let mut before: Vec<u64> = Vec::new();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let reports = loads.sample();
        for (number, report) in reports.iter().enumerate() {
            let last = before.get(number).copied().unwrap_or(0);
            println!(
                "{}: {} {}, {} in the last second",
                report.name,
                report.progress,
                report.unit,
                report.progress - last
            );
        }
        for report in &reports {
            if let Some(failure) = &report.failure {
                eprintln!("{}: not alive: {failure}", report.name);
            }
        }
        if reports.iter().any(|report| !report.is_alive()) {
            return 1;
        }
        before = reports.iter().map(|report| report.progress).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, UsageError> {
        parse(&line.split(' ').map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_may_come_in_any_order() {
        let expected = Arguments { name: Some("cpu".into()), workers: 3, supervised: true, ..Arguments::default() };
        assert_eq!(parsed("--workers 3 cpu --supervised"), Ok(expected));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (line, error) in [
            ("cpu copy", UsageError::SecondLoad("copy".into())),
            ("cpu --workers", UsageError::NoValue("--workers".into())),
            ("--workers x", UsageError::NotANumber("x".into())),
            ("--fast", UsageError::UnknownOption("--fast".into())),
        ] {
            assert_eq!(parsed(line), Err(error), "{line}");
        }
    }
}

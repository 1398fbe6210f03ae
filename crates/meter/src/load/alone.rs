//! The `load` subcommand: a load by itself, without a measurement, and the entry point of supervisors.

use super::builtin::{self, BuiltinLoad, builtin_names};
use super::running::RunningLoads;
use super::supervisor::{Work, supervise};
use archive::settings::LoadRequest;
use std::path::PathBuf;
use std::time::Duration;

const USAGE: &str = "usage: load NAME [--workers N]\n       load --command LINE";

#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    name: Option<String>,
    workers: u32,
    command: Option<String>,
    /// Internal: this process is the supervisor.
    supervised: bool,
    /// Internal: where the supervisor may put files.
    place: Option<PathBuf>,
}

/// Runs `load` with the arguments after that word and returns the exit code: 2 for wrong usage, 1 when a load ended.
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
    match (arguments.supervised, arguments.name, arguments.command) {
        (true, Some(name), None) => match builtin::find(&name) {
            Some(load) => supervise(Work::Builtin { load, workers: arguments.workers, place: arguments.place }),
            None => wrong_usage(&format!("there is no load called `{name}`")),
        },
        (true, None, Some(line)) => supervise(Work::Command { line }),
        (false, Some(name), None) => show(LoadRequest::Builtin { name, workers: arguments.workers }),
        (false, None, Some(line)) => show(LoadRequest::Command { line }),
        _ => wrong_usage("say one load"),
    }
}

fn parse(arguments: &[String]) -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--workers" => {
                let text = value()?;
                parsed.workers = text.parse().map_err(|_| format!("`{text}` is not a number of workers"))?;
            }
            "--command" => parsed.command = Some(value()?),
            "--supervised" => parsed.supervised = true,
            "--place" => parsed.place = Some(value()?.into()),
            option if option.starts_with('-') => return Err(format!("there is no option `{option}`")),
            name if parsed.name.is_none() => parsed.name = Some(name.into()),
            name => return Err(format!("one load at a time, not `{name}` too")),
        }
    }
    Ok(parsed)
}

fn wrong_usage(problem: &str) -> i32 {
    eprint!("{problem}\n{USAGE}\nloads:\n{}", list());
    2
}

fn list() -> String {
    let line = |load: &BuiltinLoad| format!("  {:<10} {} (a worker is a {})\n", load.name, load.what, load.worker);
    builtin_names().iter().map(line).collect()
}

/// Runs a load until it is interrupted or dies, with a line of progress a second.
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
        for report in reports.iter().filter(|report| !report.alive) {
            eprintln!("{}: not alive: {}", report.name, report.detail);
        }
        if reports.iter().any(|report| !report.alive) {
            return 1;
        }
        before = reports.iter().map(|report| report.progress).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        parse(&line.split(' ').map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_may_come_in_any_order() {
        let expected = Arguments { name: Some("cpu".into()), workers: 3, supervised: true, ..Arguments::default() };
        assert_eq!(parsed("--workers 3 cpu --supervised"), Ok(expected));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (line, word) in
            [("cpu copy", "copy"), ("cpu --workers", "--workers"), ("--workers x", "x"), ("--fast", "--fast")]
        {
            assert!(parsed(line).is_err_and(|problem| problem.contains(word)), "{line}");
        }
    }
}

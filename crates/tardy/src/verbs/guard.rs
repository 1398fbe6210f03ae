//! `tardy guard`: watches threads for months and accounts for each late wake-up within a second.

use crate::exit::Exit;
use crate::guarding::config::{EXAMPLE, GuardConfig, Time};
use crate::guarding::{guard, memory_returned, save};
use crate::measuring::whom::{WHOM, WhomArguments};
use crate::options::quantity::{latency_ns, positive_time_ns};
use crate::verb::{Group, Place, Verb};
use clap::{ArgGroup, Args, Command};
use machines::KnownTarget;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The unit for systemd, which a package installs.
const UNIT: &str = include_str!("../../../../packaging/systemd/tardy-guard@.service");

/// Guard threads for months; explain each miss at once
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").args(WHOM), group = ArgGroup::new("instead").args(["save", "print_unit", "print_config"]))]
pub struct GuardArguments {
    /// Configuration: threads, limits, ring, budget, outputs
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    whom: WhomArguments,
    /// A wake-up later than this is a miss
    #[arg(long, value_name = "TIME", value_parser = latency_ns, help_heading = "Limits")]
    limit: Option<i64>,
    /// A cycle longer than this is a miss
    #[arg(long, value_name = "TIME", value_parser = positive_time_ns, help_heading = "Limits")]
    cycle_limit: Option<u64>,
    /// A chain of FILE that misses its deadline is a miss
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    chain: Option<PathBuf>,
    /// Place of accounts and archives [default: /var/lib/tardy/guard]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    directory: Option<PathBuf>,
    /// Have the running guard keep the last seconds, and print their account
    #[arg(long, conflicts_with = "whom", help_heading = "Instead")]
    save: bool,
    /// Print a unit for systemd
    #[arg(long, help_heading = "Instead")]
    print_unit: bool,
    /// Print a configuration with every key and its default
    #[arg(long, help_heading = "Instead")]
    print_config: bool,
}

impl Verb for GuardArguments {
    const NAME: &'static str = "guard";
    const PLACE: Place = Place::Listed(Group::Measure);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy guard --limit 200us -- ./robot --config arm.toml",
        "tardy guard --comm 'robot*' --limit 200us --directory guard",
        "tardy guard --chain robot.toml --limit 2ms -- ./robot",
        "tardy guard --config /etc/tardy/guard/robot.toml",
        "tardy guard --save --directory guard",
        "tardy guard --print-config",
    ];
    const NOTES: &'static str = "\
An account is one line of JSON of at most 2 kB in DIR/accounts.jsonl, within a second of the miss; `tardy explain` reads the archives \
in DIR/sessions. Both together stay within a size: the oldest go.
The guard measures what it costs. Above its budget it records fewer kinds of events, and the accounts name them.
SIGUSR1 saves the last seconds, as --save does. SIGTERM, SIGINT and SIGHUP end it; after a kill the next guard restores the machine and \
accounts for what is left.
Exit codes: with a COMMAND its own; else 0 ended on request, 2 wrong usage, 3 could not watch.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }

    /// With a command the exit code is the command's, so tardy's own codes differ.
    fn exit_code(exit: Exit, words: &[OsString]) -> ExitCode {
        if words.iter().any(|word| word == "--") { exit.around_a_command() } else { exit.into() }
    }

    fn defined(derived: Command) -> Command {
        derived.mut_arg("command", |option| option.help("Start this command, and end with it"))
    }
}

fn run(arguments: &GuardArguments, typed: Vec<String>) -> anyhow::Result<Exit> {
    let printed = match (arguments.print_unit, arguments.print_config) {
        (true, _) => Some(UNIT),
        (_, true) => Some(EXAMPLE),
        _ => None,
    };
    if let Some(text) = printed {
        let _ = write!(std::io::stdout(), "{text}");
        return Ok(Exit::Measured);
    }
    if !arguments.save && arguments.whom.command().is_empty() {
        // A command would inherit the settings.
        memory_returned::start_again();
    }
    let config = config(arguments)?;
    if arguments.save {
        return save::save(&config.ring.directory);
    }
    let folder = arguments.config.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    guard(config, folder, arguments.whom.command(), typed)
}

/// The file, with what the command line says instead.
fn config(arguments: &GuardArguments) -> anyhow::Result<GuardConfig> {
    let mut config = arguments.config.as_deref().map(GuardConfig::read).transpose()?.unwrap_or_default();
    let named = arguments.whom.request(&KnownTarget::local())?;
    if named.pid.is_some() || named.comm.is_some() || named.group.is_some() {
        config.watch.rename(&named);
    }
    let limit = arguments.limit.map(|limit_ns| Time(limit_ns.unsigned_abs()));
    config.watch.limit = limit.or(config.watch.limit);
    config.watch.cycle_limit = arguments.cycle_limit.map(Time).or(config.watch.cycle_limit);
    if let Some(chain) = &arguments.chain {
        config.watch.chains = Some(std::path::absolute(chain)?);
    }
    if let Some(directory) = &arguments.directory {
        config.ring.directory.clone_from(directory);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        guard: GuardArguments,
    }

    fn parsed(words: &[&str]) -> Result<GuardArguments, clap::Error> {
        Line::try_parse_from([&["guard"], words].concat()).map(|line| line.guard)
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("guard.toml");
        std::fs::write(&file, EXAMPLE).unwrap();
        let file = file.display().to_string();
        let read = |words: &[&str]| config(&parsed(&[&["--config", file.as_str()], words].concat()).unwrap()).unwrap();
        assert_eq!(read(&[]), GuardConfig::parse(EXAMPLE, Path::new("")).unwrap());
        let other = read(&["--unit", "arm", "--limit", "1ms", "--directory", "here"]);
        assert_eq!((other.watch.unit.as_deref(), other.watch.comm), (Some("arm"), None));
        assert_eq!((other.watch.limit, other.ring.directory), (Some(Time(1_000_000)), PathBuf::from("here")));
    }

    #[test]
    fn the_unit_starts_a_guard_with_the_options_of_this_verb() {
        let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
        let start = value("ExecStart").unwrap().replace("%i", "robot");
        let words: Vec<&str> = start.split(' ').collect();
        assert_eq!(words[..2], ["/usr/bin/tardy", "guard"]);
        let arguments = parsed(&words[2..]).unwrap();
        assert_eq!(arguments.config, Some("/etc/tardy/guard/robot.toml".into()));
        assert_eq!(arguments.directory, Some("/var/lib/tardy/guard/robot".into()));
        assert_eq!((value("Type"), value("Restart")), (Some("exec"), Some("on-failure")));
        let sections: Vec<&str> = UNIT.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(sections, ["[Unit]", "[Service]", "[Install]"]);
        let is_plain = |line: &str| line.is_empty() || line.starts_with(['#', '[']) || line.contains('=');
        assert!(UNIT.lines().all(is_plain), "{UNIT}");
    }

    #[test]
    fn a_guard_does_one_thing() {
        assert!(parsed(&["--save", "--comm", "x"]).is_err());
        assert!(parsed(&["--print-unit", "--print-config"]).is_err());
        assert!(parsed(&["--comm", "x", "--pid", "1"]).is_err());
    }
}

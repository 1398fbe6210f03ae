//! The options of `tardy watch` and the meter settings that follow from them.

mod log;

use crate::measuring::arguments::{
    ExtentArguments, LoadArguments, OutputArguments, SampleArguments, TraceArguments, megabytes,
};
use crate::measuring::command;
use crate::measuring::whom::{WHOM, WhomArguments};
use crate::options::quantity::latency_ns;
use archive::settings::{RunSettings, TraceSettings, WorstOfEach};
use archive::watched::WatchSettings;
use clap::builder::{NonEmptyStringValueParser, Resettable};
use clap::{ArgGroup, Args, Command};
use log::LogArguments;
use machines::KnownTarget;
use std::path::PathBuf;

/// A cycle may reach back further than a wake-up, and the trace has to cover all of it.
const MARGIN_BEFORE_NS: u64 = 20_000_000;

/// The settings of a program that is watched without further options.
fn usual() -> RunSettings {
    RunSettings {
        duration_ns: None,
        settle_ns: 0,
        lock_memory: false,
        worst_kept: 100,
        trace: TraceSettings {
            margin_before_ns: MARGIN_BEFORE_NS,
            buffer_kb_per_cpu: 8192,
            snapshots_max: 60,
            worst_of_each: WorstOfEach::of_run(None),
            budget_bytes: 128 << 20,
            ..TraceSettings::default()
        },
        ..RunSettings::default()
    }
}

/// Measure how late the threads of a program wake, and why
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).args(WHOM))]
pub struct WatchArguments {
    /// Machine where the program runs: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub target: String,
    #[command(flatten)]
    pub whom: WhomArguments,
    #[command(flatten)]
    extent: ExtentArguments,
    /// Count and capture cycles longer than TIME; if there were any, exit with code 1, with a COMMAND 124
    #[arg(long, value_name = "TIME", value_parser = latency_ns, help_heading = "Measurement")]
    cycle_limit: Option<i64>,

    /// Count the lines that contain TEXT, like XRun, in the output of the COMMAND or in the log, and show each beside the
    /// late wake-ups before it; may be repeated
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), help_heading = "Measurement")]
    count: Vec<String>,

    /// Account for the chains of threads that FILE declares, as far as the snapshots of late wake-ups and cycles show them
    #[arg(long, value_name = "FILE", help_heading = "Measurement", conflicts_with = "json")]
    pub chain: Option<PathBuf>,

    #[command(flatten)]
    log: LogArguments,

    /// Let threads without a real-time or deadline policy count, too: in the headline, the causes and the exit code
    #[arg(long, help_heading = "Measurement")]
    all_threads: bool,

    /// Sample the stacks of the threads, and name the program's functions that took the time of late cycles
    #[arg(long, help_heading = "Measurement")]
    stacks: bool,

    #[command(flatten)]
    load: LoadArguments,

    #[command(flatten)]
    trace: TraceArguments,

    #[command(flatten)]
    samples: SampleArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// The texts and defaults of options that are others here than in `tardy run`.
pub fn own_help(verb: Command) -> Command {
    let usual = usual();
    verb.mut_arg("duration", |option| {
        option.help("How long to measure [default: as long as the program runs]").default_value(Resettable::Reset)
    })
    .mut_arg("limit", |option| {
        option
            .help("Count and capture wake-ups later than TIME; if there were any, exit with code 1, with a COMMAND 124")
    })
    .mut_arg("buffer_kb", |option| {
        option.help("Trace buffer of each CPU, in kB").default_value(usual.trace.buffer_kb_per_cpu.to_string())
    })
    .mut_arg("snapshots", |option| option.default_value(usual.trace.snapshots_max.to_string()))
    .mut_arg("budget_mb", |option| option.default_value(megabytes(&usual.trace)))
    .mut_arg("worst_kept", |option| {
        let help = "Worst samples to keep per thread and kind of sample";
        option.help(help).default_value(usual.worst_kept.to_string())
    })
    .mut_arg("json", |option| option.help(command::JSON_HELP))
    .mut_arg("quiet", |option| option.help(command::QUIET_HELP))
}

impl WatchArguments {
    /// Texts to count in the output of the command; the meter counts in a log.
    pub fn texts_to_count(&self) -> &[String] {
        if self.log.source().is_some() { &[] } else { &self.count }
    }

    /// The settings for the meter; the process number of a command is set when it is started.
    ///
    /// # Errors
    /// Refusals of [`WhomArguments::request`] and [`LogArguments::check`].
    pub fn settings(&self, target: &KnownTarget) -> anyhow::Result<RunSettings> {
        let request = self.whom.request(target)?;
        self.log.check(&self.count, &request)?;
        let mut settings = usual();
        self.extent.apply(&mut settings);
        self.samples.apply(&mut settings);
        self.load.apply(&mut settings);
        self.trace.apply(&mut settings);
        settings.watch = Some(WatchSettings {
            cycle_limit_ns: self.cycle_limit,
            count: self.count.clone(),
            log: self.log.source(),
            all_threads: self.all_threads,
            stacks: self.stacks,
            ..request
        });
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::ProgramError;
    use archive::watched::group::ProgramGroup;
    use archive::watched::log::LogSource;
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        watch: WatchArguments,
    }

    fn parsed(words: &[&str]) -> Result<WatchArguments, clap::Error> {
        let matches = own_help(Line::command()).try_get_matches_from([&["watch"], words].concat())?;
        Line::from_arg_matches(&matches).map(|line| line.watch)
    }

    #[test]
    fn a_watched_program_has_settings_of_its_own() {
        let settings = parsed(&["--pid", "1"]).unwrap().settings(&KnownTarget::local()).unwrap();
        let watch = settings.watch.clone();
        assert_eq!(settings, RunSettings { watch, ..usual() });
    }

    #[test]
    fn a_long_watch_keeps_the_worst_of_each_hour() {
        let kept = |words: &[&str]| {
            let words = [&["--pid", "1"], words].concat();
            parsed(&words).unwrap().settings(&KnownTarget::local()).unwrap().trace.worst_of_each
        };
        assert_eq!(kept(&["--duration", "7d"]), Some(WorstOfEach::HOUR));
        assert_eq!(kept(&["--duration", "1h"]), None);
        assert_eq!(kept(&["--duration", "1min", "--worst-of-each", "10s"]).unwrap().stretch_ns, 10_000_000_000);
    }

    #[test]
    fn a_program_must_be_named_and_one_alone() {
        assert!(parsed(&[]).unwrap_err().to_string().contains("--pid"));
        assert!(parsed(&["--pid", "1", "--comm", "x"]).is_err());
        assert!(parsed(&["--pid", "0"]).is_err());
        assert!(parsed(&["--comm", "x", "--", "sleep", "1"]).is_err());
    }

    #[test]
    fn a_command_keeps_its_own_options() {
        let arguments = parsed(&["--limit", "200us", "--", "/bin/sh", "--pid", "7"]).unwrap();
        assert_eq!(arguments.whom.command(), ["/bin/sh", "--pid", "7"]);
        let settings = arguments.settings(&KnownTarget::local()).unwrap();
        assert_eq!((settings.limit_ns, settings.duration_ns), (Some(200_000), None));
        assert_eq!(settings.watch.unwrap().command.len(), 3);
    }

    #[test]
    fn a_program_that_runs_is_counted_in_its_log() {
        let here = KnownTarget::local();
        let settings = |words: &[&str]| parsed(words).map(|arguments| arguments.settings(&here).unwrap());
        let watch = settings(&["--pid", "1", "--count", "XRun", "--log", "/var/log/jack"]).unwrap().watch.unwrap();
        assert_eq!(watch.log, Some(LogSource::File { path: "/var/log/jack".into() }));
        let arguments = parsed(&["--unit", "jackd", "--count", "XRun", "--journal", "jackd"]).unwrap();
        assert_eq!(arguments.texts_to_count(), [] as [&str; 0], "the meter counts them");
        for words in [&["--pid", "1", "--count", "XRun"][..], &["--pid", "1", "--log", "x"]] {
            assert!(parsed(words).unwrap().settings(&here).is_err(), "{words:?}");
        }
        assert!(parsed(&["--pid", "1", "--count", "x", "--log", "x", "--journal", "y"]).is_err());
    }

    #[test]
    fn a_program_is_named_by_its_control_group() {
        let group = |words: &[&str]| {
            parsed(words).unwrap().settings(&KnownTarget::local()).unwrap().watch.unwrap().group.unwrap()
        };
        assert_eq!(group(&["--unit", "jackd"]), ProgramGroup::Unit { name: "jackd".into() });
        assert_eq!(group(&["--cgroup", "/robot"]), ProgramGroup::Below { path: "/robot".into() });
        assert_eq!(group(&["--container", "robot"]), ProgramGroup::Container { name: "robot".into() });
        assert!(parsed(&["--unit", "jackd", "--container", "robot"]).is_err());
    }

    #[test]
    fn the_output_of_a_command_can_be_counted() {
        let arguments = parsed(&["--count", "XRun", "--count", "late", "--", "/bin/sh"]).unwrap();
        assert_eq!(arguments.settings(&KnownTarget::local()).unwrap().watch.unwrap().count, ["XRun", "late"]);
        assert!(parsed(&["--count", "", "--", "/bin/sh"]).is_err(), "every line contains nothing");
    }

    #[test]
    fn names_no_thread_can_have_are_refused() {
        let refused = parsed(&["--comm", "a_name_of_sixteen"]).unwrap().settings(&KnownTarget::local()).unwrap_err();
        assert!(refused.to_string().contains("15 letters"), "{refused}");
        let absent = parsed(&["--", "./not-there"]).unwrap().settings(&KnownTarget::local()).unwrap_err();
        assert_eq!(absent.downcast_ref(), Some(&ProgramError::Missing("./not-there".into())));
        let text = parsed(&["--", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
            .unwrap()
            .settings(&KnownTarget::local())
            .unwrap_err();
        assert!(matches!(text.downcast_ref(), Some(ProgramError::NotExecutable(_))), "{text}");
        assert!(parsed(&["--comm", "ros2_control_n*"]).unwrap().settings(&KnownTarget::local()).is_ok());
    }
}

//! The options of `tardy audit`, and the meter settings that follow from them.

use crate::exit::UsageError;
use crate::measuring::arguments::{LoadArguments, OutputArguments};
use crate::measuring::command;
use crate::measuring::whom::{WHOM, WhomArguments};
use crate::options::choice::{Entry, entry_of};
use crate::options::quantity::{positive_time_ns, time_ns};
use archive::audit::AuditSettings;
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use audit::injection::InjectionError;
use audit::report::Scope;
use audit::rules::RULES;
use call_ring::function::Recorded;
use call_ring::header::{Injection, RULES_MAX};
use clap::builder::TypedValueParser;
use clap::{ArgGroup, Args, Command, ValueEnum};
use interchange::audits::{AuditFormat, FORMATS, JSON};
use machines::KnownTarget;
use std::path::PathBuf;
use thiserror::Error;

/// Every rule, for `--deny`.
const ALL: &str = "all";

/// Find what a program does that will cost it a deadline
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).args(WHOM).arg("archive"))]
pub struct AuditArguments {
    /// Target to audit on: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub target: String,
    #[command(flatten)]
    whom: WhomArguments,
    /// Judge an audit that was recorded before
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "duration", "loads", "out"])]
    pub archive: Option<PathBuf>,
    /// Audit for TIME [default: until the program ends, or Ctrl-C]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = positive_time_ns)]
    duration: Option<u64>,
    /// Do not count what a thread does in its first TIME [default: 1s for a COMMAND, 0 for a program that already runs]
    #[arg(long, value_name = "TIME", value_parser = time_ns)]
    settle: Option<u64>,
    /// Audit all threads, and not just those with a real-time policy
    #[arg(long)]
    pub all_threads: bool,
    /// Exit with code 1 if a thread has this habit; `all` for every one; may be repeated
    #[arg(long, value_name = "RULE", value_parser = rule)]
    deny: Vec<String>,
    /// Do not show this habit, and do not count it for --deny; may be repeated
    #[arg(long, value_name = "RULE", value_parser = rule)]
    allow: Vec<String>,
    /// Do not record from where a call came, which costs a microsecond a call
    #[arg(long)]
    no_stacks: bool,
    /// Means of recording calls
    #[arg(long, value_enum, default_value = "trace", conflicts_with = "archive")]
    pub by: By,
    /// Delay calls of the program or make them fail, such as 'write: delay 2ms, 1 in 1000, seed 7' or 'read: EINTR'; needs
    /// --by interception or preload; may be repeated
    #[arg(long, value_name = "RULE", value_parser = injection)]
    pub inject: Vec<Injection>,
    /// Form of the result
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), default_value = "text")]
    format: Format,

    #[command(flatten)]
    load: LoadArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// A form of the result.
#[derive(Debug, Clone, Copy)]
pub enum Format {
    Text,
    /// Every call of every thread, in order
    Calls,
    /// For another program
    Document(&'static dyn AuditFormat),
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let document = |format: &&'static dyn AuditFormat| Entry {
        value: Format::Document(*format),
        name: format.name(),
        about: format.about(),
    };
    let text = Entry { value: Format::Text, name: "text", about: "A page for the terminal" };
    let calls = Entry { value: Format::Calls, name: "calls", about: "Every call of every thread, in order" };
    entry_of(std::iter::once(text).chain(FORMATS.iter().map(document)).chain([calls]).collect())
}

/// The recorder of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Trace events of the kernel, for any program
    Trace,
    /// A library inside a command that is started: far cheaper, on x86-64, for dynamic executables
    Interception,
    /// The same library, which also records allocations, frees and locks that make no system call
    Preload,
}

impl By {
    /// Its name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Interception => "interception",
            Self::Preload => "preload",
        }
    }
}

/// Programs need a while to open, map and lock what they use.
const SETTLE_NS: u64 = 1_000_000_000;

/// The texts of options that mean something else here than in `tardy run`.
pub fn own_help(verb: Command) -> Command {
    verb.mut_arg("json", |option| option.help(command::JSON_HELP))
        .mut_arg("quiet", |option| option.help(command::QUIET_HELP))
}

impl AuditArguments {
    pub fn scope(&self) -> Scope {
        // Threads that were asked for by name are audited whatever their policy.
        if self.all_threads || self.whom.names_threads() { Scope::All } else { Scope::RealTime }
    }

    pub fn settle_ns(&self) -> i64 {
        let runs_already = self.archive.is_none() && self.whom.command().is_empty();
        let default_ns = if runs_already { 0 } else { SETTLE_NS };
        i64::try_from(self.settle.unwrap_or(default_ns)).unwrap_or(i64::MAX)
    }

    pub fn format(&self) -> Format {
        if self.output.json { Format::Document(JSON) } else { self.format }
    }

    pub fn is_denied(&self, rule: &str) -> bool {
        self.deny.iter().any(|denied| denied == ALL || denied == rule)
    }

    pub fn is_allowed(&self, rule: &str) -> bool {
        self.allow.iter().any(|allowed| allowed == ALL || allowed == rule)
    }

    /// The command that is started.
    pub fn program(&self) -> Option<&str> {
        self.whom.command().first().map(String::as_str)
    }

    /// Checks that the calls can be recorded from inside the program.
    ///
    /// # Errors
    /// [`UsageError`].
    pub fn check_interception(&self, target: &KnownTarget) -> Result<(), UsageError> {
        if self.inject.len() > RULES_MAX {
            return Err(UsageError(format!("--inject takes at most {RULES_MAX} rules; leave some out")));
        }
        let by = self.by.name();
        let why = if self.whom.command().is_empty() {
            &format!(
                "a running program cannot be made to load it; start the program, as in `tardy audit --by {by} -- COMMAND`"
            )
        } else if !target.is_local() {
            "it is only on this machine; leave out --target, or audit with --by trace"
        } else if !cfg!(target_arch = "x86_64") {
            "it knows x86-64 only; audit with --by trace"
        } else {
            return Ok(());
        };
        Err(UsageError(format!("--by {by} needs its library in the program, and {why}")))
    }

    /// Whose calls of the C library are recorded.
    pub fn function_calls(&self) -> Option<Recorded> {
        let recorded = if self.scope() == Scope::All { Recorded::All } else { Recorded::RealTime };
        (self.by == By::Preload).then_some(recorded)
    }

    /// The audited program, in words.
    pub fn whom(&self) -> String {
        self.archive.as_ref().map_or_else(|| self.whom.words(), |archive| archive.display().to_string())
    }

    /// The settings for the meter.
    ///
    /// # Errors
    /// Refusals of [`WhomArguments::request`].
    pub fn settings(&self, target: &KnownTarget) -> anyhow::Result<RunSettings> {
        let request = self.whom.request(target)?;
        let settle_ns = u64::try_from(self.settle_ns()).unwrap_or(0);
        let audit = AuditSettings { stacks: !self.no_stacks, settle_ns, ..AuditSettings::default() };
        let mut settings = RunSettings {
            duration_ns: self.duration,
            settle_ns: 0,
            lock_memory: false,
            trace: TraceSettings { mode: SnapshotMode::Off, ..TraceSettings::default() },
            watch: Some(request),
            audit: Some(audit),
            ..RunSettings::default()
        };
        self.load.apply(&mut settings);
        Ok(settings)
    }
}

/// A rule that does not exist.
#[derive(Debug, Error)]
#[error("no such rule; there are all, {names}")]
struct NoRule {
    names: String,
}

fn injection(text: &str) -> Result<Injection, InjectionError> {
    audit::injection::parse(text, std::env::consts::ARCH)
}

fn rule(text: &str) -> Result<String, NoRule> {
    if text == ALL || RULES.iter().any(|rule| rule.name == text) {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    Err(NoRule { names: names.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        audit: AuditArguments,
    }

    fn parsed(words: &[&str]) -> Result<AuditArguments, clap::Error> {
        Line::try_parse_from([&["audit"], words].concat()).map(|line| line.audit)
    }

    #[test]
    fn rules_are_denied_and_allowed_by_name() {
        let arguments = parsed(&["--deny", "all", "--allow", "signal", "--pid", "1"]).unwrap();
        assert!(
            arguments.is_denied("page-fault") && arguments.is_allowed("signal") && !arguments.is_allowed("page-fault")
        );
        assert!(parsed(&["--deny", "haste", "--pid", "1"]).unwrap_err().to_string().contains("sched-yield"));
        assert!(!parsed(&["--pid", "1"]).unwrap().is_denied("page-fault"));
    }

    #[test]
    fn names_no_thread_can_have_are_refused() {
        let refused = parsed(&["--comm", "a_name_of_sixteen"]).unwrap().settings(&KnownTarget::local()).unwrap_err();
        assert!(refused.to_string().contains("15 letters"), "{refused}");
    }

    #[test]
    fn a_running_program_has_already_settled() {
        assert_eq!(parsed(&["--pid", "1"]).unwrap().settle_ns(), 0);
        assert_eq!(parsed(&["--", "/bin/true"]).unwrap().settle_ns(), 1_000_000_000);
        assert_eq!(parsed(&["--settle", "3s", "--pid", "1"]).unwrap().settle_ns(), 3_000_000_000);
        assert!(parsed(&[]).is_err() && parsed(&["--pid", "1", "--archive", "latest"]).is_err());
    }
}

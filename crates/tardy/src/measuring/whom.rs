//! The program to look at, as the user names it: by a process, a thread, a control group, or the command to start.

use super::command;
use crate::options::quantity::whole;
use archive::watched::WatchSettings;
use archive::watched::group::ProgramGroup;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use machines::KnownTarget;

/// The options of [`WhomArguments`], of which one is given.
pub const WHOM: [&str; 6] = ["pid", "comm", "unit", "cgroup", "container", "command"];

/// Which program.
#[derive(Debug, Args)]
pub struct WhomArguments {
    /// A process, its threads and its children
    #[arg(long, value_name = "N", value_parser = whole::<i32>(1..), help_heading = "Program")]
    pid: Option<i32>,
    /// The threads with this name, in any process; * and ? are wildcards
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    comm: Option<String>,
    /// A systemd unit, of the system or of a user, also after restarts
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Program")]
    unit: Option<String>,
    /// A control group and the groups below it
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new(), help_heading = "Program")]
    cgroup: Option<String>,
    /// A container or a pod, by name or id
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Program")]
    container: Option<String>,
    /// Start this command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl WhomArguments {
    /// The command to start, word by word; empty for a program that already runs.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Whether threads are named one by one.
    pub fn names_threads(&self) -> bool {
        self.comm.is_some()
    }

    /// The request to the meter.
    ///
    /// # Errors
    /// Refusals of [`command::check`].
    pub fn request(&self, target: &KnownTarget) -> anyhow::Result<WatchSettings> {
        command::check(target, self.pid, self.comm.as_deref(), &self.command)?;
        Ok(self.named())
    }

    /// The program, in words.
    pub fn words(&self) -> String {
        self.named().whom()
    }

    fn named(&self) -> WatchSettings {
        WatchSettings {
            pid: self.pid,
            comm: self.comm.clone(),
            group: self.group(),
            command: self.command.clone(),
            ..WatchSettings::default()
        }
    }

    fn group(&self) -> Option<ProgramGroup> {
        let unit = self.unit.clone().map(|name| ProgramGroup::Unit { name });
        let below = self.cgroup.clone().map(|path| ProgramGroup::Below { path });
        unit.or(below).or(self.container.clone().map(|name| ProgramGroup::Container { name }))
    }
}

//! `tardy top`: a table of the watched threads on the terminal.

use crate::exit::{Exit, UsageError};
use crate::measuring::whom::{WHOM, WhomArguments};
use crate::options::quantity::{latency_ns, percentage, positive_time_ns};
use crate::top::{Asked, top};
use crate::verb::{Place, Verb};
use archive::watched::WatchSettings;
use clap::{ArgGroup, Args, Command};
use machines::KnownTarget;
use std::path::PathBuf;

/// Show which real-time threads wake late now, and why
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").args(WHOM))]
pub struct TopArguments {
    #[command(flatten)]
    whom: WhomArguments,
    /// Count wake-ups later than this; explain them from here on
    #[arg(long, value_name = "TIME", value_parser = latency_ns)]
    limit: Option<i64>,
    /// Budget of watching, in % of a CPU
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = budget)]
    budget: f64,
    /// Print one table after TIME, without a terminal
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "5s", value_parser = positive_time_ns)]
    once: Option<u64>,
    /// Keep the archive of the watch, below DIR
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

fn budget(text: &str) -> Result<f64, UsageError> {
    let within = percentage(text).ok().filter(|percent| (0.01..=100.0).contains(percent));
    within.ok_or_else(|| UsageError("write a number from 0.01 to 100, like 0.5".into()))
}

impl Verb for TopArguments {
    const NAME: &'static str = "top";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] = &["tardy top", "tardy top --once 10s --comm 'robot*' --limit 200us"];
    const NOTES: &'static str = "\
Without a program: every thread with a real-time or deadline policy.
Exit codes: 0 ended, 1 --once: over the limit, 2 usage, 3 could not watch.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        if !self.whom.command().is_empty() {
            let text = "the table has the terminal for itself; start the command elsewhere and name it with --comm, or \
                        use `tardy watch -- COMMAND`";
            return Err(UsageError(text.into()).into());
        }
        let named = self.whom.request(&KnownTarget::local())?;
        let is_named = named.pid.is_some() || named.comm.is_some() || named.group.is_some();
        let asked = Asked {
            watch: WatchSettings { real_time: !is_named, ..named },
            limit_ns: self.limit,
            budget_percent: self.budget,
            directory: self.directory.clone(),
            once_ns: self.once,
        };
        top(asked, typed)
    }

    fn defined(derived: Command) -> Command {
        derived.mut_arg("command", |option| option.hide(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        top: TopArguments,
    }

    fn parsed(words: &[&str]) -> Result<TopArguments, clap::Error> {
        Line::try_parse_from([&["top"], words].concat()).map(|line| line.top)
    }

    #[test]
    fn a_table_is_of_one_program_and_its_options_are_numbers() {
        let some = parsed(&["--comm", "x", "--once", "--budget", "2 %"]).unwrap();
        assert_eq!((some.once, some.budget), (Some(5_000_000_000), 2.0));
        assert!(parsed(&["--comm", "x", "--pid", "1"]).is_err());
        assert!(parsed(&["--budget", "0"]).is_err());
        let refused = parsed(&["--", "sleep", "1"]).unwrap().run(Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("--comm"), "{refused}");
    }
}

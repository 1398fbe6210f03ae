//! The options of `tardy check`.

use crate::exit::UsageError;
use crate::options::quantity::cpus;
use clap::{Args, ValueEnum};
use readiness::{Accepted, Checklist, Profile, Subject};
use std::fs;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  tardy check
  tardy check --cpus 2-3 --priority 90
  tardy check --target board --json
  tardy check --format cmdline
  tardy check --format sysctl > /etc/sysctl.d/90-realtime.conf
  tardy check --apply; tardy run ...; tardy restore
  tardy check --format accepted > known.txt; tardy check --accepted known.txt

Exit codes: 0 nothing is worse than a notice, 1 something is, 2 wrong usage, 3 the machine could not be asked.";

/// Say whether a machine is set up for real-time work, and what to change where it is not
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArguments {
    /// Machine to check: `local`, or one that `tardy target add` made
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub target: String,
    /// CPUs the real-time work is to run on, like 2-3 [default: those the kernel isolates, or else all]
    #[arg(short = 'a', long, value_name = "LIST", value_parser = parse_cpus)]
    cpus: Option<CpuList>,
    /// Priority of its most urgent thread
    #[arg(short, long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u8).range(1..=99))]
    pub priority: u8,
    /// Whether its CPUs are for it alone
    #[arg(long, value_enum, default_value = "auto")]
    profile: ProfileName,
    /// Findings that are known and accepted, a line each as `--format accepted` writes them
    #[arg(long, value_name = "FILE")]
    accepted: Option<PathBuf>,
    /// Check the kernel's configuration against this list too, in the form of Xenomai's chkkconf; may be repeated
    #[arg(long = "checklist", value_name = "FILE")]
    checklists: Vec<PathBuf>,
    /// Change what warnings ask for and can be changed at run time, until the next boot or `tardy restore`
    #[arg(long, conflicts_with = "facts")]
    pub apply: bool,
    /// Tell notices as fully as warnings, and heed them in --apply and --format
    #[arg(long)]
    pub notices: bool,
    /// What to print: for people, for the kernel's command line, for sysctl.d, or for a file of accepted findings
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    pub format: Format,
    /// Judge facts saved before instead of a machine
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub facts: Option<PathBuf>,
    /// Keep what the machine told, for --facts
    #[arg(long, value_name = "FILE")]
    pub save_facts: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Cmdline,
    Sysctl,
    Accepted,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
    /// For it alone if they are not all there are
    Auto,
    /// Real-time work and everything else share the CPUs
    Shared,
    /// For it alone
    Dedicated,
}

/// CPUs as typed; a `Vec` would have clap take several values.
#[derive(Debug, Clone)]
struct CpuList(Vec<u32>);

fn parse_cpus(text: &str) -> Result<CpuList, String> {
    cpus(text).map(CpuList)
}

/// What facts are judged by.
pub struct JudgedBy {
    pub subject: Subject,
    pub checklist: Checklist,
    pub accepted: Vec<Accepted>,
}

impl CheckArguments {
    /// # Errors
    /// [`UsageError`] for files that cannot be read or understood.
    pub fn judged_by(&self) -> Result<JudgedBy, UsageError> {
        let subject = Subject {
            cpus: self.cpus.clone().map(|CpuList(cpus)| cpus),
            priority: self.priority,
            profile: match self.profile {
                ProfileName::Auto => Profile::Auto,
                ProfileName::Shared => Profile::Shared,
                ProfileName::Dedicated => Profile::Dedicated,
            },
        };
        let mut checklist = Checklist::default();
        for path in &self.checklists {
            checklist.extend(understood(path, Checklist::parse)?);
        }
        let accepted = self.accepted.as_deref().map(|path| understood(path, Accepted::parse)).transpose()?;
        Ok(JudgedBy { subject, checklist, accepted: accepted.unwrap_or_default() })
    }
}

fn understood<T>(path: &Path, parse: impl Fn(&str) -> Result<T, (usize, String)>) -> Result<T, UsageError> {
    let text =
        fs::read_to_string(path).map_err(|error| UsageError(format!("failed to read {}: {error}", path.display())))?;
    parse(&text).map_err(|(line, why)| UsageError(format!("{}:{line}: {why}", path.display())))
}

//! The options of `tardy check`.

use crate::exit::UsageError;
use crate::options::quantity::{CpuList, whole};
use clap::{Args, ValueEnum};
use readiness::{Accepted, Checklist, Profile, Subject};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

/// Check real-time settings and show how to fix each
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Target to check: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub target: String,
    /// CPUs for the real-time work, like 2-3 [default: the isolated CPUs, or else all]
    #[arg(short = 'a', long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Priority of its highest-priority thread
    #[arg(short, long, value_name = "N", default_value_t = 80, value_parser = whole::<u8>(1..=99))]
    pub priority: u8,
    /// Whether the real-time work has its CPUs to itself
    #[arg(long, value_enum, default_value = "auto")]
    profile: ProfileName,
    /// File of accepted findings, as `--format accepted` writes it
    #[arg(long, value_name = "FILE")]
    pub accepted: Option<PathBuf>,
    /// Also check the kernel's configuration against this list, in the format of Xenomai's chkkconf; may be repeated
    #[arg(long = "checklist", value_name = "FILE")]
    checklists: Vec<PathBuf>,
    /// Apply every fix of a warning that works at run time, until the next boot or `tardy target restore`
    #[arg(long, conflicts_with = "facts")]
    pub apply: bool,
    /// Show notices in full, and include them in --apply and --format
    #[arg(long)]
    pub notices: bool,
    /// Output: text, words for the kernel's command line, a file for sysctl.d, or a file for --accepted
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    pub format: Format,
    /// Check saved facts instead of a machine
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub facts: Option<PathBuf>,
    /// Save the machine's facts to a file, for --facts
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
    /// Dedicated, unless they are all CPUs of the machine
    Auto,
    /// Real-time work and everything else share the CPUs
    Shared,
    /// Only the real-time work runs there
    Dedicated,
}

/// The expectations that facts are checked against.
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

fn understood<T, E: Display>(path: &Path, parse: impl Fn(&str) -> Result<T, (usize, E)>) -> Result<T, UsageError> {
    let text =
        fs::read_to_string(path).map_err(|error| UsageError(format!("failed to read {}: {error}", path.display())))?;
    parse(&text).map_err(|(line, why)| UsageError(format!("{}:{line}: {why}", path.display())))
}

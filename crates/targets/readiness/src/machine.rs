//! The machine as rules see it: its facts, and the work for which they are judged.

use super::command_line::CommandLine;
use super::cpu_set::CpuSet;
use super::unknown::Unknown;
use archive::facts::{Fact, Facts};

/// Longest quotation of a target's text inside a sentence, in characters.
const QUOTED_MAX: usize = 60;

/// Whether the work has its CPUs for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// Dedicated unless the work uses all CPUs.
    #[default]
    Auto,
    /// Real-time work and everything else share the CPUs.
    Shared,
    /// The CPUs of the work are reserved for it.
    Dedicated,
}

/// The work for which a machine is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// CPUs it runs on; `None` for those that the kernel isolates, or all if there are none.
    pub cpus: Option<Vec<u32>>,
    /// Highest priority of its threads, 1 to 99.
    pub priority: u8,
    pub profile: Profile,
}

/// Facts and work together.
pub struct Machine<'a> {
    pub facts: &'a Facts,
    pub command_line: CommandLine,
    pub online: CpuSet,
    /// CPUs of the work, including those that are offline or missing.
    pub realtime: CpuSet,
    pub priority: u8,
    pub dedicated: bool,
}

impl<'a> Machine<'a> {
    pub fn new(facts: &'a Facts, subject: &Subject) -> Self {
        let listed = |text: Option<&str>| text.and_then(|text| CpuSet::list(text, 0)).unwrap_or_default();
        let online = listed(facts.environment.cpus_online.as_deref());
        let isolated = listed(facts.environment.cpus_isolated.as_deref());
        let asked = subject.cpus.as_ref().map(|cpus| CpuSet::of(cpus.iter().copied()));
        let realtime = asked.unwrap_or_else(|| if isolated.is_empty() { online.clone() } else { isolated });
        let part = !online.without(&realtime).is_empty() && !realtime.is_empty();
        let dedicated = match subject.profile {
            Profile::Auto => part,
            Profile::Shared => false,
            Profile::Dedicated => true,
        };
        Self {
            facts,
            command_line: CommandLine::parse(facts.environment.command_line.as_deref().unwrap_or_default()),
            online,
            realtime,
            priority: subject.priority,
            dedicated,
        }
    }

    /// CPUs for everything else; all if none is left.
    pub fn housekeeping(&self) -> CpuSet {
        let rest = self.online.without(&self.realtime);
        if rest.is_empty() { self.online.clone() } else { rest }
    }

    /// Number of the last possible CPU, which is `N` on the command line.
    pub fn last_cpu(&self) -> u32 {
        let possible = self.optional("/sys/devices/system/cpu/possible").ok().flatten();
        let possible = possible.and_then(|text| CpuSet::list(text, 0)).and_then(|cpus| cpus.last());
        possible.or(self.online.last()).unwrap_or(0)
    }

    /// Contents of a file without surrounding whitespace; `None` if the kernel does not have it.
    pub fn optional(&self, path: &str) -> Result<Option<&'a str>, Unknown> {
        match self.facts.files.get(path) {
            Some(Fact::Text(text)) => Ok(Some(text.trim())),
            Some(Fact::Absent) => Ok(None),
            Some(Fact::Refused(why)) => Err(Unknown(format!("{path} cannot be read: {}", quoted(why)))),
            None => Err(Unknown(format!("{path} was not asked for, by a meter of another version"))),
        }
    }

    /// Contents of a file that every such kernel has.
    pub fn text(&self, path: &str) -> Result<&'a str, Unknown> {
        self.optional(path)?.ok_or_else(|| Unknown(format!("{path} does not exist")))
    }

    /// A file that contains one number; `None` if the kernel does not have it.
    pub fn number(&self, path: &str) -> Result<Option<i64>, Unknown> {
        let Some(text) = self.optional(path)? else { return Ok(None) };
        let number = text.parse().map_err(|_| Unknown(format!("{path} is not a number: {}", quoted(text))))?;
        Ok(Some(number))
    }

    /// Files whose paths start and end with these texts around a CPU number, ascending; `None` for a missing file.
    pub fn of_cpus(&self, begin: &str, end: &str) -> Result<Vec<(u32, &'a str)>, Unknown> {
        let mut found = Vec::new();
        for path in self.facts.files.keys() {
            let middle = path.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
            if let Some(number) = middle.and_then(|middle| middle.parse().ok())
                && let Some(text) = self.optional(path)?
            {
                found.push((number, text));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Value of an option of the kernel's configuration, named without `CONFIG_`; `None` if it is not set.
    pub fn config(&self, name: &str) -> Result<Option<&'a str>, Unknown> {
        let text = self.facts.kernel_config.as_deref();
        let text =
            text.ok_or_else(|| Unknown("the kernel's configuration cannot be read (CONFIG_IKCONFIG_PROC)".into()))?;
        let mut options = text.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='));
        Ok(options.find(|(option, _)| *option == name).map(|(_, value)| value.trim()))
    }

    pub fn is_built(&self, name: &str) -> Result<bool, Unknown> {
        Ok(matches!(self.config(name)?, Some("y" | "m")))
    }

    /// Whether the kernel has at least this version.
    pub fn is_since(&self, major: u32, minor: u32) -> Result<bool, Unknown> {
        let release = &self.facts.environment.kernel_release;
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(found_major)), Some(Ok(found_minor))) => Ok((found_major, found_minor) >= (major, minor)),
            _ => Err(Unknown(format!("the kernel's release is not a version: {}", quoted(release)))),
        }
    }

    pub fn is_realtime_kernel(&self) -> Result<bool, Unknown> {
        let known = self.facts.environment.preempt_rt;
        known.ok_or_else(|| Unknown("the kernel does not say how it can be preempted".into()))
    }

    pub fn is_x86(&self) -> bool {
        matches!(self.facts.environment.architecture.as_str(), "x86_64" | "i686" | "i586" | "i386")
    }
}

/// A short quotation of the target's text.
pub fn quoted(text: &str) -> String {
    let mut letters = text.trim().chars();
    let short: String = letters.by_ref().take(QUOTED_MAX).collect();
    if letters.next().is_some() { format!("{short}…") } else { short }
}

/// The word in brackets of `always [madvise] never`.
pub fn choice(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

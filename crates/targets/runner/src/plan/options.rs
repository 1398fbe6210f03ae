//! The keys of a plan for the settings of each step. Their values are parsed by the options of `tardy run` with the
//! same names.

use super::document::{Problems, Section, Written};
use std::fmt;

/// A key whose value is a string or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKey {
    Method,
    Stimulus,
    Duration,
    Cycles,
    Interval,
    Seed,
    Settle,
    Cpus,
    Policy,
    Priority,
    CpuDmaLatency,
    WorstKept,
    MeterTimeout,
    TraceMode,
    TraceThreshold,
    BufferKb,
    Snapshots,
    BudgetMb,
    Controls,
    Tracer,
    TracerThreshold,
}

/// A boolean key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKey {
    LockMemory,
    Counters,
    Degrade,
    EverySample,
    BesideOthers,
    Stack,
}

/// A key with a list of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKey {
    Functions,
    FunctionsNot,
    Sources,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Text(TextKey),
    Flag(FlagKey),
    List(ListKey),
}

/// `[measurement]`
pub const MEASUREMENT: &[(&str, Key)] = &[
    ("method", Key::Text(TextKey::Method)),
    ("stimulus", Key::Text(TextKey::Stimulus)),
    ("duration", Key::Text(TextKey::Duration)),
    ("cycles", Key::Text(TextKey::Cycles)),
    ("interval", Key::Text(TextKey::Interval)),
    ("seed", Key::Text(TextKey::Seed)),
    ("settle", Key::Text(TextKey::Settle)),
    ("cpus", Key::Text(TextKey::Cpus)),
    ("policy", Key::Text(TextKey::Policy)),
    ("priority", Key::Text(TextKey::Priority)),
    ("lock_memory", Key::Flag(FlagKey::LockMemory)),
    ("cpu_dma_latency", Key::Text(TextKey::CpuDmaLatency)),
    ("counters", Key::Flag(FlagKey::Counters)),
    ("degrade", Key::Flag(FlagKey::Degrade)),
    ("every_sample", Key::Flag(FlagKey::EverySample)),
    ("worst_kept", Key::Text(TextKey::WorstKept)),
    ("meter_timeout", Key::Text(TextKey::MeterTimeout)),
];

/// `[trace]`
pub const TRACE: &[(&str, Key)] = &[
    ("mode", Key::Text(TextKey::TraceMode)),
    ("threshold", Key::Text(TextKey::TraceThreshold)),
    ("buffer_kb", Key::Text(TextKey::BufferKb)),
    ("snapshots", Key::Text(TextKey::Snapshots)),
    ("budget_mb", Key::Text(TextKey::BudgetMb)),
    ("controls", Key::Text(TextKey::Controls)),
    ("beside_others", Key::Flag(FlagKey::BesideOthers)),
    ("tracer", Key::Text(TextKey::Tracer)),
    ("functions", Key::List(ListKey::Functions)),
    ("functions_not", Key::List(ListKey::FunctionsNot)),
    ("tracer_threshold", Key::Text(TextKey::TracerThreshold)),
    ("stack", Key::Flag(FlagKey::Stack)),
    ("sources", Key::List(ListKey::Sources)),
];

/// The section whose keys are kernel settings.
pub const SET: &str = "set";

/// A value chosen by a plan or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Text(TextKey, String),
    Flag(FlagKey, bool),
    List(ListKey, Vec<Written>),
    /// The kernel setting named by this option.
    Setting(String),
}

/// A key of a plan with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOption {
    /// The key as written.
    pub name: String,
    pub choice: Choice,
    pub line: usize,
}

impl PlanOption {
    /// Whether it sets this key.
    pub fn sets(&self, key: TextKey) -> bool {
        matches!(self.choice, Choice::Text(found, _) if found == key)
    }

    /// Whether both set the same key.
    fn is_of_the_same_key(&self, other: &Self) -> bool {
        let is_setting = |option: &Self| matches!(option.choice, Choice::Setting(_));
        self.name == other.name && is_setting(self) == is_setting(other)
    }
}

/// As a line of a plan: `interval = 1ms`.
impl fmt::Display for PlanOption {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} = ", self.name)?;
        match &self.choice {
            Choice::Text(_, value) | Choice::Setting(value) => out.write_str(value),
            Choice::Flag(_, value) => write!(out, "{value}"),
            Choice::List(_, values) => {
                let texts: Vec<&str> = values.iter().map(|written| written.text.as_str()).collect();
                write!(out, "[{}]", texts.join(", "))
            }
        }
    }
}

/// Parses the keys of a section.
pub fn read(section: &mut Section, keys: &[(&'static str, Key)], problems: &mut Problems) -> Vec<PlanOption> {
    let mut options = Vec::new();
    for (name, key) in keys {
        let chosen = match key {
            Key::Text(key) => {
                section.scalar(name, problems).map(|written| (Choice::Text(*key, written.text), written.line))
            }
            Key::Flag(key) => section.flag(name, problems).map(|(value, line)| (Choice::Flag(*key, value), line)),
            Key::List(key) => section.list(name, problems).map(|values| {
                let line = values.first().map_or(0, |written| written.line);
                (Choice::List(*key, values), line)
            }),
        };
        options.extend(chosen.map(|(choice, line)| PlanOption { name: (*name).into(), choice, line }));
    }
    options
}

/// Parses `[set]`, whose keys are kernel settings.
pub fn read_settings(section: Section, problems: &mut Problems) -> Vec<PlanOption> {
    let pairs = section.free(problems);
    let option = |(name, written): (String, Written)| PlanOption {
        name,
        choice: Choice::Setting(written.text),
        line: written.line,
    };
    pairs.into_iter().map(option).collect()
}

/// The options of the whole plan, replaced by those of a part.
pub fn over(whole: &[PlanOption], part: &[PlanOption]) -> Vec<PlanOption> {
    let replaced = |option: &&PlanOption| part.iter().any(|other| other.is_of_the_same_key(option));
    whole.iter().filter(|option| !replaced(option)).chain(part).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_replaces_the_keys_it_names_and_no_others() {
        let option = |name: &str, choice| PlanOption { name: name.into(), choice, line: 1 };
        let text = |name, key, value: &str| option(name, Choice::Text(key, value.into()));
        let set = |name, value: &str| option(name, Choice::Setting(value.into()));
        let degrade = |value| option("degrade", Choice::Flag(FlagKey::Degrade, value));
        let whole = [text("interval", TextKey::Interval, "1ms"), set("a", "1"), set("interval", "1"), degrade(true)];
        let part = [text("interval", TextKey::Interval, "2ms"), set("b", "2"), degrade(false)];
        let lines: Vec<String> = over(&whole, &part).iter().map(PlanOption::to_string).collect();
        assert_eq!(lines, ["a = 1", "interval = 1", "interval = 2ms", "b = 2", "degrade = false"]);
    }
}

//! The keys of a plan that are options of `tardy run` under another roof. What they mean and which values they take is
//! said there, once; here they have their place in the file.

use super::document::{Problems, Section, Written};

/// How a key's value becomes words of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `key = "value"`: `--option=value`
    Value,
    /// `key = ["a", "b"]`: `--option=a --option=b`
    List,
    /// `key = true`: `--option`
    Flag,
    /// `key = false`: `--option`
    FlagWhenFalse,
}

/// A key and the option it stands for.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub key: &'static str,
    pub option: &'static str,
    pub form: Form,
}

const fn key(key: &'static str, option: &'static str, form: Form) -> Key {
    Key { key, option, form }
}

/// `[measurement]`
pub const MEASUREMENT: [Key; 15] = [
    key("duration", "duration", Form::Value),
    key("cycles", "cycles", Form::Value),
    key("interval", "interval", Form::Value),
    key("seed", "seed", Form::Value),
    key("settle", "settle", Form::Value),
    key("cpus", "cpus", Form::Value),
    key("policy", "policy", Form::Value),
    key("priority", "priority", Form::Value),
    key("lock_memory", "no-lock-memory", Form::FlagWhenFalse),
    key("cpu_dma_latency", "cpu-dma-latency", Form::Value),
    key("counters", "no-counters", Form::FlagWhenFalse),
    key("degrade", "degrade", Form::Flag),
    key("every_sample", "every-sample", Form::Flag),
    key("worst_kept", "worst-kept", Form::Value),
    key("meter_timeout", "meter-timeout", Form::Value),
];

/// `[trace]`
pub const TRACE: [Key; 13] = [
    key("mode", "trace", Form::Value),
    key("threshold", "trace-threshold", Form::Value),
    key("buffer_kb", "buffer-kb", Form::Value),
    key("snapshots", "snapshots", Form::Value),
    key("budget_mb", "budget-mb", Form::Value),
    key("controls", "controls", Form::Value),
    key("beside_others", "beside-others", Form::Flag),
    key("tracer", "tracer", Form::Value),
    key("functions", "functions", Form::List),
    key("functions_not", "functions-not", Form::List),
    key("tracer_threshold", "tracer-threshold", Form::Value),
    key("stack", "stack", Form::Flag),
    key("sources", "source", Form::List),
];

/// The option of `[set]`, once for each of its keys.
pub const SET: &str = "set";
/// The options of a load.
pub const LOAD: &str = "load";
pub const LOAD_COMMAND: &str = "load-cmd";

/// A word of the command line of `tardy run`, from a line of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOption {
    /// Without its dashes.
    pub option: &'static str,
    /// `None` for a flag.
    pub value: Option<String>,
    /// Whether the word is said: a part of a plan may take a flag of the whole back.
    pub said: bool,
    /// What the line calls it.
    pub key: String,
    pub line: usize,
}

impl PlanOption {
    pub fn of(option: &'static str, key: &str, written: &Written) -> Self {
        Self { option, value: Some(written.text.clone()), said: true, key: key.into(), line: written.line }
    }

    /// As a word of the command line.
    pub fn word(&self) -> String {
        match &self.value {
            Some(value) => format!("--{}={value}", self.option),
            None => format!("--{}", self.option),
        }
    }

    /// What it decides: of two options with the same, the later one counts.
    fn decides(&self) -> (&'static str, Option<&str>) {
        let setting = self.value.as_deref().filter(|_| self.option == SET);
        (self.option, setting.and_then(|value| value.split('=').next()))
    }
}

/// Reads the keys of a section.
pub fn read(section: &mut Section, keys: &[Key], problems: &mut Problems) -> Vec<PlanOption> {
    let mut options = Vec::new();
    for key in keys {
        let flag = |said, line| PlanOption { option: key.option, value: None, said, key: key.key.into(), line };
        match key.form {
            Form::Value => {
                let value = section.scalar(key.key, problems);
                options.extend(value.map(|written| PlanOption::of(key.option, key.key, &written)));
            }
            Form::List => {
                let values = section.list(key.key, problems).unwrap_or_default();
                options.extend(values.iter().map(|written| PlanOption::of(key.option, key.key, written)));
            }
            Form::Flag | Form::FlagWhenFalse => {
                let wanted = key.form == Form::Flag;
                options.extend(section.flag(key.key, problems).map(|(value, line)| flag(value == wanted, line)));
            }
        }
    }
    options
}

/// Reads `[set]`, whose keys are kernel settings.
pub fn read_settings(section: Section, problems: &mut Problems) -> Vec<PlanOption> {
    let pairs = section.free(problems);
    let option = |(name, written): (String, Written)| PlanOption {
        option: SET,
        value: Some(format!("{name}={}", written.text)),
        said: true,
        key: name,
        line: written.line,
    };
    pairs.into_iter().map(option).collect()
}

/// The options of the whole plan, with those of a part of it in their place.
pub fn over(whole: &[PlanOption], part: &[PlanOption]) -> Vec<PlanOption> {
    let replaced = |option: &&PlanOption| part.iter().any(|other| other.decides() == option.decides());
    whole.iter().filter(|option| !replaced(option)).chain(part).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(option: &'static str, value: &str) -> PlanOption {
        PlanOption::of(option, option, &Written { text: value.into(), line: 1 })
    }

    #[test]
    fn a_part_replaces_what_it_decides_and_nothing_else() {
        let whole = [option("interval", "1ms"), option(SET, "a=1"), option(SET, "b=1")];
        let part = [option("interval", "2ms"), option(SET, "b=2"), option("priority", "9")];
        let words: Vec<String> = over(&whole, &part).iter().map(PlanOption::word).collect();
        assert_eq!(words, ["--set=a=1", "--interval=2ms", "--set=b=2", "--priority=9"]);
        let flag = |said| PlanOption { value: None, said, ..option("degrade", "") };
        assert!(over(&[flag(true)], &[flag(false)]).iter().all(|option| !option.said));
    }
}

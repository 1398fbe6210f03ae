//! The keys of a plan for the settings of each step. They are options of `tardy run`, which declares them and reads their values.

use super::document::{Problems, Section, Written};
use std::fmt;

/// A section whose keys are settings of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Measurement,
    Trace,
    /// Its keys are kernel settings.
    Set,
}

impl Place {
    /// The sections whose keys are options of `tardy run`.
    pub const OF_OPTIONS: [Self; 2] = [Self::Measurement, Self::Trace];

    pub fn name(self) -> &'static str {
        match self {
            Self::Measurement => "measurement",
            Self::Trace => "trace",
            Self::Set => "set",
        }
    }
}

/// The kind of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string or a number.
    Text,
    Flag,
    /// A list of strings, or one string.
    List,
}

/// An option of `tardy run` as a key of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub place: Place,
    pub name: &'static str,
    pub kind: Kind,
}

/// The options of `tardy run`, as a plan knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    pub known: Vec<Key>,
    /// Options that are no keys, each with the reason.
    pub refused: Vec<(String, &'static str)>,
}

/// A value chosen by a plan or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Text(String),
    Flag(bool),
    List(Vec<Written>),
}

/// A key of a plan with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOption {
    pub place: Place,
    /// The key as written.
    pub name: String,
    pub choice: Choice,
    pub line: usize,
}

impl PlanOption {
    /// Whether both set the same key.
    fn is_of_the_same_key(&self, other: &Self) -> bool {
        (self.place, &self.name) == (other.place, &other.name)
    }
}

/// As a line of a plan: `interval = 1ms`.
impl fmt::Display for PlanOption {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} = ", self.name)?;
        match &self.choice {
            Choice::Text(value) => out.write_str(value),
            Choice::Flag(value) => write!(out, "{value}"),
            Choice::List(values) => {
                let texts: Vec<&str> = values.iter().map(|written| written.text.as_str()).collect();
                write!(out, "[{}]", texts.join(", "))
            }
        }
    }
}

/// Parses `[measurement]`, `[trace]` and `[set]` of the plan or of a variant.
pub fn read(document: &mut Section, keys: &Keys, problems: &mut Problems) -> Vec<PlanOption> {
    let mut options = Vec::new();
    for place in Place::OF_OPTIONS {
        if let Some(section) = document.section(place.name(), problems) {
            read_section(section, place, keys, &mut options, problems);
        }
    }
    if let Some(section) = document.section(Place::Set.name(), problems) {
        options.extend(section.free(problems).into_iter().map(|(name, written)| PlanOption {
            place: Place::Set,
            name,
            choice: Choice::Text(written.text),
            line: written.line,
        }));
    }
    options
}

fn read_section(
    mut section: Section,
    place: Place,
    keys: &Keys,
    options: &mut Vec<PlanOption>,
    problems: &mut Problems,
) {
    for Key { name, kind, .. } in keys.known.iter().filter(|key| key.place == place) {
        let chosen = match kind {
            Kind::Text => section.scalar(name, problems).map(|written| (Choice::Text(written.text), written.line)),
            Kind::Flag => section.flag(name, problems).map(|(value, line)| (Choice::Flag(value), line)),
            Kind::List => section.list(name, problems).map(|values| {
                let line = values.first().map_or(0, |written| written.line);
                (Choice::List(values), line)
            }),
        };
        let option = |(choice, line)| PlanOption { place, name: (*name).into(), choice, line };
        options.extend(chosen.map(option));
    }
    section.finish_with(problems, |key| {
        let elsewhere = keys.known.iter().find(|known| known.name == key);
        let refused = keys.refused.iter().find(|(name, _)| name == key);
        let belongs = elsewhere.map(|known| format!("it belongs to [{}]", known.place.name()));
        belongs.or(refused.map(|(_, why)| (*why).to_owned()))
    });
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
        let option = |place, name: &str, choice| PlanOption { place, name: name.into(), choice, line: 1 };
        let text = |name, value: &str| option(Place::Measurement, name, Choice::Text(value.into()));
        let set = |name, value: &str| option(Place::Set, name, Choice::Text(value.into()));
        let degrade = |value| option(Place::Measurement, "degrade", Choice::Flag(value));
        let whole = [text("interval", "1ms"), set("a", "1"), set("interval", "1"), degrade(true)];
        let part = [text("interval", "2ms"), set("b", "2"), degrade(false)];
        let lines: Vec<String> = over(&whole, &part).iter().map(PlanOption::to_string).collect();
        assert_eq!(lines, ["a = 1", "interval = 1", "interval = 2ms", "b = 2", "degrade = false"]);
    }
}

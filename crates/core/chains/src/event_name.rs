//! The name of a trace event in a declaration, `gpio:gpio_value`: an event of the kernel, or a probe in a program.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error as ThisError;

/// The kernel allows no longer name of a probe.
const BYTES_MAX: usize = 64;

/// A group of events, and one of its events.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventName {
    group: String,
    name: String,
}

/// A text that names no event.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("`{0}` names no event; write its group and its name, \"gpio:gpio_value\"")]
pub struct NoEventName(String);

impl EventName {
    pub fn group(&self) -> &str {
        &self.group
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl TryFrom<String> for EventName {
    type Error = NoEventName;

    fn try_from(text: String) -> Result<Self, NoEventName> {
        // Both become parts of a path below tracefs.
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let is_part = |part: &str| (1..=BYTES_MAX).contains(&part.len()) && part.chars().all(letter);
        match text.split_once(':') {
            Some((group, name)) if is_part(group) && is_part(name) => {
                Ok(Self { group: group.to_owned(), name: name.to_owned() })
            }
            _ => Err(NoEventName(text)),
        }
    }
}

impl From<EventName> for String {
    fn from(event: EventName) -> Self {
        event.to_string()
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.group, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_and_a_name_and_no_path() {
        let event = EventName::try_from("sdt_robot:step-begin".to_owned()).unwrap();
        assert_eq!(
            (event.group(), event.name(), event.to_string().as_str()),
            ("sdt_robot", "step-begin", "sdt_robot:step-begin")
        );
        let long = format!("g:{}", "n".repeat(BYTES_MAX + 1));
        for wrong in ["", "write", ":", "a:", ":b", "a:b:c", "a/b:c", "..:enable", "a:../enable", "a:b c", &long] {
            assert!(EventName::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}

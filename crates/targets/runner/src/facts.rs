//! Has a meter report a target's settings, change some of them permanently, or let a user measure without root.

use crate::conversation::{Answer, ConversationError, Question, ask};
use archive::facts::{Applied, FACTS_BYTES_MAX, FACTS_VERSION, Facts};
use archive::settings::SettingChange;
use archive::setup::{SETUP_BYTES_MAX, SetupReport, SetupRequest};
use machines::{Exit, Target};
use serde::de::DeserializeOwned;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

const APPLIED_BYTES_MAX: usize = 8 << 20;
const SET_UP: &str = "set up the machine";

/// Why facts could not be read, or settings not changed.
#[derive(Debug, Error)]
pub enum FactsError {
    #[error("failed to ask the meter: {0}")]
    NoAnswer(#[from] ConversationError),
    #[error("failed to {what}: the meter ended with {exit}; {}", lines.join("; "))]
    Refused { what: &'static str, lines: Vec<String>, exit: Exit },
    #[error("failed to {what}: the meter's answer cannot be understood: {why}; use the meter of this tardy")]
    Garbled { what: &'static str, why: String },
}

/// The settings of a prepared target, for work with this priority.
///
/// # Errors
/// [`FactsError`].
pub fn gather(target: &mut dyn Target, meter: &Path, priority: u8, limit: Duration) -> Result<Facts, FactsError> {
    let priority = priority.to_string();
    let arguments = ["facts", &priority];
    let question = Question { meter, arguments: &arguments, input: b"", answer_bytes_max: FACTS_BYTES_MAX, limit };
    parse(&understood("gather facts", ask(target, &question)?)?)
}

/// Parses facts as `tardy-meter facts` prints them.
///
/// # Errors
/// [`FactsError::Garbled`] if the bytes are not facts, or facts of a later version.
pub fn parse(bytes: &[u8]) -> Result<Facts, FactsError> {
    let facts: Facts = from_json("gather facts", bytes)?;
    if facts.facts_version != FACTS_VERSION {
        let why = format!("its version is {}, and {FACTS_VERSION} is known here", facts.facts_version);
        return Err(FactsError::Garbled { what: "gather facts", why });
    }
    Ok(facts)
}

/// Changes settings of a prepared target; they stay until [`crate::restore::restore`]. Failures are reported per
/// setting; all others are changed.
///
/// # Errors
/// [`FactsError`].
pub fn apply(
    target: &mut dyn Target,
    meter: &Path,
    changes: &[SettingChange],
    limit: Duration,
) -> Result<Vec<Applied>, FactsError> {
    let mut input = serde_json::to_vec(changes).expect("settings have only string keys");
    input.push(b'\n');
    let question = Question { meter, arguments: &["apply"], input: &input, answer_bytes_max: APPLIED_BYTES_MAX, limit };
    from_json("change settings", &understood("change settings", ask(target, &question)?)?)
}

/// Plans or makes the setup of a prepared target for a user.
///
/// # Errors
/// [`FactsError`]; no change is then left.
pub fn set_up(
    target: &mut dyn Target,
    meter: &Path,
    request: &SetupRequest,
    limit: Duration,
) -> Result<SetupReport, FactsError> {
    let mut input = serde_json::to_vec(request).expect("a request has only string keys");
    input.push(b'\n');
    let question = Question { meter, arguments: &["setup"], input: &input, answer_bytes_max: SETUP_BYTES_MAX, limit };
    from_json(SET_UP, &understood(SET_UP, ask(target, &question)?)?)
}

fn understood(what: &'static str, answer: Answer) -> Result<Vec<u8>, FactsError> {
    match answer.exit {
        Exit::Code(0) => Ok(answer.output),
        exit => Err(FactsError::Refused { what, lines: answer.diagnostics, exit }),
    }
}

fn from_json<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, FactsError> {
    serde_json::from_slice(bytes).map_err(|error| FactsError::Garbled { what, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machines::fake::{FakeTarget, Script, Step};

    const LIMIT: Duration = Duration::from_secs(5);

    fn target(steps: Vec<Step>, code: i32) -> FakeTarget {
        FakeTarget::new([Script { steps, exit: Exit::Code(code) }])
    }

    fn refused(steps: Vec<Step>, code: i32) -> String {
        gather(&mut target(steps, code), Path::new("/meter"), 80, LIMIT).unwrap_err().to_string()
    }

    #[test]
    fn facts_are_asked_for_with_the_priority_and_understood() {
        let facts = Facts { facts_version: FACTS_VERSION, root: true, ..Facts::default() };
        let mut target = target(vec![Step::Say(serde_json::to_vec(&facts).unwrap())], 0);
        assert_eq!(gather(&mut target, Path::new("/meter"), 97, LIMIT).unwrap(), facts);
        assert_eq!(target.log.borrow().started[0].arguments, ["facts", "97"]);
    }

    #[test]
    fn an_invalid_answer_is_reported() {
        let garbled = gather(&mut target(vec![Step::Say(b"Segmentation".to_vec())], 0), Path::new("/meter"), 80, LIMIT);
        assert!(matches!(garbled, Err(FactsError::Garbled { .. })), "{garbled:?}");
        let message = refused(vec![Step::Say(b"{\"facts_version\":9}".to_vec())], 0);
        assert!(message.contains("version is 9"), "{message}");
        let message = refused(vec![Step::Complain("usage: ...".into())], 2);
        assert!(message.contains("exit status 2") && message.contains("usage"), "{message}");
        assert!(refused(vec![Step::Hang], 0).contains("did not end"));
    }

    #[test]
    fn changes_go_in_as_one_line_and_what_became_of_them_comes_back() {
        let change = SettingChange { path: "/proc/sys/a".into(), value: "1".into() };
        let line = serde_json::to_string(&[&change]).unwrap();
        let applied = Applied { path: change.path.clone(), value: "1".into(), before: Some("0".into()), problem: None };
        let said = serde_json::to_vec(&[&applied]).unwrap();
        let mut target = target(vec![Step::Await(line), Step::Say(said)], 0);
        assert_eq!(apply(&mut target, Path::new("/meter"), &[change], LIMIT).unwrap(), [applied]);
    }
}

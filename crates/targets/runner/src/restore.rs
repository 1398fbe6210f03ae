//! Has a meter restore the settings that a dead one left changed on a target.

use crate::conversation::{ConversationError, Question, ask};
use machines::{Exit, Target};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// Why the target's settings were not restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    #[error("failed to restore: {0}")]
    NoAnswer(#[from] ConversationError),
    #[error("failed to restore: {exit}; {}", lines.join("; "))]
    Incomplete { lines: Vec<String>, exit: Exit },
}

/// Runs the meter's restore and returns its output, line by line.
///
/// # Errors
/// [`RestoreError`]; `Incomplete` contains the meter's output.
pub fn restore(target: &mut dyn Target, meter: &Path, limit: Duration) -> Result<Vec<String>, RestoreError> {
    restored(target, meter, &["restore"], limit)
}

/// The same; settings that cannot be restored are forgotten.
///
/// # Errors
/// [`RestoreError`].
pub fn restore_and_forget(target: &mut dyn Target, meter: &Path, limit: Duration) -> Result<Vec<String>, RestoreError> {
    restored(target, meter, &["restore", "--forget"], limit)
}

/// The same for the changes of a setup.
///
/// # Errors
/// [`RestoreError`].
pub fn restore_setup(target: &mut dyn Target, meter: &Path, limit: Duration) -> Result<Vec<String>, RestoreError> {
    restored(target, meter, &["restore", "--setup"], limit)
}

fn restored(
    target: &mut dyn Target,
    meter: &Path,
    arguments: &[&str],
    limit: Duration,
) -> Result<Vec<String>, RestoreError> {
    let question = Question { meter, arguments, input: b"", answer_bytes_max: OUTPUT_BYTES_MAX, limit };
    let answer = ask(target, &question)?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&answer.output).lines().map(str::to_owned).collect();
    if answer.exit == Exit::Code(0) {
        return Ok(lines);
    }
    lines.extend(answer.diagnostics);
    Err(RestoreError::Incomplete { lines, exit: answer.exit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machines::fake::{FakeTarget, Script, Step};

    fn answered(steps: Vec<Step>, exit: Exit) -> Result<Vec<String>, RestoreError> {
        let mut target = FakeTarget::new([Script { steps, exit }]);
        restore(&mut target, Path::new("/meter"), Duration::from_secs(5))
    }

    #[test]
    fn the_words_of_the_meter_come_back() {
        let steps = vec![Step::Say(b"put back x\nput".to_vec()), Step::Say(b" back y\n".to_vec())];
        assert_eq!(answered(steps, Exit::Code(0)).unwrap(), ["put back x", "put back y"]);
    }

    #[test]
    fn an_incomplete_restore_is_an_error_with_the_reason() {
        let steps = vec![Step::Complain("x: permission denied".into())];
        let message = answered(steps, Exit::Code(3)).unwrap_err().to_string();
        assert!(message.contains("exit status 3") && message.contains("permission denied"), "{message}");
    }

    #[test]
    fn a_hanging_restore_is_given_up() {
        assert!(matches!(
            answered(vec![Step::Hang], Exit::Code(0)),
            Err(RestoreError::NoAnswer(ConversationError::TimedOut(_)))
        ));
    }
}

//! Has a meter put back what a dead one left changed on a target.

use crate::target::{Command, Exit, Output, Target, TargetError};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// Why the target is not as it was found.
#[derive(Debug, Error)]
pub enum RestoreError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("failed to restore: {exit}; {}", lines.join("; "))]
    Incomplete { lines: Vec<String>, exit: Exit },
    #[error("failed to restore: the meter did not end within {0:?}")]
    TimedOut(Duration),
}

/// Runs the meter's restore and returns its words, a line each.
///
/// # Errors
/// [`RestoreError`]; `Incomplete` carries what the meter said.
pub fn restore(target: &mut dyn Target, meter: &Path, limit: Duration) -> Result<Vec<String>, RestoreError> {
    let command = Command { program: meter.to_owned(), arguments: vec!["restore".into()] };
    let mut running = target.start(&command)?;
    let mut output = Vec::new();
    loop {
        let left = limit.saturating_sub(running.elapsed());
        if left.is_zero() {
            running.kill();
            return Err(RestoreError::TimedOut(limit));
        }
        match running.read(left.min(Duration::from_millis(100))) {
            Output::Bytes(bytes) if output.len() < OUTPUT_BYTES_MAX => output.extend(bytes),
            Output::Bytes(_) | Output::Quiet => {}
            Output::Closed => break,
        }
    }
    let Some(exit) = running.wait(limit.saturating_sub(running.elapsed())) else {
        running.kill();
        return Err(RestoreError::TimedOut(limit));
    };
    let mut lines: Vec<String> = String::from_utf8_lossy(&output).lines().map(str::to_owned).collect();
    if exit == Exit::Code(0) {
        return Ok(lines);
    }
    lines.extend(running.diagnostics());
    Err(RestoreError::Incomplete { lines, exit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::fake::{FakeTarget, Script, Step};

    fn restored(steps: Vec<Step>, exit: Exit) -> Result<Vec<String>, RestoreError> {
        let mut target = FakeTarget::new([Script { steps, exit }]);
        restore(&mut target, Path::new("/meter"), Duration::from_secs(5))
    }

    #[test]
    fn the_words_of_the_meter_come_back() {
        let steps = vec![Step::Say(b"put back x\nput".to_vec()), Step::Say(b" back y\n".to_vec())];
        assert_eq!(restored(steps, Exit::Code(0)).unwrap(), ["put back x", "put back y"]);
    }

    #[test]
    fn an_incomplete_restore_is_an_error_with_the_reason() {
        let steps = vec![Step::Complain("x: permission denied".into())];
        let message = restored(steps, Exit::Code(3)).unwrap_err().to_string();
        assert!(message.contains("exit status 3") && message.contains("permission denied"), "{message}");
    }

    #[test]
    fn a_hanging_restore_is_given_up() {
        assert!(matches!(restored(vec![Step::Hang], Exit::Code(0)), Err(RestoreError::TimedOut(_))));
    }
}

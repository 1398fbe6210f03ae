//! Sends one request to a meter on a target and collects its answer.

use machines::{Command, Exit, Output, Target, TargetError};
use std::io;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

const LISTEN_FOR: Duration = Duration::from_millis(100);

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ConversationError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("the meter did not take what it was to do: {0}")]
    Input(io::Error),
    #[error("the meter did not end within {0:?}")]
    TimedOut(Duration),
    #[error("the meter said more than {0} bytes, which is more than it can have to say")]
    TooMuch(usize),
}

/// A request to the meter.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub meter: &'a Path,
    pub arguments: &'a [&'a str],
    /// Written to its standard input first.
    pub input: &'a [u8],
    pub answer_bytes_max: usize,
    pub limit: Duration,
}

/// The meter's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub output: Vec<u8>,
    /// The last lines of its standard error.
    pub diagnostics: Vec<String>,
    pub exit: Exit,
}

/// Asks the meter on a prepared target.
///
/// # Errors
/// [`ConversationError`]; a failure exit of the meter is not an error here.
pub fn ask(target: &mut dyn Target, question: &Question) -> Result<Answer, ConversationError> {
    let arguments = question.arguments.iter().map(|word| (*word).to_owned()).collect();
    let mut running = target.start(&Command { program: question.meter.to_owned(), arguments })?;
    if !question.input.is_empty()
        && let Err(error) = running.write(question.input)
    {
        running.kill();
        return Err(ConversationError::Input(error));
    }
    let mut output = Vec::new();
    loop {
        let left = question.limit.saturating_sub(running.elapsed());
        if left.is_zero() {
            running.kill();
            return Err(ConversationError::TimedOut(question.limit));
        }
        match running.read(left.min(LISTEN_FOR)) {
            Output::Bytes(bytes) if output.len() + bytes.len() <= question.answer_bytes_max => output.extend(bytes),
            Output::Bytes(_) => {
                running.kill();
                return Err(ConversationError::TooMuch(question.answer_bytes_max));
            }
            Output::Quiet => {}
            Output::Closed => break,
        }
    }
    let Some(exit) = running.wait(question.limit.saturating_sub(running.elapsed())) else {
        running.kill();
        return Err(ConversationError::TimedOut(question.limit));
    };
    Ok(Answer { output, diagnostics: running.diagnostics(), exit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use machines::fake::{FakeTarget, Script, Step};

    fn asked(steps: Vec<Step>, input: &[u8]) -> Result<Answer, ConversationError> {
        let mut target = FakeTarget::new([Script { steps, exit: Exit::Code(0) }]);
        let limit = Duration::from_secs(5);
        ask(&mut target, &Question { meter: Path::new("/meter"), arguments: &["x"], input, answer_bytes_max: 8, limit })
    }

    #[test]
    fn output_after_the_input_is_the_answer() {
        let steps = vec![Step::Await("do".into()), Step::Say(b"do".to_vec()), Step::Say(b"ne\n".to_vec())];
        assert_eq!(asked(steps, b"do\n").unwrap().output, b"done\n");
    }

    #[test]
    fn one_that_says_too_much_or_never_ends_is_given_up() {
        let flood = vec![Step::Say(b"12345678".to_vec()), Step::Say(b"9".to_vec()), Step::Hang];
        assert!(matches!(asked(flood, b""), Err(ConversationError::TooMuch(8))));
        assert!(matches!(asked(vec![Step::Hang], b""), Err(ConversationError::TimedOut(_))));
        assert!(matches!(asked(vec![], b"do\n"), Err(ConversationError::Input(_))));
    }
}

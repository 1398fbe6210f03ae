//! Commands of the lab around a run: they switch a board on, deploy new software, and wait for its return.
//!
//! They run in a shell on the host; environment variables identify the board.

use super::board_file::Board;
use super::error::HookError;
use super::shell::quoted;
use crate::local::LocalTarget;
use crate::stop::StopRequests;
use crate::{Command, Exit, Output, Target};
use std::time::Duration;

/// Longest time for one command: writing an image to a slow card takes long.
const HOOK_LIMIT: Duration = Duration::from_secs(1800);
const POLL: Duration = Duration::from_millis(100);
/// Most bytes kept of a command's output.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// Lines of output in the error message.
const LAST_LINES: usize = 3;

/// Environment variables for a command.
fn environment(name: &str, board: &Board, image: &str) -> String {
    let port = board.port.map_or(String::new(), |port| port.to_string());
    let identity = board.identity.as_ref().map_or(String::new(), |path| path.display().to_string());
    let values = [
        ("TARDY_TARGET", name),
        ("TARDY_ADDRESS", &board.address),
        ("TARDY_PORT", &port),
        ("TARDY_IDENTITY", &identity),
        ("TARDY_IMAGE", image),
    ];
    values.map(|(name, value)| format!("export {name}={}\n", quoted(value))).concat()
}

/// Runs the command of a hook to its end. Its output is added to `notes`, under its name.
///
/// # Errors
/// [`HookError`].
pub fn run(
    hook: &str,
    command: &str,
    (name, board, image): (&str, &Board, &str),
    notes: &mut Vec<u8>,
    stop: &StopRequests,
) -> Result<(), HookError> {
    let hook_name = || hook.to_owned();
    let script = format!("{}exec 2>&1\n{command}", environment(name, board, image));
    let mut running = LocalTarget
        .start(&Command { program: "/bin/sh".into(), arguments: vec!["-c".into(), script] })
        .map_err(|error| HookError::NotStarted(error.to_string()))?;
    notes.extend(format!("[{hook}] {command}\n").into_bytes());
    let begun = notes.len();
    let mut stopped = None;
    loop {
        match running.read(POLL) {
            Output::Bytes(bytes) if notes.len() - begun < OUTPUT_BYTES_MAX => notes.extend(bytes),
            Output::Bytes(_) => {}
            Output::Quiet if stop.count() > 0 => stopped = Some(HookError::Stopped { hook: hook_name() }),
            Output::Quiet if running.elapsed() > HOOK_LIMIT => {
                stopped = Some(HookError::TooLong { hook: hook_name(), limit: HOOK_LIMIT });
            }
            Output::Quiet => {}
            Output::Closed => break,
        }
        if stopped.is_some() {
            running.kill();
            break;
        }
    }
    if notes.last() != Some(&b'\n') {
        notes.push(b'\n');
    }
    let exit = running.wait(POLL * 50);
    match (stopped, exit) {
        (None, Some(Exit::Code(0))) => Ok(()),
        (Some(error), _) => Err(error),
        (None, exit) => {
            let output = String::from_utf8_lossy(&notes[begun..]).into_owned();
            let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let last_output = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
            Err(HookError::Failed { hook: hook_name(), exit, last_output })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(command: &str) -> (Result<(), HookError>, String) {
        let board = Board { port: Some(2222), ..Board::ssh("root@pi") };
        let mut notes = Vec::new();
        let ended = run("deploy", command, ("pi", &board, "my image.wic"), &mut notes, &StopRequests::default());
        (ended, String::from_utf8(notes).unwrap())
    }

    #[test]
    fn a_hook_knows_the_board_and_its_words_are_kept() {
        let (ended, notes) = ran("echo \"$TARDY_TARGET $TARDY_ADDRESS $TARDY_PORT $TARDY_IMAGE\"; echo aside >&2");
        assert!(ended.is_ok());
        assert!(
            notes.starts_with("[deploy] echo") && notes.ends_with("\npi root@pi 2222 my image.wic\naside\n"),
            "{notes}"
        );
    }

    #[test]
    fn a_failure_comes_with_its_last_words() {
        let (ended, _) = ran("echo one; echo two >&2; exit 7");
        let Err(HookError::Failed { hook, exit, last_output }) = ended else { panic!("{ended:?}") };
        assert_eq!((hook.as_str(), exit, last_output.as_str()), ("deploy", Some(Exit::Code(7)), "one | two"));
    }

    #[test]
    fn a_request_to_stop_ends_a_hook() {
        let stop = StopRequests::default();
        stop.request();
        let ended = run("power.cycle", "exec sleep 1000", ("pi", &Board::ssh("pi"), ""), &mut Vec::new(), &stop);
        assert!(matches!(ended, Err(HookError::Stopped { .. })));
    }
}

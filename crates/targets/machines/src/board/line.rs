//! Operations on a connection to a board, over ssh or a serial line.

use super::MeterCopy;
use super::error::SendError;
use super::full_disk::is_full;
use super::session::Greeting;
use super::shell::quoted;
use crate::{Exit, RunningCommand};
use std::io;
use std::time::Duration;

/// Time limit for sending a file.
const SEND_LIMIT: Duration = Duration::from_secs(600);

/// A connection with a session at the other end.
pub trait Line {
    /// The session's greeting.
    fn greeting(&self) -> &Greeting;

    /// Runs a script in the board's shell.
    ///
    /// # Errors
    /// If it cannot be started.
    fn shell(&mut self, script: &str) -> io::Result<Box<dyn RunningCommand>>;

    /// Runs the meter of this name with these arguments on the board, in the session's directory.
    ///
    /// # Errors
    /// If it cannot be started.
    fn meter(&mut self, meter: &str, words: &[&str]) -> io::Result<Box<dyn RunningCommand>>;

    /// The stream of the spool from byte `from` on. It accepts lines for the spooler; its last line of diagnostics is
    /// `end`, the exit of the meter, and the number of bytes.
    ///
    /// # Errors
    /// If it cannot be started.
    fn stream(&mut self, meter: &str, from: u64) -> io::Result<Box<dyn RunningCommand>>;

    /// Puts the meter into the session's directory; with `alone`, replaces all others there.
    ///
    /// # Errors
    /// [`SendError`].
    fn send_meter(&mut self, meter: &MeterCopy, alone: bool) -> Result<(), SendError>;

    /// Informs the session that the host has received all data kept on the board.
    fn fetched(&mut self);

    /// Has the session clean up, and closes the connection.
    fn end(self: Box<Self>);

    /// Drops a connection that is dead or useless.
    fn abandon(self: Box<Self>);
}

/// Writes a file there, completely or not at all.
///
/// # Errors
/// Why it was not written, with the fix if known.
pub fn send(line: &mut dyn Line, bytes: &[u8], to: &str, executable: bool, before: &str) -> Result<(), SendError> {
    let (partial, to) = (quoted(&format!("{to}.partial")), quoted(to));
    let mode = if executable { "700" } else { "600" };
    let script = format!(
        "cd {} || exit 1; umask 077; {before}; \
         cat > {partial} && [ \"$(wc -c < {partial})\" -eq {} ] && chmod {mode} {partial} && mv {partial} {to} && exit 0; \
         rm -f {partial}; echo 'the file arrived incomplete' >&2; exit 1",
        quoted(&line.greeting().place),
        bytes.len()
    );
    let mut running = line.shell(&script)?;
    // The exit of a shell that ended shows why.
    let written = running.write(bytes);
    let exit = running.wait(SEND_LIMIT);
    if exit == Some(Exit::Code(0)) {
        return Ok(written?);
    }
    running.kill();
    let words = running.diagnostics().join(" | ");
    Err(if is_full(&words) { SendError::NoRoom { words } } else { SendError::Refused { words } })
}

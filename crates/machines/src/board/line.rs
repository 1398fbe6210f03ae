//! What can be done through the line to a board, whichever door it goes through.

use super::MeterCopy;
use super::error::SendError;
use super::keeper::Greeting;
use super::shell::quoted;
use crate::{Exit, RunningCommand};
use std::io;
use std::time::Duration;

/// A file must have arrived by then.
const SEND_LIMIT: Duration = Duration::from_secs(600);

/// A connection with a keeper at its other end.
pub trait Line {
    /// What the keeper said when it began.
    fn greeting(&self) -> &Greeting;

    /// Has the board's shell run a script.
    ///
    /// # Errors
    /// Those of starting it.
    fn shell(&mut self, script: &str) -> io::Result<Box<dyn RunningCommand>>;

    /// Has the board run the meter of this name with these words, in the directory that is ours.
    ///
    /// # Errors
    /// Those of starting it.
    fn meter(&mut self, meter: &str, words: &[&str]) -> io::Result<Box<dyn RunningCommand>>;

    /// The stream of the spool from a byte on. It takes lines for the spooler; its last line of diagnostics is `end`, how
    /// the meter ended, and how many bytes there were.
    ///
    /// # Errors
    /// Those of starting it.
    fn stream(&mut self, meter: &str, from: u64) -> io::Result<Box<dyn RunningCommand>>;

    /// Puts the meter into the directory that is ours, `alone` in place of all others there.
    ///
    /// # Errors
    /// [`SendError`].
    fn send_meter(&mut self, meter: &MeterCopy, alone: bool) -> Result<(), SendError>;

    /// Tells the keeper that what the board keeps can go.
    fn fetched(&mut self);

    /// Has the keeper tidy up, and closes the connection.
    fn end(self: Box<Self>);

    /// Drops a connection that is dead or of no use.
    fn abandon(self: Box<Self>);
}

/// Writes a file there: whole, or not at all.
///
/// # Errors
/// Why it did not arrive, with the fix where one is known.
pub fn send(line: &mut dyn Line, bytes: &[u8], to: &str, executable: bool, before: &str) -> Result<(), SendError> {
    let (partial, to) = (quoted(&format!("{to}.partial")), quoted(to));
    let mode = if executable { "700" } else { "600" };
    let script = format!(
        "cd {} || exit 1; umask 077; {before}; \
         cat > {partial} && [ \"$(wc -c < {partial})\" -eq {} ] && chmod {mode} {partial} && mv {partial} {to} && exit 0; \
         rm -f {partial}; echo 'it did not arrive whole' >&2; exit 1",
        quoted(&line.greeting().place),
        bytes.len()
    );
    let mut running = line.shell(&script)?;
    // A shell that has ended says why.
    let written = running.write(bytes);
    let exit = running.wait(SEND_LIMIT);
    if exit == Some(Exit::Code(0)) {
        return Ok(written?);
    }
    running.kill();
    let words = running.diagnostics().join(" | ");
    Err(if complains_of_room(&words) { SendError::NoRoom { words } } else { SendError::Refused { words } })
}

/// What to do about a full board.
pub const NO_ROOM_FIX: &str = "; free some, or name another place with `directory` in the target file";

/// Whether the programs of a shell complain that a disk is full (ENOSPC in the words of the C library).
fn complains_of_room(words: &str) -> bool {
    words.contains("No space left on device")
}

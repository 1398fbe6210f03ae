//! Puts the console into raw mode for the duration of a conversation.

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The console's previous settings, restored at the end.
pub struct Quiet(Option<Termios>);

impl Quiet {
    /// Disables echo, translation and signals. Anything that is not a terminal is left unchanged.
    pub fn make() -> Self {
        let before = tcgetattr(stdin()).ok();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            // A terminal that rejects settings can still transfer lines.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &raw);
        }
        Self(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, before);
        }
    }
}

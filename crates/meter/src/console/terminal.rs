//! The console as a line for bytes, for as long as a conversation lasts.

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The console's settings as they were; put back at the end.
pub struct Quiet(Option<Termios>);

impl Quiet {
    /// Nothing is echoed, no byte is changed on its way, and none is a signal. What is no terminal is left as it is.
    pub fn make() -> Self {
        let before = tcgetattr(stdin()).ok();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.make_raw();
            // A terminal that takes no settings still carries lines.
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

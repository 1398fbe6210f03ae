//! Other output on a board's line, and the damage it caused.

use crate::console::Console;
use crate::machine_event::ConsoleDamage;

/// Kept for as long as a board is used, across reconnections.
#[derive(Debug, Default)]
pub struct ConsoleTraffic {
    /// Output of others, mainly the kernel.
    pub console: Console,
    pub damage: ConsoleDamage,
}

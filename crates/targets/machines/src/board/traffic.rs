//! Other output on a board's line, and the damage it caused.

use crate::console::Console;
use std::fmt;

/// Kept for as long as a board is used, across reconnections.
#[derive(Debug, Default)]
pub struct ConsoleTraffic {
    /// Output of others, mainly the kernel.
    pub console: Console,
    pub damage: ConsoleDamage,
}

/// Lines that were damaged in transit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConsoleDamage {
    /// Lines with results that have arrived.
    pub arrived: u64,
    /// Session lines that were damaged.
    pub damaged: u64,
    /// Lines that were requested again.
    pub repeated: u64,
}

impl ConsoleDamage {
    /// Whether a line was damaged or repeated.
    pub fn is_any(self) -> bool {
        self.damaged > 0 || self.repeated > 0
    }
}

impl fmt::Display for ConsoleDamage {
    /// All data has arrived; otherwise the run would not have an end at which this is reported.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "on the console, {} lines were damaged by what was said in between, and {} were sent again to have all {}; \
             nothing was lost",
            self.damaged, self.repeated, self.arrived
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_line_is_not_worth_a_word() {
        assert!(!ConsoleDamage { arrived: 7, ..ConsoleDamage::default() }.is_any());
        let damage = ConsoleDamage { arrived: 700, damaged: 3, repeated: 4 };
        let text = damage.to_string();
        assert!(damage.is_any());
        assert!(text.contains("3 lines were damaged") && text.contains("4 were sent again to have all 700"), "{text}");
    }
}

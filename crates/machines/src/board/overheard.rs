//! What came through a board's line beside our own words, and what that cost.

use crate::console::Console;

/// Kept for as long as a board is used, however often its line is cut.
#[derive(Debug, Default)]
pub struct Overheard {
    /// What others said: the kernel, above all.
    pub console: Console,
    pub damage: Damage,
}

/// Lines that did not arrive as they were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines with results that have arrived.
    pub arrived: u64,
    /// Lines of ours that were damaged on the way.
    pub damaged: u64,
    /// Lines that were asked for again.
    pub repeated: u64,
}

impl Damage {
    /// A sentence, if there is something to tell. What was asked for has come, or there would be no end to tell it at.
    pub fn told(&self) -> Option<String> {
        (*self != Self { arrived: self.arrived, ..Self::default() }).then(|| {
            format!(
                "on the console, {} lines were damaged by what was said in between, and {} were sent again to have all \
                 {}; nothing was lost",
                self.damaged, self.repeated, self.arrived
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_line_is_not_worth_a_word() {
        assert_eq!(Damage { arrived: 7, ..Damage::default() }.told(), None);
        let told = Damage { arrived: 700, damaged: 3, repeated: 4 }.told().unwrap();
        assert!(told.contains("3 lines were damaged") && told.contains("4 were sent again to have all 700"), "{told}");
    }
}

//! Flame graph of the program's own functions: callers above the functions that they called, as wide as their share of the samples.

use super::drawing::{Anchor, Drawing};
use archive::own_code::{CodeStack, OwnCode};
use words::own_code::code;

const WIDTH: f64 = 470.0;
const ROW: f64 = 18.0;
/// Room of a letter.
const LETTER: f64 = 6.6;
const GAP: f64 = 1.0;
/// Deeper frames are left out.
const ROWS_MAX: usize = 40;
/// Narrower frames are left out.
const NARROWEST: f64 = 1.5;

/// Which of the samples are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cycles {
    Late,
    Ordinary,
}

impl Cycles {
    fn samples(self, stack: &CodeStack) -> u32 {
        match self {
            Self::Late => stack.late,
            Self::Ordinary => stack.usual,
        }
    }
}

/// The samples of the late cycle, or of the ordinary ones before it. `None` if there are none.
pub fn draw(own: &OwnCode, cycles: Cycles) -> Option<Drawing> {
    let mut stacks: Vec<&CodeStack> = own.stacks.iter().filter(|stack| cycles.samples(stack) > 0).collect();
    let all: u64 = stacks.iter().map(|stack| u64::from(cycles.samples(stack))).sum();
    let rows = stacks.iter().map(|stack| stack.frames.len()).max().filter(|rows| *rows > 0)?.min(ROWS_MAX);
    stacks.sort_by(|one, other| one.frames.cmp(&other.frames));
    let which = if cycles == Cycles::Late { "the late cycle" } else { "ordinary cycles" };
    let mut drawing = Drawing::new(WIDTH, rows as f64 * ROW, format!("Flame graph of {which}, {all} samples."));
    let width_of = |samples: u64| samples as f64 / all as f64 * WIDTH;
    for row in 0..rows {
        let mut left = 0.0;
        for same in stacks.chunk_by(|one, other| one.frames.get(..=row) == other.frames.get(..=row)) {
            let width = width_of(same.iter().map(|stack| u64::from(cycles.samples(stack))).sum());
            if let Some(frame) = same[0].frames.get(row).filter(|_| width >= NARROWEST) {
                let name = own.names.get(*frame as usize).map_or_else(String::new, code);
                let top = row as f64 * ROW;
                drawing.rect("kind-own", left, top, width - GAP, ROW - GAP);
                drawing.text("block-label", left + 3.0, top + ROW - 6.0, Anchor::Start, &fitted(&name, width - 6.0));
            }
            left += width;
        }
    }
    Some(drawing)
}

/// The beginning of a name, as long as there is room for it.
fn fitted(name: &str, room: f64) -> String {
    let letters = (room / LETTER).max(0.0) as usize;
    match name.chars().count() <= letters {
        true => name.to_owned(),
        false if letters < 4 => String::new(),
        false => name.chars().take(letters - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::own_code::{CodeName, SampleCounts};

    fn own() -> OwnCode {
        let stack = |frames: &[u32], late, usual| CodeStack { frames: frames.into(), late, usual };
        let name = |name: &str| CodeName::Function { name: name.into(), file: "/robot".into() };
        OwnCode {
            ran_ns: 1,
            samples: SampleCounts { period_ns: 1, late: 4, usual: 0, usual_runs: 0, begin_late: false },
            waits: Vec::new(),
            functions: Vec::new(),
            slow: None,
            names: ["main", "update<int>", "send"].map(name).into(),
            stacks: vec![stack(&[0, 1], 3, 0), stack(&[0, 2], 1, 0)],
        }
    }

    #[test]
    fn a_caller_is_as_wide_as_all_that_it_called_and_names_are_no_markup() {
        let svg = draw(&own(), Cycles::Late).unwrap().inline();
        assert!(svg.contains(r#"x="0.00" y="0.00" width="469.00""#), "{svg}");
        assert!(svg.contains(r#"width="351.50""#) && svg.contains(r#"x="352.50" y="18.00" width="116.50""#), "{svg}");
        assert!(svg.contains(">update&lt;int&gt;</text>"), "{svg}");
        assert!(draw(&own(), Cycles::Ordinary).is_none());
    }
}

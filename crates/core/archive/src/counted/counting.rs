//! Counts the lines that contain a text, and keeps the first ones.

use super::{CountedLine, LINE_LETTERS_MAX, LINES_KEPT_MAX, OutputCounts};

/// Maximum number of lines in one message, so that it fits a frame.
const LINES_AT_ONCE: usize = 500;

/// When a line was read, on the watched machine's clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineInstant {
    /// CLOCK_MONOTONIC, in ns; `None` if the line came from another machine without its time.
    pub monotonic_ns: Option<i64>,
    /// Longest time from its writing until then, in ns; `None` if that is unknown.
    pub uncertain_ns: Option<u64>,
}

/// The texts to count, and their counts so far.
#[derive(Debug)]
pub struct Counting {
    texts: Vec<String>,
    now: OutputCounts,
    kept: usize,
    changed: bool,
}

impl Counting {
    /// All counts start at zero.
    pub fn new(texts: &[String]) -> Self {
        let now = OutputCounts { totals: vec![0; texts.len()], lines: Vec::new() };
        // The first message shows that the texts were searched.
        Self { texts: texts.to_vec(), now, kept: 0, changed: !texts.is_empty() }
    }

    /// Searches one line.
    pub fn look_at(&mut self, line: &str, instant: LineInstant) {
        for (place, _) in self.texts.iter().enumerate().filter(|(_, text)| line.contains(text.as_str())) {
            self.changed = true;
            self.now.totals[place] += 1;
            if self.kept < LINES_KEPT_MAX {
                self.kept += 1;
                let LineInstant { monotonic_ns, uncertain_ns } = instant;
                let line = line.chars().take(LINE_LETTERS_MAX).collect();
                self.now.lines.push(CountedLine { text: place as u32, monotonic_ns, uncertain_ns, line });
            }
        }
    }

    /// The changes since the last call, if any.
    pub fn take(&mut self) -> Option<OutputCounts> {
        if !self.changed {
            return None;
        }
        let some = self.now.lines.len().min(LINES_AT_ONCE);
        let lines = self.now.lines.drain(..some).collect();
        self.changed = !self.now.lines.is_empty();
        Some(OutputCounts { totals: self.now.totals.clone(), lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic_ns: i64) -> LineInstant {
        LineInstant { monotonic_ns: Some(monotonic_ns), uncertain_ns: None }
    }

    #[test]
    fn every_line_is_counted_once_for_each_text_and_the_first_ones_are_kept() {
        let mut counting = Counting::new(&["XRun".into(), "late".into()]);
        assert_eq!(counting.take(), Some(OutputCounts { totals: vec![0, 0], lines: Vec::new() }));
        assert_eq!(counting.take(), None);
        counting.look_at("nothing", at(1));
        assert_eq!(counting.take(), None);
        counting.look_at(&format!("XRun XRun late {}", "x".repeat(1000)), at(2));
        let counts = counting.take().unwrap();
        assert_eq!(counts.totals, [1, 1]);
        assert_eq!(counts.lines.iter().map(|line| line.text).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(counts.lines[0].line.chars().count(), LINE_LETTERS_MAX);
        for _ in 0..LINES_KEPT_MAX + 5 {
            counting.look_at("late", LineInstant::default());
        }
        let mut kept = 0;
        let mut totals = Vec::new();
        while let Some(counts) = counting.take() {
            assert!(counts.lines.len() <= LINES_AT_ONCE);
            kept += counts.lines.len();
            totals = counts.totals;
        }
        assert_eq!((kept, totals), (LINES_KEPT_MAX - 2, vec![1, LINES_KEPT_MAX as u64 + 6]));
    }
}

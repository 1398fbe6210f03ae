//! Counts lines in the output of a command and passes them from its readers to the archive.

use archive::counted::{CountedLine, LINE_LETTERS_MAX, LINES_KEPT_MAX, OutputCounts};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of lines in one message, so that it fits a frame.
const LINES_AT_ONCE: usize = 500;

/// Texts to count, and their counts. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CountedOutput {
    texts: Arc<[String]>,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    now: OutputCounts,
    kept: usize,
    changed: bool,
}

impl CountedOutput {
    /// All counts start at zero.
    pub fn new(texts: &[String]) -> Self {
        let now = OutputCounts { totals: vec![0; texts.len()], lines: Vec::new() };
        // The first message shows that the texts were searched.
        let counts = Counts { now, kept: 0, changed: !texts.is_empty() };
        Self { texts: texts.into(), counts: Arc::new(Mutex::new(counts)) }
    }

    /// Whether there are no texts to count.
    pub fn is_idle(&self) -> bool {
        self.texts.is_empty()
    }

    /// Searches one line of the command's output, read at this instant of the watched machine's CLOCK_MONOTONIC.
    pub fn look_at(&self, line: &str, monotonic_ns: Option<i64>) {
        let found: Vec<usize> = (0..self.texts.len()).filter(|place| line.contains(&self.texts[*place])).collect();
        if found.is_empty() {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.changed = true;
        for place in found {
            counts.now.totals[place] += 1;
            if counts.kept < LINES_KEPT_MAX {
                counts.kept += 1;
                let line = line.chars().take(LINE_LETTERS_MAX).collect();
                counts.now.lines.push(CountedLine { text: place as u32, monotonic_ns, line });
            }
        }
    }

    /// The changes since the last call, if any.
    pub fn take(&self) -> Option<OutputCounts> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if !counts.changed {
            return None;
        }
        let some = counts.now.lines.len().min(LINES_AT_ONCE);
        let lines = counts.now.lines.drain(..some).collect();
        counts.changed = !counts.now.lines.is_empty();
        Some(OutputCounts { totals: counts.now.totals.clone(), lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_counted_once_for_each_text_and_the_first_ones_are_kept() {
        let counted = CountedOutput::new(&["XRun".into(), "late".into()]);
        assert_eq!(counted.take(), Some(OutputCounts { totals: vec![0, 0], lines: Vec::new() }));
        assert_eq!(counted.take(), None);
        counted.look_at("nothing", Some(1));
        assert_eq!(counted.take(), None);
        counted.look_at(&format!("XRun XRun late {}", "x".repeat(1000)), Some(2));
        let counts = counted.take().unwrap();
        assert_eq!(counts.totals, [1, 1]);
        assert_eq!(counts.lines.iter().map(|line| line.text).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(counts.lines[0].line.chars().count(), LINE_LETTERS_MAX);
        for _ in 0..LINES_KEPT_MAX + 5 {
            counted.look_at("late", None);
        }
        let mut kept = 0;
        let mut totals = Vec::new();
        while let Some(counts) = counted.take() {
            assert!(counts.lines.len() <= LINES_AT_ONCE);
            kept += counts.lines.len();
            totals = counts.totals;
        }
        assert_eq!((kept, totals), (LINES_KEPT_MAX - 2, vec![1, LINES_KEPT_MAX as u64 + 6]));
    }
}

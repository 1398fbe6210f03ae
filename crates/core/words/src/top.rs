//! Phrases of the table of watched threads.

use crate::figures::{count, counted, latency};

/// The figures so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    pub threads: usize,
    pub samples: u64,
    /// Samples over a limit in ns, if there is one.
    pub missed: Option<(u64, i64)>,
    /// Threads beyond those that the table holds.
    pub left_out: usize,
}

impl Watched {
    /// One line.
    pub fn line(&self) -> String {
        let threads = counted(self.threads as u64, "thread");
        let samples = counted(self.samples, "sample");
        let missed = self.missed.map(|(missed, ns)| format!(", {} over {}", count(missed), latency(ns)));
        let left_out = Some(self.left_out).filter(|number| *number > 0);
        let left_out = left_out.map(|number| format!("; {} not shown", counted(number as u64, "more thread")));
        format!("{threads}, {samples}{}{}", missed.unwrap_or_default(), left_out.unwrap_or_default())
    }
}

/// The view ended because its archive had become large.
pub fn full(bytes: u64) -> String {
    format!("the view ended: its archive had reached {} MB; start it again", bytes >> 20)
}

/// The account of the worst wake-up of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorstAccount<'a> {
    /// The thread has not woken yet.
    NoSample,
    /// Wake-ups below this many ns are not traced.
    Below(i64),
    /// The trace of it has not come.
    Untraced,
    /// Its explanation is being made.
    Waiting,
    /// The culprit of the worst wake-up that has a trace, in a sentence; its latency if a worse one has none.
    Explained { cause: &'a str, of_ns: Option<i64> },
}

impl WorstAccount<'_> {
    pub fn phrase(&self) -> String {
        match self {
            Self::NoSample => String::new(),
            Self::Below(ns) => format!("below {}: not traced", latency(*ns)),
            Self::Untraced => "not traced".into(),
            Self::Waiting => "being explained".into(),
            Self::Explained { cause, of_ns: None } => (*cause).into(),
            Self::Explained { cause, of_ns: Some(ns) } => format!("not traced; of {}: {cause}", latency(*ns)),
        }
    }
}

/// The stretch that the quantiles of the table cover.
pub fn quantile_stretch(is_whole_minute: bool) -> &'static str {
    if is_whole_minute { "p99: last minute" } else { "p99: since the start" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_one_line() {
        let watched = Watched { threads: 1, samples: 12_345, missed: None, left_out: 0 };
        assert_eq!(watched.line(), "1 thread, 12 345 samples");
        let more = Watched { threads: 1000, missed: Some((3, 200_000)), left_out: 2, ..watched };
        assert_eq!(more.line(), "1 000 threads, 12 345 samples, 3 over 200.0 µs; 2 more threads not shown");
    }

    #[test]
    fn a_worse_wake_up_without_a_trace_takes_no_cause_of_another() {
        let explained = WorstAccount::Explained { cause: "hog had the CPU", of_ns: Some(640_000) };
        assert_eq!(explained.phrase(), "not traced; of 640.0 µs: hog had the CPU");
        assert_eq!(WorstAccount::Below(100_000).phrase(), "below 100.0 µs: not traced");
    }
}

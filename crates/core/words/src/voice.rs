//! How a text names the thread and the samples that it is about.

use crate::figures::latency;
use archive::method::SampleWord;
use archive::watched::WatchedKind;
use std::fmt;

/// Whose sample it is, and what its samples are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voice {
    /// `None` for a measuring thread.
    pub watched: Option<WatchedKind>,
    pub sample: SampleWord,
}

impl Voice {
    /// The thread whose sample was late.
    pub fn thread(self) -> &'static str {
        match self.watched {
            Some(_) => "the watched thread",
            None => "the measuring thread",
        }
    }

    /// The word for the time of a sample.
    fn whole(self) -> &'static str {
        match self.watched {
            Some(WatchedKind::Cycle) => "cycle",
            Some(WatchedKind::Timer | WatchedKind::Woken) | None => "latency",
        }
    }
}

/// The part of a sample's time that a finding explains: `84.1 µs, 71 % of the latency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub ns: i64,
    pub latency_ns: i64,
    pub voice: Voice,
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = if self.latency_ns > 0 { self.ns * 100 / self.latency_ns } else { 0 };
        write!(out, "{}, {percent} % of the {}", latency(self.ns), self.voice.whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(watched: Option<WatchedKind>) -> Voice {
        Voice { watched, sample: SampleWord::default() }
    }

    #[test]
    fn a_share_names_the_whole() {
        let share = |watched| Share { ns: 84_100, latency_ns: 118_000, voice: voice(watched) }.to_string();
        assert_eq!(share(None), "84.1 µs, 71 % of the latency");
        assert_eq!(share(Some(WatchedKind::Cycle)), "84.1 µs, 71 % of the cycle");
        let nothing = Share { ns: 0, latency_ns: 0, voice: voice(None) };
        assert_eq!(nothing.to_string(), "0 ns, 0 % of the latency");
    }

    #[test]
    fn a_watched_thread_does_not_measure() {
        assert_eq!(voice(None).thread(), "the measuring thread");
        assert_eq!(voice(Some(WatchedKind::Woken)).thread(), "the watched thread");
    }
}

//! `map`: from losing the CPU until having it again, seen by busy threads.

use super::busy_thread::BusyThread;
use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;
use super::values::{Number, Text, choices};

choices! {
    /// The scheduling policy of the busy threads.
    ThreadPolicy { Other = "other", Fifo = "fifo", Rr = "rr" }
}

method! {
    /// Options of `map`.
    Map {
        from: "a busy thread reads the clock for the last time before it loses the CPU",
        to: "it reads the clock again",
        original: "Hourglass",
        options: {
            threads: Number<1, 16, 2> = "busy threads on each measured CPU",
            file: Text = "a TOML file with the threads, each with its own CPU, policy, period and work, in place of threads=, policy=, \
                          priority= and work=",
            policy: ThreadPolicy = "their scheduling policy, in place of the run's",
            priority: Number<1, 98, 10> = "their real-time priority with fifo or rr",
            work: Number<1, 100, 100> = "percent of each interval for which a thread works; with fifo or rr by default 80 for all together",
            gap_ns: Number<200, 1_000_000_000, 1_000> = "readings of the clock further apart than this are a sample, in ns",
        },
        data: {
            /// The threads that the host read from the file of the option `file`.
            described: Vec<BusyThread>,
        },
    }
}

impl Sampled for Map {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Busy
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::GAP
    }
}

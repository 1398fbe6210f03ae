//! `deadline`: from the start of a period of a SCHED_DEADLINE thread until it runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;

method! {
    /// It has no options.
    Deadline {
        from: "start of a period of a SCHED_DEADLINE thread; its length is --interval",
        to: "the thread reads the clock",
        original: "cyclicdeadline",
        needs: "a kernel with SCHED_DEADLINE, with room in sched_rt_runtime_us",
        options: {},
    }
}

impl Sampled for Deadline {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Timer
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::late("period", "periods", "the period began")
    }
}

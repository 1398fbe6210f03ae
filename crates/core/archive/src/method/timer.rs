//! `timer`: a thread sleeps until an instant.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;

method! {
    /// It has no options.
    Timer {
        from: "instant at which a timer is due",
        to: "the thread that waits for it reads the clock",
        original: "cyclictest",
        options: {},
    }
}

impl Sampled for Timer {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Timer
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::WAKE_UP
    }
}

//! `noise`: between two reads of the clock by a thread that does nothing else.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;
use super::values::Flag;

method! {
    /// Options of `noise`.
    Noise {
        from: "a thread that does nothing else reads the clock",
        to: "it reads the clock again",
        original: "oslat",
        options: {
            rt: Flag = "with the run's real-time priority instead of SCHED_OTHER; leaves nothing else time on its CPUs",
        },
    }
}

impl Sampled for Noise {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Busy
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::GAP
    }
}

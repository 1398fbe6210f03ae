//! `migrate`: from the instant at which more threads than CPUs wake until one of the most urgent runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;
use super::values::{Number, choices};

const TO: &str = "each of the most urgent threads, one per CPU, reads the clock";

choices! {
    /// The waker of the threads.
    Wake { Timer = "timer", Call = "call" }
}

method! {
    /// Options of `migrate`.
    Migrate {
        from: "instant at which one thread more than there are CPUs wakes",
        to: TO,
        when (wake: Wake::Call) {
            from: "a thread is about to wake one thread more than there are CPUs",
            to: TO
        },
        original: "rt-migrate-test",
        options: {
            work: Number<1, 1_000_000, 200> = "how long each thread keeps its CPU, in us; less than --interval",
            wake: Wake = "how the threads are woken: a timer of each, or one system call of a more urgent thread, as in rt-migrate-test",
        },
    }
}

impl Sampled for Migrate {
    fn stimulus(&self) -> Stimulus {
        match self.wake() {
            Wake::Timer => Stimulus::Timer,
            Wake::Call => Stimulus::Thread,
        }
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::late("start", "starts", "the start was due")
    }
}

//! `inversion`: from asking for a mutex that a less urgent thread holds until having it, while a third one wants the CPU.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PROTOCOL, Protocol};
use super::sample_word::SampleWord;
use super::values::Number;

method! {
    /// Options of `inversion`.
    Inversion {
        from: "a thread asks for a mutex that a less urgent one holds, while a third wants the CPU",
        to: "it has the mutex and reads the clock",
        original: "pi_stress",
        options: {
            protocol: Protocol = PROTOCOL,
            work: Number<1, 10_000, 50> = "how long the mutex is held, in us",
        },
    }
}

impl Sampled for Inversion {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Thread
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::long("inversion", "inversions", "the inversion began")
    }
}

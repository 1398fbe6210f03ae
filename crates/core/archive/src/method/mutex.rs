//! `mutex`: from unlocking a mutex until the thread that waits for it has it.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{self, CACHES, Caches, PARTNER, PROTOCOL, Partner, Protocol, ROUNDS, Rounds};
use super::sample_word::SampleWord;

method! {
    /// Options of `mutex`.
    Mutex {
        from: "another thread is about to unlock a mutex",
        to: hand_over::TO,
        original: "ptsematest",
        options: {
            protocol: Protocol = PROTOCOL,
            partner: Partner = PARTNER,
            caches: Caches = CACHES,
            rounds: Rounds = ROUNDS,
        },
    }
}

impl Sampled for Mutex {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Thread
    }

    fn sample_word(&self) -> SampleWord {
        hand_over::SAMPLE
    }
}

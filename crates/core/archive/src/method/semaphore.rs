//! `semaphore`: from a post until the thread that waits runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{self, CACHES, Caches, PARTNER, Partner, ROUNDS, Rounds};
use super::sample_word::SampleWord;
use super::values::choices;

choices! {
    /// Whose semaphores.
    Kind { Posix = "posix", Sysv = "sysv" }
}

method! {
    /// Options of `semaphore`.
    Semaphore {
        from: "another thread is about to post a semaphore",
        to: hand_over::TO,
        original: "svsematest",
        needs: "kind=sysv: a kernel with CONFIG_SYSVIPC",
        options: {
            kind: Kind = "sem_post and sem_wait, or semop as svsematest does",
            partner: Partner = PARTNER,
            caches: Caches = CACHES,
            rounds: Rounds = ROUNDS,
        },
    }
}

impl Sampled for Semaphore {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Thread
    }

    fn sample_word(&self) -> SampleWord {
        hand_over::SAMPLE
    }
}

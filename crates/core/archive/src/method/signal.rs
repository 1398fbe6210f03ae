//! `signal`: from a signal until the thread in `sigwaitinfo` runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{self, CACHES, Caches, PARTNER, Partner, ROUNDS, Rounds};
use super::sample_word::SampleWord;
use super::values::choices;

choices! {
    /// The call that sends the signal.
    Call { Tgkill = "tgkill", PthreadKill = "pthread_kill" }
}

method! {
    /// Options of `signal`.
    Signal {
        from: "another thread is about to send a signal",
        to: hand_over::TO,
        original: "signaltest, sigwaittest",
        options: {
            call: Call = "tgkill: that system call alone; pthread_kill: also the three that the C library's pthread_kill makes around \
                          it, as in signaltest",
            partner: Partner = PARTNER,
            caches: Caches = CACHES,
            rounds: Rounds = ROUNDS,
        },
    }
}

impl Sampled for Signal {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Thread
    }

    fn sample_word(&self) -> SampleWord {
        hand_over::SAMPLE
    }
}

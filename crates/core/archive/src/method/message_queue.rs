//! `message-queue`: from `mq_send` until the thread in `mq_receive` runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{self, CACHES, Caches, PARTNER, Partner, ROUNDS, Rounds};
use super::sample_word::SampleWord;

method! {
    /// Options of `message-queue`.
    MessageQueue {
        from: "another thread is about to send a message (mq_send)",
        to: hand_over::TO,
        original: "pmqtest",
        needs: "a kernel with CONFIG_POSIX_MQUEUE",
        options: {
            partner: Partner = PARTNER,
            caches: Caches = CACHES,
            rounds: Rounds = ROUNDS,
        },
    }
}

impl Sampled for MessageQueue {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Thread
    }

    fn sample_word(&self) -> SampleWord {
        hand_over::SAMPLE
    }
}

//! Options of the methods in which one thread hands over to another.

use super::sample_word::SampleWord;
use super::values::choices;

pub const TO: &str = "the thread that waits for it reads the clock";
pub const SAMPLE: SampleWord = SampleWord::late("hand-over", "hand-overs", "the hand-over began");

pub const PARTNER: &str = "CPU of the thread that gives the stimulus: the measured one, or another";
pub const CACHES: &str = "cold: the hand-over is the first thing that its thread does after its sleep; warm: one that is not counted \
                          comes immediately before it, with rounds=requested 15 rounds";
pub const ROUNDS: &str = "scheduled: a less urgent thread gives each stimulus on schedule; requested: as in rt-tests, the measuring \
                          thread sleeps, requests the stimulus by a call of the same kind and waits, and the other thread has the \
                          same priority";
pub const PROTOCOL: &str = "priority inheritance of the mutex";

choices! {
    /// The CPU of the thread that gives the stimulus.
    Partner { Same = "same", Other = "other" }
}

choices! {
    /// The thread that ran before a hand-over.
    Caches { Cold = "cold", Warm = "warm" }
}

choices! {
    /// Which of the two threads starts a hand-over.
    Rounds { Scheduled = "scheduled", Requested = "requested" }
}

choices! {
    /// Whether the thread that holds a mutex inherits the priority of one that waits for it.
    Protocol { Inherit = "inherit", None = "none" }
}

//! Options of the methods that measure from a stimulus on a wire to its answer.

use super::role::Role;
use super::sample_word::SampleWord;
use super::values::Number;

pub const HOPS: &str = "threads between the one that reads the stimulus and the one that answers";
pub const DELAY: &str = "a known delay of the answer in us, to check a measurement";

pub type Hops = Number<0, 64, 0>;
pub type Delay = Number<0, 10_000_000, 0>;

/// Words for a sample of the machine with this end.
pub const fn sample(role: Role) -> SampleWord {
    let begun = match role {
        Role::Answer => "the stimulus came",
        Role::Both | Role::Stimulus => "the stimulus was given",
    };
    SampleWord::late("answer", "answers", begun)
}

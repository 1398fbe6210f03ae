//! Measuring: the options of a run, the machine under test, the end of a run, and rounds of runs.

pub mod arguments;
pub mod command;
pub mod ending;
pub mod experiment_command;
pub mod live_causes;
pub mod machine;
pub mod request;
pub mod roles;
pub mod rounds;
pub mod save_requests;
pub mod signals;
pub mod variant;
pub mod whom;

/// Priority of a thread that explains while a measurement goes on: a little below other programs. A much lower one gets 1.5 % of a
/// CPU beside one busy program, and a busy machine needs the explanations most.
pub const NICE_OF_EXPLAINING: i32 = 5;

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

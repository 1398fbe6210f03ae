//! The program `tardy`: one folder of verbs, and the code that verbs share.
//!
//! A presenter decides nothing: causes come from `explain`, and the properties of a run from `archive`.

#[macro_use]
mod terminal;

mod archives;
mod briefs;
mod chained;
pub mod command_line;
mod defect;
#[cfg(feature = "lab")]
mod desk;
mod exit;
#[cfg(fuzzing)]
pub mod fuzzing;
mod guarding;
#[cfg(feature = "lab")]
mod lab;
mod listing;
mod mcp;
mod measuring;
mod nothing_measured;
mod options;
mod plans;
mod recording;
mod refusal;
mod storing;
mod top;
mod verb;
mod verbs;
mod virtual_time;

pub use mcp::problem::RequestProblem;
pub use plans::problem::StepProblem;
pub use refusal::{Failure, NothingWoke};

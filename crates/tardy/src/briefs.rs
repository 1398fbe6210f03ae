//! The short answers of `--json --brief`, which `tardy mcp` sends as well: a function for each.

pub mod compared;
pub mod explained;
pub mod judged;
pub mod loads;
pub mod methods;
pub mod runs;

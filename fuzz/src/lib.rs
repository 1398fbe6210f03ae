//! What every fuzz target shares: a limit on memory, and damage that keeps a file's structure.

mod cost;
mod damage;

pub use cost::within_budget;
pub use damage::{Damage, spoilt};

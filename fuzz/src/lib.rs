//! Shared code of the fuzz targets: a memory limit, and damage that preserves a file's structure.

mod cost;
mod damage;

pub use cost::within_budget;
pub use damage::{Damage, spoilt};

//! Shared code of the fuzz targets: a memory limit, damage that preserves a file's structure, and trace pages.

mod cost;
mod damage;
pub mod pages;

pub use cost::within_budget;
pub use damage::{Damage, spoilt};

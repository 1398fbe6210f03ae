//! Values of options: words, quantities with units, and limits.

pub mod choice;
pub mod limits;
pub mod quantity;

//! Values of options: words, quantities with units, and limits.

pub mod brief;
pub mod choice;
pub mod limits;
pub mod moment;
pub mod quantity;

//! What the values of options mean: quantities with units, and limits.

pub mod limits;
pub mod quantity;

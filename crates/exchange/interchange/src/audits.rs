//! Audits in the formats of code scanning and of test systems.

pub mod junit;
pub mod sarif;

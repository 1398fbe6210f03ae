//! Imports results of other tools and exports runs to other systems; for the command line and a server alike.
//!
//! Nothing here reads the command line, prints, or writes a file: input and output are bytes or messages of archives.

#![deny(clippy::disallowed_methods)]

pub mod audits;
pub mod exports;
pub mod imports;
pub mod json;
mod recorded;
pub mod results;

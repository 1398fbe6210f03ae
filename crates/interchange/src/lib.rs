//! Results of other tools in, formats of other systems out; for the command line and a server alike.
//!
//! Nothing here reads the command line, prints, or writes a file: bytes come in, archives' messages or bytes go out.

pub mod exports;
pub mod imports;
mod recorded;
pub mod results;

//! `tardy mcp`: a server of the Model Context Protocol for one client, on standard input and output.
//!
//! [`session`] reads lines, starts calls and writes answers; [`line`] limits a line, [`message`] understands it as JSON-RPC,
//! [`requests`] answers what belongs to the protocol, [`version`] knows its versions, and [`call`] runs a tool beside the session.
//! [`tools`] lists the tools: a file and a line each, declared as [`tool`] says, with arguments that [`parameter`] checks. Their
//! answers come from `briefs`, as the documents of `tardy VERB --json --brief` do.
//!
//! The client is a program that may obey what an archive holds, so descriptions and instructions are constants. It reaches archives
//! and files below the [`directories`] that the command line names, and starts nothing without `--allow-measure`.

mod call;
mod context;
mod directories;
mod line;
mod measurement;
mod message;
mod parameter;
pub mod problem;
mod requests;
mod session;
mod temporary;
mod tool;
mod tools;
mod version;

#[cfg(fuzzing)]
pub use line::{Line, next_line};
#[cfg(fuzzing)]
pub use message::message;

pub use context::Context;
pub use directories::Directories;
pub use session::serve;

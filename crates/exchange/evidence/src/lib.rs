//! Recordings that other tools made, as run archives: the late wake-ups in them, each with its part of the trace.
//!
//! [`file`] recognises a file by its contents and unpacks it, [`text`], [`perf`] and [`perfetto`] convert other forms to [`records`], [`survey`] reads once through its events and notes what they can show,
//! [`clock`] relates their times to CLOCK_MONOTONIC, [`request`] chooses the threads, [`find`] follows these, [`cut`] takes out the trace
//! around a wake-up, and [`archived`] makes an archive of all that.
//!
//! Nothing here reads a file or a clock; bytes in, messages of an archive out.

#![deny(clippy::disallowed_methods)]

pub mod archived;
pub mod clock;
pub mod cut;
pub mod file;
pub mod find;
mod kept;
pub mod perf;
pub mod perfetto;
pub mod problem;
mod records;
pub mod request;
pub mod survey;
pub mod text;

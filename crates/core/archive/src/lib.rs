//! Defines a run, and its format on disk and on the wire.
//!
//! This crate is the narrow waist between the measuring side, which writes these types, and every presenter, which
//! reads them. It contains nothing about tracing, targets or statistics, and starts no process.
//!
//! * [`message`] defines the messages of a run; [`frame`] carries them over any byte stream, including damaged ones.
//! * [`writer`] turns a stream into an archive directory; [`reader`] opens one, even after a crash.
//! * [`packed`] is an archive as one stream, to send it.
//! * [`facts`] is what a target reports about its settings, for a check instead of a run.
//! * [`setup`] is what a user of a machine needs to measure without root.
//! * [`summary`] condenses an opened run into the document that `--json`, the report and the index show.

// The derive macro of problems names this crate as others do.
extern crate self as archive;

pub mod absence;
pub mod atomic_file;
pub mod audit;
pub mod budget;
pub mod causes;
pub mod caveat;
pub mod chain;
pub mod choice;
pub mod counted;
pub mod counters;
pub mod culprit;
pub mod damage;
pub mod directory;
pub mod effective;
pub mod energy;
pub mod environment;
pub mod evidence;
pub mod explanation;
pub mod facts;
pub mod frame;
pub mod functions;
pub mod histogram;
pub mod lateness;
pub mod layout;
pub mod leb128;
pub mod load;
pub mod loss;
pub mod manifest;
pub mod mark;
pub mod measured;
pub mod message;
pub mod method;
pub mod nearest;
pub mod other_cpus;
pub mod own_code;
pub mod owner;
pub mod packed;
pub mod planned;
pub mod policy;
pub mod problem;
pub mod programs;
pub mod reader;
pub mod recorded;
pub mod recorded_pages;
pub mod roles;
pub mod sample;
pub mod samples_file;
pub mod second_records;
pub mod settings;
pub mod setup;
pub mod shell;
pub mod spike;
pub mod stacks;
pub mod stimulus;
pub mod storage;
pub mod summary;
pub mod trace_event;
pub mod tracer;
pub mod watched;
pub mod write_error;
pub mod writer;

/// Version of the archive directory layout, see `docs/reference/run-archive.md`.
pub const ARCHIVE_VERSION: u32 = 1;
/// Version of the framed stream and of the messages in it.
pub const STREAM_VERSION: u32 = 1;

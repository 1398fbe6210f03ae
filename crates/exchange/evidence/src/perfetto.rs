//! Perfetto traces with events of ftrace, as a trace.dat.
//!
//! [`message`] walks through the fields of a protobuf message, [`trace`] through the packets of a file, [`event`] has the numbers of the
//! messages of events, [`compact`] expands switches and wake-ups that Perfetto stores as columns, and [`convert`] makes records of them.

mod compact;
pub mod convert;
mod event;
mod message;
mod trace;

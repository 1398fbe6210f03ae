//! The bytes of a trace as typed events with names, and the window of time that an explanation reads.

pub mod decode;
pub mod event;
pub mod flight;
pub mod function_table;
pub mod named_event;
pub mod names;
pub mod recording;
pub mod unwinding;
pub mod window;

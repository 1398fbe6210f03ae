//! perf.data of `perf record` and `perf sched record`, as a trace.dat.
//!
//! [`session`] walks through the file, as it is written to a disk or to a pipe, [`attribute`] describes the events, [`sample`] takes a sample
//! apart, [`packed`] unpacks what `perf record -z` packed, and [`convert`] writes the raw data of tracepoints, which are the kernel's own
//! records, to pages.

mod attribute;
pub mod convert;
mod packed;
mod sample;
mod session;

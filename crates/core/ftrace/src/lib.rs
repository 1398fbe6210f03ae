//! Kernel tracing: controls it and decodes its data.
//!
//! There are two halves. [`tracefs`] controls a kernel through its tracing file system, at any root, and is the only
//! part that does I/O. Everything else is pure: pages of the ring buffer ([`page`]), event formats
//! ([`format`](mod@format)), events as text ([`print_fmt`]), and trace.dat files ([`trace_dat`]) that trace-cmd and
//! KernelShark can open, too. Parsing never fails and never panics: it returns what is there, and reports what is
//! missing.
//!
//! ```
//! use ftrace::trace_dat::{TraceFile, TraceItem};
//!
//! /// Counts the switches to a thread, and the gaps in the trace.
//! fn switches_to(trace_dat: &[u8], pid: i64) -> (usize, usize) {
//!     let file = TraceFile::parse(trace_dat);
//!     let mut unknown = file.gaps.len();
//!     let mut switches = 0;
//!     if let Some(switch) = file.metadata.formats.find("sched", "sched_switch") {
//!         let next_pid = switch.field("next_pid");
//!         for item in file.merged() {
//!             match item {
//!                 TraceItem::Record(record) if record.id == switch.id => {
//!                     switches += usize::from(next_pid.and_then(|field| field.int(record.payload)) == Some(pid));
//!                 }
//!                 TraceItem::Record(_) => {}
//!                 TraceItem::Gap(_) => unknown += 1,
//!             }
//!         }
//!     }
//!     (switches, unknown)
//! }
//! assert_eq!(switches_to(b"not a trace", 1), (0, 1));
//! ```

#![deny(clippy::disallowed_methods)]

pub mod byte_order;
pub mod cmdlines;
pub mod cpu_stats;
pub mod event_set;
pub mod flight_record;
pub mod format;
pub mod header;
pub mod kernel_addresses;
pub mod kernel_symbols;
pub mod latency_trace;
pub mod metadata;
pub mod page;
pub mod perfetto_messages;
pub mod print_fmt;
pub mod printk_formats;
pub mod stack;
pub mod trace_dat;
pub mod tracefs;

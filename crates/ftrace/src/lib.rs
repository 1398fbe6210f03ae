//! Kernel tracing: switch it on and off, read its bytes.
//!
//! Two halves. [`tracefs`] controls a kernel through its trace file system, at any root, and is the only part that
//! does I/O. Everything else is pure: pages of the ring buffer ([`page`]), event formats ([`format`](mod@format)),
//! events as text ([`print_fmt`]), and trace.dat files ([`trace_dat`]) that trace-cmd and KernelShark open too.
//! Parsing never fails and never panics: it yields what is there, and names what is missing.

pub mod byte_order;
pub mod cmdlines;
pub mod cpu_stats;
pub mod format;
pub mod header;
pub mod kernel_addresses;
pub mod kernel_symbols;
pub mod metadata;
pub mod page;
pub mod print_fmt;
pub mod printk_formats;
pub mod trace_dat;
pub mod tracefs;

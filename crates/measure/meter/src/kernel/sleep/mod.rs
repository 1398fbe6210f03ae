//! Ways to sleep until an instant: each returns when the thread saw that it had come.

pub mod clock_sleep;
pub mod posix_timer;
pub mod relative_sleep;
pub mod timer;

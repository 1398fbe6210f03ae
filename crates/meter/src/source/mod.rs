//! Where samples come from: each source waits for one instant and says when it was seen.

pub mod clock_sleep;
pub mod posix_timer;
pub mod relative_sleep;
pub mod timer;

//! The time from due to seen, cut into phases at the instants the trace shows.

pub mod anchors;
pub mod phases;
pub mod thread_states;
pub mod watched_thread;

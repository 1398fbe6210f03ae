//! Where samples come from: each source waits for one instant and says when it was seen.

pub mod timer;

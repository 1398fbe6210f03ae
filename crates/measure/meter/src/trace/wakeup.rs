//! Waits for a file to become readable, without spinning.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::time::Duration;

/// Whether the file became readable within the time limit.
pub fn readable(file: &impl AsFd, timeout: Duration) -> bool {
    let mut watched = [PollFd::new(file, PollFlags::IN)];
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
    matches!(poll(&mut watched, Some(&timeout)), Ok(count) if count > 0)
}

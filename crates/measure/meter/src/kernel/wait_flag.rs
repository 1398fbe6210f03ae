//! A flag that a thread of this process sleeps for at once. The semaphores and mutexes of musl spin for some microseconds before they
//! sleep.

use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

/// Not set at first; one thread waits for it at a time.
#[derive(Debug, Default)]
pub struct WaitFlag(AtomicU32);

impl WaitFlag {
    #[inline]
    pub fn set(&self) {
        self.0.store(1, Release);
        let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
    }

    /// Sleeps until it is set, and clears it.
    #[inline]
    pub fn wait(&self) {
        while self.0.compare_exchange(1, 0, AcqRel, Acquire).is_err() {
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, 0, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_setting_ends_one_wait() {
        let (there, back) = (Arc::<WaitFlag>::default(), Arc::<WaitFlag>::default());
        let other = {
            let (there, back) = (there.clone(), back.clone());
            std::thread::spawn(move || {
                for _ in 0..100 {
                    there.wait();
                    back.set();
                }
            })
        };
        for _ in 0..100 {
            there.set();
            back.wait();
        }
        other.join().unwrap();
    }
}

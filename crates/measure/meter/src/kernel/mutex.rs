//! A mutex as the C library and the kernel have it, with or without priority inheritance, locked and unlocked by hand.

use super::clock;
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

/// A mutex of this process. Only the thread that locked it may unlock it.
pub struct RawMutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a mutex is made to be used from several threads at once; it is only reached through the functions of the C library.
unsafe impl Send for RawMutex {}
// SAFETY: as above.
unsafe impl Sync for RawMutex {}

impl RawMutex {
    /// # Errors
    /// ENOTSUP of a kernel or C library without priority inheritance.
    pub fn new(inherits_priority: bool) -> io::Result<Self> {
        let mutex = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        let protocol = if inherits_priority { libc::PTHREAD_PRIO_INHERIT } else { libc::PTHREAD_PRIO_NONE };
        // SAFETY: the attributes are initialised by the first call and not used after the last; the mutex is boxed, so it
        // never moves, and nobody else refers to it yet.
        let answers = unsafe {
            let initialised = libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            let set = libc::pthread_mutexattr_setprotocol(attributes.as_mut_ptr(), protocol);
            let made = if set == 0 { libc::pthread_mutex_init(mutex.get(), attributes.as_ptr()) } else { set };
            libc::pthread_mutexattr_destroy(attributes.as_mut_ptr());
            [initialised, set, made]
        };
        match answers.into_iter().find(|answer| *answer != 0) {
            None => Ok(Self(mutex)),
            Some(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    #[inline]
    pub fn lock(&self) {
        // SAFETY: initialised and alive.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    /// Waits no longer than this; whether it was locked.
    #[inline]
    pub fn lock_within(&self, limit_ns: i64) -> bool {
        let until = clock::timespec(clock::realtime_ns().saturating_add(limit_ns));
        let until = libc::timespec { tv_sec: until.tv_sec as _, tv_nsec: until.tv_nsec as _ };
        // SAFETY: initialised and alive; `until` is read only.
        unsafe { libc::pthread_mutex_timedlock(self.0.get(), &until) == 0 }
    }

    /// Only in the thread that holds it.
    #[inline]
    pub fn unlock(&self) {
        // SAFETY: initialised and alive.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

impl Drop for RawMutex {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to it any more.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_held_mutex_is_not_locked_in_time_and_a_free_one_is() {
        for inherits in [true, false] {
            let mutex = Arc::new(RawMutex::new(inherits).unwrap());
            mutex.lock();
            let other = mutex.clone();
            assert!(!std::thread::spawn(move || other.lock_within(1_000_000)).join().unwrap());
            mutex.unlock();
            assert!(mutex.lock_within(1_000_000));
            mutex.unlock();
        }
    }
}

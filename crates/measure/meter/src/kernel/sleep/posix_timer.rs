//! POSIX timer: the kernel sends the thread a signal at every expiry; the thread waits for it, then reads the clock.

use crate::kernel::clock::{now_ns, timespec};
use crate::kernel::{scheduling, signals};
use rustix::thread::ClockId;
use std::io;
use std::mem::MaybeUninit;

/// The signal of the timers. It must be blocked in every thread before a timer runs.
pub fn signal() -> i32 {
    libc::SIGRTMIN()
}

/// A timer whose signals go to the thread that created it.
#[derive(Debug)]
pub struct PosixTimer {
    id: libc::timer_t,
    clock: ClockId,
}

/// One observed expiry.
#[derive(Debug, Clone, Copy)]
pub struct Expiry {
    pub seen_ns: i64,
    /// Further expiries before the signal was received.
    pub overrun: u32,
}

impl PosixTimer {
    /// A timer of the calling thread, not running yet.
    ///
    /// # Errors
    /// Errors of timer_create(2).
    pub fn new(clock: ClockId) -> io::Result<Self> {
        let mut id = MaybeUninit::uninit();
        // SAFETY: all-zero bytes are a valid `sigevent`; the fields that matter are set below.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_notify_thread_id = scheduling::thread_id();
        // SAFETY: `event` is live and complete, `id` is room for the answer.
        let answer = unsafe { libc::timer_create(clock as libc::clockid_t, &mut event, id.as_mut_ptr()) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: timer_create succeeded, so it has written the identity.
        Ok(Self { id: unsafe { id.assume_init() }, clock })
    }

    /// Starts it at an absolute instant of its clock with a fixed interval.
    ///
    /// # Errors
    /// Errors of timer_settime(2).
    pub fn start(&self, first_due_ns: i64, interval_ns: i64) -> io::Result<()> {
        let convert = |ns| {
            let time = timespec(ns);
            libc::timespec { tv_sec: time.tv_sec as _, tv_nsec: time.tv_nsec as _ }
        };
        let times = libc::itimerspec { it_interval: convert(interval_ns), it_value: convert(first_due_ns) };
        // SAFETY: the timer belongs to `self`, `times` is read only, a null fourth argument requests no old value.
        let answer = unsafe { libc::timer_settime(self.id, libc::TIMER_ABSTIME, &times, std::ptr::null_mut()) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits for the next expiry: one system call.
    ///
    /// # Errors
    /// Errors of sigwaitinfo(2), except EINTR.
    #[inline]
    pub fn wake(&self) -> io::Result<Expiry> {
        loop {
            match signals::wait_for(signal()) {
                Ok(overrun) => return Ok(Expiry { seen_ns: now_ns(self.clock), overrun }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer belongs to `self` and is not used after this.
        unsafe { libc::timer_delete(self.id) };
    }
}

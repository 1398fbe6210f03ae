//! The kernel functions of timers that end a sleep.

/// Their addresses.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimerFunctions {
    /// The function of timers of sleeping system calls and of waits with a time-out: such a timer ends with its sleep.
    pub sleep: u64,
    /// The function of timers of file descriptors and of POSIX timers, which outlive the wait for them; 0 if unknown.
    pub timer_file: u64,
    pub posix_timer: u64,
    /// The addresses are hidden; the kernel filters timers of sleeps by name.
    pub by_name: bool,
}

impl TimerFunctions {
    /// Takes the address of a function, if it is one of them.
    pub fn learn(&mut self, name: &str, address: u64) {
        let place = match name {
            "hrtimer_wakeup" => &mut self.sleep,
            "timerfd_tmrproc" => &mut self.timer_file,
            "posix_timer_fn" => &mut self.posix_timer,
            _ => return,
        };
        *place = address;
    }

    pub(crate) fn wakes(&self, function: u64) -> bool {
        self.by_name || (function != 0 && [self.sleep, self.timer_file, self.posix_timer].contains(&function))
    }

    pub(crate) fn sleeps(&self, function: u64) -> bool {
        self.by_name || function == self.sleep
    }
}

//! Scheduling policies of threads.

use crate::choice::choices;

choices! {
    /// Scheduling policy of the measuring threads.
    pub enum Policy {
        Fifo = "fifo",
        Rr = "rr",
        /// SCHED_DEADLINE: runtime is a quarter of the interval, deadline and period are the interval.
        Deadline = "deadline",
        /// SCHED_OTHER with a timer slack of 1 ns, the smallest that the kernel accepts.
        Other = "other",
    }
}

impl Policy {
    /// Whether threads of this policy run before every ordinary thread.
    pub fn is_real_time(self) -> bool {
        match self {
            Self::Fifo | Self::Rr | Self::Deadline => true,
            Self::Other => false,
        }
    }
}

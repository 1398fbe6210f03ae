//! Evidence that more than one culprit rests on.

pub mod console;
pub mod deferral;
pub mod file_sync;
pub mod foreign_interrupt;
pub mod idle_time;
pub mod in_kernel;
pub mod interventions;
pub mod late_in_task;
pub mod masked_section;
pub mod more_urgent;
pub mod named;
pub mod other_timers;
pub mod overrun;
pub mod passed_over;
pub mod period;
pub mod slowdown;

//! Replays the events of each CPU: which context had the CPU at each instant.

pub mod charge_points;
pub mod context;
pub mod page_faults;
pub mod priorities;
pub mod recorded;
pub mod snapshot;
pub mod thread_life;
pub mod timeline;
pub mod timer_deferral;
pub mod trace;

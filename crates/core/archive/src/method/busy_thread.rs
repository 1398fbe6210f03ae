//! A synthetic thread of the method `map`, as a file of the user describes it.

use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A thread that reads the clock while it has its CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyThread {
    /// Its name in the trace and in the execution map.
    pub name: String,
    /// The CPU to which it is bound.
    pub cpu: u32,
    pub policy: Policy,
    /// 1 to 98 for FIFO and RR, otherwise 0.
    pub priority: u8,
    /// When it works; `None`: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub periodic: Option<PeriodicWork>,
}

/// The work of a thread that sleeps between its periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodicWork {
    /// Distance of two starts.
    pub period_us: u64,
    /// CPU time from each start on.
    pub work_us: u64,
}

impl BusyThread {
    /// Part of its CPU that it takes before every thread without a real-time policy, in %, rounded up.
    pub fn real_time_percent(&self) -> u64 {
        match (self.policy, self.periodic) {
            (Policy::Other, _) => 0,
            (_, None) => 100,
            (_, Some(periodic)) => periodic.work_us.saturating_mul(100).div_ceil(periodic.period_us.max(1)).min(100),
        }
    }
}

impl fmt::Display for BusyThread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} on CPU {}, ", self.name, self.cpu)?;
        match self.policy {
            Policy::Fifo => write!(out, "fifo {}", self.priority)?,
            Policy::Rr => write!(out, "rr {}", self.priority)?,
            Policy::Deadline | Policy::Other => write!(out, "other")?,
        }
        match self.periodic {
            Some(periodic) => write!(out, ", {} us of every {} us", periodic.work_us, periodic.period_us),
            None => write!(out, ", always busy"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_time_thread_takes_its_work_of_each_period() {
        let thread = |policy, periodic| BusyThread { name: "a".into(), cpu: 1, policy, priority: 10, periodic };
        let work = |work_us| Some(PeriodicWork { period_us: 1_000, work_us });
        assert_eq!(thread(Policy::Other, None).real_time_percent(), 0);
        assert_eq!(thread(Policy::Fifo, None).real_time_percent(), 100);
        assert_eq!(thread(Policy::Rr, work(251)).real_time_percent(), 26);
        assert_eq!(thread(Policy::Rr, work(u64::MAX)).real_time_percent(), 100);
        assert_eq!(thread(Policy::Rr, work(251)).to_string(), "a on CPU 1, rr 10, 251 us of every 1000 us");
    }
}

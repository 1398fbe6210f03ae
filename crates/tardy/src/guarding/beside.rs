//! Keeps the guard's threads where its meter works: off the CPUs that watched threads are bound to.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;

/// The CPUs of this process.
pub struct BesideMeter {
    allowed: Option<CpuSet>,
    now: Option<CpuSet>,
}

impl BesideMeter {
    /// The CPUs of the calling thread are the ones that the guard may use.
    pub fn of_this_process() -> Self {
        let allowed = sched_getaffinity(None).ok();
        Self { allowed, now: allowed }
    }

    /// Moves to the CPUs of the meter.
    pub fn follow(&mut self, meter: i32) {
        self.move_to(Pid::from_raw(meter).and_then(|pid| sched_getaffinity(Some(pid)).ok()));
    }

    /// Moves back, as the next meter begins with the CPUs of its parent.
    pub fn leave(&mut self) {
        self.move_to(self.allowed);
    }

    fn move_to(&mut self, cpus: Option<CpuSet>) {
        let Some(cpus) = cpus.filter(|cpus| self.now.as_ref() != Some(cpus)) else { return };
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let tids = tasks.filter_map(|task| Pid::from_raw(task.file_name().to_str()?.parse().ok()?));
        // A thread that ends meanwhile needs no CPU.
        tids.for_each(|tid| _ = sched_setaffinity(Some(tid), &cpus));
        self.now = Some(cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_guard_works_where_its_meter_does_and_goes_back() {
        let all = sched_getaffinity(None).unwrap();
        let mut beside = BesideMeter::of_this_process();
        let mut meter = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&meter);
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).rfind(|cpu| all.is_set(*cpu)).unwrap());
        sched_setaffinity(Some(pid), &one).unwrap();
        beside.follow(pid.as_raw_nonzero().get());
        assert_eq!(sched_getaffinity(None).unwrap(), one);
        beside.leave();
        assert_eq!(sched_getaffinity(None).unwrap(), all);
        drop(meter.stdin.take());
        meter.wait().unwrap();
        beside.follow(pid.as_raw_nonzero().get());
        assert_eq!(sched_getaffinity(None).unwrap(), all, "a meter that has ended");
    }
}

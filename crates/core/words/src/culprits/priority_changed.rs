//! Words about priority-changed: another task changed the priority of the thread.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "another task changed the priority of the thread",
    confirm: "chrt -p TID during the run; `perf trace -e sched_setscheduler,sched_setattr,sched_setparam` or auditd shows who calls them",
    fix: "stop what changes priorities: a service manager, rtkit, `chrt` in a script, a cgroup rule",
};

//! The rights that a run needs whatever it measures: locked memory, and the scheduling of the measuring threads.
//!
//! Limits, capabilities, cgroups and filters of system calls decide together, so each right is tried.

use crate::kernel::{memory, scheduling};
use crate::measure::thread::policy_words;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::settings::{Policy, RunSettings};
use std::io;

/// How to get the rights. Names the meter by its path, which a host may have chosen.
pub fn fix() -> String {
    let meter = std::env::current_exe().map_or_else(|_| "tardy-meter".into(), |path| path.display().to_string());
    format!(
        "`sudo tardy setup --apply` gives them to your user; or run as root, or raise `ulimit -r` and `ulimit -l`; where only the \
         meter is, `sudo setcap cap_sys_nice,cap_ipc_lock+ep {meter}`; in a container add --cap-add SYS_NICE --cap-add \
         IPC_LOCK; `tardy run --degrade` measures without these rights"
    )
}

/// The rights that this process lacks for a run. `own` is the scheduling of the method's threads, if it is not that of the run;
/// `memory` is the answer of [`of_locked_memory`].
pub fn missing(settings: &RunSettings, own: Option<(Policy, u8)>, memory: Option<&Obstacle>) -> Vec<Obstacle> {
    let (policy, priority) = own.unwrap_or((settings.policy, settings.priority));
    let memory = memory.filter(|_| settings.lock_memory).cloned();
    memory.into_iter().chain(of_scheduling(policy, priority, settings.interval_ns)).collect()
}

/// The right to lock memory. Unlocks all memory of this process.
pub fn of_locked_memory() -> Option<Obstacle> {
    memory::try_to_lock_all().err().map(|error| Obstacle {
        kind: ObstacleKind::Right,
        text: format!("no right to lock memory{}", unless_refused(&error)),
        fix: fix(),
    })
}

fn of_scheduling(policy: Policy, priority: u8, interval_ns: u64) -> Option<Obstacle> {
    if policy == Policy::Other {
        return None;
    }
    // In a separate thread, because this one must keep its policy.
    let tried = std::thread::spawn(move || scheduling::set_policy(policy, priority, interval_ns)).join().ok()?;
    tried.err().map(|error| of_refusal(policy, priority, &error))
}

fn of_refusal(policy: Policy, priority: u8, error: &io::Error) -> Obstacle {
    let wanted = policy_words(policy, priority);
    let (kind, text, fix) = match (policy, error.raw_os_error()) {
        (Policy::Deadline, Some(libc::EBUSY)) => (
            ObstacleKind::InUse,
            format!("the kernel has no time left for a thread with {wanted} ({error})"),
            "raise sched_rt_runtime_us, or end other deadline tasks".to_owned(),
        ),
        (Policy::Deadline, _) => (
            ObstacleKind::Right,
            format!("no right to {wanted}{}", unless_refused(error)),
            "run as root, on every CPU: the kernel admits no deadline task in a process that is bound to some of them"
                .to_owned(),
        ),
        _ => (
            ObstacleKind::Right,
            format!("no right to real-time priorities ({wanted}){}", unless_refused(error)),
            fix(),
        ),
    };
    Obstacle { kind, text, fix }
}

/// The error in words, unless it says only what a missing right already says.
fn unless_refused(error: &io::Error) -> String {
    match error.raw_os_error() {
        // mlockall(2) refuses with the first two above the limit, and with the third without the right.
        Some(libc::ENOMEM | libc::EAGAIN | libc::EPERM) => String::new(),
        _ => format!(" ({error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::MethodRequest;

    fn missing_for(method: &str, policy: Policy) -> Vec<Obstacle> {
        let settings = RunSettings { method: MethodRequest::parse(method).unwrap(), policy, ..RunSettings::default() };
        missing(&settings, crate::methods::method(&settings.method, |_| None).unwrap().scheduling(), None)
    }

    #[test]
    fn an_ordinary_thread_needs_no_right_to_priorities() {
        assert_eq!(missing_for("noise", Policy::Fifo), []);
        assert_eq!(missing_for("map", Policy::Fifo), []);
        assert_eq!(missing_for("timer", Policy::Other), []);
    }

    #[test]
    fn memory_that_is_not_to_be_locked_needs_no_right() {
        let memory = of_refusal(Policy::Fifo, 80, &io::Error::from_raw_os_error(libc::ENOMEM));
        let locking = RunSettings { policy: Policy::Other, ..RunSettings::default() };
        assert_eq!(missing(&locking, None, Some(&memory)), std::slice::from_ref(&memory));
        assert_eq!(missing(&RunSettings { lock_memory: false, ..locking }, None, Some(&memory)), []);
    }

    #[test]
    fn a_refused_policy_is_named_with_its_priority() {
        let refused = |policy, number| of_refusal(policy, 80, &io::Error::from_raw_os_error(number));
        assert!(refused(Policy::Fifo, libc::EPERM).text.ends_with("(SCHED_FIFO priority 80)"));
        assert!(refused(Policy::Fifo, libc::EINVAL).text.contains("Invalid argument"));
        assert_eq!(refused(Policy::Deadline, libc::EPERM).kind, ObstacleKind::Right);
        let full = refused(Policy::Deadline, libc::EBUSY);
        assert!(full.kind == ObstacleKind::InUse && full.fix.contains("sched_rt_runtime_us"), "{full:?}");
    }
}

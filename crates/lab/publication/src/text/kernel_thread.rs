//! Names of kernel threads: what the kernel chose stays, what a driver or a device contributed is a name.

/// Threads with a fixed name, or a number after it.
const FIXED: [&str; 30] = [
    "kthreadd",
    "pool_workqueue_release",
    "pool_workqueue_",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "ksmd",
    "kauditd",
    "khungtaskd",
    "hung_task",
    "oom_reaper",
    "rcu_preempt",
    "rcu_sched",
    "rcu_tasks_kthread",
    "rcu_tasks_kthre",
    "rcu_tasks_rude_kthread",
    "rcu_tasks_rude_",
    "rcu_tasks_trace_kthread",
    "rcu_tasks_trace",
    "rcu_exp_gp_kthread_worker",
    "rcu_exp_par_gp_kthread_worker",
    "kdevtmpfs",
    "psimon",
    "ecryptfs-kthread",
    "kvm-pit",
    "hwrng",
    "watchdogd",
    "<idle>",
    "swapper",
    "scsi_eh_",
];
/// Numbers of CPUs, pools and interrupts are no longer; a longer one was not chosen by the kernel.
const DIGITS_MAX: usize = 5;
/// Threads of a CPU, `NAME/CPU`.
const OF_CPU: [&str; 16] = [
    "migration",
    "ksoftirqd",
    "cpuhp",
    "idle_inject",
    "ktimers",
    "ktimersoftd",
    "rcuc",
    "rcub",
    "rcuop",
    "rcuog",
    "rcuos",
    "watchdog",
    "irq_work",
    "posixcputmr",
    "swapper",
    "backlog_napi",
];

/// A name in parts: what the kernel chose, the name of a device or work queue, and the number of the thread with its sign.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelThread<'a> {
    pub head: &'a str,
    pub tail: &'a str,
    pub tid: &'a str,
}

/// The parts of a kernel thread's name; `None` for another thread.
pub fn kernel_thread(name: &str) -> Option<KernelThread<'_>> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = |head: usize| {
        let (head, tid) = name.split_at(head);
        let is_tid = tid.is_empty() || tid.len() > 1 && tid.starts_with('-') && digits(&tid[1..]) == tid.len() - 1;
        is_tid.then_some(KernelThread { head, tail: "", tid })
    };
    for fixed in FIXED {
        if let Some(rest) = name.strip_prefix(fixed)
            && digits(rest) <= DIGITS_MAX
            && let Some(thread) = whole(fixed.len() + digits(rest))
        {
            return Some(thread);
        }
    }
    let (kind, rest) = name.split_once('/')?;
    let number = digits(rest);
    if OF_CPU.contains(&kind) && (1..=DIGITS_MAX).contains(&number) {
        return whole(kind.len() + 1 + number);
    }
    let head = match kind {
        "irq" if (1..=DIGITS_MAX).contains(&number) => number,
        "kworker" => pool(rest),
        "jbd2" => 0,
        _ => return None,
    };
    let rest = &rest[head..];
    let sign = usize::from(rest.starts_with(['-', '+']));
    let (tail, tid) = match rest[sign..].rsplit_once('-') {
        Some((tail, tid)) if !tid.is_empty() && digits(tid) == tid.len() => (tail, &rest[sign + tail.len()..]),
        // A number alone is that of the thread: `irq/45-123` has no name of a device.
        None if sign == 1 && head > 0 && digits(&rest[1..]) == rest.len() - 1 => return whole(kind.len() + 1 + head),
        _ => (&rest[sign..], ""),
    };
    Some(KernelThread { head: &name[..kind.len() + 1 + head + sign], tail, tid })
}

/// Length of the pool at the start of a text, `u8:2` or `0:1H`, or of `R` for the rescuer of a work queue.
fn pool(text: &str) -> usize {
    let number = |at: usize| {
        let digits = text.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if (1..=DIGITS_MAX).contains(&digits) { at + digits } else { at }
    };
    let first = usize::from(text.starts_with('u'));
    let colon = number(first);
    let end = number(colon + 1);
    match text.as_bytes().get(colon) {
        Some(b':') if colon > first && end > colon + 1 => end + usize::from(text[end..].starts_with(['H', 'N', 'i'])),
        _ => usize::from(text.starts_with('R')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_devices_and_work_queues_are_distinguished() {
        for (name, parts) in [
            ("ksoftirqd/1", ("ksoftirqd/1", "", "")),
            ("ksoftirqd/1-22", ("ksoftirqd/1", "", "-22")),
            ("kswapd0-87", ("kswapd0", "", "-87")),
            ("kworker/u8:2-events_unbound-31", ("kworker/u8:2-", "events_unbound", "-31")),
            ("kworker/0:1H-kblockd", ("kworker/0:1H-", "kblockd", "")),
            ("kworker/0:1-31", ("kworker/0:1", "", "-31")),
            ("irq/45-acme-motor", ("irq/45-", "acme-motor", "")),
            ("irq/45-acme-77", ("irq/45-", "acme", "-77")),
            ("jbd2/sda1-8", ("jbd2/", "sda1", "-8")),
            ("kworker/R-rcu_gp", ("kworker/R-", "rcu_gp", "")),
            ("kworker/192:168:17:20", ("kworker/192:168", ":17:20", "")),
            ("kworker/4930123456:1", ("kworker/", "4930123456:1", "")),
            ("psimon-88", ("psimon", "", "-88")),
        ] {
            let (head, tail, tid) = parts;
            assert_eq!(kernel_thread(name), Some(KernelThread { head, tail, tid }), "{name}");
        }
        for name in [
            "firefox",
            "kswapd-secret",
            "ksoftirqd/x",
            "irq/acme",
            "home/alice",
            "migration/1x",
            "swapperette",
            "kswapd4930123456",
            "ksoftirqd/4930123456",
            "irq/4930123456-8",
        ] {
            assert_eq!(kernel_thread(name), None, "{name}");
        }
    }
}

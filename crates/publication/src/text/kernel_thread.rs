//! Names of kernel threads: what the kernel chose stays, what a driver or a device contributed is a name.

/// Threads with a fixed name, or a number after it.
const FIXED: [&str; 14] = [
    "kthreadd",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "ksmd",
    "kauditd",
    "khungtaskd",
    "oom_reaper",
    "rcu_preempt",
    "rcu_sched",
    "kdevtmpfs",
    "<idle>",
    "swapper",
    "scsi_eh_",
];
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
            && let Some(thread) = whole(fixed.len() + digits(rest))
        {
            return Some(thread);
        }
    }
    let (kind, rest) = name.split_once('/')?;
    let number = digits(rest);
    if OF_CPU.contains(&kind) && number > 0 {
        return whole(kind.len() + 1 + number);
    }
    let head = match kind {
        "irq" if number > 0 => number,
        // A pool, `u8:2` or `0:1H`, or the rescuer of a work queue.
        "kworker" => rest.bytes().take_while(|byte| byte.is_ascii_digit() || b"uHRN:".contains(byte)).count(),
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
        ] {
            let (head, tail, tid) = parts;
            assert_eq!(kernel_thread(name), Some(KernelThread { head, tail, tid }), "{name}");
        }
        for name in ["firefox", "kswapd-secret", "ksoftirqd/x", "irq/acme", "home/alice", "migration/1x", "swapperette"]
        {
            assert_eq!(kernel_thread(name), None, "{name}");
        }
    }
}

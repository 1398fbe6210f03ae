//! Words about page-fault: page fault of the thread.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::task;
use crate::voice::Share;
use archive::culprit::{FaultLengths, ThreadFaults};

pub const ADVICE: Advice = Advice {
    title: "page fault of the thread",
    confirm: "fields 10 and 12 of /proc/PID/task/TID/stat count minor and major faults",
    fix: "mlockall(MCL_CURRENT | MCL_FUTURE), touch all memory before the loop, no fork, mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0)",
};

pub fn words(facts: &ThreadFaults, share: Share) -> FindingWords {
    match facts {
        ThreadFaults::BeforeTheClock { tid } => FindingWords {
            sentence: format!("{} took a page fault before it saw the clock ({share})", share.voice.thread()),
            evidence: Vec::new(),
            confirm: format!("fields 10 and 12 of /proc/self/task/{tid}/stat count minor and major faults"),
            fix: "lock and prefault memory (mlockall with MCL_CURRENT and MCL_FUTURE, write to the stack once); no fork, no NUMA balancing, no KSM".into(),
        },
        ThreadFaults::InItsWork { thread, count, waited_for_device, lengths } => FindingWords {
            sentence: format!(
                "{} took {} during its work{} ({share})",
                task(thread),
                faults(*count),
                waited(*waited_for_device, *count)
            ),
            evidence: vec![estimate(*lengths)],
            confirm: format!(
                "fields 10 and 12 of /proc/PID/task/{tid}/stat count minor and major faults; perf trace -F all --no-syscalls -t {tid} \
                 names the addresses",
                tid = thread.tid
            ),
            fix: "mlockall(MCL_CURRENT | MCL_FUTURE) at the start; get and touch all memory before the loop, and neither map, \
                  unmap nor madvise in it; mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0) keep malloc from doing so"
                .into(),
        },
    }
}

fn faults(count: usize) -> String {
    match count {
        0 | 1 => "a page fault".into(),
        count => format!("{count} page faults"),
    }
}

fn waited(for_device: bool, count: usize) -> &'static str {
    match (for_device, count) {
        (false, _) => "",
        (true, 0 | 1) => ", and waited for a device",
        (true, _) => ", and waited for a device in some of them",
    }
}

fn estimate(lengths: FaultLengths) -> String {
    match lengths {
        FaultLengths::Apart { ns } => format!(
            "the trace shows when a fault starts, not when it ends: faults less than {} apart count as back to back",
            latency(ns)
        ),
        FaultLengths::Noted { faults, noted, rest_ns, longest_ns } => format!(
            "the trace shows when a fault starts, and for {noted} of {faults} when the thread got the memory: each of these counts up \
             to there and at most {} more; the longest took {}",
            latency(rest_ns),
            latency(longest_ns)
        ),
    }
}

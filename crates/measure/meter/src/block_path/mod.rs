//! Records the way of block requests: the method `storage` measures them, and the kernel's events divide them into phases.
//!
//! [`device`] finds the block device below the file, [`recording`] is the trace instance, which records that device and the
//! measuring threads alone.

mod cgroup_limits;
pub mod device;
pub mod recording;

pub use recording::BlockPathRecording;

/// The threads whose events are of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Whatever thread submitted the request.
    Device,
    /// The measuring threads, and those that may complete requests, as the one that is woken.
    Woken,
    /// As one of the two of a switch.
    Switched,
    /// As the one that runs.
    Running,
    /// Anything that completes requests.
    Anything(&'static str),
}

/// Recorded events. Kernels lack some.
const EVENTS: &[(&str, &str, Of)] = &[
    ("block", "block_bio_queue", Of::Device),
    ("block", "block_bio_backmerge", Of::Device),
    ("block", "block_bio_frontmerge", Of::Device),
    ("block", "block_split", Of::Device),
    ("block", "block_getrq", Of::Device),
    ("block", "block_plug", Of::Running),
    ("block", "block_unplug", Of::Running),
    ("block", "block_rq_insert", Of::Device),
    ("block", "block_rq_merge", Of::Device),
    ("block", "block_rq_issue", Of::Device),
    ("block", "block_rq_requeue", Of::Device),
    ("block", "block_rq_complete", Of::Device),
    ("sched", "sched_waking", Of::Woken),
    ("sched", "sched_switch", Of::Switched),
    ("irq", "irq_handler_entry", Of::Anything("")),
    ("irq", "softirq_entry", Of::Anything("vec == 4")),
    ("vmscan", "mm_vmscan_direct_reclaim_begin", Of::Running),
    ("vmscan", "mm_vmscan_direct_reclaim_end", Of::Running),
    ("writeback", "balance_dirty_pages", Of::Running),
];

/// A device that only maps requests has no requests of its own: it completes bios.
const OF_MAPPING_DEVICE: (&str, &str, Of) = ("block", "block_bio_complete", Of::Device);

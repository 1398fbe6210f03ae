//! Block requests of a run with the method `storage`: what its recorded trace pages need to be read, and the account of where
//! the time of each request went.

use crate::directory::read_inside;
use crate::layout::FileKind;
use crate::layout::file_path;
use crate::recorded_pages::RecordedPages;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Version of [`StorageDescription`].
pub const DESCRIPTION_VERSION: u32 = 1;
/// Most bytes of a description that are read.
pub const DESCRIPTION_BYTES_MAX: u64 = 16 << 20;

/// A block device of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageDevice {
    /// Of the device that requests go to, as the kernel's events have it: major number << 20 | minor number.
    pub number: u32,
    /// Of the partition through which they go, if there is one.
    pub partition: Option<u32>,
    /// `vda`
    pub name: String,
    /// It maps requests to other devices and has no queue of its own, as a device mapper's.
    pub maps: bool,
    /// The chosen I/O scheduler; empty if it has none.
    pub scheduler: String,
    /// Numbers of its interrupts.
    pub interrupts: Vec<u32>,
    /// Requests that it takes at a time; 0 if unknown.
    pub requests_max: u32,
    /// The block layer may hold writes of files back so that reads stay fast (wbt).
    pub throttles_writeback: bool,
    /// Limits for it on the cgroup of the measuring threads: `/background: wiops=200`. Empty without.
    pub cgroup_limits: String,
}

/// Everything that the pages of a run need to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageDescription {
    pub description_version: u32,
    #[serde(flatten)]
    pub recorded: RecordedPages,
    pub device: StorageDevice,
    /// Number of each measuring thread, and its number in the kernel.
    pub threads: Vec<(u32, i32)>,
    /// Threads of fio, if it makes the requests. Its log has whole ms, so the bios of these are divided, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fio_threads: Vec<i32>,
}

/// The description in an archive.
///
/// # Errors
/// If the archive holds none, or it cannot be read.
pub fn description(archive: &Path) -> io::Result<StorageDescription> {
    let bytes = read_inside(archive, file_path(FileKind::StorageDescription), DESCRIPTION_BYTES_MAX)?;
    serde_json::from_slice(&bytes).map_err(io::Error::from)
}

/// The pages of each CPU of a description, as the kernel recorded them.
///
/// # Errors
/// If they cannot be read, or are more than [`crate::recorded_pages::PAGES_BYTES_MAX`] together.
pub fn pages(archive: &Path, description: &StorageDescription) -> io::Result<Vec<(u32, Vec<u8>)>> {
    description.recorded.read(archive, |cpu| FileKind::StoragePages { cpu })
}

/// A phase of a request. Those of one request add up to its latency, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StoragePhase {
    /// From the call until the block layer has the first part of it, and between its parts.
    Submission,
    /// In the block layer without a request for the device: plug, merge, scheduler.
    BioToRequest,
    /// In the queue of the device and in its driver.
    RequestToDevice,
    /// At the device.
    Device,
    /// From the interrupt of the device until the block layer has completed the request.
    InterruptToCompletion,
    /// From there until the thread is woken.
    CompletionToWakeUp,
    /// From there until the thread reads the clock.
    WakeUpToUser,
    /// In the kernel with no request to the device that the trace connects with the call.
    WithoutRequest,
    /// The trace has a gap or lacks an event, so the request is not divided.
    NotSplit,
}

impl StoragePhase {
    pub const ALL: [Self; 9] = [
        Self::Submission,
        Self::BioToRequest,
        Self::RequestToDevice,
        Self::Device,
        Self::InterruptToCompletion,
        Self::CompletionToWakeUp,
        Self::WakeUpToUser,
        Self::WithoutRequest,
        Self::NotSplit,
    ];

    /// The phase in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Submission => "submission to bio",
            Self::BioToRequest => "bio to request",
            Self::RequestToDevice => "request to device",
            Self::Device => "device",
            Self::InterruptToCompletion => "interrupt to completion",
            Self::CompletionToWakeUp => "completion to wake-up",
            Self::WakeUpToUser => "wake-up to user",
            Self::WithoutRequest => "without a request",
            Self::NotSplit => "not split",
        }
    }
}

/// Cause of the time of a request, as the events prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StorageCause {
    /// The device had the request more than five times as long as it has the median one.
    SlowDevice,
    /// It waited for a commit of the journal (jbd2).
    JournalCommit,
    /// The device wrote its cache out.
    Flush,
    /// The driver gave the request back, and it was issued once more.
    Requeued,
    /// It was held between the scheduler's queue and the driver.
    Queue,
    /// The same on a device with an I/O scheduler, which the driver gave nothing back to.
    Scheduler,
    /// It was held in the plug of its thread, which collects requests before the device gets them.
    Plug,
    /// The thread slept between its bio and a request for it: all were in use, or the kernel throttled it.
    NoRequest,
    /// The thread slept between its bio and a request for it: all of the device were in use.
    AllInUse,
    /// The same, though requests were free, on a device with writeback throttling.
    WritebackThrottling,
    /// A limit of its cgroup held it back: the thread slept, and the kernel submitted for it later.
    CgroupLimit,
    /// The thread slept because too many pages of files were dirty.
    DirtyThrottling,
    /// The device wrote through its cache.
    Fua,
    /// The block layer completed it in a softirq after the interrupt.
    Softirq,
    /// The thread that completed it, of the interrupt or ksoftirqd, was runnable and another one had its CPU.
    CompletionWait,
    /// The thread was runnable and another one had its CPU.
    WakeUp,
    /// The thread reclaimed memory in the call.
    Reclaim,
    /// The kernel merged it with another request.
    Merged,
    /// The kernel split it.
    Split,
}

impl StorageCause {
    /// The cause in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::SlowDevice => "the device took more than five times its median",
            Self::JournalCommit => "waited for a commit of the journal",
            Self::Flush => "the device wrote its cache out (flush)",
            Self::Requeued => "requeued: the driver gave it back",
            Self::Queue => "held in the queue of the device",
            Self::Scheduler => "held by the I/O scheduler",
            Self::Plug => "held in the plug of its thread",
            Self::NoRequest => "waited for a free request (all in use, or throttled)",
            Self::AllInUse => "waited for a free request: all of the device were in use",
            Self::WritebackThrottling => "held back by writeback throttling (wbt): requests were free",
            Self::CgroupLimit => "held back by a limit of its cgroup (io.max)",
            Self::DirtyThrottling => "throttled: too many dirty pages (balance_dirty_pages)",
            Self::Fua => "the device wrote through its cache (FUA)",
            Self::Softirq => "completed in a softirq after the interrupt",
            Self::CompletionWait => "its completion waited for a CPU (thread of the interrupt, or ksoftirqd)",
            Self::WakeUp => "runnable without a CPU",
            Self::Reclaim => "reclaimed memory in the call",
            Self::Merged => "merged with another request",
            Self::Split => "split by the kernel",
        }
    }
}

/// Where the time of one request went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageRequest {
    pub thread: u32,
    pub due_ns: i64,
    pub latency_ns: i64,
    /// In the order of [`StoragePhase::ALL`], without those of 0 ns.
    pub phases: Vec<(StoragePhase, i64)>,
    /// Each with its time, where it has one; the longest first.
    pub causes: Vec<(StorageCause, Option<i64>)>,
}

impl StorageRequest {
    pub fn ns(&self, phase: StoragePhase) -> i64 {
        self.phases.iter().find(|(name, _)| *name == phase).map_or(0, |(_, ns)| *ns)
    }

    /// Whether the trace shows its whole way.
    pub fn is_split(&self) -> bool {
        self.ns(StoragePhase::NotSplit) == 0
    }
}

/// One phase of all requests that were split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoragePhaseFigures {
    pub phase: StoragePhase,
    pub median_ns: i64,
    pub p99_ns: i64,
    pub max_ns: i64,
    pub sum_ns: i64,
}

/// The requests of fio in whose place their bios are divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FioRequests {
    /// In fio's logs.
    pub requests: u64,
    pub latency_ns_mean: i64,
    /// Of the mean, the part before the first bio and after its completion: the call, the wake-up, and fio itself. `None` where the
    /// numbers of requests and bios differ by more than 2 %.
    pub outside_ns_mean: Option<i64>,
}

/// Where the time of the requests of a run went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StorageAccount {
    pub device: StorageDevice,
    /// Where fio made the requests: `requests` are the bios of its threads, from the block layer to their completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fio: Option<FioRequests>,
    /// All samples, and those whose whole way the trace shows.
    pub requests: u64,
    pub split: u64,
    /// Phases that are not 0 in every request.
    pub phases: Vec<StoragePhaseFigures>,
    /// Of the whole time of the requests that were split, the part outside of the device, in thousandths.
    pub software_permille: Option<u32>,
    /// Median of the same of single requests.
    pub software_permille_median: Option<u32>,
    /// Parts of requests that the kernel merged, split and requeued, and flushes of the device.
    pub merged: u64,
    pub split_by_kernel: u64,
    pub requeued: u64,
    pub flushes: u64,
    /// Stretches in which events were lost.
    pub gaps: u64,
    /// Events at the end of the run that were not read, because there were more than an account reads.
    pub events_left_out: u64,
    /// The largest requests, largest first.
    pub worst: Vec<StorageRequest>,
}

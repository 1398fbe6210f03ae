//! An audit of another program's threads: what was requested, and what the recorded trace pages need to be read.
//!
//! The pages of each CPU are files of the archive, as the kernel recorded them; [`AuditDescription`] is a file beside
//! them with the layout of the events, the threads, and where their memory and their files are.

use crate::directory::{ArchiveDirectory, read_inside};
use crate::layout::FileKind;
use crate::layout::file_path;
use crate::policy::Policy;
use crate::recorded_pages::{PAGES_BYTES_MAX, Pieces, RecordedPages};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Version of [`AuditDescription`].
pub const DESCRIPTION_VERSION: u32 = 1;
/// Most bytes of a description that are read. Empty threads and mappings take 40 times as much memory.
pub const DESCRIPTION_BYTES_MAX: u64 = 8 << 20;

/// Bytes of a CPU's pages that are read at once. A machine may have hundreds of CPUs.
const PIECE_BYTES: usize = 64 << 10;

/// Record what the watched threads ask of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditSettings {
    /// Size of the ring buffer per CPU.
    pub buffer_kb_per_cpu: u32,
    /// Most bytes of pages that are sent in all. They are spread over the run: of a program that does more, every part of the
    /// run has some, and the rest is counted.
    pub budget_bytes: u64,
    /// First part of the recording, of which a reader needs little: the start of the program.
    #[serde(default)]
    pub settle_ns: u64,
    /// Record the user stack of each call and fault.
    pub stacks: bool,
    /// The program records its own calls in this memory, a file on the target; the trace leaves them out.
    #[serde(default)]
    pub interception: Option<String>,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self { buffer_kb_per_cpu: 8192, budget_bytes: PAGES_BYTES_MAX, settle_ns: 0, stacks: true, interception: None }
    }
}

/// A thread of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedThread {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
    /// The most urgent policy that it had; `None` if it ended before it could be read.
    pub policy: Option<Policy>,
    pub priority: u8,
    /// Slack that the kernel is allowed for its timers, in ns; 0 for a real-time thread.
    pub timer_slack_ns: Option<u64>,
    /// Page faults since its start, at the first and at the last look.
    pub faults_first: Option<u64>,
    pub faults_last: Option<u64>,
}

/// A stretch of a process's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mapping {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// Offset in the file of the first byte.
    pub offset: u64,
    /// `r-xp`, as /proc/PID/maps has it.
    pub rights: String,
    /// A file, `[heap]`, `[stack]`, or empty for other memory.
    pub name: String,
}

/// An open file of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenFile {
    pub number: i32,
    /// The target of its link in /proc/PID/fd: a path, `pipe:[1]`, `anon_inode:[timerfd]`.
    pub target: String,
}

/// A process, as every look together saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedProcess {
    pub pid: i32,
    pub program: String,
    /// A program with 32-bit addresses on a 64-bit machine, whose calls have numbers of their own: `i386` or `arm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Locked memory and memory in all at the last look, in KiB.
    pub locked_kb: u64,
    pub size_kb: u64,
    pub mappings: Vec<Mapping>,
    pub files: Vec<OpenFile>,
    /// Open files at the same time that are not listed, because there were more than an audit lists.
    pub files_left_out: u64,
    /// Mappings that are not listed, likewise.
    #[serde(skip_serializing_if = "is_zero")]
    pub mappings_left_out: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A thread of the kernel that handles an interrupt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptThread {
    pub tid: i32,
    pub name: String,
    pub priority: u8,
}

/// Why an instruction of an intercepted program keeps its system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnpatchedReason {
    FunctionUnknown,
    NoRoom,
    JumpedInto,
    JumpTable,
    NoStack,
    NoMemoryNear,
    Protected,
    NotDecoded,
}

/// An instruction that keeps its system call: calls from there are not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpatched {
    pub pid: i32,
    pub address: u64,
    pub reason: UnpatchedReason,
}

/// Why nothing of a process was patched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PatchRefusal {
    Threads,
    NoMemory,
    Architecture,
}

/// How calls of the C library were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LibraryCalls {
    /// Of every thread. Otherwise of real-time threads, and of the others a lock that they take, now and then.
    pub all_threads: bool,
    /// Functions that some process takes from elsewhere, as from an allocator in its own file: their calls are not seen.
    pub elsewhere: Vec<String>,
}

/// How the system calls of an intercepted program were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Interception {
    /// Processes that loaded the library.
    pub processes: u64,
    /// Instructions, in all processes.
    pub patched: u64,
    pub not_patched: u64,
    /// The first of those.
    pub unpatched: Vec<Unpatched>,
    pub refusal: Option<PatchRefusal>,
    /// Calls of the C library were recorded as well.
    #[serde(rename = "library", skip_serializing_if = "Option::is_none")]
    pub of_library: Option<LibraryCalls>,
    /// Calls that the program could not record, and those over the budget.
    pub lost: u64,
}

/// Everything that the pages of an audit need to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditDescription {
    pub description_version: u32,
    /// `x86_64`, as uname(2) has it.
    pub machine: String,
    /// CLOCK_MONOTONIC of the target, in ns.
    pub started_ns: i64,
    pub ended_ns: i64,
    /// Each event is followed by the user stack.
    pub stacks: bool,
    #[serde(flatten)]
    pub recorded: RecordedPages,
    /// The calls are in `audit/calls.bin` and not in the pages.
    pub interception: Option<Interception>,
    /// Cost of recording a call with trace events for the program, in ns, measured on the target after the audit.
    pub cost_ns_per_call: Option<u64>,
    pub threads: Vec<AuditedThread>,
    /// Threads that ran at the same time and are not listed, at least: there were more than an audit lists.
    #[serde(skip_serializing_if = "is_zero")]
    pub threads_left_out: u64,
    pub processes: Vec<AuditedProcess>,
    /// Processes, likewise.
    #[serde(skip_serializing_if = "is_zero")]
    pub processes_left_out: u64,
    pub interrupt_threads: Vec<InterruptThread>,
}

/// The description in an archive.
///
/// # Errors
/// If the archive holds no audit, or it cannot be read.
pub fn description(archive: &Path) -> io::Result<AuditDescription> {
    let bytes = read_inside(archive, file_path(FileKind::AuditDescription), DESCRIPTION_BYTES_MAX)?;
    serde_json::from_slice(&bytes).map_err(io::Error::from)
}

/// The calls that an intercepted program recorded, in pieces; none if the kernel recorded them.
///
/// # Errors
/// If they cannot be opened, or are more than [`PAGES_BYTES_MAX`].
pub fn calls(archive: &Path, description: &AuditDescription, piece_bytes: usize) -> io::Result<Option<Pieces>> {
    if description.interception.is_none() {
        return Ok(None);
    }
    let mut left = PAGES_BYTES_MAX;
    match Pieces::open(&ArchiveDirectory::open(archive)?, &file_path(FileKind::AuditCalls), piece_bytes, &mut left) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// The pages of each CPU of a description, as the kernel recorded them, in pieces.
///
/// # Errors
/// If they cannot be opened, or are more than [`PAGES_BYTES_MAX`] together.
pub fn pages(archive: &Path, description: &AuditDescription) -> io::Result<Vec<(u32, Pieces)>> {
    description.recorded.open(&ArchiveDirectory::open(archive)?, PIECE_BYTES, |cpu| FileKind::AuditPages { cpu })
}

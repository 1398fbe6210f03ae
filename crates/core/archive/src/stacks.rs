//! Stacks of a watched thread around a spike: the file in which the meter sends them, and the stacks with names of functions.
//!
//! The file is `STACKS_MAGIC`, the length of the description as `u32`, the description as JSON, and the kernel's perf records: samples and
//! switches of the thread, and behind them one record for each time that it gave up the CPU.

use crate::own_code::CodeName;
use serde::{Deserialize, Serialize};

/// The first bytes of the file; the last one is its version.
pub const STACKS_MAGIC: [u8; 8] = *b"TDYSTCK\x01";
/// A larger file is neither sent nor read: a ring of the kernel, and the description of its process.
pub const STACKS_BYTES_MAX: u64 = 16 << 20;

/// A description with more mappings or generated functions is not read; the meter sends no more.
pub const ENTRIES_MAX: usize = 4096;

/// The data that the records need to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StackDescription {
    pub pid: i32,
    pub tid: i32,
    /// The processor as uname(2) calls it: `x86_64`, `aarch64`.
    pub machine: String,
    /// Time on the CPU between two samples of the thread, in ns.
    pub period_ns: u64,
    /// Executable mappings of the process, by address.
    pub mappings: Vec<CodeMapping>,
    /// Code that the program generated at run time, of those stretches that occur in the records.
    pub generated: Vec<GeneratedCode>,
    /// The kernel's functions that occur in the records, by address; empty if it hides them.
    pub kernel: Vec<KernelFunction>,
    /// Bytes of the records up to the first one of a switch with its stack; `None` if there are none of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_bytes: Option<u64>,
}

/// A function of the kernel, from /proc/kallsyms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelFunction {
    pub start: u64,
    pub name: String,
}

/// An executable part of the memory of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeMapping {
    pub start: u64,
    pub end: u64,
    /// Of `start` in the file.
    pub offset: u64,
    /// As in /proc/PID/maps: a file, `[vdso]`, or nothing for memory without a file.
    pub path: String,
    /// Hexadecimal; `None` if the file has none or could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Size of the file; 0 if it is not known.
    pub file_bytes: u64,
}

/// A stretch of generated code, as its program lists it in `/tmp/perf-PID.map`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratedCode {
    pub start: u64,
    pub bytes: u64,
    pub name: String,
}

/// The bytes of a file.
pub fn encode(description: &StackDescription, records: &[u8]) -> Vec<u8> {
    let text = serde_json::to_vec(description).expect("a description has only string keys");
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&STACKS_MAGIC[..], &length, &text, records].concat()
}

/// Description and records of a file; `None` if it is not one of this version.
pub fn decode(file: &[u8]) -> Option<(StackDescription, &[u8])> {
    let rest = file.strip_prefix(&STACKS_MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (text, records) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let description: StackDescription = serde_json::from_slice(text).ok()?;
    let counts = [description.mappings.len(), description.generated.len(), description.kernel.len()];
    let fits = counts.into_iter().all(|count| count <= ENTRIES_MAX);
    fits.then_some((description, records))
}

/// The samples of one thread with the names of their functions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedStacks {
    /// Time on the CPU between two samples, in ns.
    pub period_ns: i64,
    pub names: Vec<CodeName>,
    /// In order of time.
    pub samples: Vec<StackSample>,
    /// In order of time.
    pub switches: Vec<ThreadSwitch>,
    /// The stacks with which the thread gave up the CPU, in order of time.
    pub departures: Vec<StackSample>,
}

/// One sample of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackSample {
    pub ts_ns: i64,
    /// Numbers in `names`, innermost first; never empty.
    pub frames: Vec<u32>,
    /// The outermost frame is the beginning of the thread.
    pub is_complete: bool,
}

/// The thread got the CPU or gave it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSwitch {
    pub ts_ns: i64,
    pub kind: SwitchKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchKind {
    In,
    /// It was still runnable.
    Preempted,
    Slept,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_more_mappings_than_the_meter_sends_is_refused() {
        let of = |count| StackDescription { mappings: vec![CodeMapping::default(); count], ..Default::default() };
        assert!(decode(&encode(&of(ENTRIES_MAX), b"")).is_some());
        assert!(decode(&encode(&of(ENTRIES_MAX + 1), b"")).is_none());
    }

    #[test]
    fn a_file_holds_description_and_records_and_a_cut_one_is_none() {
        let mapping =
            CodeMapping { start: 1 << 47, end: (1 << 47) + 4096, path: "/bin/a".into(), ..Default::default() };
        let description = StackDescription { tid: 7, mappings: vec![mapping], ..Default::default() };
        let file = encode(&description, b"records");
        assert_eq!(decode(&file), Some((description, &b"records"[..])));
        for cut in 0..file.len() - 7 {
            assert_eq!(decode(&file[..cut]), None, "{cut}");
        }
    }
}

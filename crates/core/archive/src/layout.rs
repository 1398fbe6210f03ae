//! Names and largest sizes of the files in an archive.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub const MANIFEST: &str = "manifest.json";
pub const STREAM: &str = "stream.tardy";

/// Larger files are neither written nor read. Real ones have a hundredth of these sizes.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;
pub const TRACE_BYTES_MAX: u64 = 2 << 30;
pub const FLIGHT_BYTES_MAX: u64 = 256 << 20;
pub const TRACER_BYTES_MAX: u64 = 256 << 20;
/// Four months at 1 kHz.
pub const SAMPLES_BYTES_MAX: u64 = 160 << 30;

/// The file of the archive to which chunks belong. A target never names a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FileKind {
    /// `spikes/<number>/trace.dat`
    SpikeTrace { spike: u32 },
    /// `spikes/<number>/flight.bin`: what ran in virtual time, recorded outside the machine.
    FlightRecord { spike: u32 },
    /// `spikes/<number>/stacks.bin`: stacks of the late thread, of a watch alone.
    SpikeStacks { spike: u32 },
    /// `samples/<thread>.bin`: due instant and latency of every sample of a thread, two little-endian `i64` in ns.
    Samples { thread: u32 },
    /// `tracer/<number>.txt`: the output of a kernel latency tracer.
    LatencyTrace { number: u32 },
    /// `audit/<cpu>.pages`: what the threads of an audited program asked of the kernel, as sub-buffers of the kernel.
    AuditPages { cpu: u32 },
    /// `audit/calls.bin`: system calls that a program recorded itself, 128 bytes each.
    AuditCalls,
    /// `audit/description.json`: what the pages need to be read.
    AuditDescription,
    /// `storage/<cpu>.pages`: the way of block requests, as sub-buffers of the kernel.
    StoragePages { cpu: u32 },
    /// `storage/description.json`: what the pages need to be read.
    StorageDescription,
    /// `storage/fio.json`: what fio reported of its jobs.
    FioResult,
}

impl FileKind {
    /// The spike to which the file belongs, and with which it is dropped.
    pub fn spike(self) -> Option<u32> {
        match self {
            Self::SpikeTrace { spike } | Self::FlightRecord { spike } | Self::SpikeStacks { spike } => Some(spike),
            _ => None,
        }
    }
}

/// Path of a file inside an archive.
pub fn file_path(kind: FileKind) -> PathBuf {
    match kind {
        FileKind::SpikeTrace { spike } => PathBuf::from(format!("spikes/{spike:04}/trace.dat")),
        FileKind::FlightRecord { spike } => PathBuf::from(format!("spikes/{spike:04}/flight.bin")),
        FileKind::SpikeStacks { spike } => PathBuf::from(format!("spikes/{spike:04}/stacks.bin")),
        FileKind::Samples { thread } => PathBuf::from(format!("samples/{thread}.bin")),
        FileKind::LatencyTrace { number } => PathBuf::from(format!("tracer/{number:04}.txt")),
        FileKind::AuditPages { cpu } => PathBuf::from(format!("audit/{cpu}.pages")),
        FileKind::AuditCalls => PathBuf::from("audit/calls.bin"),
        FileKind::AuditDescription => PathBuf::from("audit/description.json"),
        FileKind::StoragePages { cpu } => PathBuf::from(format!("storage/{cpu}.pages")),
        FileKind::StorageDescription => PathBuf::from("storage/description.json"),
        FileKind::FioResult => PathBuf::from("storage/fio.json"),
    }
}

/// The file that a path inside an archive names; `None` if it is not one that a target sends.
pub fn file_kind(path: &str) -> Option<FileKind> {
    let parts: Vec<&str> = path.split('/').collect();
    let numbered = |name: &str, extension: &str| name.strip_suffix(extension)?.parse::<u32>().ok();
    let kind = match parts.as_slice() {
        ["spikes", spike, "trace.dat"] => FileKind::SpikeTrace { spike: spike.parse().ok()? },
        ["spikes", spike, "flight.bin"] => FileKind::FlightRecord { spike: spike.parse().ok()? },
        ["spikes", spike, "stacks.bin"] => FileKind::SpikeStacks { spike: spike.parse().ok()? },
        ["samples", name] => FileKind::Samples { thread: numbered(name, ".bin")? },
        ["tracer", name] => FileKind::LatencyTrace { number: numbered(name, ".txt")? },
        ["audit", "calls.bin"] => FileKind::AuditCalls,
        ["audit", "description.json"] => FileKind::AuditDescription,
        ["audit", name] => FileKind::AuditPages { cpu: numbered(name, ".pages")? },
        ["storage", "description.json"] => FileKind::StorageDescription,
        ["storage", "fio.json"] => FileKind::FioResult,
        ["storage", name] => FileKind::StoragePages { cpu: numbered(name, ".pages")? },
        _ => return None,
    };
    // One path for each file: `spikes/1` and `spikes/0001` are not the same.
    (file_path(kind).to_str() == Some(path)).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_file_that_has_it() {
        let kinds = [
            FileKind::SpikeTrace { spike: 7 },
            FileKind::SpikeTrace { spike: 12_345 },
            FileKind::FlightRecord { spike: 3 },
            FileKind::SpikeStacks { spike: 7 },
            FileKind::Samples { thread: 511 },
            FileKind::LatencyTrace { number: 1 },
            FileKind::AuditPages { cpu: 0 },
            FileKind::AuditCalls,
            FileKind::AuditDescription,
            FileKind::StoragePages { cpu: 5 },
            FileKind::StorageDescription,
            FileKind::FioResult,
        ];
        for kind in kinds {
            assert_eq!(file_kind(file_path(kind).to_str().unwrap()), Some(kind));
        }
        let others = ["manifest.json", "spikes/1/trace.dat", "samples/+1.bin", "samples/1.bin/x", "audit/x.pages", ""];
        assert!(others.iter().all(|path| file_kind(path).is_none()));
    }
}

//! Names and largest sizes of the files in an archive.

use crate::message::FileKind;
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

/// Path of a file inside an archive.
pub fn file_path(kind: FileKind) -> PathBuf {
    match kind {
        FileKind::SpikeTrace { spike } => PathBuf::from(format!("spikes/{spike:04}/trace.dat")),
        FileKind::FlightRecord { spike } => PathBuf::from(format!("spikes/{spike:04}/flight.bin")),
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

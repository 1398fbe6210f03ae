//! Recognises a file by its contents alone, and unpacks it.

mod gzip;
mod zstd;

use crate::problem::{Foreign, Refusal};
use crate::records::Pages;
use crate::{perf, perfetto, text};
use ftrace::trace_dat::{PagedTrace, Source};
use gzip::Gzip;
use std::borrow::Cow;
use std::io::{BufRead, Read};
use zstd::Zstd;

/// In which a binary file shows that it is one.
const HEAD_BYTES: usize = 4096;
const TRACE_DAT: &[u8] = b"\x17\x08\x44tracing";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const XZ: &[u8] = b"\xfd7zXZ\0";
/// A larger dictionary than `xz -9` needs is hostile.
const XZ_MEMORY_KB: u32 = 80 << 10;
/// Beginnings of files of other kinds.
const FOREIGN: [(&[u8], Foreign); 7] = [
    (b"BZh", Foreign::Bzip2),
    // A stream of either byte order, and the description beside the streams.
    (b"\xc1\x1f\xfc\xc1", Foreign::CommonTraceFormat),
    (b"\xc1\xfc\x1f\xc1", Foreign::CommonTraceFormat),
    (b"\x57\x1d\xd1\x75", Foreign::CommonTraceFormat),
    (b"\x75\xd1\x1d\x57", Foreign::CommonTraceFormat),
    (b"/* CTF ", Foreign::CommonTraceFormat),
    (b"\x7fELF", Foreign::Program),
];
/// Real traces pack to a twentieth of their size.
const UNPACKED_PER_BYTE_MAX: usize = 40;
const UNPACKED_BYTES_MAX: usize = 1 << 30;
const DISK_BYTES_MAX: u64 = 8 << 30;

/// How a recording was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// The tool that wrote the file.
    pub tool: &'static str,
    pub format: &'static str,
    /// Times are multiples of this.
    pub resolution_ns: u64,
    /// Lines that cannot be read although their event is known.
    pub unreadable: u64,
}

impl Making {
    const TRACE_DAT: Self = Self::of("trace-cmd", "trace.dat");
    /// Of memory that a reset keeps.
    pub const KEPT: Self = Self::of("tardy guard", "pages of the kernel");

    const fn of(tool: &'static str, format: &'static str) -> Self {
        Self { tool, format, resolution_ns: 1, unreadable: 0 }
    }
}

/// A recording.
#[derive(Debug)]
pub struct Recording<'a> {
    trace: Trace<'a>,
    pub making: Making,
}

/// The events of a recording.
#[derive(Debug)]
enum Trace<'a> {
    /// A trace.dat.
    File(Cow<'a, [u8]>),
    Pages(Box<Pages>),
}

impl Recording<'_> {
    /// Opens the trace. Pages that are in no file are in the first one that was opened.
    pub fn open(&mut self) -> PagedTrace<'_> {
        match &mut self.trace {
            Trace::File(bytes) => PagedTrace::open(&**bytes),
            Trace::Pages(held) => {
                let pages = std::mem::take(&mut held.pages);
                PagedTrace::of_pages(held.metadata.clone(), pages)
            }
        }
    }
}

/// How a file was made that is a trace.dat without compression around it, which need not be in memory.
pub fn is_trace_dat(file: Source<'_>) -> Option<Making> {
    let (head, _) = file.range(0, TRACE_DAT.len() as u64);
    head.starts_with(TRACE_DAT).then_some(Making::TRACE_DAT)
}

/// Contents of a file.
#[derive(Debug)]
pub enum Contents<'a> {
    Events(Recording<'a>),
    /// The text of a latency tracer.
    Stretch(String),
}

/// Reads a file, packed or not. `clock`: the clock of a text, empty if unknown.
///
/// # Errors
/// [`Refusal`] for a file that is none of the formats that are read.
pub fn contents<'a>(bytes: &'a [u8], clock: &str) -> Result<Contents<'a>, Refusal> {
    let plain = unpacked(bytes)?;
    if plain.starts_with(TRACE_DAT) {
        return Ok(Contents::Events(Recording { trace: Trace::File(plain), making: Making::TRACE_DAT }));
    }
    if perf::convert::is_one(&plain) {
        let trace = Trace::Pages(Box::new(perf::convert::convert(&plain, unpacked_max(&plain))?));
        return Ok(Contents::Events(Recording { trace, making: Making::of("perf", "perf.data") }));
    }
    // A binary file has a zero near its beginning.
    let is_text = !plain.is_empty() && !plain.iter().take(HEAD_BYTES).any(|byte| *byte == 0);
    let text = is_text.then(|| String::from_utf8_lossy(&plain));
    if let Some(stretch) = text.as_deref().and_then(text::stretch::stretch_in) {
        return Ok(Contents::Stretch(stretch));
    }
    if text.as_deref().is_some_and(text::is_of_an_empty_buffer) {
        return Err(Refusal::NoEvents);
    }
    let Some(text) = text.filter(|text| text::is_one(text)) else { return of_messages(&plain) };
    let converted = text::convert::convert(&text, clock)?;
    let making = Making {
        resolution_ns: converted.resolution_ns,
        unreadable: converted.unreadable,
        ..Making::of(if converted.is_perf { "perf" } else { "ftrace" }, "text of events")
    };
    Ok(Contents::Events(Recording { trace: Trace::Pages(Box::new(converted.trace)), making }))
}

/// A Perfetto trace, which no magic number marks.
fn of_messages<'a>(plain: &[u8]) -> Result<Contents<'a>, Refusal> {
    if !perfetto::convert::is_one(plain) {
        return Err(Refusal::Foreign(foreign(plain)));
    }
    let converted = perfetto::convert::convert(plain, unpacked_max(plain))?;
    let making = Making { unreadable: converted.unreadable, ..Making::of("Perfetto", "Perfetto trace") };
    Ok(Contents::Events(Recording { trace: Trace::Pages(Box::new(converted.trace)), making }))
}

/// The bytes of a file without the compression around them.
///
/// # Errors
/// [`Refusal::Broken`] and [`Refusal::TooLarge`].
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    let Some(packing) = Packing::of(bytes) else { return Ok(Cow::Borrowed(bytes)) };
    let bytes_max = unpacked_max(bytes);
    let mut plain = Vec::new();
    let read = packing.reader(bytes).take(bytes_max as u64 + 1).read_to_end(&mut plain);
    read.map_err(|_| packing.broken())?;
    match plain.len() > bytes_max {
        true => Err(Refusal::TooLarge { bytes_max: bytes_max as u64 }),
        false => Ok(Cow::Owned(plain)),
    }
}

/// A compression around a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstd,
    Xz,
}

impl Packing {
    /// By the first bytes of a file; `None` if it is not packed.
    pub fn of(head: &[u8]) -> Option<Self> {
        let known = [(GZIP, Self::Gzip), (ZSTD, Self::Zstd), (XZ, Self::Xz)];
        known.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, packing)| packing)
    }

    /// Unpacks as it is read.
    pub fn reader<'r>(self, packed: impl BufRead + 'r) -> Box<dyn Read + 'r> {
        match self {
            Self::Gzip => Box::new(Gzip::new(packed)),
            Self::Zstd => Box::new(Zstd::Packed(packed)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, XZ_MEMORY_KB)),
        }
    }

    pub fn broken(self) -> Refusal {
        let compression = match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
        };
        Refusal::Broken { compression }
    }
}

/// Most bytes that a packed trace.dat on the disk may unpack to.
pub fn unpacked_bytes_max(packed_bytes: u64) -> u64 {
    packed_bytes.saturating_mul(UNPACKED_PER_BYTE_MAX as u64).saturating_add(64 << 20).min(DISK_BYTES_MAX)
}

fn unpacked_max(packed: &[u8]) -> usize {
    packed.len().saturating_mul(UNPACKED_PER_BYTE_MAX).saturating_add(16 << 20).min(UNPACKED_BYTES_MAX)
}

fn foreign(bytes: &[u8]) -> Foreign {
    if bytes.is_empty() {
        return Foreign::Empty;
    }
    let known = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, foreign)| *foreign);
    known.unwrap_or(Foreign::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_perfetto_without_events_are_named() {
        let clock = b"\x0a\x04\x50\x01\x18\x02\x0a\x01";
        assert_eq!(contents(clock, "").err(), Some(Refusal::NoFtraceEvents));
        let broken = b"\x0a\x04\x57\x01\x18\x02\x0a\x01";
        assert_eq!(contents(broken, "").err(), Some(Refusal::Foreign(Foreign::Unknown)));
    }

    #[test]
    fn a_file_is_named_for_what_it_is() {
        for (bytes, foreign) in [
            (&b""[..], Foreign::Empty),
            (b"\xc1\x1f\xfc\xc1", Foreign::CommonTraceFormat),
            (b"\x57\x1d\xd1\x75\0\0", Foreign::CommonTraceFormat),
            (b"/* CTF 1.8 */\n", Foreign::CommonTraceFormat),
            (b"hello", Foreign::Unknown),
        ] {
            assert_eq!(contents(bytes, "").err(), Some(Refusal::Foreign(foreign)), "{bytes:?}");
        }
    }

    #[test]
    fn the_text_of_a_trace_buffer_without_events_is_known() {
        let empty = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n";
        assert_eq!(contents(empty.as_bytes(), "mono").err(), Some(Refusal::NoEvents));
        let foreign = format!("{empty}hello\n");
        assert_eq!(contents(foreign.as_bytes(), "mono").err(), Some(Refusal::Foreign(Foreign::Unknown)));
    }

    /// `a trace`, packed by xz.
    const PACKED: &[u8] =
        b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x16\0\0\0t/\xe5\xa3\x01\0\x06a trace\0\0\x18\x80L5*\xc8\
        8\xc6\0\x01\x1f\x07\x16.\xb8s\x1f\xb6\xf3}\x01\0\0\0\0\x04YZ";

    #[test]
    fn xz_is_unpacked_and_damage_is_named() {
        assert_eq!(unpacked(PACKED).as_deref(), Ok(&b"a trace"[..]));
        for cut in [6, 20, PACKED.len() - 1] {
            assert_eq!(unpacked(&PACKED[..cut]), Err(Refusal::Broken { compression: "xz" }), "{cut}");
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let zeros = vec![0; 200 << 20];
        let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
        packed.extend(miniz_oxide::deflate::compress_to_vec(&zeros, 1));
        packed.extend([0; 8]);
        assert!(matches!(contents(&packed, ""), Err(Refusal::TooLarge { .. })));
    }
}

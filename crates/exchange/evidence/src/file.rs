//! Recognises a file by its contents alone, and unpacks it.

mod gzip;

use crate::problem::{Foreign, Refusal};
use crate::{perf, perfetto, text};
use std::borrow::Cow;
use std::io::Read;

/// In which a binary file shows that it is one.
const HEAD_BYTES: usize = 4096;
const TRACE_DAT: &[u8] = b"\x17\x08\x44tracing";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const XZ: &[u8] = b"\xfd7zXZ\0";
/// A larger dictionary than `xz -9` needs is hostile.
const XZ_MEMORY_KB: u32 = 80 << 10;
/// Beginnings of files of other kinds.
const FOREIGN: [(&[u8], Foreign); 4] = [
    (b"BZh", Foreign::Bzip2),
    (b"\xc1\x1f\xfc\xc1", Foreign::CommonTraceFormat),
    (b"\xc1\xfc\x1f\xc1", Foreign::CommonTraceFormat),
    (b"\x7fELF", Foreign::Program),
];
/// Real traces pack to a twentieth of their size.
const UNPACKED_PER_BYTE_MAX: usize = 64;
const UNPACKED_BYTES_MAX: usize = 1 << 30;

/// A recording as a trace.dat.
#[derive(Debug, PartialEq, Eq)]
pub struct Recording<'a> {
    pub trace: Cow<'a, [u8]>,
    /// The tool that wrote the file.
    pub tool: &'static str,
    pub format: &'static str,
    /// Times are multiples of this.
    pub resolution_ns: u64,
    /// Lines that cannot be read although their event is known.
    pub unreadable: u64,
}

/// Contents of a file.
#[derive(Debug, PartialEq, Eq)]
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
        let (tool, format) = ("trace-cmd", "trace.dat");
        return Ok(Contents::Events(Recording { trace: plain, tool, format, resolution_ns: 1, unreadable: 0 }));
    }
    if perf::convert::is_one(&plain) {
        let (trace, format) = (Cow::Owned(perf::convert::convert(&plain, unpacked_max(&plain))?), "perf.data");
        return Ok(Contents::Events(Recording { trace, tool: "perf", format, resolution_ns: 1, unreadable: 0 }));
    }
    // A binary file has a zero near its beginning.
    let is_text = !plain.is_empty() && !plain.iter().take(HEAD_BYTES).any(|byte| *byte == 0);
    let text = is_text.then(|| String::from_utf8_lossy(&plain));
    if let Some(stretch) = text.as_deref().and_then(text::stretch::stretch_in) {
        return Ok(Contents::Stretch(stretch));
    }
    let Some(text) = text.filter(|text| text::is_one(text)) else { return of_messages(&plain) };
    let converted = text::convert::convert(&text, clock)?;
    Ok(Contents::Events(Recording {
        trace: Cow::Owned(converted.trace),
        tool: if converted.is_perf { "perf" } else { "ftrace" },
        format: "text of events",
        resolution_ns: converted.resolution_ns,
        unreadable: converted.unreadable,
    }))
}

/// A Perfetto trace, which no magic number marks.
fn of_messages<'a>(plain: &[u8]) -> Result<Contents<'a>, Refusal> {
    if !perfetto::convert::is_one(plain) {
        return Err(Refusal::Foreign(foreign(plain)));
    }
    let converted = perfetto::convert::convert(plain, unpacked_max(plain))?;
    Ok(Contents::Events(Recording {
        trace: Cow::Owned(converted.trace),
        tool: "Perfetto",
        format: "Perfetto trace",
        resolution_ns: 1,
        unreadable: converted.unreadable,
    }))
}

/// The bytes of a file without the compression around them.
///
/// # Errors
/// [`Refusal::Broken`] and [`Refusal::TooLarge`].
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    let bytes_max = unpacked_max(bytes);
    if bytes.starts_with(GZIP) {
        return gzip::unpacked(bytes, bytes_max).map(Cow::Owned);
    }
    if bytes.starts_with(ZSTD) {
        let broken = |_| Refusal::Broken { compression: "zstd" };
        let decoder = ruzstd::decoding::StreamingDecoder::new(bytes).map_err(broken)?;
        return decoded(decoder, "zstd", bytes_max).map(Cow::Owned);
    }
    if bytes.starts_with(XZ) {
        let decoder = lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_MEMORY_KB);
        return decoded(decoder, "xz", bytes_max).map(Cow::Owned);
    }
    Ok(Cow::Borrowed(bytes))
}

fn unpacked_max(packed: &[u8]) -> usize {
    packed.len().saturating_mul(UNPACKED_PER_BYTE_MAX).saturating_add(16 << 20).min(UNPACKED_BYTES_MAX)
}

fn decoded(decoder: impl Read, compression: &'static str, bytes_max: usize) -> Result<Vec<u8>, Refusal> {
    let mut plain = Vec::new();
    let read = decoder.take(bytes_max as u64 + 1).read_to_end(&mut plain);
    read.map_err(|_| Refusal::Broken { compression })?;
    if plain.len() > bytes_max { Err(Refusal::TooLarge { bytes_max: bytes_max as u64 }) } else { Ok(plain) }
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
        assert_eq!(contents(clock, ""), Err(Refusal::NoFtraceEvents));
        let broken = b"\x0a\x04\x57\x01\x18\x02\x0a\x01";
        assert_eq!(contents(broken, ""), Err(Refusal::Foreign(Foreign::Unknown)));
    }

    #[test]
    fn a_file_is_named_for_what_it_is() {
        for (bytes, foreign) in [
            (&b""[..], Foreign::Empty),
            (b"\xc1\x1f\xfc\xc1", Foreign::CommonTraceFormat),
            (b"hello", Foreign::Unknown),
        ] {
            assert_eq!(contents(bytes, ""), Err(Refusal::Foreign(foreign)), "{bytes:?}");
        }
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

//! Compressed sections and chunks of pages: `u32` compressed size, `u32` size, data.

use super::Gap;
use super::bytes::Bytes;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace_dat) enum Compression {
    Zstd,
    Zlib,
    /// `none`, or one unknown to this build.
    Other(String),
}

impl Compression {
    pub fn named(name: &str) -> Compression {
        match name {
            "zstd" if cfg!(feature = "zstd") => Compression::Zstd,
            "zlib" if cfg!(feature = "zlib") => Compression::Zlib,
            other => Compression::Other(other.to_owned()),
        }
    }

    /// Decompresses the chunk at the position of `bytes` and moves the position after it, unless its declared size
    /// exceeds `size_max`; the result is never longer than declared.
    pub fn chunk(&self, bytes: &mut Bytes<'_>, size_max: u64) -> Result<Vec<u8>, &'static str> {
        let (Some(compressed), Some(size)) = (bytes.u32(), bytes.u32()) else { return Err(ENDS_EARLY) };
        let data = bytes.take(u64::from(compressed)).ok_or(ENDS_EARLY)?;
        if u64::from(size) > size_max {
            return Err("more data than a file of this size can hold");
        }
        match self {
            Compression::Zstd => zstd(&data, size as usize),
            Compression::Zlib => zlib(&data, size as usize),
            Compression::Other(_) => Err("compressed in a way this build does not know"),
        }
    }

    pub fn gap(&self, part: String, why: &'static str) -> Gap {
        match self {
            Compression::Other(name) => Gap::Unsupported { what: format!("{part}: compression {name:?}") },
            _ if why == ENDS_EARLY => Gap::missing(part, 1),
            _ => Gap::Corrupt { part, why },
        }
    }
}

pub(super) const ENDS_EARLY: &str = "the compressed bytes end early";

#[cfg(feature = "zstd")]
fn zstd(data: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    use std::io::Read as _;
    let decoder = ruzstd::decoding::StreamingDecoder::new(data).map_err(|_| "broken zstd data")?;
    let mut plain = Vec::new();
    decoder.take(size as u64).read_to_end(&mut plain).map_err(|_| "broken zstd data")?;
    Ok(plain)
}

#[cfg(not(feature = "zstd"))]
fn zstd(_: &[u8], _: usize) -> Result<Vec<u8>, &'static str> {
    Err("built without zstd")
}

#[cfg(feature = "zlib")]
fn zlib(data: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, size).map_err(|_| "broken zlib data")
}

#[cfg(not(feature = "zlib"))]
fn zlib(_: &[u8], _: usize) -> Result<Vec<u8>, &'static str> {
    Err("built without zlib")
}

//! Any bytes as the stream of an archive, and sound headers with changed fields: what is read has names inside of an archive
//! and no more bytes than the limit.
#![no_main]

use archive::packed::{PackedFile, PackedLimits, PackedReader, PackedWriter};
use libfuzzer_sys::{arbitrary, fuzz_target};
use std::path::{Component, Path};
use tardy_fuzz::within_budget;

const LIMITS: PackedLimits = PackedLimits { files_max: 100, bytes_max: 1 << 20 };
const BLOCK: usize = 512;

#[derive(Debug, arbitrary::Arbitrary)]
enum Part {
    File {
        name: String,
        contents: Vec<u8>,
    },
    /// A header with changed bytes, whose checksum is right.
    Changed {
        name: String,
        contents: Vec<u8>,
        changes: Vec<(u16, u8)>,
    },
    Bytes(Vec<u8>),
    Zeros(u8),
}

fn file(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut writer = PackedWriter::new(Vec::new());
    let declared = PackedFile { name: name.to_owned(), bytes: contents.len() as u64 };
    if writer.file(&declared, contents).is_err() {
        return Vec::new();
    }
    let mut stream = writer.end().expect("memory takes it");
    stream.truncate(stream.len() - 2 * BLOCK);
    stream
}

fn changed(mut stream: Vec<u8>, changes: &[(u16, u8)]) -> Vec<u8> {
    if stream.is_empty() {
        return stream;
    }
    for (at, byte) in changes {
        stream[usize::from(*at) % BLOCK] = *byte;
    }
    stream[148..156].fill(b' ');
    let sum: u32 = stream[..BLOCK].iter().map(|byte| u32::from(*byte)).sum();
    stream[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    stream
}

fn bytes(part: Part) -> Vec<u8> {
    match part {
        Part::File { name, contents } => file(&name, &contents),
        Part::Changed { name, contents, changes } => changed(file(&name, &contents), &changes),
        Part::Bytes(bytes) => bytes,
        Part::Zeros(blocks) => vec![0; usize::from(blocks) * BLOCK],
    }
}

fuzz_target!(|parts: Vec<Part>| {
    let stream: Vec<u8> = parts.into_iter().flat_map(bytes).collect();
    within_budget(stream.len(), || {
        let mut reader = PackedReader::new(stream.as_slice(), LIMITS);
        let (mut read, mut before, mut buffer) = (0, String::new(), [0; 1000]);
        while let Ok(Some(file)) = reader.next_file() {
            let inside = Path::new(&file.name).components().all(|part| matches!(part, Component::Normal(_)));
            assert!(inside && !file.name.chars().any(char::is_control) && file.name > before, "{:?}", file.name);
            before = file.name;
            while let Ok(count @ 1..) = reader.read_piece(&mut buffer) {
                read += count as u64;
            }
        }
        assert!(read <= LIMITS.bytes_max);
    });
});

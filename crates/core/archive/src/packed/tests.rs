//! Tests of streams: whole, cut, changed, hostile.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;

const LIMITS: PackedLimits = PackedLimits { files_max: 20, bytes_max: 1 << 20 };

type Files = BTreeMap<String, Vec<u8>>;

fn packed(files: &Files) -> Vec<u8> {
    let mut writer = PackedWriter::new(Vec::new());
    for (name, contents) in files {
        let file = PackedFile { name: name.clone(), bytes: contents.len() as u64 };
        writer.file(&file, contents.as_slice()).unwrap();
    }
    writer.end().unwrap()
}

/// Gives one byte at a time.
struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(1);
        self.0.read(&mut into[..count])
    }
}

fn unpacked(source: impl Read, limits: PackedLimits) -> Result<Files, PackedError> {
    let mut reader = PackedReader::new(source, limits);
    let mut files = Files::new();
    while let Some(file) = reader.next_file()? {
        let (mut contents, mut buffer) = (Vec::new(), [0; 700]);
        loop {
            match reader.read_piece(&mut buffer)? {
                0 => break,
                count => contents.extend_from_slice(&buffer[..count]),
            }
        }
        assert_eq!(contents.len() as u64, file.bytes);
        files.insert(file.name, contents);
    }
    Ok(files)
}

fn of(files: &[(&str, &[u8])]) -> Files {
    files.iter().map(|(name, contents)| ((*name).to_owned(), contents.to_vec())).collect()
}

fn refused(bytes: &[u8]) -> PackedError {
    unpacked(bytes, LIMITS).unwrap_err()
}

fn said(bytes: &[u8]) -> String {
    refused(bytes).to_string()
}

/// A stream of one empty file, its header changed and summed again.
fn changed(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut stream = packed(&of(&[("manifest.json", b"")]));
    change(&mut stream[..BLOCK]);
    stream[148..156].fill(b' ');
    let sum: u32 = stream[..BLOCK].iter().map(|byte| u32::from(*byte)).sum();
    stream[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    stream
}

#[test]
fn what_is_not_a_regular_file_with_a_name_inside_is_refused() {
    assert_eq!(unpacked(changed(|_| {}).as_slice(), LIMITS).unwrap(), of(&[("manifest.json", b"")]));
    for (kind, word) in [
        (b'1', "a link"),
        (b'2', "a link"),
        (b'3', "a device"),
        (b'4', "a device"),
        (b'5', "a directory"),
        (b'6', "a pipe"),
        (b'x', "an extension"),
        (b'L', "an extension"),
        (0, "an extension"),
    ] {
        assert!(said(&changed(|header| header[156] = kind)).contains(word), "{kind}");
    }
    assert!(said(&changed(|header| header[157] = b'x')).contains("a link"));
    for name in ["../x", "/etc/passwd", "a/../b", "./a", "a//b", "a/", ".", "..", "", "a\nb", "a\u{1b}b", "\u{85}"] {
        let stream = changed(|header| {
            header[..100].fill(0);
            header[..name.len()].copy_from_slice(name.as_bytes());
        });
        assert!(matches!(refused(&stream), PackedError::Name(_)), "{name:?}: {}", said(&stream));
    }
    assert!(said(&changed(|header| header[345] = b'x')).contains("x/manifest.json"));
    assert!(said(&changed(|header| header[0] = 0xff)).contains("not UTF-8"));
    assert!(said(&changed(|header| header[50] = b'x')).contains("not UTF-8"), "text after the end of a name");
    assert!(said(&changed(|header| header[257..265].copy_from_slice(b"ustar  \0"))).contains("--format=ustar"));
}

#[test]
fn a_length_is_octal_and_within_the_limits() {
    let declared = |text: &[u8; 12]| changed(|header| header[124..136].copy_from_slice(text));
    for wrong in
        [b"            ", b"-0000000001\0", b"0000000009 \0", b"\x80\0\0\0\0\0\0\0\0\0\0\x01", b"00000 00001\0"]
    {
        assert!(said(&declared(wrong)).contains("not octal"), "{wrong:?}");
    }
    for huge in [b"777777777777", b"77777777777\0", b"00004000001\0"] {
        assert!(said(&declared(huge)).contains("1048576 are left"), "{huge:?}");
    }
    let two = of(&[("a", &[1; 600_000]), ("b", &[2; 600_000])]);
    assert!(said(&packed(&two)).contains("448576 are left"));
    let many: Files = (0..21).map(|number| (format!("{number:02}"), Vec::new())).collect();
    assert!(said(&packed(&many)).contains("more than 20 files"));
}

#[test]
fn names_come_in_order_and_once() {
    let [a, b] = ["a", "b"].map(|name| packed(&of(&[(name, b"x")])));
    let [a, b] = [&a[..2 * BLOCK], &b[..2 * BLOCK]];
    let end = [0; 2 * BLOCK];
    assert!(unpacked([a, b, &end].concat().as_slice(), LIMITS).is_ok());
    for wrong in [[b, a, &end], [a, a, &end]] {
        assert!(said(&wrong.concat()).contains("each once"));
    }
    let mut writer = PackedWriter::new(Vec::new());
    for (name, fits) in [("b", true), ("a", false), ("../c", false), ("c", true)] {
        let file = PackedFile { name: name.into(), bytes: 0 };
        assert_eq!(writer.file(&file, io::empty()).is_ok(), fits, "{name}");
    }
}

#[test]
fn the_end_is_required_and_nothing_but_zeros_follows_it() {
    let stream = packed(&of(&[("a", b"x")]));
    let with = |more: &[u8]| [stream.as_slice(), more].concat();
    assert!(unpacked(with(&[0; 20 * BLOCK]).as_slice(), LIMITS).is_ok(), "as tar fills its last record");
    assert!(matches!(refused(&with(&[0; 21 * BLOCK])), PackedError::AfterEnd));
    assert!(matches!(refused(&with(&[1; BLOCK])), PackedError::AfterEnd));
    assert!(matches!(refused(&with(&[0; 7])), PackedError::Cut));
    assert!(matches!(refused(&with(&[1; 2 * BLOCK])[..]), PackedError::AfterEnd));
    let mut one_block = stream.clone();
    one_block[3 * BLOCK] = 1;
    assert!(matches!(refused(&one_block), PackedError::AfterEnd));
    assert!(matches!(refused(b""), PackedError::Cut));
    let mut filled = stream;
    filled[BLOCK + 1] = 1;
    assert!(said(&filled).contains("space after"));
}

#[test]
fn a_file_that_changes_while_it_is_written_is_an_error() {
    for contents in ["", "xx"] {
        let mut writer = PackedWriter::new(Vec::new());
        let file = PackedFile { name: "a".into(), bytes: 1 };
        assert!(matches!(writer.file(&file, contents.as_bytes()), Err(PackedError::Changed(_))));
    }
    let file = PackedFile { name: "a".into(), bytes: FILE_BYTES_MAX + 1 };
    let refused = PackedWriter::new(Vec::new()).file(&file, io::empty());
    assert!(matches!(refused, Err(PackedError::TooLarge { .. })));
}

fn any_files() -> impl Strategy<Value = Files> {
    let name = "[a-zäß][a-z. _-]{0,8}(/[a-z0-9][a-z0-9.]{0,5}){0,2}";
    proptest::collection::btree_map(name, proptest::collection::vec(any::<u8>(), 0..1300), 0..5)
}

proptest! {
    #[test]
    fn files_come_back_as_they_were_in_pieces_of_any_length(files in any_files()) {
        let stream = packed(&files);
        prop_assert_eq!(packed_bytes(files.values().map(|contents| contents.len() as u64)), stream.len() as u64);
        prop_assert_eq!(&unpacked(stream.as_slice(), LIMITS).unwrap(), &files);
        prop_assert_eq!(&unpacked(Slowly(&stream), LIMITS).unwrap(), &files);
        // Without reading their contents.
        let mut reader = PackedReader::new(stream.as_slice(), LIMITS);
        let names: Vec<String> = std::iter::from_fn(|| reader.next_file().unwrap()).map(|file| file.name).collect();
        prop_assert!(names.iter().eq(files.keys()));
    }

    #[test]
    fn a_stream_cut_anywhere_is_refused(files in any_files(), at in any::<prop::sample::Index>()) {
        let stream = packed(&files);
        prop_assert!(unpacked(&stream[..at.index(stream.len())], LIMITS).is_err());
    }

    #[test]
    fn a_changed_byte_changes_contents_or_is_refused(
        files in any_files(), at in any::<prop::sample::Index>(), with in 1..=255_u8,
    ) {
        let mut stream = packed(&files);
        let at = at.index(stream.len());
        stream[at] ^= with;
        if let Ok(read) = unpacked(stream.as_slice(), LIMITS) {
            let lengths = |files: &Files| files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect::<Vec<_>>();
            prop_assert_eq!(lengths(&read), lengths(&files));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        if let Ok(files) = unpacked(bytes.as_slice(), LIMITS) {
            prop_assert!(files.keys().all(|name| is_name(name)));
        }
    }
}

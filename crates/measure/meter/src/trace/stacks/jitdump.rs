//! Functions in the file that a compiler writes at run time: `jit-PID.dump`, in the format of Linux's `jitdump-specification.txt`.
//!
//! The file is a header and records; each has a kind, its length and an instant. The code of a function follows its name and is skipped.

use super::addresses::Addresses;
use archive::stacks::{ENTRIES_MAX, GeneratedCode};
use std::io::{self, Read, Seek};

/// `JiTD`, written by a machine of the same byte order.
const MAGIC: u32 = 0x4a69_5444;
const HEADER_BYTES: u32 = 40;
const RECORD_HEADER_BYTES: u32 = 16;
/// Kinds of records: a function and its code, and a function whose code was moved.
const CODE_LOAD: u32 = 0;
const CODE_MOVE: u32 = 1;
/// A longer name is cut.
pub const NAME_BYTES_MAX: usize = 512;
/// The rest of a longer file is not read.
const RECORDS_MAX: usize = 4 << 20;

/// The functions with one of the addresses, in the order of the file.
pub fn functions(mut file: impl Read + Seek, addresses: &Addresses) -> Vec<GeneratedCode> {
    let mut found = Vec::new();
    // A file is often cut: its program still writes it.
    let _ = read(&mut file, addresses, &mut found);
    found
}

fn read(file: &mut (impl Read + Seek), addresses: &Addresses, found: &mut Vec<GeneratedCode>) -> io::Result<()> {
    let [magic, _version, header_bytes] = words(file)?;
    if magic != MAGIC || header_bytes < HEADER_BYTES {
        return Ok(());
    }
    file.seek_relative(i64::from(header_bytes) - 12)?;
    for _ in 0..RECORDS_MAX {
        let [kind, bytes, _, _] = words(file)?;
        let Some(body) = bytes.checked_sub(RECORD_HEADER_BYTES) else { return Ok(()) };
        let left = match kind {
            CODE_LOAD => load(file, body, addresses, found)?,
            CODE_MOVE => relocate(file, body, addresses, found)?,
            _ => body,
        };
        file.seek_relative(i64::from(left))?;
        if found.len() >= ENTRIES_MAX {
            return Ok(());
        }
    }
    Ok(())
}

/// Process, thread, address in the process, address of the code, its length, a number, and the name. Returns the bytes left of the record.
fn load(file: &mut impl Read, body: u32, addresses: &Addresses, found: &mut Vec<GeneratedCode>) -> io::Result<u32> {
    const FIELDS: u32 = 40;
    let Some(rest) = body.checked_sub(FIELDS) else { return Ok(body) };
    let [_, _] = words(file)?;
    let [_, start, bytes, _] = long_words(file)?;
    let code = GeneratedCode { start, bytes, name: String::new() };
    if !addresses.occur_in(&code) {
        return Ok(rest);
    }
    let mut text = vec![0; (rest as usize).min(NAME_BYTES_MAX)];
    file.read_exact(&mut text)?;
    let length = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let name = String::from_utf8_lossy(&text[..length]).into_owned();
    if !name.is_empty() {
        found.push(GeneratedCode { name, ..code });
    }
    Ok(rest - text.len() as u32)
}

/// Process, thread, address in the process, old and new address of the code, its length and a number. A function that did not occur at
/// its old address has no name at its new one.
fn relocate(file: &mut impl Read, body: u32, addresses: &Addresses, found: &mut Vec<GeneratedCode>) -> io::Result<u32> {
    const FIELDS: u32 = 48;
    let Some(rest) = body.checked_sub(FIELDS) else { return Ok(body) };
    let [_, _] = words(file)?;
    let [_, old, start, bytes, _] = long_words(file)?;
    let known = found.iter().rfind(|code| code.start == old);
    let moved = known.map(|code| GeneratedCode { start, bytes, name: code.name.clone() });
    found.extend(moved.filter(|code| addresses.occur_in(code)));
    Ok(rest)
}

fn words<const N: usize>(file: &mut impl Read) -> io::Result<[u32; N]> {
    let mut all = [0; N];
    for word in &mut all {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes)?;
        *word = u32::from_ne_bytes(bytes);
    }
    Ok(all)
}

fn long_words<const N: usize>(file: &mut impl Read) -> io::Result<[u64; N]> {
    let mut all = [0; N];
    for word in &mut all {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        *word = u64::from_ne_bytes(bytes);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn record(kind: u32, fields: &[u64], text: &[u8]) -> Vec<u8> {
        let bytes = (16 + 8 + fields.len() * 8 + text.len()) as u32;
        let head = [kind.to_ne_bytes(), bytes.to_ne_bytes(), [0; 4], [0; 4], [1, 0, 0, 0], [1, 0, 0, 0]].concat();
        head.into_iter().chain(fields.iter().flat_map(|field| field.to_ne_bytes())).chain(text.to_vec()).collect()
    }

    fn file(records: &[Vec<u8>]) -> Vec<u8> {
        let header = [MAGIC, 1, HEADER_BYTES, 62, 0, 1, 0, 0, 0, 0];
        header.iter().flat_map(|word| word.to_ne_bytes()).chain(records.concat()).collect()
    }

    #[test]
    fn functions_that_occur_are_read_and_their_code_is_skipped() {
        let records = [
            record(CODE_LOAD, &[0, 0x1000, 0x10, 1], b"idle\0\xc3\xc3"),
            record(2, &[1, 2, 3], b"debug information"),
            record(CODE_LOAD, &[0, 0x2000, 0x20, 2], b"Robot::update\0\xc3\xc3\xc3"),
            record(CODE_MOVE, &[0, 0x2000, 0x3000, 0x20, 2], b""),
            record(CODE_LOAD, &[0, 0x2000, 0x20, 3], b"Robot::update again\0"),
        ];
        let bytes = file(&records);
        let addresses = Addresses::from([0x2008, 0x3008]);
        let names = |bytes: &[u8]| -> Vec<(u64, String)> {
            functions(Cursor::new(bytes), &addresses).into_iter().map(|code| (code.start, code.name)).collect()
        };
        let moved = [(0x2000, "Robot::update".to_owned()), (0x3000, "Robot::update".to_owned())];
        let all = [&moved[..], &[(0x2000, "Robot::update again".to_owned())]].concat();
        assert_eq!(names(&bytes), all);
        assert_eq!(names(&bytes[..bytes.len() - 3]), moved, "of a file that its program still writes");
        assert!(names(b"not such a file").is_empty());
    }

    proptest! {
        #[test]
        fn any_file_has_functions_or_none(bytes: Vec<u8>, kind in 0..3_u32, fields: Vec<u64>) {
            let addresses = Addresses::from([0, 1 << 20, u64::MAX]);
            let fields = &fields[..fields.len().min(20)];
            let _ = functions(Cursor::new(&bytes), &addresses);
            let _ = functions(Cursor::new(file(&[record(kind, fields, &bytes), bytes.clone()])), &addresses);
        }
    }
}

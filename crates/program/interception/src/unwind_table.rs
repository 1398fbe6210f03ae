//! Where functions start and end, from the table that exceptions are unwound with (`.eh_frame_hdr`).
//!
//! It lists nearly every function, also those without a symbol and those written in assembly, and is mapped in every
//! running program. Code that it does not list may be data between functions, so nothing there is changed.

use std::ops::Range;

/// Format of the table that linkers write: a pointer and a number of 4 bytes, entries of 4 bytes relative to the table.
const ENCODINGS: [u8; 3] = [0x1b, 0x03, 0x3b];
const HEADER_BYTES: usize = 12;
const ENTRY_BYTES: usize = 8;
/// Most functions of one file.
const FUNCTIONS_MAX: usize = 4_000_000;

/// The functions that a table lists, in order of address, without overlaps. `read` returns the 4 bytes at an address of the
/// file, if they are mapped; whatever they are, the result is a list.
pub fn functions(table: u64, read: &dyn Fn(u64) -> Option<u32>) -> Vec<Range<u64>> {
    described(table, read).into_iter().map(|(function, _)| function).collect()
}

/// The same, each with the address of its description.
pub fn described(table: u64, read: &dyn Fn(u64) -> Option<u32>) -> Vec<(Range<u64>, u64)> {
    listed(table, read).unwrap_or_default()
}

fn listed(table: u64, read: &dyn Fn(u64) -> Option<u32>) -> Option<Vec<(Range<u64>, u64)>> {
    let [version, encodings @ ..] = read(table)?.to_le_bytes();
    if version != 1 || encodings != ENCODINGS {
        return None;
    }
    let count = (read(table.checked_add(8)?)? as usize).min(FUNCTIONS_MAX);
    let mut functions: Vec<(Range<u64>, u64)> = Vec::new();
    for index in 0..count {
        let Some(function) = function(table, HEADER_BYTES + index * ENTRY_BYTES, read) else { continue };
        if functions.last().is_none_or(|(before, _)| before.end <= function.0.start) {
            functions.push(function);
        }
    }
    Some(functions)
}

fn function(table: u64, entry: usize, read: &dyn Fn(u64) -> Option<u32>) -> Option<(Range<u64>, u64)> {
    let relative = |base: u64, at: u64| Some(base.wrapping_add_signed(i64::from(read(at)? as i32)));
    let at = table.checked_add(entry as u64)?;
    let start = relative(table, at)?;
    let description = relative(table, at.checked_add(4)?)?;
    // Length, offset of the common part, start relative to its own address, number of bytes.
    let start_field = description.checked_add(8)?;
    // The description of a function has the same start in the usual encoding; in another one, its length is not here.
    if relative(start_field, start_field)? != start {
        return None;
    }
    let bytes = read(start_field.checked_add(4)?)?;
    let end = start.checked_add(u64::from(bytes))?;
    let first = if returns_from_signal(description, read)? { start.checked_add(1)? } else { start };
    Some((first..end, description)).filter(|(range, _)| !range.is_empty())
}

/// The description of the code that signal handlers return to starts one byte early, so that an unwinder that looks for the
/// byte before a return address finds it.
fn returns_from_signal(description: u64, read: &dyn Fn(u64) -> Option<u32>) -> Option<bool> {
    const SIGNAL_FRAME: u8 = b'S';
    let offset_field = description.checked_add(4)?;
    let common = offset_field.checked_sub(u64::from(read(offset_field)?))?;
    // Length, zero, version, and then the letters of the augmentation up to a zero.
    let letters = [read(common.checked_add(8)?)?, read(common.checked_add(12)?)?];
    let mut letters = letters.iter().flat_map(|word| word.to_le_bytes()).skip(1);
    Some(letters.by_ref().take_while(|letter| *letter != 0).any(|letter| letter == SIGNAL_FRAME))
}

/// The function that an address is in.
pub fn containing(functions: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let after = functions.partition_point(|function| function.start <= address);
    functions[..after].last().filter(|function| function.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: u64 = 0x10_0000;

    fn reader(words: Vec<u32>) -> impl Fn(u64) -> Option<u32> {
        move |at| {
            let offset = usize::try_from(at.checked_sub(TABLE)?).ok()?;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Some(u32::from_le_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
        }
    }

    #[test]
    fn a_function_is_where_its_description_says() {
        let encodings = u32::from_le_bytes([1, 0x1b, 0x03, 0x3b]);
        let description = 36_u32;
        let start = 0x40_u32;
        let relative_start = start.wrapping_sub(description + 8);
        // The table of one entry, then what descriptions have in common, then the description of the function.
        let common = |augmentation: [u8; 4]| {
            let version_and_letters = u32::from_le_bytes([1, augmentation[0], augmentation[1], augmentation[2]]);
            let of_all = [12, 0, version_and_letters, u32::from(augmentation[3])];
            let of_function = [16, description + 4 - 20, relative_start, 0x30];
            [&[encodings, 0, 1, start, description][..], &of_all, &of_function].concat()
        };
        let words = common(*b"zR\0\0");
        let of_signals = functions(TABLE, &reader(common(*b"zRS\0")));
        assert_eq!(of_signals, std::slice::from_ref(&(TABLE + 0x41..TABLE + 0x70)));
        let found = functions(TABLE, &reader(words.clone()));
        assert_eq!(found, std::slice::from_ref(&(TABLE + 0x40..TABLE + 0x70)));
        assert_eq!(containing(&found, TABLE + 0x6f), Some(&(TABLE + 0x40..TABLE + 0x70)));
        assert_eq!(containing(&found, TABLE + 0x70), None);
        let mut other = words;
        other[11] = 3;
        assert_eq!(functions(TABLE, &reader(other)), []);
    }

    proptest! {
        #[test]
        fn any_table_is_a_list_in_order(mut words in proptest::collection::vec(0_u32..256, 0..64), valid: bool) {
            if let (true, Some(first)) = (valid, words.first_mut()) {
                *first = u32::from_le_bytes([1, 0x1b, 0x03, 0x3b]);
            }
            let found = functions(TABLE, &reader(words));
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}

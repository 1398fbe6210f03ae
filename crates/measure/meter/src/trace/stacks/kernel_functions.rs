//! The kernel's functions that occur in records of stacks.

use crate::compact;
use archive::stacks::{ENTRIES_MAX, KernelFunction};
use ftrace::kernel_symbols::SymbolText;
use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;

/// Kind of a record with a sample.
const SAMPLE: u32 = 9;
/// Bytes of a sample before its call chain: header, process and thread, instant.
const CHAIN_AT: usize = 24;
/// Linux has its code in the upper half of the addresses, and call chains have marks above this one (`PERF_CONTEXT_MAX`).
const CODE: Range<u64> = 1 << 63..-4095_i64 as u64;
/// A longer name is cut.
const NAME_BYTES_MAX: usize = 128;

/// The functions in the call chains of several copies of records, by address; none if the kernel hides them.
pub fn of(copies: &[&[u8]], symbols: &SymbolText) -> Vec<KernelFunction> {
    let addresses: BTreeSet<u64> =
        compact::inserted(copies.iter().flat_map(|records| samples(records)).flat_map(kernel_addresses));
    // A return address may be behind the last instruction of its function.
    let addresses: Vec<u64> =
        addresses.into_iter().take(ENTRIES_MAX).flat_map(|address| [address.wrapping_sub(1), address]).collect();
    let mut functions: Vec<KernelFunction> = symbols.excerpt(&addresses).lines().filter_map(function).collect();
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    functions.truncate(ENTRIES_MAX);
    functions
}

/// The whole samples among records.
fn samples(mut records: &[u8]) -> impl Iterator<Item = &[u8]> {
    iter::from_fn(move || {
        loop {
            let header = records.first_chunk::<8>()?;
            let bytes = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            let is_sample = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) == SAMPLE;
            let (record, rest) = records.split_at_checked(bytes).filter(|(record, _)| record.len() >= header.len())?;
            records = rest;
            if is_sample {
                return Some(record);
            }
        }
    })
}

/// The addresses of the kernel in the call chain of a sample.
fn kernel_addresses(sample: &[u8]) -> impl Iterator<Item = u64> {
    let mut words = sample.get(CHAIN_AT..).unwrap_or_default().chunks_exact(8).map(word);
    let count = words.next().unwrap_or_default();
    words.take(usize::try_from(count).unwrap_or(usize::MAX)).filter(|address| CODE.contains(address))
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default()
}

/// A function of a line like `ffffffff81234560 T schedule`.
fn function(line: &str) -> Option<KernelFunction> {
    let mut words = line.split_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let name = words.nth(1)?;
    Some(KernelFunction { start, name: name.chars().take(NAME_BYTES_MAX).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let bytes = (8 + words.len() * 8) as u16;
        let head = [&kind.to_ne_bytes()[..], &[0; 2], &bytes.to_ne_bytes()].concat();
        head.into_iter().chain(words.iter().flat_map(|word| word.to_ne_bytes())).collect()
    }

    fn names(copies: &[&[u8]], symbols: &str) -> Vec<(u64, String)> {
        let functions = of(copies, &SymbolText::new(symbols.to_owned()));
        functions.into_iter().map(|function| (function.start, function.name)).collect()
    }

    #[test]
    fn functions_of_the_call_chains_are_named_once_and_neither_marks_nor_the_stack_are_code() {
        let symbols = "ffffffff81002000 t b\nffffffff81001000 T a\nffffffff81001000 T alias\nffffffff81003000 T c\n";
        let (a, b, c) = (0xffff_ffff_8100_1004, 0xffff_ffff_8100_2010, 0xffff_ffff_8100_3008);
        // Process and thread, instant, the chain and its length, and a word of the stack.
        let sample = |address| record(9, &[7, 1, 3, -128_i64 as u64, address, 0x40_1000, c]);
        let copies = [[record(14, &[c, c]), sample(b), sample(a)].concat(), [sample(b), vec![9, 0, 0, 0]].concat()];
        let copies: Vec<&[u8]> = copies.iter().map(Vec::as_slice).collect();
        let expected = [(0xffff_ffff_8100_1000, "a".to_owned()), (0xffff_ffff_8100_2000, "b".to_owned())];
        assert_eq!(names(&copies, symbols), expected);
        let behind_a = sample(0xffff_ffff_8100_2000);
        assert_eq!(names(&[&behind_a], symbols), expected);
        assert!(names(&copies, "0000000000000000 T a\n").is_empty());
    }

    proptest! {
        #[test]
        fn any_records_have_functions_or_none(bytes: Vec<u8>, words: Vec<u64>) {
            let words = &words[..words.len().min(100)];
            of(&[&bytes, &record(9, words)], &SymbolText::new("8000000000000000 T a\n".to_owned()));
        }
    }
}

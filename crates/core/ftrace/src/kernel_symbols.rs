//! Names of kernel functions by address, from lines of `/proc/kallsyms`.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

/// Symbols sorted by address. A full table has a quarter of a million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSymbols {
    symbols: Vec<Symbol>,
    /// All names, one after another.
    names: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Symbol {
    address: u64,
    name_at: u32,
    name_bytes: u16,
    in_module: bool,
}

/// Larger than any function.
const SYMBOL_SIZE_MAX: u64 = 1 << 20;

impl KernelSymbols {
    /// Parses lines of `ADDRESS TYPE NAME [MODULE]`; others are ignored, and so are addresses that the kernel hides as
    /// 0.
    pub fn parse(text: &str) -> KernelSymbols {
        let mut found = KernelSymbols::default();
        for line in text.lines() {
            // A line of another kind.
            let _ = found.learn(line);
        }
        // A stable sort, so that the first of several names for one address is found.
        if !found.symbols.is_sorted_by_key(|symbol| symbol.address) {
            found.symbols.sort_by_key(|symbol| symbol.address);
        }
        found
    }

    fn learn(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address != 0)?;
        let name = words.nth(1)?;
        let (name_at, name_bytes) = (u32::try_from(self.names.len()).ok()?, u16::try_from(name.len()).ok()?);
        self.names.push_str(name);
        self.symbols.push(Symbol { address, name_at, name_bytes, in_module: words.next().is_some() });
        Some(())
    }

    fn name(&self, symbol: &Symbol) -> &str {
        let start = symbol.name_at as usize;
        &self.names[start..start + usize::from(symbol.name_bytes)]
    }

    /// Name of the symbol at or below `address`, and the distance to it in bytes; `None` if it is too far below for the
    /// address to be in it, as for pointers to data.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let start = self.symbols.get(after.checked_sub(1)?)?.address;
        if address - start > SYMBOL_SIZE_MAX {
            return None;
        }
        let first = self.symbols.partition_point(|symbol| symbol.address < start);
        Some((self.name(self.symbols.get(first)?), address - start))
    }

    /// Address of the first symbol of this name.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|symbol| self.name(symbol) == name).map(|symbol| symbol.address)
    }

    /// Names, each with whether the symbol is in a module.
    pub fn names(&self) -> impl Iterator<Item = (&str, bool)> {
        self.symbols.iter().map(|symbol| (self.name(symbol), symbol.in_module))
    }

    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Addresses with their names, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.symbols.iter().map(|symbol| (symbol.address, self.name(symbol)))
    }
}

/// The text of `/proc/kallsyms` with an index, for repeated excerpts. A full kernel table is 10 MB; the functions of
/// one trace are a few hundred lines, or a few thousand if every function was traced.
#[derive(Clone, Debug, Default)]
pub struct SymbolText {
    text: String,
    /// (address, offset of the line), sorted.
    lines: Vec<(u64, usize)>,
}

impl SymbolText {
    pub fn new(text: String) -> SymbolText {
        let mut lines = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            lines.extend(address_of(line).map(|address| (address, offset)));
            offset += line.len();
        }
        lines.sort_unstable();
        SymbolText { text, lines }
    }

    /// The lines of the symbols that contain one of `addresses`, with all their names, in the order of the text.
    pub fn excerpt(&self, addresses: &[u64]) -> String {
        let mut offsets: Vec<usize> = addresses.iter().flat_map(|&address| self.symbol_at(address)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let line = |&offset: &usize| self.text.get(offset..)?.lines().next();
        offsets.iter().filter_map(line).flat_map(|line| [line, "\n"]).collect()
    }

    /// Name of the symbol that contains an address, the first of several.
    pub fn name(&self, address: u64) -> Option<&str> {
        let offset = self.symbol_at(address).next()?;
        self.text.get(offset..)?.lines().next()?.split_whitespace().nth(2)
    }

    /// Offsets of the lines of the symbol that contains an address.
    fn symbol_at(&self, address: u64) -> impl Iterator<Item = usize> {
        let after = self.lines.partition_point(|&(start, _)| start <= address);
        let start = after.checked_sub(1).and_then(|at| self.lines.get(at)).map(|&(start, _)| start);
        let start = start.filter(|start| address - start <= SYMBOL_SIZE_MAX);
        let first = start.map_or(after, |start| self.lines.partition_point(|&(below, _)| below < start));
        self.lines.get(first..after).into_iter().flatten().map(|&(_, offset)| offset)
    }
}

/// [`SymbolText::excerpt`] of a text that is used once.
pub fn excerpt(kallsyms: &str, addresses: &[u64]) -> String {
    SymbolText::new(kallsyms.to_owned()).excerpt(addresses)
}

/// [`SymbolText::excerpt`] of a table that is read line by line: a full one never is in memory.
///
/// # Errors
/// If it cannot be read to its end.
pub fn read_excerpt(mut table: impl BufRead, addresses: &[u64]) -> io::Result<String> {
    let mut wanted = addresses.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    // Of each wanted address, the highest start above the wanted address before it, with the lines of that start.
    let mut nearest: Vec<(u64, Vec<(usize, String)>)> = vec![(0, Vec::new()); wanted.len()];
    let (mut line, mut number) = (String::new(), 0);
    while table.read_line(&mut line)? > 0 {
        if let Some(start) = address_of(&line)
            && let Some((highest, lines)) = nearest.get_mut(wanted.partition_point(|&address| address < start))
            && start >= *highest
        {
            if start > *highest {
                lines.clear();
            }
            *highest = start;
            lines.push((number, line.trim_end_matches(['\r', '\n']).to_owned()));
        }
        line.clear();
        number += 1;
    }
    let (mut below, mut found) = (None, BTreeMap::new());
    for (address, of_address) in wanted.iter().zip(&nearest) {
        below = Some(of_address).filter(|(start, _)| *start > 0).or(below);
        if let Some((start, lines)) = below
            && address - start <= SYMBOL_SIZE_MAX
        {
            found.extend(lines.iter().map(|(number, line)| (*number, line.as_str())));
        }
    }
    Ok(found.into_values().flat_map(|line| [line, "\n"]).collect())
}

/// `None` for invalid lines and for addresses that the kernel hides as 0.
fn address_of(line: &str) -> Option<u64> {
    let word = line.split_whitespace().next()?;
    u64::from_str_radix(word, 16).ok().filter(|address| *address != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_excerpt_finds_what_the_whole_table_finds() {
        let table = "ffff3000 T c\nffff1000 t a [mod]\nffff1000 t alias\n0 T hidden\nzz\nffff2000 T b\n";
        let asked = [0xffff_1004, 0xffff_3000, 1, 0xffff_8881_0000_0000];
        let excerpt = excerpt(table, &asked);
        assert_eq!(excerpt, "ffff3000 T c\nffff1000 t a [mod]\nffff1000 t alias\n");
        let (whole, part) = (KernelSymbols::parse(table), KernelSymbols::parse(&excerpt));
        assert!(asked.iter().all(|address| whole.find(*address) == part.find(*address)));
        let text = SymbolText::new(table.to_owned());
        assert!(asked.iter().all(|address| whole.find(*address).map(|(name, _)| name) == text.name(*address)));
    }

    proptest! {
        #[test]
        fn a_table_read_line_by_line_gives_the_same_excerpt(
            starts in prop::collection::vec(0u64..4_000_000, 0..30),
            asked in prop::collection::vec(0u64..6_000_000, 0..30),
        ) {
            let table: String = starts.iter().enumerate().map(|(at, start)| format!("{start:x} T f{at}\n")).collect();
            prop_assert_eq!(read_excerpt(table.as_bytes(), &asked).unwrap(), excerpt(&table, &asked));
        }
    }

    #[test]
    fn finds_the_function_an_address_lies_in() {
        let symbols = KernelSymbols::parse("ffff2000 T b\nffff1000 t a [mod]\nffff1000 t alias\n0 T hidden\nzz\n");
        assert_eq!(symbols.find(0xffff_1010), Some(("a", 16)));
        assert_eq!(symbols.find(0xffff_2000), Some(("b", 0)));
        assert_eq!(symbols.find(0xfff), None);
        assert_eq!(symbols.find(0xffff_8881_0000_0000), None);
        assert_eq!(symbols.address("b"), Some(0xffff_2000));
    }
}

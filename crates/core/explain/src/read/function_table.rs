//! Kernel functions by address. A trace of functions has the same few thousand addresses in every record, so each gets
//! a number, and a small table answers most lookups without hashing.

use std::cell::Cell;
use std::collections::HashMap;

/// A power of two; the table has 32 KiB.
const RECENT: usize = 2048;

/// Functions in order of first occurrence.
#[derive(Debug, Default)]
pub struct FunctionTable {
    numbers: HashMap<u64, u32>,
    /// By number; `None` if the trace has no name for the address.
    names: Vec<Option<String>>,
    /// Recently looked-up addresses with their numbers, by a hash of the address; empty while no function is known.
    recent: Vec<Cell<(u64, u32)>>,
}

impl FunctionTable {
    /// Number of an address, from 0 to [`Self::count`].
    #[inline]
    pub fn number(&self, address: u64) -> Option<u32> {
        let recent = self.recent.get(slot(address))?;
        let (known, number) = recent.get();
        if known == address && address != 0 {
            return Some(number);
        }
        let number = *self.numbers.get(&address)?;
        recent.set((address, number));
        Some(number)
    }

    /// Assigns an address a number, and the name that `find` returns if it has none yet.
    #[inline]
    pub fn learn<'n>(&mut self, address: u64, find: impl FnOnce() -> Option<&'n str>) {
        if self.number(address).is_none() {
            self.insert(address, find());
        }
    }

    /// Sets the name of an address, replacing any earlier name.
    pub fn insert(&mut self, address: u64, name: Option<&str>) {
        if self.recent.is_empty() {
            self.recent = vec![Cell::new((0, 0)); RECENT];
        }
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.names.push(None);
        }
        self.names[number as usize] = name.map(str::to_owned);
    }

    #[inline]
    pub fn name(&self, address: u64) -> Option<&str> {
        self.names.get(self.number(address)? as usize)?.as_deref()
    }

    /// The names by number.
    pub fn names(&self) -> impl Iterator<Item = Option<&str>> {
        self.names.iter().map(Option::as_deref)
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }
}

fn slot(address: u64) -> usize {
    // Multiplying by the golden ratio spreads addresses that differ in few bits.
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_addresses_than_the_table_of_recent_ones_holds_keep_their_names() {
        let mut functions = FunctionTable::default();
        assert_eq!((functions.number(0), functions.name(5)), (None, None));
        let names: Vec<String> = (0..3 * RECENT).map(|index| format!("f{index}")).collect();
        let address = |index: usize| 0xffff_ffff_8100_0000 + 16 * index as u64;
        for (index, name) in names.iter().enumerate() {
            functions.learn(address(index), || Some(name));
            functions.learn(address(index), || Some("another"));
        }
        functions.learn(7, || None);
        for (index, name) in names.iter().enumerate() {
            assert_eq!(functions.name(address(index)), Some(name.as_str()));
            assert_eq!(functions.number(address(index)), Some(index as u32));
        }
        assert_eq!((functions.name(7), functions.number(7)), (None, Some(3 * RECENT as u32)));
        functions.insert(7, Some("named"));
        assert_eq!((functions.name(7), functions.count()), (Some("named"), 3 * RECENT + 1));
    }
}

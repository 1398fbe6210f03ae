//! Addresses of the records that lie in code without a file.

use crate::compact;
use archive::stacks::{CodeMapping, GeneratedCode};
use std::collections::BTreeSet;

/// Words of records that are addresses of generated code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(BTreeSet<u64>);

impl Addresses {
    /// Words of the records that lie in executable memory without a file.
    pub fn of(mappings: &[CodeMapping], records: &[u8]) -> Self {
        let generated: Vec<&CodeMapping> =
            mappings.iter().filter(|mapping| !mapping.path.starts_with(['/', '['])).collect();
        if generated.is_empty() {
            return Self::default();
        }
        let words = records.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let is_generated = |word: &u64| generated.iter().any(|mapping| (mapping.start..mapping.end).contains(word));
        Self(compact::inserted(words.filter(is_generated)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is in a function.
    pub fn occur_in(&self, code: &GeneratedCode) -> bool {
        let end = code.start.saturating_add(code.bytes);
        // A return address may be the first one behind a function that ends with a call.
        code.start <= end && self.0.range(code.start..=end).next().is_some()
    }
}

#[cfg(test)]
impl<const N: usize> From<[u64; N]> for Addresses {
    fn from(addresses: [u64; N]) -> Self {
        Self(addresses.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_memory_without_a_file_are_addresses_of_generated_code() {
        let mapping = |start, end, path: &str| CodeMapping { start, end, path: path.into(), ..CodeMapping::default() };
        let mappings = [mapping(0x1000, 0x2800, ""), mapping(0x3000, 0x4000, "/bin/a")];
        let records: Vec<u8> = [0x3004_u64, 0x2008, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(Addresses::of(&mappings, &records), Addresses::from([0x2008]));
        assert!(Addresses::of(&mappings[1..], &records).is_empty());
    }
}

//! The code of translated blocks, so that a reader of a record can decode each instruction.

use std::collections::HashMap;

/// One block: the length of each instruction, and their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCode {
    pub lengths: Vec<u8>,
    pub bytes: Vec<u8>,
}

/// Blocks by their address.
#[derive(Debug, Default)]
pub struct Code {
    blocks: HashMap<u64, BlockCode>,
}

impl Code {
    /// Stores a block. The same address may be translated again, shorter or modified: the longer translation is kept,
    /// or the later one if the code differs.
    pub fn remember(&mut self, address: u64, code: BlockCode) {
        if self.blocks.get(&address).is_none_or(|known| !known.bytes.starts_with(&code.bytes)) {
            self.blocks.insert(address, code);
        }
    }

    /// Encodes the requested blocks that are known: `address:u64 bytes:u16 instructions:u16`, a byte for the length of
    /// each instruction, then their bytes.
    pub fn written(&self, addresses: &[u64]) -> Vec<u8> {
        let mut file = Vec::new();
        for address in addresses {
            let Some(code) = self.blocks.get(address) else { continue };
            file.extend(address.to_le_bytes());
            file.extend((code.bytes.len() as u16).to_le_bytes());
            file.extend((code.lengths.len() as u16).to_le_bytes());
            file.extend(&code.lengths);
            file.extend(&code.bytes);
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(bytes: &[u8]) -> BlockCode {
        BlockCode { lengths: vec![1; bytes.len()], bytes: bytes.to_vec() }
    }

    #[test]
    fn the_longer_translation_stays_and_the_later_of_two_that_differ() {
        let mut known = Code::default();
        known.remember(0x1000, code(&[1, 2, 3]));
        known.remember(0x1000, code(&[1, 2]));
        assert_eq!(known.written(&[0x1000, 0x2000])[8..], [3, 0, 3, 0, 1, 1, 1, 1, 2, 3]);
        known.remember(0x1000, code(&[9]));
        assert_eq!(known.written(&[0x1000])[8..], [1, 0, 1, 0, 1, 9]);
    }
}

//! One word per executed block of code.

/// Stored bits of an address. Higher bits repeat the last stored one, as the processor requires.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;
/// QEMU translates at most 512 instructions at once.
const INSTRUCTIONS_MAX: u64 = (1 << 12) - 1;
const HALTS: u64 = 1 << 63;

/// Address and number of instructions of a block in one word, and whether it ends by halting the processor: only then
/// does the guest's clock advance without instructions.
pub fn packed(address: u64, instructions: usize, halts: bool) -> u64 {
    let instructions = (instructions as u64).min(INSTRUCTIONS_MAX);
    address & ADDRESS | instructions << ADDRESS_BITS | if halts { HALTS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_into_its_neighbour() {
        assert_eq!(packed(0xffff_ffff_8100_1234, 5, false), 0x0005_ffff_8100_1234);
        assert_eq!(packed(0x40_1000, 512, true), 0x8200_0000_0040_1000);
        assert_eq!(packed(0, usize::MAX, false), 0x0fff_0000_0000_0000);
    }
}

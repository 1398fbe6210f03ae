//! The header before the rings: the request of the host, and the report of the library.

/// Bytes of the header.
pub const HEADER_BYTES: usize = at::UNPATCHED + UNPATCHED_MAX * UNPATCHED_BYTES;
/// First word: a library of another version leaves the memory alone.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tardyC02");

/// Rules of injection.
pub const RULES_MAX: usize = 16;
pub const RULE_BYTES: usize = 40;
/// Listed instructions that could not be patched; all are counted.
pub const UNPATCHED_MAX: usize = 1024;
pub const UNPATCHED_BYTES: usize = 16;

/// Offsets in the header.
pub mod at {
    pub const MAGIC: usize = 0;
    /// `u32`: number of rules.
    pub const RULES: usize = 8;
    /// `u32`: what kept the last process from being patched at all, as [`super::Refusal`]; 0 is nothing.
    pub const REFUSAL: usize = 12;
    /// `u64` each: processes that loaded the library, patched instructions, those that were not, and calls of threads
    /// that got no ring.
    pub const PROCESSES: usize = 16;
    pub const PATCHED: usize = 24;
    pub const NOT_PATCHED: usize = 32;
    pub const LOST: usize = 40;
    /// `u64`: rings that were taken so far.
    pub const GENERATION: usize = 48;
    /// `u32`: whose calls of the C library are recorded, as [`crate::function::Recorded`]; 0 is nobody's.
    pub const LIBRARY_CALLS: usize = 56;
    /// `u64`: functions that some process takes from elsewhere, as [`crate::function::Function::bit`].
    pub const ELSEWHERE: usize = 64;
    pub const RULE: usize = 128;
    pub const UNPATCHED: usize = RULE + super::RULES_MAX * super::RULE_BYTES;
}

/// The effect on calls of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The call is made after this time.
    DelayNs(u64),
    /// The call is not made; it returns this error.
    Error(u32),
}

/// A rule of injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injection {
    pub number: u32,
    pub effect: Effect,
    /// One call in this number, by chance; at least 1.
    pub one_in: u64,
    pub seed: u64,
}

impl Injection {
    /// The bytes of the rule.
    pub fn bytes(&self) -> [u8; RULE_BYTES] {
        let (kind, value) = match self.effect {
            Effect::DelayNs(ns) => (1_u64, ns),
            Effect::Error(number) => (2, u64::from(number)),
        };
        let mut bytes = [0; RULE_BYTES];
        let words = [u64::from(self.number), kind, value, self.one_in, self.seed];
        for (index, word) in words.into_iter().enumerate() {
            bytes[index * 8..index * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a rule; `None` if it is none.
    pub fn read(bytes: &[u8; RULE_BYTES]) -> Option<Self> {
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let effect = match word(1) {
            1 => Effect::DelayNs(word(2)),
            2 => Effect::Error(u32::try_from(word(2)).ok()?),
            _ => return None,
        };
        Some(Self { number: u32::try_from(word(0)).ok()?, effect, one_in: word(3).max(1), seed: word(4) })
    }

    /// Whether the call that is the `turn`th of this rule is affected; a function of the seed alone.
    pub fn strikes(&self, turn: u64) -> bool {
        mixed(self.seed ^ mixed(turn)).is_multiple_of(self.one_in.max(1))
    }
}

/// A bijection that spreads its argument over all bits.
fn mixed(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Why an instruction keeps its system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// No table of the file says where the function starts.
    FunctionUnknown = 1,
    /// There are fewer than five bytes that could make room for a jump.
    NoRoom = 2,
    /// Another instruction jumps between the bytes that the jump would take.
    JumpedInto = 3,
    /// The function jumps through a table, perhaps between these bytes.
    JumpTable = 4,
    /// The thread has no stack there: the code that ends a detached thread.
    NoStack = 5,
    /// No memory is free near enough for a jump of 32 bits.
    NoMemoryNear = 6,
    /// The kernel does not let the code be changed.
    Protected = 7,
    /// The bytes decode to nothing that is known.
    NotDecoded = 8,
}

impl Reason {
    pub const ALL: [Self; 8] = [
        Self::FunctionUnknown,
        Self::NoRoom,
        Self::JumpedInto,
        Self::JumpTable,
        Self::NoStack,
        Self::NoMemoryNear,
        Self::Protected,
        Self::NotDecoded,
    ];

    /// `None` for a number that is no reason.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| *reason as u32 == number)
    }
}

/// Why no instruction of a process was patched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Threads ran already: changing code under them could crash them.
    Threads = 1,
    /// The memory could not be opened or mapped.
    NoMemory = 2,
    /// The library cannot patch this architecture.
    Architecture = 3,
}

impl Refusal {
    /// `None` for 0, and for a number that is no refusal.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Threads, Self::NoMemory, Self::Architecture].into_iter().find(|refusal| *refusal as u32 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_rule_is_read_as_it_was_written(number: u32, value: u32, one_in in 1_u64.., seed: u64, error: bool) {
            let effect = if error { Effect::Error(value) } else { Effect::DelayNs(u64::from(value)) };
            let rule = Injection { number, effect, one_in, seed };
            prop_assert_eq!(Injection::read(&rule.bytes()), Some(rule));
        }

        #[test]
        fn any_bytes_are_a_rule_or_none(bytes in proptest::array::uniform32(any::<u8>()), turn: u64) {
            let mut rule = [0; RULE_BYTES];
            rule[..32].copy_from_slice(&bytes);
            if let Some(rule) = Injection::read(&rule) {
                rule.strikes(turn);
            }
        }
    }

    #[test]
    fn one_in_a_thousand_is_about_that_and_the_same_for_a_seed() {
        let rule = |seed| Injection { number: 1, effect: Effect::DelayNs(1), one_in: 1000, seed };
        let turns = |seed| (0..1_000_000).filter(|turn| rule(seed).strikes(*turn)).collect::<Vec<u64>>();
        let (first, second) = (turns(7), turns(8));
        assert!((900..1100).contains(&first.len()), "{}", first.len());
        assert_eq!(first, turns(7));
        assert_ne!(first, second);
        let always = Injection { one_in: 1, ..rule(7) };
        assert!((0..100).all(|turn| always.strikes(turn)));
    }
}

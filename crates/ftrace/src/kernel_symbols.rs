//! Names of kernel functions by address, from lines of `/proc/kallsyms`.

/// Symbols sorted by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSymbols {
    symbols: Vec<(u64, String)>,
}

/// No function comes near it.
const SYMBOL_SIZE_MAX: u64 = 1 << 20;

impl KernelSymbols {
    /// Reads lines of `ADDRESS TYPE NAME [MODULE]`; others are left out, and so are addresses the kernel hid as 0.
    pub fn parse(text: &str) -> KernelSymbols {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address != 0)?;
            let name = words.nth(1)?;
            Some((address, name.to_owned()))
        };
        let mut symbols: Vec<_> = text.lines().filter_map(line).collect();
        // Stable, so that of several names for one address the first of the text is found.
        symbols.sort_by_key(|&(address, _)| address);
        KernelSymbols { symbols }
    }

    /// Name of the symbol at or below `address`, and the distance to it in bytes; `None` when it is too far below for
    /// the address to lie in it, as with pointers to data.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|&(start, _)| start <= address);
        let start = self.symbols.get(after.checked_sub(1)?)?.0;
        if address - start > SYMBOL_SIZE_MAX {
            return None;
        }
        let first = self.symbols.partition_point(|&(below, _)| below < start);
        Some((&self.symbols.get(first)?.1, address - start))
    }

    /// Address of the first symbol of this name.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|(_, known)| known == name).map(|&(address, _)| address)
    }

    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

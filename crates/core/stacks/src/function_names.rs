//! Names of functions as their programmers wrote them: symbols of Rust and C++ encode them with types.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use std::fmt::{self, Write as _};

/// Longest symbol of C++ that is decoded; the time that decoding takes grows faster than the length.
const SYMBOL_BYTES_MAX: usize = 4 << 10;
/// Longest decoded name. A symbol may repeat its parts, and so be short for a name of any length.
const NAME_BYTES_MAX: usize = 4 << 10;
const DEPTH_MAX: u32 = 64;

/// The readable name of a symbol; the symbol itself if it is in neither language.
pub fn readable(symbol: &str) -> String {
    of_rust(symbol).or_else(|| of_cpp(symbol)).unwrap_or_else(|| symbol.to_owned())
}

fn of_rust(symbol: &str) -> Option<String> {
    let decoded = rustc_demangle::try_demangle(symbol).ok()?;
    let mut name = BoundedName::default();
    write!(name, "{decoded:#}").ok()?;
    Some(name.0)
}

/// Without parameters and result, which say little and are often longer than the line.
fn of_cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") || symbol.len() > SYMBOL_BYTES_MAX {
        return None;
    }
    let parsed = Symbol::new_with_options(symbol, &ParseOptions::default().recursion_limit(DEPTH_MAX)).ok()?;
    let options = DemangleOptions::default().no_params().no_return_type().recursion_limit(DEPTH_MAX);
    let mut name = BoundedName::default();
    parsed.structured_demangle(&mut name, &options).ok()?;
    Some(name.0)
}

/// A text that refuses to grow beyond [`NAME_BYTES_MAX`].
#[derive(Default)]
struct BoundedName(String);

impl fmt::Write for BoundedName {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > NAME_BYTES_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_each_language_are_read_and_others_stay() {
        assert_eq!(readable("_ZN4Jack16JackGraphManager9GetBufferEjj"), "Jack::JackGraphManager::GetBuffer");
        assert_eq!(readable("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int, std::allocator<int> >::push_back");
        assert_eq!(readable("_ZN6habits4deep17h0123456789abcdefE"), "habits::deep");
        assert_eq!(readable("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        for other in ["main", "_Z", "_Zebra", "", "clock_nanosleep@@GLIBC_2.17"] {
            assert_eq!(readable(other), other);
        }
    }

    #[test]
    fn a_short_symbol_of_a_long_name_costs_little() {
        // Each pair has the one before twice.
        let mut symbol = "_Z1fSt4pairIiiE".to_owned();
        for number in 0..60 {
            let same = format!("S{}_", char::from(b'0' + number % 10));
            symbol.push_str(&format!("St4pairI{same}{same}E"));
        }
        let deep = format!("_Z1f{}i", "P".repeat(SYMBOL_BYTES_MAX - 10));
        for hostile in [symbol, deep, format!("_Z1f{}", "St4pairI".repeat(400))] {
            assert!(readable(&hostile).len() <= NAME_BYTES_MAX.max(hostile.len()));
        }
    }
}

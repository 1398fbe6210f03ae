//! Drops parts of an answer until it fits.

use super::BYTES_MAX;
use super::short::printed_bytes;
use serde::Serialize;

/// An answer that can do without its least important part.
pub trait Shrink: Serialize {
    /// Drops it; whether there was one.
    fn shrink(&mut self) -> bool;
}

/// The answer without the parts that exceed [`BYTES_MAX`].
pub fn fitted<A: Shrink>(mut answer: A) -> A {
    while bytes(&answer) > BYTES_MAX && answer.shrink() {}
    answer
}

/// Bytes of the answer as it is printed, with its line feed.
pub fn bytes(answer: &impl Serialize) -> usize {
    serde_json::to_string(answer).map_or(usize::MAX, |text| printed_bytes(&text) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize)]
    struct Names(Vec<String>);

    impl Shrink for Names {
        fn shrink(&mut self) -> bool {
            self.0.pop().is_some()
        }
    }

    #[test]
    fn the_last_parts_go_first_and_the_rest_fits() {
        let names: Vec<String> = (0..500).map(|number| format!("name {number}")).collect();
        let kept = fitted(Names(names.clone())).0;
        assert!(!kept.is_empty() && names.starts_with(&kept), "{kept:?}");
        assert!(bytes(&Names(kept.clone())) <= BYTES_MAX);
        assert!(bytes(&Names(names[..=kept.len()].to_vec())) > BYTES_MAX, "one more name would have fitted");
    }
}

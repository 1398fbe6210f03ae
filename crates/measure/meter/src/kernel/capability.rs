//! Capabilities of this process.

use std::fs;
use std::path::Path;

/// Whether this process lacks the capability with this number; without the file it is not known.
pub fn is_missing(root: &Path, number: u32) -> bool {
    is_out_of(root, "CapEff:", number)
}

/// Whether no program that this process starts can have the capability; without the file it is not known.
pub fn is_dropped(root: &Path, number: u32) -> bool {
    is_out_of(root, "CapBnd:", number)
}

fn is_out_of(root: &Path, set: &str, number: u32) -> bool {
    let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix(set));
    let bits = set.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> number & 1 == 0)
}

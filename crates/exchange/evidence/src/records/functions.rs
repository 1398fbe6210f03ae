//! Addresses for the functions that a text names.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Where no kernel has code.
const FIRST: u64 = 0xffff_ffff_ff00_0000;
const APART: u64 = 16;

#[derive(Debug, Default)]
pub struct Functions {
    by_name: BTreeMap<String, u64>,
}

impl Functions {
    /// The address of `hrtimer_wakeup`, or of `hrtimer_wakeup/0x0`; of one that is a number itself, that number.
    pub fn address(&mut self, text: &str) -> u64 {
        let name = text.split(['/', '+']).next().unwrap_or(text);
        if let Some(Ok(address)) = name.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            return address;
        }
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let next = FIRST + APART * self.by_name.len() as u64;
        self.by_name.insert(name.to_owned(), next);
        next
    }

    /// The same as lines of kallsyms.
    pub fn text(&self) -> String {
        self.by_name.iter().fold(String::new(), |mut text, (name, address)| {
            let _ = writeln!(text, "{address:016x} T {name}");
            text
        })
    }
}

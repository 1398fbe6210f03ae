//! The options of a program, by key. They were checked when they were typed; a meter without a host gets the defaults
//! for invalid ones.

use archive::load::cpu_list;
use archive::settings::LoadWord;

/// The options after a program's name.
pub struct Options<'a>(pub &'a [LoadWord]);

impl Options<'_> {
    fn find(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|word| word.key == key).map(|word| word.value.as_str())
    }

    /// The first one, which has no key.
    pub fn subject(&self) -> Option<&str> {
        self.find("")
    }

    pub fn value_or<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.find(key).unwrap_or(default)
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.find(key)
    }

    pub fn is_set(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// CPUs the program may use; empty for all.
    pub fn cpus(&self) -> Vec<u32> {
        self.find("cpus").and_then(cpu_list).unwrap_or_default()
    }
}

//! Words of a kernel's command line that one boot has, or lacks.

use serde::{Deserialize, Serialize};

/// Changes of the kernel's command line for one boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootWords {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<String>,
    /// Exactly as they are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

impl BootWords {
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    pub fn extend(&mut self, other: &Self) {
        self.add.extend(other.add.iter().cloned());
        self.remove.extend(other.remove.iter().cloned());
    }

    /// The command line with these changes; `None` if a word to remove is not there.
    pub fn applied_to(&self, command_line: &str) -> Option<String> {
        let mut words: Vec<&str> = command_line.split_whitespace().collect();
        for word in &self.remove {
            let at = words.iter().position(|there| there == word)?;
            words.remove(at);
        }
        words.extend(self.add.iter().map(String::as_str));
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_added_and_removed_and_a_missing_one_is_noticed() {
        let words = BootWords { add: vec!["nohz_full=1".into()], remove: vec!["nohz=off".into()] };
        assert_eq!(words.applied_to("quiet nohz=off  x").as_deref(), Some("quiet x nohz_full=1"));
        assert_eq!(words.applied_to("quiet nohz=offer"), None);
        assert!(BootWords::default().is_empty() && !words.is_empty());
    }
}

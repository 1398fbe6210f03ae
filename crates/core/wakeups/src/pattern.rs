//! Patterns for names: `*` is any text, `?` any character.

use thiserror::Error;

/// A pattern that matches no name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no thread can be called `{0}`: the kernel keeps 1 to 15 letters of a name")]
pub struct UnfitPattern(pub String);

/// A pattern for names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

impl Pattern {
    /// A pattern for thread names, which the kernel truncates to 15 bytes.
    ///
    /// # Errors
    /// It cannot match any name.
    pub fn new(text: &str) -> Result<Self, UnfitPattern> {
        let letters = text.bytes().filter(|byte| *byte != b'*').count();
        if text.is_empty() || letters > 15 {
            return Err(UnfitPattern(text.to_owned()));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// A pattern for names of any length, such as names of interrupts. An empty one matches the empty name.
    pub fn of_any_length(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    pub fn fits(&self, name: &[u8]) -> bool {
        // If the rest does not match, the last star takes one more character.
        let (mut at, mut letter) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while letter < name.len() {
            match self.0.get(at) {
                Some(b'*') => {
                    star = Some((at, letter));
                    at += 1;
                }
                Some(wanted) if *wanted == b'?' || *wanted == name[letter] => {
                    at += 1;
                    letter += 1;
                }
                _ => match &mut star {
                    Some((back, taken)) => {
                        *taken += 1;
                        (at, letter) = (*back + 1, *taken);
                    }
                    None => return false,
                },
            }
        }
        self.0[at..].iter().all(|rest| *rest == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, fits) in [
            ("loop", "loop", true),
            ("loop", "loops", false),
            ("lo*", "loop", true),
            ("*op", "loop", true),
            ("l*o*p", "loooop", true),
            ("l?op", "loop", true),
            ("l?op", "lop", false),
            ("*", "", true),
            ("*a*b", "xaxxbx", false),
            ("*a*b", "xaxxbxb", true),
        ] {
            assert_eq!(Pattern::new(pattern).unwrap().fits(name.as_bytes()), fits, "{pattern} {name}");
            assert_eq!(Pattern::of_any_length(pattern).fits(name.as_bytes()), fits, "{pattern} {name}");
        }
        assert!(Pattern::new("").is_err());
        assert!(Pattern::new("a_name_of_sixteen").unwrap_err().to_string().contains("15"));
    }
}

//! Sets of candidates.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Most candidates of a question.
pub const CANDIDATES_MAX: usize = 64;

/// The candidates that are on in a run: bit i is candidate i. As text, the bits in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Configuration(u64);

/// A text that is not a set of candidates.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0} is not a set of candidates: at most 16 hexadecimal digits")]
pub struct ConfigurationError(String);

impl fmt::Display for Configuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}", self.0)
    }
}

impl From<Configuration> for String {
    fn from(configuration: Configuration) -> Self {
        configuration.to_string()
    }
}

impl TryFrom<String> for Configuration {
    type Error = ConfigurationError;

    fn try_from(text: String) -> Result<Self, ConfigurationError> {
        u64::from_str_radix(&text, 16).map(Self).map_err(|_| ConfigurationError(text))
    }
}

impl Configuration {
    pub const NONE: Self = Self(0);

    /// All candidates of a question that has this number of them.
    pub fn all(candidates: usize) -> Self {
        (0..candidates.min(CANDIDATES_MAX)).collect()
    }

    pub fn contains(self, candidate: usize) -> bool {
        candidate < CANDIDATES_MAX && self.0 >> candidate & 1 == 1
    }

    pub fn with(self, candidate: usize) -> Self {
        Self(self.0 | 1 << candidate)
    }

    pub fn without(self, candidate: usize) -> Self {
        Self(self.0 & !(1 << candidate))
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Candidates in ascending order.
    pub fn candidates(self) -> impl Iterator<Item = usize> {
        (0..CANDIDATES_MAX).filter(move |candidate| self.contains(*candidate))
    }
}

impl FromIterator<usize> for Configuration {
    fn from_iter<T: IntoIterator<Item = usize>>(candidates: T) -> Self {
        candidates.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_each_candidate_once() {
        let set: Configuration = [3, 0, 63, 3].into_iter().collect();
        assert_eq!(set.candidates().collect::<Vec<_>>(), [0, 3, 63]);
        assert_eq!((set.len(), set.without(3).len(), set.minus(set).is_empty()), (3, 2, true));
        assert_eq!(Configuration::all(64).len(), 64);
        assert!(!set.contains(64) && !set.contains(1));
        assert_eq!(set.to_string(), "8000000000000009");
        assert_eq!(Configuration::try_from(set.to_string()), Ok(set));
        assert!(Configuration::try_from("none".to_owned()).is_err());
    }
}

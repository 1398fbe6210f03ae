//! Settings that are one of a few words: an enum, its words and their meanings in one declaration.

/// A setting that is one of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Each value with its word and its meaning, which may be empty.
    const CHOICES: &'static [(Self, &'static str, &'static str)];

    /// The word of a value, in archives, plans and options.
    fn word(self) -> &'static str {
        let found = Self::CHOICES.iter().find(|(value, ..)| *value == self);
        found.map(|(_, word, _)| *word).expect("`choices!` lists every value")
    }

    /// The meaning of a value as a phrase, which may be empty.
    fn meaning(self) -> &'static str {
        let found = Self::CHOICES.iter().find(|(value, ..)| *value == self);
        found.map_or("", |(.., meaning)| meaning.trim().trim_end_matches('.'))
    }

    /// The value with this word.
    fn of_word(word: &str) -> Option<Self> {
        Self::CHOICES.iter().find(|(_, known, _)| *known == word).map(|(value, ..)| *value)
    }
}

/// An enum whose values are written as words. The documentation of a value is its meaning.
macro_rules! choices {
    ($(#[$attribute:meta])* pub enum $name:ident { $($(#[doc = $meaning:literal])* $value:ident = $word:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[doc = $meaning])* #[serde(rename = $word)] $value,)+ }

        impl $crate::choice::Choice for $name {
            const CHOICES: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$value, $word, concat!($($meaning),*))),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str($crate::choice::Choice::word(*self))
            }
        }
    };
}
pub(crate) use choices;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Policy, SnapshotMode};
    use crate::tracer::KernelSource;

    fn assert_words<T: Choice + std::fmt::Debug + serde::Serialize>() {
        for (value, word, _) in T::CHOICES {
            assert_eq!(serde_json::to_value(value).unwrap(), *word);
            assert_eq!((value.word(), T::of_word(word)), (*word, Some(*value)));
        }
        assert_eq!(T::of_word(""), None);
    }

    #[test]
    fn an_archive_has_the_words_of_the_options() {
        assert_words::<Policy>();
        assert_words::<SnapshotMode>();
        assert_words::<KernelSource>();
    }
}

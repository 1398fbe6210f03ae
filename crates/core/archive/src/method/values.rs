//! The types of options: what each accepts, and which value a reader gets where none was given.

/// Values that an option of a method accepts, as people read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// One of these; the first is the default.
    OneOf(&'static [&'static str]),
    Number {
        least: u64,
        most: u64,
        default: u64,
    },
    /// Any text; without one the method chooses.
    Text,
    /// It is set or not.
    Flag,
}

/// The type of an option's value.
pub trait OptionValue: Sized {
    /// The value as the method uses it: the one that was given, or the default.
    type Used<'a>
    where
        Self: 'a;

    const VALUES: Values;

    /// The value with this text; `None`: it is not accepted.
    fn parse(text: &str) -> Option<Self>;

    /// The text of [`Self::parse`].
    fn text(&self) -> String;

    fn used(given: Option<&Self>) -> Self::Used<'_>;
}

/// A whole number within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<const LEAST: u64, const MOST: u64, const DEFAULT: u64>(u64);

impl<const LEAST: u64, const MOST: u64, const DEFAULT: u64> OptionValue for Number<LEAST, MOST, DEFAULT> {
    type Used<'a> = u64;

    const VALUES: Values = {
        assert!(LEAST <= DEFAULT && DEFAULT <= MOST, "the default is out of bounds");
        Values::Number { least: LEAST, most: MOST, default: DEFAULT }
    };

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number| (LEAST..=MOST).contains(number)).map(Self)
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    fn used(given: Option<&Self>) -> u64 {
        given.map_or(DEFAULT, |number| number.0)
    }
}

/// Any text but an empty one, such as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

impl OptionValue for Text {
    type Used<'a> = Option<&'a str>;

    const VALUES: Values = Values::Text;

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    fn text(&self) -> String {
        self.0.clone()
    }

    fn used(given: Option<&Self>) -> Option<&str> {
        given.map(|text| text.0.as_str())
    }
}

/// An option without a value: given, it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag;

impl OptionValue for Flag {
    type Used<'a> = bool;

    const VALUES: Values = Values::Flag;

    fn parse(text: &str) -> Option<Self> {
        text.is_empty().then_some(Self)
    }

    fn text(&self) -> String {
        String::new()
    }

    fn used(given: Option<&Self>) -> bool {
        given.is_some()
    }
}

/// Declares an option's type with a few values, each with its word; the first is the default.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $first:ident = $first_word:literal, $($other:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub enum $name {
            #[default]
            $first,
            $($other),+
        }

        impl $name {
            /// As it is written behind the key of the option.
            pub const fn word(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$other => $word),+
                }
            }
        }

        impl $crate::method::values::OptionValue for $name {
            type Used<'a> = Self;

            const VALUES: $crate::method::values::Values =
                $crate::method::values::Values::OneOf(&[$first_word, $($word),+]);

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $first_word => Some(Self::$first),
                    $($word => Some(Self::$other),)+
                    _ => None,
                }
            }

            fn text(&self) -> String {
                self.word().into()
            }

            fn used(given: Option<&Self>) -> Self {
                given.copied().unwrap_or_default()
            }
        }
    };
}

pub(super) use choices;

//! Macros that make of one declaration of a method its options with their types, keys, defaults and bounds, its catalogue entry,
//! and both directions between options and text.

use super::definition::{Entry, Stimulus};
use super::role::{Role, Undivided};
use super::sample_word::SampleWord;

/// Product of the macro [`method`] from a declaration.
pub trait Declared: Default {
    const ENTRY: Entry;

    /// Sets the option with this key from its text; `false`: there is none, or it does not accept the text.
    fn set(&mut self, key: &str, text: &str) -> bool;

    /// The options that were given, as keys and texts.
    fn given(&self) -> Vec<(&'static str, String)>;

    /// The instants at which a sample starts and ends with these options.
    fn path(&self) -> (&'static str, &'static str);
}

/// Nature of a sample of a method.
pub trait Sampled: Declared {
    /// The start of the stretch that a sample measures.
    fn stimulus(&self) -> Stimulus;

    /// Words for a sample.
    fn sample_word(&self) -> SampleWord;

    /// The end of the wire that the machine has; `None`: the method has no wire.
    fn end(&self) -> Option<Role> {
        None
    }

    /// Makes of a method that the target answers the options of both machines, where the second ones are those that the user
    /// wrote for the machine that gives the stimuli.
    ///
    /// # Errors
    /// [`Undivided`].
    fn divide(_target: &mut Self, _stimulus: &mut Self) -> Result<(), Undivided> {
        Err(Undivided::NoRoles)
    }
}

/// The key of an option, from the name of its field.
pub(super) const fn key(field: &'static str) -> &'static str {
    // A field that is called as a word of the language is.
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares the options of a method and its catalogue entry.
///
/// Each option is a field, a type of [`super::values`], and what it does. `when` names the other paths, each by the values that
/// choose it.
macro_rules! method {
    (
        $(#[$doc:meta])*
        $name:ident {
            from: $from:expr,
            to: $to:expr,
            $(when ($($chosen:ident: $value:expr),+) { from: $other_from:expr, to: $other_to:expr },)*
            original: $original:expr,
            $(needs: $needs:expr,)?
            options: { $($option:ident: $kind:ty = $what:expr,)* },
            $(data: { $($(#[$field_doc:meta])* $field:ident: $field_kind:ty,)+ },)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name {
            $(pub $option: Option<$kind>,)*
            $($($(#[$field_doc])* pub $field: $field_kind,)+)?
        }

        impl $name {
            $(pub fn $option(&self) -> <$kind as $crate::method::values::OptionValue>::Used<'_> {
                $crate::method::values::OptionValue::used(self.$option.as_ref())
            })*
        }

        impl $crate::method::declaration::Declared for $name {
            const ENTRY: $crate::method::definition::Entry = $crate::method::definition::Entry {
                from: $from,
                to: $to,
                others: &[$($crate::method::definition::OtherPath {
                    options: &[$(($crate::method::declaration::key(stringify!($chosen)), $value.word())),+],
                    from: $other_from,
                    to: $other_to,
                }),*],
                original: $original,
                needs: concat!($($needs)?),
                options: &[$($crate::method::definition::MethodOption {
                    key: $crate::method::declaration::key(stringify!($option)),
                    values: <$kind as $crate::method::values::OptionValue>::VALUES,
                    what: $what,
                }),*],
            };

            fn set(&mut self, key: &str, _text: &str) -> bool {
                $(if key == const { $crate::method::declaration::key(stringify!($option)) } {
                    let value = <$kind as $crate::method::values::OptionValue>::parse(_text);
                    let accepted = value.is_some();
                    self.$option = value.or(self.$option.take());
                    return accepted;
                })*
                let _ = key;
                false
            }

            fn given(&self) -> Vec<(&'static str, String)> {
                let options: &[(&'static str, Option<String>)] = &[$((
                    const { $crate::method::declaration::key(stringify!($option)) },
                    self.$option.as_ref().map($crate::method::values::OptionValue::text),
                )),*];
                options.iter().filter_map(|(key, text)| Some((*key, text.clone()?))).collect()
            }

            fn path(&self) -> (&'static str, &'static str) {
                $(if $(self.$chosen() == $value)&&+ {
                    return ($other_from, $other_to);
                })*
                ($from, $to)
            }
        }
    };
}

/// Lists the methods: makes of the list the enum of their names, the enum of their options, and the catalogue.
macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident($options:ty) = $name:literal,)+) => {
        /// The path through the kernel that a sample measures. Figures of two methods do not compare.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Method {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        /// A method with its options.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum MethodOptions {
            $($variant($options),)+
            /// One of another version of this program, by its name.
            Other(String),
        }

        /// Every method, in the order to show them.
        pub static METHODS: [MethodDefinition; [$(Method::$variant),+].len()] = [
            $(MethodDefinition { method: Method::$variant, name: $name, entry: <$options as Declared>::ENTRY },)+
        ];

        impl Method {
            pub fn definition(self) -> &'static MethodDefinition {
                &METHODS[self as usize]
            }

            /// Without any option given.
            pub fn options(self) -> MethodOptions {
                match self {
                    $(Self::$variant => MethodOptions::$variant(Default::default()),)+
                }
            }
        }

        impl MethodOptions {
            /// `None`: one of another version.
            pub fn method(&self) -> Option<Method> {
                match self {
                    $(Self::$variant(_) => Some(Method::$variant),)+
                    Self::Other(_) => None,
                }
            }

            /// Sets the option with this key from its text; `false`: there is none, or it does not accept the text.
            pub(super) fn set(&mut self, key: &str, text: &str) -> bool {
                match self {
                    $(Self::$variant(options) => options.set(key, text),)+
                    Self::Other(_) => false,
                }
            }

            /// The options that were given, as keys and texts.
            pub(super) fn given(&self) -> Vec<(&'static str, String)> {
                match self {
                    $(Self::$variant(options) => options.given(),)+
                    Self::Other(_) => Vec::new(),
                }
            }

            /// The instants at which a sample starts and ends.
            pub fn path(&self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant(options) => options.path(),)+
                    Self::Other(_) => (OF_ANOTHER_VERSION, OF_ANOTHER_VERSION),
                }
            }

            /// The start of the stretch that a sample measures.
            pub fn stimulus(&self) -> Stimulus {
                match self {
                    $(Self::$variant(options) => Sampled::stimulus(options),)+
                    Self::Other(_) => Stimulus::Unknown,
                }
            }

            /// Words for a sample.
            pub fn sample(&self) -> SampleWord {
                match self {
                    $(Self::$variant(options) => Sampled::sample_word(options),)+
                    Self::Other(_) => SampleWord::OF_ANOTHER_VERSION,
                }
            }

            /// The end of the wire that the machine has; `None`: the method has no wire.
            pub fn end(&self) -> Option<Role> {
                match self {
                    $(Self::$variant(options) => options.end(),)+
                    Self::Other(_) => None,
                }
            }

            /// Divides the method between the target and the machine that gives the stimuli, see [`Sampled::divide`].
            ///
            /// # Errors
            /// [`Undivided`].
            pub fn divide(target: &mut Self, stimulus: &mut Self) -> Result<(), Undivided> {
                match (target, stimulus) {
                    $((Self::$variant(target), Self::$variant(stimulus)) => Sampled::divide(target, stimulus),)+
                    _ => Err(Undivided::NoRoles),
                }
            }
        }
    };
}

pub(super) use {method, methods};

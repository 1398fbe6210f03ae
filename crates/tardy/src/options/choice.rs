//! Options whose value is one of a few words, or the name of an entry in a list.

use archive::choice::Choice;
use archive::nearest::nearest;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use std::ffi::OsStr;
use std::sync::Arc;

/// A parser of the words of a setting; the help shows their meanings.
pub fn one_of<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let entries = T::CHOICES.iter().map(|(value, name, _)| Entry { value: *value, name, about: value.meaning() });
    entry_of(entries.collect())
}

/// An entry of a list.
#[derive(Debug, Clone)]
pub struct Entry<T> {
    pub value: T,
    pub name: &'static str,
    pub about: &'static str,
}

/// Parses the name of an entry; the help describes each.
pub fn entry_of<T: Clone + Send + Sync + 'static>(list: Vec<Entry<T>>) -> impl TypedValueParser<Value = T> {
    Listed(Arc::from(list))
}

#[derive(Clone)]
struct Listed<T>(Arc<[Entry<T>]>);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Listed<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, option: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let Self(list) = self.clone();
        let of_name = move |typed: String| {
            let entry = list.iter().find(|entry| entry.name == typed);
            entry.map(|entry| entry.value.clone()).ok_or_else(|| instead(&typed, &list))
        };
        StringValueParser::new().try_map(of_name).parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|entry| {
            let value = PossibleValue::new(entry.name);
            if entry.about.is_empty() { value } else { value.help(entry.about) }
        })))
    }
}

/// Names that a refusal lists.
const NAMES_MAX: usize = 12;

/// Why the word is refused, with the names that it may have been meant for, or else the first ones.
fn instead<T>(typed: &str, list: &[Entry<T>]) -> String {
    let names = || list.iter().map(|entry| entry.name);
    if let Some(name) = nearest(typed, names()) {
        return format!("`{typed}` is unknown; did you mean `{name}`?");
    }
    let part: Vec<&str> = names().filter(|name| !typed.is_empty() && name.contains(typed)).collect();
    match part.is_empty() {
        true => {
            let first: Vec<&str> = names().take(NAMES_MAX).collect();
            let more = list.len() - first.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more, which --help lists") };
            format!("`{typed}` is not one of {}{more}", first.join(", "))
        }
        false => format!("`{typed}` is unknown; did you mean `{}`?", part.join("` or `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    #[test]
    fn a_name_that_is_unknown_is_answered_with_names_like_it() {
        let list = ["histogram-csv", "worst-csv", "json"].map(|name| Entry { value: (), name, about: "" });
        let said = ["jsno", "csv", ""].map(|typed| instead(typed, &list));
        assert_sentence!("unknown-names", said.join("\n"));
        let long = vec![Entry { value: (), name: "x", about: "" }; 20];
        assert_sentence!("unknown-name-of-many", instead("banana", &long));
    }
}

//! Options whose value is one of a few words, or the name of an entry in a list.

use archive::choice::Choice;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A parser of the words of a setting; the help shows their meanings.
pub fn one_of<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let shown = T::CHOICES.iter().map(|(_, word, meaning)| {
        let shown = PossibleValue::new(*word);
        let meaning = meaning.trim().trim_end_matches('.');
        if meaning.is_empty() { shown } else { shown.help(meaning) }
    });
    PossibleValuesParser::new(shown).map(|word| T::of_word(&word).expect("only the words of the setting are possible"))
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
    let names: Vec<PossibleValue> = list.iter().map(|entry| PossibleValue::new(entry.name).help(entry.about)).collect();
    PossibleValuesParser::new(names).try_map(move |typed| {
        let entry = list.iter().find(|entry| entry.name == typed);
        entry.map(|entry| entry.value.clone()).ok_or("it is not in the list")
    })
}

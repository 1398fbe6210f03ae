//! Options whose values are the entries of a list.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// An entry of a list.
#[derive(Debug, Clone)]
pub struct Choice<T> {
    pub value: T,
    pub name: &'static str,
    pub about: &'static str,
}

/// Parses the name of an entry; the help describes each.
pub fn one_of<T: Clone + Send + Sync + 'static>(list: Vec<Choice<T>>) -> impl TypedValueParser<Value = T> {
    let names: Vec<PossibleValue> =
        list.iter().map(|choice| PossibleValue::new(choice.name).help(choice.about)).collect();
    PossibleValuesParser::new(names).try_map(move |typed| {
        let choice = list.iter().find(|choice| choice.name == typed);
        choice.map(|choice| choice.value.clone()).ok_or("it is not in the list")
    })
}

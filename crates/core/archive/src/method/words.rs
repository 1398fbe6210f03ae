//! Converts methods between their text form, `semaphore` or `semaphore:kind=sysv,partner=other`, and requests.

use super::{METHODS, Method, MethodOption, MethodRequest, Values};
use std::collections::BTreeMap;
use thiserror::Error;

/// What is wrong with the text of a method, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MethodWordsError {
    #[error("there is no method `{name}`; choose among {}", names())]
    Unknown { name: String },
    #[error("{method} has no option `{key}`; it has {}", keys(*method))]
    Key { method: Method, key: String },
    #[error("{key} of {method} is given twice")]
    Twice { method: Method, key: String },
    #[error("{key} of {method} needs a value, {key}=...")]
    NoValue { method: Method, key: String },
    #[error("{key} of {method} takes no value")]
    Flag { method: Method, key: String },
    #[error("{key} of {method} is one of {}, not `{value}`", values.join(", "))]
    Choice { method: Method, key: String, value: String, values: &'static [&'static str] },
    #[error("{key} of {method} is a number from {least} to {most}, not `{value}`")]
    Number { method: Method, key: String, value: String, least: u64, most: u64 },
}

fn names() -> String {
    METHODS.iter().map(|definition| definition.name).collect::<Vec<_>>().join(", ")
}

fn keys(method: Method) -> String {
    let keys: Vec<&str> = method.definition().options.iter().map(|option| option.key).collect();
    if keys.is_empty() { "none".into() } else { keys.join(", ") }
}

impl MethodRequest {
    /// Parses the value of `--method`.
    ///
    /// # Errors
    /// [`MethodWordsError`].
    pub fn parse(text: &str) -> Result<Self, MethodWordsError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = Method::called(name.trim()).ok_or_else(|| MethodWordsError::Unknown { name: name.into() })?;
        let mut options = BTreeMap::new();
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
            let value = checked(name, key, value)?;
            if options.insert(key.to_owned(), value).is_some() {
                return Err(MethodWordsError::Twice { method: name, key: key.into() });
            }
        }
        Ok(Self { name, options, threads: Vec::new() })
    }

    /// The value of `--method` for this request.
    pub fn text(&self) -> String {
        if self.options.is_empty() {
            return self.name.name().into();
        }
        let word =
            |(key, value): (&String, &String)| if value.is_empty() { key.clone() } else { format!("{key}={value}") };
        format!("{}:{}", self.name, self.options.iter().map(word).collect::<Vec<_>>().join(","))
    }
}

/// The value of an option, if it accepts it.
fn checked(method: Method, key: &str, value: Option<&str>) -> Result<String, MethodWordsError> {
    let known = |option: &&MethodOption| option.key == key;
    let key = key.to_owned();
    let Some(option) = method.definition().options.iter().find(known) else {
        return Err(MethodWordsError::Key { method, key });
    };
    match (option.values, value.filter(|value| !value.is_empty())) {
        (Values::Flag, None) => Ok(String::new()),
        (Values::Flag, Some(_)) => Err(MethodWordsError::Flag { method, key }),
        (_, None) => Err(MethodWordsError::NoValue { method, key }),
        (Values::Text, Some(value)) => Ok(value.into()),
        (Values::OneOf(values), Some(value)) if !values.contains(&value) => {
            Err(MethodWordsError::Choice { method, key, value: value.into(), values })
        }
        (Values::Number { least, most, .. }, Some(value))
            if !value.parse().is_ok_and(|number: u64| (least..=most).contains(&number)) =>
        {
            Err(MethodWordsError::Number { method, key, value: value.into(), least, most })
        }
        (Values::OneOf(_) | Values::Number { .. }, Some(value)) => Ok(value.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_comes_back_as_text() {
        for text in ["timer", "semaphore", "semaphore:kind=sysv", "semaphore:kind=posix,partner=other"] {
            assert_eq!(MethodRequest::parse(text).unwrap().text(), text);
        }
        let request = MethodRequest::parse("semaphore").unwrap();
        assert_eq!((request.value("kind"), request.value("partner")), (Some("posix"), Some("same")));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("", "choose among timer, semaphore"),
            ("semafore", "choose among timer"),
            ("timer:kind=sysv", "it has none"),
            ("semaphore:kin=sysv", "it has kind, partner"),
            ("semaphore:kind=mutex", "one of posix, sysv"),
            ("semaphore:kind", "needs a value"),
            ("semaphore:kind=sysv,kind=posix", "twice"),
        ] {
            let refused = MethodRequest::parse(text).unwrap_err().to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    #[test]
    fn every_method_is_stored_under_the_name_that_is_typed() {
        for definition in &METHODS {
            assert_eq!(serde_json::to_value(definition.method).unwrap(), serde_json::json!(definition.name));
            assert_eq!(Method::called(definition.name), Some(definition.method));
            assert_eq!(definition.method.definition().name, definition.name);
        }
    }
}

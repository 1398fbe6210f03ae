//! Converts methods between their text form, `semaphore` or `semaphore:kind=sysv,partner=other`, and requests.

use super::{METHODS, Method, MethodRequest, Values};
use crate::nearest::nearest_or;
use thiserror::Error;

/// The error in the text of a method, with the right text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MethodWordsError {
    #[error("there is no method `{name}`; {}", nearest_or(name, METHODS.iter().map(|definition| definition.name), &format!("choose among {}", names())))]
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
    let keys: Vec<&str> = method.definition().entry.options.iter().map(|option| option.key).collect();
    if keys.is_empty() { "none".into() } else { keys.join(", ") }
}

impl MethodRequest {
    /// Parses the value of `--method`.
    ///
    /// # Errors
    /// [`MethodWordsError`].
    pub fn parse(text: &str) -> Result<Self, MethodWordsError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let method =
            Method::called(name.trim()).ok_or_else(|| MethodWordsError::Unknown { name: name.trim().into() })?;
        let mut options = method.options();
        let mut keys = Vec::new();
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if !options.set(key, value) {
                return Err(refused(method, key, value));
            }
            if keys.contains(&key) {
                return Err(MethodWordsError::Twice { method, key: key.into() });
            }
            keys.push(key);
        }
        Ok(options.into())
    }

    /// The value of `--method` for this request.
    pub fn text(&self) -> String {
        let word = |(key, text): (String, String)| if text.is_empty() { key } else { format!("{key}={text}") };
        let words: Vec<String> = self.texts().into_iter().map(word).collect();
        if words.is_empty() { self.name().into() } else { format!("{}:{}", self.name(), words.join(",")) }
    }
}

/// Why an option was not set.
fn refused(method: Method, key: &str, value: &str) -> MethodWordsError {
    let option = method.definition().entry.options.iter().find(|option| option.key == key);
    let (key, value) = (key.to_owned(), value.to_owned());
    match option.map(|option| option.values) {
        None => MethodWordsError::Key { method, key },
        Some(Values::Flag) => MethodWordsError::Flag { method, key },
        Some(_) if value.is_empty() => MethodWordsError::NoValue { method, key },
        Some(Values::OneOf(values)) => MethodWordsError::Choice { method, key, value, values },
        Some(Values::Number { least, most, .. }) => MethodWordsError::Number { method, key, value, least, most },
        Some(Values::Text) => MethodWordsError::NoValue { method, key },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{MethodOptions, Partner, semaphore};
    use fixtures::assert_sentence;

    #[test]
    fn a_request_is_rendered_as_it_was_typed() {
        for text in ["timer", "semaphore", "semaphore:kind=sysv", "semaphore:kind=posix,partner=other", "noise:rt"] {
            assert_eq!(MethodRequest::parse(text).unwrap().text(), text);
        }
        let MethodOptions::Semaphore(semaphore) = MethodRequest::parse("semaphore").unwrap().options else { panic!() };
        assert_eq!((semaphore.kind(), semaphore.partner()), (semaphore::Kind::Posix, Partner::Same));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("", "choose among timer, semaphore"),
            ("semafore", "did you mean `semaphore`?"),
            ("nonsense", "choose among timer"),
            ("timer:kind=sysv", "it has none"),
            ("semaphore:kin=sysv", "it has kind, partner"),
            ("semaphore:kind=mutex", "one of posix, sysv"),
            ("semaphore:kind", "needs a value"),
            ("semaphore:kind=", "needs a value"),
            ("semaphore:kind=sysv,kind=posix", "twice"),
            ("uio:device", "needs a value"),
            ("noise:rt=1", "takes no value"),
            ("rtc:hz=1", "a number from 2 to 8192"),
            ("rtc:hz=fast", "a number from 2 to 8192"),
            ("gpio:r#in=1", "it has role, chip, in, out"),
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

    #[test]
    fn every_option_is_set_and_rendered_under_its_key() {
        for definition in &METHODS {
            for option in definition.entry.options {
                let word = match option.values {
                    Values::OneOf(values) => format!("{}={}", option.key, values[values.len() - 1]),
                    Values::Number { most, .. } => format!("{}={most}", option.key),
                    Values::Text => format!("{}=x", option.key),
                    Values::Flag => option.key.to_owned(),
                };
                let text = format!("{}:{word}", definition.name);
                assert_eq!(MethodRequest::parse(&text).unwrap().text(), text);
            }
        }
    }

    #[test]
    fn the_path_follows_the_options_and_their_defaults() {
        let requests = [
            "timer",
            "audio:sample=loop",
            "audio:direction=capture",
            "gpio:in=1,out=2",
            "gpio:in=1,out=2,role=stimulus",
            "gpio:in=1,out=2,role=stimulus,sample=arrival",
        ];
        let lines = requests.map(|text| format!("{text}: {}", MethodRequest::parse(text).unwrap().path().0));
        assert_sentence!("method-paths", lines.join("\n"));
    }
}

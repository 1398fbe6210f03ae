//! Options of a format: each declared once, beside the formats that have it.

use super::FORMATS;
use std::collections::BTreeMap;
use std::path::PathBuf;
use thiserror::Error;

/// An option of some formats.
#[derive(Debug)]
pub struct ExportOption {
    /// As typed, without dashes.
    pub name: &'static str,
    /// A clause of help, which follows the names of the formats.
    pub about: &'static str,
    pub value: OptionValue,
}

/// The value of an option.
#[derive(Debug)]
pub enum OptionValue {
    /// Given or not.
    Flag,
    Text {
        /// Stands for the value in the help.
        placeholder: &'static str,
        default: Option<&'static str>,
        /// The expected form, if the text does not have it.
        check: fn(&str) -> Result<(), OptionForm>,
    },
    /// A file that the user names; formats see its text.
    File { placeholder: &'static str },
}

/// The form that the text of an option must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionForm {
    #[error("an origin has lower-case letters, digits and _ only")]
    Origin,
    #[error("the id of a build looks like origin:number")]
    BuildId,
    #[error("neither the number of a spike nor `all`")]
    Spike,
}

/// A file that the user named.
#[derive(Debug, Clone)]
pub struct FileText {
    pub path: PathBuf,
    pub text: String,
}

/// Values of options.
#[derive(Debug, Clone, Default)]
pub struct Options {
    flags: Vec<&'static str>,
    texts: BTreeMap<&'static str, String>,
    files: BTreeMap<&'static str, FileText>,
}

impl Options {
    pub fn set(&mut self, option: &'static ExportOption) {
        self.flags.push(option.name);
    }

    pub fn set_text(&mut self, option: &'static ExportOption, text: String) {
        self.texts.insert(option.name, text);
    }

    pub fn set_file(&mut self, option: &'static ExportOption, file: FileText) {
        self.files.insert(option.name, file);
    }

    pub fn is_set(&self, option: &ExportOption) -> bool {
        self.flags.contains(&option.name)
    }

    /// The given text, or the default.
    pub fn text(&self, option: &ExportOption) -> Option<&str> {
        match (self.texts.get(option.name), &option.value) {
            (None, OptionValue::Text { default, .. }) => *default,
            (given, _) => given.map(String::as_str),
        }
    }

    pub fn file(&self, option: &ExportOption) -> Option<&FileText> {
        self.files.get(option.name)
    }
}

/// Every option of the formats once, with the names of those that have it.
pub fn options() -> Vec<(&'static ExportOption, Vec<&'static str>)> {
    let mut found: Vec<(&'static ExportOption, Vec<&'static str>)> = Vec::new();
    for format in FORMATS {
        for option in format.options() {
            match found.iter_mut().find(|(known, _)| known.name == option.name) {
                Some((_, formats)) => formats.push(format.name()),
                None => found.push((option, vec![format.name()])),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_several_formats_is_one_declaration() {
        for format in FORMATS {
            for option in format.options() {
                let (declared, _) = options().into_iter().find(|(known, _)| known.name == option.name).unwrap();
                assert_eq!(declared.about, option.about, "--{} of {}", option.name, format.name());
            }
        }
    }
}

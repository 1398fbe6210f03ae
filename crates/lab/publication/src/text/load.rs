//! Loads and options: names and words that tardy declares stay, and figures.

use super::Anonymiser;
use crate::figure::is_figure;
use archive::load::{PROGRAM_LOADS, builtin, program};
use archive::method::{METHODS, Values};
use archive::settings::LoadRequest;

impl Anonymiser<'_> {
    /// A load by its name, with figures as options; everything else is a command.
    pub(super) fn load(&mut self, text: &str, kind: &'static str) -> String {
        let is_known = |name: &str| builtin(name).is_some() || program(name).is_some() || name == "none";
        if is_known(text) {
            return text.into();
        }
        match LoadRequest::parse(text) {
            Ok(LoadRequest::Builtin { name, .. }) if is_known(&name) => text.into(),
            Ok(LoadRequest::Program { name, mut words }) if is_known(&name) => {
                for word in &mut words {
                    word.value = self.load_option(&word.value, kind);
                }
                LoadRequest::Program { name, words }.text()
            }
            _ => self.pseudonym("load", kind, text),
        }
    }

    /// The key of an option, or its value.
    pub(super) fn load_option(&mut self, text: &str, kind: &'static str) -> String {
        match is_figure(text) || is_declared(text) || self.is_kept(text) {
            true => text.into(),
            false => self.pseudonym("value", kind, text),
        }
    }
}

fn is_declared(text: &str) -> bool {
    let method = METHODS
        .iter()
        .flat_map(|definition| definition.entry.options)
        .any(|option| option.key == text || matches!(option.values, Values::OneOf(values) if values.contains(&text)));
    method || PROGRAM_LOADS.iter().flat_map(|load| load.options).any(|option| option.key == text)
}

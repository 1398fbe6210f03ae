//! Reads the metadata that is needed to decode a trace elsewhere.

use super::{Instance, Tracefs, TracefsError, file};
use crate::metadata::MetadataText;

impl Tracefs {
    /// Texts for the given (system, event) pairs and all of system `ftrace`, which markers and tracers write. Events
    /// that this kernel lacks are left out; `kallsyms` stays empty.
    pub fn metadata<S: AsRef<str>>(&self, events: &[(S, S)]) -> Result<MetadataText, TracefsError> {
        let folder = self.root.join("events");
        let mut wanted: Vec<(String, String)> =
            file::folder_names(&folder.join("ftrace")).into_iter().map(|name| ("ftrace".to_owned(), name)).collect();
        wanted.extend(events.iter().map(|(system, name)| (system.as_ref().to_owned(), name.as_ref().to_owned())));
        wanted.sort();
        wanted.dedup();
        let mut event_formats = Vec::with_capacity(wanted.len());
        for (system, name) in wanted {
            match file::read(&folder.join(&system).join(&name).join("format")) {
                Ok(text) => event_formats.push((system, text)),
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(MetadataText {
            header_page: file::read(&folder.join("header_page"))?,
            header_event: file::read(&folder.join("header_event"))?,
            event_formats,
            // Both need kernel options; a trace is usable without thread names or string addresses.
            saved_cmdlines: file::read(&self.root.join("saved_cmdlines")).unwrap_or_default(),
            printk_formats: file::read(&self.root.join("printk_formats")).unwrap_or_default(),
            kallsyms: String::new(),
        })
    }
}

impl Instance {
    /// As [`Tracefs::metadata`]: formats, names and addresses are the same in every instance.
    pub fn metadata<S: AsRef<str>>(&self, events: &[(S, S)]) -> Result<MetadataText, TracefsError> {
        Tracefs::at(self.root()).metadata(events)
    }
}

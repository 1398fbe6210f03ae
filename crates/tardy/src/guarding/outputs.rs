//! Where accounts go beside the log: a line on standard error, counters for Prometheus, a webhook.

use super::config::GuardConfig;
use super::figures::Figures;
#[cfg(feature = "lab")]
use super::webhook::Sender;
use archive::atomic_file::write_atomically;
use std::io::Write;
use std::path::{Path, PathBuf};
use words::printable::printable;

/// Set where standard error is the journal, which then reads a priority before a line.
const JOURNAL_STREAM: &str = "JOURNAL_STREAM";

/// The configured outputs.
pub struct Outputs {
    line: bool,
    to_journal: bool,
    textfile: Option<PathBuf>,
    textfile_failed: bool,
    #[cfg(feature = "lab")]
    webhook: Option<Sender>,
}

/// How much a line matters to a reader of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Warning,
    Notice,
}

impl Outputs {
    /// Opens them; relative paths start in `folder`.
    ///
    /// # Errors
    /// If the webhook cannot be used, or the text file not be written.
    pub fn open(config: &GuardConfig, folder: &Path) -> anyhow::Result<Self> {
        let outputs = Self {
            line: config.outputs.line,
            to_journal: std::env::var_os(JOURNAL_STREAM).is_some(),
            textfile: config.outputs.textfile.as_ref().map(|path| folder.join(path)),
            textfile_failed: false,
            #[cfg(feature = "lab")]
            webhook: config.webhook.clone().map(|webhook| Sender::start(webhook, folder)).transpose()?,
        };
        if let Some(path) = &outputs.textfile {
            write_atomically(path, Figures::default().prometheus().as_bytes())?;
        }
        Ok(outputs)
    }

    /// One line on standard error.
    pub fn line(&self, weight: Weight, text: &str) {
        if !self.line {
            return;
        }
        let priority = match (self.to_journal, weight) {
            (false, _) => "",
            (true, Weight::Warning) => "<4>",
            (true, Weight::Notice) => "<5>",
        };
        let _ = writeln!(std::io::stderr(), "{priority}tardy guard: {}", printable(text));
    }

    /// Sends an account to the webhook.
    #[cfg_attr(not(feature = "lab"), expect(unused_variables, clippy::unused_self))]
    pub fn deliver(&self, number: u64, line: &str) {
        #[cfg(feature = "lab")]
        if let Some(webhook) = &self.webhook {
            webhook.send(number, line);
        }
    }

    /// Writes the counters.
    pub fn count(&mut self, figures: &mut Figures) {
        #[cfg(feature = "lab")]
        if let Some(webhook) = &self.webhook {
            figures.undelivered = webhook.undelivered();
        }
        let Some(path) = &self.textfile else { return };
        let written = write_atomically(path, figures.prometheus().as_bytes());
        if let Err(error) = &written
            && !self.textfile_failed
        {
            self.line(Weight::Warning, &format!("{error}; the counters are old until it can be written"));
        }
        self.textfile_failed = written.is_err();
    }

    /// Waits for what is still being sent.
    pub fn end(self) {
        #[cfg(feature = "lab")]
        if let Some(webhook) = self.webhook {
            webhook.end();
        }
    }
}

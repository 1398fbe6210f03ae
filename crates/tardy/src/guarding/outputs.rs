//! Where accounts go beside the log: a line on standard error, counters for Prometheus, other machines.

use super::config::GuardConfig;
#[cfg(feature = "lab")]
use super::delivery::{Delivery, Logged};
use super::figures::Figures;
#[cfg(feature = "lab")]
use super::remote::{Place, start};
use archive::atomic_file::write_atomically;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
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
    remote: Vec<Delivery>,
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
    /// If one cannot be used, or the text file not be written.
    #[cfg_attr(not(feature = "lab"), expect(unused_variables))]
    pub fn open(config: &GuardConfig, folder: &Path, figures: &Arc<Mutex<Figures>>) -> anyhow::Result<Self> {
        #[cfg(feature = "lab")]
        let place = Place {
            folder,
            ring: &config.ring.directory,
            host: machines::KnownTarget::local().host_name(),
            figures: Arc::clone(figures),
        };
        let outputs = Self {
            line: config.outputs.line,
            to_journal: std::env::var_os(JOURNAL_STREAM).is_some(),
            textfile: config.outputs.textfile.as_ref().map(|path| folder.join(path)),
            textfile_failed: false,
            #[cfg(feature = "lab")]
            remote: start_all(config, &place)?,
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

    /// Hands an entry of the log to the outputs on other machines.
    #[cfg_attr(not(feature = "lab"), expect(unused_variables, clippy::unused_self))]
    pub fn deliver(&self, line: &str) {
        #[cfg(feature = "lab")]
        if !self.remote.is_empty()
            && let Some(entry) = Logged::of(line.to_owned())
        {
            self.remote.iter().for_each(|output| output.add(&entry));
        }
    }

    /// Writes the counters.
    pub fn count(&mut self, figures: &mut Figures) {
        #[cfg(feature = "lab")]
        self.remote.iter().for_each(|output| output.count(figures));
        let Some(path) = &self.textfile else { return };
        let written = write_atomically(path, figures.prometheus().as_bytes());
        if let Err(error) = &written
            && !self.textfile_failed
        {
            self.line(Weight::Warning, &format!("{error}; the counters are old until it can be written"));
        }
        self.textfile_failed = written.is_err();
    }

    /// Waits some seconds for what is still being sent, and writes the last counters.
    pub fn end(mut self, figures: &Mutex<Figures>) {
        let locked = || figures.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(feature = "lab")]
        {
            self.remote.iter().for_each(Delivery::end);
            for output in std::mem::take(&mut self.remote) {
                // Its thread reads the figures.
                let counted = output.join();
                locked().deliveries.extend([counted]);
            }
        }
        self.count(&mut locked());
    }
}

/// Starts every output on another machine that the configuration has.
///
/// # Errors
/// Errors of [`start`].
#[cfg(feature = "lab")]
pub fn start_all(config: &GuardConfig, place: &Place<'_>) -> anyhow::Result<Vec<Delivery>> {
    let outputs = [
        start(config.webhook.clone(), place)?,
        start(config.mqtt.clone(), place)?,
        start(config.otlp.clone(), place)?,
        start(config.lab.clone(), place)?,
    ];
    Ok(outputs.into_iter().flatten().collect())
}

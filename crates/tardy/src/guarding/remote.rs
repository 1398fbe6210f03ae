//! The outputs to other machines. Each is one type, [`Output`], with the settings of its table, which open it.

mod lab;
mod mqtt;
mod otlp;
mod webhook;

use super::delivery::{Delivery, Output};
use super::figures::Figures;
use crate::exit::UsageError;
use alerts::Failure;
pub use lab::LabSettings;
pub use mqtt::MqttSettings;
pub use otlp::OtlpSettings;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Parameters of every output.
pub struct Place<'a> {
    /// Relative paths of the configuration start here.
    pub folder: &'a Path,
    /// The directory of the ring.
    pub ring: &'a Path,
    pub host: String,
    pub figures: Arc<Mutex<Figures>>,
}

/// A table of the configuration.
pub trait Settings {
    type Opened: Output;

    /// Reads the secrets, and refuses what cannot work.
    ///
    /// # Errors
    /// A mistake in the table, in words.
    fn open(self, place: &Place<'_>) -> Result<Self::Opened, String>;
}

/// Starts the output of a table, if there is one.
///
/// # Errors
/// A [`UsageError`] about the table, or if a thread cannot be started.
pub fn start<S: Settings>(settings: Option<S>, place: &Place<'_>) -> anyhow::Result<Option<Delivery>> {
    let Some(settings) = settings else { return Ok(None) };
    let named = |because| UsageError(format!("[{}]: {because}", S::Opened::NAME));
    let opened = settings.open(place).map_err(named)?;
    Delivery::start(opened, place.ring, Arc::clone(&place.figures)).map(Some)
}

/// A failure that does not go away with the next attempt.
fn refused(because: String) -> Failure {
    Failure { is_final: true, ..Failure::of(because) }
}

#[cfg(test)]
mod tests;

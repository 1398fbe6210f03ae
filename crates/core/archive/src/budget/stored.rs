//! The most that the files of a finished archive take, by the settings in its manifest.

use super::allowance::Allowance;
use super::files::{Kind, SentFiles};
use super::share::{Excess, Share};
use crate::layout::{FLIGHT_BYTES_MAX, FileKind, MANIFEST, MANIFEST_BYTES_MAX, STREAM, file_kind};
use crate::manifest::Manifest;
use crate::recorded::{RECORDED_BYTES_MAX, RECORDED_FILE};
use std::time::Duration;

/// Messages that a host adds to the stream of a run: the plan, absences of CPUs, figures of other machines, its own problems.
const STREAM_BYTES_OF_HOST: u64 = 64 << 20;

/// The budget of an archive as files, charged one after the other.
#[derive(Debug)]
pub struct StoredBudget {
    allowance: Allowance,
    lasted: Duration,
    count: u64,
    files: SentFiles,
    in_virtual_time: bool,
}

impl StoredBudget {
    /// `None` for an import: another tool measured, and no settings bound what it recorded.
    pub fn of(manifest: &Manifest) -> Option<Self> {
        let settings = manifest.settings.as_ref().filter(|_| manifest.imported.is_none())?;
        Some(Self {
            allowance: Allowance::of(settings),
            lasted: manifest.lasted(),
            count: 0,
            files: SentFiles::of(settings),
            in_virtual_time: manifest.virtual_time,
        })
    }

    /// Charges a file of the archive by its path.
    ///
    /// # Errors
    /// [`Excess`] if the run cannot have recorded it.
    pub fn charge(&mut self, path: &str, bytes: u64) -> Result<(), Excess> {
        let within = |share, used, most| if used > most { Err(Excess { share, most }) } else { Ok(()) };
        match path {
            MANIFEST => return within(Share::FileBytes, bytes, MANIFEST_BYTES_MAX),
            RECORDED_FILE => return within(Share::FileBytes, bytes, RECORDED_BYTES_MAX),
            STREAM => {
                let most = self.allowance.most(Share::StreamBytes, self.lasted);
                return within(Share::StreamBytes, bytes, most.saturating_add(STREAM_BYTES_OF_HOST));
            }
            _ => {}
        }
        self.count += 1;
        within(Share::Files, self.count, self.allowance.most(Share::Files, self.lasted))?;
        match file_kind(path) {
            // A host records them, after the run.
            Some(FileKind::FlightRecord { .. }) if self.in_virtual_time => {
                within(Share::FileBytes, bytes, FLIGHT_BYTES_MAX)
            }
            Some(kind) => self.files.add(Kind::of(kind), bytes),
            // A later version may have files of another kind.
            None => self.files.add(Kind::Pages, bytes),
        }
    }
}

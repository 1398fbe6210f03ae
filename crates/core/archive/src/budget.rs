//! The most that a run may send by its settings: messages, bytes, files and open files, counted in one place.
//!
//! A target is untrusted. More than its run can produce is a defect of the target, and its host ends the run.

mod allowance;
mod figures;
mod files;
mod share;
mod stored;

pub use share::{Excess, Share};
pub use stored::StoredBudget;

use crate::frame::Item;
use crate::message::Message;
use crate::settings::RunSettings;
use allowance::Allowance;
use figures::HeldFigures;
use files::SentFiles;
use std::collections::BTreeMap;
use std::time::Duration;

/// The budget of one run.
#[derive(Debug)]
pub struct Budget {
    allowance: Allowance,
    used: BTreeMap<Share, u64>,
    files: SentFiles,
    figures: HeldFigures,
    ended: bool,
}

impl Budget {
    pub fn of(settings: &RunSettings) -> Self {
        Self {
            allowance: Allowance::of(settings),
            used: BTreeMap::new(),
            files: SentFiles::of(settings),
            figures: HeldFigures::default(),
            ended: false,
        }
    }

    /// Charges an item of the target's stream. `elapsed`: since the start of the run, on a clock that the target does not set.
    ///
    /// # Errors
    /// [`Excess`] if it is more than the run may send.
    pub fn charge(&mut self, item: &Item, elapsed: Duration) -> Result<(), Excess> {
        if self.ended && matches!(item, Item::Message(_) | Item::Chunk { .. }) {
            return Err(Excess { share: Share::AfterTheEnd, most: 0 });
        }
        self.ended |= matches!(item, Item::Message(Message::End { .. }));
        for (share, count) in Share::of(item) {
            self.add(share, count, elapsed)?;
        }
        if let Item::Message(message) = item {
            let held = self.figures.hold(message);
            self.within(Share::HeldBytes, held, elapsed)?;
        }
        self.files.charge(item)
    }

    /// Charges the bytes that an item took in the stream of the archive.
    ///
    /// # Errors
    /// [`Excess`].
    pub fn charge_stored(&mut self, bytes: u64, elapsed: Duration) -> Result<(), Excess> {
        self.add(Share::StreamBytes, bytes, elapsed)
    }

    /// The most of a share that may have come `elapsed` after the start.
    pub fn most(&self, share: Share, elapsed: Duration) -> u64 {
        self.allowance.most(share, elapsed)
    }

    fn add(&mut self, share: Share, count: u64, elapsed: Duration) -> Result<(), Excess> {
        let used = self.used.entry(share).or_default();
        *used = used.saturating_add(count);
        let used = *used;
        self.within(share, used, elapsed)
    }

    fn within(&self, share: Share, used: u64, elapsed: Duration) -> Result<(), Excess> {
        let most = self.most(share, elapsed);
        if used > most { Err(Excess { share, most }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;

//! Records of seconds that wait to be packed: a long run writes many of them together.

use crate::manifest::Manifest;
use crate::message::Message;
use crate::sample::Second;
use crate::second_records::{PACKED_MAX, PackedSeconds, SecondRecords};

/// Longest run in ns whose seconds are written one by one.
const SHORT_NS_MAX: u64 = 3_600_000_000_000;
/// Seconds that a killed host loses at most.
const WAITING_S_MAX: u32 = 30;

/// Records that are not in the stream yet.
#[derive(Debug, Default)]
pub(super) struct WaitingSeconds {
    packs: bool,
    records: Vec<Second>,
}

impl WaitingSeconds {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let settings = manifest.settings.as_ref();
        let is_long = |ns: Option<u64>| ns.is_none_or(|ns| ns > SHORT_NS_MAX);
        Self { packs: settings.is_some_and(|settings| is_long(settings.duration_ns)), ..Self::default() }
    }

    pub(super) fn packs(&self) -> bool {
        self.packs
    }

    /// Takes records; returns the messages to write now.
    pub(super) fn add(&mut self, seconds: &[Second]) -> Vec<Message> {
        let mut messages = Vec::new();
        for second in seconds {
            self.records.push(*second);
            let first = self.records[0].second;
            if self.records.len() >= PACKED_MAX || second.second.saturating_sub(first) >= WAITING_S_MAX {
                messages.extend(self.take());
            }
        }
        messages
    }

    /// The records that wait, as a message.
    pub(super) fn take(&mut self) -> Option<Message> {
        let mut records = std::mem::take(&mut self.records);
        // Consecutive seconds of one thread differ least.
        records.sort_by_key(|second| second.thread);
        let records: SecondRecords = records.into();
        (!records.is_empty()).then(|| Message::PackedSeconds(PackedSeconds::of(&records)))
    }
}

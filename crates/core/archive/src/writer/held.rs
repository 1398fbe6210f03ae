//! Files of spikes that arrive during a measurement on the machine that stores them, in memory until it is over.
//!
//! Making a directory and a file keeps a kernel without preemption busy for some 100 µs on a CPU that may be measured.

use crate::frame::Item;
use crate::layout::FileKind;
use crate::message::Message;
use std::collections::BTreeMap;

/// Limit for the bytes in memory; more are written during the measurement.
pub const HELD_BYTES_MAX: u64 = 24 << 20;

/// Items that are not written yet, in the order of their arrival.
#[derive(Debug, Default)]
pub struct Held {
    pub on: bool,
    items: Vec<Item>,
    /// Kind by number of every file of which an item is held.
    files: BTreeMap<u32, FileKind>,
    bytes: u64,
}

impl Held {
    /// Whether this item was kept, to be written later.
    pub fn keeps(&mut self, item: &Item) -> bool {
        let keep = match item {
            Item::Message(Message::FileBegin { file, kind }) => {
                let keep = self.on && (kind.spike().is_some() || matches!(kind, FileKind::LatencyTrace { .. }));
                if keep {
                    self.files.insert(*file, *kind);
                }
                keep
            }
            Item::Message(Message::FileEnd { file, .. }) | Item::Chunk { file, .. } => self.files.contains_key(file),
            _ => false,
        };
        if keep {
            self.bytes += bytes_of(item);
            self.items.push(item.clone());
        }
        keep
    }

    /// Forgets the files of a spike that was dropped.
    pub fn forget_spike(&mut self, number: u32) {
        let is_of_it = |kind: &FileKind| kind.spike() == Some(number);
        let dropped: Vec<u32> = self.files.iter().filter(|(_, kind)| is_of_it(kind)).map(|(file, _)| *file).collect();
        for file in dropped {
            self.items.retain(|item| file_of(item) != Some(file));
            self.files.remove(&file);
        }
        self.bytes = self.items.iter().map(bytes_of).sum();
    }

    pub fn is_full(&self) -> bool {
        self.bytes > HELD_BYTES_MAX
    }

    /// Everything that was kept.
    pub fn take(&mut self) -> Vec<Item> {
        self.files.clear();
        self.bytes = 0;
        std::mem::take(&mut self.items)
    }
}

fn bytes_of(item: &Item) -> u64 {
    if let Item::Chunk { data, .. } = item { data.len() as u64 } else { 0 }
}

fn file_of(item: &Item) -> Option<u32> {
    match item {
        Item::Chunk { file, .. } | Item::Message(Message::FileBegin { file, .. } | Message::FileEnd { file, .. }) => {
            Some(*file)
        }
        _ => None,
    }
}

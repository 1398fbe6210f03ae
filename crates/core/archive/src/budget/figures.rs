//! Figures and texts of a run that its host keeps in memory until the end.

use crate::histogram::Histogram;
use crate::message::Message;
use crate::problem::Problem;
use std::collections::BTreeMap;

/// Bytes of one bucket, and of one list entry around its texts.
const BUCKET_BYTES: u64 = 16;
const ENTRY_BYTES: u64 = 128;

/// Bytes of what is held; a later state of a thread replaces an earlier one.
#[derive(Debug, Default)]
pub(super) struct HeldFigures {
    threads: BTreeMap<u32, u64>,
    series: BTreeMap<(String, u32), u64>,
    bytes: u64,
}

impl HeldFigures {
    /// Adds what a message leaves in memory, and returns the bytes of all.
    pub(super) fn hold(&mut self, message: &Message) -> u64 {
        match message {
            Message::Thread { thread, histogram, .. } => {
                let bytes = bytes_of(histogram);
                let before = self.threads.insert(*thread, bytes);
                self.replace(before, bytes);
            }
            Message::KernelSeries(series) => {
                for one in series {
                    let bytes = bytes_of(&one.histogram) + text(&one.name);
                    let before = self.series.insert((one.name.clone(), one.cpu), bytes);
                    self.replace(before, bytes);
                }
            }
            Message::Problem(Problem { text: words, fix, .. }) => self.replace(None, text(words) + text(fix)),
            Message::Loss(loss) => self.replace(None, text(&loss.detail)),
            _ => {}
        }
        self.bytes
    }

    fn replace(&mut self, before: Option<u64>, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(before.unwrap_or(0)).saturating_add(bytes);
    }
}

fn bytes_of(histogram: &Histogram) -> u64 {
    ENTRY_BYTES + histogram.buckets.len() as u64 * BUCKET_BYTES
}

fn text(words: &str) -> u64 {
    ENTRY_BYTES + words.len() as u64
}

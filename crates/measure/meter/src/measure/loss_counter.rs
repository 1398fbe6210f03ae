//! A loss of a measuring thread that only its method has, with its own words.

use archive::loss::{Loss, LossKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts a loss.
#[derive(Debug)]
pub struct LossCounter {
    kind: LossKind,
    detail: &'static str,
    count: AtomicU64,
}

impl LossCounter {
    pub fn new(kind: LossKind, detail: &'static str) -> Arc<Self> {
        Arc::new(Self { kind, detail, count: AtomicU64::new(0) })
    }

    pub fn add(&self, count: u64) {
        self.count.fetch_add(count, Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    pub fn loss(&self) -> Loss {
        Loss { kind: self.kind.clone(), count: self.count(), detail: self.detail.into() }
    }
}

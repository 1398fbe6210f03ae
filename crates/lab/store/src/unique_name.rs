//! Names of rows that no other process chooses.

use crate::database::now_unix_ns;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicU64, Ordering};

/// A name that no other process chooses: of this process, this instant, and a number.
pub fn unique_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut hasher = Sha256::new();
    hasher.update(std::fs::read("/proc/sys/kernel/random/uuid").unwrap_or_default());
    hasher.update(std::process::id().to_le_bytes());
    hasher.update(now_unix_ns().to_le_bytes());
    hasher.update(NUMBER.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

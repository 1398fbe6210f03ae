//! The directory of journals: on a disk that survives a power failure, if a writable one exists.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

/// The first writable directory: `TARDY_STATE_DIR`, /var/lib/tardy, /run/tardy, the temporary directory.
pub fn state_directory() -> PathBuf {
    if let Some(chosen) = std::env::var_os("TARDY_STATE_DIR") {
        return PathBuf::from(chosen);
    }
    let candidates = [PathBuf::from("/var/lib/tardy"), PathBuf::from("/run/tardy")];
    let usable = candidates.into_iter().find(|directory| {
        let probe = directory.join(format!(".probe-{}", std::process::id()));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        // A link of this name is not followed.
        let written = made.and_then(|()| OpenOptions::new().write(true).create_new(true).mode(0o600).open(&probe));
        let _ = std::fs::remove_file(&probe);
        written.is_ok()
    });
    usable.unwrap_or_else(|| std::env::temp_dir().join(format!("tardy-{}", rustix::process::getuid().as_raw())))
}

/// Journals of runs.
pub fn journal_directory() -> PathBuf {
    state_directory().join("journal")
}

/// Journals of changes that outlive the process that made them.
pub fn applied_directory() -> PathBuf {
    state_directory().join("applied")
}

/// Journals of the changes that let a user measure without root.
pub fn setup_directory() -> PathBuf {
    state_directory().join("setup")
}

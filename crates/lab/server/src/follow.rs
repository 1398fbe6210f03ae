//! Adds the archives below the directory of the lab to its index, as they come, and queues the plans that are due.

use crate::known_archives::Stamp;
use crate::site::Site;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// Between two looks at the directory.
const EVERY: Duration = Duration::from_secs(5);

/// Looks for archives until the server ends.
pub async fn follow(site: Arc<Site>) {
    loop {
        add_new_archives(&site).await;
        // A database that is away answers at a later look: what is due stays due.
        if let Ok(now) = site.store().now_unix_ns().await {
            let _ = site.store().queue_due(now).await;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Adds every archive that is new or has changed.
pub async fn add_new_archives(site: &Arc<Site>) {
    let of = Arc::clone(site);
    let changed = tokio::task::spawn_blocking(move || {
        // They take room and nothing else; the next look tries again.
        let _ = of.store().remove_abandoned_uploads();
        of.known_archives().changed(of.archives().below(of.directory()))
    });
    let changed = changed.await.unwrap_or_default();
    let mut running = Vec::new();
    for (at, (path, stamp)) in changed.iter().enumerate() {
        site.known_archives().set_waiting(changed.len() - at);
        running.extend(add(site, path, *stamp).await);
    }
    site.running_runs().set(site.directory(), running.into_iter());
    site.known_archives().set_waiting(0);
}

/// Adds an archive; one of a run in progress is added once it has ended, and returned until then.
async fn add(site: &Site, path: &Path, stamp: Stamp) -> Option<PathBuf> {
    // What it leads to may be anywhere, and may change after it was indexed.
    if path.is_symlink() {
        site.known_archives().failed(path, stamp, &StoreError::Linked(path.to_owned()));
        return None;
    }
    match site.store().ingest(path).await {
        Err(StoreError::GoesOn(_)) => {
            site.running_runs().add(site.directory(), path);
            return Some(path.to_owned());
        }
        Err(error) => site.known_archives().failed(path, stamp, &error),
        Ok(_) => site.known_archives().added(path, stamp),
    }
    None
}

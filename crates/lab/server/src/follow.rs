//! Adds the archives below the directory of the lab to its index, as they come, and queues the plans that are due.

use crate::site::Site;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use store::StoreError;

/// Between two looks at the directory.
const EVERY: Duration = Duration::from_secs(5);
/// The file that is written first and last.
const MANIFEST: &str = "manifest.json";

/// When the manifest of an archive was written last, and its length: what was read once is not read again.
type Stamp = (Option<SystemTime>, u64);

/// What is known of the archives of the directory.
#[derive(Debug, Default)]
pub struct Followed {
    seen: BTreeMap<PathBuf, Stamp>,
    /// Archives that cannot be read, with the reason.
    left_out: BTreeMap<PathBuf, String>,
    /// Archives that are still to be added.
    waiting: usize,
}

/// What a page shows of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub waiting: usize,
    pub left_out: Vec<(String, String)>,
}

/// Looks for archives until the server ends.
pub async fn follow(site: Arc<Site>) {
    loop {
        look(&site).await;
        // A database that is away answers at a later look: what is due stays due.
        if let Ok(now) = site.store().now_unix_ns().await {
            let _ = site.store().queue_due(now).await;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Adds every archive that is new or has changed.
pub async fn look(site: &Arc<Site>) {
    let of = Arc::clone(site);
    let found = tokio::task::spawn_blocking(move || {
        // They take room and nothing else; the next look tries again.
        let _ = of.store().remove_abandoned_uploads();
        of.archives().below(of.directory())
    });
    let found = found.await.unwrap_or_default();
    let stamped: Vec<(PathBuf, Stamp)> = found.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
    let new: Vec<(PathBuf, Stamp)> = {
        let mut followed = locked(site.followed());
        followed.left_out.retain(|path, _| stamped.iter().any(|(found, _)| found == path));
        stamped.into_iter().filter(|(path, stamp)| followed.seen.get(path) != Some(stamp)).collect()
    };
    let mut running = Vec::new();
    for (at, (path, stamp)) in new.iter().enumerate() {
        locked(site.followed()).waiting = new.len() - at;
        let added = site.store().ingest(path).await;
        let mut followed = locked(site.followed());
        match added {
            // It is added once it has ended.
            Err(StoreError::GoesOn(_)) => {
                site.lives().add(site.directory(), path);
                running.push(path.clone());
                continue;
            }
            Err(error) => {
                followed.left_out.insert(path.clone(), error.to_string());
                // The disk or the database may answer at the next look; an archive that is none stays one.
                if !matches!(error, StoreError::Archive(_)) {
                    continue;
                }
            }
            Ok(_) => drop(followed.left_out.remove(path)),
        }
        followed.seen.insert(path.clone(), *stamp);
    }
    site.lives().set(site.directory(), running.into_iter());
    locked(site.followed()).waiting = 0;
}

/// What is still to be added, and what cannot be.
pub fn progress(followed: &Mutex<Followed>) -> Progress {
    let followed = locked(followed);
    let left_out = followed.left_out.iter().map(|(path, because)| (path.display().to_string(), because.clone()));
    Progress { waiting: followed.waiting, left_out: left_out.collect() }
}

fn stamp(archive: &Path) -> Stamp {
    let manifest = std::fs::symlink_metadata(archive.join(MANIFEST)).ok();
    (manifest.as_ref().and_then(|of| of.modified().ok()), manifest.map_or(0, |of| of.len()))
}

fn locked(followed: &Mutex<Followed>) -> std::sync::MutexGuard<'_, Followed> {
    followed.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Holds: one process at a time changes what is beside an archive. A transaction would do the same, but it would have others wait for
//! the object store as well, and with SQLite all of them.

use crate::Store;
use crate::database::Writing;
use crate::error::StoreError;
use crate::unique_name::unique_name;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// A hold that nothing renews, because its process died, ends after this time.
const LEASE: Duration = Duration::from_secs(60);
const RENEW: Duration = Duration::from_secs(20);
/// Interval between attempts to hold what another process holds, and how long this one waits.
const POLL: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(120);

/// The right to change what is beside an archive, until it is released or dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    store: Store,
    digest: String,
    hold: String,
    renewing: JoinHandle<()>,
}

impl Store {
    /// Waits until no other process changes what is beside an archive.
    ///
    /// # Errors
    /// [`StoreError::Held`] if that takes too long; those of the database.
    pub(crate) async fn hold(&self, digest: &str) -> Result<Hold, StoreError> {
        let (hold, start) = (unique_name(), Instant::now());
        while !self.held(digest, &hold).await? {
            if start.elapsed() > WAIT_MAX {
                return Err(StoreError::Held(digest.to_owned()));
            }
            sleep(POLL).await;
        }
        let (store, of, own) = (self.clone(), digest.to_owned(), hold.clone());
        let renewing = tokio::spawn(async move {
            loop {
                sleep(RENEW).await;
                // The database may answer the next time.
                let _ = store.held(&of, &own).await;
            }
        });
        Ok(Hold { store: self.clone(), digest: digest.to_owned(), hold, renewing })
    }

    /// Takes or renews a hold; whether it is this one's now.
    async fn held(&self, digest: &str, hold: &str) -> Result<bool, StoreError> {
        let now = self.now_unix_ns().await?;
        let until = now.saturating_add(i64::try_from(LEASE.as_nanos()).unwrap_or(i64::MAX));
        let sql = "INSERT INTO holds (digest, hold, until_unix_ns) VALUES ($1, $2, $3) ON CONFLICT (digest) DO UPDATE \
                   SET hold = excluded.hold, until_unix_ns = excluded.until_unix_ns \
                   WHERE holds.hold = excluded.hold OR holds.until_unix_ns < $4";
        let mut writing = self.database.write().await?;
        let query = sqlx::query(sql).bind(digest).bind(hold).bind(until).bind(now);
        let held = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        writing.commit().await?;
        Ok(held)
    }
}

impl Hold {
    /// Ends it with what it was for: the caller commits. `false`: it ran out, and another process may have changed what is
    /// beside the archive since.
    pub async fn end_in(self, writing: &mut Writing<'_>) -> Result<bool, StoreError> {
        let sql = "DELETE FROM holds WHERE digest = $1 AND hold = $2";
        let query = sqlx::query(sql).bind(&self.digest).bind(&self.hold);
        Ok(query.execute(&mut *writing.transaction).await?.rows_affected() > 0)
    }

    /// Whether it did not run out, before a step that cannot be taken back.
    pub async fn still(&self) -> Result<bool, StoreError> {
        self.store.held(&self.digest, &self.hold).await
    }

    /// Ends it.
    pub async fn release(self) -> Result<(), StoreError> {
        let store = self.store.clone();
        let mut writing = store.database.write().await?;
        self.end_in(&mut writing).await?;
        writing.commit().await
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

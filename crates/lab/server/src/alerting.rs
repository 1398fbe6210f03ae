//! Searches for changes without a reader, and reports them as the settings of the lab say.

use crate::data::search_changes;
use crate::site::Site;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use store::alerts::Due;

/// Between two looks. Runs come every few minutes at most, and a look at a scenario without new runs is one query.
const EVERY: Duration = Duration::from_secs(60);

/// Alerts until the server ends.
pub async fn alerting(site: Arc<Site>) {
    loop {
        // A database that is away answers at a later look: what is due stays due.
        let _ = alert(&site).await;
        tokio::time::sleep(EVERY).await;
    }
}

/// Searches for changes in every scenario with new runs, and sends messages about them. Does nothing without settings. Of several
/// servers of a lab one sends each message.
///
/// # Errors
/// Errors of the database.
pub async fn alert(site: &Arc<Site>) -> Result<(), StoreError> {
    let Some(settings) = &site.lab.alerts else { return Ok(()) };
    let store = site.store();
    for scenario in store.scenario_keys().await? {
        // A page that shows the board says what went wrong.
        let _ = search_changes(site, &scenario).await;
    }
    // A destination that is new gets what later looks find: the changes of a year would be a flood.
    alerts::deliver(store, settings, Due::InTime, store.now_unix_ns().await?).await.map(drop)
}

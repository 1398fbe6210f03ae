//! Searches for changes, by scenario: a search is repeated only when its scenario has new runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::changes::Sentences;
use store::queries::board::RunsOf;
use tokio::sync::watch;

/// Searches that are kept.
const SEARCHES_MAX: usize = 512;

/// The result of a search; `None` while it goes on.
pub type Changes = watch::Receiver<Option<Arc<Sentences>>>;
/// Sends the result to everyone who waits for it.
pub type ChangesSender = watch::Sender<Option<Arc<Sentences>>>;

/// The newest search of each scenario.
#[derive(Debug, Default)]
pub struct ChangeSearches(Mutex<HashMap<String, Search>>);

/// A search that goes on or is done.
#[derive(Debug)]
struct Search {
    /// The runs that it covers.
    runs: RunsOf,
    changes: Changes,
}

impl ChangeSearches {
    /// The search of these runs, and the sender of its result if the caller is to make it.
    pub fn search(&self, scenario: &str, runs: RunsOf) -> (Changes, Option<ChangesSender>) {
        let mut searches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = |search: &&Search| search.runs == runs && search.changes.has_changed().is_ok();
        if let Some(search) = searches.get(scenario).filter(current) {
            return (search.changes.clone(), None);
        }
        if searches.len() >= SEARCHES_MAX {
            searches.clear();
        }
        let (sender, changes) = watch::channel(None);
        searches.insert(scenario.to_owned(), Search { runs, changes: changes.clone() });
        (changes, Some(sender))
    }
}

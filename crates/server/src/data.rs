//! What pages and API ask of the index, with bounded times and bounded work.

use crate::changes::{Analysis, analysed};
use crate::problem::Refusal;
use crate::site::Site;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::queries::board::{History, HistoryPart, Scenario};

const DAY_NS: i64 = 86_400_000_000_000;
/// Longest time that a page covers.
pub const DAYS_MAX: u32 = 3660;
/// Stretches that a page divides its time into.
const PARTS: usize = 61;
/// How long a page waits for change points; then it shows the rest, and loads again.
const ANALYSIS_PATIENCE: Duration = Duration::from_millis(150);
const ANALYSES_MAX: usize = 512;

/// A stretch of days until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
}

impl Window {
    /// The last days, until the end of today: stretches keep their edges from one look to the next.
    pub fn of_days(days: u32, now_unix_ns: i64) -> Self {
        let until_unix_ns = now_unix_ns.div_euclid(DAY_NS).saturating_add(1).saturating_mul(DAY_NS);
        Self { from_unix_ns: until_unix_ns.saturating_sub(i64::from(days) * DAY_NS), until_unix_ns }
    }
}

pub fn now_unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// One scenario over a time.
pub struct Board {
    pub scenarios: Vec<Scenario>,
    pub history: History,
    pub parts: Vec<HistoryPart>,
    pub window: Window,
    /// `None` while it is not ready.
    pub analysis: Option<Arc<Analysis>>,
}

/// A board; of the scenarios the wanted one, or the one measured last.
pub async fn board(site: &Arc<Site>, board: &str, wanted: Option<&str>, days: u32) -> Result<Board, Refusal> {
    let store = site.store();
    let scenarios = store.scenarios(board).await.map_err(Refusal::of_store)?;
    let newest = match wanted {
        Some(_) => None,
        None => newest(site, board).await?,
    };
    let key = wanted.or(newest.as_deref());
    let chosen = scenarios.iter().find(|scenario| Some(scenario.scenario.as_str()) == key);
    let Some(chosen) = chosen else { return Err(Refusal::NoSuchBoard(board.to_owned())) };
    let window = Window::of_days(days, now_unix_ns());
    let Window { from_unix_ns, until_unix_ns } = window;
    let key = chosen.scenario.clone();
    let history = store.history(&key, from_unix_ns, until_unix_ns).await.map_err(Refusal::of_store)?;
    let history = history.ok_or_else(|| Refusal::NoSuchBoard(board.to_owned()))?;
    let parts = (days as usize).clamp(7, PARTS);
    let parts = store.history_parts(&key, from_unix_ns, until_unix_ns, parts).await.map_err(Refusal::of_store)?;
    let analysis = tokio::time::timeout(ANALYSIS_PATIENCE, analysis(site, &key, window, &history)).await;
    let analysis = analysis.ok().transpose()?;
    Ok(Board { scenarios, history, parts, window, analysis })
}

/// The scenario that a board was measured with last.
async fn newest(site: &Arc<Site>, board: &str) -> Result<Option<String>, Refusal> {
    let fleet = site.store().fleet().await.map_err(Refusal::of_store)?;
    let rows = fleet.rows.into_iter().filter(|row| row.newest.board == board);
    Ok(rows.max_by_key(|row| row.newest.started_unix_ns).map(|row| row.scenario))
}

/// Change points by scenario and time; of the runs that were there.
#[derive(Debug, Default)]
pub struct Analyses(Mutex<HashMap<(String, Window), Known>>);

/// An analysis that is being made, or made, and the runs it is of.
#[derive(Debug, Clone)]
struct Known {
    runs: (usize, Option<String>),
    made: tokio::sync::watch::Receiver<Option<Arc<Analysis>>>,
}

impl std::hash::Hash for Window {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.from_unix_ns, self.until_unix_ns).hash(state);
    }
}

/// The change points of a history; made once for the same runs, also while several pages wait for it.
async fn analysis(site: &Arc<Site>, key: &str, window: Window, history: &History) -> Result<Arc<Analysis>, Refusal> {
    let runs = (history.runs.len(), history.runs.last().map(|point| point.run.digest.clone()));
    let mut made = begun(site, key, window, runs);
    loop {
        if let Some(analysis) = made.borrow_and_update().clone() {
            return Ok(analysis);
        }
        if made.changed().await.is_err() {
            return Err(Refusal::Defect);
        }
    }
}

fn begun(
    site: &Arc<Site>,
    key: &str,
    window: Window,
    runs: (usize, Option<String>),
) -> tokio::sync::watch::Receiver<Option<Arc<Analysis>>> {
    let mut known = site.analyses().0.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (key.to_owned(), window);
    if let Some(known) = known.get(&place).filter(|known| known.runs == runs && known.made.has_changed().is_ok()) {
        return known.made.clone();
    }
    if known.len() >= ANALYSES_MAX {
        known.clear();
    }
    let (done, made) = tokio::sync::watch::channel(None);
    known.insert(place, Known { runs, made: made.clone() });
    let (site, key) = (Arc::clone(site), key.to_owned());
    tokio::spawn(async move {
        let compared = site.store().compared_runs(&key, window.from_unix_ns, window.until_unix_ns).await;
        let Ok(runs) = compared else { return };
        if let Ok(analysis) = site.at_work(move || analysed(&runs)).await {
            // Kept alive: a receiver whose sender is gone would ask for the analysis again.
            let _ = done.send(Some(Arc::new(analysis)));
            done.closed().await;
        }
    });
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_the_day_so_that_it_is_the_same_for_all_looks_of_a_day() {
        let morning = Window::of_days(7, 100 * DAY_NS + 1);
        assert_eq!(morning, Window::of_days(7, 101 * DAY_NS - 1));
        assert_eq!((morning.from_unix_ns, morning.until_unix_ns), (94 * DAY_NS, 101 * DAY_NS));
        assert!(
            Window::of_days(DAYS_MAX, i64::MAX).until_unix_ns > 0
                && Window::of_days(DAYS_MAX, i64::MIN).from_unix_ns < 0
        );
    }
}

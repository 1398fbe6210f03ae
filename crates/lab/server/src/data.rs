//! Answers of the index for pages and API, with bounded times and bounded work.

use crate::change_searches::ChangesSender;
use crate::problem::Refusal;
use crate::site::Site;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::Standing;
use store::changes::{Change, Sentences};
use store::queries::board::{History, HistoryPart, Scenario};
use store::queries::fleet::FleetRow;

const DAY_NS: i64 = 86_400_000_000_000;
/// Longest time that a page covers.
pub const DAYS_MAX: u32 = 3660;
/// Stretches that a page divides its time into.
const PARTS: usize = 61;
/// How long a page waits for a search for changes; then it shows the rest, and loads again.
const SEARCH_PATIENCE: Duration = Duration::from_millis(150);

/// A stretch of days until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
}

impl Window {
    /// The days of all runs, from the first to the last of them.
    pub fn of_span((first_unix_ns, last_unix_ns): (i64, i64)) -> Self {
        let until_unix_ns = last_unix_ns.div_euclid(DAY_NS).saturating_add(1).saturating_mul(DAY_NS);
        let longest_from = until_unix_ns.saturating_sub(i64::from(DAYS_MAX) * DAY_NS);
        let from_unix_ns = first_unix_ns.div_euclid(DAY_NS).saturating_mul(DAY_NS).max(longest_from);
        Self { from_unix_ns, until_unix_ns }
    }

    fn days(self) -> usize {
        usize::try_from(self.until_unix_ns.saturating_sub(self.from_unix_ns) / DAY_NS).unwrap_or(0)
    }

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
    /// The newest state of each scenario.
    pub loads: Vec<FleetRow>,
    pub scenarios: Vec<Scenario>,
    pub history: History,
    pub parts: Vec<HistoryPart>,
    pub window: Window,
    /// All changes of the scenario that the index keeps.
    pub changes: Vec<Change>,
    /// Changes of each figure that the runs show; `None` while the index searches for them.
    pub sentences: Option<Arc<Sentences>>,
}

/// A board over the last days, or over all its runs; of the scenarios the wanted one, or a bad one, or the one measured last.
pub async fn board(site: &Arc<Site>, board: &str, wanted: Option<&str>, days: Option<u32>) -> Result<Board, Refusal> {
    let store = site.store();
    let fleet = store.fleet().await.map_err(Refusal::of_store)?;
    let loads: Vec<FleetRow> = fleet.rows.into_iter().filter(|row| row.newest.board == board).collect();
    let scenarios = store.scenarios(board).await.map_err(Refusal::of_store)?;
    let key = wanted.or(worst(&loads));
    let chosen = scenarios.iter().find(|scenario| Some(scenario.scenario.as_str()) == key);
    let Some(chosen) = chosen else { return Err(Refusal::NoSuchBoard(board.to_owned())) };
    let key = chosen.scenario.clone();
    let span =
        store.span(&key).await.map_err(Refusal::of_store)?.ok_or_else(|| Refusal::NoSuchBoard(board.to_owned()))?;
    let window = days.map_or_else(|| Window::of_span(span), |days| Window::of_days(days, now_unix_ns()));
    let Window { from_unix_ns, until_unix_ns } = window;
    let history = store.history(&key, from_unix_ns, until_unix_ns).await.map_err(Refusal::of_store)?;
    let history = history.ok_or_else(|| Refusal::NoSuchBoard(board.to_owned()))?;
    let parts = window.days().clamp(7, PARTS);
    let parts = store.history_parts(&key, from_unix_ns, until_unix_ns, parts).await.map_err(Refusal::of_store)?;
    let sentences = tokio::time::timeout(SEARCH_PATIENCE, search_changes(site, &key)).await.ok().transpose()?;
    let changes = store.changes(Some(&key)).await.map_err(Refusal::of_store)?;
    Ok(Board { loads, scenarios, history, parts, window, changes, sentences })
}

/// The scenario to open a board with: a bad one, otherwise the one measured last.
fn worst(loads: &[FleetRow]) -> Option<&str> {
    let worst = loads.iter().max_by_key(|row| (row.standing == Standing::Bad, row.newest.started_unix_ns));
    worst.map(|row| row.scenario.as_str())
}

/// Searches the runs of a scenario for changes: once for the same runs, also while several pages wait for it.
pub async fn search_changes(site: &Arc<Site>, scenario: &str) -> Result<Arc<Sentences>, Refusal> {
    let runs = site.store().runs_of(scenario).await.map_err(Refusal::of_store)?;
    let (mut found, sender) = site.change_searches().search(scenario, runs);
    if let Some(sender) = sender {
        tokio::spawn(find_changes(Arc::clone(site), scenario.to_owned(), sender));
    }
    loop {
        if let Some(sentences) = found.borrow_and_update().clone() {
            return Ok(sentences);
        }
        if found.changed().await.is_err() {
            return Err(Refusal::Defect);
        }
    }
}

async fn find_changes(site: Arc<Site>, scenario: String, sender: ChangesSender) {
    // The clock of the index decides whether a destination of messages was known before.
    let now = site.store().now_unix_ns().await.unwrap_or_else(|_| now_unix_ns());
    let found = site.working(site.store().find_changes(&scenario, now)).await;
    if let Ok(Ok(sentences)) = found {
        // Kept alive: a receiver whose sender is gone would start another search.
        let _ = sender.send(Some(Arc::new(sentences)));
        sender.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_the_day_so_that_it_is_the_same_for_all_looks_of_a_day() {
        let morning = Window::of_days(7, 100 * DAY_NS + 1);
        assert_eq!(morning, Window::of_days(7, 101 * DAY_NS - 1));
        assert_eq!((morning.from_unix_ns, morning.until_unix_ns), (94 * DAY_NS, 101 * DAY_NS));
        assert_eq!(Window::of_span((93 * DAY_NS + 5, 100 * DAY_NS)), Window::of_days(8, 100 * DAY_NS));
        assert!(
            Window::of_days(DAYS_MAX, i64::MAX).until_unix_ns > 0
                && Window::of_days(DAYS_MAX, i64::MIN).from_unix_ns < 0
        );
    }
}

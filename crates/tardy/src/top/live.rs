//! Figures and causes of the watch so far, for the thread that draws.

use super::table::Snapshot;
use super::threads::Threads;
use archive::watched::guard::EventKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where the watch is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    #[default]
    Starting,
    Watching,
    Ending,
}

impl Stage {
    /// Shown before the time.
    fn words(self) -> &'static str {
        match self {
            Self::Starting => "starting  ",
            Self::Watching => "",
            Self::Ending => "ending  ",
        }
    }
}

/// The state so far.
#[derive(Debug, Default)]
pub struct Live {
    pub host: String,
    pub whom: String,
    pub limit_ns: Option<i64>,
    pub traced_from_ns: i64,
    pub budget_percent: f64,
    pub threads: Threads,
    /// When the measurement began.
    pub begun: Option<Instant>,
    pub ended: Option<Instant>,
    pub cost_percent: Option<f64>,
    pub shed: &'static [EventKind],
    pub notice: Option<String>,
    pub stage: Stage,
}

impl Live {
    /// Since the start of the measurement, until its end.
    pub fn elapsed(&self) -> Duration {
        let until = self.ended.unwrap_or_else(Instant::now);
        self.begun.map(|begun| until.saturating_duration_since(begun)).unwrap_or_default()
    }

    /// The state at this instant.
    pub fn snapshot(&self) -> Snapshot {
        let elapsed = self.elapsed();
        Snapshot {
            host: self.host.clone(),
            whom: self.whom.clone(),
            elapsed,
            rows: self.threads.rows(elapsed),
            left_out: self.threads.left_out(),
            forgotten: self.threads.forgotten(),
            limit_ns: self.limit_ns,
            traced_from_ns: self.traced_from_ns,
            cost_percent: self.cost_percent,
            budget_percent: self.budget_percent,
            shed: self.shed.to_vec(),
            notice: self.notice.clone(),
            state: self.stage.words(),
        }
    }
}

/// The state, shared between the thread that watches and the one that draws.
#[derive(Debug, Clone, Default)]
pub struct Shared(Arc<Mutex<Live>>);

impl Shared {
    pub fn of(live: Live) -> Self {
        Self(Arc::new(Mutex::new(live)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Live> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

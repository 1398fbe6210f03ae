//! A measurement of this machine that one person looks at: its state, what it can be asked for, and the link that lets one browser in.

use crate::access::{OwnSecret, new_secret};
use account::ranking::Delayer;
use judge::uses::UseJudgement;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Services of the program that measures.
pub trait Desk: Send + Sync + 'static {
    /// The newest state.
    fn state(&self) -> Arc<DeskState>;

    /// The report of the measurement with one late wake-up alone; `None` without that wake-up.
    fn report_of(&self, spike: u32) -> Option<DeskReport>;

    /// Makes or undoes the change that a finding suggests, which takes a while. The state has the result.
    fn change(&self, fingerprint: &str, change: Change);

    /// Keeps the archive of the measurement when it ends, or removes it again.
    fn keep(&self, keeps: bool);

    /// The measurement so far without names, as one file for others.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn share(&self) -> Result<Vec<u8>, ShareError>;

    /// A browser used the link; another one needs the next link.
    fn entered(&self, next: &str);
}

/// State of the change that a finding suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Apply,
    Undo,
}

/// Why a measurement cannot be shared.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ShareError(pub String);

/// Data of the report's page.
pub struct DeskReport {
    pub account: account::Account,
}

/// Everything that the page shows.
#[derive(Debug, Clone, Default)]
pub struct DeskState {
    pub host: String,
    pub kernel: String,
    pub priority: u8,
    pub stage: Stage,
    pub measured_ns: i64,
    pub samples: u64,
    pub worst_ns: Option<i64>,
    pub median_ns: Option<i64>,
    pub cpus: Vec<DeskCpu>,
    pub uses: Vec<UseJudgement>,
    /// Why this machine cannot pass a real-time limit.
    pub doubts: Vec<String>,
    /// The machine's own, the largest delay first.
    pub delayers: Vec<Delayer>,
    /// Delays by the host of a virtual machine.
    pub of_host: Vec<Delayer>,
    /// Late wake-ups with an account, and the ones among them without a known cause.
    pub accounts: u64,
    pub unexplained: u64,
    /// Late wake-ups without an account: recorded and next to be explained, recorded without a trace, and all others.
    pub pending: u64,
    pub without_trace: u64,
    pub unaccounted: u64,
    /// Lateness of the accounts, and the part of it that has a cause.
    pub delay_ns: i64,
    pub explained_ns: i64,
    /// The worst first.
    pub spikes: Vec<DeskSpike>,
    pub checks: Checks,
    pub archive: String,
    pub keeps: bool,
    /// Sessions before this one, the newest first.
    pub earlier: Vec<EarlierSession>,
}

/// A session that ended because its archive was full; the figures of the state are of the one that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierSession {
    pub measured_ns: i64,
    pub samples: u64,
    pub worst_ns: Option<i64>,
    /// The one with the largest delay.
    pub delayer: Option<Delayer>,
}

/// Sessions that are remembered.
const EARLIER_MAX: usize = 14;

impl DeskState {
    /// Begins a session: the figures so far become the figures of an earlier one.
    pub fn end_session(&mut self) {
        if self.samples > 0 {
            let delayer = self.delayers.first().cloned();
            let Self { measured_ns, samples, worst_ns, .. } = *self;
            self.earlier.insert(0, EarlierSession { measured_ns, samples, worst_ns, delayer });
            self.earlier.truncate(EARLIER_MAX);
        }
        *self = Self {
            host: std::mem::take(&mut self.host),
            kernel: std::mem::take(&mut self.kernel),
            priority: self.priority,
            stage: std::mem::take(&mut self.stage),
            checks: std::mem::take(&mut self.checks),
            archive: std::mem::take(&mut self.archive),
            keeps: self.keeps,
            earlier: std::mem::take(&mut self.earlier),
            ..Self::default()
        };
    }
}

/// Stage of the measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Starting,
    Measuring,
    /// It ended, with the problem and its fix if something ended it.
    Ended(Option<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeskCpu {
    pub cpu: u32,
    pub samples: u64,
    pub worst_ns: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeskSpike {
    pub number: u32,
    pub cpu: u32,
    pub latency_ns: i64,
    pub cause: DeskCause,
}

/// Known or unknown cause of a late wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeskCause {
    /// It is not explained yet.
    Pending,
    NoTrace,
    Known(String),
}

/// Settings of the machine that hurt real-time work.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// False until the machine was checked.
    pub is_known: bool,
    /// The command that checks the machine, if it can be checked only while it is not measured.
    pub command: Option<String>,
    /// Why it could not be checked.
    pub problem: Option<String>,
    pub findings: Vec<CheckedSetting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedSetting {
    pub fingerprint: String,
    pub severity: String,
    pub title: String,
    pub what: String,
    pub reason: String,
    /// Each with its label, such as `now` or `boot`.
    pub fixes: Vec<(String, String)>,
    /// Whether it can be changed while the machine runs.
    pub can_change: bool,
    pub is_changed: bool,
    /// A change is being made or undone.
    pub is_changing: bool,
    /// Why the last change was not made.
    pub refused: Option<String>,
}

/// Lets one browser in for each link.
pub struct Entrance {
    session: OwnSecret,
    link: Mutex<Option<OwnSecret>>,
}

impl Entrance {
    /// An entrance with its first secret.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn new() -> std::io::Result<(Self, String)> {
        let first = new_secret()?;
        let entrance =
            Self { session: OwnSecret::of(new_secret()?), link: Mutex::new(Some(OwnSecret::of(first.clone()))) };
        Ok((entrance, first))
    }

    /// The secret of the browser's cookie and the secret of the next link, if this is the secret of the unused link.
    pub(crate) fn enter(&self, presented: &str) -> Option<(&str, Option<String>)> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.take_if(|link| link.is(presented))?;
        let next = new_secret().ok();
        *link = next.clone().map(OwnSecret::of);
        Some((self.session.secret(), next))
    }

    /// Whether a browser that was let in sends this.
    pub(crate) fn knows(&self, presented: &str) -> bool {
        self.session.is(presented)
    }
}

/// A desk and who may see it.
pub struct DeskAccess {
    pub desk: Arc<dyn Desk>,
    pub entrance: Entrance,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_ends_is_remembered_and_leaves_its_findings() {
        let checks = Checks { is_known: true, ..Checks::default() };
        let mut state = DeskState { checks, keeps: true, ..DeskState::default() };
        state.end_session();
        assert!(state.earlier.is_empty(), "nothing was measured");
        for samples in 1..=20 {
            state = DeskState { samples, worst_ns: Some(7), pending: 3, ..state };
            state.end_session();
        }
        assert_eq!((state.samples, state.worst_ns, state.pending), (0, None, 0));
        assert!(state.checks.is_known && state.keeps);
        assert_eq!((state.earlier.len(), state.earlier[0].samples), (EARLIER_MAX, 20));
    }

    #[test]
    fn a_link_lets_one_browser_in_and_the_next_link_another() {
        let (entrance, first) = Entrance::new().unwrap();
        assert!(entrance.enter("").is_none() && entrance.enter("tardy-0").is_none(), "a guess leaves the link alone");
        let (session, next) =
            entrance.enter(&first).map(|(session, next)| (session.to_owned(), next.unwrap())).unwrap();
        assert!(entrance.enter(&first).is_none(), "a link lets in once");
        assert!(entrance.knows(&session) && !entrance.knows(&first) && !entrance.knows(&next));
        assert!(session != first && next != first && entrance.enter(&next).is_some());
    }
}

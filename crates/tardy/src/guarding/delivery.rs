//! Entries of the log on their way to other machines, for every output of [`super::remote`] in the same way.
//!
//! The log on disk is the spool: an output has a file with the number of the last entry that its receiver acknowledged, and a later
//! guard sends those after it. Each output has a thread, so a receiver that hangs delays neither accounts nor other outputs. A
//! process that dies between an acknowledgement and its file sends an entry twice, with the same number.

mod acknowledged;
mod spool;

use super::figures::{Deliveries, Figures};
use super::ring;
use acknowledged::Acknowledged;
use alerts::Failure;
pub use spool::Logged;
use spool::Spool;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Before the second attempt, unless the receiver asks for another pause; doubles with each further one.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// Attempts at an entry that its receiver refuses.
const REFUSALS_MAX: u32 = 3;
/// Time for what waits when the guard ends; the next guard sends the rest.
const FAREWELL: Duration = Duration::from_secs(5);
/// Without work a thread looks this seldom.
const IDLE: Duration = Duration::from_secs(3600);

/// A way to another machine.
pub trait Output: Send + 'static {
    /// Its table in the configuration, and its label in the figures.
    const NAME: &'static str;
    /// Kinds of entries that it takes.
    const KINDS: &'static [&'static str] = &["miss", "chain", "saved", "reset"];
    /// Longest time of one attempt.
    const ATTEMPT: Duration = Duration::from_secs(20);
    /// Time between two reports of the figures, if it takes them.
    const REPORTS: Option<Duration> = None;

    /// Hands an entry over; success means that the receiver acknowledged it.
    fn deliver(&mut self, entry: &Logged) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Hands the figures over.
    fn report(&mut self, _figures: &Figures) -> impl Future<Output = Result<(), Failure>> + Send {
        std::future::ready(Ok(()))
    }

    /// Nothing waits; a connection may be closed.
    fn rest(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// A running output.
pub struct Delivery {
    name: &'static str,
    kinds: &'static [&'static str],
    spool: Arc<Spool>,
    thread: JoinHandle<()>,
}

impl Delivery {
    /// Starts the thread of an output, which begins with the entries of the log that were not acknowledged before.
    ///
    /// # Errors
    /// If the ring refuses, or the system cannot create another thread.
    pub fn start<O: Output>(output: O, ring: &Path, figures: Arc<Mutex<Figures>>) -> anyhow::Result<Self> {
        let logged: Vec<Logged> = ring::lines(ring).into_iter().filter_map(Logged::of).collect();
        let last = logged.last().map_or(0, |last| last.number);
        let acknowledged = Acknowledged::open(ring, O::NAME, last)?;
        let spool = Arc::new(Spool::default());
        for entry in logged {
            if entry.number > acknowledged.number() && O::KINDS.contains(&entry.kind.as_str()) {
                spool.add(entry);
            }
        }
        let delivering = Delivering {
            output,
            spool: Arc::clone(&spool),
            acknowledged,
            figures,
            try_at: Instant::now(),
            pause: PAUSE_FIRST,
            refusals: 0,
            report_at: O::REPORTS.map(|every| Instant::now() + every),
            complained: false,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = Arc::clone(&spool);
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = delivering.work() => {}
                    () = async { ended.ended().await; sleep(FAREWELL).await } => {}
                }
            });
            // A name that is being looked up is not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name(format!("tardy:{}", O::NAME)).spawn(work)?;
        Ok(Self { name: O::NAME, kinds: O::KINDS, spool, thread })
    }

    /// Takes an entry of the log, if it is of a kind of this output.
    pub fn add(&self, entry: &Logged) {
        if self.kinds.contains(&entry.kind.as_str()) {
            self.spool.add(entry.clone());
        }
    }

    /// Writes how far it is to the figures.
    pub fn count(&self, figures: &mut Figures) {
        figures.deliveries.insert(self.name, self.spool.counts());
    }

    /// From now on it tries what waits once more, for a few seconds.
    pub fn end(&self) {
        self.spool.end();
    }

    /// Waits for the end of its thread, after [`Self::end`]; returns how far it is.
    pub fn join(self) -> (&'static str, Deliveries) {
        let _ = self.thread.join();
        (self.name, self.spool.counts())
    }
}

struct Delivering<O> {
    output: O,
    spool: Arc<Spool>,
    acknowledged: Acknowledged,
    figures: Arc<Mutex<Figures>>,
    try_at: Instant,
    pause: Duration,
    /// Of the first entry that waits.
    refusals: u32,
    report_at: Option<Instant>,
    complained: bool,
}

impl<O: Output> Delivering<O> {
    async fn work(mut self) {
        while !self.spool.has_ended() {
            let sent = Instant::now() >= self.try_at && self.deliver_first().await;
            if self.report_at.is_some_and(|at| Instant::now() >= at) {
                self.report().await;
            }
            if sent {
                continue;
            }
            let waits = self.spool.first().is_some();
            if !waits {
                let _ = timeout(O::ATTEMPT, self.output.rest()).await;
            }
            let next = self.try_at.max(Instant::now());
            let next = if waits { next } else { Instant::now() + IDLE };
            let next = self.report_at.map_or(next, |at| at.min(next));
            tokio::select! { () = self.spool.changed() => {}, () = sleep_until(next) => {} }
        }
        while self.deliver_first().await {}
        if self.report_at.is_some() {
            self.report().await;
        }
        let _ = timeout(O::ATTEMPT, self.output.rest()).await;
    }

    /// Whether the next entry can be tried at once.
    async fn deliver_first(&mut self) -> bool {
        let Some(entry) = self.spool.first() else { return false };
        let sent = timeout(O::ATTEMPT, self.output.deliver(&entry)).await;
        let Err(failure) = sent.unwrap_or_else(|_| Err(silent(O::ATTEMPT))) else {
            self.finish(&entry, true);
            if std::mem::take(&mut self.complained) {
                complain!("tardy guard: [{}] takes accounts again", O::NAME);
            }
            return true;
        };
        self.refusals += u32::from(failure.is_final);
        if self.refusals >= REFUSALS_MAX {
            complain!("tardy guard: [{}] refused entry {}: {}", O::NAME, entry.number, failure.because);
            self.finish(&entry, false);
            return true;
        }
        self.complain(&failure);
        self.try_at = Instant::now() + failure.pause.unwrap_or(self.pause).clamp(PAUSE_FIRST, PAUSE_MAX);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        false
    }

    /// The entry needs no further attempt.
    fn finish(&mut self, entry: &Logged, is_delivered: bool) {
        (self.refusals, self.pause, self.try_at) = (0, PAUSE_FIRST, Instant::now());
        self.spool.finish(entry.number, is_delivered);
        if let Err(error) = self.acknowledged.advance(entry.number) {
            complain!("tardy guard: [{}] {error:#}; the next guard sends entry {} again", O::NAME, entry.number);
        }
    }

    async fn report(&mut self) {
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sent = timeout(O::ATTEMPT, self.output.report(&figures)).await;
        if let Err(failure) = sent.unwrap_or_else(|_| Err(silent(O::ATTEMPT))) {
            self.complain(&failure);
        }
        self.report_at = O::REPORTS.map(|every| Instant::now() + every);
    }

    /// Once until it takes something again.
    fn complain(&mut self, failure: &Failure) {
        if !std::mem::replace(&mut self.complained, true) {
            complain!("tardy guard: [{}] {}; accounts wait in the log and are sent later", O::NAME, failure.because);
        }
    }
}

fn silent(limit: Duration) -> Failure {
    Failure::of(format!("the receiver acknowledged nothing within {} s", limit.as_secs()))
}

#[cfg(test)]
mod tests;

//! The thread that accounts for misses: explains each, writes it to the log, and hands it to the outputs.

use super::entry::{Account as AccountOfMiss, Fact};
use super::figures::Figures;
use super::outputs::{Outputs, Weight};
use super::rate::Rate;
use super::ring::DiskRing;
use account::brief::short::Short;
use account::brief::spike::BriefSpike;
use account::{Account, ExplanationSource};
use archive::reader::Run;
use archive::watched::guard::EventKind;
use report::account::culprit;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use words::guarding;

/// Misses that wait for their account. One comes a second; beyond that they are counted.
const WAITING_MAX: usize = 16;
/// Time without an account after which misses without one are reported.
const REPORTED_AFTER_NS: i64 = 60_000_000_000;

/// A late wake-up to account for.
pub struct Late {
    /// The run with this spike alone.
    pub run: Run,
    pub session: String,
    pub thread: String,
    pub limit_ns: Option<i64>,
    pub shed: &'static [EventKind],
    /// It is reported by a later guard than the one that found it.
    pub recovered: bool,
}

/// Work for the thread.
pub enum Work {
    Late(Box<Late>),
    Fact {
        fact: Fact,
        line: Option<String>,
    },
    /// Regularly: counters, and misses without an account.
    Tick,
    /// The archive that is being written from now on.
    Session(PathBuf),
}

/// State that the thread shares with the rest of the guard.
#[derive(Clone)]
pub struct Shared {
    pub ring: Arc<Mutex<DiskRing>>,
    pub figures: Arc<Mutex<Figures>>,
    /// Set if the archive being written has grown too large.
    pub rotate: Arc<AtomicBool>,
    /// Number of the newest account of saved seconds.
    pub saved: Arc<AtomicU64>,
}

impl Shared {
    pub fn ring(&self) -> MutexGuard<'_, DiskRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The running thread.
pub struct Accounts {
    work: SyncSender<Work>,
    pub tid: i32,
    thread: JoinHandle<()>,
}

impl Accounts {
    /// # Errors
    /// If the system cannot create another thread.
    pub fn start(shared: Shared, outputs: Outputs, rate: Rate) -> std::io::Result<Self> {
        let (work, to_do) = sync_channel(WAITING_MAX);
        let (ready, tid) = sync_channel(1);
        let mut accounting =
            Accounting { shared, outputs, rate, reported: 0, reported_ns: monotonic_ns(), current: None };
        let thread = thread::Builder::new().name("tardy:explain".into()).spawn(move || {
            let _ = ready.send(rustix::thread::gettid().as_raw_nonzero().get());
            accounting.follow(&to_do);
            let Accounting { outputs, shared, .. } = accounting;
            outputs.end(&shared.figures);
        })?;
        Ok(Self { work, tid: tid.recv().unwrap_or_default(), thread })
    }

    /// Hands over a miss, unless too many wait.
    pub fn late(&self, late: Late) {
        if let Err(TrySendError::Full(_)) = self.work.try_send(Work::Late(Box::new(late))) {
            // The count of misses without an account shows it.
        }
    }

    /// Hands over a miss, however many wait.
    pub fn wait_for(&self, late: Late) {
        let _ = self.work.send(Work::Late(Box::new(late)));
    }

    /// Writes a fact to the log, and its line to standard error.
    pub fn fact(&self, fact: Fact, line: impl Into<Option<String>>) {
        let _ = self.work.send(Work::Fact { fact, line: line.into() });
    }

    pub fn tick(&self) {
        let _ = self.work.try_send(Work::Tick);
    }

    pub fn session(&self, directory: PathBuf) {
        let _ = self.work.send(Work::Session(directory));
    }

    /// Ends the thread after its work.
    pub fn end(self) {
        drop(self.work);
        let _ = self.thread.join();
    }
}

struct Accounting {
    shared: Shared,
    outputs: Outputs,
    rate: Rate,
    /// Misses without an account that were reported, and when something was last.
    reported: u64,
    reported_ns: i64,
    current: Option<PathBuf>,
}

impl Accounting {
    fn follow(&mut self, to_do: &Receiver<Work>) {
        for work in to_do {
            match work {
                Work::Late(late) => self.account(*late),
                Work::Fact { fact, line } => {
                    if matches!(fact, Fact::Stopped(_)) {
                        // The end is the last entry: a log without it is that of a killed guard.
                        self.tick(true);
                    }
                    if let Some(line) = line {
                        self.outputs.line(Weight::Notice, &line);
                    }
                    self.append(fact);
                }
                Work::Tick => self.tick(false),
                Work::Session(directory) => self.current = Some(directory),
            }
        }
    }

    fn account(&mut self, late: Late) {
        let Some(spike) = late.run.spikes.first().cloned() else { return };
        let saved = spike.requested;
        if !saved && !late.recovered && !self.rate.allows(monotonic_ns()) {
            return;
        }
        let account = Account::of(late.run, ExplanationSource::Traces);
        let Some(brief) = BriefSpike::of(&account, spike.number) else { return };
        let explanation = account.explanation_of(spike.number);
        let first = explanation.and_then(|explanation| explanation.findings.first());
        let suppressed = {
            let mut figures = self.shared.figures();
            if saved {
                figures.saved += 1;
            } else if !late.recovered {
                figures.accounted(first.map(|finding| finding.culprit.id()));
            }
            figures.suppressed()
        };
        let words = guarding::Miss {
            thread: &late.thread,
            kind: spike.watched,
            latency_ns: spike.sample.latency_ns,
            limit_ns: late.limit_ns.filter(|_| !saved),
            cpu: spike.sample.cpu,
            cause: &culprit(explanation),
        };
        let line = words.line(saved, late.recovered);
        let where_to_look = guarding::more(&account.run().directory.display().to_string(), spike.number);
        let after_ms = (monotonic_ns() - spike.sample.seen_ns()) / 1_000_000;
        let fact = Box::new(AccountOfMiss {
            session: Short::name(&late.session),
            thread: Short::name(&late.thread),
            tid: spike.tid,
            sample: spike.watched,
            request: spike.request.clone(),
            limit_ns: late.limit_ns,
            after_ms: (!late.recovered).then_some(after_ms),
            suppressed: suppressed.saturating_sub(self.reported),
            shed: late.shed.to_vec(),
            account: brief,
        });
        (self.reported, self.reported_ns) = (suppressed.max(self.reported), monotonic_ns());
        let fact = if saved { Fact::Saved(fact) } else { Fact::Miss(fact) };
        if let Some(number) = self.append(fact).filter(|_| saved) {
            self.shared.saved.store(number, Relaxed);
        }
        self.outputs.line(Weight::Warning, &format!("{line}; {where_to_look}"));
        if self.shared.ring().make_room(self.current.as_deref()) {
            self.shared.rotate.store(true, Relaxed);
        }
        self.outputs.count(&mut self.shared.figures());
    }

    /// Returns the number of the entry.
    fn append(&mut self, fact: Fact) -> Option<u64> {
        let written = self.shared.ring().append(fact);
        match written {
            Ok((number, line)) => {
                self.outputs.deliver(&line);
                Some(number)
            }
            Err(error) => {
                let directory = self.shared.ring().directory().display().to_string();
                self.outputs.line(Weight::Warning, &format!("failed to write to {directory}: {error}"));
                None
            }
        }
    }

    fn tick(&mut self, last: bool) {
        let suppressed = self.shared.figures().suppressed();
        let unreported = suppressed.saturating_sub(self.reported);
        if unreported > 0 && (last || monotonic_ns() - self.reported_ns > REPORTED_AFTER_NS) {
            (self.reported, self.reported_ns) = (suppressed, monotonic_ns());
            self.outputs.line(Weight::Notice, &guarding::suppressed(unreported));
            self.append(Fact::Suppressed { misses: unreported });
        }
        self.outputs.count(&mut self.shared.figures());
    }
}

pub fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

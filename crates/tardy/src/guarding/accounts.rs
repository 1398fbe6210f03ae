//! The thread that accounts for misses: explains each, writes it to the log, and hands it to the outputs.

use super::chains::GuardedChains;
use super::entry::{Account as AccountOfMiss, ChainMiss, Fact, Reset};
use super::figures::Figures;
use super::outputs::{Outputs, Weight};
use super::rate::Rate;
use super::ring::{DiskRing, unix_ns};
use account::brief::short::Short;
use account::brief::spike::BriefSpike;
use account::{Account, ExplanationSource};
use archive::reader::Run;
use archive::spike::{SaveRequest, Spike};
use archive::watched::chain::MissedChain;
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
    pub found: Found,
}

/// When a late wake-up was found.
pub enum Found {
    /// By this guard, while it watches.
    Now,
    /// By an earlier guard, which was killed before it accounted for it.
    Before,
    /// In the memory that a reset of the machine kept.
    AtReset(Box<Reset>),
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
    pub fn start(
        shared: Shared,
        outputs: Outputs,
        (rate, chains): (Rate, Option<GuardedChains>),
    ) -> std::io::Result<Self> {
        let (work, to_do) = sync_channel(WAITING_MAX);
        let (ready, tid) = sync_channel(1);
        let mut accounting =
            Accounting { shared, outputs, rate, chains, reported: 0, reported_ns: monotonic_ns(), current: None };
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
    chains: Option<GuardedChains>,
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
        if let Some(missed) = spike.request.as_ref().and_then(SaveRequest::missed_chain) {
            return self.account_for_chain(&late, &spike, missed);
        }
        let saved = spike.requested;
        let is_new = matches!(late.found, Found::Now);
        if !saved && is_new && !self.rate.allows(monotonic_ns()) {
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
            } else if is_new {
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
        let line = match &late.found {
            Found::AtReset(reset) => {
                let ended = guarding::reset(reset.uptime_ns, reset.last_unix_ns, reset.silent_ns);
                format!("{ended}; {}", words.line(guarding::When::AtReset { unfinished: reset.unfinished }))
            }
            _ if saved => words.line(guarding::When::Saved),
            Found::Now => words.line(guarding::When::Now),
            Found::Before => words.line(guarding::When::Before),
        };
        let where_to_look = guarding::more(&account.run().directory.display().to_string(), spike.number);
        let after_ms = (monotonic_ns() - spike.sample.seen_ns()) / 1_000_000;
        let fact = Box::new(AccountOfMiss {
            session: Short::name(&late.session),
            thread: Short::name(&late.thread),
            tid: spike.tid,
            sample: spike.watched,
            request: spike.request.clone(),
            limit_ns: late.limit_ns,
            after_ms: is_new.then_some(after_ms),
            ran_unix_ns: unix_ns_of(spike.sample.seen_ns(), account.run(), !is_new),
            suppressed: suppressed.saturating_sub(self.reported),
            shed: late.shed.to_vec(),
            account: brief,
        });
        (self.reported, self.reported_ns) = (suppressed.max(self.reported), monotonic_ns());
        let fact = match late.found {
            Found::AtReset(reset) => Fact::Reset(Box::new(Reset { miss: Some(fact), ..*reset })),
            _ if saved => Fact::Saved(fact),
            Found::Now | Found::Before => Fact::Miss(fact),
        };
        if let Some(number) = self.append(fact).filter(|_| saved) {
            self.shared.saved.store(number, Relaxed);
        }
        self.outputs.line(Weight::Warning, &format!("{line}; {where_to_look}"));
        self.look_after_room();
    }

    fn account_for_chain(&mut self, late: &Late, spike: &Spike, missed: &MissedChain) {
        let recovered = !matches!(late.found, Found::Now);
        // The guard before this one has counted a recovered one.
        if !recovered {
            self.shared.figures().chain_missed(&late.session, missed);
        }
        let Some(chains) = self.chains.as_ref().filter(|_| recovered || self.rate.allows(monotonic_ns())) else {
            return;
        };
        let explained = chains.account(&late.run, spike.number, missed);
        let finding = explained.finding.as_ref().map(|finding| (finding, explained.stages));
        let line = guarding::chain_missed(missed, finding, late.shed, recovered);
        let archive = late.run.directory.display().to_string();
        let more = guarding::more_of_chains(&archive, &chains.path().display().to_string());
        let fact = Fact::Chain(Box::new(ChainMiss {
            session: Short::name(&late.session),
            after_ms: (!recovered).then(|| (monotonic_ns() - missed.end_ns) / 1_000_000),
            ended_unix_ns: unix_ns_of(missed.end_ns, &late.run, recovered),
            shed: late.shed.to_vec(),
            account: explained.account,
        }));
        if self.append(fact).is_some() && !recovered {
            self.shared.figures().chain_accounts += 1;
        }
        self.outputs.line(Weight::Warning, &format!("{line}; {more}"));
        self.look_after_room();
    }

    fn look_after_room(&mut self) {
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

/// The instant of a monotonic clock in ns since 1970. `None` if a recovered archive began before this boot.
fn unix_ns_of(seen_ns: i64, run: &Run, recovered: bool) -> Option<i64> {
    let booted_unix_ns = unix_ns() - monotonic_ns();
    let began = run.manifest.as_ref().is_some_and(|manifest| manifest.started_unix_ns >= booted_unix_ns);
    (began || !recovered).then(|| booted_unix_ns + seen_ns)
}

pub fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

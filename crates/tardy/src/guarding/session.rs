//! One session of a guard: a watch with its archive, whose events become accounts while it goes on.

use super::accounts::{Accounts, Found, Late, Shared};
use super::beside::BesideMeter;
use super::boot_state::{BootWriter, StateThread};
use super::config::GuardConfig;
use super::cost::memory_kb;
use super::entry::Fact;
use super::known::{KnownRun, is_real_time_series};
use super::signals::GuardSignals;
use super::weighing::{Weighed, Weighing};
use archive::message::RunPhase;
use archive::settings::{RunSettings, TraceSettings};
use archive::spike::Spike;
use archive::watched::guard::GuardSettings;
use archive::watched::{WatchSettings, WatchedKind, WatchedSeries};
use chains::declaration::ChainFile;
use machines::KnownTarget;
use runner::event::Event;
use runner::run::{RunOutcome, RunRequest, TimeLimits, run_guarding};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use words::guarding;

/// A cycle may reach back further than a wake-up, and the trace has to cover all of it.
const MARGIN_BEFORE_NS: u64 = 20_000_000;
/// Series of a session after which the next one begins: threads come and go, and each keeps its figures.
const SERIES_MAX: usize = 1000;
/// Longest interval between totals where a reset may come.
const TOTALS_NS: u64 = 10_000_000_000;
/// A real-time task may keep the meter from the CPU for a while.
const SILENCE: Duration = Duration::from_secs(120);
/// Buffer of each CPU of the instance that follows the threads.
const FOLLOWER_KB: u64 = 1024;

/// Codes of the meter's answers to requests.
const NOTHING_TO_SAVE: &str = "meter.nothing-to-save";
const EVENTS_SHED: &str = "meter.events-shed";
const KEEPS_NOTHING: [&str; 2] = ["meter.kept-instance-used", "meter.kept-instance-failed"];

/// State that the sessions of a guard share.
pub struct Guard {
    pub config: GuardConfig,
    pub chains: Option<ChainFile>,
    pub typed: Vec<String>,
    pub meter: PathBuf,
    pub signals: GuardSignals,
    pub shared: Shared,
    pub accounts: Accounts,
    pub weighing: Weighing,
    /// End of the session before.
    pub ended: Option<Instant>,
    pub complained: BTreeSet<String>,
    pub boot: BootWriter,
    pub beside: BesideMeter,
}

/// The state of one session.
struct Following<'a> {
    guard: &'a mut Guard,
    known: KnownRun,
    session: String,
    meter: Option<i32>,
    /// The meter does not record into the instance in kept memory.
    keeps_nothing: bool,
}

/// The settings of a session; `pid` is the process of a pid file or of a command.
pub fn settings(config: &GuardConfig, chains: Option<&ChainFile>, pid: Option<i32>) -> RunSettings {
    let limit_ns = config.watch.limit.map(|limit| limit.ns());
    let cycle_limit_ns = config.watch.cycle_limit.map(|limit| limit.ns());
    let kept_instance = Some(config.ring.kept_instance.clone()).filter(|name| !name.is_empty());
    let saved_ns = u64::from(config.ring.save_seconds) * 1_000_000_000;
    // After a reset the guard knows the threads of the last totals.
    let totals_ns = kept_instance.as_ref().map(|_| TOTALS_NS);
    let guard = GuardSettings { round_ns: config.cost.round.0, saved_ns, kept_instance, totals_ns };
    let mut watch = WatchSettings { guard: Some(guard), ..config.watch.request(pid) };
    chains.into_iter().for_each(|file| file.request(&mut watch));
    RunSettings {
        duration_ns: Some(config.ring.session.0),
        settle_ns: 0,
        lock_memory: false,
        worst_kept: 20,
        limit_ns,
        counters: false,
        trace: TraceSettings {
            margin_before_ns: MARGIN_BEFORE_NS,
            buffer_kb_per_cpu: config.cost.buffer_kb,
            threshold_ns: [limit_ns, cycle_limit_ns].into_iter().flatten().min().unwrap_or(i64::MAX),
            snapshots_max: u32::MAX,
            budget_bytes: u64::from(config.ring.size_mb) << 20,
            controls: 0,
            rest_ns: config.accounts.rest.0,
            ..TraceSettings::default()
        },
        watch: Some(watch),
        ..RunSettings::default()
    }
}

impl Guard {
    /// Runs a session to its end. `released` is called once the trace is on.
    ///
    /// # Errors
    /// If it could not begin.
    pub fn session(&mut self, pid: Option<i32>, released: &mut dyn FnMut()) -> anyhow::Result<RunOutcome> {
        self.beside.leave();
        let here = KnownTarget::local();
        let (directory, id) = self.shared.ring().new_session(&here.host_name())?;
        let settings = settings(&self.config, self.chains.as_ref(), pid);
        let stop = self.signals.begin_session();
        let mut target = here.open(&self.meter, crate::measuring::machine::reporting(), stop.clone())?;
        let request = RunRequest {
            id: id.clone(),
            directory: directory.clone(),
            command: self.typed.clone(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            meter: self.meter.clone(),
            limits: TimeLimits::of(&settings, SILENCE),
            settings: settings.clone(),
        };
        self.accounts.session(directory.clone());
        self.boot.begin_session();
        self.shared.rotate.store(false, Relaxed);
        let requests = self.signals.requests.clone();
        let mut following = Following {
            guard: self,
            known: KnownRun::of(&directory, settings),
            session: id,
            meter: None,
            keeps_nothing: false,
        };
        let outcome = run_guarding(target.as_mut(), &request, &requests, &stop, &mut |event| {
            if event == Event::Phase(RunPhase::Measure) {
                released();
            }
            following.take(&event);
        });
        if let Some(weighed) = following.guard.weighing.end() {
            following.report(weighed);
        }
        self.shared.figures().end_session();
        self.ended = Some(Instant::now());
        Ok(outcome?)
    }
}

impl Following<'_> {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Greeted { pid } => self.meter = Some(*pid),
            Event::Phase(RunPhase::Measure) => self.begin_to_count(),
            Event::Seconds(seconds) => self.guard.shared.figures().add(seconds),
            Event::Watched(series) => {
                let all = self.guard.config.watch.all_threads;
                let mut figures = self.guard.shared.figures();
                for one in series {
                    let counts = if all { Some(true) } else { is_real_time_series(one) };
                    let known = figures.series.entry(one.thread).or_default();
                    (known.tid, known.counts) = (one.tid, counts.or(known.counts));
                }
                drop(figures);
                self.keep_in_mind(series);
            }
            Event::Progress { .. } => {
                self.guard.boot.update();
                self.meter.into_iter().for_each(|meter| self.guard.beside.follow(meter));
                self.look_after_cost();
            }
            Event::Problem(problem) if KEEPS_NOTHING.contains(&problem.code.as_str()) => {
                self.keeps_nothing = true;
                if self.is_news(problem.code.as_str()) {
                    complain!("tardy guard: {}", crate::nothing_measured::with_fix(problem));
                }
            }
            Event::Problem(problem) if self.is_news(problem.code.as_str()) => {
                complain!("tardy guard: {}", crate::nothing_measured::with_fix(problem));
            }
            _ => {}
        }
        if let Some(spike) = self.known.take(event) {
            self.guard.weighing.miss();
            self.account_for(spike);
        }
    }

    /// For the guard after a reset.
    fn keep_in_mind(&mut self, series: &[WatchedSeries]) {
        for one in series {
            match one.ended {
                true => self.guard.boot.forget(one.tid),
                false => {
                    let thread = StateThread { name: one.name.clone(), real_time: is_real_time_series(one) };
                    self.guard.boot.thread(one.tid, thread);
                }
            }
        }
    }

    /// Each problem is reported once. Shedding has its own line, and each request to save its answer.
    fn is_news(&mut self, code: &str) -> bool {
        code == NOTHING_TO_SAVE || (code != EVENTS_SHED && self.guard.complained.insert(code.to_owned()))
    }

    /// The trace is on: from here on the guard costs something.
    fn begin_to_count(&mut self) {
        if let Some(ended) = self.guard.ended.take() {
            let ms = u64::try_from(ended.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.guard.shared.figures().blind_ms += ms;
            self.guard.accounts.fact(Fact::Gap { ms }, None);
        }
        if let kinds @ 1.. = self.guard.weighing.kinds().len() {
            self.guard.signals.requests.shed(kinds);
        }
        self.guard.boot.records(!self.keeps_nothing);
        let Some(meter) = self.meter else { return };
        let kept = self.guard.boot.instance().filter(|_| !self.keeps_nothing);
        if let Some(event_ns) = self.guard.weighing.begin(meter, kept, vec![self.guard.accounts.tid]) {
            complain!("tardy guard: a recorded event costs {event_ns:.0} ns on this machine");
        }
    }

    fn look_after_cost(&mut self) {
        if !self.guard.weighing.counts() {
            return;
        }
        if let Some(weighed) = self.guard.weighing.look() {
            self.report(weighed);
        }
        let is_full = self.guard.shared.figures().series.len() > SERIES_MAX;
        if is_full || self.guard.shared.rotate.swap(false, Relaxed) {
            self.guard.signals.end_session();
        }
    }

    fn report(&mut self, Weighed { cost_percent, shed, is_first }: Weighed) {
        let guard = &mut *self.guard;
        let budget_percent = guard.config.cost.budget_percent;
        if let Some(kinds) = shed {
            guard.signals.requests.shed(kinds);
            let kinds = guard.weighing.kinds().to_vec();
            let line = guarding::shed(&kinds, cost_percent, budget_percent);
            guard.accounts.fact(Fact::Shed { kinds, cost_percent, budget_percent }, line);
        } else if is_first {
            complain!("tardy guard: {}", guarding::cost(guard.weighing.kinds(), Some(cost_percent), budget_percent));
        }
        let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let buffers_kb = cpus * (self.known.buffers_per_cpu() * u64::from(guard.config.cost.buffer_kb) + FOLLOWER_KB);
        let mut figures = guard.shared.figures();
        (figures.cost_percent, figures.budget_percent) = (guard.weighing.whole_percent(), budget_percent);
        figures.shed = guard.weighing.kinds().len();
        // A session that has ended has no meter any more.
        figures.memory_kb = memory_kb(self.meter.unwrap_or(0), buffers_kb).max(figures.memory_kb);
        drop(figures);
        guard.accounts.tick();
    }

    fn account_for(&mut self, spike: Spike) {
        let config = &self.guard.config;
        let limit_ns = limit_of(config, spike.watched);
        let is_miss = limit_ns.is_some_and(|limit_ns| spike.sample.latency_ns > limit_ns);
        let (thread, real_time) = self.known.thread_of(&spike);
        let counts = config.watch.all_threads || real_time != Some(false);
        if !spike.requested {
            let mut figures = self.guard.shared.figures();
            let series = figures.series.entry(spike.thread).or_default();
            (series.tid, series.counts) =
                (spike.tid, Some(counts).filter(|_| config.watch.all_threads || real_time.is_some()));
        }
        if spike.requested || (is_miss && counts) {
            let (session, shed) = (self.session.clone(), self.guard.weighing.kinds());
            let run = self.known.with(spike);
            self.guard.accounts.late(Late { run, session, thread, limit_ns, shed, found: Found::Now });
        }
    }
}

/// The limit of a kind of sample.
pub fn limit_of(config: &GuardConfig, kind: Option<WatchedKind>) -> Option<i64> {
    let limit = match kind {
        Some(WatchedKind::Cycle) => config.watch.cycle_limit,
        _ => config.watch.limit,
    };
    limit.map(|limit| limit.ns())
}

/// The name of a session, by its directory.
pub fn name_of(session: &Path) -> String {
    session.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

//! Reads the archive of the measurement while it grows: explains each late wake-up once, ranks who caused it, and judges the uses.

use super::state::Shared;
use crate::measuring::NICE_OF_EXPLAINING;
use account::explain_one;
use account::ranking::Ranking;
use anyhow::Context;
use archive::reader::Run;
use archive::summary::RunSummary;
use judge::machine::doubts;
use judge::uses::{so_far, uses};
use report::account::culprit;
use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};
use server::desk::{DeskCause, DeskCpu, DeskSpike, DeskState};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Shortest time between two looks, and the pause for the CPU time of one: a long run takes long to read.
const PACE: Duration = Duration::from_secs(1);
const PAUSE_OF_LOOK: u32 = 5;
/// Pause between two looks at whether the desk ends.
const END_NOTICED: Duration = Duration::from_millis(100);
/// CPU time in a look after which no further wake-up is explained, and the time on the clock: the page is to go on.
const EXPLAINING: Duration = Duration::from_millis(500);
const EXPLAINING_ON_CLOCK: Duration = Duration::from_secs(3);
/// Looks after which a trace that did not arrive is given up.
const LOOKS_MAX: u32 = 10;
const SPIKES_SHOWN: usize = 10;
const DELAYERS_SHOWN: usize = 12;
const CONFIDENCE: f64 = 0.95;

/// The looking thread.
pub struct Looking(JoinHandle<()>);

impl Looking {
    pub fn end(self) {
        let _ = self.0.join();
    }
}

/// Starts to look.
///
/// # Errors
/// If the thread cannot be made.
pub fn start(shared: &Arc<Shared>) -> anyhow::Result<Looking> {
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("tardy:explain".into());
    let thread = thread.spawn(move || follow(&shared)).context("failed to start a thread")?;
    Ok(Looking(thread))
}

/// Everything known of the late wake-ups of a session so far.
#[derive(Default)]
struct Known {
    archive: PathBuf,
    ranking: Ranking,
    explained: BTreeSet<u32>,
    /// Spikes whose trace did not arrive.
    without_trace: BTreeSet<u32>,
    /// Looks at which the trace of a spike was missing.
    missing: BTreeMap<u32, u32>,
    /// Causes of the worst wake-ups, with their latency.
    causes: BTreeMap<u32, (i64, String)>,
}

fn follow(shared: &Shared) {
    // The measuring threads come before it anyway; other programs should, too.
    let _ = setpriority_process(None, NICE_OF_EXPLAINING);
    let mut known = Known::default();
    while !shared.is_over() {
        let begun = cpu_time();
        if let Some(archive) = shared.archive() {
            if known.archive != archive {
                // Numbers of spikes begin again.
                shared.update(DeskState::end_session);
                known = Known { archive: archive.clone(), ..Known::default() };
            }
            look(shared, &archive, &mut known);
        }
        let pause = PACE.max((cpu_time() - begun) * PAUSE_OF_LOOK);
        let until = Instant::now() + pause;
        while Instant::now() < until && !shared.is_over() {
            thread::sleep(END_NOTICED);
        }
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or(0))
}

fn look(shared: &Shared, archive: &Path, known: &mut Known) {
    let Ok(run) = Run::open(archive) else { return };
    known.explain(&run);
    let summary = RunSummary::of(&run, &[]);
    let judged = uses(&run, &summary, CONFIDENCE);
    let doubts = doubts(&summary).into_iter().map(|doubt| doubt.text).collect();
    let threads = || run.threads.values();
    let (spikes, pending) = (known.worst(&run), known.pending(&run).count() as u64);
    shared.update(|state| {
        if let Some(environment) = &run.environment {
            state.host.clone_from(&environment.hostname);
            state.kernel.clone_from(&environment.kernel_release);
        }
        let so_far = so_far(&run, &summary);
        (state.measured_ns, state.samples) = (so_far.measured_ns, so_far.samples);
        (state.worst_ns, state.median_ns) = (so_far.worst_ns, summary.all_cpus.p50);
        let cpu = |thread: &archive::reader::ThreadRun| DeskCpu {
            cpu: thread.cpu,
            samples: thread.totals.cycles,
            worst_ns: thread.totals.latency_ns_max,
        };
        state.cpus = threads().map(cpu).collect();
        (state.uses, state.doubts) = (judged, doubts);
        state.delayers = known.ranking.first(DELAYERS_SHOWN);
        state.of_host = known.ranking.of_host();
        (state.accounts, state.unexplained) = (known.ranking.spikes(), known.ranking.unexplained());
        let late = threads().map(|thread| thread.totals.over_limit).fold(0, u64::saturating_add);
        (state.pending, state.without_trace) = (pending, known.without_trace.len() as u64);
        let recorded = state.accounts.saturating_add(state.pending).saturating_add(state.without_trace);
        state.unaccounted = late.saturating_sub(recorded);
        (state.delay_ns, state.explained_ns) = (known.ranking.delay_ns(), known.ranking.explained_ns());
        state.spikes = spikes;
    });
}

impl Known {
    /// Explains what is new, the worst first, as far as there is time.
    fn explain(&mut self, run: &Run) {
        let (begun, begun_cpu) = (Instant::now(), cpu_time());
        // What was replaced by a worse one is not shown.
        let recorded: BTreeSet<u32> = run.spikes.iter().map(|spike| spike.number).collect();
        self.causes.retain(|number, _| recorded.contains(number));
        let mut new: Vec<(i64, u32)> = self.pending(run).collect();
        new.sort_unstable_by_key(|one| Reverse(*one));
        for (latency_ns, number) in new {
            if cpu_time() - begun_cpu > EXPLAINING || begun.elapsed() > EXPLAINING_ON_CLOCK {
                return;
            }
            let Some(explanation) = explain_one(run, number) else {
                let looks = self.missing.entry(number).or_default();
                *looks += 1;
                if *looks >= LOOKS_MAX {
                    self.missing.remove(&number);
                    self.without_trace.insert(number);
                }
                continue;
            };
            self.ranking.add(&explanation);
            self.explained.insert(number);
            self.causes.insert(number, (latency_ns, culprit(Some(&explanation))));
            if self.causes.len() > SPIKES_SHOWN
                && let Some(least) = self
                    .causes
                    .iter()
                    .min_by_key(|(number, (ns, _))| (*ns, Reverse(**number)))
                    .map(|(number, _)| *number)
            {
                self.causes.remove(&least);
            }
        }
    }

    /// Latency and number of each late wake-up that is to be explained.
    fn pending(&self, run: &Run) -> impl Iterator<Item = (i64, u32)> {
        let limit_ns = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref()?.limit_ns).unwrap_or(0);
        let is_known = |number: u32| self.explained.contains(&number) || self.without_trace.contains(&number);
        let late = run.spikes.iter().map(|spike| (spike.sample.latency_ns, spike.number));
        late.filter(move |(latency_ns, number)| *latency_ns > limit_ns && !is_known(*number))
    }

    /// The worst wake-ups with their causes.
    fn worst(&self, run: &Run) -> Vec<DeskSpike> {
        let mut sorted: Vec<_> = run.spikes.iter().collect();
        sorted.sort_by_key(|spike| (Reverse(spike.sample.latency_ns), spike.number));
        let shown = sorted.into_iter().take(SPIKES_SHOWN).map(|spike| DeskSpike {
            number: spike.number,
            cpu: spike.sample.cpu,
            latency_ns: spike.sample.latency_ns,
            cause: match self.causes.get(&spike.number) {
                Some((_, cause)) => DeskCause::Known(cause.clone()),
                None if self.without_trace.contains(&spike.number) => DeskCause::NoTrace,
                None => DeskCause::Pending,
            },
        });
        shown.collect()
    }
}

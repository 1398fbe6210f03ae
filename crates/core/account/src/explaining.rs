//! Explains the spikes of a run: reads the input of `explain` from the disk, one trace at a time.

use crate::spike_trace::SpikeTrace;
use crate::stored_file::StoredFiles;
use archive::causes::RunCauses;
use archive::caveat::{Caveat, Limit};
use archive::environment::{Environment, VIRTUAL_TIME};
use archive::explanation::Explanation;
use archive::message::RunPhase;
use archive::method::{SampleWord, Stimulus};
use archive::reader::Run;
use archive::sample::Sample;
use archive::settings::Policy;
use archive::spike::Spike;
use archive::stacks::NamedStacks;
use archive::watched::WatchedKind;
use explain::flight::{Flight, StopPoint};
use explain::recorder::{Precision, Recorder};
use explain::run_analysis::{SpikesOfRun, analyse};
use explain::scheduling_bound::{Interference, observe};
use explain::{Source, SpikeInput, Stretch, evidence_window, explain_spike, explain_without_trace, stretches};
use stacks::Naming;
use std::collections::BTreeMap;

const INTERVAL_NS_DEFAULT: u64 = 1_000_000;

/// Explains the spike of a run whose trace is in memory; the run may still go on. `None` without a spike.
pub fn explain_arrived(run: &Run, trace: Vec<u8>) -> Option<Explanation> {
    let circumstances = Circumstances::of(run);
    let trace = SpikeTrace::Memory(trace);
    run.spikes.first().map(|spike| explain_spike(&circumstances.input(run, spike, trace.source(), (None, &[]))))
}

/// Explains one spike of a run that may still go on; `None` without the spike or its trace.
pub fn explain_one(run: &Run, number: u32) -> Option<Explanation> {
    let spike = run.spikes.iter().find(|spike| spike.number == number)?;
    let trace = SpikeTrace::open(run, number).ok()?;
    let stacks = named_stacks(run, spike, &mut Naming::new(StoredFiles::default().and_of_archive(&run.directory)));
    Some(explain_spike(&Circumstances::of(run).input(run, spike, trace.source(), (stacks.as_ref(), &[]))))
}

/// The spike of a case in the corpus, whose `spike.json` is `text`, and its explanation.
///
/// # Errors
/// If the text does not describe a case.
pub fn explain_case(text: &str, trace: &[u8]) -> Result<(Spike, Explanation), serde_json::Error> {
    let case: explain::corpus_case::CorpusCase = serde_json::from_str(text)?;
    let explanation = explain_spike(&case.input(trace.into()));
    Ok((case.spike, explanation))
}

/// Where a machine that repeats the run stands `ns_after_due` after a recorded wake-up was due; `None` if the wake-up
/// was not recorded.
pub fn stop_point(run: &Run, spike: &Spike, ns_after_due: i64) -> Option<StopPoint> {
    let record = run.flight_record(spike.number).ok()?;
    Flight::open(&record).stop_point(&spike.sample, ns_after_due)
}

/// The facts of a run that all its spikes share.
#[derive(Debug)]
pub(crate) struct Circumstances {
    environment: Option<Environment>,
    interval_ns: u64,
    stimulus: Stimulus,
    pub sample: SampleWord,
    recorder: Recorder,
    /// CPU and thread id of every measuring thread.
    measuring_tids: Vec<(u32, i32)>,
}

impl Circumstances {
    pub fn of(run: &Run) -> Self {
        let threads = run.effective.iter().flat_map(|effective| &effective.threads);
        // Threads of a watched program do not count as threads of the tool for each other.
        let watched = !run.watched.is_empty();
        let mut measuring_tids: Vec<(u32, i32)> = threads
            .filter_map(|thread| {
                Some((
                    run.threads.get(&thread.thread).map(|seen| seen.cpu).or(thread.cpus.first().copied())?,
                    thread.tid,
                ))
            })
            .chain(run.spikes.iter().filter(|_| !watched).map(|spike| (spike.sample.cpu, spike.tid)))
            .collect();
        measuring_tids.sort_unstable();
        measuring_tids.dedup();
        let in_virtual_time = run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time);
        let environment = run.environment.clone().map(|environment| match in_virtual_time {
            true => Environment { virtualisation: Some(VIRTUAL_TIME.into()), ..environment },
            false => environment,
        });
        let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
        Self {
            environment,
            interval_ns: settings.map_or(INTERVAL_NS_DEFAULT, |settings| settings.interval_ns),
            stimulus: settings.map_or(Stimulus::Timer, |settings| settings.method.stimulus()),
            sample: settings.map(|settings| settings.method.sample()).unwrap_or_default(),
            recorder: recorder(run),
            measuring_tids,
        }
    }

    /// Explains all spikes, the control samples first because the others are compared with them. `files` are the programs of watched
    /// threads. Calls `progress` with the
    /// number of explained spikes and their total.
    pub fn explain_all(
        &self,
        run: &Run,
        files: StoredFiles,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Vec<Explanation> {
        if run.is_published() {
            return published_explanations(run);
        }
        let (controls, others): (Vec<&Spike>, Vec<&Spike>) = run.spikes.iter().partition(|spike| spike.is_control());
        let total = run.spikes.len();
        let mut explained_controls = Vec::new();
        let mut naming = Naming::new(files);
        for spike in controls {
            progress(explained_controls.len(), total);
            explained_controls.push(self.explain(run, spike, &mut naming, &[]));
        }
        let mut explanations = explained_controls.clone();
        for spike in others {
            progress(explanations.len(), total);
            explanations.push(self.explain(run, spike, &mut naming, &explained_controls));
        }
        explanations.sort_by_key(|explanation| explanation.spike);
        explanations
    }

    /// Common causes of the spikes of a run.
    pub fn causes(&self, run: &Run, explanations: &[Explanation]) -> RunCauses {
        let worst: Vec<(u32, Sample)> =
            run.threads.values().flat_map(|of| of.worst.iter().map(|sample| (of.thread, *sample))).collect();
        let config = run.environment.iter().flat_map(|environment| &environment.config);
        let tick_hz = config.filter_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok()).next();
        let spikes: Vec<Spike> = run.late_spikes().cloned().collect();
        let (interval_ns, word) = (self.interval_ns, self.sample);
        analyse(&SpikesOfRun { spikes: &spikes, explanations, worst: &worst, interval_ns, tick_hz, word })
    }

    /// The lines of the trace around one spike; empty without a trace.
    pub fn events(&self, run: &Run, spike: &Spike) -> Vec<String> {
        let recorded =
            run.recordings.contains_key(&spike.number).then(|| run.flight_record(spike.number).ok()).flatten();
        let recorded = recorded.map(SpikeTrace::Memory);
        let Some(trace) = recorded.or_else(|| SpikeTrace::open(run, spike.number).ok()) else { return Vec::new() };
        evidence_window(&self.input(run, spike, trace.source(), (None, &[])))
    }

    /// The ledger of one spike by stretches; empty without a trace.
    pub fn stretches(&self, run: &Run, spike: &Spike, trace: Source<'_>) -> Vec<Stretch> {
        stretches(&self.input(run, spike, trace, (None, &[])))
    }

    /// Interrupt times observed around the late wake-ups, by CPU. CPUs without a trace are missing.
    pub fn interference(&self, run: &Run) -> BTreeMap<u32, Interference> {
        let mut by_cpu: BTreeMap<u32, Interference> = BTreeMap::new();
        for spike in &run.spikes {
            let Ok(trace) = SpikeTrace::open(run, spike.number) else { continue };
            let interference = by_cpu.entry(spike.sample.cpu).or_default();
            observe(&self.input(run, spike, trace.source(), (None, &[])), interference);
        }
        by_cpu.retain(|_, interference| interference.recorded_ns > 0);
        by_cpu
    }

    fn input<'a>(
        &'a self,
        run: &'a Run,
        spike: &'a Spike,
        trace: Source<'a>,
        (stacks, controls): (Option<&'a NamedStacks>, &'a [Explanation]),
    ) -> SpikeInput<'a> {
        let outside = run.absences.get(&spike.number);
        SpikeInput {
            spike,
            trace,
            median_ns: median_ns(run, spike),
            interval_ns: period_ns(run, spike).unwrap_or(self.interval_ns),
            measuring_tids: &self.measuring_tids,
            own_prio: own_prio(run, spike),
            tool_tids: run.effective.as_ref().map_or(&[], |effective| &effective.tool_tids),
            environment: self.environment.as_ref(),
            absences: outside.map_or(&[], |seen| &seen.absences),
            in_turns: outside.is_some_and(|seen| seen.in_turns),
            stimulus: self.stimulus,
            sample: self.sample,
            recorder: self.recorder,
            stacks,
            controls,
        }
    }

    fn explain(
        &self,
        run: &Run,
        spike: &Spike,
        naming: &mut Naming<StoredFiles>,
        controls: &[Explanation],
    ) -> Explanation {
        if let Some(recording) = run.recordings.get(&spike.number)
            && let Ok(record) = run.flight_record(spike.number)
        {
            let explanation = explain_spike(&self.input(run, spike, (&record).into(), (None, controls)));
            return Explanation { recording: Some(recording.clone()), ..explanation };
        }
        if spike.snapshot.is_none() {
            return explain_without_trace(spike, median_ns(run, spike));
        }
        match SpikeTrace::open(run, spike.number) {
            Ok(trace) => {
                let stacks = named_stacks(run, spike, naming);
                explain_spike(&self.input(run, spike, trace.source(), (stacks.as_ref(), controls)))
            }
            Err(error) => {
                let mut explanation = explain_without_trace(spike, median_ns(run, spike));
                explanation.caveats.push(Caveat::new(Limit::TraceUnreadable(error.to_string())));
                explanation
            }
        }
    }
}

/// The explanations that a publication has: without its traces they cannot be made again.
fn published_explanations(run: &Run) -> Vec<Explanation> {
    let stored = run.explanations().unwrap_or_default();
    let mut stored: BTreeMap<u32, Explanation> = stored.into_iter().map(|stored| (stored.spike, stored)).collect();
    let of = |spike: &Spike| {
        let explained = stored.remove(&spike.number).filter(|stored| stored.latency_ns == spike.sample.latency_ns);
        explained.unwrap_or_else(|| explain_without_trace(spike, median_ns(run, spike)))
    };
    let mut explanations: Vec<Explanation> = run.spikes.iter().map(of).collect();
    explanations.sort_by_key(|explanation| explanation.spike);
    explanations
}

/// The stacks of a watched thread, if they were sampled, with the functions of the programs on this machine.
fn named_stacks(run: &Run, spike: &Spike, naming: &mut Naming<StoredFiles>) -> Option<NamedStacks> {
    spike.watched?;
    naming.named(&run.spike_stacks(spike.number).ok()?)
}

/// The kernel priority of a measuring thread at its start; unknown for a watched thread.
fn own_prio(run: &Run, spike: &Spike) -> Option<i32> {
    let threads = &run.effective.as_ref().filter(|_| spike.watched.is_none())?.threads;
    let thread = threads.iter().find(|thread| thread.tid == spike.tid)?;
    matches!(thread.policy, Policy::Fifo | Policy::Rr).then(|| 99 - i32::from(thread.priority))
}

/// Another tool recorded the traces of an imported run.
fn recorder(run: &Run) -> Recorder {
    let imported = run.manifest.as_ref().and_then(|manifest| manifest.imported.as_ref());
    imported.map_or(Recorder::Own, |imported| {
        Recorder::Foreign(Precision {
            resolution_ns: i64::try_from(imported.resolution_ns).unwrap_or(i64::MAX),
            clock_spread_ns: imported.clock_spread_ns.unwrap_or(0),
        })
    })
}

/// Approximate wake-up period of a watched thread, whose intended period is unknown.
fn period_ns(run: &Run, spike: &Spike) -> Option<u64> {
    spike.watched?;
    let cycles = run.threads.get(&spike.thread)?.totals.cycles;
    let of = |phase| run.phases.iter().find(|(name, _)| *name == phase).map(|(_, at_ns)| *at_ns);
    let measured_ns = of(RunPhase::Collect)?.checked_sub(of(RunPhase::Measure)?)?;
    u64::try_from(measured_ns).ok()?.checked_div(cycles)
}

/// The ordinary latency. For a cycle it is 0: the whole cycle is accounted for.
fn median_ns(run: &Run, spike: &Spike) -> i64 {
    if spike.watched == Some(WatchedKind::Cycle) {
        return 0;
    }
    run.latency_ns_median(spike.thread).unwrap_or(0)
}

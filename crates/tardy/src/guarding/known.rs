//! The run so far, kept in memory while a session goes on: what explains a late wake-up beside its trace.

use archive::manifest::Manifest;
use archive::message::FileKind;
use archive::reader::{Run, ThreadRun};
use archive::settings::{Policy, RunSettings, SnapshotMode};
use archive::spike::Spike;
use archive::watched::WatchedSeries;
use runner::event::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Spikes and traces that wait for each other; they come within a second.
const WAITING_MAX: usize = 64;

/// Follows a session.
pub struct KnownRun {
    /// Without spikes.
    run: Run,
    files: BTreeMap<u32, u32>,
    traced: BTreeSet<u32>,
    waiting: BTreeMap<u32, Spike>,
}

impl KnownRun {
    pub fn of(directory: &Path, settings: RunSettings) -> Self {
        let manifest = Manifest { settings: Some(settings), ..Manifest::new("", "", "local") };
        let run = Run { directory: directory.to_owned(), manifest: Some(manifest), ..Run::default() };
        Self { run, files: BTreeMap::new(), traced: BTreeSet::new(), waiting: BTreeMap::new() }
    }

    /// Trace buffers of the configured size that each CPU has.
    pub fn buffers_per_cpu(&self) -> u64 {
        let mode = self.run.effective.as_ref().map(|effective| effective.snapshot_mode);
        mode.unwrap_or(SnapshotMode::Auto).buffers_per_cpu()
    }

    /// Processes an event; returns a spike whose trace, if it has one, is on the disk.
    pub fn take(&mut self, event: &Event) -> Option<Spike> {
        match event {
            Event::Environment(environment) => self.run.environment = Some((**environment).clone()),
            Event::Effective(effective) => self.run.effective = Some((**effective).clone()),
            Event::Progress { threads, .. } => {
                for progress in threads {
                    self.thread(progress.thread).cpu = progress.cpu;
                }
            }
            Event::Totals { thread, histogram, .. } => self.thread(*thread).histogram = histogram.clone(),
            Event::Watched(series) => self.run.watched.extend(series.iter().map(|one| (one.thread, one.clone()))),
            Event::FileBegun { file, kind: FileKind::SpikeTrace { spike } } => _ = self.files.insert(*file, *spike),
            Event::FileComplete { file } => {
                let spike = self.files.remove(file)?;
                let waiting = self.waiting.remove(&spike);
                if waiting.is_none() {
                    self.traced.insert(spike);
                    while self.traced.len() > WAITING_MAX {
                        self.traced.pop_first();
                    }
                }
                return waiting;
            }
            Event::Spike(spike) if spike.snapshot.is_none() || self.traced.remove(&spike.number) => {
                return Some((**spike).clone());
            }
            Event::Spike(spike) => {
                self.waiting.insert(spike.number, (**spike).clone());
                while self.waiting.len() > WAITING_MAX {
                    self.waiting.pop_first();
                }
            }
            _ => {}
        }
        None
    }

    /// The run with one spike, to explain it.
    pub fn with(&self, spike: Spike) -> Run {
        Run { spikes: vec![spike], ..self.run.clone() }
    }

    /// The thread of a spike: its name, and whether its policy is one of real time; from the kernel while it lives.
    pub fn thread_of(&self, spike: &Spike) -> (String, Option<bool>) {
        let known = self.run.watched.values().filter(|series| series.tid == spike.tid);
        let known = known.max_by_key(|series| !series.name.is_empty());
        let name = fs::read_to_string(format!("/proc/{}/comm", spike.tid)).ok().map(|name| name.trim_end().to_owned());
        let name = name.or(known.map(|series| series.name.clone())).unwrap_or_default();
        (name, is_real_time(spike.tid).or(known.and_then(is_real_time_series)))
    }

    fn thread(&mut self, thread: u32) -> &mut ThreadRun {
        self.run.threads.entry(thread).or_insert_with(|| ThreadRun { thread, ..ThreadRun::default() })
    }
}

/// Whether a series is one of a real-time thread, if its policy is known.
pub fn is_real_time_series(series: &WatchedSeries) -> Option<bool> {
    series.policy.map(|policy| matches!(policy, Policy::Fifo | Policy::Rr | Policy::Deadline))
}

/// Whether a living thread has a real-time or deadline policy.
pub fn is_real_time(tid: i32) -> Option<bool> {
    /// SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
    const POLICIES: [u32; 3] = [1, 2, 6];
    /// Position of the policy behind the name, which may contain anything.
    const POLICY: usize = 38;
    let stat = fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
    let fields = &stat[stat.rfind(')')? + 1..];
    let policy = fields.split_whitespace().nth(POLICY)?.parse().ok()?;
    Some(POLICIES.contains(&policy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sample::Sample;
    use archive::spike::SpikeReason;

    fn spike(number: u32) -> Spike {
        let sample = Sample { cpu: 0, cycle: 1, due_ns: 1, latency_ns: 2 };
        Spike::new(number, 0, i32::MAX, sample, SpikeReason::OverLimit)
    }

    #[test]
    fn a_spike_without_a_trace_is_complete_at_once() {
        let mut known = KnownRun::of(Path::new("run"), RunSettings::default());
        assert_eq!(known.take(&Event::Spike(Box::new(spike(1)))).map(|spike| spike.number), Some(1));
        assert_eq!(known.take(&Event::FileComplete { file: 9 }), None, "of another kind");
        let run = known.with(spike(4));
        assert_eq!((run.spikes.len(), run.directory.as_path()), (1, Path::new("run")));
        assert_eq!(known.thread_of(&spike(1)), (String::new(), None));
    }

    #[test]
    fn this_thread_is_not_one_of_real_time() {
        assert_eq!(is_real_time(rustix::thread::gettid().as_raw_nonzero().get()), Some(false));
        assert_eq!(is_real_time(i32::MAX), None);
    }
}

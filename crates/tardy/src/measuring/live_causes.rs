//! The cause of the newest spike during a run, for the live view: explained on a thread that disturbs no measured CPU, or
//! not before the run is over.

use account::explain_arrived;
use archive::effective::EffectiveSettings;
use archive::explanation::Explanation;
use archive::manifest::Manifest;
use archive::message::{FileKind, ThreadProgress};
use archive::reader::{Run, ThreadRun};
use archive::settings::RunSettings;
use archive::spike::{Spike, SpikeReason};
use machines::KnownTarget;
use report::account::culprit;
use runner::event::Event;
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

/// A larger trace is left for the end of the run.
const TRACE_BYTES_MAX: usize = 16 << 20;
/// The lowest priority of an ordinary thread.
const NICE_MAX: i32 = 19;

/// Where the explaining thread may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The run measures another machine.
    Anywhere,
    /// CPUs of this machine that the run does not measure.
    Cpus(Vec<u32>),
    Nowhere(WhyNot),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNot {
    /// Explaining would take time from a measured CPU.
    EveryCpuMeasured,
    /// Explaining would take time from the virtual machine, and how long it did not run is known only afterwards.
    VirtualMachine,
}

impl WhyNot {
    fn words(self) -> &'static str {
        match self {
            Self::EveryCpuMeasured => "its cause follows after the run: every CPU is measured",
            Self::VirtualMachine => "its cause follows after the run: this machine runs the virtual one",
        }
    }
}

/// The cause of a spike, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    Explained(Box<Explanation>),
    Later(WhyNot),
}

impl Cause {
    pub fn words(&self) -> String {
        match self {
            Self::Explained(explanation) => culprit(Some(explanation)),
            Self::Later(why) => why.words().into(),
        }
    }
}

/// A trace, in part or whole.
#[derive(Debug, Default)]
struct Trace {
    file: u32,
    spike: u32,
    bytes: Vec<u8>,
}

/// Work for the explaining thread: a run with one spike, and its trace.
type Work = (Run, Vec<u8>);

/// The explaining thread; it ends when this is dropped.
struct Explainer {
    work: SyncSender<Work>,
    done: Receiver<Explanation>,
}

/// Follows a run and explains its newest spike; one that comes while another is being explained waits, and is replaced by a
/// newer one.
pub struct LiveCauses {
    target: KnownTarget,
    place: Option<Place>,
    /// The run so far, without its spikes.
    known: Run,
    arriving: Option<Trace>,
    complete: Option<Trace>,
    spike: Option<Spike>,
    waiting: Option<Work>,
    explainer: Option<Explainer>,
}

impl LiveCauses {
    pub fn of(target: &KnownTarget, settings: RunSettings) -> Self {
        let manifest = Manifest { settings: Some(settings), ..Manifest::new("", "", target.name()) };
        Self {
            target: target.clone(),
            place: None,
            known: Run { manifest: Some(manifest), ..Run::default() },
            arriving: None,
            complete: None,
            spike: None,
            waiting: None,
            explainer: None,
        }
    }

    /// Processes an event; returns a newly found cause with the number of its spike.
    pub fn take(&mut self, event: &Event) -> Option<(u32, Cause)> {
        match event {
            Event::Environment(environment) => self.known.environment = Some((**environment).clone()),
            Event::Effective(effective) => {
                self.place = Some(place_for(&self.target, effective));
                self.known.effective = Some((**effective).clone());
            }
            Event::Progress { threads, .. } => threads.iter().for_each(|thread| self.at(thread)),
            Event::Totals { thread, histogram, .. } => self.known_thread(*thread).histogram = histogram.clone(),
            Event::FileBegun { file, kind: FileKind::SpikeTrace { spike } } if self.explains() => {
                self.arriving = Some(Trace { file: *file, spike: *spike, bytes: Vec::new() });
            }
            Event::FileBytes { file, offset, bytes } => self.append(*file, *offset, bytes),
            Event::FileComplete { file } => {
                if let Some(trace) = self.arriving.take_if(|trace| trace.file == *file) {
                    self.complete = Some(trace);
                }
            }
            Event::Spike(spike) if spike.reason != SpikeReason::Control => {
                if let Some(Place::Nowhere(why)) = &self.place {
                    return Some((spike.number, Cause::Later(*why)));
                }
                self.spike = Some((**spike).clone());
            }
            _ => {}
        }
        self.start_explaining();
        let done = &self.explainer.as_ref()?.done;
        let newest = done.try_iter().last()?;
        Some((newest.spike, Cause::Explained(Box::new(newest))))
    }

    fn explains(&self) -> bool {
        matches!(self.place, Some(Place::Anywhere | Place::Cpus(_)))
    }

    fn known_thread(&mut self, thread: u32) -> &mut ThreadRun {
        self.known.threads.entry(thread).or_insert_with(|| ThreadRun { thread, cpu: thread, ..ThreadRun::default() })
    }

    fn at(&mut self, progress: &ThreadProgress) {
        self.known_thread(progress.thread).cpu = progress.cpu;
    }

    /// Pieces of a trace come in order; another order, or one that is too large, gives none.
    fn append(&mut self, file: u32, offset: u64, bytes: &[u8]) {
        let Some(trace) = self.arriving.as_mut().filter(|trace| trace.file == file) else { return };
        if offset == trace.bytes.len() as u64 && trace.bytes.len() + bytes.len() <= TRACE_BYTES_MAX {
            trace.bytes.extend_from_slice(bytes);
        } else {
            self.arriving = None;
        }
    }

    fn start_explaining(&mut self) {
        let number = self.spike.as_ref().map(|spike| spike.number);
        if let Some(trace) = self.complete.take_if(|trace| Some(trace.spike) == number)
            && let Some(spike) = self.spike.take()
        {
            self.waiting = Some((Run { spikes: vec![spike], ..self.known.clone() }, trace.bytes));
        }
        let Some(work) = self.waiting.take() else { return };
        if self.explainer.is_none() {
            self.explainer = self.place.clone().and_then(Explainer::start);
        }
        let Some(explainer) = &self.explainer else { return };
        if let Err(TrySendError::Full(work)) = explainer.work.try_send(work) {
            self.waiting = Some(work);
        }
    }
}

impl Explainer {
    /// `None` if the thread cannot be kept away from the measured CPUs.
    fn start(place: Place) -> Option<Self> {
        let ((work, to_do), (found, done)) = (sync_channel::<Work>(0), sync_channel(1));
        let (ready, is_ready) = sync_channel(1);
        let explain = move || {
            let kept_away = keep_to(&place);
            if ready.send(kept_away).is_err() || !kept_away {
                return;
            }
            for (run, trace) in to_do {
                let explanation = explain_arrived(&run, trace);
                if explanation.is_some_and(|explanation| found.send(explanation).is_err()) {
                    return;
                }
            }
        };
        thread::Builder::new().name("tardy:explain".into()).spawn(explain).ok()?;
        is_ready.recv().is_ok_and(|ready| ready).then_some(Self { work, done })
    }
}

/// Keeps the calling thread to its place, at the lowest ordinary priority.
fn keep_to(place: &Place) -> bool {
    let Place::Cpus(cpus) = place else { return setpriority_process(None, NICE_MAX).is_ok() };
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    sched_setaffinity(None, &set).is_ok() && setpriority_process(None, NICE_MAX).is_ok()
}

fn place_for(target: &KnownTarget, effective: &EffectiveSettings) -> Place {
    if target.is_board() {
        return Place::Anywhere;
    }
    if !target.is_local() {
        return Place::Nowhere(WhyNot::VirtualMachine);
    }
    let measured: BTreeSet<u32> = effective.threads.iter().flat_map(|thread| &thread.cpus).copied().collect();
    let allowed = sched_getaffinity(None).ok();
    let is_allowed = |cpu: &u32| allowed.is_some_and(|allowed| allowed.is_set(*cpu as usize));
    let free: Vec<u32> = (0..CpuSet::MAX_CPU as u32).filter(|cpu| is_allowed(cpu) && !measured.contains(cpu)).collect();
    if free.is_empty() { Place::Nowhere(WhyNot::EveryCpuMeasured) } else { Place::Cpus(free) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::effective::EffectiveThread;
    use archive::sample::Sample;
    use archive::settings::{Policy, SnapshotMode};
    use machines::target_file::Description;
    use std::time::{Duration, Instant};

    const PATIENCE: Duration = Duration::from_secs(30);

    fn spike(number: u32) -> Event {
        Event::Spike(Box::new(Spike::new(
            number,
            0,
            1,
            Sample { cpu: 0, cycle: 1, due_ns: 1_000, latency_ns: 500 },
            SpikeReason::NewMaximum,
        )))
    }

    /// The events of a trace in two pieces, the second of which starts at `second`.
    fn trace(spike: u32, second: u64) -> [Event; 4] {
        [
            Event::FileBegun { file: 7, kind: FileKind::SpikeTrace { spike } },
            Event::FileBytes { file: 7, offset: 0, bytes: vec![1; 10] },
            Event::FileBytes { file: 7, offset: second, bytes: vec![2; 10] },
            Event::FileComplete { file: 7 },
        ]
    }

    fn effective(cpus: impl IntoIterator<Item = u32>) -> EffectiveSettings {
        EffectiveSettings {
            threads: vec![EffectiveThread {
                thread: 0,
                tid: 1,
                cpus: cpus.into_iter().collect(),
                policy: Policy::Fifo,
                priority: 80,
                timer_slack_ns: 1,
            }],
            snapshot_mode: SnapshotMode::Auto,
            ..EffectiveSettings::untraced()
        }
    }

    fn causes(place: Place) -> LiveCauses {
        LiveCauses { place: Some(place), ..LiveCauses::of(&KnownTarget::local(), RunSettings::default()) }
    }

    /// Waits for the next cause.
    fn next(causes: &mut LiveCauses) -> Option<u32> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some((spike, Cause::Explained(_))) = causes.take(&Event::Said { line: String::new() }) {
                return Some(spike);
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }

    #[test]
    fn a_spike_is_explained_once_it_and_its_trace_have_arrived_in_either_order() {
        let mut causes = causes(Place::Anywhere);
        trace(3, 10).iter().for_each(|event| assert_eq!(causes.take(event), None));
        assert_eq!(causes.take(&spike(3)), None);
        assert_eq!(next(&mut causes), Some(3));
        causes.take(&spike(4));
        trace(4, 10).iter().for_each(|event| drop(causes.take(event)));
        assert_eq!(next(&mut causes), Some(4));
    }

    #[test]
    fn a_trace_with_a_gap_and_that_of_another_spike_explain_nothing() {
        let mut causes = causes(Place::Anywhere);
        trace(3, 11).iter().for_each(|event| drop(causes.take(event)));
        causes.take(&spike(3));
        trace(2, 10).iter().for_each(|event| drop(causes.take(event)));
        assert!(causes.waiting.is_none() && causes.explainer.is_none());
    }

    #[test]
    fn where_explaining_would_disturb_the_reason_is_shown_and_no_trace_kept() {
        let every_cpu = effective(0..CpuSet::MAX_CPU as u32);
        let described = |text: &str| KnownTarget::new("it", Description::parse(text).unwrap());
        let board = described("backend = \"ssh\"\naddress = \"root@pi\"\n");
        let virtual_machine = described("backend = \"qemu\"\nkernel = \"/k\"\n");
        assert_eq!(place_for(&KnownTarget::local(), &every_cpu), Place::Nowhere(WhyNot::EveryCpuMeasured));
        assert_eq!(place_for(&virtual_machine, &every_cpu), Place::Nowhere(WhyNot::VirtualMachine));
        assert_eq!(place_for(&board, &every_cpu), Place::Anywhere);
        let allowed = sched_getaffinity(None).unwrap();
        let mine: Vec<u32> = (0..CpuSet::MAX_CPU as u32).filter(|cpu| allowed.is_set(*cpu as usize)).collect();
        assert_eq!(place_for(&KnownTarget::local(), &effective([])), Place::Cpus(mine));
        let mut causes = causes(Place::Nowhere(WhyNot::EveryCpuMeasured));
        trace(3, 10).iter().for_each(|event| assert_eq!(causes.take(event), None));
        assert!(causes.complete.is_none());
        assert_eq!(causes.take(&spike(3)), Some((3, Cause::Later(WhyNot::EveryCpuMeasured))));
    }
}

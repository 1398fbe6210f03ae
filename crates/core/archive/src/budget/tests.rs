//! Runs that a meter can make stay within their budget, and each share ends.

use super::*;
use crate::counters::CounterSecond;
use crate::frame::Encoder;
use crate::histogram::Histogram;
use crate::layout::FileKind;
use crate::message::{Ending, LoadReport, RunPhase, ThreadProgress};
use crate::sample::{Sample, Second, Totals};
use crate::settings::TraceSettings;
use crate::spike::{Spike, SpikeReason};
use crate::tracer::{KernelSeries, KernelSource, LATENCY_TRACES_MAX, LatencyTrace, TracerSettings};
use proptest::prelude::*;

/// Buckets of a thread in an hour on a busy machine.
const BUCKETS: u32 = 2000;

fn settings(cpus: u32, seconds: u64) -> RunSettings {
    RunSettings {
        cpus: Some((0..cpus).collect()),
        duration_ns: Some(seconds * 1_000_000_000),
        every_sample: true,
        sources: vec![KernelSource::Timerlat, KernelSource::Osnoise, KernelSource::Hwlat],
        trace: TraceSettings { tracer: Some(TracerSettings::default()), ..TraceSettings::default() },
        ..RunSettings::default()
    }
}

fn sample(latency_ns: i64) -> Sample {
    Sample { cpu: 0, cycle: 123_456_789, due_ns: 1_234_567_890_123, latency_ns }
}

fn histogram() -> Histogram {
    Histogram { buckets: (0..BUCKETS).map(|bucket| (3 * bucket, 1234)).collect() }
}

fn totals(thread: u32, worst: usize) -> Message {
    let worst = vec![sample(153_214); worst];
    Message::Thread { thread, cpu: thread, totals: Totals::default(), histogram: histogram(), worst }
}

fn series(name: String, cpu: u32) -> KernelSeries {
    KernelSeries {
        source: KernelSource::Timerlat,
        name,
        cpu,
        count: 1,
        sum_ns: 1,
        min_ns: None,
        max_ns: None,
        histogram: histogram(),
        worst: Vec::new(),
        records_lost: 0,
    }
}

/// A meter that may send what its run can, and a host that stores it.
struct LegalRun {
    budget: Budget,
    cpus: u32,
    files: u32,
    elapsed: Duration,
}

impl LegalRun {
    fn send(&mut self, message: Message) -> Result<(), Excess> {
        let bytes =
            if matches!(message, Message::Progress { .. }) { 0 } else { Encoder::default().message(&message).len() };
        self.budget.charge(&Item::Message(message), self.elapsed)?;
        self.budget.charge_stored(bytes as u64, self.elapsed)
    }

    fn send_file(&mut self, kind: FileKind, bytes: usize) -> Result<(), Excess> {
        self.files += 1;
        self.send(Message::FileBegin { file: self.files, kind })?;
        let data = vec![0; bytes];
        self.budget.charge(&Item::Chunk { file: self.files, offset: 0, data }, self.elapsed)?;
        self.send(Message::FileEnd { file: self.files, bytes: bytes as u64 })
    }

    fn one_second(&mut self, second: u32) -> Result<(), Excess> {
        self.elapsed += Duration::from_secs(1);
        let of = |thread| Second { thread, second, cycles: 1000, latency_ns_max: 153_214, ..Second::default() };
        self.send(Message::Seconds((0..self.cpus).map(of).collect()))?;
        let progress = |thread| ThreadProgress {
            thread,
            cpu: thread,
            cycles: 1,
            latency_ns_last: 1,
            latency_ns_max: 1,
            missed_periods: 0,
        };
        for _ in 0..4 {
            self.send(Message::Progress { threads: (0..self.cpus).map(progress).collect(), snapshots: 1 })?;
        }
        let load = LoadReport {
            name: "messaging".into(),
            unit: "messages".into(),
            progress: 1,
            alive: true,
            detail: String::new(),
        };
        self.send(Message::Loads(vec![load]))?;
        self.send(Message::Counters(vec![CounterSecond::default()]))
    }

    fn checkpoint(&mut self, worst: usize) -> Result<(), Excess> {
        for cpu in 0..self.cpus {
            self.send(totals(cpu, worst))?;
            let names = ["irq", "thread", "noise", "hwlat"].map(|name| series(name.into(), cpu));
            self.send(Message::KernelSeries(names.into()))?;
        }
        Ok(())
    }

    fn spike(&mut self, number: u32) -> Result<(), Excess> {
        self.send_file(FileKind::SpikeTrace { spike: number }, 64 << 10)?;
        self.send(Message::Spike(Box::new(Spike::new(number, 0, 43, sample(153_214), SpikeReason::NewMaximum))))?;
        if number > 40 {
            self.send(Message::SpikeDropped { number: number - 40, why: "larger spikes took its place".into() })?;
        }
        Ok(())
    }

    fn all(mut self, seconds: u32) -> Result<(), Excess> {
        self.send(Message::Phase { phase: RunPhase::Measure, monotonic_ns: 1 })?;
        for thread in 0..self.cpus {
            let (file, kind) = (1_000_000 + thread, FileKind::Samples { thread });
            self.send(Message::FileBegin { file, kind })?;
        }
        for number in 1..=LATENCY_TRACES_MAX {
            self.send_file(FileKind::LatencyTrace { number }, 1000)?;
            self.send(Message::LatencyTrace(Box::new(LatencyTrace { number, ..LatencyTrace::default() })))?;
        }
        let mut checkpoint = 1;
        for second in 0..seconds {
            self.one_second(second)?;
            (0..5).try_for_each(|one| self.spike(second * 5 + one + 1))?;
            if second == checkpoint {
                checkpoint += (second + 1).min(600);
                self.checkpoint(0)?;
            }
        }
        self.checkpoint(1000)?;
        self.send(Message::End { ending: Ending::Complete, monotonic_ns: 1 })
    }
}

fn legal(cpus: u32, seconds: u32) -> LegalRun {
    let budget = Budget::of(&settings(cpus, seconds.into()));
    LegalRun { budget, cpus, files: 0, elapsed: Duration::ZERO }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_run_with_every_tracer_stays_within_its_budget(cpus in 1u32..24, seconds in 1u32..300) {
        prop_assert_eq!(legal(cpus, seconds).all(seconds), Ok(()));
    }
}

#[test]
fn many_cpus_and_a_long_run_stay_within_their_budget() {
    assert_eq!(legal(512, 3).all(3), Ok(()));
    assert_eq!(legal(1, 4_000).all(4_000), Ok(()));
}

#[test]
fn a_run_without_an_end_may_send_more_as_it_lasts() {
    let settings = RunSettings { duration_ns: None, ..settings(1, 1) };
    let records = || Item::Message(Message::Seconds(vec![Second::default(); 100_000]));
    let charged = |elapsed_s| Budget::of(&settings).charge(&records(), Duration::from_secs(elapsed_s));
    assert_eq!(charged(1).map_err(|excess| excess.share), Err(Share::Seconds));
    assert_eq!(charged(10_000), Ok(()));
}

#[test]
fn a_latency_tracer_alone_may_send_an_empty_list_of_series() {
    let mut settings = settings(2, 5);
    settings.sources.clear();
    let charge = |settings: &RunSettings| {
        Budget::of(settings).charge(&Item::Message(Message::KernelSeries(Vec::new())), Duration::from_secs(1))
    };
    assert_eq!(charge(&settings), Ok(()));
    settings.trace.tracer = None;
    assert!(charge(&settings).is_err(), "no tracer runs");
}

#[test]
fn nothing_comes_after_the_end() {
    let mut budget = Budget::of(&settings(1, 1));
    let end = Item::Message(Message::End { ending: Ending::Complete, monotonic_ns: 1 });
    assert_eq!(budget.charge(&end, Duration::ZERO), Ok(()));
    let after = budget.charge(&end, Duration::ZERO).unwrap_err();
    assert_eq!((after.share, after.most), (Share::AfterTheEnd, 0));
}

#[test]
fn a_dropped_spike_makes_room_for_another() {
    let settings = RunSettings {
        trace: TraceSettings { budget_bytes: 1 << 20, controls: 0, buffer_kb_per_cpu: 64, ..TraceSettings::default() },
        ..settings(1, 1)
    };
    let mut run = LegalRun { budget: Budget::of(&settings), cpus: 1, files: 0, elapsed: Duration::ZERO };
    let trace = |run: &mut LegalRun, spike| run.send_file(FileKind::SpikeTrace { spike }, 1 << 20);
    for spike in 0..30 {
        assert_eq!(trace(&mut run, spike), Ok(()));
        run.send(Message::SpikeDropped { number: spike, why: String::new() }).unwrap();
    }
    let kept = (30..60).try_for_each(|spike| trace(&mut run, spike));
    assert_eq!(kept.map_err(|excess| excess.share), Err(Share::FileBytes));
}

//! Synthetic runs for the report's tests and for work on its design: deterministic, similar to real ones. They are
//! never shown to users.

mod account;

use archive::counters::{CounterSecond, CpuCount, NamedCount};
use archive::damage::Damage;
use archive::environment::{Environment, RtTask};
use archive::explanation::Explanation;
use archive::histogram::{Histogram, bucket_of};
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, LoadReport, Loss, Problem, RunPhase, Severity};
use archive::problem::{Code, ProblemKind, Remark};
use archive::reader::{Run, ThreadRun};
use archive::sample::{Sample, Second, Totals};
use archive::settings::{EffectiveSettings, EffectiveThread, LoadRequest, Policy, RunSettings, SnapshotMode};
use archive::spike::{Coverage, Snapshot, Spike, SpikeReason};
use archive::summary::ReportData;
use std::collections::BTreeMap;

/// The kind of run to generate.
#[derive(Debug, Clone)]
pub struct Shape {
    pub cpus: u32,
    pub spikes: u32,
    pub seconds: u32,
    pub valid: bool,
    pub limit_ns: Option<i64>,
    /// Replaces every text that a target can choose.
    pub hostile: Option<&'static str>,
}

impl Default for Shape {
    fn default() -> Self {
        Self { cpus: 2, spikes: 6, seconds: 60, valid: true, limit_ns: Some(150_000), hostile: None }
    }
}

/// The shapes by name, for the example.
pub fn named(name: &str) -> Option<Shape> {
    let shape = Shape::default();
    Some(match name {
        "two-cpus" => shape,
        "eight-cpus" => Shape { cpus: 8, spikes: 12, seconds: 600, ..shape },
        "no-spikes" => Shape { spikes: 0, limit_ns: None, ..shape },
        "forty-spikes" => Shape { cpus: 4, spikes: 40, seconds: 5000, ..shape },
        "invalid" => Shape { valid: false, ..shape },
        "hostile" => Shape { hostile: Some(HOSTILE), ..shape },
        "empty" => Shape { cpus: 0, spikes: 0, seconds: 0, valid: false, ..shape },
        _ => return None,
    })
}

/// Sets `document.title` if it is interpreted as markup or script.
pub const HOSTILE: &str = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"&\u{2028}\u{202e}<!--<svg onload=document.title='owned'>";

/// A reproducible random generator.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2) + 1)
    }

    /// Uniform in 0..1.
    pub fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

const START_NS: i64 = 81_234_000_000_000;

pub fn report_data(shape: &Shape) -> ReportData {
    let (run, explanations) = run(shape);
    ReportData::of(&run, &explanations)
}

pub fn run(shape: &Shape) -> (Run, Vec<Explanation>) {
    let mut threads: BTreeMap<u32, ThreadRun> = (0..shape.cpus).map(|cpu| (cpu, thread(shape, cpu))).collect();
    let spikes = spikes(shape, &mut threads);
    let explanations =
        spikes.iter().filter(|spike| spike.number % 11 != 7).map(|spike| account::explain(shape, spike)).collect();
    let end_ns = START_NS + i64::from(shape.seconds) * 1_000_000_000;
    let said = |text: &str| shape.hostile.unwrap_or(text).to_owned();
    let problems = if shape.valid {
        vec![Problem {
            code: Code::new("meter.governor"),
            severity: Severity::Degraded,
            text: said("the frequency governor of CPU 0 is schedutil"),
            fix: said("echo performance > /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        }]
    } else {
        vec![Problem {
            code: Code::new("meter.governor"),
            severity: Severity::Invalid,
            text: said("the measuring thread of CPU 1 died: killed by signal 9"),
            fix: said("look into the kernel log for the out-of-memory killer"),
        }]
    };
    let run = Run {
        directory: said("runs/2026-01-02T03-04-05-lathe").into(),
        manifest: Some(manifest(shape)),
        meter_version: Some(said("0.1.0")),
        realtime_offset_ns: Some(0),
        environment: (shape.cpus > 0).then(|| environment(shape)),
        effective: (shape.cpus > 0).then(|| effective(shape)),
        phases: vec![
            (RunPhase::Check, START_NS - 900_000_000),
            (RunPhase::Measure, START_NS),
            (RunPhase::Collect, end_ns),
        ],
        threads,
        spikes,
        loads: vec![LoadReport {
            name: said("messaging"),
            unit: said("messages"),
            progress: 48_211_904,
            alive: shape.valid,
            detail: if shape.valid { String::new() } else { said("killed by signal 9") },
        }],
        counters: (0..shape.seconds).map(|second| counter_second(second, &said("NET_RX"))).collect(),
        losses: vec![Loss {
            kind: said("trace events").into(),
            count: 1204,
            detail: said("CPU 1, while spike 3 was copied out"),
        }],
        problems,
        ending: Some((if shape.valid { Ending::Complete } else { Ending::Failed }, end_ns)),
        gaps: if shape.valid {
            vec![]
        } else {
            vec![Remark {
                code: Damage::CutOff.code(),
                text: said("stream.tardy ends inside a frame; what came after is missing"),
            }]
        },
        ..Run::default()
    };
    (run, explanations)
}

/// A second of the kernel's counters; every fifth has none.
fn counter_second(second: u32, softirq: &str) -> CounterSecond {
    let from_ns = START_NS + i64::from(second) * 1_000_000_000;
    let times =
        CounterSecond { from_ns, until_ns: from_ns + 1_000_000_000, cost_ns: 400_000, ..CounterSecond::default() };
    if second % 5 == 4 {
        return times;
    }
    let busy = u64::from(1 + second % 3);
    CounterSecond {
        context_switches: Some(20_000 * busy),
        page_faults: Some(5_000 * busy),
        interrupts: (0..2).map(|cpu| CpuCount { cpu, count: 1_000 * busy + u64::from(cpu) }).collect(),
        softirqs: vec![NamedCount { name: softirq.into(), count: 77 * busy }],
        ..times
    }
}

fn thread(shape: &Shape, cpu: u32) -> ThreadRun {
    let mut dice = Dice::new(7 + u64::from(cpu));
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut seconds = Vec::new();
    let mut totals = Totals::default();
    for second in 0..shape.seconds {
        let mut latency_ns_max = 0;
        for _ in 0..1000 {
            // An ordinary wake-up, less often one after an interrupt, rarely one after a task.
            let base = 2_100.0 + 260.0 * f64::from(cpu) + 2_600.0 * dice.roll() * dice.roll();
            let tail = (1.0 / (1.0 - dice.roll())).powf(0.42) - 1.0;
            let latency_ns = (base + 900.0 * tail.min(60.0)) as i64;
            *counts.entry(bucket_of(latency_ns).unwrap() as u32).or_default() += 1;
            latency_ns_max = latency_ns_max.max(latency_ns);
            totals.cycles += 1;
            totals.latency_ns_sum += latency_ns;
            totals.latency_ns_min = Some(totals.latency_ns_min.map_or(latency_ns, |min| min.min(latency_ns)));
            totals.latency_ns_max = totals.latency_ns_max.max(Some(latency_ns));
        }
        seconds.push(Second { thread: cpu, second, cycles: 1000, latency_ns_max, ..Second::default() });
    }
    let histogram = Histogram { buckets: counts.into_iter().collect() };
    ThreadRun { thread: cpu, cpu, totals, histogram, worst: vec![], seconds }
}

fn spikes(shape: &Shape, threads: &mut BTreeMap<u32, ThreadRun>) -> Vec<Spike> {
    let mut dice = Dice::new(99);
    let mut spikes = Vec::new();
    for number in 1..=shape.spikes {
        let control = number > 4 && number > shape.spikes - shape.spikes / 6;
        let thread = (dice.roll() * f64::from(shape.cpus)) as u32;
        let latency_ns = if control {
            3_300 + number as i64 * 17
        } else {
            (60_000.0 + 130_000.0 * dice.roll() + 417.0 * f64::from(number)) as i64
        };
        let second = (f64::from(shape.seconds) * f64::from(number) / f64::from(shape.spikes + 1)) as u32;
        let due_ns = START_NS + i64::from(second) * 1_000_000_000 + 431_000_000;
        let sample = Sample { cpu: thread, cycle: u64::from(second) * 1000 + 431, due_ns, latency_ns };
        let state = threads.get_mut(&thread).unwrap();
        if !control {
            let over = shape.limit_ns.is_some_and(|limit| latency_ns > limit);
            state.totals.over_limit += u64::from(over);
            if state.totals.latency_ns_max < Some(latency_ns) {
                state.totals.latency_ns_max = Some(latency_ns);
                state.totals.worst = Some(sample);
            }
            let entry = &mut state.seconds[second as usize];
            entry.latency_ns_max = entry.latency_ns_max.max(latency_ns);
            entry.over_limit += u32::from(over);
            state.histogram.merge(&Histogram { buckets: vec![(bucket_of(latency_ns).unwrap() as u32, 1)] });
        }
        let coverage = (0..shape.cpus).map(|cpu| Coverage {
            cpu,
            oldest_ns: Some(due_ns - 3_100_000 - i64::from(cpu) * 70_000),
            newest_ns: Some(due_ns + latency_ns + 30_000),
            overwritten: 40_000,
            dropped: u64::from(number == 3) * 1204,
        });
        let snapshot = Snapshot {
            mode: SnapshotMode::Flip,
            frozen_ns: due_ns + latency_ns + 41_000,
            swap_ns: 18_400,
            blind_ns: 0,
            coverage: coverage.collect(),
            window_covered: number != 3,
            trace_bytes: 1_482_752,
            steal_ns: Some(0),
            put_aside_ns: None,
        };
        let missing = number % 11 == 7;
        spikes.push(Spike {
            previous_seen_ns: Some(due_ns - 996_000),
            snapshot: (!missing).then_some(snapshot),
            snapshot_missing: missing
                .then(|| shape.hostile.unwrap_or("the recorder still copied the one before").to_owned()),
            ..Spike::new(
                number,
                thread,
                4711 + thread as i32,
                sample,
                if control { SpikeReason::Control } else { SpikeReason::NewMaximum },
            )
        });
    }
    spikes
}

fn manifest(shape: &Shape) -> Manifest {
    let said = |text: &str| shape.hostile.unwrap_or(text).to_owned();
    Manifest {
        command: ["tardy", "run", "--duration", "60s", "--load", "messaging"].map(said).to_vec(),
        started_unix_ns: 1_767_323_045_000_000_000,
        state: if shape.valid { RunState::Complete } else { RunState::Failed },
        problem: (!shape.valid).then(|| Problem {
            code: Default::default(),
            severity: Severity::Invalid,
            text: said("the meter ended before it was asked to"),
            fix: String::new(),
        }),
        settings: Some(RunSettings {
            limit_ns: shape.limit_ns,
            duration_ns: Some(u64::from(shape.seconds) * 1_000_000_000),
            loads: vec![
                LoadRequest::Builtin { name: said("messaging"), workers: 0 },
                LoadRequest::Command { line: said("stress-ng --vm 2"), once: false },
            ],
            ..RunSettings::default()
        }),
        ..Manifest::new(said("2026-01-02T03-04-05-lathe"), said("0.1.0"), said("local"))
    }
}

fn environment(shape: &Shape) -> Environment {
    let said = |text: &str| shape.hostile.unwrap_or(text).to_owned();
    let some = |text: &str| Some(said(text));
    Environment {
        steal_clock: None,
        hostname: said("lathe"),
        architecture: said("x86_64"),
        kernel_release: said("6.12.43-rt12"),
        kernel_version: said("#1 SMP PREEMPT_RT Debian 6.12.43-1"),
        command_line: some("root=/dev/sda2 ro quiet isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1"),
        preemption: some("preempt_rt"),
        preempt_rt: Some(true),
        config: ["CONFIG_PREEMPT_RT=y", "CONFIG_HZ=250", "CONFIG_NO_HZ_FULL=y", "# CONFIG_DEBUG_PREEMPT is not set"]
            .map(said)
            .to_vec(),
        config_source: some("/proc/config.gz"),
        cpu_model: some("Intel(R) Atom(TM) x6425E Processor @ 2.00GHz"),
        cpus_online: some("0-1"),
        cpus_isolated: some("1"),
        cpus_nohz_full: some("1"),
        smt: some("notsupported"),
        memory_total_kb: Some(7_912_340),
        clocksource: some("tsc"),
        idle_driver: some("intel_idle"),
        idle_governor: some("menu"),
        frequency_governors: ["cpu0=schedutil", "cpu1=performance"].map(said).to_vec(),
        rt_period_us: Some(1_000_000),
        rt_runtime_us: Some(950_000),
        fair_server_runtime: ["cpu0=50000000", "cpu1=50000000"].map(said).to_vec(),
        mitigations: ["spectre_v2: Mitigation: Enhanced IBRS", "mds: Not affected"].map(said).to_vec(),
        virtualisation: some("none"),
        container: None,
        debug_options: vec![],
        rt_tasks: vec![
            RtTask { tid: 17, name: said("migration/0"), policy: said("fifo"), priority: 99 },
            RtTask { tid: 301, name: said("irq/131-eth0"), policy: said("fifo"), priority: 85 },
        ],
        load_average: some("1.74 0.92 0.40"),
    }
}

fn effective(shape: &Shape) -> EffectiveSettings {
    let said = |text: &str| shape.hostile.unwrap_or(text).to_owned();
    let thread = |cpu: u32| EffectiveThread {
        thread: cpu,
        tid: 4711 + cpu as i32,
        cpus: vec![cpu],
        policy: Policy::Fifo,
        priority: 80,
        timer_slack_ns: 0,
    };
    EffectiveSettings {
        threads: (0..shape.cpus).map(thread).collect(),
        memory_locked_kb: 2_384,
        cpu_dma_latency_us: None,
        snapshot_mode: SnapshotMode::Flip,
        events: ["sched:sched_switch", "sched:sched_wakeup", "irq:irq_handler_entry", "timer:hrtimer_expire_entry"]
            .map(said)
            .to_vec(),
        events_absent: vec![said("ipi:ipi_raise")],
        trace_clock: Some(said("mono")),
        trace_buffer_kb_per_cpu: 4096,
        tracer: None,
        clock_step_ns: 21,
        tool_tids: vec![4700, 4701],
    }
}

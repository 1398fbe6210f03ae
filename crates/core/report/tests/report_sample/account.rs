//! A synthetic account of one spike whose ledger, phases and picture agree to the nanosecond.

use super::{Dice, Shape};
use archive::culprit::Culprit;
use archive::explanation::{
    Confidence, Explanation, ExplanationStatus, Finding, Lane, Mark, MarkKind, Owner, OwnerKind, Phase, PhaseName,
    PhaseSpan, Segment,
};
use archive::functions::{ChainSource, FunctionAccount, HeldInFunction, MaskedStretch};
use archive::problem::{Code, Remark};
use archive::spike::Spike;

pub fn explain(shape: &Shape, spike: &Spike) -> Explanation {
    let latency_ns = spike.sample.latency_ns;
    let said = |text: &str| shape.hostile.unwrap_or(text).to_owned();
    let segments = late_cpu(shape, spike);
    let spans = spans(latency_ns);
    let phases = ledger(&segments, &spans);
    let worst = phases.iter().flat_map(|phase| &phase.owners).max_by_key(|owner| owner.ns).unwrap().clone();
    let explained = spike.number % 5 != 4;
    let finding = Finding {
        sentence: said(&format!("{} kept interrupts off while it freed pages", worst.name)),
        evidence: vec![
            said("hackbench-4711 [001] d..1. 81246.431012: sched_switch: prev_comm=tardy-meter next_comm=hackbench"),
            said("hackbench-4711 [001] d..2. 81246.431098: irq_handler_entry: irq=131 name=eth0"),
        ],
        confirm: said("tardy run --trace-functions --duration 60s"),
        fix: said("move the load away from CPU 1: taskset -c 0, or isolate the CPU with isolcpus=1"),
        ..Finding::new(
            Culprit::BlockingTask,
            if explained { Confidence::Certain } else { Confidence::Hint },
            worst.ns,
        )
    };
    let lanes = (0..shape.cpus).map(|cpu| Lane {
        cpu,
        segments: if cpu == spike.sample.cpu { segments.clone() } else { neighbour(shape, spike, cpu) },
    });
    Explanation {
        spike: spike.number,
        latency_ns,
        median_ns: 3_412,
        status: if explained { ExplanationStatus::Explained } else { ExplanationStatus::NotExplained },
        phases,
        findings: vec![finding],
        spans,
        lanes: lanes.collect(),
        marks: vec![
            Mark {
                at_ns: latency_ns / 3,
                cpu: 0,
                kind: MarkKind::Ipi,
                text: said("kworker/1:2-300 on CPU 0 asks CPU 1 for do_sync_core"),
            },
            Mark {
                at_ns: latency_ns,
                cpu: spike.sample.cpu,
                kind: MarkKind::GivenCpu,
                text: said("the thread is given the CPU"),
            },
        ],
        elsewhere: vec![said("CPU 0 meanwhile: hackbench-4711 61 %, idle state 2 30 %")],
        functions: (spike.number == 3).then(|| FunctionAccount {
            held: vec![HeldInFunction {
                cpu: spike.sample.cpu,
                kind: OwnerKind::Task,
                name: said("kworker/1:2-300"),
                owner_ns: latency_ns / 2,
                ns: Some(latency_ns / 3),
                chain: vec![said("shrink_dentry_list"), said("prune_dcache_sb")],
                source: ChainSource::Entries,
                last_entered: false,
            }],
            irqs_off: None,
            preempt_off: Some(MaskedStretch {
                cpu: spike.sample.cpu,
                start_ns: 10,
                end_ns: 900,
                ns_max: 950,
                thread: said("kworker/1:2-300"),
                first: said("_raw_spin_lock"),
                last: said("call_rcu"),
            }),
            lock: None,
        }),
        recording: None,
        caveats: if spike.number == 3 {
            vec![Remark {
                code: Code::new("explain.events-lost"),
                text: said("1204 events of CPU 1 were lost inside the window"),
            }]
        } else {
            vec![]
        },
    }
}

/// Boundaries at fixed shares of the latency.
fn spans(latency_ns: i64) -> Vec<PhaseSpan> {
    let at = |thousandths: i64| latency_ns * thousandths / 1000;
    [
        (PhaseName::TimerDelay, 0, at(310)),
        (PhaseName::Handler, at(310), at(318)),
        (PhaseName::WakePath, at(318), at(331)),
        (PhaseName::SchedulingDelay, at(331), at(982)),
        (PhaseName::ReturnToUser, at(982), latency_ns),
    ]
    .map(|(name, start_ns, end_ns)| PhaseSpan { name, start_ns, end_ns })
    .to_vec()
}

fn late_cpu(shape: &Shape, spike: &Spike) -> Vec<Segment> {
    let latency_ns = spike.sample.latency_ns;
    let at = |thousandths: i64| latency_ns * thousandths / 1000;
    let hackbench = ["hackbench-4711", "kworker/1:2-881 (vmstat_update)", "cc1plus-20114"][spike.number as usize % 3];
    let cuts = [
        (at(-3000), at(-1200), OwnerKind::Idle, "idle state 2"),
        (at(-1200), at(-140), OwnerKind::Task, hackbench),
        (at(-140), at(-100), OwnerKind::Hardirq, "irq 131 eth0"),
        (at(-100), at(310), OwnerKind::Softirq, "NET_RX in ksoftirqd/1-22"),
        (at(310), at(327), OwnerKind::Hardirq, "local_timer"),
        (at(327), at(331), OwnerKind::Task, hackbench),
        (at(331), at(560), OwnerKind::Task, hackbench),
        (at(560), at(640), OwnerKind::RtTask, "irq/131-eth0-301"),
        (at(640), at(655), OwnerKind::Nmi, "NMI"),
        (at(655), at(860), OwnerKind::SilenceThisCpu, "interrupts off, no event"),
        (at(860), at(950), OwnerKind::SilenceAllCpus, "firmware or hypervisor"),
        (at(950), at(970), OwnerKind::Tool, "tardy-drain-4700"),
        (at(970), at(982), OwnerKind::Untraced, "no data"),
        (at(982), latency_ns, OwnerKind::Own, "tardy-meter/1"),
        (latency_ns, at(1600), OwnerKind::Own, "tardy-meter/1"),
        (at(1600), at(1800), OwnerKind::Idle, "idle state 1"),
    ];
    cuts.into_iter()
        .map(|(start_ns, end_ns, kind, name)| {
            let name = shape.hostile.unwrap_or(name).to_owned();
            Segment { start_ns, end_ns, kind, name }
        })
        .collect()
}

fn neighbour(shape: &Shape, spike: &Spike, cpu: u32) -> Vec<Segment> {
    let mut dice = Dice::new(u64::from(spike.number) * 100 + u64::from(cpu));
    let (mut at, end) = (-3 * spike.sample.latency_ns, spike.sample.latency_ns * 9 / 5);
    let mut segments = Vec::new();
    while at < end {
        let (kind, name) = [
            (OwnerKind::Task, "hackbench-4802"),
            (OwnerKind::Hardirq, "local_timer"),
            (OwnerKind::Idle, "idle state 1"),
            (OwnerKind::Softirq, "TIMER"),
            (OwnerKind::Task, "kworker/0:1-12"),
        ][(dice.roll() * 5.0) as usize];
        let scale = if matches!(kind, OwnerKind::Hardirq | OwnerKind::Softirq) { 2_000.0 } else { 40_000.0 };
        let end_ns = (at + 150 + (scale * dice.roll() * dice.roll()) as i64).min(end);
        segments.push(Segment { start_ns: at, end_ns, kind, name: shape.hostile.unwrap_or(name).to_owned() });
        at = end_ns;
    }
    segments
}

/// Assigns each stretch between due and seen to its phase.
fn ledger(segments: &[Segment], spans: &[PhaseSpan]) -> Vec<Phase> {
    let phase = |span: &PhaseSpan| {
        let mut owners: Vec<Owner> = Vec::new();
        for segment in segments {
            let ns = segment.end_ns.min(span.end_ns) - segment.start_ns.max(span.start_ns);
            if ns <= 0 {
                continue;
            }
            match owners.iter_mut().find(|owner| owner.kind == segment.kind && owner.name == segment.name) {
                Some(owner) => owner.ns += ns,
                None => owners.push(Owner { kind: segment.kind, name: segment.name.clone(), ns }),
            }
        }
        owners.sort_by_key(|owner| -owner.ns);
        Phase { name: span.name, ns: span.end_ns - span.start_ns, owners }
    };
    spans.iter().map(phase).collect()
}

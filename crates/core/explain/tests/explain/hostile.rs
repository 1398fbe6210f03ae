//! For any contents of a trace, the ledger adds up.

use crate::trace_builder::{self, Line, trace_dat};
use archive::explanation::{Explanation, PhaseName};
use archive::sample::Sample;
use archive::settings::SnapshotMode;
use archive::spike::{Coverage, Snapshot, Spike, SpikeReason};
use explain::recording::{RecordedItem, Recording};
use explain::{SpikeInput, evidence_window, explain_spike};
use proptest::prelude::*;

const DUE_NS: i64 = 1_000_000_000_000;
const OWN: i32 = 100;

fn spike(latency_ns: i64, previous_seen_ns: Option<i64>, snapshot: Option<Snapshot>) -> Spike {
    Spike {
        previous_seen_ns,
        snapshot,
        ..Spike::new(1, 0, OWN, Sample { cpu: 1, cycle: 7, due_ns: DUE_NS, latency_ns }, SpikeReason::NewMaximum)
    }
}

fn explain(spike: &Spike, trace: &[u8]) -> (Explanation, Vec<String>) {
    let input = SpikeInput {
        spike,
        trace: trace.into(),
        median_ns: 5_000,
        interval_ns: 1_000_000,
        measuring_tids: &[(0, 101), (1, OWN)],
        own_prio: None,
        tool_tids: &[102],
        environment: None,
        absences: &[],
        in_turns: false,
        stimulus: archive::method::Stimulus::Timer,
        sample: archive::method::SampleWord::default(),
        recorder: explain::recorder::Recorder::Own,
        stacks: None,
        controls: &[],
    };
    (explain_spike(&input), evidence_window(&input))
}

/// The identity that everything else depends on.
pub fn adds_up(explanation: &Explanation, latency_ns: i64) {
    assert_eq!(explanation.latency_ns, latency_ns);
    assert_eq!(explanation.phases.iter().map(|phase| phase.ns).sum::<i64>(), latency_ns);
    for phase in &explanation.phases {
        assert_eq!(phase.owners.iter().map(|owner| owner.ns).sum::<i64>(), phase.ns, "{phase:?}");
        assert!(phase.owners.iter().all(|owner| owner.ns > 0), "{phase:?}");
        assert!(phase.owners.windows(2).all(|pair| pair[0].ns >= pair[1].ns), "{phase:?}");
    }
    assert!(explanation.phases.windows(2).all(|pair| pair[0].name < pair[1].name), "phases in their order, once each");
    let mut cursor_ns = 0;
    for span in &explanation.spans {
        assert_eq!(span.start_ns, cursor_ns, "spans without gap or overlap");
        cursor_ns = span.end_ns;
    }
    assert_eq!(cursor_ns, latency_ns);
    for lane in &explanation.lanes {
        assert!(lane.segments.len() <= 400);
        assert!(lane.segments.iter().all(|segment| segment.start_ns < segment.end_ns));
        assert!(lane.segments.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
    }
    for finding in &explanation.findings {
        assert!(finding.ns > 0 && finding.ns <= latency_ns, "{finding:?}");
    }
    let findings_ns: i64 = explanation.findings.iter().map(|finding| finding.ns).sum();
    assert!(findings_ns <= latency_ns.max(0), "no nanosecond is blamed twice");
    let Some(functions) = &explanation.functions else { return };
    for held in &functions.held {
        assert!(!held.chain.is_empty() && held.owner_ns <= latency_ns, "{held:?}");
        assert!(held.ns.is_none_or(|ns| ns > 0 && ns <= held.owner_ns), "{held:?}");
    }
    for masked in functions.irqs_off.iter().chain(&functions.preempt_off) {
        assert!(masked.ns() >= 0 && masked.ns() <= masked.ns_max, "{masked:?}");
    }
}

/// Reads every event with every field, like an export.
fn hand_out(trace: &[u8]) {
    let recording = Recording::open(trace);
    let mut printer = recording.printer();
    let cpus = recording.cpus();
    for item in cpus.iter().flat_map(|&cpu| recording.items(cpu)) {
        let RecordedItem::Event(event) = item else { continue };
        assert!(event.fields().all(|(name, _)| !name.starts_with("common_")));
        let _ = (event.number("prev_pid"), event.text("prev_comm"), printer.of(&event));
    }
}

fn values(name: &str) -> BoxedStrategy<Vec<(String, String)>> {
    let tid = || prop_oneof![Just(OWN), Just(0), Just(101), Just(102), 103..110i32, any::<i32>()];
    let small = || prop_oneof![0..4i64, Just(19), Just(120), Just(4_294_967_295), any::<i64>()];
    let pair = |name: &'static str, value: BoxedStrategy<String>| value.prop_map(move |value| (name.to_owned(), value));
    let text = |strategy: BoxedStrategy<i64>| strategy.prop_map(|value| value.to_string()).boxed();
    let tid_text = || tid().prop_map(|tid| tid.to_string()).boxed();
    let small_text = || text(small().boxed());
    let timer = || prop_oneof![Just("0xffff1000".to_owned()), Just("0xffff2000".to_owned())].boxed();
    let due = || prop_oneof![Just(DUE_NS), any::<i64>()].prop_map(|ns| ns.to_string()).boxed();
    let function = || prop_oneof![Just("hrtimer_wakeup".to_owned()), Just("tick_nohz_handler".to_owned())].boxed();
    match name {
        "sched_switch" => (
            pair("prev_pid", tid_text()),
            pair("prev_state", small_text()),
            pair("next_pid", tid_text()),
            pair("next_prio", small_text()),
        )
            .prop_map(|(a, b, c, d)| vec![a, b, c, d])
            .boxed(),
        "sched_waking" | "sched_wakeup" => {
            (pair("pid", tid_text()), pair("prio", small_text())).prop_map(|(a, b)| vec![a, b]).boxed()
        }
        "sched_migrate_task" => pair("pid", tid_text()).prop_map(|a| vec![a]).boxed(),
        "irq_handler_entry" | "irq_handler_exit" => pair("irq", small_text()).prop_map(|a| vec![a]).boxed(),
        "softirq_entry" | "softirq_exit" | "softirq_raise" => pair("vec", small_text()).prop_map(|a| vec![a]).boxed(),
        "hrtimer_start" => (pair("hrtimer", timer()), pair("function", function()), pair("expires", due()))
            .prop_map(|(a, b, c)| vec![a, b, c])
            .boxed(),
        "hrtimer_expire_entry" => {
            (pair("hrtimer", timer()), pair("function", function())).prop_map(|(a, b)| vec![a, b]).boxed()
        }
        "function" => {
            let function = || {
                let names =
                    ["a", "b", "c", "sysvec_apic_timer_interrupt", "exit_to_user_mode_prepare", "xfd_a", "0", "-1"];
                proptest::sample::select(names.to_vec()).prop_map(str::to_owned).boxed()
            };
            (pair("ip", function()), pair("parent_ip", function())).prop_map(|(a, b)| vec![a, b]).boxed()
        }
        "funcgraph_entry" | "funcgraph_exit" => {
            let depth = text(prop_oneof![0..6i64, any::<i64>()].boxed());
            (pair("func", small_text()), pair("depth", depth)).prop_map(|(a, b)| vec![a, b]).boxed()
        }
        "kernel_stack" => {
            let callers = Just("a,asm_sysvec_apic_timer_interrupt,b,__x64_sys_openat,c".to_owned()).boxed();
            (pair("size", small_text()), pair("caller", callers)).prop_map(|(a, b)| vec![a, b]).boxed()
        }
        "hrtimer_expire_exit" | "hrtimer_cancel" => pair("hrtimer", timer()).prop_map(|a| vec![a]).boxed(),
        "cpu_idle" => pair("state", small_text()).prop_map(|a| vec![a]).boxed(),
        "nmi_handler" => {
            pair("delta_ns", text(prop_oneof![0..100_000i64, any::<i64>()].boxed())).prop_map(|a| vec![a]).boxed()
        }
        _ => Just(Vec::new()).boxed(),
    }
}

fn line() -> impl Strategy<Value = Line> {
    let event = proptest::sample::select(trace_builder::event_names());
    let own = prop_oneof![Just(OWN), Just(0), 101..110i32];
    (event, -150_000i64..400_000, 0..3u32, any::<(u8, u8)>(), own).prop_flat_map(
        |(event, at_ns, cpu, (flags, depth), tid)| {
            // Half of the flags are plausible, so that replays make progress.
            let flags = if depth & 1 == 0 { flags } else { flags & 0x09 };
            values(event).prop_map(move |fields| Line {
                ts_ns: DUE_NS + at_ns,
                cpu,
                flags,
                depth: depth & 0x03,
                tid,
                comm: "any".into(),
                event: event.to_owned(),
                fields,
            })
        },
    )
}

fn snapshot() -> impl Strategy<Value = Option<Snapshot>> {
    let coverage = (proptest::option::of(-200_000i64..300_000), 0..2u64).prop_map(|(oldest, overwritten)| Coverage {
        cpu: 1,
        oldest_ns: oldest.map(|ns| DUE_NS + ns),
        newest_ns: None,
        overwritten,
        dropped: 0,
    });
    let snapshot = (coverage, -100_000i64..600_000).prop_map(|(coverage, frozen)| Snapshot {
        mode: SnapshotMode::Flip,
        frozen_ns: DUE_NS + frozen,
        swap_ns: 0,
        blind_ns: 0,
        coverage: vec![coverage],
        window_covered: true,
        trace_bytes: 0,
        steal_ns: None,
        put_aside_ns: None,
    });
    proptest::option::of(snapshot)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_event_stream(
        mut lines in proptest::collection::vec(line(), 0..120),
        latency_ns in prop_oneof![1..1_000i64, 1_000..300_000i64],
        previous in proptest::option::of(-100_000i64..300_000),
        snapshot in snapshot(),
    ) {
        lines.sort_by_key(|line| line.ts_ns);
        let spike = spike(latency_ns, previous.map(|ns| DUE_NS + ns), snapshot);
        let (explanation, _) = explain(&spike, &trace_dat(&lines));
        adds_up(&explanation, latency_ns);
    }

    #[test]
    fn damaged_files(
        mut lines in proptest::collection::vec(line(), 1..60),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<proptest::sample::Index>(),
    ) {
        lines.sort_by_key(|line| line.ts_ns);
        let mut trace = trace_dat(&lines);
        for (place, value) in damage {
            let length = trace.len();
            trace[place.index(length)] = value;
        }
        trace.truncate(cut.index(trace.len() + 1));
        let spike = spike(100_000, None, None);
        adds_up(&explain(&spike, &trace).0, 100_000);
        hand_out(&trace);
    }

    #[test]
    fn bytes_that_are_no_trace(trace in proptest::collection::vec(any::<u8>(), 0..200)) {
        let spike = spike(100_000, None, None);
        adds_up(&explain(&spike, &trace).0, 100_000);
        hand_out(&trace);
    }
}

#[test]
fn absurd_samples_are_one_untraced_phase() {
    for latency_ns in [-1, i64::MIN, i64::MAX, 86_400_000_000_001] {
        let (explanation, lines) = explain(&spike(latency_ns, None, None), &[]);
        assert_eq!(explanation.phases.len(), 1);
        assert_eq!((explanation.phases[0].name, explanation.phases[0].ns), (PhaseName::Untraced, latency_ns));
        assert_eq!(explanation.phases[0].owners[0].ns, latency_ns);
        assert!(lines.is_empty());
    }
}

//! A real late wake-up with a damaged trace and changed numbers: the account still adds up.
#![no_main]

use archive::method::{SampleWord, Stimulus};
use archive::sample::Sample;
use archive::spike::{Spike, SpikeReason};
use explain::recorder::{Precision, Recorder};
use explain::{SpikeInput, evidence_window, explain_spike};
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::{Damage, spoilt, within_budget};

const TRACES: [&[u8]; 3] = [
    include_bytes!("../../corpus/explain/priority-inversion/trace.dat"),
    include_bytes!("../../corpus/explain/steal--idle-emulated-6.1-rt/trace.dat"),
    include_bytes!("../../corpus/flight-records/rcu-frees-pages/record.bin"),
];

const STIMULI: [Stimulus; 4] = [Stimulus::Timer, Stimulus::Thread, Stimulus::Device, Stimulus::Busy];

#[derive(Debug, arbitrary::Arbitrary)]
struct Case {
    trace: u8,
    damages: Vec<Damage>,
    cpu: u8,
    tid: i16,
    due_off_ns: i32,
    latency_ns: i32,
    median_ns: i32,
    interval_ns: u32,
    in_turns: bool,
    own_prio: Option<i8>,
    stimulus: u8,
    /// Resolution and spread of the clock of another tool.
    foreign: Option<(u16, u16)>,
}

fuzz_target!(|case: Case| {
    let trace = spoilt(TRACES[usize::from(case.trace) % TRACES.len()], &case.damages);
    let due_ns = 1_000_000_000_000 + i64::from(case.due_off_ns);
    let spike = Spike::new(1, 0, i32::from(case.tid), Sample { cpu: u32::from(case.cpu % 4), cycle: 7, due_ns, latency_ns: i64::from(case.latency_ns) }, SpikeReason::NewMaximum);
    let input = SpikeInput {
        spike: &spike,
        trace: (&trace).into(),
        median_ns: i64::from(case.median_ns),
        interval_ns: u64::from(case.interval_ns),
        measuring_tids: &[(0, 101), (1, spike.tid)],
        own_prio: case.own_prio.map(i32::from),
        tool_tids: &[102],
        environment: None,
        absences: &[],
        in_turns: case.in_turns,
        stimulus: STIMULI[usize::from(case.stimulus) % STIMULI.len()],
        sample: SampleWord::default(),
        recorder: case.foreign.map_or(Recorder::Own, |(resolution, spread)| {
            Recorder::Foreign(Precision { resolution_ns: i64::from(resolution), clock_spread_ns: i64::from(spread) })
        }),
        stacks: None,
        controls: &[],
    };
    within_budget(trace.len(), || {
        let explanation = explain_spike(&input);
        assert_eq!(explanation.phases.iter().map(|phase| phase.ns).sum::<i64>(), explanation.latency_ns);
        for phase in &explanation.phases {
            assert_eq!(phase.owners.iter().map(|owner| owner.ns).sum::<i64>(), phase.ns);
        }
        evidence_window(&input);
    });
});

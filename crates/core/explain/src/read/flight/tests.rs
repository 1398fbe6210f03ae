//! A synthetic record: a thread of a load holds a lock with interrupts masked while the timer is due.

use super::Flight;
use crate::{SpikeInput, explain_spike};
use archive::culprit::Culprit;
use archive::explanation::{ExplanationStatus, OwnerKind, PhaseName};
use archive::sample::Sample;
use archive::spike::{Spike, SpikeReason};
use ftrace::flight_record::{BlockCode, ExecutedBlock, FlightRecord, Keeping, keep};
use ftrace::kernel_symbols::SymbolText;
use proptest::prelude::*;

const KERNEL: u64 = 0xffff_ffff_8100_0000;
const FUNCTIONS: [&str; 23] = [
    "ret_from_fork",
    "kthread",
    "worker_thread",
    "entry_SYSCALL_64",
    "do_syscall_64",
    "release_pages",
    "_raw_spin_lock_irqsave",
    "free_one",
    "_raw_spin_unlock_irqrestore",
    "asm_sysvec_apic_timer_interrupt",
    "sysvec_apic_timer_interrupt",
    "__hrtimer_run_queues",
    "hrtimer_wakeup",
    "try_to_wake_up",
    "enqueue_task_rt",
    "ttwu_do_wakeup",
    "irq_exit_rcu",
    "preempt_schedule_irq",
    "__schedule",
    "__switch_to_asm",
    "__switch_to",
    "schedule",
    "do_nanosleep",
];

/// Builds a record block by block.
#[derive(Default)]
struct Making {
    record: FlightRecord,
}

impl Making {
    fn at(name: &str) -> u64 {
        KERNEL + 0x1000 * (1 + FUNCTIONS.iter().position(|known| *known == name).expect("a function")) as u64
    }

    fn block(&mut self, address: u64, instructions: u32, ends_with: &[u8]) -> &mut Self {
        // Blocks with different code cannot begin at one address.
        let mut lengths = vec![1; instructions as usize - 1];
        lengths.push(ends_with.len() as u8);
        let bytes = [vec![0x90; instructions as usize - 1], ends_with.to_vec()].concat();
        if self.record.code_at(address).is_none() {
            self.record.code.push(BlockCode { address, lengths, bytes });
            self.record.code.sort_by_key(|code| code.address);
        }
        self.record.blocks.push(ExecutedBlock { address, instructions, halts: false });
        self
    }

    fn enter(&mut self, name: &str, instructions: u32) -> &mut Self {
        self.block(Self::at(name), instructions, &[0x90])
    }

    fn go_on(&mut self, name: &str, behind: u64, instructions: u32) -> &mut Self {
        self.block(Self::at(name) + behind, instructions, &[0x90])
    }

    fn file(&self) -> Vec<u8> {
        let line = |name: &&str| format!("{:x} t {name}\n", Self::at(name));
        let symbols = SymbolText::new(FUNCTIONS.iter().map(line).collect());
        let keeping = Keeping { symbols: &symbols, instruction_shift: 0, instructions: u64::MAX };
        keep(&self.record, &keeping)
    }
}

/// 100 ns after the timer was due, 3000 ns pass until interrupts are enabled; the thread then runs 400 ns later.
fn made_up() -> (Vec<u8>, Spike) {
    let mut making = Making::default();
    making.block(0x40_1000, 200, &[0x0f, 0x05]).enter("entry_SYSCALL_64", 20).enter("do_syscall_64", 30);
    late_behind(making)
}

/// The same late wake-up behind the given calls.
fn late_behind(mut making: Making) -> (Vec<u8>, Spike) {
    making.enter("release_pages", 50);
    making.block(Making::at("_raw_spin_lock_irqsave"), 10, &[0xfa]);
    making.go_on("release_pages", 0x200, 40);
    for _ in 0..30 {
        making.enter("free_one", 90).go_on("release_pages", 0x300, 10);
    }
    making.block(Making::at("_raw_spin_unlock_irqrestore"), 10, &[0xfb]);
    making.enter("asm_sysvec_apic_timer_interrupt", 20).enter("sysvec_apic_timer_interrupt", 30);
    making.enter("__hrtimer_run_queues", 20).enter("hrtimer_wakeup", 10).enter("try_to_wake_up", 30);
    making.enter("enqueue_task_rt", 40).go_on("try_to_wake_up", 0x200, 10).enter("ttwu_do_wakeup", 10);
    making.go_on("hrtimer_wakeup", 0x200, 5).go_on("__hrtimer_run_queues", 0x200, 5);
    making.go_on("sysvec_apic_timer_interrupt", 0x200, 10).enter("irq_exit_rcu", 10);
    making.enter("preempt_schedule_irq", 10).enter("__schedule", 60).enter("__switch_to_asm", 20);
    making.enter("__switch_to", 30).go_on("__schedule", 0x200, 20).go_on("schedule", 0x200, 10);
    making.go_on("do_nanosleep", 0x200, 10);
    making.block(0x50_1000, 50, &[0x0f, 0x31]).block(0x50_2000, 30, &[0x90]);
    let sample = Sample { cpu: 0, cycle: 0, due_ns: 5_000_000_000, latency_ns: 3300 };
    let spike = Spike::new(1, 0, 70, sample, SpikeReason::NewMaximum);
    (making.file(), spike)
}

fn explained(trace: &[u8], spike: &Spike) -> archive::explanation::Explanation {
    explain_spike(&SpikeInput {
        spike,
        trace: trace.into(),
        median_ns: 300,
        interval_ns: 1_000_000,
        measuring_tids: &[(0, 70)],
        own_prio: None,
        tool_tids: &[],
        environment: None,
        absences: &[],
        in_turns: false,
        stimulus: archive::method::Stimulus::Timer,
        sample: archive::method::SampleWord::default(),
        recorder: crate::recorder::Recorder::Own,
        stacks: None,
        controls: &[],
    })
}

#[test]
fn every_nanosecond_has_an_owner_and_function_and_lock_are_named() {
    let (file, spike) = made_up();
    let explanation = explained(&file, &spike);
    assert_eq!(explanation.caveats, []);
    assert_eq!(explanation.phases.iter().map(|phase| phase.ns).sum::<i64>(), 3300);
    let phase = |name: PhaseName| explanation.phases.iter().find(|phase| phase.name == name).expect("the phase");
    let delay = phase(PhaseName::TimerDelay);
    assert_eq!((delay.owners[0].kind, delay.owners[0].name.as_str()), (OwnerKind::Task, "user thread 1 of the record"));
    assert!((2800..3000).contains(&delay.ns), "{delay:?}");
    assert!(explanation.phases.iter().all(|phase| phase.name != PhaseName::Untraced), "{:?}", explanation.phases);
    let own = &phase(PhaseName::ReturnToUser).owners[0];
    assert_eq!((own.kind, own.name.as_str()), (OwnerKind::Own, "tardy-cpu0-70"));
    assert_eq!(explanation.status, ExplanationStatus::Explained);
    assert_eq!(explanation.findings[0].culprit, Culprit::IrqsOff);
    let functions = explanation.functions.expect("a call graph");
    let hog = &functions.held[0];
    assert_eq!(hog.chain[..2], ["free_one", "release_pages"], "{hog:?}");
    let lock = functions.lock.expect("a lock");
    assert_eq!((lock.taker.as_str(), lock.releaser.as_str()), ("release_pages", "release_pages"));
    let masked = functions.irqs_off.expect("interrupts were off");
    assert!((2900..3200).contains(&masked.ns()), "{masked:?}");
}

#[test]
fn a_kernel_thread_is_named_by_its_function() {
    let mut making = Making::default();
    making.enter("ret_from_fork", 20).enter("kthread", 30).enter("worker_thread", 100);
    let (file, spike) = late_behind(making);
    let explanation = explained(&file, &spike);
    let delay = explanation.phases.iter().find(|phase| phase.name == PhaseName::TimerDelay).expect("the phase");
    let name = &delay.owners[0].name;
    assert!(name.contains("worker_thread"), "{name}");
    let sentence = &explanation.findings[0].sentence;
    assert!(sentence.contains(name.as_str()), "{sentence}");
}

#[test]
fn an_instant_of_the_wake_up_is_found_among_the_blocks_with_its_callers() {
    let (file, spike) = made_up();
    let flight = Flight::open(&file);
    let at = |ns: i64| flight.stop_point(&spike.sample, ns).expect("blocks");
    let due = at(0);
    assert!(due.ns_after_due <= 0 && due.ns_after_due > -100 && !due.later_than_asked, "{due:?}");
    assert_eq!(due.functions, ["free_one", "release_pages", "do_syscall_64", "entry_SYSCALL_64"], "{due:?}");
    let interrupt = at(3000);
    let names: Vec<&str> = interrupt.functions.iter().map(String::as_str).collect();
    assert!(names.contains(&"asm_sysvec_apic_timer_interrupt") && names.contains(&"release_pages"), "{names:?}");
    assert!(interrupt.blocks > due.blocks && interrupt.address > KERNEL);
    let seen = at(spike.sample.latency_ns);
    assert!(seen.functions.is_empty() && seen.address == 0x50_1000, "{seen:?}");
    let after = at(spike.sample.latency_ns + 1_000_000);
    assert!(after.record_ends_before && !seen.record_ends_before && !due.record_ends_before, "{after:?}");
    let before = at(-1_000_000);
    assert!(before.later_than_asked && before.blocks == 1, "{before:?}");
    assert_eq!(Flight::open(b"").stop_point(&spike.sample, 0), None);
}

#[test]
fn a_block_that_a_fault_cut_counts_as_far_as_it_got() {
    let mut making = Making::default();
    making.enter("release_pages", 40).go_on("release_pages", 10, 30).enter("free_one", 5);
    let file = making.file();
    let flight = Flight::open(&file);
    let blocks = super::Blocks::of(&flight.record, &flight.symbols);
    assert_eq!(blocks.steps.iter().map(|step| step.position).collect::<Vec<_>>(), [0, 10, 40]);
    assert_eq!(blocks.end, 45);
}

proptest! {
    #[test]
    fn whatever_is_recorded_the_ledger_adds_up(
        which in proptest::collection::vec((0..FUNCTIONS.len() + 2, 0u64..4, 1u32..40), 0..200),
        cut in 0usize..2000,
        latency_ns in 0i64..5000,
    ) {
        let (_, spike) = made_up();
        let mut making = Making::default();
        for (function, behind, instructions) in which {
            let address = FUNCTIONS.get(function).map_or(0x40_1000, |name| Making::at(name)) + 64 * behind;
            making.record.blocks.push(ExecutedBlock { address, instructions, halts: behind == 3 && function == 7 });
        }
        let file = making.file();
        let spike = Spike { sample: Sample { latency_ns, ..spike.sample }, ..spike };
        let explanation = explained(&file[..file.len() - cut.min(file.len())], &spike);
        prop_assert_eq!(explanation.phases.iter().map(|phase| phase.ns).sum::<i64>(), latency_ns);
        if let Some(point) = Flight::open(&file).stop_point(&spike.sample, latency_ns / 2) {
            prop_assert!(point.later_than_asked || point.ns_after_due <= latency_ns / 2, "{:?}", point);
        }
    }
}

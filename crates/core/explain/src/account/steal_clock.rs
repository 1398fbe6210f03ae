//! Stretches that the kernel's task clock leaves out: the hypervisor did not execute the CPU.
//!
//! A kernel with a paravirtual steal clock subtracts the time that the hypervisor reports as stolen from the clock that
//! threads are charged by, so between two charges of the thread on a CPU the elapsed time minus the charge is the
//! stolen time. Its length is known to the ns, its position is not: it is where the CPU recorded nothing, and ends
//! where it records again, because a pending interrupt is delivered as soon as the CPU is executed.
//!
//! Another CPU may read the clock in the middle of such a stretch, to wake a thread here or to look for work, before
//! the hypervisor has reported it. The time until then is charged; the time after it is left out, up to all of it.
//! Kernels before 6.14 subtract the rest from later charges, later kernels drop it. So if all time since another CPU
//! read the clock is left out, the silence before was most likely not executed either, and the time between the last
//! record of a CPU and such an event may not have been executed although it was charged.
//!
//! A thread may be charged for a stretch before it had the CPU; `charges` corrects that.
//!
//! A charge does not prove that the guest's code ran: the host may have handled a page fault of the guest, or an exit,
//! which does not count as stolen time.
//!
//! With CONFIG_IRQ_TIME_ACCOUNTING the clock leaves out interrupts as well.

use crate::account::charges::{READ_APART_NS_MAX, charges};
use crate::account::silences::silences;
use crate::account::steal_count;
use crate::account::stolen_time::{Accounting, place};
use crate::account::vcpu_absences::{AbsenceCause, Charged, PlacedAbsence};
use crate::read::event::{Event, EventKind};
use crate::replay::charge_points::SWITCHING_NS_MAX;
use crate::replay::trace::{CpuActivity, Trace};
use std::collections::HashMap;

/// A piece must be known to have run for at least this percentage.
const RAN_PERCENT_MIN: i64 = 80;
/// `SCHED_SOFTIRQ`: it scans all CPUs.
const SCHED_SOFTIRQ: u32 = 7;
/// Percentage that may be missing from a charge that still counts as the thread having run.
const RAN_MISSING_PERCENT_MAX: i64 = 5;

/// All charges of the trace, and the time they leave out.
#[derive(Debug, Default)]
pub struct StealClock {
    /// By CPU, ascending.
    charged: HashMap<u32, Vec<Charged>>,
    /// In order of time.
    pub absences: Vec<PlacedAbsence>,
    /// The clock is known to leave out stolen time.
    heeded: bool,
}

impl StealClock {
    pub fn read(trace: &Trace, accounting: Accounting) -> Self {
        if accounting.steal == Some(false) {
            return Self::default();
        }
        let charged = charges(trace);
        let mut absences = Vec::new();
        for activity in &trace.cpus {
            let of_cpu = charged.get(&activity.cpu).map_or(&[][..], Vec::as_slice);
            if !of_cpu.is_empty() {
                let silences = silences(activity);
                let (read, may_read) = (touches(trace, activity.cpu), searches_for_work(trace, activity.cpu));
                let last_read_ns = |at_ns: i64| [&read, &may_read].map(|read| last_before(read, at_ns));
                let places =
                    of_cpu.iter().flat_map(|one| place(one, activity.cpu, &silences, &last_read_ns, accounting));
                absences.extend(places);
            }
            steal_count::absences(activity).into_iter().for_each(|one| add_counted(&mut absences, one));
        }
        absences.sort_by_key(|one| (one.start_ns, one.end_ns, one.cpu));
        let heeded = accounting.steal == Some(true) || !absences.is_empty();
        Self { charged, absences, heeded }
    }

    /// The charges of the threads on a CPU over a stretch, if they are almost all of it and no other CPU read the clock
    /// meanwhile: the CPU did not wait for one of the host.
    pub fn charged_in_full(&self, trace: &Trace, cpu: u32, start_ns: i64, end_ns: i64) -> Option<Charged> {
        let charged = self.charged.get(&cpu).filter(|_| self.heeded)?;
        let recorded = |activity: &CpuActivity| {
            activity.intervals.first().is_some_and(|first| first.start_ns <= start_ns)
                && activity.lost_records.is_empty()
        };
        if !trace.cpus.iter().all(recorded) {
            return None;
        }
        let activity = trace.cpu(cpu)?;
        let read: Vec<i64> = touches(trace, cpu).into_iter().chain(searches_for_work(trace, cpu)).collect();
        let over = over(charged, start_ns, end_ns);
        let left_out_ns = left_out_ns(over);
        let unknown_ns = unknown_ns(activity, &read, charged, left_out_ns, (start_ns, end_ns));
        if unknown_ns * 100 > (end_ns - start_ns) * (100 - RAN_PERCENT_MIN) {
            return None;
        }
        let (first, last) = (over.first()?, over.last()?);
        let whole = has_no_gap(over, start_ns, end_ns);
        let is_of_these = |one: &&PlacedAbsence| {
            let charged = |of: Charged| over.contains(&of);
            one.cpu == cpu && matches!(one.cause, AbsenceCause::StealClock { charged: of, more: false } if charged(of))
        };
        let placed_ns: i64 = self.absences.iter().filter(is_of_these).map(|one| one.end_ns - one.start_ns).sum();
        let missing_ns = left_out_ns - placed_ns;
        let ran = missing_ns * 100 <= (end_ns - start_ns) * RAN_MISSING_PERCENT_MAX;
        (whole && ran).then_some(Charged {
            tid: first.tid,
            start_ns: first.start_ns,
            end_ns: last.end_ns,
            ran_ns: over.iter().map(|one| one.ran_ns).sum(),
        })
    }
}

/// Maximum part of a stretch in which a CPU may have been preempted although it was charged: from its last record to
/// a reading of its clock by another CPU. Stolen time becomes known when the CPU is executed again, and is then left out of all that it is
/// charged for until nothing is left of it. So a reading hides something only where no more time follows than the charges leave out: up
/// to the next record of the CPU, or, where the charges do not reach it, up to the next reading.
fn unknown_ns(
    activity: &CpuActivity,
    read: &[i64],
    charged: &[Charged],
    left_out_ns: i64,
    (start_ns, end_ns): (i64, i64),
) -> i64 {
    let mut read = read.to_vec();
    read.sort_unstable();
    let within =
        silences(activity).into_iter().filter(|silence| silence.start_ns < end_ns && start_ns < silence.end_ns);
    within
        .map(|silence| {
            let first = read.partition_point(|at_ns| *at_ns <= silence.start_ns);
            let within: Vec<i64> = read[first..].iter().copied().take_while(|at_ns| *at_ns < silence.end_ns).collect();
            let since_ns = silence.start_ns.max(start_ns);
            let up_to_its_end = over(charged, since_ns, silence.end_ns);
            let seen = has_no_gap(up_to_its_end, since_ns, silence.end_ns);
            let left_out_ns = if seen { left_out_ns.max(self::left_out_ns(up_to_its_end)) } else { left_out_ns };
            let next = within.iter().copied().skip(1).chain([silence.end_ns]);
            let following = next.map(|next_ns| if seen { silence.end_ns } else { next_ns });
            let may_hide = |(at_ns, until_ns): &(i64, i64)| until_ns - at_ns <= left_out_ns + READ_APART_NS_MAX;
            let hiding = within.iter().copied().zip(following).filter(may_hide).last();
            hiding.map_or(0, |(at_ns, _)| (at_ns.min(end_ns) - since_ns).max(0))
        })
        .sum()
}

/// The charges of a CPU that have a part of a stretch.
fn over(charged: &[Charged], start_ns: i64, end_ns: i64) -> &[Charged] {
    let rest = &charged[charged.partition_point(|one| one.end_ns <= start_ns)..];
    &rest[..rest.iter().take_while(|one| one.start_ns < end_ns).count()]
}

/// Whether these charges are for all of a stretch, which may end with a switch right after the last of them.
fn has_no_gap(over: &[Charged], start_ns: i64, end_ns: i64) -> bool {
    over.first().is_some_and(|one| one.start_ns <= start_ns)
        && over.last().is_some_and(|one| one.end_ns.saturating_add(SWITCHING_NS_MAX) >= end_ns)
        && over.windows(2).all(|pair| pair[1].start_ns - pair[0].end_ns <= SWITCHING_NS_MAX)
}

fn left_out_ns(over: &[Charged]) -> i64 {
    over.iter().map(|one| one.missing_ns().max(0)).sum()
}

/// Of what a charge and the hypervisor's count say of the same silence the longer one counts: both are the least that was stolen.
fn add_counted(absences: &mut Vec<PlacedAbsence>, counted: PlacedAbsence) {
    let ns = |one: &PlacedAbsence| one.end_ns - one.start_ns;
    let same =
        |one: &PlacedAbsence| one.cpu == counted.cpu && one.start_ns < counted.end_ns && counted.start_ns < one.end_ns;
    if absences.iter().filter(|one| same(one)).map(ns).sum::<i64>() < ns(&counted) {
        absences.retain(|one| !same(one));
        absences.push(counted);
    }
}

/// Instants at which other CPUs did something that reads the clock of `cpu`, ascending.
fn touches(trace: &Trace, cpu: u32) -> Vec<i64> {
    let is = |number: i32| i64::from(number) == i64::from(cpu);
    let others = trace.cpus.iter().filter(|activity| activity.cpu != cpu).flat_map(|activity| &activity.events);
    let read = others.filter(|event| match event.what {
        EventKind::Wakeup { target_cpu, .. } => is(target_cpu),
        EventKind::Migrate { from_cpu, to_cpu, .. } => is(from_cpu) || is(to_cpu),
        EventKind::Runtime { tid, .. } => tid != event.tid,
        EventKind::SoftirqEntry { vec } => vec == SCHED_SOFTIRQ,
        _ => false,
    });
    let mut found: Vec<i64> = read.map(|event| event.ts_ns).collect();
    found.sort_unstable();
    found
}

/// Instants at which other CPUs ran out of work, ascending: before they go idle they look for a task to pull, and may
/// read the clock of a CPU that has some, even if none can be moved.
fn searches_for_work(trace: &Trace, cpu: u32) -> Vec<i64> {
    let others = trace.cpus.iter().filter(|activity| activity.cpu != cpu).flat_map(|activity| &activity.events);
    let goes_idle = |event: &&Event| matches!(event.what, EventKind::Switch { next: 0, .. });
    let mut found: Vec<i64> = others.filter(goes_idle).map(|event| event.ts_ns).collect();
    found.sort_unstable();
    found
}

fn last_before(instants: &[i64], at_ns: i64) -> Option<i64> {
    instants[..instants.partition_point(|known| *known < at_ns)].last().copied()
}

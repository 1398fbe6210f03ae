//! Stolen time by the hypervisor's own count, which the kernel of a guest reads at late timer interrupts.
//!
//! The count grows when the hypervisor executes the CPU again. The kernel's task clock takes it into account with the next
//! thing that the scheduler does on the CPU, so what the clock has not taken into account as an interrupt comes in was stolen
//! since then. Other CPUs that read the clock meanwhile do not change that: the count has not grown yet.

use crate::account::interrupted_code::late_record;
use crate::account::silences::{STOLEN_NS_MIN, Silence, silences};
use crate::account::stolen_time::{Accounting, place};
use crate::account::vcpu_absences::{AbsenceCause, Charged, PlacedAbsence};
use crate::read::event::{Event, EventKind, Vector};
use crate::replay::trace::CpuActivity;

/// Part of a delay that the silence before the interrupt must cover for the count to be about it.
const COVERED_PERCENT_MIN: i64 = 80;

/// The absences of a CPU that its late interrupts show.
pub fn absences(activity: &CpuActivity) -> Vec<PlacedAbsence> {
    let silences = silences(activity);
    let counted = timer_interrupts(activity).filter_map(|entry| counted(activity, entry));
    counted.flat_map(|charged| place_one(&charged, activity.cpu, &silences)).collect()
}

/// Whether the hypervisor counts no stolen time in a delay that ends with the entry of a timer interrupt: it executed the
/// CPU, or served a page fault or an exit of it.
pub fn counts_nothing(activity: &CpuActivity, start_ns: i64, entry_ns: i64) -> bool {
    let stolen_ns = late_record(activity, entry_ns).and_then(|late| late.stolen_ns);
    let silences = silences(activity);
    let silence = silences.iter().find(|silence| silence.end_ns == entry_ns);
    let covers = |silence: &Silence| {
        let covered_ns = entry_ns.saturating_sub(silence.start_ns.max(start_ns));
        covered_ns.saturating_mul(100) >= entry_ns.saturating_sub(start_ns).saturating_mul(COVERED_PERCENT_MIN)
    };
    stolen_ns.is_some_and(|stolen_ns| stolen_ns < STOLEN_NS_MIN.unsigned_abs()) && silence.is_some_and(covers)
}

fn timer_interrupts<'a, 'e>(activity: &'a CpuActivity<'e>) -> impl Iterator<Item = &'a Event<'e>> {
    activity.events.iter().filter(|event| event.what == EventKind::VectorEntry { vector: Vector::LocalTimer })
}

/// The stretch that a count is about, as if it were a charge: from when the kernel certainly took the count into account, which it
/// does before it records a switch.
fn counted(activity: &CpuActivity, entry: &Event) -> Option<Charged> {
    let late = late_record(activity, entry.ts_ns)?;
    let stolen_ns = i64::try_from(late.stolen_ns?).ok()?;
    let before = activity.events_between(i64::MIN, entry.ts_ns - 1);
    let switched = before.iter().rposition(|event| matches!(event.what, EventKind::Switch { .. }));
    let before_the_switch = switched.and_then(|at| before.get(at.checked_sub(1)?));
    let first_ns = activity.stamps_before.first().map(|stamp| stamp.ts_ns);
    let start_ns =
        before_the_switch.map(|event| event.ts_ns).or(first_ns).or(before.first().map(|event| event.ts_ns))?;
    let ran_ns = late.ts_ns.saturating_sub(start_ns).saturating_sub(stolen_ns);
    (stolen_ns >= STOLEN_NS_MIN).then_some(Charged { tid: late.tid, start_ns, end_ns: late.ts_ns, ran_ns })
}

fn place_one(charged: &Charged, cpu: u32, silences: &[Silence]) -> Vec<PlacedAbsence> {
    // Interrupts are not missing from this count, and no reading of the clock limits it.
    let accounting = Accounting { steal: Some(true), interrupts: false };
    let placed = place(charged, cpu, silences, &|_| [None, None], accounting);
    let counted = placed.into_iter().filter(|one| !matches!(one.cause, AbsenceCause::StealClock { more: true, .. }));
    let (start_ns, end_ns, stolen_ns) = (charged.start_ns, charged.end_ns, charged.missing_ns());
    counted
        .map(|one| PlacedAbsence { cause: AbsenceCause::StealCount { start_ns, end_ns, stolen_ns }, ..one })
        .collect()
}

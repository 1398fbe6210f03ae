//! Where time was stolen that is missing from a charge.

use crate::account::silences::{STOLEN_NS_MIN, Silence};
use crate::account::vcpu_absences::{AbsenceCause, Charged, PlacedAbsence};
use archive::environment::Environment;
use archive::explanation::Confidence;

/// Percentage of a silence since another CPU read the clock that must be left out for the clock to have been at its
/// limit.
const LIMIT_PERCENT: i64 = 95;
/// Minimum of that silence.
const LIMIT_NS_MIN: i64 = 100_000;

/// The kinds of time that the machine is known to subtract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accounting {
    /// Whether the hypervisor took what is missing from a charge; `None`: unknown.
    pub steal: Option<bool>,
    /// Interrupts may be missing, too.
    pub interrupts: bool,
}

impl Accounting {
    pub fn of(environment: Option<&Environment>) -> Self {
        let Some(environment) = environment else { return Self { steal: None, interrupts: true } };
        let interrupts = environment.config.is_empty()
            || environment.config.iter().any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y");
        let metal = environment.virtualisation.as_deref() == Some("none");
        Self { steal: if metal { Some(false) } else { environment.steal_clock }, interrupts }
    }
}

/// Distributes what is missing from a charge over the silences that it spans, the longest first.
pub fn place(
    charged: &Charged,
    cpu: u32,
    silences: &[Silence],
    last_read_ns: &impl Fn(i64) -> [Option<i64>; 2],
    accounting: Accounting,
) -> Vec<PlacedAbsence> {
    let mut missing_ns = charged.missing_ns();
    if missing_ns < STOLEN_NS_MIN {
        return Vec::new();
    }
    let first = silences.partition_point(|silence| silence.end_ns <= charged.start_ns);
    let over = silences[first..].iter().take_while(|silence| silence.start_ns < charged.end_ns);
    let part = |silence: &Silence| silence.end_ns.min(charged.end_ns) - silence.start_ns.max(charged.start_ns);
    let mut over: Vec<Silence> = over.copied().collect();
    if accounting.interrupts {
        missing_ns -= over.iter().filter(|silence| silence.interrupted).map(part).sum::<i64>();
        over.retain(|silence| !silence.interrupted);
    }
    over.sort_by_key(|silence| std::cmp::Reverse(part(silence)));
    let all_ns: i64 = over.iter().map(part).sum();
    let mut placed = Vec::new();
    for silence in over {
        if missing_ns < STOLEN_NS_MIN {
            break;
        }
        let end_ns = silence.end_ns.min(charged.end_ns);
        // Another CPU caused an excessive charge in the middle of the silence: the rest is from before.
        let room_ns = end_ns - silence.start_ns;
        let ns = missing_ns.min(room_ns);
        // At least this much of it is here, wherever the rest is.
        let surely_ns = missing_ns - (all_ns - part(&silence));
        let certain = surely_ns * 2 >= ns && (silence.ends_interrupted || ns * 2 >= room_ns);
        let cause = AbsenceCause::StealClock { charged: *charged, more: false };
        let confidence = if certain { Confidence::Certain } else { Confidence::Likely };
        let start_ns = end_ns - ns;
        placed.push(PlacedAbsence { cpu, start_ns, end_ns, cause, confidence });
        missing_ns -= ns;
        let limits = |since_ns: i64| {
            ns >= LIMIT_NS_MIN && ns * 100 >= since_ns * LIMIT_PERCENT && since_ns * 100 >= ns * LIMIT_PERCENT
        };
        // A charge that begins in the silence was begun by another CPU, whatever other CPUs did since.
        let begun = Some(charged.start_ns).filter(|at_ns| *at_ns > silence.start_ns);
        let last_read = last_read_ns(end_ns).into_iter().chain([begun]).flatten();
        let limited = end_ns == silence.end_ns && last_read.into_iter().any(|at_ns| limits(end_ns - at_ns));
        if limited && start_ns > silence.start_ns && silence.ends_interrupted {
            let cause = AbsenceCause::StealClock { charged: *charged, more: true };
            let confidence = Confidence::Likely;
            placed.push(PlacedAbsence { cpu, start_ns: silence.start_ns, end_ns: start_ns, cause, confidence });
        }
    }
    placed
}

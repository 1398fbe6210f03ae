//! Charges of the kernel to the threads on a CPU, between two readings of its task clock (`sched_stat_runtime`).
//!
//! A wake-up that preempts the running thread reads the clock, and the kernel does not read it again for the switch. If
//! the thread stays in the kernel in between, it is not charged for that stretch: its successor is, on top of the time
//! for which it ran. The pair of charges shows how long the stretch was. Where the thread had been charged up to the
//! wake-up, or the record does not show since when it had the CPU, the charge of the successor alone shows it: it
//! reaches back to the wake-up.

use crate::account::vcpu_absences::Charged;
use crate::replay::charge_points::{Charge, ChargeKind, SWITCHING_NS_MAX};
use crate::replay::trace::Trace;
use std::collections::{HashMap, HashSet};

/// A charge can differ from the elapsed time by this much because the two clocks are read at different instants.
pub const READ_APART_NS_MAX: i64 = 20_000;

/// The charges of each CPU's thread, from one charge to the next.
pub fn charges(trace: &Trace) -> HashMap<u32, Vec<Charged>> {
    let mut points: Vec<(i64, u32, i32, ChargeKind)> = Vec::new();
    for activity in &trace.cpus {
        points.extend(activity.charges.iter().map(|one| (one.ts_ns, activity.cpu, one.by_tid, one.what)));
    }
    if !points.iter().any(|(.., what)| matches!(what, ChargeKind::Runtime { .. })) {
        return HashMap::new();
    }
    points.sort_by_key(|(ts_ns, cpu, ..)| (*ts_ns, *cpu));
    let mut charged: HashMap<u32, Vec<Charged>> = HashMap::new();
    // The thread on each CPU, and the instant up to which it is charged.
    let mut on_cpu: HashMap<u32, (i32, i64)> = HashMap::new();
    let mut seen: HashSet<(u32, i64)> = HashSet::new();
    for (ts_ns, cpu, by_tid, what) in points {
        match what {
            ChargeKind::Lost => {
                on_cpu.remove(&cpu);
            }
            ChargeKind::Switch { next } => {
                let since_ns = match on_cpu.get(&cpu) {
                    Some(&(before, at_ns)) if before != 0 && ts_ns - at_ns <= SWITCHING_NS_MAX => at_ns,
                    _ => ts_ns,
                };
                on_cpu.insert(cpu, (next, since_ns));
            }
            ChargeKind::Seen { tid } => {
                if on_cpu.get(&cpu).is_none_or(|(running, _)| *running != tid) {
                    on_cpu.insert(cpu, (tid, ts_ns));
                    seen.insert((cpu, ts_ns));
                }
            }
            ChargeKind::Wakeup { .. } => {}
            ChargeKind::Runtime { tid, ran_ns } => {
                let here = on_cpu.get(&cpu).is_some_and(|(running, _)| *running == tid);
                let elsewhere = || on_cpu.iter().find(|(_, (running, _))| *running == tid).map(|(cpu, _)| *cpu);
                let of = if here || by_tid == tid { Some(cpu) } else { elsewhere() };
                let Some(of) = of else { continue };
                if let Some((running, start_ns)) = on_cpu.insert(of, (tid, ts_ns))
                    && running == tid
                    && start_ns < ts_ns
                {
                    let ran_ns = ran_ns.max(0);
                    charged.entry(of).or_default().push(Charged { tid, start_ns, end_ns: ts_ns, ran_ns });
                }
            }
        }
    }
    for (cpu, of_cpu) in &mut charged {
        let woken = preemptions(trace, *cpu);
        let is_seen = |one: &Charged| seen.contains(&(*cpu, one.start_ns));
        reach_back(of_cpu, &woken, is_seen);
        of_cpu.retain(|one| !is_seen(one) || covers_no_more(one, &woken));
        correct_switches(of_cpu, &woken);
    }
    charged
}

/// Whether a charge is for no more than the time that it is compared with, from the instant at which its thread was seen on the CPU, and the
/// time since its wake-up right before. More than that from before would hide what the charge leaves out.
fn covers_no_more(one: &Charged, woken: &[i64]) -> bool {
    let last_ns = woken[..woken.partition_point(|woken_ns| *woken_ns <= one.start_ns)].last();
    let since_woken_ns = last_ns.map_or(0, |woken_ns| one.start_ns.saturating_sub(*woken_ns)).min(READ_APART_NS_MAX);
    -one.missing_ns() <= READ_APART_NS_MAX + since_woken_ns
}

/// Adds the stretch from a wake-up to the switch where only the successor of the thread was charged for it, and in full. The
/// charge of a thread that was seen before it ends with the wake-up, if it is for time before the thread was seen.
fn reach_back(charged: &mut Vec<Charged>, woken: &[i64], is_seen: impl Fn(&Charged) -> bool) {
    // From the last one on: what is left of the charge of a thread before may reach back itself.
    for at in (0..charged.len()).rev() {
        let one = charged[at];
        let previous = at.checked_sub(1).map(|before| charged[before]);
        let excess_ns = -one.missing_ns();
        // More than the thread before lacks: that one was charged for time before it was seen.
        let exceeds = |previous: &Charged| excess_ns - previous.missing_ns() > READ_APART_NS_MAX;
        let adjoins = |previous: &Charged| one.start_ns - previous.end_ns <= SWITCHING_NS_MAX;
        let uncertain = previous.filter(|previous| is_seen(previous) && adjoins(previous) && exceeds(previous));
        let before_ns = uncertain.map(|uncertain| uncertain.start_ns).or(previous.map(|previous| previous.end_ns));
        let before_ns = before_ns.unwrap_or(i64::MIN);
        let before = &woken[..woken.partition_point(|woken_ns| *woken_ns < one.start_ns)];
        // The kernel records a wake-up some time after it read the clock for it.
        let last_ns = before.last().copied().filter(|woken_ns| woken_ns.saturating_add(READ_APART_NS_MAX) >= before_ns);
        let since_ns = last_ns.map(|woken_ns| woken_ns.max(before_ns));
        let in_full = |since_ns: &i64| {
            let ns = one.start_ns - since_ns;
            ns > READ_APART_NS_MAX && excess_ns.abs_diff(ns) <= READ_APART_NS_MAX.unsigned_abs()
        };
        if let Some(start_ns) = since_ns.filter(in_full) {
            if uncertain.is_some() {
                charged[at - 1].end_ns = start_ns;
            }
            charged[at].ran_ns -= excess_ns;
            charged.insert(at, Charged { tid: one.tid, start_ns, end_ns: one.start_ns, ran_ns: excess_ns });
        }
    }
}

/// Instants at which a thread was woken for `cpu`, ascending.
fn preemptions(trace: &Trace, cpu: u32) -> Vec<i64> {
    let wakes = |charge: &&Charge| matches!(charge.what, ChargeKind::Wakeup { target_cpu } if i64::from(target_cpu) == i64::from(cpu));
    let mut found: Vec<i64> =
        trace.cpus.iter().flat_map(|activity| &activity.charges).filter(wakes).map(|charge| charge.ts_ns).collect();
    found.sort_unstable();
    found
}

/// Gives a thread what the kernel charged to its successor.
fn correct_switches(charged: &mut [Charged], woken: &[i64]) {
    for at in 0..charged.len() {
        let one = charged[at];
        let next = charged.get(at + 1).copied();
        let went_on = next.is_some_and(|next| next.tid == one.tid && next.start_ns == one.end_ns);
        if one.missing_ns() <= 0 || went_on {
            continue;
        }
        let next = next.filter(|next| (0..=SWITCHING_NS_MAX).contains(&(next.start_ns - one.end_ns)));
        match next.map(|next| next.missing_ns()) {
            Some(missing_ns) if missing_ns < 0 => {
                let ns = one.missing_ns().min(-missing_ns);
                charged[at].ran_ns += ns;
                charged[at + 1].ran_ns -= ns;
            }
            Some(missing_ns) if missing_ns < READ_APART_NS_MAX => {}
            // The successor lost time itself, or its charge is unknown: the stretch can be as long as this.
            _ => {
                let before = &woken[..woken.partition_point(|woken_ns| *woken_ns < one.end_ns)];
                let last_ns = before.last().copied().filter(|woken_ns| *woken_ns >= one.start_ns);
                charged[at].ran_ns += last_ns.map_or(0, |woken_ns| one.missing_ns().min(one.end_ns - woken_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(tid: i32, start_us: i64, end_us: i64, ran_us: i64) -> Charged {
        Charged { tid, start_ns: start_us * 1000, end_ns: end_us * 1000, ran_ns: ran_us * 1000 }
    }

    fn missing_us(mut charged: Vec<Charged>, woken_us: &[i64]) -> Vec<i64> {
        let woken: Vec<i64> = woken_us.iter().map(|us| us * 1000).collect();
        correct_switches(&mut charged, &woken);
        charged.iter().map(|one| one.missing_ns() / 1000).collect()
    }

    #[test]
    fn the_successor_gives_back_what_it_was_charged_for() {
        // Woken at 500, switched to at 2400; the charge of the switch ends at the wake-up, that of the successor starts there.
        let poll = [charge(1, 0, 2400, 500), charge(2, 2400, 2500, 2000)];
        assert_eq!(missing_us(poll.to_vec(), &[500]), [0, 0]);
        // Of these 1900 µs the hypervisor took 1000.
        let stolen = [charge(1, 0, 2400, 500), charge(2, 2400, 2500, 1000)];
        assert_eq!(missing_us(stolen.to_vec(), &[500]), [1000, 0]);
    }

    #[test]
    fn a_charge_that_no_successor_completes_counts_up_to_the_wake_up() {
        let before = [charge(1, 0, 5000, 100)];
        assert_eq!(missing_us(before.to_vec(), &[4980]), [4880]);
        assert_eq!(missing_us(before.to_vec(), &[80]), [0]);
        assert_eq!(missing_us(before.to_vec(), &[]), [4900]);
        let both = [charge(1, 0, 5000, 100), charge(2, 5000, 9000, 1000)];
        assert_eq!(missing_us(both.to_vec(), &[1000]), [900, 3000]);
    }

    fn reached_back_us(charged: Vec<Charged>, woken_us: &[i64]) -> Vec<(i64, i64, i64)> {
        reached_back_since_seen_us(charged, woken_us, None)
    }

    fn reached_back_since_seen_us(
        mut charged: Vec<Charged>,
        woken_us: &[i64],
        seen_us: Option<i64>,
    ) -> Vec<(i64, i64, i64)> {
        let woken: Vec<i64> = woken_us.iter().map(|us| us * 1000).collect();
        reach_back(&mut charged, &woken, |one| Some(one.start_ns / 1000) == seen_us);
        charged.iter().map(|one| (one.start_ns / 1000, one.end_ns / 1000, one.missing_ns() / 1000)).collect()
    }

    #[test]
    fn a_charge_alone_reaches_back_to_the_wake_up_before_it() {
        // Woken at 23, switched to at 1108: since when the thread before had the CPU is not recorded.
        let unknown = vec![charge(2, 1108, 1135, 1113)];
        assert_eq!(reached_back_us(unknown.clone(), &[23]), [(23, 1108, -1), (1108, 1135, 0)]);
        assert_eq!(
            reached_back_us(unknown.clone(), &[600]),
            [(1108, 1135, -1086)],
            "the clock was read earlier than this"
        );
        assert_eq!(reached_back_us(unknown, &[]), [(1108, 1135, -1086)]);
        // The thread before was charged up to the wake-up, which is recorded a little later.
        let charged = vec![charge(1, 0, 232, 232), charge(2, 915, 976, 743)];
        assert_eq!(reached_back_us(charged, &[11, 236]), [(0, 232, 0), (236, 915, -3), (915, 976, 0)]);
    }

    #[test]
    fn a_charge_in_full_leaves_a_thread_that_was_seen_before_it_what_it_ran_until_the_wake_up() {
        // Seen at 6 and woken for at 9; the thread before had the CPU since before the record begins.
        let seen = vec![charge(1, 6, 1026, 509), charge(2, 1027, 1068, 1060)];
        let reached_back = [(6, 9, -506), (9, 1027, -1), (1027, 1068, 0)];
        assert_eq!(reached_back_since_seen_us(seen.clone(), &[9], Some(6)), reached_back);
        assert_eq!(reached_back_us(seen, &[9]), [(6, 1026, 511), (1027, 1068, -1019)], "its switch is recorded");
        // The thread before was woken itself, at -82, and charged since; another CPU wakes a thread for this one at 156.
        let woken = vec![charge(1, 14, 365, 239), charge(2, 367, 400, 243)];
        let both = [(-82, 14, -1), (14, 156, 0), (156, 367, 1), (367, 400, 0)];
        assert_eq!(reached_back_since_seen_us(woken, &[-82, 17, 156], Some(14)), both);
        let idle_between = vec![charge(1, 0, 163, 184), charge(2, 1437, 1446, 31)];
        let not_extended = [(0, 163, -21), (1415, 1437, 0), (1437, 1446, 0)];
        assert_eq!(reached_back_since_seen_us(idle_between, &[1415], Some(0)), not_extended);
        let stolen = vec![charge(1, 6, 1026, 509), charge(2, 1027, 1068, 760)];
        assert_eq!(reached_back_since_seen_us(stolen, &[9], Some(6)), [(6, 1026, 511), (1027, 1068, -719)]);
    }

    #[test]
    fn a_charge_that_reaches_back_only_in_part_shows_nothing() {
        let stolen = vec![charge(2, 1108, 1135, 513)];
        assert_eq!(reached_back_us(stolen, &[23]), [(1108, 1135, -486)]);
        let own = vec![charge(1, 0, 900, 900), charge(2, 900, 1000, 100)];
        assert_eq!(reached_back_us(own, &[500]), [(0, 900, 0), (900, 1000, 0)]);
    }

    #[test]
    fn a_charge_from_before_its_thread_was_seen_may_hide_what_it_leaves_out() {
        // Seen at 900: it ran since then, and not for 500 before.
        assert!(covers_no_more(&charge(7, 900, 2000, 1110), &[]));
        assert!(!covers_no_more(&charge(7, 900, 2000, 1600), &[]));
        // Woken at 870, and charged since.
        assert!(covers_no_more(&charge(7, 900, 2000, 1139), &[870]));
        assert!(!covers_no_more(&charge(7, 900, 2000, 1600), &[100]), "of 800 since its wake-up 300 are left out");
    }

    #[test]
    fn a_thread_that_keeps_the_cpu_is_not_corrected() {
        let ticks = [charge(1, 0, 4000, 1000), charge(1, 4000, 8000, 4000), charge(2, 8000, 8100, 100)];
        assert_eq!(missing_us(ticks.to_vec(), &[10]), [3000, 0, 0]);
    }
}

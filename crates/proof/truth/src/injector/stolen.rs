//! Injects nothing: notes when the hypervisor did not execute this CPU.
//!
//! An ordinary thread of the measured CPU reads the clock without end, in user space, where nothing masks interrupts. A gap in
//! which it kept the CPU, and for which nobody was charged, is the hypervisor's: an interrupt is charged to the thread
//! that it interrupts. The charge is the kernel's own, from the steal clock. What passes between the wake-up of the
//! measuring thread and the switch to it is charged to that one.
//!
//! A host takes CPU time from a guest that uses all of its CPUs, so further threads keep the others busy.

use crate::disturbance::Stretch;
use crate::kernel::{held_ns, name, now_ns, pin};
use crate::measured;
use crate::switches::Switches;
use crate::terms::Terms;
use std::{fs, hint, io, thread};

/// More than two readings of the clock take.
const INTERRUPTION_NS: i64 = 5_000;
/// Shortest gap that is worth a note.
const GAP_NS: i64 = 100_000;
/// Most of a gap that may have been charged for.
const CHARGED_PERCENT_MAX: i64 = 10;

pub fn inject(terms: Terms) -> io::Result<()> {
    name("truth-stolen");
    let cpus = thread::available_parallelism()?.get();
    (0..cpus).filter(|cpu| *cpu != terms.cpu).for_each(keep_busy);
    pin(terms.cpu)?;
    let switches = Switches::open()?;
    let measuring = measured::thread(terms.cpu)?;
    let (mut base_measuring_ns, mut base_charged_ns, mut base_ns) = (charged_ns(measuring)?, held_ns(), now_ns());
    let mut last_ns = base_ns;
    loop {
        let ns = now_ns();
        if ns - last_ns < INTERRUPTION_NS {
            last_ns = ns;
            continue;
        }
        // Up to the last reading it was charged for what passed.
        let own_ns = (held_ns() - base_charged_ns) - (last_ns - base_ns);
        let measuring_ns = charged_ns(measuring)? - base_measuring_ns;
        let held = switches.held(last_ns, ns);
        let gap_ns: i64 = held.iter().map(|(begin_ns, end_ns)| end_ns - begin_ns).sum();
        if gap_ns >= GAP_NS && is_stolen(gap_ns, own_ns, measuring_ns - (ns - last_ns - gap_ns)) {
            terms.note(&Stretch::noticeable(&held))?;
        }
        (base_measuring_ns, base_charged_ns, base_ns) = (charged_ns(measuring)?, held_ns(), now_ns());
        last_ns = base_ns;
    }
}

fn keep_busy(cpu: usize) {
    thread::spawn(move || {
        if pin(cpu).is_ok() {
            loop {
                hint::spin_loop();
            }
        }
    });
}

/// Whether next to nothing of a gap was charged: to this thread, or to the measuring one beyond the time for which others had the CPU.
fn is_stolen(gap_ns: i64, own_ns: i64, beyond_its_turn_ns: i64) -> bool {
    (own_ns.max(0) + beyond_its_turn_ns.max(0)) * 100 <= gap_ns * CHARGED_PERCENT_MAX
}

/// The total charge of a thread, in ns. It does not run now, so none of its time is missing.
fn charged_ns(thread: i32) -> io::Result<i64> {
    let path = format!("/proc/{thread}/schedstat");
    let text = fs::read_to_string(&path).map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
    let charged = text.split(' ').next().and_then(|ns| ns.parse().ok());
    charged.ok_or_else(|| io::Error::other(format!("{path}: no time in `{text}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_stolen_where_no_thread_was_charged_for_it() {
        assert!(is_stolen(200_000, 5_000, 3_000));
        assert!(is_stolen(200_000, 5_000, -30_000), "others had the CPU, too");
        assert!(!is_stolen(200_000, 190_000, 0), "an interrupt");
        // The timer interrupt took long after it had woken the measuring thread.
        assert!(!is_stolen(145_000, 8_000, 146_000));
    }

    #[test]
    fn a_thread_is_charged_for_what_it_does() {
        let own = crate::kernel::own_thread();
        let before_ns = charged_ns(own).unwrap();
        crate::kernel::spin_until(now_ns() + 2_000_000);
        crate::kernel::sleep_until(now_ns() + 1_000_000);
        assert!(charged_ns(own).unwrap() > before_ns);
    }
}

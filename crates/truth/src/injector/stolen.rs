//! Injects nothing: notes when the hypervisor did not execute this CPU.
//!
//! An ordinary thread of the measured CPU reads the clock without end, in user space, where nothing masks interrupts. A gap in
//! which it kept the CPU, and for which it was charged next to nothing, is the hypervisor's: an interrupt is charged to the thread
//! that it interrupts. The charge is the kernel's own, from the steal clock.

use crate::disturbance::Stretch;
use crate::kernel::{held_ns, name, now_ns, pin};
use crate::switches::Switches;
use crate::terms::Terms;
use std::io;

/// More than two readings of the clock take.
const INTERRUPTION_NS: i64 = 5_000;
/// What is worth a note.
const GAP_NS: i64 = 100_000;
/// Most of a gap that the thread may have been charged for.
const CHARGED_PERCENT_MAX: i64 = 10;

pub fn inject(terms: Terms) -> io::Result<()> {
    name("truth-stolen");
    pin(terms.cpu)?;
    let switches = Switches::open()?;
    let (mut base_ns, mut base_charged_ns) = (now_ns(), held_ns());
    let mut last_ns = base_ns;
    loop {
        let ns = now_ns();
        if ns - last_ns < INTERRUPTION_NS {
            last_ns = ns;
            continue;
        }
        // Up to the last reading it was charged for what passed.
        let charged_ns = (held_ns() - base_charged_ns) - (last_ns - base_ns);
        let held = switches.held(last_ns, ns);
        let gap_ns: i64 = held.iter().map(|(begin_ns, end_ns)| end_ns - begin_ns).sum();
        if gap_ns >= GAP_NS && charged_ns * 100 <= gap_ns * CHARGED_PERCENT_MAX {
            terms.note(&Stretch::noticeable(&held))?;
        }
        (base_ns, base_charged_ns) = (now_ns(), held_ns());
        last_ns = base_ns;
    }
}

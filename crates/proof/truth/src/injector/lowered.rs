//! Another task lowers the measuring thread, computes with a priority between the old and the new one, and puts it back: by its
//! priority, or by its policy (`--kind policy`).

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{lock_memory, name, now_ns, pin, prioritise, prioritise_thread, spin_until};
use crate::measured;
use crate::terms::Terms;
use std::io;

/// The priority of the measuring thread.
const USUAL: i32 = 80;
const BETWEEN: i32 = 50;
const LOW: i32 = 10;
/// No real-time policy at all.
const ORDINARY: i32 = 0;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    lock_memory();
    name("truth-lowers");
    pin(terms.cpu)?;
    prioritise(BETWEEN)?;
    let low = if terms.kind == "policy" { ORDINARY } else { LOW };
    let (thread, length_ns) = (measured::thread(terms.cpu)?, terms.length_ns);
    Ok(Box::new(move || {
        prioritise_thread(thread, low)?;
        let begin_ns = now_ns();
        let others_ns = spin_until(begin_ns + length_ns);
        let end_ns = now_ns();
        prioritise_thread(thread, USUAL)?;
        Ok(vec![Stretch::shared(begin_ns, end_ns, others_ns)])
    }))
}

//! A task that computes on another CPU, more urgent than the measuring thread, moves that one to its own CPU, and back when it is
//! done.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{lock_memory, name, now_ns, pin, pin_thread, prioritise, spin_until};
use crate::measured;
use crate::terms::Terms;
use std::io;

const PRIORITY: i32 = 90;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    lock_memory();
    name("truth-moves");
    let (cpu, other) = (terms.cpu, usize::from(terms.cpu == 0));
    pin(other)?;
    prioritise(PRIORITY)?;
    let (thread, length_ns) = (measured::thread(cpu)?, terms.length_ns);
    Ok(Box::new(move || {
        pin_thread(thread, other)?;
        let begin_ns = now_ns();
        let others_ns = spin_until(begin_ns + length_ns);
        let end_ns = now_ns();
        pin_thread(thread, cpu)?;
        Ok(vec![Stretch::shared(begin_ns, end_ns, others_ns)])
    }))
}

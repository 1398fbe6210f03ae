//! A real-time task above the measuring thread that computes.

use crate::kernel::{lock_memory, name, now_ns, pin, prioritise, spin_until};
use crate::terms::Terms;
use std::io;

const PRIORITY: i32 = 90;

pub fn inject(mut terms: Terms) -> io::Result<()> {
    lock_memory();
    name("truth-urgent");
    pin(terms.cpu)?;
    prioritise(PRIORITY)?;
    loop {
        terms.pause();
        let begin_ns = now_ns();
        spin_until(begin_ns + terms.length_ns);
        let end_ns = now_ns();
        terms.note(begin_ns, end_ns)?;
    }
}

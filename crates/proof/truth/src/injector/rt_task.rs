//! A real-time task above the measuring thread that computes.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{lock_memory, name, now_ns, pin, prioritise, spin_until};
use crate::terms::Terms;
use std::io;

const PRIORITY: i32 = 90;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    lock_memory();
    name("truth-urgent");
    pin(terms.cpu)?;
    prioritise(PRIORITY)?;
    let length_ns = terms.length_ns;
    Ok(Box::new(move || {
        let begin_ns = now_ns();
        let others_ns = spin_until(begin_ns + length_ns);
        Ok(vec![Stretch::shared(begin_ns, now_ns(), others_ns)])
    }))
}

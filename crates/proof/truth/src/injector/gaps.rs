//! Injects nothing: notes when this machine itself was not executed, because its host had stopped it.
//!
//! A thread on another CPU than the late one reads the clock without end. A gap about as long as the host was asked to stop
//! it is a stop of the whole machine; shorter ones are interrupts, other tasks, and whatever else the host does.

use crate::disturbance::Stretch;
use crate::kernel::{name, now_ns, pin};
use crate::terms::Terms;
use std::io;

const LEAST_PERCENT: i64 = 80;

pub fn inject(terms: Terms) -> io::Result<()> {
    name("truth-gaps");
    pin(usize::from(terms.cpu == 0))?;
    let mut last_ns = now_ns();
    loop {
        let ns = now_ns();
        if (ns - last_ns) * 100 >= terms.length_ns * LEAST_PERCENT {
            terms.note(&[Stretch::new(last_ns, ns)])?;
            last_ns = now_ns();
        } else {
            last_ns = ns;
        }
    }
}

//! A program in the kernel that computes with interrupts masked, where no module can be loaded: BPF, at an event that is
//! recorded while a lock is held with interrupts off.
//!
//! With interrupts masked nothing but a hypervisor, firmware or a non-maskable interrupt can get between two of its readings of
//! the clock. What gaps add up to is not counted as its own time.

use crate::bpf::Masked;
use crate::disturbance::{Beside, Stretch};
use crate::kernel::{name, own_thread, pin, signal_thread};
use crate::terms::Terms;
use std::io;

/// It has no handler and is ignored: what matters is that the kernel records it.
const SIGNAL: libc::c_int = libc::SIGURG;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    name("truth-masked");
    pin(terms.cpu)?;
    let thread = own_thread();
    let masked = Masked::attach(thread, SIGNAL, terms.length_ns)?;
    Ok(Box::new(move || {
        signal_thread(thread, SIGNAL)?;
        let [begin_ns, end_ns, gaps_ns] = masked.last()?;
        if begin_ns >= end_ns {
            return Err(io::Error::other("the program in the kernel did not run"));
        }
        Ok(vec![Stretch { held_ns: Some(end_ns - begin_ns - gaps_ns), ..Stretch::new(begin_ns, end_ns) }])
    }))
}

//! A real-time task below the measuring thread that takes all of its CPU, beside an ordinary task that wants some, too: the
//! kernel gives that one its share, before the measuring thread.
//!
//! The ordinary task notes for itself when it has the CPU: it reads the clock without end, and a gap means that it had not.

use crate::kernel::{name, now_ns, pin, prioritise, sleep_until, spin_until};
use crate::terms::Terms;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const PRIORITY: i32 = 10;
/// An interrupt takes less, another task more.
const GAP_NS: i64 = 100_000;
/// Stretches this short are moments between two real-time tasks.
const LEAST_NS: i64 = 500_000;

pub fn inject(mut terms: Terms) -> io::Result<()> {
    let cpu = terms.cpu;
    let busy_until = Arc::new(AtomicI64::new(0));
    let told = Arc::clone(&busy_until);
    let length_ns = terms.length_ns;
    let hog = std::thread::spawn(move || -> io::Result<()> {
        name("truth-hog");
        pin(cpu)?;
        prioritise(PRIORITY)?;
        loop {
            let begin_ns = now_ns();
            told.store(begin_ns + length_ns, Ordering::SeqCst);
            spin_until(begin_ns + length_ns);
            sleep_until(begin_ns + length_ns + length_ns / 4);
        }
    });
    name("truth-ordinary");
    pin(cpu)?;
    let (mut begin_ns, mut last_ns) = (now_ns(), now_ns());
    while !hog.is_finished() {
        let ns = now_ns();
        if ns > busy_until.load(Ordering::SeqCst) {
            sleep_until(ns + 1_000_000);
            begin_ns = now_ns();
            last_ns = begin_ns;
        } else if ns - last_ns > GAP_NS {
            if last_ns - begin_ns > LEAST_NS {
                terms.note(begin_ns, last_ns)?;
            }
            begin_ns = now_ns();
            last_ns = begin_ns;
        } else {
            last_ns = ns;
        }
    }
    Err(io::Error::other("the task that takes all of the CPU ended"))
}

//! Many timers of one CPU that expire at one instant, in one interrupt. It ends at the first instant at which a task below the
//! measuring thread gets on, which reads the clock without end: an ordinary one would have to wait for its turn among others.

use crate::disturbance::{Beside, Stretch};
use crate::kernel::{Timer, allow_files, lock_memory, name, now_ns, pin, prioritise, sleep_until};
use crate::terms::Terms;
use std::io;

/// About what one costs with its two events.
const EACH_NS: i64 = 600;
const AHEAD_NS: i64 = 60_000_000;
/// From when on the clock is read, before they expire.
const WATCHED_NS: i64 = 2_000_000;
const PRIORITY: i32 = 10;
const ORDINARY: i32 = 0;

pub fn set_up(terms: &Terms) -> io::Result<Beside> {
    lock_memory();
    name("truth-timers");
    let count = terms.length_ns / EACH_NS;
    allow_files(count.unsigned_abs() + 100)?;
    pin(terms.cpu)?;
    let timers = (0..count).map(|_| Timer::new()).collect::<io::Result<Vec<_>>>()?;
    let length_ns = terms.length_ns;
    Ok(Box::new(move || {
        let at_ns = now_ns() + AHEAD_NS;
        for timer in &timers {
            timer.set(at_ns)?;
        }
        prioritise(PRIORITY)?;
        sleep_until(at_ns - WATCHED_NS);
        let mut last_ns = now_ns();
        if last_ns > at_ns {
            prioritise(ORDINARY)?;
            return Ok(Vec::new());
        }
        // An idle CPU would have to wake first.
        let end_ns = loop {
            let ns = now_ns();
            if ns >= at_ns && ns - last_ns > length_ns / 10 {
                break ns;
            }
            if ns > at_ns + length_ns {
                break at_ns;
            }
            last_ns = ns;
        };
        prioritise(ORDINARY)?;
        Ok((end_ns > at_ns).then(|| Stretch::new(at_ns, end_ns)).into_iter().collect())
    }))
}

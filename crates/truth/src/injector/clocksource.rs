//! The clock of the kernel is changed to another source and back: each time all CPUs are stopped.

use crate::kernel::{name, now_ns, pin};
use crate::terms::Terms;
use std::fs;
use std::io;

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";

pub fn inject(mut terms: Terms) -> io::Result<()> {
    name("truth-clock");
    pin(usize::from(terms.cpu == 0))?;
    let (own, all) = (format!("{FOLDER}/current_clocksource"), format!("{FOLDER}/available_clocksource"));
    let usual = fs::read_to_string(&own)?.trim().to_owned();
    let all = fs::read_to_string(all)?;
    let another = all.split_whitespace().find(|name| *name != usual);
    let another = another.ok_or_else(|| io::Error::other("the kernel has one clock only"))?.to_owned();
    loop {
        terms.pause();
        let begin_ns = now_ns();
        fs::write(&own, &another)?;
        fs::write(&own, &usual)?;
        let end_ns = now_ns();
        terms.note(begin_ns, end_ns)?;
    }
}

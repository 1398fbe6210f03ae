//! Another CPU than the one that is measured goes down and comes up again.

use crate::kernel::{name, now_ns, pin};
use crate::terms::Terms;
use std::fs;
use std::io;

pub fn inject(mut terms: Terms) -> io::Result<()> {
    name("truth-hotplug");
    pin(usize::from(terms.cpu == 0))?;
    let online = "/sys/devices/system/cpu/cpu2/online";
    loop {
        for value in ["0", "1"] {
            terms.pause();
            let begin_ns = now_ns();
            fs::write(online, value)?;
            let end_ns = now_ns();
            terms.note(begin_ns, end_ns)?;
        }
    }
}

//! A real-time loop that writes to a file and waits until the device has it. The stretches in which it slept are written down,
//! without its own time in the call.

use crate::cadence::Cadence;
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::now_ns;
use crate::switches::Switches;
use crate::terms::Terms;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

const BYTES: usize = 4 << 20;

pub fn set_up(terms: &Terms) -> io::Result<InLoop> {
    let path = terms.beside_log("fsync");
    let mut file = File::create(&path)?;
    // It goes with the program.
    std::fs::remove_file(&path)?;
    let content = vec![1; BYTES];
    let switches = Switches::open()?;
    Ok(Box::new(move |cadence: &mut Cadence| {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&content)?;
        cadence.next();
        let begin_ns = now_ns();
        file.sync_all()?;
        let end_ns = now_ns();
        let held = switches.held(begin_ns, end_ns);
        let slept: Vec<(i64, i64)> = held.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect();
        Ok(Stretch::noticeable(&slept))
    }))
}

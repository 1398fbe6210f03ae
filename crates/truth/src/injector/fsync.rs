//! A real-time loop that writes to a file and waits until the device has it. The stretches in which it did not have the CPU are
//! written down. For how much of them it could run, and waited for the CPU, the kernel counts beside them.

use crate::cadence::Cadence;
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::now_ns;
use crate::switches::Switches;
use crate::terms::Terms;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

const BYTES: usize = 4 << 20;
/// A shorter stretch is a switch to another thread and back.
const SLEEP_NS_MIN: i64 = 5_000;

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
        let delayed_before_ns = run_delay_ns()?;
        let begin_ns = now_ns();
        file.sync_all()?;
        let end_ns = now_ns();
        let delayed_ns = run_delay_ns()? - delayed_before_ns;
        let held = switches.held(begin_ns, end_ns);
        let slept: Vec<(i64, i64)> = held.windows(2).map(|pair| (pair[0].1, pair[1].0)).collect();
        let mut stretches: Vec<Stretch> = slept
            .iter()
            .filter(|(from, to)| to - from >= SLEEP_NS_MIN)
            .map(|&(from, to)| Stretch::new(from, to))
            .collect();
        // It is not known in which of them it was delayed, except that most of it is in the longest.
        if let Some(longest) = stretches.iter_mut().max_by_key(|one| one.end_ns - one.begin_ns) {
            longest.unsure_ns = delayed_ns;
        }
        Ok(stretches)
    }))
}

/// Time that the calling thread has been runnable without a CPU, in ns.
fn run_delay_ns() -> io::Result<i64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let delay = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    delay.ok_or_else(|| io::Error::other("no schedstat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_how_long_a_thread_waits_for_a_cpu() {
        let before_ns = run_delay_ns().expect("schedstat");
        assert!(run_delay_ns().expect("schedstat") >= before_ns);
    }
}

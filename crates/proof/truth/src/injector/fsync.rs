//! A real-time loop that writes to a file and waits until the device has it. The stretches are written down in which it slept: from
//! when it lost the CPU to when it was woken.

use crate::cadence::Cadence;
use crate::disturbance::{InLoop, Stretch};
use crate::kernel::now_ns;
use crate::performance::OwnWakeups;
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
    let (switches, wakeups) = (Switches::open()?, OwnWakeups::open()?);
    Ok(Box::new(move |cadence: &mut Cadence| {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&content)?;
        cadence.next();
        wakeups.take();
        let begin_ns = now_ns();
        file.sync_all()?;
        let held = switches.held(begin_ns, now_ns());
        Ok(asleep(&held, &wakeups.take()))
    }))
}

/// The stretches between those in which it had the CPU, each up to the first wake-up in it. Without one it was pushed aside.
fn asleep(held: &[(i64, i64)], woken: &[i64]) -> Vec<Stretch> {
    let away = held.windows(2).map(|pair| (pair[0].1, pair[1].0));
    let until_woken = away.filter_map(|(from_ns, to_ns)| {
        let woken_ns = woken.iter().copied().find(|at_ns| (from_ns..to_ns).contains(at_ns))?;
        Some(Stretch::new(from_ns, woken_ns))
    });
    until_woken.filter(|one| one.end_ns - one.begin_ns >= SLEEP_NS_MIN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{now_ns, pin, sleep_until};
    use std::hint;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn it_sleeps_until_it_is_woken_and_then_waits_for_the_cpu() {
        let held = [(0, 10_000), (90_000, 95_000), (96_000, 100_000), (200_000, 210_000)];
        let stretches = asleep(&held, &[60_000, 150_000, 160_000]);
        assert_eq!(stretches, [Stretch::new(10_000, 60_000), Stretch::new(100_000, 150_000)]);
        assert_eq!(asleep(&held[..2], &[]), []);
    }

    #[test]
    fn the_kernel_records_who_is_woken() {
        let wakeups = OwnWakeups::open();
        prerequisites::require!(Root, Tracefs, Kernel("performance events", wakeups.is_ok()));
        let wakeups = wakeups.expect("events");
        // SAFETY: asks for a number.
        let cpu = unsafe { libc::sched_getcpu() } as usize;
        pin(cpu).expect("the CPU that it has");
        let done = AtomicBool::new(false);
        let recorded = thread::scope(|scope| {
            // Linux 6.18 has been seen to record nothing of the interrupts of a CPU that they wake from its idle loop.
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
            // Under load it loses about one of 200 that its tracer records at the same time.
            let recorded = (0..10).any(|_| {
                wakeups.take();
                let until_ns = now_ns() + 2_000_000;
                sleep_until(until_ns);
                wakeups.take().iter().any(|at_ns| (until_ns..now_ns()).contains(at_ns))
            });
            done.store(true, Ordering::Relaxed);
            recorded
        });
        assert!(recorded, "none of ten wake-ups");
    }
}

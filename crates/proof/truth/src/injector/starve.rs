//! A real-time task below the measuring thread that takes all of its CPU, beside an ordinary task that wants some, too: the
//! kernel gives that one its share, before the measuring thread.
//!
//! The ordinary task notes for itself when it has the CPU: it reads the clock without end, and a gap means that it had not.

use crate::disturbance::Stretch;
use crate::kernel::{mount, name, now_ns, pin, prioritise, sleep_until, spin_until};
use crate::terms::Terms;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const PRIORITY: i32 = 10;
/// An interrupt takes less, another task more.
const GAP_NS: i64 = 100_000;
/// Stretches this short are moments between two real-time tasks.
const LEAST_NS: i64 = 500_000;

pub fn inject(terms: Terms) -> io::Result<()> {
    let cpu = terms.cpu;
    if let Some(period_us) = terms.period_us {
        set_period(cpu, period_us)?;
    }
    let busy_until = Arc::new(AtomicI64::new(0));
    let until = Arc::clone(&busy_until);
    let length_ns = terms.length_ns;
    let hog = std::thread::spawn(move || -> io::Result<()> {
        name("truth-hog");
        pin(cpu)?;
        prioritise(PRIORITY)?;
        loop {
            let begin_ns = now_ns();
            until.store(begin_ns + length_ns, Ordering::SeqCst);
            spin_until(begin_ns + length_ns);
            sleep_until(begin_ns + length_ns + length_ns / 4);
        }
    });
    name("truth-ordinary");
    pin(cpu)?;
    // It never sleeps: where real-time tasks are held back, a kernel may serve no timers of ordinary ones.
    let is_busy = |ns: i64| ns <= busy_until.load(Ordering::SeqCst);
    let (mut begin_ns, mut last_ns) = (now_ns(), now_ns());
    let mut begun_busy = false;
    while !hog.is_finished() {
        let ns = now_ns();
        if ns - last_ns > GAP_NS {
            if begun_busy && last_ns - begin_ns > LEAST_NS {
                terms.note(&[Stretch::new(begin_ns, last_ns)])?;
            }
            begin_ns = now_ns();
            begun_busy = is_busy(begin_ns);
            last_ns = begin_ns;
        } else {
            last_ns = ns;
        }
    }
    Err(io::Error::other("the task that takes all of the CPU ended"))
}

/// The usual shares, of another period: ordinary tasks get 5 %, by whatever the kernel has for it. For machines of their own;
/// they are not put back.
fn set_period(cpu: usize, period_us: i64) -> io::Result<()> {
    let debug = "/sys/kernel/debug";
    // It may be there already.
    let _ = mount("debugfs", Path::new(debug), "");
    let server = format!("{debug}/sched/fair_server/cpu{cpu}");
    if Path::new(&server).exists() {
        // The shorter period first: on a machine with one CPU, 6.12 has not counted the share that the server has from the
        // beginning, and refuses a smaller one than that.
        write(&format!("{server}/period"), period_us * 1000)?;
        return write(&format!("{server}/runtime"), period_us * 50);
    }
    write("/proc/sys/kernel/sched_rt_runtime_us", period_us * 95 / 100)?;
    write("/proc/sys/kernel/sched_rt_period_us", period_us)
}

fn write(path: &str, number: i64) -> io::Result<()> {
    fs::write(path, number.to_string()).map_err(|error| io::Error::other(format!("{number} to {path}: {error}")))
}

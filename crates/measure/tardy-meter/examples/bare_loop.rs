//! The minimum cost of a wake-up: one thread that sleeps, reads the clock and counts. `make bench` compares the meter
//! with it.
//!
//! `bare_loop CPU INTERVAL_US SECONDS` prints the cycles and the mean latency in ns.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{ClockId, CpuSet, clock_nanosleep_absolute, sched_setaffinity};
use rustix::time::{Timespec, clock_gettime};

const PRIORITY: u8 = 80;

fn main() -> std::io::Result<()> {
    let numbers: Vec<i64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [cpu, interval_us, seconds] = numbers[..] else {
        eprintln!("usage: bare_loop CPU INTERVAL_US SECONDS");
        std::process::exit(2);
    };
    let mut cpus = CpuSet::new();
    cpus.set(cpu as usize);
    sched_setaffinity(None, &cpus)?;
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    meter::kernel::scheduling::set_policy(archive::settings::Policy::Fifo, PRIORITY, 0)?;
    let now_ns = || {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let mut due_ns = now_ns();
    let end_ns = due_ns + seconds * 1_000_000_000;
    let (mut cycles, mut sum_ns) = (0_u64, 0);
    while due_ns < end_ns {
        due_ns += interval_us * 1000;
        let due = Timespec { tv_sec: due_ns / 1_000_000_000, tv_nsec: due_ns % 1_000_000_000 };
        clock_nanosleep_absolute(ClockId::Monotonic, &due)?;
        sum_ns += now_ns() - due_ns;
        cycles += 1;
    }
    println!("{cycles} {}", sum_ns / cycles as i64);
    Ok(())
}

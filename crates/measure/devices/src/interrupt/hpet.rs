//! `hpet`: the periodic interrupt of an HPET timer, one of hardware, until the thread that reads the device runs.
//!
//! The device has a time stamp of its own: its comparator shows when the period started. Without the right to map its registers
//! (`hpet_mmap=1` on the kernel's command line) a sample starts at the kernel's entry of the interrupt handler.

use super::{Periodic, SampleStart, device_obstacles, rate_obstacle, setup, stamps};
use crate::OnDevice;
use crate::device::{obstacle, open_below};
use crate::kernel::hpet::{Hpet as HpetDevice, Registers};
use archive::method::Method;
use archive::method::hpet::{Hpet, Sample};
use archive::method::state::{Obstacle, ObstacleKind};
use meter::journal::Journal;
use meter::kernel::clock;
use meter::kernel::event_stamps::Point;
use meter::methods::error::MethodError;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::io;
use std::path::Path;
use std::time::Duration;

const DEVICE: &str = "/dev/hpet";
const WHAT: &str = "HPET";
const FS_PER_S: u64 = 1_000_000_000_000_000;

struct Timer {
    hpet: HpetDevice,
    hz: u64,
    registers: Option<Registers>,
    period_ticks: i64,
    tick_fs: i64,
}

impl Periodic for Timer {
    fn start(&mut self) -> io::Result<()> {
        self.hpet.start(self.hz)
    }

    #[inline]
    fn wait(&self, at_most: Duration) -> bool {
        self.hpet.wait(at_most)
    }

    #[inline]
    fn periods(&self) -> io::Result<u64> {
        self.hpet.interrupts()
    }

    #[inline]
    fn started_ns(&self) -> Option<i64> {
        let registers = self.registers.as_ref()?;
        let before_ns = clock::monotonic_ns();
        let counter = registers.counter();
        let after_ns = clock::monotonic_ns();
        let age_ns = (self.period_ticks - registers.ticks_after(counter)) * self.tick_fs / 1_000_000;
        Some(before_ns + (after_ns - before_ns) / 2 - age_ns)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.hpet.stop();
    }
}

/// Length of a period in ticks, rounded as the kernel's driver does.
fn period_ticks(tick_fs: u64, hz: u64) -> u64 {
    let rate = (FS_PER_S + tick_fs / 2) / tick_fs;
    (rate + hz / 2) / hz
}

fn device(options: &Hpet) -> &Path {
    Path::new(options.device().unwrap_or(DEVICE))
}

impl MeasuringMethod for OnDevice<'_, Hpet> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let mut obstacles = device_obstacles(WHAT, root, device(self));
        obstacles.extend(rate_obstacle(root, Path::new("proc/sys/dev/hpet/max-user-freq"), self.hz()));
        let expiry = self.sample() == Sample::Expiry;
        let line = std::fs::read_to_string(root.join("proc/cmdline")).unwrap_or_default();
        if expiry && !line.split_whitespace().any(|word| word == "hpet_mmap" || word == "hpet_mmap=1") {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Kernel,
                text: "the kernel does not let programs read the HPET's registers".into(),
                fix: "boot with hpet_mmap=1, or use sample=interrupt".into(),
            });
        }
        obstacles
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let Some(cpu) = run.measured.first() else { return Ok(Vec::new()) };
        let device = device(self);
        let refused = |action| move |source| MethodError::Refused { method: Method::Hpet, action, source };
        let file = open_below(Path::new("/"), device).map_err(|error| MethodError::Impossible {
            method: Method::Hpet,
            obstacles: vec![obstacle(WHAT, device, &error)],
        })?;
        let hpet = HpetDevice::new(file).map_err(refused("ask which timer of the HPET it got"))?;
        let hz = self.hz();
        let mut timer = Timer { hpet, hz, registers: None, period_ticks: 0, tick_fs: 0 };
        let from = if self.sample() == Sample::Expiry {
            let registers = timer.hpet.registers().map_err(refused("map the HPET's registers"))?;
            let tick_fs = registers.tick_fs().max(1);
            timer.tick_fs = tick_fs as i64;
            timer.period_ticks = period_ticks(tick_fs, hz) as i64;
            timer.registers = Some(registers);
            SampleStart::Device
        } else {
            let point = Point::InterruptHandler(timer.hpet.interrupt_name());
            SampleStart::handler(stamps(&point).map_err(refused("record the event irq_handler_entry"))?)
        };
        Ok(vec![setup(*cpu, timer, 1_000_000_000 / hz as i64, from)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;

    #[test]
    fn a_period_has_as_many_ticks_as_in_the_kernels_driver() {
        assert_eq!(period_ticks(10_000_000, 1000), 100_000);
        assert_eq!(period_ticks(69_841_279, 1024), 13_983);
    }

    #[test]
    fn registers_that_the_kernel_does_not_show_are_named_for_the_sample_that_needs_them() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let count = |text: &str| obstacles_of(text, root.path()).len();
        assert_eq!((count("hpet"), count("hpet:sample=expiry")), (1, 2));
        std::fs::write(root.path().join("proc/cmdline"), "quiet hpet_mmap=1\n").unwrap();
        assert_eq!(count("hpet:sample=expiry"), 1);
    }
}

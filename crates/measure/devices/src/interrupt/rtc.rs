//! `rtc`: the periodic interrupt of a real-time clock until the thread that reads the device runs. RealFeel's method.
//!
//! The kernel emulates the interrupt with a timer that starts when it is switched on, and counts the periods that passed
//! since the last read. So the instant at which each one was due is known, and none is taken for another.
//!
//! Switching the interrupt off, by RTC_PIE_OFF or by the last close, spins until the callback of that timer has ended (6.1
//! and 6.12 at least). On PREEMPT_RT the callback runs in a thread of priority 1, and the reader that it wakes preempts it
//! before it ends: a reader that switches the interrupt off then spins for ever, at its real-time priority, and the CPU is
//! lost. So the reader never does: [`ClockHolder`], a process of ordinary priority, holds the device as well, switches it off when
//! the meter has ended, in whatever way, and closes it last.

use super::clock_holder::{ClockHolder, HolderProcess, let_callback_end};
use super::{Periodic, SampleStart, device_obstacles, rate_obstacle, setup, stamps};
use crate::OnDevice;
use crate::device::{obstacle, open_below};
use crate::kernel::rtc::Rtc as RtcDevice;
use archive::method::Method;
use archive::method::rtc::{Rtc, Sample};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::settings::Policy;
use meter::journal::Journal;
use meter::kernel::event_stamps::Point;
use meter::kernel::scheduling;
use meter::methods::error::MethodError;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::io;
use std::path::Path;
use std::time::Duration;

const DEVICE: &str = "/dev/rtc0";
const WHAT: &str = "real-time clock";
/// The callback of the timer that emulates the interrupt.
const CALLBACK: Point = Point::Function("rtc_pie_update_irq");
const PROBES: &str = "sys/bus/event_source/devices/kprobe/type";

struct Clock {
    rtc: RtcDevice,
    holder: HolderProcess,
}

impl Periodic for Clock {
    fn start(&mut self) -> io::Result<()> {
        self.rtc.switch_on()
    }

    #[inline]
    fn wait(&self, at_most: Duration) -> bool {
        self.rtc.wait(at_most)
    }

    #[inline]
    fn periods(&self) -> io::Result<u64> {
        self.rtc.periods()
    }
}

/// With a holder this is not the last one to close the device.
impl Drop for Clock {
    fn drop(&mut self) {
        if self.holder.has_ended() {
            let _ = scheduling::set_policy(Policy::Other, 0, 1_000_000);
            let_callback_end();
            let _ = self.rtc.switch_off();
        }
    }
}

fn device(options: &Rtc) -> &Path {
    Path::new(options.device().unwrap_or(DEVICE))
}

impl MeasuringMethod for OnDevice<'_, Rtc> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let device = device(self);
        let mut obstacles = device_obstacles(WHAT, root, device);
        let limit = device.file_name().map(|name| Path::new("sys/class/rtc").join(name).join("max_user_freq"));
        obstacles.extend(limit.and_then(|limit| rate_obstacle(root, &limit, self.hz())));
        if self.sample() == Sample::Interrupt && !root.join(PROBES).exists() {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Kernel,
                text: "the kernel cannot place probes for perf (CONFIG_KPROBE_EVENTS)".into(),
                fix: "use sample=expectation, or a kernel with it".into(),
            });
        }
        obstacles
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let Some(cpu) = run.measured.first() else { return Ok(Vec::new()) };
        let device = device(self);
        let refused = |action| move |source| MethodError::Refused { method: Method::Rtc, action, source };
        let file = open_below(Path::new("/"), device).map_err(|error| MethodError::Impossible {
            method: Method::Rtc,
            obstacles: vec![obstacle(WHAT, device, &error)],
        })?;
        let rtc = RtcDevice::new(file);
        let hz = self.hz();
        let before_hz = rtc.rate_hz().map_err(refused("read the rate of the periodic interrupt"))?;
        let holder =
            ClockHolder::start(&rtc, before_hz).map_err(refused("start the process that keeps the device open"))?;
        // From here on the holder restores the rate, whatever follows.
        rtc.set_rate_hz(hz).map_err(refused("set the rate of the periodic interrupt"))?;
        let from = match self.sample() {
            Sample::Interrupt => {
                SampleStart::handler(stamps(&CALLBACK).map_err(refused("place a probe in rtc_pie_update_irq"))?)
            }
            Sample::Expectation => SampleStart::Expectation { started_ns: 0, periods: 0 },
        };
        // The kernel's period, too, is a whole number of ns.
        let period_ns = 1_000_000_000 / hz as i64;
        let setup = setup(*cpu, Clock { rtc, holder: holder.process() }, period_ns, from);
        // It lives until the thread has ended, and nothing else needs to be done to end a wait.
        let release = move || _ = holder.process();
        Ok(vec![ThreadSetup { release: Some(Box::new(release)), ..setup }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;

    #[test]
    fn a_machine_without_a_clock_or_probes_and_a_file_in_place_of_a_clock_are_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds = |text: &str| -> Vec<ObstacleKind> {
            obstacles_of(text, root.path()).into_iter().map(|one| one.kind).collect()
        };
        assert_eq!(kinds("rtc"), [ObstacleKind::Device]);
        assert_eq!(kinds("rtc:sample=interrupt"), [ObstacleKind::Device, ObstacleKind::Kernel]);
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev/rtc0"), "").unwrap();
        assert_eq!(kinds("rtc"), [ObstacleKind::Device], "a file is none");
    }
}

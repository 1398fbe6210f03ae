//! `rtc`: the periodic interrupt of a real-time clock until the thread that reads the device runs. RealFeel's method.
//!
//! The kernel emulates the interrupt with a timer that starts when it is switched on, and counts the periods that passed
//! since the last read. So the instant at which each one was due is known, and none is taken for another.
//!
//! Switching the interrupt off, by RTC_PIE_OFF or by the last close, spins until the callback of that timer has ended (6.1
//! and 6.12 at least). On PREEMPT_RT the callback runs in a thread of priority 1, and the reader that it wakes preempts it
//! before it ends: a reader that switches the interrupt off then spins for ever, at its real-time priority, and the CPU is
//! lost. So the reader never does: [`Keeper`], a process of ordinary priority, holds the device as well, switches it off when
//! the meter has ended, in whatever way, and closes it last.

use super::keeper::{Keeper, KeeperLife, let_callback_end};
use super::{Periodic, SampleStart, device_obstacles, device_of, rate_obstacle, stamps, station};
use crate::journal::Journal;
use crate::kernel::event_stamps::Point;
use crate::kernel::rtc::Rtc;
use crate::kernel::scheduling;
use crate::methods::device::{obstacle, open_below};
use crate::methods::error::MethodError;
use crate::methods::{MeasuringMethod, Site, Station};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use archive::settings::Policy;
use std::io;
use std::path::Path;
use std::time::Duration;

const DEVICE: &str = "/dev/rtc0";
const WHAT: &str = "real-time clock";
/// The callback of the timer that emulates the interrupt.
const CALLBACK: Point = Point::Function("rtc_pie_update_irq");
const PROBES: &str = "sys/bus/event_source/devices/kprobe/type";

pub struct RealTimeClock;

struct Clock {
    rtc: Rtc,
    keeper: KeeperLife,
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

/// With a keeper this is not the last one to close the device.
impl Drop for Clock {
    fn drop(&mut self) {
        if self.keeper.has_ended() {
            let _ = scheduling::set_policy(Policy::Other, 0, 1_000_000);
            let_callback_end();
            let _ = self.rtc.switch_off();
        }
    }
}

fn from_handler(request: Option<&MethodRequest>) -> bool {
    request.and_then(|request| request.value("sample")) == Some("interrupt")
}

impl MeasuringMethod for RealTimeClock {
    fn obstacles(&self, root: &Path, request: Option<&MethodRequest>) -> Vec<Obstacle> {
        let device = device_of(request, DEVICE);
        let mut obstacles = device_obstacles(WHAT, root, &device);
        let limit = device.file_name().map(|name| Path::new("sys/class/rtc").join(name).join("max_user_freq"));
        obstacles.extend(limit.and_then(|limit| rate_obstacle(root, &limit, request, Method::Rtc)));
        if from_handler(request) && !root.join(PROBES).exists() {
            obstacles.push(Obstacle {
                kind: ObstacleKind::Kernel,
                text: "the kernel cannot place probes for perf (CONFIG_KPROBE_EVENTS)".into(),
                fix: "use sample=expectation, or a kernel with it".into(),
            });
        }
        obstacles
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let request = site.request();
        let Some(cpu) = site.measured.first() else { return Ok(Vec::new()) };
        let device = device_of(Some(request), DEVICE);
        let refused = |action| move |source| MethodError::Refused { method: Method::Rtc, action, source };
        let file = open_below(Path::new("/"), &device).map_err(|error| MethodError::Impossible {
            method: Method::Rtc,
            obstacles: vec![obstacle(WHAT, &device, &error)],
        })?;
        let rtc = Rtc::new(file);
        let hz = request.number("hz");
        let before_hz = rtc.rate_hz().map_err(refused("read the rate of the periodic interrupt"))?;
        let keeper = Keeper::start(&rtc, before_hz).map_err(refused("start the process that keeps the device open"))?;
        // SampleStart here on the keeper restores the rate, whatever follows.
        rtc.set_rate_hz(hz).map_err(refused("set the rate of the periodic interrupt"))?;
        let from = match from_handler(Some(request)) {
            true => SampleStart::handler(stamps(&CALLBACK).map_err(refused("place a probe in rtc_pie_update_irq"))?),
            false => SampleStart::Expectation { started_ns: 0, periods: 0 },
        };
        // The kernel's period, too, is a whole number of ns.
        let period_ns = 1_000_000_000 / hz as i64;
        let station = station(*cpu, Clock { rtc, keeper: keeper.life() }, period_ns, from);
        // It lives until the thread has ended, and nothing else needs to be done to end a wait.
        let release = move || _ = keeper.life();
        Ok(vec![Station { release: Some(Box::new(release)), ..station }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_clock_or_probes_and_a_file_in_place_of_a_clock_are_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds = |text: &str| -> Vec<ObstacleKind> {
            let request = MethodRequest::parse(text).unwrap();
            RealTimeClock.obstacles(root.path(), Some(&request)).into_iter().map(|one| one.kind).collect()
        };
        assert_eq!(kinds("rtc"), [ObstacleKind::Device]);
        assert_eq!(kinds("rtc:sample=interrupt"), [ObstacleKind::Device, ObstacleKind::Kernel]);
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev/rtc0"), "").unwrap();
        assert!(RealTimeClock.obstacles(root.path(), None)[0].text.contains("no device"));
    }
}

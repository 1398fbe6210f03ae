//! Timer storms: many timers that expire soon, each rearmed after its expiry was read, so that there are never more
//! interrupts than the machine can handle.

use super::draws::Draws;
use super::workers::Workers;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

const TIMERS: usize = 64;
const EXPIRY_NS_MIN: usize = 50_000;
const EXPIRY_NS_MAX: usize = 1_000_000;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for number in 0..workers.count() {
        workers.fork("load-timer", |counter| match work(Draws::of_worker(number), counter) {
            Ok(never) => match never {},
            Err(error) => error,
        })?;
    }
    Ok(())
}

fn work(mut draws: Draws, counter: &AtomicU64) -> io::Result<std::convert::Infallible> {
    let timers = timers(&mut draws)?;
    loop {
        let expired = serve(&timers, &mut draws)?;
        counter.fetch_add(expired, Ordering::Relaxed);
    }
}

fn timers(draws: &mut Draws) -> io::Result<Vec<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timers: Result<Vec<_>, _> = (0..TIMERS).map(|_| timerfd_create(TimerfdClockId::Monotonic, flags)).collect();
    let timers = timers?;
    for timer in &timers {
        arm(timer, draws)?;
    }
    Ok(timers)
}

fn arm(timer: &OwnedFd, draws: &mut Draws) -> io::Result<()> {
    let expiry_ns = draws.between(EXPIRY_NS_MIN, EXPIRY_NS_MAX);
    let it_value = Timespec { tv_sec: 0, tv_nsec: expiry_ns as _ };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}

/// Waits until some timers have expired and rearms them; returns their number.
fn serve(timers: &[OwnedFd], draws: &mut Draws) -> io::Result<u64> {
    let mut watched: Vec<PollFd> = timers.iter().map(|timer| PollFd::new(timer, PollFlags::IN)).collect();
    match poll(&mut watched, None) {
        Err(rustix::io::Errno::INTR) => return Ok(0),
        result => result?,
    };
    let mut expired = 0;
    for (timer, watched) in timers.iter().zip(&watched) {
        if watched.revents().contains(PollFlags::IN) {
            rustix::io::read(timer, &mut [0; 8])?;
            arm(timer, draws)?;
            expired += 1;
        }
    }
    Ok(expired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_repeatedly() {
        let mut draws = Draws::of_worker(0);
        let timers = timers(&mut draws).expect("timers");
        let mut expired = 0;
        while expired < 3 * TIMERS as u64 {
            expired += serve(&timers, &mut draws).expect("expiries");
        }
    }
}

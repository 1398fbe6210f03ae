//! The process that holds a real-time clock open longer than the meter: it switches the periodic interrupt off, at ordinary
//! priority, and restores the rate. [`super::rtc`] explains why the meter must not.

use crate::kernel::rtc::Rtc;
use archive::settings::Policy;
use meter::kernel::{scheduling, signals};
use rustix::fd::AsFd;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The command of the meter that [`run`] is.
pub const COMMAND: &str = "keep-rtc";
const CALLBACK_END: Duration = Duration::from_millis(20);

/// The meter's side.
#[derive(Debug)]
pub struct ClockHolder {
    /// Closed by the kernel when the meter ends.
    alive: Option<PipeWriter>,
    child: Child,
}

impl ClockHolder {
    /// Starts it, in a group of its own: what ends the meter by a signal does not end it.
    ///
    /// # Errors
    /// Errors of starting a process.
    pub fn start(rtc: &Rtc, rate_hz_before: u64) -> io::Result<Self> {
        let (watched, alive) = io::pipe()?;
        let child = Command::new("/proc/self/exe")
            .args([COMMAND, &rate_hz_before.to_string()])
            .process_group(0)
            .stdin(watched)
            .stdout(Stdio::from(rtc.device().try_clone()?))
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { alive: Some(alive), child })
    }
}

/// Whether a holder can still do its work.
#[derive(Debug, Clone, Copy)]
pub struct HolderProcess(Option<Pid>);

impl HolderProcess {
    pub fn has_ended(self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.0.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }
}

/// Waits for the time that the callback of the clock's timer needs to end once nothing runs that could preempt it.
pub fn let_callback_end() {
    std::thread::sleep(CALLBACK_END);
}

impl ClockHolder {
    pub fn process(&self) -> HolderProcess {
        HolderProcess(Pid::from_raw(self.child.id() as i32))
    }
}

impl Drop for ClockHolder {
    fn drop(&mut self) {
        // A load that was started meanwhile may hold the pipe open as well, so its end alone does not do.
        if let Some(mut alive) = self.alive.take() {
            let _ = alive.write_all(&[0]);
        }
        let _ = self.child.wait();
    }
}

/// Runs as the holder: standard input is the pipe, standard output the device.
pub fn run(arguments: &[String]) -> i32 {
    let Some(rate_hz) = arguments.first().and_then(|text| text.parse().ok()) else { return 2 };
    let _ = scheduling::set_policy(Policy::Other, 0, 1_000_000);
    let _blocked = signals::block_and_receive();
    let Ok(device) = io::stdout().as_fd().try_clone_to_owned() else { return 3 };
    let rtc = Rtc::new(File::from(device));
    let _ = io::stdin().read(&mut [0]);
    let_callback_end();
    let off = rtc.switch_off().and_then(|()| rtc.set_rate_hz(rate_hz));
    i32::from(off.is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_holder_has_ended() {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let mut holder = ClockHolder { alive: None, child };
        let process = holder.process();
        assert!(!process.has_ended());
        holder.child.kill().unwrap();
        while !process.has_ended() {
            std::thread::yield_now();
        }
        drop(holder);
        assert!(process.has_ended());
    }
}

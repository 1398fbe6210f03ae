//! The kernel's reports of buffer swaps of any cause: inotify on `tracing_max_latency`.

use super::wakeup;
use ftrace::tracefs::Instance;
use rustix::fs::inotify;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Polling interval of the capturing thread if the kernel does not report swaps.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Never reports anything on a kernel without that file.
#[derive(Debug, Default)]
pub struct SwapNotifications(Option<File>);

impl SwapNotifications {
    pub fn of(instance: &Instance) -> Self {
        let watch = || {
            let watcher: OwnedFd =
                inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
            inotify::add_watch(&watcher, instance.max_latency_path(), inotify::WatchFlags::MODIFY).ok()?;
            Some(File::from(watcher))
        };
        Self(watch())
    }

    /// Whether this kernel reports swaps.
    pub fn are_supported(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a swap was reported since the last call.
    pub fn any(&mut self) -> bool {
        let Some(changes) = &mut self.0 else { return false };
        let (mut events, mut any) = ([0; 4096], false);
        while matches!(changes.read(&mut events), Ok(count) if count > 0) {
            any = true;
        }
        any
    }

    /// Waits for a swap, at most for this time; returns whether one was reported.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        match &self.0 {
            Some(changes) => wakeup::readable(changes, timeout) && self.any(),
            None => {
                std::thread::sleep(timeout.min(LOOK_EVERY));
                false
            }
        }
    }
}

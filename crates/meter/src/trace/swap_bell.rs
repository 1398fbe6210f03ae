//! Hears of the kernel's swaps, however they came about, through inotify on `tracing_max_latency`.

use super::wakeup;
use ftrace::tracefs::Instance;
use rustix::fs::inotify;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// How often one has to look for oneself where the kernel does not tell.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Silent on a kernel without that file.
#[derive(Debug, Default)]
pub struct SwapBell(Option<File>);

impl SwapBell {
    pub fn of(instance: &Instance) -> Self {
        let watch = || {
            let watcher: OwnedFd =
                inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).ok()?;
            inotify::add_watch(&watcher, instance.max_latency_path(), inotify::WatchFlags::MODIFY).ok()?;
            Some(File::from(watcher))
        };
        Self(watch())
    }

    /// Whether this kernel tells at all.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it rang since the last time it was asked, once or more often.
    pub fn rang(&mut self) -> bool {
        let Some(changes) = &mut self.0 else { return false };
        let (mut events, mut rang) = ([0; 4096], false);
        while matches!(changes.read(&mut events), Ok(count) if count > 0) {
            rang = true;
        }
        rang
    }

    /// Waits until it rings, at most so long, or until it is time to look. Whether it rang.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        match &self.0 {
            Some(changes) => wakeup::readable(changes, timeout) && self.rang(),
            None => {
                std::thread::sleep(timeout.min(LOOK_EVERY));
                false
            }
        }
    }
}

//! Schedules the QEMU thread that runs the guest's processor.
//!
//! An idle guest sleeps a thousand times a second, and each time QEMU's main loop, which then advances the clock, is
//! woken several times. If the main loop preempts the processor thread every time, that takes twelve switches instead
//! of two, and a third of the host's time. So both have the same priority while an idle guest measures. A guest under
//! load does not sleep, and would keep the host's CPU for itself: there the processor thread stays an ordinary one, as
//! during boot and shutdown.

use super::steady::{Turn, is_permitted};
use std::fs;
use std::time::{Duration, Instant};

/// QEMU's name for it when threads are named.
const THREAD_NAME: &str = "ALL CPUs/TCG";
/// Silence after which a guest counts as ended or hung. An idle guest writes every few milliseconds of the host's time.
const PATIENCE: Duration = Duration::from_millis(200);

/// The thread, once it exists, and its scheduling.
#[derive(Debug)]
pub struct ProcessorThread {
    process: u32,
    guest_is_idle: bool,
    permitted: bool,
    turn: Turn,
    spoke_at: Option<Instant>,
}

impl ProcessorThread {
    /// For a QEMU that was just started. `guest_is_idle`: nothing except the measurement will run in it.
    pub fn of(process: u32, guest_is_idle: bool) -> Self {
        Self { process, guest_is_idle, permitted: is_permitted(), turn: Turn::Ordinary, spoke_at: None }
    }

    /// Must be called every few milliseconds, with whether the guest has written something since.
    pub fn attend(&mut self, spoke: bool) {
        if spoke {
            self.spoke_at = Some(Instant::now());
        }
        let due = self.due(self.spoke_at.map(|spoke| spoke.elapsed()));
        // If the thread does not exist yet, or no longer, the next call tries again.
        if due != self.turn && thread_of(self.process).is_some_and(|thread| due.give(thread).is_ok()) {
            self.turn = due;
        }
    }

    /// The scheduling it should have after this silence of the guest.
    fn due(&self, silence: Option<Duration>) -> Turn {
        let speaks = silence.is_some_and(|silence| silence < PATIENCE);
        match (self.permitted, self.guest_is_idle && speaks) {
            (false, _) => Turn::Last,
            (true, true) => Turn::WithMainLoop,
            (true, false) => Turn::Ordinary,
        }
    }
}

fn thread_of(process: u32) -> Option<libc::pid_t> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    threads.flatten().find_map(|thread| {
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        (name.trim_end() == THREAD_NAME).then(|| thread.file_name().to_str()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    fn of_this_process(guest_is_idle: bool, permitted: bool) -> ProcessorThread {
        ProcessorThread { permitted, ..ProcessorThread::of(std::process::id(), guest_is_idle) }
    }

    #[test]
    fn only_an_idle_guest_that_speaks_keeps_the_cpu() {
        let (now, long_ago) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        let idle = of_this_process(true, true);
        assert_eq!(
            [None, now, long_ago].map(|spoke| idle.due(spoke)),
            [Turn::Ordinary, Turn::WithMainLoop, Turn::Ordinary]
        );
        assert_eq!(of_this_process(false, true).due(now), Turn::Ordinary);
        assert_eq!(of_this_process(true, false).due(now), Turn::Last);
    }

    #[test]
    fn the_thread_is_found_by_its_name_and_put_last_where_nothing_else_is_allowed() {
        let mut attended = of_this_process(true, false);
        attended.attend(true);
        assert_eq!(attended.turn, Turn::Ordinary, "there is no such thread yet");
        let (end, over) = channel::<()>();
        let (say, hear) = channel();
        let named = thread::Builder::new().name(THREAD_NAME.into()).spawn(move || {
            say.send(()).unwrap();
            let _ = over.recv();
        });
        hear.recv().unwrap();
        attended.attend(false);
        assert_eq!(attended.turn, Turn::Last);
        let thread = thread_of(std::process::id()).unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/task/{thread}/stat", std::process::id())).unwrap();
        let policy = stat.rsplit(')').next().unwrap().split_whitespace().nth(38);
        assert_eq!(policy, Some(libc::SCHED_IDLE.to_string().as_str()), "{stat}");
        drop(end);
        named.unwrap().join().unwrap();
    }
}

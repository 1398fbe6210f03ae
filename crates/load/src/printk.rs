//! Lines for the kernel's log: the kernel hands each to the console, which on a serial line takes milliseconds.
//!
//! Which lines reach the console is the machine's setting: a run raises it, journalled, and puts it back. The load itself
//! changes nothing but the log.

use super::workers::Workers;
use archive::settings::SettingChange;
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LOG: &str = "/dev/kmsg";
/// Severity `warning`, of which the default level of consoles lets pass what is worse.
const LINE: &str = "<4>tardy-load: a line for the console of about the length that drivers write\n";
/// A console that takes lines at once must not get the whole log pushed out within a second.
const REST: Duration = Duration::from_millis(2);

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        let log = File::options().write(true).open(LOG).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("{LOG} cannot be written: {error}; run as root, or leave this load out"),
            )
        })?;
        workers.fork("load-printk", |counter| work(log, counter))?;
    }
    Ok(())
}

fn work(mut log: impl Write, counter: &AtomicU64) -> io::Error {
    loop {
        // One call, one line.
        if let Err(error) = log.write_all(LINE.as_bytes()) {
            return error;
        }
        counter.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(REST);
    }
}

/// What a run changes so that the lines reach the console: its level, and that the log takes more than a few lines a second
/// from programs. `levels` is what /proc/sys/kernel/printk says, `programs` what printk_devkmsg beside it says; old kernels have
/// none and take every line of a program's.
pub fn settings(levels: &str, programs: Option<&str>) -> Vec<SettingChange> {
    let rest = levels.split_whitespace().skip(1).collect::<Vec<_>>().join("\t");
    let change = |name: &str, value: String| SettingChange { path: format!("/proc/sys/kernel/{name}"), value };
    let level = change("printk", format!("8\t{rest}").trim_end().to_owned());
    // One that was set on the command line refuses to be written, also what it is.
    let is_limited = programs.is_some_and(|programs| programs.trim() != "on");
    let every_line = is_limited.then(|| change("printk_devkmsg", "on".into()));
    std::iter::once(level).chain(every_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_counted_until_one_is_refused() {
        let counter = AtomicU64::new(0);
        assert_eq!(work(Full(3), &counter).kind(), io::ErrorKind::StorageFull);
        assert_eq!(counter.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn only_the_console_s_level_is_raised() {
        let changes = settings("4\t4\t1\t7\n", None);
        assert_eq!(changes[0].value, "8\t4\t1\t7");
        assert_eq!(settings("", None)[0].value, "8");
    }

    #[test]
    fn every_line_is_let_in_where_the_log_does_not_do_so() {
        let paths = |programs| settings("", programs).into_iter().map(|change| change.path).collect::<Vec<_>>();
        assert_eq!(paths(Some("ratelimit\n")), ["/proc/sys/kernel/printk", "/proc/sys/kernel/printk_devkmsg"]);
        assert_eq!((paths(Some("on\n")).len(), paths(None).len()), (1, 1));
    }
}

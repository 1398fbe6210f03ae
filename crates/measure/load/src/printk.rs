//! Lines for the kernel's log: the kernel writes each to the console, which takes milliseconds on a serial line.
//!
//! Which lines reach the console is a setting of the machine: a run raises the level, journalled, and restores it. The
//! load itself only writes to the log.

use super::workers::Workers;
use archive::settings::SettingChange;
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LOG: &str = "/dev/kmsg";
/// Severity `warning`; the default console level only shows more severe lines.
const LINE: &str = "<4>tardy-load: a line for the console of about the length that drivers write\n";
/// A fast console must not cause the whole log to be overwritten within a second.
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

/// Settings that a run changes so that the lines reach the console: the console level, and the rate limit of lines from
/// programs. `levels` is the content of /proc/sys/kernel/printk, `programs` that of printk_devkmsg in the same
/// directory; old kernels do not have it and accept every line.
pub fn settings(levels: &str, programs: Option<&str>) -> Vec<SettingChange> {
    let rest = levels.split_whitespace().skip(1).collect::<Vec<_>>().join("\t");
    let change = |name: &str, value: String| SettingChange { path: format!("/proc/sys/kernel/{name}"), value };
    let level = change("printk", format!("8\t{rest}").trim_end().to_owned());
    // If it was set on the command line, it rejects all writes, even of its current value.
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

//! The trace of a spike as read by trace-cmd, a third-party program.

use std::path::Path;
use std::process::Command;

/// One line of `trace-cmd report`.
#[derive(Debug, Clone)]
pub struct Traced {
    /// Name and number of its thread.
    pub thread: String,
    pub tid: i32,
    pub cpu: u32,
    pub ns: i64,
    /// Event and fields.
    pub text: String,
}

/// All events of a trace.dat.
pub fn events(trace: &Path) -> Vec<Traced> {
    let ended = Command::new("trace-cmd").args(["report", "-t", "-i"]).arg(trace).output().expect("trace-cmd runs");
    assert!(ended.status.success(), "{}: {}", trace.display(), String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).lines().filter_map(event).collect()
}

/// `name-tid [cpu] seconds.nanoseconds: event: fields`
fn event(line: &str) -> Option<Traced> {
    let (thread, tid) = line.split_once(" [")?.0.trim().rsplit_once('-')?;
    let mut words = line.split_whitespace();
    let bracketed = |word: &str| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let cpu = words.by_ref().find_map(bracketed)?;
    let (seconds, nanoseconds) = words.next()?.strip_suffix(':')?.split_once('.')?;
    let ns = seconds.parse::<i64>().ok()? * 1_000_000_000 + nanoseconds.parse::<i64>().ok()?;
    assert_eq!(nanoseconds.len(), 9, "{line}");
    Some(Traced {
        thread: thread.to_owned(),
        tid: tid.parse().ok()?,
        cpu,
        ns,
        text: words.collect::<Vec<_>>().join(" "),
    })
}

//! Traces of tracing in an instance or the kernel that must be removed before the instance or the event.

use ftrace::tracefs::{Instance, Tracefs};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Prefix of this tool's synthetic events, followed by the process number.
pub const EVENT_PREFIX: &str = "tardy_late_";

/// A line that a file of the tracing file system rejected.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {text:?} to {path}: {source}")]
pub struct AppendError {
    text: String,
    path: PathBuf,
    source: io::Error,
}

/// Name of this process's synthetic event.
pub fn event_name() -> String {
    format!("{EVENT_PREFIX}{}", std::process::id())
}

/// Removes the event, once nothing refers to it. Returns whether it existed.
///
/// # Errors
/// The kernel rejects the removal.
pub fn forget(tracefs: &Tracefs, name: &str) -> Result<bool, AppendError> {
    let path = tracefs.root().join("synthetic_events");
    let known = |text: String| text.lines().any(|line| line.split_whitespace().next() == Some(name));
    if !fs::read_to_string(&path).is_ok_and(known) {
        return Ok(false);
    }
    let pid = name.trim_start_matches(EVENT_PREFIX);
    for instance in tracefs.instances().iter().filter(|instance| instance.starts_with(&format!("tardy-{pid}-"))) {
        if let Ok(instance) = tracefs.open_instance(instance) {
            release(&instance);
        }
    }
    append(&path, &format!("!{name}")).map(|()| true)
}

/// Removes triggers that would keep an instance busy; harmless if there are none.
pub fn release(instance: &Instance) {
    let _ = instance.set_tracing_on(false);
    take_triggers_off(instance);
}

/// The same while recording continues.
pub fn take_triggers_off(instance: &Instance) {
    // A trigger that reads a variable of another one must be removed first.
    let made_up = std::fs::read_dir(instance.path().join("events/synthetic")).into_iter().flatten().flatten();
    let made_up: Vec<String> = made_up
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(EVENT_PREFIX))
        .collect();
    let known = [("sched", "sched_switch"), ("timer", "hrtimer_start")];
    for (system, event) in made_up.iter().map(|name| ("synthetic", name.as_str())).chain(known) {
        let path = instance.path().join("events").join(system).join(event).join("trigger");
        let listed = std::fs::read_to_string(path).unwrap_or_default();
        for line in listed.lines().filter(|line| !line.starts_with('#')) {
            // The kernel lists a trigger completely, followed by its state, and needs the complete trigger to remove
            // it.
            let trigger = line.rsplit_once(" [").map_or(line, |(trigger, _state)| trigger);
            let _ = instance.remove_trigger(system, event, trigger);
        }
    }
}

pub(crate) fn append(path: &Path, text: &str) -> Result<(), AppendError> {
    let file = OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())).map_err(|source| AppendError {
        text: text.to_owned(),
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory like a tracing file system: everything written to its files stays in them.
    fn like_tracefs(events: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("synthetic_events"), events).unwrap();
        for (instance, event, trigger) in [
            ("a", "synthetic/tardy_late_4711", "hist:keys=pid:onmax($l).snapshot() [active]\n"),
            ("follow", "sched/sched_switch", "hist:keys=next_pid:trace(tardy_late_4711,next_pid,$late) [active]\n"),
            ("follow", "timer/hrtimer_start", "# Available triggers:\n# hist\n"),
        ] {
            let instance = root.path().join(format!("instances/tardy-4711-{instance}"));
            let directory = instance.join("events").join(event);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("trigger"), trigger).unwrap();
            fs::write(instance.join("tracing_on"), "1").unwrap();
            fs::write(instance.join("trace_clock"), "local [mono]\n").unwrap();
        }
        root
    }

    #[test]
    fn synthetic_events_of_a_dead_meter_are_removed_after_their_users() {
        let root = like_tracefs("other int a\ntardy_late_4711 pid_t pid; u64 late\n");
        let tracefs = Tracefs::at(root.path());
        assert!(forget(&tracefs, "tardy_late_4711").unwrap());
        let text = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert!(text("synthetic_events").ends_with("\n!tardy_late_4711\n"));
        let trigger = |event: &str| text(&format!("instances/tardy-4711-{event}/trigger"));
        assert!(trigger("a/events/synthetic/tardy_late_4711").contains("!hist:keys=pid:onmax($l).snapshot()"));
        assert!(
            trigger("follow/events/sched/sched_switch")
                .contains("!hist:keys=next_pid:trace(tardy_late_4711,next_pid,$late)")
        );
        assert!(!trigger("follow/events/timer/hrtimer_start").contains('!'));
        assert_eq!(
            (text("instances/tardy-4711-a/tracing_on"), text("instances/tardy-4711-follow/tracing_on")),
            ("0".into(), "0".into())
        );
    }

    #[test]
    fn an_event_that_is_gone_is_left_alone() {
        let root = like_tracefs("tardy_late_47110 pid_t pid; u64 late\n");
        assert!(!forget(&Tracefs::at(root.path()), "tardy_late_4711").unwrap());
        let left = fs::read_to_string(root.path().join("synthetic_events")).unwrap();
        assert_eq!(left, "tardy_late_47110 pid_t pid; u64 late\n");
    }
}

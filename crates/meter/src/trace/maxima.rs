//! Lets the kernel itself find the latest wake-up of threads that are not ours, and put the past aside at that instant.
//!
//! Three hist triggers in one instance: `hrtimer_start` keeps the instant a thread asked for, `sched_switch` computes how
//! late it is given the CPU and makes that an event of its own, and a maximum over this event swaps the buffers. The
//! event in between is needed because a thread that is preempted between setting its timer and going to sleep seems to
//! be early, which as an unsigned number would be the maximum for ever.
//!
//! What the kernel asks for: every clock is `mono`, or the first hist of an instance sets its clock to another one. One
//! snapshot an instance; a second is busy. A maximum is forgotten only with its trigger. Triggers are taken off in the
//! reverse order, each by its full text as the kernel lists it.

use super::recorder::failed;
use ftrace::tracefs::{Instance, Tracefs};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Events of this tool that the kernel makes up are called so, with the number of the process behind.
pub const EVENT_PREFIX: &str = "tardy_late_";
/// Later than this (100 s) is no wake-up but a number that went below zero.
const LATENESS_NS_MAX: u64 = 100_000_000_000;
/// A filter is a sentence of limited length.
const THREADS_MAX: usize = 60;

/// Name of the made-up event of this process.
pub fn event_name() -> String {
    format!("{EVENT_PREFIX}{}", std::process::id())
}

/// Makes the event known to the kernel. It must be in the journal already.
///
/// # Errors
/// A sentence naming what the kernel lacks.
pub fn define(tracefs_root: &Path, name: &str) -> Result<(), String> {
    write(&tracefs_root.join("synthetic_events"), &format!("{name} pid_t pid; u64 late")).map_err(|why| {
        format!(
            "{why}; the kernel needs CONFIG_SYNTH_EVENTS to find maxima of other threads, use --trace trigger or flip"
        )
    })
}

/// Forgets the event, once nothing refers to it. Answers whether it was there.
///
/// # Errors
/// A sentence.
pub fn forget(tracefs: &Tracefs, name: &str) -> Result<bool, String> {
    let path = tracefs.root().join("synthetic_events");
    let known = |text: String| text.lines().any(|line| line.split_whitespace().next() == Some(name));
    if !fs::read_to_string(&path).is_ok_and(known) {
        return Ok(false);
    }
    let pid = name.trim_start_matches(EVENT_PREFIX);
    for instance in tracefs.instances().iter().filter(|instance| instance.starts_with(&format!("tardy-{pid}-"))) {
        if let Ok(instance) = tracefs.open_instance(instance) {
            super::kernel_swap::release(&instance);
        }
    }
    write(&path, &format!("!{name}")).map(|()| true)
}

/// Whom a maximum is about.
#[derive(Debug, Clone, Default)]
pub struct Whom {
    pub tids: Vec<i32>,
    /// Filter on timers that end a sleep.
    pub timers: String,
    /// Deadlines before do not take part, in ns.
    pub from_ns: i64,
    /// Wake-ups earlier than this are no news, in ns.
    pub threshold_ns: i64,
}

/// Sets the triggers. Those of an earlier call must have been taken off.
///
/// # Errors
/// A sentence; EBUSY means that a snapshot of this instance is triggered already, or a latency tracer holds it.
pub fn watch(instance: &Instance, event: &str, whom: &Whom) -> Result<(), String> {
    if whom.tids.is_empty() || whom.tids.len() > THREADS_MAX {
        return Err(format!("the kernel can be asked about 1 to {THREADS_MAX} threads, these are {}", whom.tids.len()));
    }
    let among = |field: &str| {
        let each: Vec<String> = whom.tids.iter().map(|tid| format!("{field}=={tid}")).collect();
        format!("({})", each.join("||"))
    };
    let deadline = format!(
        "hist:keys=common_pid:due=softexpires:clock=mono if ({}) && softexpires >= {} && {}",
        whom.timers,
        whom.from_ns,
        among("common_pid")
    );
    let lateness = format!(
        "hist:keys=next_pid:late=common_timestamp-$due:onmatch(timer.hrtimer_start).trace({event},next_pid,$late):clock=mono if {}",
        among("next_pid")
    );
    let maximum = format!(
        "hist:keys=pid:l=late:onmax($l).snapshot():clock=mono if late > {} && late < {LATENESS_NS_MAX}",
        whom.threshold_ns.max(0)
    );
    for (system, name, trigger) in
        [("timer", "hrtimer_start", &deadline), ("sched", "sched_switch", &lateness), ("synthetic", event, &maximum)]
    {
        instance.add_trigger(system, name, trigger).map_err(failed)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let file = OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()))
        .map_err(|error| format!("failed to write {text:?} to {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory like a trace file system's: whatever is written to its files stays in them.
    fn like_tracefs(events: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("synthetic_events"), events).unwrap();
        let instance = root.path().join("instances/tardy-4711-a");
        for (event, trigger) in [
            ("synthetic/tardy_late_4711", "hist:keys=pid:onmax($l).snapshot() [active]\n"),
            ("sched/sched_switch", "hist:keys=next_pid:trace(tardy_late_4711,next_pid,$late) [active]\n"),
            ("timer/hrtimer_start", "# Available triggers:\n# hist\n"),
        ] {
            let directory = instance.join("events").join(event);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("trigger"), trigger).unwrap();
        }
        fs::write(instance.join("tracing_on"), "1").unwrap();
        fs::write(instance.join("trace_clock"), "local [mono]\n").unwrap();
        root
    }

    #[test]
    fn what_a_dead_meter_made_up_is_forgotten_after_what_refers_to_it() {
        let root = like_tracefs("other int a\ntardy_late_4711 pid_t pid; u64 late\n");
        let tracefs = Tracefs::at(root.path());
        assert_eq!(forget(&tracefs, "tardy_late_4711"), Ok(true));
        let text = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert!(text("synthetic_events").ends_with("\n!tardy_late_4711\n"));
        let trigger = |event: &str| text(&format!("instances/tardy-4711-a/events/{event}/trigger"));
        assert!(trigger("synthetic/tardy_late_4711").contains("!hist:keys=pid:onmax($l).snapshot()"));
        assert!(trigger("sched/sched_switch").contains("!hist:keys=next_pid:trace(tardy_late_4711,next_pid,$late)"));
        assert!(!trigger("timer/hrtimer_start").contains('!'));
        assert_eq!(text("instances/tardy-4711-a/tracing_on"), "0");
    }

    #[test]
    fn an_event_that_is_gone_is_left_alone() {
        let root = like_tracefs("tardy_late_47110 pid_t pid; u64 late\n");
        assert_eq!(forget(&Tracefs::at(root.path()), "tardy_late_4711"), Ok(false));
        let left = fs::read_to_string(root.path().join("synthetic_events")).unwrap();
        assert_eq!(left, "tardy_late_47110 pid_t pid; u64 late\n");
    }
}

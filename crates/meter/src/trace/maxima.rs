//! Lets the kernel itself find the latest wake-up of threads that are not ours, and put the past aside at that instant.
//!
//! Three hist triggers: `hrtimer_start` keeps the instant a thread asked for, `sched_switch` computes how late it is given
//! the CPU and makes that an event of its own, and a maximum over this event swaps the buffers. The event in between is
//! needed because a thread that is preempted between setting its timer and going to sleep seems to be early, which as an
//! unsigned number would be the maximum for ever.
//!
//! The first two are in the instance of the follower. Its list of threads grows with them, so nothing need be set again for a
//! new one; and a trigger that reads the clock sets it, for which the kernel clears both buffers of its instance. The
//! third is in the instance whose buffers it swaps: an event that was made up happens in all of them.
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
            release(&instance);
        }
    }
    write(&path, &format!("!{name}")).map(|()| true)
}

/// What is a maximum.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// Filter on timers that end a sleep.
    pub timers: String,
    /// Deadlines before do not take part, in ns.
    pub from_ns: i64,
    /// Wake-ups earlier than this are no news, in ns.
    pub threshold_ns: i64,
}

/// Has the threads that `follower` records compared with their deadlines, and `recorder` swap its buffers at a maximum.
///
/// # Errors
/// A sentence; EBUSY means that a snapshot of the recorder is triggered already, or a latency tracer holds it.
pub fn watch(follower: &Instance, recorder: &Instance, event: &str, lateness: &Lateness) -> Result<(), String> {
    let due = format!(
        "hist:keys=common_pid:due=softexpires:clock=mono if ({}) && softexpires >= {}",
        lateness.timers, lateness.from_ns
    );
    let late = format!(
        "hist:keys=next_pid:late=common_timestamp-$due:onmatch(timer.hrtimer_start).trace({event},next_pid,$late):clock=mono if next_pid != 0"
    );
    let maximum = format!(
        "hist:keys=pid:l=late:onmax($l).snapshot():clock=mono if late > {} && late < {LATENESS_NS_MAX}",
        lateness.threshold_ns.max(0)
    );
    follower.add_trigger("timer", "hrtimer_start", &due).map_err(failed)?;
    follower.add_trigger("sched", "sched_switch", &late).map_err(failed)?;
    recorder.add_trigger("synthetic", event, &maximum).map_err(failed)
}

/// The same for our own measuring threads, which can be told by their names: how late each gets the CPU, by the instant it
/// armed its timer for. A maximum is never forgotten, so deadlines before the first counted one must not take part.
///
/// # Errors
/// A sentence.
pub fn watch_own(instance: &Instance, count_from_ns: i64) -> Result<(), String> {
    // A thread's context also restarts the scheduler tick, whose deadline is not the thread's.
    let deadline = |function: &str| {
        format!(
            "hist:keys=common_pid:due=expires:clock=mono if {function} && comm ~ \"tardy-cpu*\" && expires >= {count_from_ns}"
        )
    };
    if instance.add_trigger("timer", "hrtimer_start", &deadline("function.function==hrtimer_wakeup")).is_err() {
        let by_address = deadline(&format!("function==0x{}", hrtimer_wakeup_address()?));
        instance.add_trigger("timer", "hrtimer_start", &by_address).map_err(failed)?;
    }
    let maximum = "hist:keys=next_pid:late=common_timestamp-$due:onmax($late).snapshot():clock=mono \
         if next_comm ~ \"tardy-cpu*\" && next_prio < 100";
    instance.add_trigger("sched", "sched_switch", maximum).map_err(failed)
}

/// Address of the timer function of a sleeping thread, for kernels whose filters know no function names.
///
/// # Errors
/// A sentence.
pub fn hrtimer_wakeup_address() -> Result<String, String> {
    let symbols =
        std::fs::read_to_string("/proc/kallsyms").map_err(|error| format!("failed to read /proc/kallsyms: {error}"))?;
    let address = symbols.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        (words.nth(1)? == "hrtimer_wakeup").then(|| address.to_owned())
    });
    match address {
        Some(address) if address.bytes().any(|digit| digit != b'0') => Ok(address),
        _ => {
            Err("failed to find hrtimer_wakeup in /proc/kallsyms; as root: echo 1 > /proc/sys/kernel/kptr_restrict"
                .into())
        }
    }
}

/// Takes the triggers off that would keep an instance busy; harmless where there are none.
pub fn release(instance: &Instance) {
    let _ = instance.set_tracing_on(false);
    take_triggers_off(instance);
}

/// The same while recording goes on.
pub fn take_triggers_off(instance: &Instance) {
    // What reads a variable of another trigger goes before it.
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
            // The kernel lists a trigger in full and its state behind it, and wants it in full to remove it.
            let trigger = line.rsplit_once(" [").map_or(line, |(trigger, _state)| trigger);
            let _ = instance.remove_trigger(system, event, trigger);
        }
    }
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
    fn what_a_dead_meter_made_up_is_forgotten_after_what_refers_to_it() {
        let root = like_tracefs("other int a\ntardy_late_4711 pid_t pid; u64 late\n");
        let tracefs = Tracefs::at(root.path());
        assert_eq!(forget(&tracefs, "tardy_late_4711"), Ok(true));
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
        assert_eq!(forget(&Tracefs::at(root.path()), "tardy_late_4711"), Ok(false));
        let left = fs::read_to_string(root.path().join("synthetic_events")).unwrap();
        assert_eq!(left, "tardy_late_47110 pid_t pid; u64 late\n");
    }
}

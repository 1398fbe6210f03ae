//! The archive's terms in words: owners, phases, confidence, states.

use crate::figures::latency;
use archive::explanation::{Confidence, ExplanationStatus, OwnerKind, PhaseName};
use archive::manifest::RunState;
use archive::message::Severity;
use archive::method::SampleWord;
use archive::settings::{Policy, SnapshotMode};
use archive::spike::SpikeReason;
use archive::summary::{CountedLimit, CpuSummary, RunSummary};
use archive::watched::{WatchedKind, WatchedSeries};

/// The subject of a line of a picture and of a row of the table: a CPU, or one kind of wake-ups of a watched thread.
pub fn series(cpu: &CpuSummary) -> String {
    match &cpu.watched {
        Some(watched) => watched_series(watched),
        None => format!("CPU {}", cpu.cpu),
    }
}

pub fn watched_series(watched: &WatchedSeries) -> String {
    format!("{}-{} {}", watched.name, watched.tid, watched_kind(watched.kind))
}

/// [`series`] by the number of its thread.
pub fn series_of_thread(summary: &RunSummary, thread: u32) -> String {
    let found = summary.cpus.iter().find(|cpu| cpu.thread == thread);
    found.map_or_else(|| format!("thread {thread}"), series)
}

/// The word for a sample of the run.
pub fn sample(summary: &RunSummary) -> SampleWord {
    let measured = summary.imported.as_ref().map(|imported| imported.measures.sample());
    let own = || summary.settings.as_ref().map(|settings| settings.method.sample());
    measured.or_else(own).unwrap_or_default()
}

/// A latency with what it makes of its sample: `1.0 ms late`, or `1.0 ms long` for a stretch of time.
pub fn by(word: SampleWord, latency: &str) -> String {
    format!("{latency} {}", word.late)
}

/// The largest latency; a source may have cut off larger ones.
pub fn maximum(summary: &RunSummary, latency_ns: i64) -> String {
    let least = summary.imported.as_ref().is_some_and(|imported| imported.maximum_truncated);
    format!("{}{}", if least { "at least " } else { "" }, latency(latency_ns))
}

/// The largest latency as a clause.
pub fn largest(word: SampleWord, latency: &str) -> String {
    if word.is_wake_up() {
        format!("the {} {} was {latency} late", word.worst, word.one)
    } else {
        format!("the {} {} took {latency}", word.worst, word.one)
    }
}

pub fn watched_kind(kind: WatchedKind) -> &'static str {
    match kind {
        WatchedKind::Timer => "timer",
        WatchedKind::Cycle => "cycle",
        WatchedKind::Woken => "woken",
    }
}

/// Every owner kind, in the order legends list them.
pub const OWNER_KINDS: [OwnerKind; 12] = [
    OwnerKind::Nmi,
    OwnerKind::Hardirq,
    OwnerKind::Softirq,
    OwnerKind::RtTask,
    OwnerKind::Task,
    OwnerKind::Own,
    OwnerKind::Tool,
    OwnerKind::Idle,
    OwnerKind::SilenceThisCpu,
    OwnerKind::SilenceAllCpus,
    OwnerKind::Steal,
    OwnerKind::Untraced,
];

/// The title of an axis of latencies.
pub fn latency_axis(summary: &RunSummary) -> &'static str {
    if summary.virtual_time { "latency in virtual time" } else { "latency" }
}

/// Every phase, in chronological order.
pub const PHASES: [PhaseName; 10] = [
    PhaseName::LateArm,
    PhaseName::TimerDelay,
    PhaseName::Handler,
    PhaseName::WakePath,
    PhaseName::SchedulingDelay,
    PhaseName::ReturnToUser,
    PhaseName::Working,
    PhaseName::Preempted,
    PhaseName::Waiting,
    PhaseName::Untraced,
];

pub fn owner_kind(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::Nmi => "NMI",
        OwnerKind::Hardirq => "interrupt",
        OwnerKind::Softirq => "softirq",
        OwnerKind::Task => "task",
        OwnerKind::RtTask => "real-time task",
        OwnerKind::Own => "measuring thread",
        OwnerKind::Tool => "other thread of this tool",
        OwnerKind::Idle => "idle",
        OwnerKind::SilenceThisCpu => "silence on this CPU",
        OwnerKind::SilenceAllCpus => "silence on all CPUs",
        OwnerKind::Steal => "steal",
        OwnerKind::Untraced => "untraced",
    }
}

/// The kind as spelt in class names and the JSON data.
pub fn owner_kind_key(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::Nmi => "nmi",
        OwnerKind::Hardirq => "hardirq",
        OwnerKind::Softirq => "softirq",
        OwnerKind::Task => "task",
        OwnerKind::RtTask => "rt_task",
        OwnerKind::Own => "own",
        OwnerKind::Tool => "tool",
        OwnerKind::Idle => "idle",
        OwnerKind::SilenceThisCpu => "silence_this_cpu",
        OwnerKind::SilenceAllCpus => "silence_all_cpus",
        OwnerKind::Steal => "steal",
        OwnerKind::Untraced => "untraced",
    }
}

/// The phase as spelt in class names and the JSON data.
pub fn phase_key(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::LateArm => "late_arm",
        PhaseName::TimerDelay => "timer_delay",
        PhaseName::Handler => "handler",
        PhaseName::WakePath => "wake_path",
        PhaseName::SchedulingDelay => "scheduling_delay",
        PhaseName::ReturnToUser => "return_to_user",
        PhaseName::Working => "working",
        PhaseName::Preempted => "preempted",
        PhaseName::Waiting => "waiting",
        PhaseName::Untraced => "untraced",
    }
}

/// Meaning of a phase, for users who see the word for the first time.
pub fn phase_meaning(phase: PhaseName, sample: SampleWord) -> &'static str {
    if !sample.is_wake_up() {
        return phase_without_timer(phase);
    }
    match phase {
        PhaseName::LateArm => "the cycle before ran over, so the timer was armed after it was due",
        PhaseName::TimerDelay => "from due until the timer interrupt began",
        PhaseName::Handler => "inside the timer interrupt, until this timer’s turn came",
        PhaseName::WakePath => "from this timer’s turn until the thread could run",
        PhaseName::SchedulingDelay => "from when the thread could run until it got the CPU",
        PhaseName::ReturnToUser => "from getting the CPU until the thread saw the clock",
        PhaseName::Working => "the watched thread had the CPU",
        PhaseName::Preempted => "the watched thread could have gone on and was not given the CPU",
        PhaseName::Waiting => "the watched thread waited in the middle of its work",
        PhaseName::Untraced => "the trace does not show where this belongs",
    }
}

/// The same for methods whose thread waits for something else than a timer of its own.
fn phase_without_timer(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::LateArm => "the thread was still busy with the sample before",
        PhaseName::TimerDelay => "from the start until the timer interrupt began",
        PhaseName::Handler => "inside the timer interrupt, until the timer’s turn came",
        PhaseName::WakePath => "until the thread could run",
        PhaseName::Working => "the measuring thread had the CPU",
        PhaseName::Preempted => "the measuring thread could have gone on and was not given the CPU",
        PhaseName::Waiting => "the measuring thread waited in the middle of its work",
        PhaseName::SchedulingDelay | PhaseName::ReturnToUser | PhaseName::Untraced => {
            phase_meaning(phase, SampleWord::default())
        }
    }
}

pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::Likely => "likely",
        Confidence::Hint => "hint",
    }
}

pub fn confidence_meaning(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "events bracket the time",
        Confidence::Likely => "a related event lies inside the window",
        Confidence::Hint => "only counters or configuration point there",
    }
}

pub fn status(status: ExplanationStatus) -> &'static str {
    match status {
        ExplanationStatus::Explained => "explained",
        ExplanationStatus::NotExplained => "not explained",
        ExplanationStatus::NoTrace => "no trace",
    }
}

pub fn reason(reason: SpikeReason) -> &'static str {
    match reason {
        SpikeReason::NewMaximum => "new maximum of its thread",
        SpikeReason::OverLimit => "over the limit, or ten times the mean where lines are counted without one",
        SpikeReason::Control => "ordinary sample, for comparison",
    }
}

/// After the limit, as in `1.00 ms held`.
pub fn counted_limit(limit: CountedLimit) -> &'static str {
    match limit {
        CountedLimit::Held => "held",
        CountedLimit::Exceeded => "exceeded",
    }
}

pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Notice => "notice",
        Severity::Degraded => "degraded",
        Severity::Invalid => "invalid",
    }
}

pub fn state(state: RunState) -> &'static str {
    match state {
        RunState::Running => "unfinished",
        RunState::Complete => "complete",
        RunState::Interrupted => "ended early",
        RunState::Failed => "failed",
    }
}

pub fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Fifo => "SCHED_FIFO",
        Policy::Rr => "SCHED_RR",
        Policy::Deadline => "SCHED_DEADLINE",
        Policy::Other => "SCHED_OTHER",
    }
}

pub fn snapshot_mode(mode: SnapshotMode) -> &'static str {
    match mode {
        SnapshotMode::Auto => "best available",
        SnapshotMode::Trigger => "kernel swap on the marker",
        SnapshotMode::Onmax => "kernel finds the maximum",
        SnapshotMode::Flip => "flip between two instances",
        SnapshotMode::Live => "read while it records",
        SnapshotMode::Off => "no tracing",
    }
}

/// The confidence of a finding, in words.
pub fn confidence_phrase(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Hint => "a hint",
        Confidence::Likely => "likely",
        Confidence::Certain => "certain",
    }
}

/// The kind of an owner, to precede its name.
pub fn owner_before_name(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::Nmi => "NMI",
        OwnerKind::Hardirq => "interrupt",
        OwnerKind::Softirq => "softirq",
        OwnerKind::Task => "task",
        OwnerKind::RtTask => "RT task",
        OwnerKind::Own => "own thread",
        OwnerKind::Tool => "tardy",
        OwnerKind::Idle => "idle",
        OwnerKind::SilenceThisCpu => "silence here:",
        OwnerKind::SilenceAllCpus => "silence everywhere:",
        OwnerKind::Steal => "steal:",
        OwnerKind::Untraced => "untraced",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_the_data_says() {
        for kind in OWNER_KINDS {
            assert_eq!(serde_json::to_value(kind).unwrap(), owner_kind_key(kind));
        }
        for phase in PHASES {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase_key(phase));
        }
    }

    #[test]
    fn a_phase_names_a_timer_only_where_the_thread_waited_for_one() {
        let hand_over = archive::method::MethodRequest::from(archive::method::Method::Mutex).sample();
        let meaning = |sample| phase_meaning(PhaseName::WakePath, sample);
        assert_eq!(meaning(SampleWord::default()), "from this timer’s turn until the thread could run");
        assert_eq!(meaning(hand_over), "until the thread could run");
    }

    /// The pictures and the tables must use the same words; the pictures' are in the user interface's source.
    #[test]
    fn the_pictures_use_the_same_words() {
        let source = include_str!("../../../../ui/src/words.ts");
        for kind in OWNER_KINDS {
            let line = format!("{}: \"{}\"", owner_kind_key(kind), owner_kind(kind));
            assert!(source.contains(&line), "ui/src/words.ts lacks `{line}`");
        }
        for phase in PHASES {
            let line = format!("{}: \"{}\"", phase_key(phase), phase.title());
            assert!(source.contains(&line), "ui/src/words.ts lacks `{line}`");
        }
    }
}

//! Why a file cannot be explained, and what a recording lacks.

use archive::problem::Problem;
use thiserror::Error;

/// A file of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Foreign {
    #[error("it is empty; the recorder may have been killed before it wrote anything")]
    Empty,
    #[error(
        "it is a CTF trace, as LTTng writes it; record with `trace-cmd record -C mono -e sched -e irq -e irq_vectors -e timer`"
    )]
    CommonTraceFormat,
    #[error("it is packed with bzip2; unpack it first: bzip2 -dk FILE")]
    Bzip2,
    #[error("it is a program")]
    Program,
    #[error(
        "it is not a known kind of recording: a trace.dat of trace-cmd, a perf.data, a Perfetto trace, or the text of events of ftrace, trace-cmd or perf script, also in gzip, zstd or xz"
    )]
    Unknown,
}

/// Why a file is not explained. The texts complete "failed to explain FILE: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("{0}")]
    Foreign(Foreign),
    #[error("its {compression} data are damaged; copy the file again")]
    Broken { compression: &'static str },
    #[error("it unpacks to more than {} MiB; record a shorter time", bytes_max >> 20)]
    TooLarge { bytes_max: u64 },
    #[error(
        "almost each of its events is alone in 130 ms or behind a loss, so it would not fit the memory; record a shorter time"
    )]
    TooSparse,
    #[error("nothing in it can be read: {0}")]
    Unreadable(String),
    #[error(
        "it holds no events; record some with `trace-cmd record -C mono -e sched -e irq -e irq_vectors -e timer`, or in a trace buffer with `trace-cmd start` and the same options"
    )]
    NoEvents,
    #[error(
        "it holds no `sched_switch`, without which nobody sees when a thread runs; record with `trace-cmd record -e sched -e irq -e irq_vectors -e timer`"
    )]
    NoSwitches,
    #[error(
        "it holds no tracepoints with their data; record with `perf record -a -k CLOCK_MONOTONIC -e 'sched:*' -e 'irq:*' -e 'timer:*'`"
    )]
    NoTracepoints,
    #[error(
        "it is a Perfetto trace without events of ftrace; record with the data source linux.ftrace and the events sched/*, irq/* and timer/*"
    )]
    NoFtraceEvents,
    #[error("its clock {clock} counts no ns; record with `trace-cmd record -C mono`")]
    ClockOfCounts { clock: String },
    #[error("it shows no wake-up of a real-time thread; name a thread with --comm or --pid{}", examples(.seen))]
    NoRealTimeThread { seen: Vec<String> },
    #[error("it shows no wake-up of the named threads; it has wake-ups of {}", .seen.join(", "))]
    NoSuchThread { seen: Vec<String> },
}

fn examples(seen: &[String]) -> String {
    if seen.is_empty() { String::new() } else { format!(", such as {}", seen.join(", ")) }
}

/// Events and facts that a recording of another tool lacks: they are unknown, not absent.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum Lack {
    #[error("threads outside of {0}")]
    #[problem(
        code = "recording.other-threads",
        meaning = "Only the wake-ups of some threads of the recording are counted.",
        fix = "name others with --comm or --pid"
    )]
    OtherThreads(String),
    #[error("the end of the last sample: the machine stopped before, so its latency is a lower bound")]
    #[problem(
        code = "recording.stopped-machine",
        meaning = "The recording is of memory that a reset of the machine kept. The last wake-up or cycle had not ended when the machine stopped.",
        fix = ""
    )]
    End,
    #[error("all but the longest stretch, which is all that {tracer} keeps")]
    #[problem(
        code = "recording.one-stretch",
        meaning = "A latency tracer of the kernel keeps the longest stretch alone: no distribution, and no other late wake-up.",
        fix = "record the events with `trace-cmd record -C mono -e sched -e irq -e irq_vectors -e timer`"
    )]
    OtherStretches { tracer: String },
    #[error("hard interrupts, so nothing is blamed on one")]
    #[problem(
        code = "recording.interrupts-not-recorded",
        meaning = "The recording has no events of interrupts; the time of an interrupt counts as the time of the thread below it.",
        fix = "record with `trace-cmd record -e irq -e irq_vectors` as well"
    )]
    Interrupts,
    #[error("softirqs, so nothing is blamed on one")]
    #[problem(
        code = "recording.softirqs-not-recorded",
        meaning = "The recording has no events of softirqs; their time counts for the thread or interrupt below.",
        fix = "record with `trace-cmd record -e irq` as well"
    )]
    Softirqs,
    #[error("timers, so lateness counts from each wake-up and not from the instant that the thread asked for")]
    #[problem(
        code = "recording.timers-not-recorded",
        meaning = "Without hrtimer_start the instant for which a thread asked is unknown: the delay of its timer is not in the figures.",
        fix = "record with `trace-cmd record -C mono -e timer` as well"
    )]
    Timers,
    #[error("how its clock {clock} relates to the timers, so lateness counts from each wake-up")]
    #[problem(
        code = "recording.clock-unrelated",
        meaning = "Timers are set in CLOCK_MONOTONIC, and nothing relates the clock of the recording to it.",
        fix = "record with `trace-cmd record -C mono`"
    )]
    ClockOffset { clock: String },
}

/// Something about a recording that the user must know before using the figures.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum RecordingProblem {
    #[error("times of the clock {clock} became CLOCK_MONOTONIC by the timers' own clock, uncertain by {:.1} µs", *.spread_ns as f64 / 1e3)]
    #[problem(
        code = "recording.clock-converted",
        meaning = "The trace was recorded with another clock than the timers use. Each expired timer shows both.",
        fix = "record with `trace-cmd record -C mono`"
    )]
    ClockConverted { clock: String, spread_ns: i64 },
    #[error("a part of the file cannot be read: {0}")]
    #[problem(
        code = "recording.damaged",
        meaning = "A part of the recording is damaged, missing or unknown; the rest is used.",
        fix = "copy the file again, or record again"
    )]
    Damaged(String),
    #[error("more would show: {0}")]
    #[problem(
        code = "recording.would-show-more",
        meaning = "The recording lacks groups of events that show causes.",
        fix = "record again with the options that the message names"
    )]
    WouldShowMore(String),
    #[error("{0} lines of known events cannot be read, and count as lost")]
    #[problem(
        code = "recording.lines-unreadable",
        meaning = "The text names events whose fields are missing or in an unknown form.",
        fix = "copy the text again without line breaks, or keep the trace itself"
    )]
    LinesUnreadable(u64),
    #[error("times are whole µs: each figure of a ledger is uncertain by 1 µs")]
    #[problem(
        code = "recording.whole-microseconds",
        meaning = "The text of a trace prints times in µs.",
        fix = "keep the trace itself: `trace-cmd extract`, or `trace-cmd report -t`"
    )]
    WholeMicroseconds,
}

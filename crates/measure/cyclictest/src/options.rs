//! The table of options, used by the parser, `--help`, the man page and the tests.

/// The meaning of an option; several spellings may share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    Affinity,
    Aligned,
    Breaktrace,
    Clock,
    Compat,
    Debug,
    DeepestIdleState,
    DefaultSystem,
    Distance,
    Duration,
    Fifo,
    Help,
    Histfile,
    Histofall,
    Histogram,
    Interval,
    Json,
    Laptop,
    Latency,
    Loops,
    MainAffinity,
    Man,
    Mlockall,
    Nsecs,
    Oscope,
    Policy,
    PosixTimers,
    Priority,
    PrioSpread,
    Quiet,
    RefreshOnMax,
    Relative,
    Resolution,
    Secaligned,
    Smi,
    Smp,
    Snapshot,
    SnapshotDir,
    Spike,
    SpikeNodes,
    System,
    Threads,
    Tracemark,
    Tracer,
    Unbuffered,
    Verbose,
    Version,
    /// A tracer with its own option, by the kernel's name.
    TracerNamed(&'static str),
    /// Has no effect because it is always the case; the text explains it.
    Needless(&'static str),
    /// No longer supported; the text names the replacement.
    Refused(&'static str),
}

/// The argument of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    Value,
    /// Attached, or in the next word if that starts like a number.
    PerhapsNumber,
    /// Attached, or in the next word if that starts like a CPU list.
    PerhapsCpus,
}

/// The origin of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Both rt-tests 2.4 and 2.10 have it.
    RtTests,
    /// rt-tests 2.10 has it, 2.4 does not.
    RtTests210,
    /// Old rt-tests had it; scripts still use it.
    Retired,
    /// Only this program has it.
    Own,
}

/// One row of the table.
#[derive(Debug)]
pub struct OptionRow {
    pub id: Id,
    pub short: Option<u8>,
    /// Empty if there is none.
    pub long: &'static str,
    pub takes: Takes,
    /// Name of the argument, for the help.
    pub argument: &'static str,
    pub origin: Origin,
    pub help: &'static str,
}

const fn row(
    id: Id,
    short: u8,
    long: &'static str,
    takes: Takes,
    argument: &'static str,
    origin: Origin,
    help: &'static str,
) -> OptionRow {
    OptionRow { id, short: if short == 0 { None } else { Some(short) }, long, takes, argument, origin, help }
}

use Origin::{Own, Retired, RtTests, RtTests210};
use Takes::{Nothing, PerhapsCpus, PerhapsNumber, Value};

const TRACED: &str = "trace with this tracer; needs --breaktrace or --snapshot";

/// Every option, in the order of the help.
#[rustfmt::skip]
pub const OPTIONS: &[OptionRow] = &[
    row(Id::Affinity, b'a', "affinity", PerhapsCpus, "CPUS", RtTests, "pin thread N to the Nth CPU, round robin; CPUS like 0-3,5 or !0 or all. Threads are not pinned without it"),
    row(Id::Aligned, b'A', "aligned", PerhapsNumber, "US", RtTests, "start all threads at one instant, each US after the one before"),
    row(Id::Breaktrace, b'b', "breaktrace", Value, "US", RtTests, "end the test at the first latency over US, keep the trace around it, exit with 1"),
    row(Id::Clock, b'c', "clock", Value, "CLOCK", RtTests, "0 or monotonic (default), 1 or realtime"),
    row(Id::DefaultSystem, 0, "default-system", Nothing, "", RtTests, "leave /dev/cpu_dma_latency alone"),
    row(Id::DeepestIdleState, 0, "deepest-idle-state", Value, "N", RtTests210, "forbid idle states deeper than N on the measured CPUs for the run, -1 all; /dev/cpu_dma_latency is left alone"),
    row(Id::Distance, b'd', "distance", Value, "US", RtTests, "add US to the interval of each further thread; default 500, 0 with a histogram"),
    row(Id::Duration, b'D', "duration", Value, "TIME", RtTests, "length of the test in seconds, or with s, m, h or d behind the number"),
    row(Id::Fifo, b'F', "fifo", Value, "PATH", RtTests, "make a named pipe; a reader gets the current state"),
    row(Id::Histogram, b'h', "histogram", Value, "US", RtTests, "print a histogram of latencies below US at the end"),
    row(Id::Histofall, b'H', "histofall", Value, "US", RtTests, "the same with a column for all threads together"),
    row(Id::Histfile, 0, "histfile", Value, "PATH", RtTests, "write the histogram there"),
    row(Id::Interval, b'i', "interval", Value, "US", RtTests, "interval of the first thread; default 1000"),
    row(Id::Json, 0, "json", Value, "PATH", RtTests, "write the result as JSON; - is standard output"),
    row(Id::Laptop, 0, "laptop", Nothing, "", RtTests, "the same as --default-system"),
    row(Id::Latency, 0, "latency", Value, "US", RtTests, "value for /dev/cpu_dma_latency; default 0"),
    row(Id::Loops, b'l', "loops", Value, "N", RtTests, "end when the first thread has made N cycles"),
    row(Id::MainAffinity, 0, "mainaffinity", Value, "CPUS", RtTests, "CPUs of the thread that prints"),
    row(Id::Mlockall, b'm', "mlockall", Nothing, "", RtTests, "lock present and future memory"),
    row(Id::RefreshOnMax, b'M', "refresh_on_max", Nothing, "", RtTests, "repaint the screen only at a new maximum"),
    row(Id::Nsecs, b'N', "nsecs", Nothing, "", RtTests, "print nanoseconds; -b, -h and --spike are in ns then"),
    row(Id::Oscope, b'o', "oscope", Value, "N", RtTests, "with -v: print the largest of every N samples"),
    row(Id::Priority, b'p', "priority", Value, "PRIO", RtTests, "priority of the first thread, 1 to 99; SCHED_FIFO unless --policy=rr"),
    row(Id::Policy, 0, "policy", Value, "NAME", RtTests, "other, normal, batch, idle, fifo or rr"),
    row(Id::PrioSpread, 0, "priospread", Nothing, "", RtTests, "each further thread has a priority one lower"),
    row(Id::Quiet, b'q', "quiet", Nothing, "", RtTests, "print the result only"),
    row(Id::Relative, b'r', "relative", Nothing, "", RtTests, "relative sleeps; no period can be missed then"),
    row(Id::Resolution, b'R', "resolution", Nothing, "", RtTests, "measure the step of the clock first"),
    row(Id::Secaligned, 0, "secaligned", PerhapsNumber, "US", RtTests, "start at the next full second, plus US"),
    row(Id::System, b's', "system", Nothing, "", RtTests, "relative sleeps of CLOCK_MONOTONIC, as nanosleep(2) makes them"),
    row(Id::Smp, b'S', "smp", Nothing, "", RtTests, "one pinned thread on each CPU, all with one priority"),
    row(Id::Spike, 0, "spike", Value, "US", RtTests, "list latencies over US with their time"),
    row(Id::SpikeNodes, 0, "spike-nodes", Value, "N", RtTests, "list at most N of them; default 1024"),
    row(Id::Smi, 0, "smi", Nothing, "", RtTests, "count system management interrupts (Intel, module msr)"),
    row(Id::Threads, b't', "threads", PerhapsNumber, "N", RtTests, "number of threads; without N one for each CPU; default 1"),
    row(Id::Tracemark, 0, "tracemark", Nothing, "", RtTests, "with -b: mark and stop the tracing that you have set up yourself"),
    row(Id::Unbuffered, b'u', "unbuffered", Nothing, "", RtTests, "every line leaves at once, which it does anyway"),
    row(Id::Verbose, b'v', "verbose", Nothing, "", RtTests, "print every sample as thread:cycle:latency"),
    row(Id::Debug, 0, "dbg_cyclictest", Nothing, "", RtTests, "print the settings read back from the kernel on standard error"),
    row(Id::PosixTimers, b'x', "posix_timers", Nothing, "", RtTests, "wait for the signal of a POSIX timer"),
    row(Id::Help, b'?', "help", Nothing, "", RtTests, "this list (-h is the histogram)"),
    row(Id::Snapshot, 0, "snapshot", PerhapsNumber, "US", Own, "keep a trace of each new maximum over US (default 0) in a numbered file while the test continues"),
    row(Id::SnapshotDir, 0, "snapshot-dir", Value, "DIR", Own, "where traces are kept; default the current directory"),
    row(Id::Compat, 0, "compat", Value, "VERSION", Own, "layout of rt-tests 2.4 or 2.10 (default)"),
    row(Id::Man, 0, "man", Nothing, "", Own, "print the manual page"),
    row(Id::Version, 0, "version", Nothing, "", Own, "print the version"),
    row(Id::Tracer, b'T', "tracer", Value, "NAME", Retired, TRACED),
    row(Id::TracerNamed("function"), b'f', "ftrace", Nothing, "", Retired, TRACED),
    row(Id::TracerNamed("wakeup"), b'w', "wakeup", Nothing, "", Retired, TRACED),
    row(Id::TracerNamed("wakeup_rt"), b'W', "wakeuprt", Nothing, "", Retired, TRACED),
    row(Id::TracerNamed("irqsoff"), b'I', "irqsoff", Nothing, "", Retired, TRACED),
    row(Id::TracerNamed("preemptoff"), b'P', "preemptoff", Nothing, "", Retired, TRACED),
    row(Id::TracerNamed("preemptirqsoff"), b'B', "preemptirqs", Nothing, "", Retired, TRACED),
    row(Id::TracerNamed("nop"), b'C', "context", Nothing, "", Retired, "trace context switches; needs --breaktrace or --snapshot, which record them anyway"),
    row(Id::TracerNamed("nop"), b'E', "event", Nothing, "", Retired, "trace events; needs --breaktrace or --snapshot, which record them anyway"),
    row(Id::Needless("-n is not needed: clock_nanosleep is the default"), b'n', "nanosleep", Nothing, "", Retired, "clock_nanosleep, the default"),
    row(Id::Needless("-U is not needed: memory is allocated on the node of its CPU anyway"), b'U', "numa", Nothing, "", Retired, "allocate on the node of the CPU, which happens anyway"),
    row(Id::Refused("write --policy=NAME"), b'y', "", Value, "NAME", Retired, "refused: --policy=NAME"),
    row(Id::Refused("write --latency=US"), b'e', "", Value, "US", Retired, "refused: --latency=US"),
    row(Id::Refused("set trace options below /sys/kernel/tracing/options"), b'O', "traceopt", Value, "OPTION", Retired, "refused: write to /sys/kernel/tracing/options"),
];

/// The row of a short option.
pub fn by_letter(letter: u8) -> Option<&'static OptionRow> {
    OPTIONS.iter().find(|row| row.short == Some(letter))
}

/// Rows that match a long name or its prefix. A complete name only matches itself; options of rt-tests precede the
/// others, so that abbreviations have the same meaning as there.
pub fn by_name(name: &str) -> Vec<&'static OptionRow> {
    let whole = OPTIONS.iter().find(|row| !row.long.is_empty() && row.long == name);
    if let Some(row) = whole {
        return vec![row];
    }
    let begins = |theirs: bool| -> Vec<&'static OptionRow> {
        let of = |row: &&OptionRow| theirs == matches!(row.origin, RtTests | RtTests210);
        OPTIONS.iter().filter(of).filter(|row| !row.long.is_empty() && row.long.starts_with(name)).collect()
    };
    let theirs = begins(true);
    if theirs.is_empty() { begins(false) } else { theirs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_stands_for_two_things() {
        for (at, row) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[at + 1..] {
                assert!(row.short.is_none() || row.short != other.short, "-{}", row.short.unwrap_or(0) as char);
                assert!(row.long.is_empty() || row.long != other.long, "--{}", row.long);
            }
            assert!(row.short.is_some() || !row.long.is_empty());
            assert_eq!(row.takes == Nothing, row.argument.is_empty(), "{}", row.long);
        }
    }

    #[test]
    fn every_letter_of_rt_tests_is_there() {
        for letter in b"aAbcdDFhHilMNopmqrRsStuvx" {
            let row = by_letter(*letter).unwrap_or_else(|| panic!("-{} is missing", *letter as char));
            assert_eq!(row.origin, RtTests);
        }
    }

    #[test]
    fn abbreviations_mean_what_they_mean_in_rt_tests() {
        assert_eq!(by_name("c")[0].id, Id::Clock);
        assert_eq!(by_name("mlock")[0].id, Id::Mlockall);
        assert_eq!(by_name("prio").len(), 2);
        assert_eq!(by_name("spike").len(), 1);
        assert_eq!(by_name("comp")[0].id, Id::Compat);
        assert!(by_name("frequency").is_empty());
    }
}

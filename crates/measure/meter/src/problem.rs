//! Why a run could not be made, and what did not go as asked.

use crate::interception::InterceptionError;
use crate::journal::restore::NoJournal;
use crate::journal::{JournalError, UndoError};
use crate::kernel_tracer::refusal::Refusal;
use crate::measure::thread::{SetUpError, policy_words};
use crate::methods::error::MethodError;
use crate::trace::error::TraceError;
use archive::message::Severity;
use archive::problem::{Code, ProblemKind};
use archive::settings::{Policy, RunSettings};
use load::LoadError;
use std::error::Error;
use std::io;
use std::path::PathBuf;

/// A problem of a run on this machine.
#[derive(Debug, thiserror::Error)]
pub enum MeterProblem {
    #[error("an interval of {interval_ns} ns cannot be measured")]
    Interval { interval_ns: u64 },
    #[error("priority {priority} does not exist")]
    Priority { priority: u8 },
    #[error("{worst_kept} worst samples of a thread are too many to keep")]
    WorstKept { worst_kept: u32 },
    #[error("CPUs {refused:?} are not there or not allowed for this process")]
    Cpus { refused: Vec<u32>, allowed: Vec<u32> },
    #[error("failed to read the allowed CPUs: {0}")]
    AllowedCpus(io::Error),
    #[error(transparent)]
    Journal(JournalError),
    #[error("the run has no journal")]
    NoJournal,
    #[error("{path} is no kernel setting")]
    NotASetting { path: String },
    #[error(transparent)]
    Setting(JournalError),
    #[error("another measurement (process {pid}) holds {path} at another value, or restores it when it ends")]
    SettingHeld { path: PathBuf, pid: i32 },
    #[error("another program set {path} to {now:?} during the run, which measures with {wanted:?}")]
    SettingChanged { path: PathBuf, now: String, wanted: String },
    #[error("failed to {}{}", .0, cause(.0))]
    Load(#[from] LoadError),
    #[error("/dev/cpu_dma_latency could not be held at {latency_us} us: {source}")]
    DmaLatency { latency_us: i32, source: io::Error },
    #[error("memory could not be locked: {0}; page faults may be part of the latencies")]
    Memory(io::Error),

    #[error("no tracing: {0}")]
    NoTracing(TraceError),
    #[error("no tracing: {0}")]
    NoTracer(TraceError),
    #[error("no audit: {0}")]
    AuditNeedsTracing(TraceError),
    #[error("the way of block requests is not recorded, so they are not divided into phases: {0}")]
    RequestsNotRecorded(TraceError),
    #[error("the file system is on no block device, so its requests are not divided into phases")]
    NoBlockDevice,
    #[error("{why}")]
    FioFailed { why: String },
    #[error("no interception: {0}")]
    NotIntercepted(#[from] InterceptionError),
    #[error("measuring without tracing, so no spike can be explained: {0}")]
    Untraced(TraceError),
    #[error("another tool is tracing: {others}")]
    OtherTracing { others: String },
    #[error("another tool is tracing: {others}; its cost is in the latencies")]
    TracedBeside { others: String },
    #[error(transparent)]
    Tracer(#[from] Refusal),
    #[error("tracing did not start: {0}")]
    NoSnapshotter(TraceError),
    #[error("no spike gets a snapshot: {0}")]
    NoSnapshots(TraceError),
    #[error("the kernel's tracers cannot be read: {0}")]
    TracersNotStarted(TraceError),
    #[error("the kernel's tracers could not be read to the end: {0}")]
    TracersUnread(TraceError),

    #[error("failed to start a thread of the measurement: {0}")]
    Thread(io::Error),
    #[error("the measuring thread of CPU {cpu} {source}")]
    SetUp { cpu: u32, source: SetUpError, policy: Policy },
    #[error(transparent)]
    Method(#[from] MethodError),
    #[error("the partner of CPU {cpu}, which gives the stimulus, could not be set up: {source}")]
    PartnerSetUp { cpu: u32, source: io::Error },
    #[error("the partner of CPU {cpu}, which gives the stimulus, died; later samples are missing")]
    PartnerDied { cpu: u32 },
    #[error(
        "the CPUs, the policy or the priority of the partner of CPU {cpu}, which gives the stimulus, changed shortly before {}",
        instant(*monotonic_ns)
    )]
    PartnerChanged { cpu: u32, monotonic_ns: i64 },
    #[error("the measuring thread of CPU {cpu} died while it was set up")]
    DiedInSetUp { cpu: u32 },
    #[error(
        "CPU {cpu} is measured as {} although {} was asked for: its latencies say nothing about a real-time task",
        policy_words(effective.0, effective.1),
        policy_words(asked.0, asked.1)
    )]
    Scheduling { cpu: u32, effective: (Policy, u8), asked: (Policy, u8) },
    #[error(
        "another program changed the scheduling of the measuring thread of CPU {cpu} shortly before {}",
        instant(*monotonic_ns)
    )]
    SchedulingChanged { cpu: u32, monotonic_ns: i64 },
    #[error(
        "the measuring thread of CPU {cpu} is no longer bound to it: since shortly before {}, it may run on CPUs {allowed:?}; latencies \
         of another CPU may be counted as its own",
        instant(*monotonic_ns)
    )]
    AffinityChanged { cpu: u32, allowed: Vec<u32>, monotonic_ns: i64 },
    #[error(
        "CPU {cpu} went offline shortly before {}: the measuring thread of CPU {cpu} may run on CPUs {allowed:?} since then; latencies \
         of another CPU may be counted as its own",
        instant(*monotonic_ns)
    )]
    WentOffline { cpu: u32, allowed: Vec<u32>, monotonic_ns: i64 },
    #[error(
        "the measuring thread of CPU {cpu} was moved {migrations} times, to another CPU and perhaps back, shortly before {}: \
         latencies of another CPU may be counted as its own",
        instant(*monotonic_ns)
    )]
    Migrated { cpu: u32, migrations: u64, monotonic_ns: i64 },
    #[error("the measuring thread of CPU {cpu} ended on CPU {now}: latencies of that CPU are counted as its own")]
    OnAnotherCpu { cpu: u32, now: u32 },
    #[error("the measuring threads of CPUs {cpus:?} never woke up again")]
    NeverWoke { cpus: Vec<u32> },
    #[error(
        "nothing could arrive on CPU {cpu} any more: its line was closed, or the device or the object of the kernel removed; \
         later samples are missing"
    )]
    StimulusGone { cpu: u32 },
    #[error("the measuring thread of CPU {cpu} died during the run")]
    MeasuringDied { cpu: u32 },
    #[error("the following thread died; later samples are missing")]
    FollowingDied,
    #[error("the capturing thread died; later spikes have no trace")]
    CapturingDied,
    #[error("the thread that reads the kernel's tracers died; what they found later is missing")]
    TracerReaderDied,

    #[error(
        "the wall clock was set by {seconds:+.3} s during the run; latencies are taken on CLOCK_MONOTONIC and stand"
    )]
    ClockStepped { seconds: f64 },
    #[error("the machine was suspended for {seconds:.3} s during the run")]
    Suspended { seconds: f64 },
    #[error("another measurement (process {pid}) runs on this machine; the two disturb each other")]
    AnotherRun { pid: i32 },
    #[error(
        "the meter of the other role (process {pid}) measures on this machine, too, on CPU {cpus}, and shares no CPU with this one"
    )]
    OtherRole { pid: i32, cpus: String },
    #[error("the meter of the other role (process {pid}) uses the same CPU {cpus}; the two disturb each other")]
    OtherRoleShares { pid: i32, cpus: String },
    #[error("another tool started to trace during the run: {others}; its cost is in the latencies from then on")]
    TracedMeanwhile { others: String },
    #[error(
        "{name} (process {pid}) counts or samples events of the processor or the kernel (perf_event_open), which costs time"
    )]
    Profiled { pid: u32, name: String },
    #[error("put back what the killed meter {pid} had changed: {}", done.join("; "))]
    Repaired { pid: i32, done: Vec<String> },
    #[error(transparent)]
    NotRepaired(UndoError),
    #[error("{path} is no journal: {why}")]
    ForeignJournal { path: PathBuf, why: NoJournal },
    #[error("not put back: {0}")]
    NotRestored(UndoError),
    #[error("a defect of the meter ended the run; the lines of the meter say where")]
    Panicked,
    #[error("restoring takes long, at this change: {what}")]
    SlowRestore { what: String },

    #[error("no thread can be called `{pattern}`: the kernel keeps 1 to 15 letters of a name")]
    NamePattern { pattern: String },
    #[error("no thread to watch was named")]
    NothingToWatch,
    #[error("there is no process {pid}")]
    NoProcess { pid: i32 },
    #[error("no thread is called {name}")]
    NoSuchThread { name: String },
    #[error("failed to start {command}: {source}")]
    Command { command: String, source: io::Error },
    #[error("process {pid} ended before it could be watched")]
    CommandGone { pid: i32 },
    #[error("process {pid} does not wait for its watch")]
    CommandNotHeld { pid: i32 },
    #[error("the command ended with {status}")]
    CommandFailed { status: std::process::ExitStatus },
    #[error("threads of another program can only be watched by tracing: {0}")]
    WatchNeedsTracing(TraceError),
    #[error("the kernel does not find maxima by itself, so spikes are copied some ms later: {0}")]
    MaximaNotFound(TraceError),
    #[error(
        "this kernel does not record when the idle task of CPU {cpus} gives way; a thread woken from idle there counts from \
         its return from the system call, some microseconds later, and its spikes have an untraced stretch"
    )]
    IdleUnrecorded { cpus: String },
    #[error(
        "this kernel has no events for page faults on this architecture: they are counted, but a single one cannot be blamed"
    )]
    NoFaultEvents,
}

problem_codes! { MeterProblem of Load, Tracer, Method:
    Interval => "meter.interval-out-of-range", "The interval is shorter or longer than the meter can measure.",
        "choose an interval from 1us to 1h";
    Priority => "meter.priority-out-of-range", "Real-time priorities are 1 to 99.", "choose 1 to 99";
    WorstKept => "meter.worst-kept-out-of-range", "The worst samples are kept in locked memory, for every thread.",
        "choose 0 to 100000; --every-sample keeps all";
    Cpus => "meter.cpus-not-allowed", "CPUs to measure are offline, or this process may not use them.",
        "choose among the CPUs that are online and allowed (taskset and cpusets limit them)";
    AllowedCpus => "meter.cpus-unknown", "The kernel did not say which CPUs the meter may use.", "";
    Journal => "meter.no-journal", "Changes to the machine are written down first, and there was no place to write.",
        "set TARDY_STATE_DIR to a directory that can be written";
    NoJournal => "meter.journal-missing", "A defect of the meter: it was about to change the machine without a journal.",
        "please report this";
    NotASetting => "meter.not-a-setting", "Only files below /proc/sys and /sys are changed.",
        "give a sysctl name or a file below /proc/sys or /sys";
    Setting => "meter.setting-refused", "A kernel setting that the run asks for could not be changed.",
        "check name and value; most settings need root";
    SettingHeld => "meter.setting-held", "Another measurement changed this setting and will restore it when it ends.",
        "wait for it to end, or stop it";
    SettingChanged => "meter.setting-changed", "Another program changed a setting of this run while it measured.",
        "find out which (tuned, power-profiles-daemon, another script) and run again";
    DmaLatency => "meter.dma-latency-refused", "The kernel did not accept the limit on wake-up latencies of idle states.",
        "run as root on a kernel with CONFIG_CPU_IDLE, or leave out --cpu-dma-latency";
    Memory => "meter.memory-not-locked", "The meter's memory is not locked, so page faults can delay its threads.",
        "run as root, `setcap cap_ipc_lock,cap_sys_nice+ep tardy-meter`, or raise `ulimit -l`";
    NoTracing => "meter.no-tracing", "The trace mode that was asked for is not available.",
        "use --trace auto to measure without it";
    NoTracer => "meter.no-tracing-for-tracer", "A kernel tracer was asked for, and the kernel cannot be traced.",
        "leave out --tracer and --stack to measure without it";
    AuditNeedsTracing => "meter.audit-needs-tracing", "An audit reads the kernel's trace, and the kernel could not be traced.", "run as root; mount -t tracefs nodev /sys/kernel/tracing";
    RequestsNotRecorded => "meter.requests-not-recorded", "The kernel could not be traced, so block requests are not divided into phases. The latencies stand.",
        "run as root; mount -t tracefs nodev /sys/kernel/tracing; or add the option phases=off to the method";
    NoBlockDevice => "meter.no-block-device", "The file to measure is not on a block device, as on tmpfs or a network, or the jobs of fio use several devices. Its requests have no phases.",
        "choose a directory on a disk with directory=, or add the option phases=off to the method";
    FioFailed => "meter.fio-failed", "fio ended with an error, so the run has no samples of its requests, or not all.",
        "run the same job with fio alone; storage/fio.json in the archive has what it reported";
    NotIntercepted => "meter.not-intercepted", "The meter could not read the memory in which the intercepted program records its calls.", "audit with --by trace";
    Untraced => "meter.untraced", "The kernel could not be traced. The figures stand; late wake-ups are not explained.",
        "give access to tracefs (run as root), or say --trace off to measure without it";
    OtherTracing => "meter.other-tracing", "Another program traces the kernel, which would be part of the latencies.",
        "stop it (trace-cmd reset, or echo 0 > tracing_on there), or say --beside-others";
    TracedBeside => "meter.traced-beside", "Another program traced the kernel during the run, as --beside-others allows.", "";
    NoSnapshotter => "meter.snapshotter-not-started", "The thread that takes snapshots of the trace could not start.",
        "use --trace off to measure without it";
    NoSnapshots => "meter.no-snapshots", "The kernel did not accept the triggers that take snapshots.",
        "use --trace flip, which needs nothing of the kernel";
    TracersNotStarted => "meter.tracers-not-started", "The thread that reads the kernel's tracers could not start.",
        "free some threads";
    TracersUnread => "meter.tracers-unread", "The kernel's tracers failed during the run; later results of them are missing.",
        "look into the kernel log";
    Thread => "meter.no-thread", "The system has no room for another thread.", "free some memory or threads";
    SetUp => "meter.thread-not-set-up", "A measuring thread could not get the CPU or the scheduling it needs.", "";
    PartnerSetUp => "meter.partner-not-set-up", "A thread that gives stimuli could not get the CPU or the scheduling it needs.",
        "free the CPU (cpusets, taskset), or choose partner=same";
    PartnerDied => "meter.partner-died", "A thread that gives stimuli ended during the run.", "please report this";
    PartnerChanged => "meter.partner-changed", "Another program changed the CPUs or the scheduling of a thread that gives stimuli.",
        "find out which (taskset, cpuset, a chrt in a script) and run again";
    DiedInSetUp => "meter.thread-died-early", "A measuring thread ended before the measurement.", "please report this";
    Scheduling => "meter.scheduling-refused", "A measuring thread runs with another policy or priority than was asked for.", "";
    SchedulingChanged => "meter.scheduling-changed", "Another program changed a measuring thread's policy or priority.",
        "find out which (rtkit, systemd, a chrt in a script) and run again";
    AffinityChanged => "meter.affinity-changed", "Another program or a cpuset changed the CPUs of a measuring thread.",
        "find out which (taskset, cpuset, irqbalance, CPU hotplug) and run again";
    WentOffline => "meter.cpu-offline", "The CPU of a measuring thread went offline, and the kernel moved the thread to another one.",
        "find out what takes it offline (power management, a hypervisor, a script), or measure other CPUs with --cpus";
    Migrated => "meter.thread-migrated", "Another program moved a measuring thread to another CPU for a while.",
        "find out which (taskset, cpuset, irqbalance, CPU hotplug) and run again";
    OnAnotherCpu => "meter.on-another-cpu", "A measuring thread did not stay on the CPU it measures.",
        "find out what moved it (taskset, cpuset, CPU hotplug) and run again";
    NeverWoke => "meter.thread-stuck", "A measuring thread did not wake long after its last instant was due.",
        "real-time throttling, a stopped process or a hung CPU: see dmesg";
    StimulusGone => "meter.stimulus-gone", "The line, the device or the kernel object that stimuli come from went away during the run.",
        "find out what closed it (a cable, the other machine, ipcrm) and run again";
    MeasuringDied => "meter.measuring-thread-died", "A measuring thread ended during the run.", "please report this";
    FollowingDied => "meter.following-thread-died", "The thread that reads the watched threads' events ended.",
        "please report this";
    CapturingDied => "meter.capturing-thread-died", "The thread that takes snapshots ended.", "please report this";
    TracerReaderDied => "meter.tracer-reader-died", "The thread that reads the kernel's tracers ended.", "please report this";
    ClockStepped => "meter.clock-stepped", "The wall clock was set during the run, which does not affect latencies.", "";
    Suspended => "meter.suspended", "The machine slept during the run; the wake-ups of that time mean nothing.",
        "inhibit suspend (systemd-inhibit) and run again";
    AnotherRun => "meter.another-run", "Another meter measures on this machine at the same time.",
        "wait for it to end, or stop it";
    OtherRole => "meter.other-role", "Both roles of a measurement are on one machine, on different CPUs.", "";
    OtherRoleShares => "meter.other-role-shares", "Both roles of a measurement are on one machine, on the same CPU.",
        "choose another CPU for the target with `--cpus`; the stimuli come from the last one";
    TracedMeanwhile => "meter.traced-meanwhile", "Another program started to trace the kernel while the run measured.",
        "stop it (trace-cmd reset, or echo 0 > tracing_on there) and measure again";
    Profiled => "meter.profiled", "A program holds events of perf_event_open, as perf and many monitors do.",
        "stop it and measure again, unless it belongs to the system under test";
    Repaired => "meter.repaired", "An earlier meter was killed; its changes to the machine were undone.", "";
    NotRepaired => "meter.not-repaired", "A change that a killed meter left could not be undone.",
        "run `tardy restore` and follow what it says";
    ForeignJournal => "meter.foreign-journal", "A file in the journal directory is not a journal of this version.", "remove it";
    Panicked => "meter.defect", "The meter panicked. It restored the machine; the figures of the run are not complete.",
        "please report the line that the meter printed";
    SlowRestore => "meter.slow-restore", "The kernel takes seconds to undo one change of this run. The meter gives it up after 30 s.", "";
    NotRestored => "meter.not-restored", "A change of this run could not be undone.", "run `tardy restore` on this machine";
    NamePattern => "meter.name-pattern", "The pattern can match no thread name.", "check --comm";
    NothingToWatch => "meter.nothing-to-watch", "A watch needs a process, a name or a command.",
        "give --pid, --comm, or a command";
    NoProcess => "meter.no-process", "The process to watch does not exist.",
        "give the number of a running process; ps -e lists them";
    NoSuchThread => "meter.no-such-thread", "No thread has the name to watch.",
        "ps -eLo pid,tid,comm lists the names of all threads; start the program first, or let tardy start it";
    Command => "meter.command-not-started", "The command to watch could not be started.", "";
    CommandGone => "meter.command-gone", "The command to watch ended at once.", "run the command by itself to see why";
    CommandNotHeld => "meter.command-not-held", "The command to watch did not stop before its start.",
        "run the command by itself to see why";
    CommandFailed => "meter.command-failed", "The watched command ended with an error.", "";
    WatchNeedsTracing => "meter.watch-needs-tracing", "Threads of another program are measured by tracing the kernel.",
        "run as root on a kernel with CONFIG_FTRACE and CONFIG_EVENT_TRACING";
    MaximaNotFound => "meter.maxima-not-found", "The kernel did not accept the triggers that find late wake-ups.",
        "--trace trigger says so beforehand";
    IdleUnrecorded => "meter.idle-unrecorded", "The trace lacks switches from the idle task of some CPUs.",
        "reboot the machine if it was restored from a snapshot of its memory";
    NoFaultEvents => "meter.no-fault-events", "This kernel has no trace events for page faults.", "";
}

impl ProblemKind for MeterProblem {
    fn code(&self) -> Code {
        self.code_of_variant()
    }

    fn fix(&self) -> String {
        match self {
            Self::Cpus { allowed, .. } => {
                format!("choose among {allowed:?} (offline CPUs, taskset and cpusets limit them)")
            }
            Self::SetUp { policy, .. } | Self::Scheduling { asked: (policy, _), .. } => {
                fix_of_policy(*policy).to_owned()
            }
            other => other.fix_of_variant(),
        }
    }
}

fn fix_of_policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Other => "",
        Policy::Deadline => "run as root; the kernel admits deadline tasks only with room in sched_rt_runtime_us",
        Policy::Fifo | Policy::Rr => {
            "run as root, or `setcap cap_sys_nice,cap_ipc_lock+ep tardy-meter`, or raise `ulimit -r`; \
             in a container add --cap-add SYS_NICE"
        }
    }
}

/// An instant of CLOCK_MONOTONIC, as the kernel log has it.
fn instant(monotonic_ns: i64) -> String {
    format!("{:.3} s of the machine's clock", monotonic_ns as f64 / 1e9)
}

fn cause(error: &LoadError) -> String {
    error.source().map(|source| format!(": {source}")).unwrap_or_default()
}

/// How bad it is when the kernel refused something that was asked for.
pub fn severity_of_refusal(settings: &RunSettings) -> Severity {
    if settings.degrade { Severity::Degraded } else { Severity::Invalid }
}

/// A refusal of the kernel ends the run before it measures anything, unless it may be degraded: then it is noted.
///
/// # Errors
/// The problem, unless the run may be degraded.
pub fn refused<W: std::io::Write>(
    settings: &RunSettings,
    problem: MeterProblem,
    link: &mut crate::link::Link<W>,
) -> Result<(), MeterProblem> {
    if !settings.degrade {
        return Err(problem);
    }
    link.problem(Severity::Degraded, &problem);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_tracer_keeps_its_own_code_and_fix() {
        let problem = MeterProblem::from(Refusal::FunctionsOff);
        assert_eq!(problem.code(), "meter.function-tracing-off");
        assert!(problem.fix().contains("ftrace_enabled"));
    }

    #[test]
    fn the_fix_of_refused_scheduling_depends_on_the_policy() {
        let refused = |asked| MeterProblem::Scheduling { cpu: 0, effective: (Policy::Other, 0), asked };
        assert!(refused((Policy::Fifo, 80)).fix().contains("ulimit -r"));
        assert!(refused((Policy::Deadline, 0)).fix().contains("sched_rt_runtime_us"));
        assert!(refused((Policy::Fifo, 80)).to_string().contains("SCHED_FIFO priority 80 was asked for"));
    }
}

//! Why a run could not be made, and what did not go as asked.

use crate::interception::InterceptionError;
use crate::journal::restore::NoJournal;
use crate::journal::{JournalError, UndoError};
use crate::kernel_tracer::refusal::Refusal;
use crate::measure::thread::{SetUpError, policy_words};
use crate::methods::error::MethodError;
use crate::trace::error::TraceError;
use archive::message::Severity;
use archive::problem::Problem;
use archive::settings::{Policy, RunSettings};
use archive::watched::guard::EventKind;
use load::LoadError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;
use wakeups::pattern::UnfitPattern;

/// A problem of a run on this machine.
#[derive(Debug, Error, Problem)]
pub enum MeterProblem {
    #[error("an interval of {interval_ns} ns cannot be measured")]
    #[problem(
        code = "meter.interval-out-of-range",
        meaning = "The interval is shorter or longer than the meter can measure.",
        fix = "choose an interval from 1us to 1h"
    )]
    Interval { interval_ns: u64 },
    #[error("{}", shed_words(kinds))]
    #[problem(
        code = "meter.events-shed",
        meaning = "A guard cost more than its budget and stopped recording kinds of events, or records them again. Accounts of late \
                   wake-ups in between cannot name a cause that only these events show.",
        fix = "raise `budget_percent` in the configuration of the guard to record them under the same load"
    )]
    EventsShed { kinds: Vec<EventKind> },
    #[error(
        "the trace instance {name} in kept memory is used by another program; a reset of the machine will not be explained"
    )]
    #[problem(
        code = "meter.kept-instance-used",
        meaning = "A guard records into an instance that outlives a reset of the machine. Another guard has it, another program switched it \
                   on, or the instance of this name is an ordinary one.",
        fix = "name another instance with `kept_instance` in the configuration of the guard, and make it at boot: \
               `reserve_mem=20M:4096:tardy trace_instance=NAME^traceoff@tardy`"
    )]
    KeptInstanceUsed { name: String },
    #[error(
        "the trace instance {name} in kept memory cannot be used: {source}; a reset of the machine will not be explained"
    )]
    #[problem(
        code = "meter.kept-instance-failed",
        meaning = "A guard records into an instance that outlives a reset of the machine, and the kernel refused a setting of it.",
        fix = "boot without `trace_instance`, or leave `kept_instance` in the configuration of the guard empty"
    )]
    KeptInstanceFailed { name: String, source: TraceError },
    #[error("no watched thread woke in the last {seconds} s, so there is nothing to save")]
    #[problem(
        code = "meter.nothing-to-save",
        meaning = "A watch was asked to keep the last seconds, in which no watched thread woke.",
        fix = ""
    )]
    NothingToSave { seconds: u64 },
    #[error("priority {priority} does not exist")]
    #[problem(
        code = "meter.priority-out-of-range",
        meaning = "Real-time priorities are 1 to 99.",
        fix = "choose 1 to 99"
    )]
    Priority { priority: u8 },
    #[error("{worst_kept} worst samples of a thread are too many to keep")]
    #[problem(
        code = "meter.worst-kept-out-of-range",
        meaning = "The worst samples are kept in locked memory, for every thread.",
        fix = "choose 0 to 100000; --every-sample keeps all"
    )]
    WorstKept { worst_kept: u32 },
    #[error("CPUs {refused:?} do not exist or are not allowed for this process")]
    #[problem(
        code = "meter.cpus-not-allowed",
        meaning = "CPUs to measure are offline, or this process may not use them.",
        fix = "choose among {allowed:?} (a cpuset or an offline CPU limits them)",
        documented_fix = "choose among the CPUs that are online and in the cpuset of the meter"
    )]
    Cpus { refused: Vec<u32>, allowed: Vec<u32> },
    #[error("this run does not measure isolated CPUs: {cpus}")]
    #[problem(
        code = "meter.isolated-not-measured",
        meaning = "The kernel keeps isolated CPUs from every process that does not name them, so a run without `--cpus` measures the others.",
        fix = "measure them: `--cpus {cpus}`",
        documented_fix = "measure them: `--cpus` with their numbers"
    )]
    IsolatedUnmeasured { cpus: String },
    #[error("failed to read the allowed CPUs: {0}")]
    #[problem(code = "meter.cpus-unknown", meaning = "The kernel did not say which CPUs the meter may use.", fix = "")]
    AllowedCpus(io::Error),
    #[error(transparent)]
    #[problem(
        code = "meter.no-journal",
        meaning = "Changes to the machine are written down first, and there was no place to write.",
        fix = "set TARDY_STATE_DIR to a directory that can be written"
    )]
    Journal(JournalError),
    #[error("the run has no journal")]
    #[problem(
        code = "meter.journal-missing",
        meaning = "A defect of the meter: it was about to change the machine without a journal.",
        fix = "please report this"
    )]
    NoJournal,
    #[error("{path} is not a kernel setting")]
    #[problem(
        code = "meter.not-a-setting",
        meaning = "Only files below /proc/sys, /proc/irq and /sys are changed.",
        fix = "give a sysctl name or a file below /proc/sys, /proc/irq or /sys"
    )]
    NotASetting { path: String },
    #[error(transparent)]
    #[problem(
        code = "meter.setting-refused",
        meaning = "A kernel setting that the run asks for could not be changed.",
        fix = "check name and value; a setting acts on every user, so only root may change one (`sudo tardy run`)"
    )]
    Setting(JournalError),
    #[error("another measurement (process {pid}) holds {path} at another value, or restores it when it ends")]
    #[problem(
        code = "meter.setting-held",
        meaning = "Another measurement changed this setting and will restore it when it ends.",
        fix = "wait for it to end, or stop it"
    )]
    SettingHeld { path: PathBuf, pid: i32 },
    #[error("another program set {path} to {now:?} during the run, which measures with {wanted:?}")]
    #[problem(
        code = "meter.setting-changed",
        meaning = "Another program changed a setting of this run while it measured.",
        fix = "find out which (tuned, power-profiles-daemon, another script) and run again"
    )]
    SettingChanged { path: PathBuf, now: String, wanted: String },
    #[error("failed to {}{}", .0, cause(.0))]
    #[problem(transparent)]
    Load(#[from] LoadError),
    #[error("/dev/cpu_dma_latency could not be held at {latency_us} us: {source}")]
    #[problem(
        code = "meter.dma-latency-refused",
        meaning = "The kernel did not accept the limit on wake-up latencies of idle states.",
        fix = "`sudo tardy setup --apply`, or run as root, on a kernel with CONFIG_CPU_IDLE; or leave out --cpu-dma-latency"
    )]
    DmaLatency { latency_us: i32, source: io::Error },
    #[error("memory could not be locked: {0}; page faults may be part of the latencies")]
    #[problem(
        code = "meter.memory-not-locked",
        meaning = "The meter's memory is not locked, so page faults can delay its threads.",
        fix = "`sudo tardy setup --apply`, run as root, or raise `ulimit -l`"
    )]
    Memory(io::Error),

    #[error("no tracing: {0}")]
    #[problem(
        code = "meter.no-tracing",
        meaning = "The trace mode that was asked for is not available.",
        fix = "use --trace auto to measure without it"
    )]
    NoTracing(TraceError),
    #[error("no tracing: {0}")]
    #[problem(
        code = "meter.no-tracing-for-tracer",
        meaning = "A kernel tracer was asked for, and the kernel cannot be traced.",
        fix = "leave out --tracer and --stack to measure without it"
    )]
    NoTracer(TraceError),
    #[error("no audit: {0}")]
    #[problem(
        code = "meter.audit-needs-tracing",
        meaning = "An audit reads the kernel's trace, and the kernel could not be traced.",
        fix = ""
    )]
    AuditNeedsTracing(TraceError),
    #[error("the way of block requests is not recorded, so they are not divided into phases: {0}")]
    #[problem(
        code = "meter.requests-not-recorded",
        meaning = "The kernel could not be traced, so block requests are not divided into phases. The latencies stand.",
        fix = "run as root; mount -t tracefs nodev /sys/kernel/tracing; or add the option phases=off to the method"
    )]
    RequestsNotRecorded(TraceError),
    #[error("the file system is on no block device, so its requests are not divided into phases")]
    #[problem(
        code = "meter.no-block-device",
        meaning = "The file to measure is not on a block device, as on tmpfs or a network, or the jobs of fio use \
                   several devices. Its requests have no phases.",
        fix = "choose a directory on a disk with directory=, or add the option phases=off to the method"
    )]
    NoBlockDevice,
    #[error("no interception: {0}")]
    #[problem(
        code = "meter.not-intercepted",
        meaning = "The meter could not read the memory in which the intercepted program records its calls.",
        fix = "audit with --by trace"
    )]
    NotIntercepted(#[from] InterceptionError),
    #[error("measuring without tracing, so no spike can be explained: {0}")]
    #[problem(
        code = "meter.untraced",
        meaning = "The kernel could not be traced. The figures stand; late wake-ups are not explained.",
        fix = "--trace off measures without it",
        documented_fix = "`sudo tardy setup --apply`, or run as root; or pass --trace off to measure without it"
    )]
    Untraced(TraceError),
    #[error("another tool is tracing: {others}")]
    #[problem(
        code = "meter.other-tracing",
        meaning = "Another program traces the kernel, which would be part of the latencies.",
        fix = "stop it (trace-cmd reset, or echo 0 > tracing_on there), or pass --beside-others"
    )]
    OtherTracing { others: String },
    #[error("another tool is tracing: {others}; its cost is in the latencies")]
    #[problem(
        code = "meter.traced-beside",
        meaning = "Another program traced the kernel during the run, as --beside-others allows.",
        fix = ""
    )]
    TracedBeside { others: String },
    #[error("the trace buffers have {given_kb} kB per CPU, not {asked_kb}")]
    #[problem(
        code = "meter.trace-buffers-limited",
        meaning = "A trace buffer has at least 64 kB; two for each CPU have at most an eighth of the memory together.",
        fix = "choose another --buffer-kb"
    )]
    BuffersLimited { asked_kb: u32, given_kb: u32 },
    #[error(transparent)]
    #[problem(transparent)]
    Tracer(#[from] Refusal),
    #[error("tracing did not start: {0}")]
    #[problem(
        code = "meter.snapshotter-not-started",
        meaning = "The thread that takes snapshots of the trace could not start.",
        fix = "use --trace off to measure without it"
    )]
    NoSnapshotter(TraceError),
    #[error("no spike gets a snapshot: {0}")]
    #[problem(
        code = "meter.no-snapshots",
        meaning = "The kernel did not accept the triggers that take snapshots.",
        fix = "use --trace flip, which needs no triggers"
    )]
    NoSnapshots(TraceError),
    #[error("the kernel's tracers cannot be read: {0}")]
    #[problem(
        code = "meter.tracers-not-started",
        meaning = "The thread that reads the kernel's tracers could not start.",
        fix = "free some threads"
    )]
    TracersNotStarted(TraceError),
    #[error("the kernel's tracers could not be read to the end: {0}")]
    #[problem(
        code = "meter.tracers-unread",
        meaning = "The kernel's tracers failed during the run; later results of them are missing.",
        fix = "look into the kernel log"
    )]
    TracersUnread(TraceError),

    #[error("failed to start a thread of the measurement: {0}")]
    #[problem(
        code = "meter.no-thread",
        meaning = "The system has no room for another thread.",
        fix = "free some memory or threads"
    )]
    Thread(io::Error),
    #[error("the measuring thread of CPU {cpu} {source}")]
    #[problem(
        code = "meter.thread-not-set-up",
        meaning = "A measuring thread could not get the CPU or the scheduling it needs.",
        fix_with = fix_of_policy(*policy),
        documented_fix = ""
    )]
    SetUp { cpu: u32, source: SetUpError, policy: Policy },
    #[error(transparent)]
    #[problem(transparent)]
    Method(#[from] MethodError),
    #[error("the partner of CPU {cpu}, which gives the stimulus, could not be set up: {source}")]
    #[problem(
        code = "meter.partner-not-set-up",
        meaning = "A thread that gives stimuli could not get the CPU or the scheduling it needs.",
        fix = "free the CPU (cpusets, taskset), or choose partner=same"
    )]
    PartnerSetUp { cpu: u32, source: io::Error },
    #[error("the partner of CPU {cpu}, which gives the stimulus, died; later samples are missing")]
    #[problem(
        code = "meter.partner-died",
        meaning = "A thread that gives stimuli ended during the run.",
        fix = "please report this"
    )]
    PartnerDied { cpu: u32 },
    #[error(
        "the CPUs, the policy or the priority of the partner of CPU {cpu}, which gives the stimulus, changed shortly before {}",
        instant(*monotonic_ns)
    )]
    #[problem(
        code = "meter.partner-changed",
        meaning = "Another program changed the CPUs or the scheduling of a thread that gives stimuli.",
        fix = "find out which (taskset, cpuset, a chrt in a script) and run again"
    )]
    PartnerChanged { cpu: u32, monotonic_ns: i64 },
    #[error("the measuring thread of CPU {cpu} died while it was set up")]
    #[problem(
        code = "meter.thread-died-early",
        meaning = "A measuring thread ended before the measurement.",
        fix = "please report this"
    )]
    DiedInSetUp { cpu: u32 },
    #[error(
        "CPU {cpu} is measured as {} although {} was asked for: its latencies say nothing about a real-time task",
        policy_words(effective.0, effective.1),
        policy_words(asked.0, asked.1)
    )]
    #[problem(
        code = "meter.scheduling-refused",
        meaning = "A measuring thread runs with another policy or priority than was asked for.",
        fix_with = fix_of_policy(asked.0),
        documented_fix = ""
    )]
    Scheduling { cpu: u32, effective: (Policy, u8), asked: (Policy, u8) },
    #[error(
        "another program changed the scheduling of the measuring thread of CPU {cpu} shortly before {}",
        instant(*monotonic_ns)
    )]
    #[problem(
        code = "meter.scheduling-changed",
        meaning = "Another program changed a measuring thread's policy or priority.",
        fix = "find out which (rtkit, systemd, a chrt in a script) and run again"
    )]
    SchedulingChanged { cpu: u32, monotonic_ns: i64 },
    #[error(
        "the measuring thread of CPU {cpu} is no longer bound to it: since shortly before {}, it may run on CPUs {allowed:?}; latencies \
         of another CPU may be counted as its own",
        instant(*monotonic_ns)
    )]
    #[problem(
        code = "meter.affinity-changed",
        meaning = "Another program or a cpuset changed the CPUs of a measuring thread.",
        fix = "find out which (taskset, cpuset, irqbalance, CPU hotplug) and run again"
    )]
    AffinityChanged { cpu: u32, allowed: Vec<u32>, monotonic_ns: i64 },
    #[error(
        "CPU {cpu} went offline shortly before {}: the measuring thread of CPU {cpu} may run on CPUs {allowed:?} since then; latencies \
         of another CPU may be counted as its own",
        instant(*monotonic_ns)
    )]
    #[problem(
        code = "meter.cpu-offline",
        meaning = "The CPU of a measuring thread went offline, and the kernel moved the thread to another one.",
        fix = "find out what takes it offline (power management, a hypervisor, a script), or measure other CPUs with \
               --cpus"
    )]
    WentOffline { cpu: u32, allowed: Vec<u32>, monotonic_ns: i64 },
    #[error(
        "the measuring thread of CPU {cpu} was moved {migrations} times, to another CPU and perhaps back, shortly before {}: \
         latencies of another CPU may be counted as its own",
        instant(*monotonic_ns)
    )]
    #[problem(
        code = "meter.thread-migrated",
        meaning = "Another program moved a measuring thread to another CPU for a while.",
        fix = "find out which (taskset, cpuset, irqbalance, CPU hotplug) and run again"
    )]
    Migrated { cpu: u32, migrations: u64, monotonic_ns: i64 },
    #[error("the measuring thread of CPU {cpu} ended on CPU {now}: latencies of that CPU are counted as its own")]
    #[problem(
        code = "meter.on-another-cpu",
        meaning = "A measuring thread did not stay on the CPU it measures.",
        fix = "find out what moved it (taskset, cpuset, CPU hotplug) and run again"
    )]
    OnAnotherCpu { cpu: u32, now: u32 },
    #[error("the measuring threads of CPUs {cpus:?} never woke up again")]
    #[problem(
        code = "meter.thread-stuck",
        meaning = "A measuring thread did not wake long after its last instant was due.",
        fix = "real-time throttling, a stopped process or a hung CPU: see dmesg"
    )]
    NeverWoke { cpus: Vec<u32> },
    #[error(
        "nothing could arrive on CPU {cpu} any more: its line was closed, or the device or the object of the kernel removed; \
         later samples are missing"
    )]
    #[problem(
        code = "meter.stimulus-gone",
        meaning = "The line, the device or the kernel object that stimuli come from went away during the run.",
        fix = "find out what closed it (a cable, the other machine, ipcrm) and run again"
    )]
    StimulusGone { cpu: u32 },
    #[error("the measuring thread of CPU {cpu} died during the run")]
    #[problem(
        code = "meter.measuring-thread-died",
        meaning = "A measuring thread ended during the run.",
        fix = "please report this"
    )]
    MeasuringDied { cpu: u32 },
    #[error("the following thread died; later samples are missing")]
    #[problem(
        code = "meter.following-thread-died",
        meaning = "The thread that reads the watched threads' events ended.",
        fix = "please report this"
    )]
    FollowingDied,
    #[error("the capturing thread died; later spikes have no trace")]
    #[problem(
        code = "meter.capturing-thread-died",
        meaning = "The thread that takes snapshots ended.",
        fix = "please report this"
    )]
    CapturingDied,
    #[error("the thread that reads the kernel's tracers died; their later findings are missing")]
    #[problem(
        code = "meter.tracer-reader-died",
        meaning = "The thread that reads the kernel's tracers ended.",
        fix = "please report this"
    )]
    TracerReaderDied,

    #[error(
        "the wall clock was set by {seconds:+.3} s during the run; latencies are taken on CLOCK_MONOTONIC and stand"
    )]
    #[problem(
        code = "meter.clock-stepped",
        meaning = "The wall clock was set during the run, which does not affect latencies.",
        fix = ""
    )]
    ClockStepped { seconds: f64 },
    #[error("the machine was suspended for {seconds:.3} s during the run")]
    #[problem(
        code = "meter.suspended",
        meaning = "The machine slept during the run; the wake-ups of that time mean nothing.",
        fix = "inhibit suspend (systemd-inhibit) and run again"
    )]
    Suspended { seconds: f64 },
    #[error("another measurement (process {pid}) runs on this machine; the two disturb each other")]
    #[problem(
        code = "meter.another-run",
        meaning = "Another meter measures on this machine at the same time.",
        fix = "wait for it to end, or stop it"
    )]
    AnotherRun { pid: i32 },
    #[error(
        "the meter of the other role (process {pid}) measures on this machine, too, on CPU {cpus}, and shares no CPU with this one"
    )]
    #[problem(
        code = "meter.other-role",
        meaning = "Both roles of a measurement are on one machine, on different CPUs.",
        fix = ""
    )]
    OtherRole { pid: i32, cpus: String },
    #[error("the meter of the other role (process {pid}) uses the same CPU {cpus}; the two disturb each other")]
    #[problem(
        code = "meter.other-role-shares",
        meaning = "Both roles of a measurement are on one machine, on the same CPU.",
        fix = "choose another CPU for the target with `--cpus`; the stimuli come from the last one"
    )]
    OtherRoleShares { pid: i32, cpus: String },
    #[error("another tool started to trace during the run: {others}; its cost is in the latencies from then on")]
    #[problem(
        code = "meter.traced-meanwhile",
        meaning = "Another program started to trace the kernel while the run measured.",
        fix = "stop it (trace-cmd reset, or echo 0 > tracing_on there) and measure again"
    )]
    TracedMeanwhile { others: String },
    #[error(
        "{name} (process {pid}) counts or samples events of the processor or the kernel (perf_event_open), which costs time"
    )]
    #[problem(
        code = "meter.profiled",
        meaning = "A program holds events of perf_event_open, as perf and many monitors do.",
        fix = "stop it and measure again, unless it belongs to the system under test"
    )]
    Profiled { pid: u32, name: String },
    #[error("put back what the killed meter {pid} had changed: {}", done.join("; "))]
    #[problem(
        code = "meter.repaired",
        meaning = "An earlier meter was killed; its changes to the machine were undone.",
        fix = ""
    )]
    Repaired { pid: i32, done: Vec<String> },
    #[error(transparent)]
    #[problem(
        code = "meter.not-repaired",
        meaning = "A change that a killed meter left could not be undone.",
        fix = "run `tardy target restore` and follow what it says"
    )]
    NotRepaired(UndoError),
    #[error("{path} is not a journal: {why}")]
    #[problem(
        code = "meter.foreign-journal",
        meaning = "A file in the journal directory is not a journal of this version.",
        fix = "remove it"
    )]
    ForeignJournal { path: PathBuf, why: NoJournal },
    #[error("not put back: {0}")]
    #[problem(
        code = "meter.not-restored",
        meaning = "A change of this run could not be undone.",
        fix = "run `tardy target restore` on this machine"
    )]
    NotRestored(UndoError),
    #[error("a defect of the meter ended the run; the lines of the meter say where")]
    #[problem(
        code = "meter.defect",
        meaning = "The meter panicked. It restored the machine; the figures of the run are not complete.",
        fix = "please report the line that the meter printed"
    )]
    Panicked,
    #[error("restoring takes long, at this change: {what}")]
    #[problem(
        code = "meter.slow-restore",
        meaning = "The kernel takes seconds to undo one change of this run. The meter gives it up after 30 s.",
        fix = ""
    )]
    SlowRestore { what: String },

    #[error("{0}")]
    #[problem(code = "meter.name-pattern", meaning = "The pattern can match no thread name.", fix = "check --comm")]
    NamePattern(#[from] UnfitPattern),
    #[error("no thread to watch was named")]
    #[problem(
        code = "meter.nothing-to-watch",
        meaning = "A watch needs a process, a name, a control group or a command.",
        fix = "give --pid, --comm, --unit, --cgroup, --container, or a command"
    )]
    NothingToWatch,
    #[error("there is no process {pid}")]
    #[problem(
        code = "meter.no-process",
        meaning = "The process to watch does not exist.",
        fix = "give the number of a running process; ps -e lists them"
    )]
    NoProcess { pid: i32 },
    #[error("no thread is called {name}")]
    #[problem(
        code = "meter.no-such-thread",
        meaning = "No thread has the name to watch.",
        fix = "ps -eLo pid,tid,comm lists the names of all threads; start the program first, or let tardy start it"
    )]
    NoSuchThread { name: String },
    #[error("no process runs in the {group}")]
    #[problem(
        code = "meter.no-process-in-group",
        meaning = "The unit, control group or container to watch has no process.",
        fix = "start it first; systemd-cgls lists units, control groups and the ids of containers with their processes"
    )]
    NoProcessInGroup { group: String },
    #[error(
        "{whom} restarted {count} times; the watch continued with each new process, from at most 0.2 s after its start"
    )]
    #[problem(
        code = "meter.program-restarted",
        meaning = "The watched program ended and was started again while it was watched.",
        fix = ""
    )]
    ProgramRestarted { whom: String, count: u64 },
    #[error("{whom} had ended before the watch did")]
    #[problem(
        code = "meter.program-ended",
        meaning = "The watched program ended, and was not started again until the end of the watch.",
        fix = ""
    )]
    ProgramEnded { whom: String },
    #[error("failed to read the log {log}: {source}")]
    #[problem(
        code = "meter.log-not-read",
        meaning = "The log whose lines are to be counted cannot be read on the watched machine.",
        fix = "check --log: the file must exist there; for --journal, journalctl must be installed there"
    )]
    LogNotRead { log: String, source: io::Error },
    #[error("the log {log} could not be read to the end: {source}; later lines are not counted")]
    #[problem(
        code = "meter.log-lost",
        meaning = "The log whose lines are counted could not be read any more during the watch.",
        fix = "check that the file stays readable; for --journal, journalctl -f shows its error"
    )]
    LogLost { log: String, source: io::Error },
    #[error("failed to start {command}: {source}")]
    #[problem(code = "meter.command-not-started", meaning = "The command to watch could not be started.", fix = "")]
    Command { command: String, source: io::Error },
    #[error("process {pid} ended before it could be watched")]
    #[problem(
        code = "meter.command-gone",
        meaning = "The command to watch ended at once.",
        fix = "run the command by itself to see why"
    )]
    CommandGone { pid: i32 },
    #[error("process {pid} does not wait for its watch")]
    #[problem(
        code = "meter.command-not-held",
        meaning = "The command to watch did not stop before its start.",
        fix = "run the command by itself to see why"
    )]
    CommandNotHeld { pid: i32 },
    #[error("the command ended with {status}")]
    #[problem(code = "meter.command-failed", meaning = "The watched command ended with an error.", fix = "")]
    CommandFailed { status: std::process::ExitStatus },
    #[error("threads of another program can only be watched by tracing: {0}")]
    #[problem(
        code = "meter.watch-needs-tracing",
        meaning = "Threads of another program are measured by tracing the kernel.",
        fix = ""
    )]
    WatchNeedsTracing(TraceError),
    #[error("the kernel does not find maxima by itself, so spikes are copied some ms later: {0}")]
    #[problem(
        code = "meter.maxima-not-found",
        meaning = "The kernel did not accept the triggers that find late wake-ups.",
        fix = "--trace trigger says so beforehand"
    )]
    MaximaNotFound(TraceError),
    #[error(
        "this kernel does not record when the idle task of CPU {cpus} gives way; a thread woken from idle there counts from \
         its return from the system call, some microseconds later, and its spikes have an untraced stretch"
    )]
    #[problem(
        code = "meter.idle-unrecorded",
        meaning = "The trace lacks switches from the idle task of some CPUs.",
        fix = "reboot the machine if it was restored from a snapshot of its memory"
    )]
    IdleUnrecorded { cpus: String },
    #[error(
        "this kernel has no events for page faults on this architecture: they are counted, but a single one cannot be blamed"
    )]
    #[problem(code = "meter.no-fault-events", meaning = "This kernel has no trace events for page faults.", fix = "")]
    NoFaultEvents,
    #[error("the stacks of the threads are not sampled: {0}")]
    #[problem(
        code = "meter.stacks-not-sampled",
        meaning = "The kernel refused to sample the stacks that --stacks asks for.",
        fix = "as root: sysctl kernel.perf_event_paranoid=1 kernel.perf_event_mlock_kb=83000, or give the meter CAP_PERFMON and CAP_IPC_LOCK; the kernel \
               needs CONFIG_PERF_EVENTS"
    )]
    StacksNotSampled(io::Error),
    #[error("the stacks of {count} threads are not sampled: {most} others are")]
    #[problem(
        code = "meter.stacks-left-out",
        meaning = "The program has more threads than are sampled at a time.",
        fix = "name the threads that matter with --comm"
    )]
    StacksLeftOut { count: usize, most: usize },
}

fn fix_of_policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Other => "",
        Policy::Deadline => "run as root; the kernel admits deadline tasks only with room in sched_rt_runtime_us",
        Policy::Fifo | Policy::Rr => {
            "`sudo tardy setup --apply`, run as root, or raise `ulimit -r`; where only the meter is, `setcap \
             cap_sys_nice,cap_ipc_lock+ep tardy-meter`; in a container add --cap-add SYS_NICE"
        }
    }
}

/// An instant of CLOCK_MONOTONIC, as the kernel log has it.
fn instant(monotonic_ns: i64) -> String {
    format!("{:.3} s of the machine's clock", monotonic_ns as f64 / 1e9)
}

fn cause(error: &LoadError) -> String {
    std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default()
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

fn shed_words(kinds: &[EventKind]) -> String {
    match kinds {
        [] => "the trace records every kind of event again".into(),
        kinds => {
            let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            format!("the trace does not record these kinds of events, which cost too much: {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::problem::ProblemKind;

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

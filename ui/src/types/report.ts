// Generated from the crate `archive`; do not edit. To write it anew:
// TARDY_WRITE_TYPES=1 cargo test -p archive --features typescript --test typescript

/**
 * How a chain of callers is known.
 */
export type ChainSource = "entries" | "graph" | "stack";

/**
 * What kind of problem it is: `area.what-happened`, such as `meter.clock-stepped`. Codes are never reused.
 */
export type Code = string;

/**
 * How sure a finding is.
 */
export type Confidence = "hint" | "likely" | "certain";

/**
 * One text that was to be counted.
 */
export type CountedText = { text: string, 
/**
 * Lines that contain it.
 */
count: number, 
/**
 * Those that were kept, the first ones, in the order they were printed.
 */
lines: Array<PrintedLine>, };

/**
 * A figure over a whole run.
 */
export type CounterSummary = { name: string, 
/**
 * `1/s`, `%`, or `% of a CPU`.
 */
unit: string, mean: number, 
/**
 * Of the busiest stretch between two looks.
 */
max: number, };

/**
 * What the buffers of one CPU held when the snapshot was taken.
 */
export type Coverage = { cpu: number, 
/**
 * Instant of the oldest event still held; `None` when the buffer was empty.
 */
oldest_ns: number | null, newest_ns: number | null, 
/**
 * Events overwritten before `oldest_ns` since the buffer was last cleared: normal for a ring buffer.
 */
overwritten: number, 
/**
 * Events the kernel could not record at all: holes in the story.
 */
dropped: number, };

/**
 * Histogram of one thread.
 */
export type CpuHistogram = { thread: number, cpu: number, 
/**
 * Ascending; empty stretches are absent.
 */
bars: Array<HistogramBar>, };

/**
 * One measuring thread, condensed.
 */
export type CpuSummary = { thread: number, cpu: number, cycles: number, 
/**
 * Periods without a wake-up because the thread was late by more than an interval.
 * `None`: an imported run whose source does not count them.
 */
missed: number | null, over_limit: number, clock_anomalies: number, records_dropped: number, latency_ns: LatencyFigures, worst: Sample | null, 
/**
 * What the samples are, when they are those of a watched thread.
 */
watched?: WatchedSeries | null, };

/**
 * What the whole measurement really runs with.
 */
export type EffectiveSettings = { threads: Array<EffectiveThread>, memory_locked_kb: number, 
/**
 * Value held in /dev/cpu_dma_latency, if any.
 */
cpu_dma_latency_us: number | null, snapshot_mode: SnapshotMode, 
/**
 * Events that are recorded, as `system:name`.
 */
events: Array<string>, 
/**
 * Events of the base set that this kernel does not have.
 */
events_absent: Array<string>, trace_clock: string | null, trace_buffer_kb_per_cpu: number, 
/**
 * Tracer of the kernel that ran beside the events.
 */
tracer: string | null, 
/**
 * Threads of the meter that do not measure, as they appear in the trace.
 */
tool_tids: Array<number>, 
/**
 * Smallest step seen between two reads of the clock, in ns.
 */
clock_step_ns: number, };

/**
 * What one measuring thread really runs with, read back from the kernel.
 */
export type EffectiveThread = { thread: number, tid: number, 
/**
 * CPUs the kernel lets it run on.
 */
cpus: Array<number>, policy: Policy, priority: number, timer_slack_ns: number, };

/**
 * Fingerprint of the target. `None` means: could not be read there.
 */
export type Environment = { hostname: string, architecture: string, kernel_release: string, kernel_version: string, command_line: string | null, 
/**
 * `preempt_rt`, `preempt`, `voluntary`, `none`, `lazy`, or as the kernel words it.
 */
preemption: string | null, preempt_rt: boolean | null, 
/**
 * Lines of the kernel config that matter for latency, `CONFIG_X=y`.
 */
config: Array<string>, config_source: string | null, cpu_model: string | null, cpus_online: string | null, cpus_isolated: string | null, cpus_nohz_full: string | null, smt: string | null, memory_total_kb: number | null, clocksource: string | null, idle_driver: string | null, idle_governor: string | null, 
/**
 * Governor of each CPU, as `cpu0=performance`.
 */
frequency_governors: Array<string>, rt_period_us: number | null, rt_runtime_us: number | null, 
/**
 * `cpu0=50000000` (ns of each period), where the kernel has a fair server.
 */
fair_server_runtime: Array<string>, mitigations: Array<string>, 
/**
 * `none`, or the hypervisor as far as it says.
 */
virtualisation: string | null, 
/**
 * Whether the kernel leaves out of a task's runtime what the hypervisor took: it can, and the hypervisor has said that it
 * took time. `None` while nothing was taken, or where the kernel's configuration cannot be read.
 */
steal_clock: boolean | null, container: string | null, 
/**
 * Kernel command line or config options that ruin latency by themselves.
 */
debug_options: Array<string>, 
/**
 * Tasks with a priority at or above ours, the measuring threads excepted.
 */
rt_tasks: Array<RtTask>, load_average: string | null, };

/**
 * The account of one spike. `phases` sum to `latency_ns` to the nanosecond.
 */
export type Explanation = { spike: number, latency_ns: number, 
/**
 * Median latency of the spike's CPU over the run, in ns: what is ordinary.
 */
median_ns: number, status: ExplanationStatus, phases: Array<Phase>, 
/**
 * The largest first; never a cause without evidence.
 */
findings: Array<Finding>, spans: Array<PhaseSpan>, lanes: Array<Lane>, 
/**
 * Instants in the picture, ascending.
 */
marks: Array<Mark>, 
/**
 * What the other CPUs had to do with it and did meanwhile, a sentence each.
 */
elsewhere: Array<string>, 
/**
 * `None` when the trace has neither functions nor stacks.
 */
functions?: FunctionAccount | null, 
/**
 * Set when it was recorded in virtual time from outside of the machine: not one nanosecond was added.
 */
recording?: FlightRecording | null, 
/**
 * Lost events, missing coverage, absent event types: what limits this account.
 */
caveats: Array<Remark>, };

/**
 * The verdict over the findings.
 */
export type ExplanationStatus = "explained" | "not_explained" | "no_trace";

/**
 * A catalogue entry that explains a part of a ledger.
 */
export type Finding = { 
/**
 * Stable identifier, `blocking-task`.
 */
culprit: string, 
/**
 * One sentence that names the thing and its share.
 */
sentence: string, confidence: Confidence, 
/**
 * Nanoseconds of the ledger it accounts for.
 */
ns: number, 
/**
 * Lines of the trace and figures that show it.
 */
evidence: Array<string>, 
/**
 * What to run to confirm it.
 */
confirm: string, 
/**
 * What to change.
 */
fix: string, };

/**
 * What vouches for the records: the second run was the first.
 */
export type FlightRecording = { 
/**
 * Samples of the second run, every one the same as in the first.
 */
samples_identical: number, 
/**
 * SHA-256 of the samples of either run, in hexadecimal.
 */
sha256: string, };

/**
 * Where the owners of a ledger spent their time, and for how long the late CPU could not be interrupted or preempted.
 */
export type FunctionAccount = { 
/**
 * The owners that held the CPU longest, the longest first; those whose functions are not in the trace are absent.
 */
held: Array<HeldInFunction>, 
/**
 * The longest stretch with interrupts off that overlaps the wake-up, interrupt handlers left out.
 */
irqs_off: MaskedStretch | null, 
/**
 * The longest stretch with preemption off that overlaps the wake-up, idle left out.
 */
preempt_off: MaskedStretch | null, 
/**
 * The lock that was held longest while the wake-up was late; known where calls and returns were recorded.
 */
lock?: HeldLock | null, };

/**
 * One owner, and the function in which it spent most of its time.
 */
export type HeldInFunction = { cpu: number, kind: OwnerKind, 
/**
 * As the owner is called in the ledger.
 */
name: string, 
/**
 * Time of the owner in the ledger.
 */
owner_ns: number, 
/**
 * The part of it in the first function of `chain`, the functions that it called included; `None` when only a stack
 * trace tells of it.
 */
ns: number | null, 
/**
 * Innermost first.
 */
chain: Array<string>, source: ChainSource, 
/**
 * The first function of `chain` was entered, and then nothing was recorded for most of the time: it was spent
 * there, or where no function is traced.
 */
last_entered: boolean, };

/**
 * A lock, from its taking to its release, or to the ends of the record. Locks have no names; who takes one tells which.
 */
export type HeldLock = { 
/**
 * Function that took it ...
 */
taker: string, 
/**
 * ... by calling this one ...
 */
by: string, 
/**
 * ... and the function that gave it back; empty when it was still held at the end.
 */
releaser: string, 
/**
 * Thread that held it.
 */
thread: string, 
/**
 * Relative to due.
 */
start_ns: number, end_ns: number, 
/**
 * The part of it between due and seen.
 */
late_ns: number, };

/**
 * Counts of one CPU between two latencies (inclusive, ns).
 */
export type HistogramBar = { low_ns: number, high_ns: number, count: number, };

/**
 * Where a run that another tool measured came from, and what that tool kept to itself.
 */
export type ImportedFrom = { 
/**
 * The tool that measured, as far as the file says: `cyclictest`, `jitterdebugger`, `rteval` ...
 */
tool: string, version: string | null, 
/**
 * Name of the imported file, without its directory.
 */
file_name: string, 
/**
 * How the file was read: `rt-tests-json`, `cyclictest-text` ...
 */
format: string, 
/**
 * The source rounded every latency down to a multiple of this.
 */
resolution_ns: number, 
/**
 * Begin and end as the source states them; they include its set-up.
 */
started_unix_ns: number | null, ended_unix_ns: number | null, imported_unix_ns: number, 
/**
 * What the source did not keep. Whatever is listed here is unknown, not zero.
 */
lost: Array<Remark>, 
/**
 * What the source says and this archive has no other place for, a phrase each.
 */
stated: Array<string>, };

/**
 * A value the kernel measured.
 */
export type KernelSample = { ns: number, 
/**
 * CLOCK_MONOTONIC when the kernel recorded it.
 */
seen_ns: number, };

/**
 * What one source of the kernel's measured on one CPU, condensed.
 */
export type KernelSeriesSummary = { source: KernelSource, 
/**
 * What is measured, like `timerlat irq`.
 */
name: string, cpu: number, count: number, 
/**
 * Of the values the kernel recorded: all of `timerlat` and `osnoise`, those above a threshold of `hwlat`.
 */
latency_ns: LatencyFigures, worst: KernelSample | null, records_lost: number, };

/**
 * A measurement that the kernel makes by itself, beside that of the meter.
 */
export type KernelSource = "timerlat" | "osnoise" | "hwlat";

/**
 * What one CPU did around the spike.
 */
export type Lane = { cpu: number, 
/**
 * Ascending, without overlap.
 */
segments: Array<Segment>, };

/**
 * Order statistics of a latency distribution, in ns. A quantile is the upper edge of its 0.1 % wide bucket, capped by the
 * exact maximum; with fewer samples than it needs it equals the maximum. `None`: it lies among values that the source of an
 * imported run did not keep.
 */
export type LatencyFigures = { min: number | null, mean: number | null, p50: number | null, p90: number | null, p99: number | null, "p99.9": number | null, "p99.99": number | null, "p99.999": number | null, "p99.9999": number | null, max: number | null, };

/**
 * A stretch that a latency tracer of the kernel kept, because it was the longest so far or above the threshold.
 */
export type LatencyTrace = { 
/**
 * Number in the run, from 1; the kernel's text is `tracer/<number, four digits>.txt`.
 */
number: number, tracer: string, 
/**
 * Length of the stretch, in whole microseconds.
 */
latency_ns: number, cpu: number | null, task: TracedTask | null, 
/**
 * Functions between which interrupts or preemption were off; absent with tracers of wake-ups.
 */
started_at: string | null, ended_at: string | null, 
/**
 * Lines the trace has, and those it had before the oldest were overwritten.
 */
entries: number, entries_written: number, longest_function: TracedFunction | null, 
/**
 * CLOCK_MONOTONIC when it was copied; the stretch itself was a little earlier.
 */
copied_ns: number, 
/**
 * The text was longer than is kept.
 */
cut: boolean, };

/**
 * How a load did.
 */
export type LoadReport = { name: string, 
/**
 * What one unit of progress is: `messages`, `entries`, `bytes`, `faults`, `rounds`, `CPU ticks`.
 */
unit: string, progress: number, alive: boolean, 
/**
 * Why it is not alive; empty while it is.
 */
detail: string, };

/**
 * Non-real-time work that runs beside the measurement.
 */
export type LoadRequest = { "builtin": { name: string, workers: number, } } | { "command": { line: string, once?: boolean, } } | { "program": { name: string, words: Array<LoadWord>, } };

/**
 * What a program is asked for: `key=value`; a flag has no value, and the first word may have no key.
 */
export type LoadWord = { key: string, value: string, };

/**
 * What was lost on the way, counted.
 */
export type Loss = { 
/**
 * `trace events`, `snapshots`, `seconds`, `samples`, `frames` ...
 */
what: string, count: number, detail: string, };

/**
 * An instant of the picture, relative to the due instant.
 */
export type Mark = { at_ns: number, 
/**
 * CPU that recorded it.
 */
cpu: number, kind: MarkKind, 
/**
 * What happened, with who did it: `messaging-send-41 on CPU 0 begins to wake the thread`.
 */
text: string, };

/**
 * What happens at one instant of the picture.
 */
export type MarkKind = "woken" | "given_cpu" | "ipi" | "migrated" | "boosted" | "frequency" | "marker";

/**
 * A stretch in which the CPU could not be interrupted, or the task on it not be preempted.
 */
export type MaskedStretch = { cpu: number, 
/**
 * Relative to due; every record from here ...
 */
start_ns: number, 
/**
 * ... to here shows it ...
 */
end_ns: number, 
/**
 * ... and it was at most this long: from and to the records that show the opposite.
 */
ns_max: number, 
/**
 * Thread that ran at its beginning.
 */
thread: string, 
/**
 * Function in which it began, as near as the trace shows.
 */
first: string, 
/**
 * Function in which it ended.
 */
last: string, };

/**
 * Who held the CPU, for how long.
 */
export type Owner = { kind: OwnerKind, 
/**
 * Name with what identifies it: `hackbench-4711`, `local_timer`, `NET_RX in ksoftirqd/1-22`, `idle state 2`.
 */
name: string, ns: number, };

/**
 * What kind of thing held the CPU.
 */
export type OwnerKind = "nmi" | "hardirq" | "softirq" | "task" | "rt_task" | "own" | "tool" | "idle" | "silence_this_cpu" | "silence_all_cpus" | "steal" | "untraced";

/**
 * Page faults of a thread while it was watched.
 */
export type PageFaults = { 
/**
 * Served without a device.
 */
minor: number, 
/**
 * Had to wait for a device.
 */
major: number, };

/**
 * One phase and its owners; `ns` is the sum of the owners.
 */
export type Phase = { name: PhaseName, ns: number, 
/**
 * Largest first.
 */
owners: Array<Owner>, };

/**
 * A stretch on the way from due to seen. In this order; absent ones have no time.
 */
export type PhaseName = "late_arm" | "timer_delay" | "handler" | "wake_path" | "scheduling_delay" | "return_to_user" | "working" | "preempted" | "waiting" | "untraced";

/**
 * A phase boundary in the picture, relative to the due instant.
 */
export type PhaseSpan = { name: PhaseName, start_ns: number, end_ns: number, };

/**
 * Scheduling policy of the measuring threads.
 */
export type Policy = "fifo" | "rr" | "deadline" | "other";

/**
 * A line that contains a counted text.
 */
export type PrintedLine = { line: string, 
/**
 * When it was read, since the measurement started, in ns; `None` where the command ran on another machine.
 */
at_ns: number | null, beside: SpikeBeside | null, };

/**
 * Something that did not go as asked.
 */
export type Problem = { 
/**
 * `unclassified` in archives written before problems had codes.
 */
code: Code, severity: Severity, text: string, 
/**
 * What to do about it; empty when there is nothing. Older archives call it `mend`.
 */
fix: string, };

/**
 * A sentence about a run with the code of what it says. Older archives hold the sentence alone.
 */
export type Remark = { code: Code, text: string, };

/**
 * Everything a report draws.
 */
export type ReportData = { summary: RunSummary, histograms: Array<CpuHistogram>, seconds: Array<Second>, };

/**
 * A real-time task that could hold a CPU against the measuring threads.
 */
export type RtTask = { tid: number, name: string, 
/**
 * `fifo`, `rr` or `deadline`.
 */
policy: string, priority: number, };

/**
 * Everything the meter needs to know, sent to it as one JSON line before anything happens.
 */
export type RunSettings = { interval_ns: number, 
/**
 * `None`: until told to stop.
 */
duration_ns: number | null, 
/**
 * Ends the run when every thread has done this many cycles.
 */
cycles: number | null, 
/**
 * Wake-ups of this first stretch are made but not counted.
 */
settle_ns: number, 
/**
 * `None`: every CPU this process may use.
 */
cpus: Array<number> | null, policy: Policy, 
/**
 * 1 to 99 for FIFO and RR; ignored otherwise.
 */
priority: number, lock_memory: boolean, 
/**
 * Value held in /dev/cpu_dma_latency; `None` leaves the device alone.
 */
cpu_dma_latency_us: number | null, 
/**
 * Samples above are counted and are spikes.
 */
limit_ns: number | null, 
/**
 * Worst samples kept per thread.
 */
worst_kept: number, every_sample: boolean, trace: TraceSettings, loads: Array<LoadRequest>, settings: Array<SettingChange>, 
/**
 * Go on with what is allowed when privileges are missing; the run is then marked.
 */
degrade: boolean, 
/**
 * Measurements of the kernel's own that run beside the meter's.
 */
sources: Array<KernelSource>, 
/**
 * Draws each interval anew, evenly from half to one and a half of `interval_ns`, with a generator of this seed:
 * wake-ups that keep no step with the kernel's own periods. `None`: all intervals are alike.
 */
dither_seed: number | null, 
/**
 * Watch threads of another program instead of measuring with threads of the meter's own.
 */
watch: WatchSettings | null, 
/**
 * Look about once a second at what the kernel counts.
 */
counters: boolean, };

/**
 * How far the run got, as the host knows it.
 */
export type RunState = "running" | "complete" | "interrupted" | "failed";

/**
 * A run, condensed.
 */
export type RunSummary = { summary_version: number, id: string, 
/**
 * Path of the archive this was made from.
 */
archive: string, state: RunState, 
/**
 * Whether the numbers may be used for what was asked.
 */
valid: boolean, 
/**
 * Why not.
 */
invalid_because: Array<Remark>, target: string, 
/**
 * A program imitated the machine: its latencies mean nothing as real-time figures.
 */
emulated: boolean, 
/**
 * The machine's clock counted the instructions it executed; `emulated` is true as well.
 */
virtual_time: boolean, 
/**
 * What a machine in virtual time was made of, see [`crate::manifest::Manifest::ingredients`].
 */
ingredients?: { [key in string]: string }, 
/**
 * Of a run in virtual time that came to its end.
 */
virtual_speed?: VirtualSpeed, command: Array<string>, tool_version: string, meter_version: string | null, started_unix_ns: number | null, 
/**
 * Set when another tool measured: `valid` then only means that nothing speaks against the numbers.
 */
imported: ImportedFrom | null, 
/**
 * Length of the measuring phase, in ns.
 */
measured_ns: number | null, 
/**
 * CLOCK_MONOTONIC of the first counted second, in ns.
 */
measure_start_ns: number | null, settings: RunSettings | null, effective: EffectiveSettings | null, 
/**
 * What was recorded while the figures were taken, see [`EffectiveSettings::tracing`]; `None`: not known.
 */
tracing: string | null, environment: Environment | null, cpus: Array<CpuSummary>, 
/**
 * All CPUs together; of watched threads their timer wake-ups, or their other ones where no timer woke any.
 */
all_cpus: LatencyFigures, 
/**
 * Spikes first, then ordinary wake-ups, controls last; the largest of each first.
 */
spikes: Array<SpikeSummary>, loads: Array<LoadReport>, 
/**
 * Texts that were counted in the output of a watched command.
 */
counted?: Array<CountedText>, 
/**
 * What the kernel counted meanwhile, over the whole run.
 */
counters?: Array<CounterSummary>, 
/**
 * Measured by the kernel itself; by name, then CPU.
 */
kernel_series: Array<KernelSeriesSummary>, 
/**
 * Kept by a latency tracer of the kernel; longest first.
 */
latency_traces: Array<LatencyTrace>, losses: Array<Loss>, problems: Array<Problem>, 
/**
 * What is missing or damaged in the archive.
 */
gaps: Array<Remark>, };

/**
 * One wake-up. All instants are CLOCK_MONOTONIC of the target, in ns.
 */
export type Sample = { 
/**
 * CPU on which the thread saw the clock.
 */
cpu: number, 
/**
 * Number of the wake-up of this thread, from 0.
 */
cycle: number, 
/**
 * Instant the wake-up was due.
 */
due_ns: number, 
/**
 * Lateness; negative only when the clock misbehaved.
 */
latency_ns: number, };

/**
 * One second of one thread, counted from the first due instant of the run.
 */
export type Second = { thread: number, 
/**
 * Index of the second, from 0. Seconds in which no wake-up was due to be seen are absent.
 */
second: number, cycles: number, 
/**
 * 0 in a second without a wake-up, all of whose periods were missed.
 */
latency_ns_max: number, over_limit: number, missed_periods: number, };

/**
 * A stretch of one CPU in the picture, relative to the due instant.
 */
export type Segment = { start_ns: number, end_ns: number, kind: OwnerKind, name: string, };

/**
 * A kernel setting to change for the run and to put back afterwards.
 */
export type SettingChange = { 
/**
 * File below /proc/sys or /sys.
 */
path: string, value: string, };

export type Severity = "notice" | "degraded" | "invalid";

/**
 * The snapshot of one spike.
 */
export type Snapshot = { mode: SnapshotMode, 
/**
 * Instant the recorder was frozen or swapped.
 */
frozen_ns: number, 
/**
 * How long the swap itself took.
 */
swap_ns: number, 
/**
 * How long no buffer recorded.
 */
blind_ns: number, coverage: Array<Coverage>, 
/**
 * Whether the stretch from due to seen lies inside the coverage of the sample's CPU.
 */
window_covered: boolean, trace_bytes: number, 
/**
 * Nanoseconds all CPUs spent in steal, from /proc/stat, since the previous snapshot (10 ms resolution).
 */
steal_ns: number | null, 
/**
 * Newest event of what the kernel had put aside by itself, at a maximum that it found: mode `onmax` only.
 */
put_aside_ns?: number | null, };

/**
 * How the trace around a spike is kept.
 */
export type SnapshotMode = "auto" | "trigger" | "onmax" | "flip" | "off";

/**
 * The largest spike in the [`BESIDE_NS`] before a line.
 */
export type SpikeBeside = { spike: number, latency_ns: number, 
/**
 * From the end of the late wake-up until the line was read, in ns.
 */
before_ns: number, };

/**
 * Why a sample got a snapshot.
 */
export type SpikeReason = "new_maximum" | "over_limit" | "control";

/**
 * A spike with what was found out about it.
 */
export type SpikeSummary = { latency_ns: number, 
/**
 * Whether it counts as a spike, see [`Run::is_late`]; the others are ordinary wake-ups that were captured.
 */
late: boolean, explanation: Explanation | null, 
/**
 * Number of the spike in the run, from 1; its files are below `spikes/<number, four digits>/`.
 */
number: number, thread: number, 
/**
 * Thread id on the target, as it appears in the trace.
 */
tid: number, sample: Sample, reason: SpikeReason, 
/**
 * Seen instant of the previous cycle: the thread was busy or preempted until it could arm this one.
 */
previous_seen_ns: number | null, snapshot: Snapshot | null, 
/**
 * Why there is no snapshot, in words, when there is none.
 */
snapshot_missing: string | null, 
/**
 * What the sample is, when it is one of a watched thread.
 */
watched?: WatchedKind | null, };

/**
 * The tracing part of [`RunSettings`].
 */
export type TraceSettings = { mode: SnapshotMode, 
/**
 * Ring buffer of each CPU and instance.
 */
buffer_kb_per_cpu: number, 
/**
 * Stretch kept before the due instant and after the seen one.
 */
margin_before_ns: number, margin_after_ns: number, 
/**
 * A new maximum below this is not worth a snapshot.
 */
threshold_ns: number, 
/**
 * Snapshots kept; when full, a larger spike replaces the smallest kept one.
 */
snapshots_max: number, 
/**
 * Bytes all kept snapshots may take together.
 */
budget_bytes: number, 
/**
 * Ordinary samples captured the same way, for comparison.
 */
controls: number, 
/**
 * Least time between two snapshots that are not new maxima of the whole run.
 */
rest_ns: number, 
/**
 * Measure although another tool traces at the same time.
 */
beside_others: boolean, 
/**
 * Tracer of the kernel that runs beside the events.
 */
tracer: TracerSettings | null, };

/**
 * A function after which the same CPU recorded nothing for a while.
 */
export type TracedFunction = { name: string, 
/**
 * Who called it; empty when the trace does not say.
 */
caller: string, 
/**
 * Until the next line of the same CPU, in whole microseconds.
 */
ns: number, };

/**
 * The thread a latency tracer was after, or that ran in the stretch it kept.
 */
export type TracedTask = { name: string, tid: number, 
/**
 * As the kernel counts them: 0 other, 1 FIFO, 2 RR, 6 deadline.
 */
policy: number, 
/**
 * 1 to 99 for a real-time thread, else 0.
 */
priority: number, };

/**
 * A tracer of the kernel, by the name `available_tracers` has for it, and what narrows it.
 */
export type TracerSettings = { 
/**
 * `nop` for none, `function`, `function_graph`, `wakeup`, `wakeup_rt`, `wakeup_dl`, `irqsoff`, `preemptoff`, `preemptirqsoff`,
 * `hwlat`, `osnoise` or `timerlat`.
 */
name: string, 
/**
 * Functions to trace, as globs or `:mod:NAME`; all when empty.
 */
functions: Array<string>, 
/**
 * Functions to leave out, as globs.
 */
functions_not: Array<string>, 
/**
 * Threads to trace; all when empty.
 */
pids: Array<number>, 
/**
 * Trace what those threads start, too.
 */
children: boolean, 
/**
 * Latencies up to this are not recorded by the tracer, in ns; 0: only new maxima are.
 */
threshold_ns: number, 
/**
 * Record the stack that the timer interrupt of the measured thread found.
 */
stack: boolean, };

/**
 * How long a whole run in virtual time took, the guest's boot included.
 */
export type VirtualSpeed = { 
/**
 * By the guest's clock, in ns. Time in which it was idle is part of it and was skipped, not waited for.
 */
guest_ns: number, 
/**
 * By the host's clock, in ns.
 */
host_ns: number, };

/**
 * Whom to watch. One of `pid` and `comm` is given.
 */
export type WatchSettings = { 
/**
 * A process, with its threads and everything it starts.
 */
pid: number | null, 
/**
 * Threads whose name fits this pattern (`*` and `?`), now or later.
 */
comm: string | null, 
/**
 * The command that was started to be watched, word by word; empty when what is watched ran before.
 */
command: Array<string>, 
/**
 * Cycles that take longer are counted as over the limit, and are spikes.
 */
cycle_limit_ns: number | null, 
/**
 * Texts whose lines in the output of the command are counted.
 */
count: Array<string>, 
/**
 * The process waits, stopped, and is to be continued once everything is armed, and ended with the measurement.
 */
ours: boolean, };

/**
 * What a sample of a series is.
 */
export type WatchedKind = "timer" | "woken" | "cycle";

/**
 * One series of one watched thread, as far as it is known; a later one replaces an earlier one.
 */
export type WatchedSeries = { 
/**
 * Number of the series.
 */
thread: number, kind: WatchedKind, tid: number, 
/**
 * Name of the thread when it was last seen.
 */
name: string, 
/**
 * As the kernel last told; `None` when the thread was gone before it could be asked.
 */
policy: Policy | null, priority: number, 
/**
 * Largest slack the kernel was allowed when it set this thread's timers, in ns.
 */
slack_ns_max: number, 
/**
 * Timers that were set after they were due: cycles that overran.
 */
late_arms: number, 
/**
 * `None` where the kernel did not tell.
 */
page_faults: PageFaults | null, 
/**
 * The thread ended while it was watched.
 */
ended: boolean, };

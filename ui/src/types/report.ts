// Generated from the crate `archive`; do not edit. To write it again:
// TARDY_WRITE_TYPES=1 cargo test -p archive --features typescript --test typescript

export type AbsenceSign = { "emulator_stopped": ObservedSpan } | { "preempted": ObservedSpan } | { "steal_clock": { thread: TaskName, start_ns: number, end_ns: number, ran_ns: number, } } | { "steal_clock_of_others": { missing_ns: number, } } | { "steal_count": { start_ns: number, end_ns: number, stolen_ns: number, } } | { "other_cpu_executed": { of: number, events: number, } };

/**
 * A demand of the kernel that a task yields.
 */
export type AskedToYield = "asked" | "with_preemption_disabled";

/**
 * Record what the watched threads ask of the kernel.
 */
export type AuditSettings = { 
/**
 * Size of the ring buffer per CPU.
 */
buffer_kb_per_cpu: number, 
/**
 * Most bytes of pages that are sent in all. They are spread over the run: of a program that does more, every part of the
 * run has some, and the rest is counted.
 */
budget_bytes: number, 
/**
 * First part of the recording, of which a reader needs little: the start of the program.
 */
settle_ns: number, 
/**
 * Record the user stack of each call and fault.
 */
stacks: boolean, 
/**
 * The program records its own calls in this memory, a file on the target; the trace leaves them out.
 */
interception: string | null, };

/**
 * The activity of the thread at the end of a chain in the longest part of the wait.
 */
export type AwaitedProgress = { "ran": { cpu: number, } } | { "held_up": { cpu: number, 
/**
 * `None` if the trace does not show what had the CPU.
 */
holder?: Holder | null, } } | { "slept": WakeSource };

/**
 * An ordinary task that kept the CPU.
 */
export type BlockingTask = { who: Holders, asked?: AskedToYield | null, why: WhyBlocking, 
/**
 * The thread had the CPU when its sample began: no wake-up is part of it.
 */
without_wake_up: boolean, };

/**
 * A task to which a waiter lent its priority.
 */
export type Boosted = { who: Holders, tid: number, 
/**
 * The thread that waits for it; `None` if unknown.
 */
lender?: TaskName | null, lent_priority: KernelPriority, priority_by_itself: KernelPriority, thread_priority?: KernelPriority | null, };

/**
 * A thread that reads the clock while it has its CPU.
 */
export type BusyThread = { 
/**
 * Its name in the trace and in the execution map.
 */
name: string, 
/**
 * The CPU to which it is bound.
 */
cpu: number, policy: Policy, 
/**
 * 1 to 98 for FIFO and RR, otherwise 0.
 */
priority: number, 
/**
 * When it works; `None`: always.
 */
periodic?: PeriodicWork, };

export type CameIn = { 
/**
 * The kernel's record of the interrupt shows it, otherwise a stack trace.
 */
is_recorded: boolean, code: UnmaskedCode, };

/**
 * A limit of an account with its words.
 */
export type Caveat = { code: Code, text: string, 
/**
 * `None` in archives of older versions, and if a newer version wrote facts that this one does not know.
 */
facts?: Limit | null, };

/**
 * A trace event that is recorded for chains, besides the base set.
 */
export type ChainEvent = { system: string, name: string, 
/**
 * Only of the watched threads, not of all.
 */
of_watched: boolean, };

/**
 * How a chain of callers was recorded.
 */
export type ChainSource = "entries" | "graph" | "stack";

/**
 * A priority changed between two instants, relative to due.
 */
export type ChangeTime = { after_ns: number, by_ns: number, 
/**
 * By inheritance, which has an event.
 */
is_inherited: boolean, };

/**
 * The clock of the sample disagrees with the trace.
 */
export type ClockStep = { 
/**
 * Time from the start of the next timer to the end of the sample.
 */
early_ns: number, };

/**
 * Kind of the problem: `area.what-happened`, such as `meter.clock-stepped`. Codes are never reused.
 */
export type Code = string;

/**
 * A piece of code by its name.
 */
export type CodeName = { "function": { name: string, 
/**
 * The executable or library.
 */
file: string, } } | { "unnamed": { file: string, } } | { "generated": { name: string, } } | "kernel" | { "kernel_function": { name: string, } } | "unknown";

/**
 * Samples with the same stack.
 */
export type CodeStack = { 
/**
 * Numbers in `names`, outermost first.
 */
frames: Array<number>, 
/**
 * Samples of the late cycle.
 */
late: number, 
/**
 * Samples before it.
 */
usual: number, };

/**
 * Time in a piece of code, from samples of the stack.
 */
export type CodeTime = { code: CodeName, 
/**
 * In the late cycle.
 */
ns: number, 
/**
 * In as many ordinary runs before it; `None` if too few were sampled.
 */
usual_ns?: number | null, };

/**
 * A place of the program in which the thread slept.
 */
export type CodeWait = { 
/**
 * Innermost first, functions of the kernel included; the outermost of many are left out.
 */
frames: Array<CodeName>, 
/**
 * Number of sleeps with this stack.
 */
count: number, 
/**
 * From giving up the CPU until it got the CPU again, of all of these: the sleep, and the wait for the CPU after it.
 */
ns: number, };

/**
 * How sure a finding is.
 */
export type Confidence = "hint" | "likely" | "certain";

/**
 * The kernel wrote to a console.
 */
export type Console = { "named": NamedHolders } | { "at_once": { who: Holders, delayed_timer: boolean, } };

/**
 * A request of a thread to the interrupt controller of its CPU, with interrupts masked. In a guest it exits to the hypervisor.
 */
export type ControllerRequest = "interrupt" | "timer";

/**
 * One text to count.
 */
export type CountedText = { text: string, 
/**
 * Lines that contain it.
 */
count: number, 
/**
 * The kept lines, the first ones, in the order they were printed.
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
 * Largest value between two readings.
 */
max: number, };

/**
 * Contents of the buffers of one CPU when the snapshot was taken.
 */
export type Coverage = { cpu: number, 
/**
 * Instant of the oldest event still held; `None` if the buffer was empty.
 */
oldest_ns: number | null, newest_ns: number | null, 
/**
 * Events overwritten before `oldest_ns` since the buffer was last cleared: normal for a ring buffer.
 */
overwritten: number, 
/**
 * Events that the kernel could not record: holes in the trace.
 */
dropped: number, };

/**
 * A CPU did not run. Instants are relative to due.
 */
export type CpuAbsence = { cpu: number, start_ns: number, end_ns: number, shown_by: AbsenceSign, };

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
 * Description of the series, for a watched thread.
 */
watched?: WatchedSeries | null, 
/**
 * The thread has no real-time policy and others of the watched program have one: it decides nothing.
 */
aside?: boolean, };

/**
 * A cause of a late sample.
 */
export type Culprit = string;

/**
 * Effective settings of the whole measurement.
 */
export type EffectiveSettings = { threads: Array<EffectiveThread>, memory_locked_kb: number, 
/**
 * Value held in /dev/cpu_dma_latency, if any.
 */
cpu_dma_latency_us: number | null, snapshot_mode: SnapshotMode, 
/**
 * Recorded events, as `system:name`.
 */
events: Array<string>, 
/**
 * Events of the base set that this kernel does not have.
 */
events_absent: Array<string>, trace_clock: string | null, trace_buffer_kb_per_cpu: number, 
/**
 * Kernel tracer that ran beside the events.
 */
tracer: string | null, 
/**
 * Threads of the meter that do not measure, as named in the trace.
 */
tool_tids: Array<number>, 
/**
 * Smallest difference between two reads of the clock, in ns.
 */
clock_step_ns: number, 
/**
 * Distance of two instants that the clock distinguishes, in ns: the larger of `clock_getres` and the tick that the
 * steps of the clock show. `None`: neither is known.
 */
clock_resolution_ns?: number, };

/**
 * Effective settings of one measuring thread, read back from the kernel.
 */
export type EffectiveThread = { thread: number, tid: number, 
/**
 * CPUs the kernel lets it run on.
 */
cpus: Array<number>, policy: Policy, priority: number, timer_slack_ns: number, };

/**
 * Fingerprint of the target. `None`: could not be read.
 */
export type Environment = { hostname: string, architecture: string, kernel_release: string, kernel_version: string, command_line: string | null, 
/**
 * `preempt_rt`, `preempt`, `voluntary`, `none`, `lazy`, or the kernel's own word.
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
 * `cpu0=50000000` (ns of each period), if the kernel has a fair server.
 */
fair_server_runtime: Array<string>, 
/**
 * `cpu0=1000000000` (ns), the period of that runtime.
 */
fair_server_period: Array<string>, mitigations: Array<string>, 
/**
 * `none`, or the hypervisor as far as it identifies itself.
 */
virtualisation: string | null, 
/**
 * Whether the kernel excludes steal time from a task's runtime: it can, and the hypervisor has reported steal
 * time. `None` as long as none was reported, or if the kernel's configuration cannot be read.
 */
steal_clock: boolean | null, container: string | null, 
/**
 * Kernel command line or config options that alone ruin latency.
 */
debug_options: Array<string>, 
/**
 * Tasks with a priority at or above that of the measuring threads, without those.
 */
rt_tasks: Array<RtTask>, load_average: string | null, };

/**
 * One piece of evidence that any culprit can have; what only one culprit has is part of its facts. Instants are relative
 * to due.
 */
export type Evidence = { "event": TraceEvent } | { "steal_time": { ns: number, } } | { "deferral": { 
/**
 * Entry of that interrupt.
 */
entered_ns: number, 
/**
 * Time for which it executed timers.
 */
executed_ns: number, 
/**
 * Time from its end to the next.
 */
deferred_ns: number, } } | { "inferred": { thread: TaskName, start_ns: number, end_ns: number, from: InferredFrom, } } | { "function": FunctionTime } | { "slow_code": SlowCode } | { "longest_wait": CodeWait } | { "masked": { masking: Masking, ns: number, 
/**
 * From and to the records that show the opposite.
 */
ns_max: number, first: KernelName, last: KernelName, } } | { "lock": { ns: number, 
/**
 * Function that took it ...
 */
taker: KernelName, 
/**
 * ... by calling this one.
 */
by: KernelName, } } | { "ordinary": { usual_ns: number, 
/**
 * Number of them in which it took about as long.
 */
as_long: number, controls: number, } };

/**
 * The account of one spike. `phases` sum to `latency_ns` to the nanosecond.
 */
export type Explanation = { spike: number, latency_ns: number, 
/**
 * Median latency of the spike's CPU over the run, in ns.
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
 * The part of the other CPUs in it, and their work meanwhile. Empty in archives of older versions.
 */
elsewhere_facts?: Array<OtherCpus>, 
/**
 * The same, one sentence each.
 */
elsewhere: Array<string>, 
/**
 * `None` if the trace has neither functions nor stacks.
 */
functions?: FunctionAccount | null, 
/**
 * `None` without samples of its stack.
 */
own_code?: OwnCode | null, 
/**
 * Set if it was recorded in virtual time from outside the machine: the recording added no time.
 */
recording?: FlightRecording | null, 
/**
 * Lost events, missing coverage, absent event types: what limits this account.
 */
caveats: Array<Caveat>, };

/**
 * The verdict over the findings.
 */
export type ExplanationStatus = "explained" | "not_explained" | "no_trace";

/**
 * The facts about a culprit in one spike.
 */
export type Facts = { "thread-stopped": Stopped } | { "thread-frozen": Frozen } | { "clock-step": ClockStep } | { "priority-inversion": PriorityInversion } | { "priority-changed": PriorityChange } | { "page-fault": ThreadFaults } | { "waiting": Waited } | { "timer-slack": TimerSlack } | { "late-arm": LateArm } | { "own-tool": OwnTool } | { "another-run": NamedHolders } | { "silence": Silence } | { "cfs-quota": QuotaUsedUp } | { "rt-throttling": Throttled } | { "fair-server": FairShare } | { "nmi": HeldBy } | { "irq-storm": InterruptStorm } | { "tlb-shootdown": NamedHolders } | { "text-patching": NamedHolders } | { "cache-flush": NamedHolders } | { "membarrier": NamedHolders } | { "rcu": NamedHolders } | { "irq-work": NamedHolders } | { "reschedule-ipi": NamedHolders } | { "thermal": NamedHolders } | { "network": NamedHolders } | { "usb": NamedHolders } | { "storage": NamedHolders } | { "slow-bus": NamedHolders } | { "graphics": NamedHolders } | { "acpi": NamedHolders } | { "efi-runtime": NamedHolders } | { "firmware-call": NamedHolders } | { "tick": Tick } | { "watchdog": LockupWatchdog } | { "clocksource-watchdog": NamedHolders } | { "timers": OtherTimers } | { "previous-irq": ForeignInterrupts } | { "smt": SmtSlowdown } | { "memory-contention": Slowdown } | { "timer-interrupt": SlowTimerInterrupt } | { "softirq": SoftirqWork } | { "stop-machine": StoppedCpu } | { "threaded-irq": MoreUrgent } | { "cpu-frequency": NamedHolders } | { "boosted-task": Boosted } | { "other-rt-task": MoreUrgent } | { "migration": Migrated } | { "idle-exit": IdleExit } | { "steal": Stolen } | { "printk": Console } | { "irqs-off": LateInTask } | { "slab-shrink": NamedHolders } | { "reclaim": NamedHolders } | { "compaction": NamedHolders } | { "ksm": NamedHolders } | { "numa-balancing": NamedHolders } | { "vmstat": NamedHolders } | { "memcg-drain": NamedHolders } | { "module-load": NamedHolders } | { "cpu-hotplug": NamedHolders } | { "workqueue": Worker } | { "blocking-task": BlockingTask } | { "own-work": OwnWork } | { "slow-return": SlowReturn };

/**
 * CPU time of ordinary tasks in each period in which real-time threads starve them, by the settings of one CPU.
 */
export type FairServer = { cpu: number, runtime_ns: number, period_ns: number, };

/**
 * The scheduler gave ordinary tasks their share.
 */
export type FairShare = { preferred: Preferred, 
/**
 * Real-time throttling looks the same in this trace.
 */
may_be_throttling: boolean, 
/**
 * The real-time thread that had the CPU before.
 */
spender?: TaskName | null, rt_runtime_us?: number | null, 
/**
 * Runtimes of the fair server, by CPU.
 */
server_runtimes: Array<ForeignText>, 
/**
 * The fair server of the CPU that the thread waited for.
 */
server?: FairServer | null, };

/**
 * How the lengths of page faults were estimated: the trace has no end of a fault.
 */
export type FaultLengths = { "apart": { ns: number, } } | { "noted": { faults: number, noted: number, 
/**
 * Maximum time that counts after that.
 */
rest_ns: number, longest_ns: number, } };

/**
 * A file system with a known event for writing out a file.
 */
export type FileSystem = "ext4" | "xfs" | "btrfs" | "f2fs";

/**
 * A culprit that explains a part of a ledger: facts, and until every reader uses them their words.
 */
export type Finding = { 
/**
 * Stable identifier, `blocking-task`.
 */
culprit: Culprit, 
/**
 * One sentence that names the culprit and its share.
 */
sentence: string, confidence: Confidence, 
/**
 * The part of the ledger that it explains, in ns.
 */
ns: number, 
/**
 * `None` in archives of older versions, and if a newer version wrote facts that this one does not know.
 */
facts?: Facts | null, 
/**
 * Records of the trace and figures that show it.
 */
evidence_facts?: Array<Evidence>, 
/**
 * Lines of the trace and figures that show it.
 */
evidence: Array<string>, 
/**
 * How to confirm it.
 */
confirm: string, 
/**
 * The change that avoids it.
 */
fix: string, };

/**
 * Proof of the records: the second run was identical to the first.
 */
export type FlightRecording = { 
/**
 * Samples of the second run, all identical to those of the first.
 */
samples_identical: number, 
/**
 * SHA-256 of the samples of either run, in hexadecimal.
 */
sha256: string, };

/**
 * A chain to follow: the threads in the order in which each wakes the next one.
 */
export type FollowedChain = { name: string, stages: Array<FollowedStage>, 
/**
 * From the stimulus until the last stage sleeps.
 */
deadline_ns: number, 
/**
 * An instance begins at the instant that the first stage's timer was set for; otherwise at each wake-up of it.
 */
by_timer: boolean, 
/**
 * Stimuli closer than half of it to the one before belong to its instance.
 */
period_ns: number | null, 
/**
 * The chain as its file declares it, in TOML: for an account of the kept traces. `None` if an older version wrote it.
 */
declaration?: string, };

/**
 * The threads that can be a stage.
 */
export type FollowedStage = { "comm": string } | { "tid": number };

/**
 * Interrupts other than the one that caused the wake-up.
 */
export type ForeignInterrupts = { who: Holders, 
/**
 * Number of the first that a device raised.
 */
irq?: number | null, };

/**
 * Text that a user, a program, a driver or a target chose.
 */
export type ForeignText = string;

/**
 * The proof that a sleep was a freeze.
 */
export type FreezeSign = "thawed" | "timer_woke_nobody" | "timer_cancelled" | "no_timer";

/**
 * A freezer kept the thread from running and from being woken.
 */
export type Frozen = { sign: FreezeSign, resumed_by: TaskName, 
/**
 * The whole sleep, as far as the record goes.
 */
slept_ns: number, 
/**
 * The sleep began before the record.
 */
began_earlier: boolean, };

/**
 * Instants are relative to due.
 */
export type FullCharge = { start_ns: number, end_ns: number, ran_ns: number, };

/**
 * Where the owners of a ledger spent their time, and how long the late CPU had interrupts or preemption disabled.
 */
export type FunctionAccount = { 
/**
 * The owners that occupied the CPU longest, the longest first, without those whose functions are not in the trace.
 */
held: Array<HeldInFunction>, 
/**
 * The longest IRQ-off section that overlaps the wake-up, without interrupt handlers.
 */
irqs_off: MaskedStretch | null, 
/**
 * The longest preemption-off section that overlaps the wake-up, without idle.
 */
preempt_off: MaskedStretch | null, 
/**
 * The lock that was held longest while the wake-up was late; known only with calls and returns.
 */
lock?: HeldLock | null, };

/**
 * The function in which time was spent.
 */
export type FunctionTime = { 
/**
 * Time in the first function of the chain, including the functions that it called; `None` if only a stack trace
 * shows it.
 */
ns: number | null, 
/**
 * Innermost first; never empty. [`crate::functions::USER_SPACE`] is no function.
 */
chain: Array<KernelName>, source: ChainSource, 
/**
 * Nothing was recorded meanwhile: the time was spent there, or where no function is traced.
 */
last_entered: boolean, };

/**
 * How a watch differs that stands for months.
 */
export type GuardSettings = { 
/**
 * Interval between reads of the trace buffers.
 */
round_ns: number, 
/**
 * Length of the stretch that is kept on request.
 */
saved_ns: number, 
/**
 * Trace instance in memory that a reset of the machine keeps: the guard records into it as well, if the machine has it.
 */
kept_instance?: string, 
/**
 * Longest interval between totals. `None`: they become rarer, as in any run.
 */
totals_ns?: number, };

/**
 * Content of a record, with the names of its numbers.
 */
export type Happened = { "switch": { from: TaskName, 
/**
 * Absent if the record has no priorities.
 */
from_priority?: KernelPriority | null, left: LeftAs, to: TaskName, to_priority?: KernelPriority | null, } } | { "waking": { task: TaskName, on_cpu: number, } } | { "wakeup": { task: TaskName, on_cpu: number, } } | { "migrate": { task: TaskName, from_cpu: number, to_cpu: number, } } | { "priority_lent": { task: TaskName, old_priority?: KernelPriority | null, new_priority?: KernelPriority | null, } } | { "signal": { signal: number, task: TaskName, } } | { "freeze": { frozen: boolean, group: ForeignText, } } | { "runtime": { task: TaskName, ran_ns: number, } } | { "file_sync": { file_system: FileSystem, device: number, } } | { "irq_entry": Interrupt } | { "irq_exit": Interrupt } | { "vector_entry": Vector } | { "vector_exit": Vector } | { "softirq_entry": number } | { "softirq_exit": number } | { "softirq_raise": number } | { "hrtimer_start": { function: KernelName, expires_ns: number, } } | { "hrtimer_cancel": { timer: number, } } | { "hrtimer_expire_entry": { function: KernelName, } } | "hrtimer_expire_exit" | { "timer_expire_entry": { function: KernelName, } } | "timer_expire_exit" | { "work_start": { function: KernelName, } } | "work_end" | { "csd_entry": { function: KernelName, } } | "csd_exit" | { "idle_entry": { state: number, } } | "idle_exit" | { "frequency": { khz: number, cpu: number, } } | { "nmi": { handler: KernelName, took_ns: number, } } | { "page_fault": { user: boolean, address: number, } } | { "page_allocated": { movable: boolean, } } | { "memory_counted": { own: boolean, } } | { "function": { function: KernelName, caller: KernelName, } } | { "graph_entry": { function: KernelName, depth: number, } } | { "graph_exit": { function: KernelName, depth: number, } } | { "stack": ForeignText } | { "message": ForeignText } | { "marker": ForeignText } | { "other": ForeignText | null };

/**
 * Something had the CPU; more is not known.
 */
export type HeldBy = { who: Holders, };

/**
 * A holder of a CPU, and for how long.
 */
export type HeldFor = { who: Holder, ns: number, };

/**
 * One owner, and the function in which it spent most of its time.
 */
export type HeldInFunction = { cpu: number, kind: OwnerKind, 
/**
 * The owner's name in the ledger.
 */
name: string, 
/**
 * Time of the owner in the ledger.
 */
owner_ns: number, 
/**
 * The part of it in the first function of `chain`, including the functions that it called; `None` if only a stack
 * trace shows it.
 */
ns: number | null, 
/**
 * Innermost first.
 */
chain: Array<string>, source: ChainSource, 
/**
 * The first function of `chain` was entered, and then nothing was recorded for most of the time: it was spent
 * there, or in untraced functions.
 */
last_entered: boolean, };

/**
 * A lock, from its acquisition to its release, or to the ends of the record. Locks have no names; the function that
 * acquires one identifies it.
 */
export type HeldLock = { 
/**
 * Function that acquired it ...
 */
taker: string, 
/**
 * ... by calling this one ...
 */
by: string, 
/**
 * ... and the function that released it; empty if it was still held at the end.
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
 * The innermost context of a CPU, with the function that it executed where the trace shows one.
 */
export type Holder = "untraced" | { "nmi": { function?: KernelName | null, } } | { "vector": { vector: Vector, function?: KernelName | null, } } | { "irq": { irq: Interrupt, function?: KernelName | null, } } | { "softirq": { 
/**
 * Number of the softirq.
 */
softirq: number, 
/**
 * Thread in which it ran; `None` in idle.
 */
on?: TaskName | null, function?: KernelName | null, } } | { "task": { task: TaskName, function?: KernelName | null, } } | { "idle": { 
/**
 * `None` if the idle task ran without being in a sleep state.
 */
state?: number | null, } };

/**
 * The largest of several holders, and the number of the others.
 */
export type Holders = { largest: Holder, others?: number, };

/**
 * A CPU that took long to leave an idle state.
 */
export type IdleExit = { cpu: number, state?: number | null, 
/**
 * The hypervisor to which an idle CPU returns.
 */
host?: ForeignText | null, 
/**
 * The record of the interrupt shows that the CPU had halted.
 */
halted: boolean, 
/**
 * The function in which it halted.
 */
halted_in?: KernelName | null, };

/**
 * Origin of a run that another tool measured, and what that tool did not record.
 */
export type ImportedFrom = { 
/**
 * The measuring tool, as far as the file states it: `cyclictest`, `jitterdebugger`, `rteval` ...
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
 * For a recording whose clock was converted to CLOCK_MONOTONIC: how uncertain its instants are.
 */
clock_spread_ns?: number, 
/**
 * Start and end according to the source, including its set-up.
 */
started_unix_ns: number | null, ended_unix_ns: number | null, imported_unix_ns: number, 
/**
 * Fields that the source did not record. Everything listed here is unknown, not zero.
 */
lost: Array<Remark>, 
/**
 * Statements of the source for which this archive has no other field, a phrase each.
 */
stated: Array<string>, };

/**
 * Why a stretch is assigned to a thread.
 */
export type InferredFrom = "idle_gave_way" | "preemption_disabled" | "own_was_seen";

/**
 * An interrupt line and what the kernel calls it.
 */
export type Interrupt = { number: number, 
/**
 * Its devices; a driver or a user chooses the name.
 */
name?: ForeignText | null, };

/**
 * Many interrupts of one kind.
 */
export type InterruptStorm = { "profiler": { cpu: number, 
/**
 * The function of its timer.
 */
timer: KernelName, samples: number, per_second: number, 
/**
 * How often it changed the events of the CPU.
 */
changes: number, 
/**
 * The kernel deferred the next timer interrupt because of them.
 */
deferred: boolean, } } | { "line": { who: Holder, entries: number, per_second: number, 
/**
 * Number of a device's interrupt.
 */
irq?: number | null, 
/**
 * The function that most of them execute for a timer.
 */
timer?: TimerInStorm | null, } };

/**
 * The code that a late timer interrupt interrupted.
 */
export type Interrupted = "user_space" | { "kernel": { function: string | null, code_before: string, } };

/**
 * A symbol of the kernel, or its address where the trace has no symbol.
 */
export type KernelName = string;

/**
 * A priority in the kernel's scale: below 100 is real-time, below 0 a deadline, lower is more urgent.
 */
export type KernelPriority = number;

/**
 * A value that the kernel measured.
 */
export type KernelSample = { ns: number, 
/**
 * CLOCK_MONOTONIC of the kernel's record.
 */
seen_ns: number, };

/**
 * Figures of one of the kernel's own sources on one CPU, condensed.
 */
export type KernelSeriesSummary = { source: KernelSource, 
/**
 * The measured quantity, such as `timerlat irq`.
 */
name: string, cpu: number, count: number, 
/**
 * Figures of the values that the kernel recorded: all for `timerlat` and `osnoise`, those above a threshold for
 * `hwlat`.
 */
latency_ns: LatencyFigures, worst: KernelSample | null, records_lost: number, };

/**
 * A measurement by the kernel itself, beside that of the meter.
 */
export type KernelSource = "timerlat" | "osnoise" | "hwlat";

/**
 * The stretches of one CPU around the spike.
 */
export type Lane = { cpu: number, 
/**
 * Ascending, without overlap.
 */
segments: Array<Segment>, };

/**
 * The thread set its timer after it was due.
 */
export type LateArm = { 
/**
 * When the thread saw its previous sample, relative to due.
 */
previous_seen_ns?: number | null, 
/**
 * The holder of the CPU for most of it; `None` if the trace does not show that.
 */
meanwhile?: Holder | null, interval_ns: number, };

/**
 * The task may have had interrupts masked.
 */
export type LateInTask = { who: Holders, why: WhyLate, 
/**
 * A sign of a masked section that does not decide.
 */
further_sign?: MaskedSection | null, 
/**
 * Its work in the section.
 */
woke?: WokenThreads | null, 
/**
 * Preemption was disabled when the interrupt arrived.
 */
locked: boolean, 
/**
 * The kernel function that the interrupt broke into.
 */
came_in?: KernelName | null, 
/**
 * The kernel recorded the late interrupt.
 */
is_recorded: boolean, 
/**
 * In a guest, the CPU recorded events in such short succession that it ran.
 */
recorded_closely: boolean, 
/**
 * The threads on the CPU were charged for all of the time.
 */
charged?: FullCharge | null, 
/**
 * The hypervisor's count of stolen time, where that grew by next to nothing.
 */
stolen_ns?: number | null, };

/**
 * A timer interrupt that came late, as the kernel of a guest with a steal clock recorded it.
 */
export type LateInterrupt = { cpu: number, 
/**
 * Instant at which the turn of a late timer came, inside of the interrupt.
 */
ts_ns: number, 
/**
 * How late it was.
 */
late_ns: number, 
/**
 * Thread on the CPU; 0 of an idle one.
 */
tid: number, interrupted: Interrupted, 
/**
 * Time that the hypervisor counts as stolen from the CPU since the kernel's task clock last took it into account.
 */
stolen_ns: number | null, };

/**
 * Order statistics of a latency distribution, in ns. Quantiles count every period: wake-ups, and missed periods with
 * their lateness. A quantile is the upper edge of its 0.1 % wide bucket, capped by the exact maximum; with too few
 * samples it equals the maximum. `None`: it lies among values that nothing recorded.
 */
export type LatencyFigures = { min: number | null, mean: number | null, p50: number | null, p90: number | null, p99: number | null, "p99.9": number | null, "p99.99": number | null, "p99.999": number | null, "p99.9999": number | null, max: number | null, };

/**
 * A stretch that a kernel latency tracer recorded because it was the longest so far or above the threshold.
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
 * Functions between which interrupts or preemption were off; absent for tracers of wake-ups.
 */
started_at: string | null, ended_at: string | null, 
/**
 * Lines in the trace, and lines written before the oldest were overwritten.
 */
entries: number, entries_written: number, longest_function: TracedFunction | null, 
/**
 * CLOCK_MONOTONIC of the copy; the stretch itself was slightly earlier.
 */
copied_ns: number, 
/**
 * The text was longer than the kept part.
 */
cut: boolean, };

/**
 * The state in which a thread left the CPU.
 */
export type LeftAs = "runnable" | "stopped" | "blocked" | "asleep" | "gone";

/**
 * A limit of an account.
 */
export type Limit = "sample_invalid" | { "no_snapshot": string } | { "trace_damaged": string } | { "clock_not_mono": string } | { "events_lost": { cpu: number, count: number | null, } } | { "switches_missing": { cpu: number, count: number, inferred: number, } } | { "nothing_of_cpu": number } | { "starts_late": { cpu: number, late_ns: number, } } | { "events_absent": Array<string> } | "interrupts_not_recorded" | "softirqs_not_recorded" | { "times_rounded": number } | { "clock_converted": number } | { "record_starts_late": { late_ns: number, } } | "clock_read_not_seen" | "not_a_flight_record" | { "flight_version": number } | "flight_damaged" | "no_function_names" | { "absences_contradicted": number } | "not_late" | { "trace_unreadable": string };

/**
 * State of a load.
 */
export type LoadReport = { name: string, 
/**
 * The unit of progress: `messages`, `entries`, `bytes`, `faults`, `rounds`, `CPU ticks`.
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
 * An argument of a program: `key=value`; a flag has no value, and the first word may have no key.
 */
export type LoadWord = { key: string, value: string, };

export type LockupWatchdog = "stop" | "timer";

/**
 * Where the program writes its lines.
 */
export type LogSource = { "file": { path: string, } } | { "journal": { unit: string, } };

/**
 * A number of lost records.
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
 * `None` in archives of older versions, and if a newer version wrote an event that this one does not know.
 */
event?: MarkedEvent | null, 
/**
 * The event, and the task that caused it: `messaging-send-41 on CPU 0 starts to wake the thread`.
 */
text: string, };

/**
 * Kind of a mark in the picture.
 */
export type MarkKind = "woken" | "given_cpu" | "ipi" | "migrated" | "boosted" | "frequency" | "marker";

/**
 * The event of a mark.
 */
export type MarkedEvent = { "woken": { by: TaskName, } } | "given_cpu" | { "ipi": { by: TaskName, to_cpu: number, 
/**
 * Function to run there; `None`: check whether there is something to do.
 */
function?: KernelName | null, 
/**
 * Function that sends it.
 */
sent_from?: KernelName | null, } } | { "migrated": { from_cpu: number, to_cpu: number, } } | { "boosted": { task: TaskName, old_priority: KernelPriority, new_priority: KernelPriority, } } | { "frequency": { cpu: number, khz: number, } } | { "marker": { by: TaskName, text: ForeignText, } };

/**
 * The proof, without traced functions, that a thread had interrupts masked.
 */
export type MaskedSection = "enabled_again" | { "woke_in_a_row": number };

/**
 * A stretch in which the CPU could not be interrupted, or its task not be preempted.
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
 * Thread that ran at its start.
 */
thread: string, 
/**
 * Function in which it started, as near as the trace shows.
 */
first: string, 
/**
 * Function in which it ended.
 */
last: string, };

/**
 * The disabled part of the kernel's preemption.
 */
export type Masking = "interrupts" | "preemption";

/**
 * The path through the kernel that a sample measures. Figures of two methods do not compare.
 */
export type Method = "timer" | "semaphore" | "mutex" | "signal" | "message-queue" | "inversion" | "migrate" | "deadline" | "noise" | "hardware" | "map" | "rtc" | "hpet" | "uio" | "udp" | "serial" | "ethernet" | "gpio" | "parallel" | "storage" | "audio";

/**
 * A method with its options, as a run asks for it.
 */
export type MethodRequest = { name: Method, 
/**
 * Values by key; one that is a flag has an empty value.
 */
options: { [key in string]: string }, 
/**
 * The threads of `map` that the host read from the file of its option `file`.
 */
threads?: Array<BusyThread>, };

/**
 * The scheduler moved the thread to another CPU.
 */
export type Migrated = { tid: number, from_cpu: number, to_cpu: number, };

/**
 * An instance of a chain that missed its deadline. Instants are CLOCK_MONOTONIC.
 */
export type MissedChain = { name: string, stimulus_ns: number, end_ns: number, deadline_ns: number, 
/**
 * It had not ended by `end_ns`.
 */
is_open: boolean, 
/**
 * Instances since the watch began, with this one, and how many of them missed the deadline.
 */
instances: number, missed: number, };

/**
 * A task of at least the priority of the thread.
 */
export type MoreUrgent = { who: Holders, 
/**
 * Of the longest stretch.
 */
tid: number, priority?: KernelPriority | null, thread_priority?: KernelPriority | null, };

/**
 * The holder of the CPU whose name belongs to the culprit.
 */
export type NamedHolders = { who: Holders, 
/**
 * A thread kept the CPU; otherwise interrupts ran first.
 */
is_thread: boolean, 
/**
 * The kernel asked it to yield while it had preemption disabled.
 */
asked_with_preemption_off: boolean, };

/**
 * The host's observation.
 */
export type ObservedSpan = { start_ns: number, end_ns: number, 
/**
 * Maximum error of both instants.
 */
slack_ns: number, };

/**
 * One fact about other CPUs between due and seen.
 */
export type OtherCpus = { "woke_thread": { waker: TaskName, cpu: number, 
/**
 * From due until it started to wake the thread.
 */
after_ns: number, runnable_on: number, 
/**
 * From there until the thread was runnable.
 */
runnable_after_ns: number, } } | { "held": { cpu: number, by: Array<HeldFor>, } } | { "less_busy": { cpus: number, } } | { "idle": { cpus: number, } };

/**
 * Other timers expired in the same interrupt.
 */
export type OtherTimers = { 
/**
 * The function that took longest; `None` if the trace names none.
 */
function?: KernelName | null, 
/**
 * Number of further functions.
 */
others: number, 
/**
 * They took so long that the kernel deferred the next timer interrupt.
 */
deferred: boolean, };

export type OverdueTimer = { cpu: number, late_ns: number, };

/**
 * The functions of a late cycle of a watched thread.
 */
export type OwnCode = { 
/**
 * Time of the thread on the CPU, from the beginning of the late cycle until it was over. The functions share it.
 */
ran_ns: number, samples: SampleCounts, 
/**
 * Where it slept in the late cycle, longest first; the shortest of many are left out.
 */
waits?: Array<CodeWait>, 
/**
 * Time in each function without the functions that it called, largest first; the smallest are left out.
 */
functions: Array<CodeTime>, 
/**
 * Absent if the cycle took no longer than ordinary ones.
 */
slow?: SlowCode | null, 
/**
 * Of the frames of `stacks`.
 */
names: Array<CodeName>, 
/**
 * The most frequent stacks, each once.
 */
stacks: Array<CodeStack>, };

/**
 * This tool disturbed its own measurement.
 */
export type OwnTool = "recorded_stack" | { "ran": Holders };

/**
 * A watched thread had the CPU itself.
 */
export type OwnWork = { tid: number, 
/**
 * It set its timer only after the wake-up was due.
 */
overran: boolean, 
/**
 * The hypervisor that may have had the CPU for a part of it.
 */
host?: ForeignText | null, };

/**
 * An owner of the CPU, and for how long.
 */
export type Owner = { kind: OwnerKind, 
/**
 * Name with identifier: `hackbench-4711`, `local_timer`, `NET_RX in ksoftirqd/1-22`, `idle state 2`.
 */
name: string, ns: number, };

/**
 * Kind of an owner.
 */
export type OwnerKind = "nmi" | "hardirq" | "softirq" | "task" | "rt_task" | "own" | "tool" | "idle" | "silence_this_cpu" | "silence_all_cpus" | "steal" | "untraced";

/**
 * Page faults of a thread while it was watched.
 */
export type PageFaults = { 
/**
 * Served without I/O.
 */
minor: number, 
/**
 * Had to wait for I/O.
 */
major: number, };

/**
 * The work of a thread that sleeps between its periods.
 */
export type PeriodicWork = { 
/**
 * Distance of two starts.
 */
period_us: number, 
/**
 * CPU time from each start on.
 */
work_us: number, };

/**
 * One phase and its owners; `ns` is the sum of the owners.
 */
export type Phase = { name: PhaseName, ns: number, 
/**
 * Largest first.
 */
owners: Array<Owner>, };

/**
 * A phase of a wake-up from due to seen, in this order; absent phases took no time.
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
 * The largest of the tasks that were preferred, and the number of the others.
 */
export type Preferred = { largest: TaskName, others: number, };

/**
 * A line that contains a counted text.
 */
export type PrintedLine = { line: string, 
/**
 * When it was read, since the measurement started, in ns; `None` if the command ran on another machine.
 */
at_ns: number | null, 
/**
 * Longest time from its writing until it was read, in ns; `None` if that is unknown.
 */
uncertain_ns: number | null, beside: SpikeBeside | null, };

/**
 * Another task changed the priority of the thread.
 */
export type PriorityChange = { tid: number, 
/**
 * The tasks that ran meanwhile.
 */
who: Holders, before: KernelPriority, meanwhile?: KernelPriority | null, 
/**
 * `None` if the record begins later.
 */
changed?: ChangeTime | null, changed_back?: ChangeTime | null, };

/**
 * The thread waited for a less urgent one, which a third one kept off the CPU.
 */
export type PriorityInversion = { thread: TaskName, thread_priority: KernelPriority, 
/**
 * The one it waited for.
 */
awaited: TaskName, awaited_priority?: KernelPriority | null, 
/**
 * The one that had the CPU for most of the time.
 */
middle: TaskName, middle_priority?: KernelPriority | null, 
/**
 * Number of further threads in the middle.
 */
others: number, cpu: number, 
/**
 * The whole wait for this thread.
 */
waited_ns: number, 
/**
 * The awaited thread inherited a priority.
 */
is_inherited: boolean, };

/**
 * Something that did not go as requested.
 */
export type Problem = { 
/**
 * `unclassified` in archives written before problems had codes.
 */
code: Code, severity: Severity, text: string, 
/**
 * The fix; empty if there is none. Older archives call it `mend`.
 */
fix: string, };

/**
 * The control group of a program.
 */
export type ProgramGroup = { "unit": { name: string, } } | { "below": { path: string, } } | { "container": { name: string, } };

/**
 * The control group of the thread had used up its CPU time.
 */
export type QuotaUsedUp = { 
/**
 * Begin of the period that gave it time again, relative to due.
 */
next_period_ns: number, };

/**
 * CPU time of real-time threads, by the settings of the kernel.
 */
export type RealTimeBudget = { runtime_us: number, period_us: number, };

/**
 * A sentence about a run with its code. Older archives have only the sentence.
 */
export type Remark = { code: Code, text: string, };

/**
 * Everything a report shows.
 */
export type ReportData = { summary: RunSummary, histograms: Array<CpuHistogram>, seconds: Array<Second>, };

/**
 * Who asked for the last seconds.
 */
export type RequestSource = "signal" | "key" | "program" | { "chain": MissedChain };

/**
 * A real-time task that could keep a CPU from the measuring threads.
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
 * `None`: until stopped.
 */
duration_ns: number | null, 
/**
 * Ends the run when every thread has done this many cycles.
 */
cycles: number | null, 
/**
 * Wake-ups in this first part are made but not counted.
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
 * Samples above it are counted and are spikes.
 */
limit_ns: number | null, 
/**
 * Worst samples kept per thread; at most 100000.
 */
worst_kept: number, every_sample: boolean, trace: TraceSettings, loads: Array<LoadRequest>, settings: Array<SettingChange>, 
/**
 * Continue with reduced settings if privileges are missing; the run is then marked as degraded.
 */
degrade: boolean, 
/**
 * Measure to the end although a load died.
 */
keep_going: boolean, 
/**
 * Measurements by the kernel itself that run beside the meter's.
 */
sources: Array<KernelSource>, 
/**
 * Seed for random intervals, each uniform from half to one and a half of `interval_ns`, so that wake-ups do not
 * run in step with the kernel's own periods. `None`: all intervals are equal.
 */
dither_seed: number | null, 
/**
 * Watch threads of another program instead of measuring with threads of the meter.
 */
watch: WatchSettings | null, 
/**
 * Record what the watched threads ask of the kernel.
 */
audit?: AuditSettings, 
/**
 * Read the kernel's counters about once a second.
 */
counters: boolean, 
/**
 * The method of the samples; a timer in archives without it.
 */
method?: MethodRequest, 
/**
 * Text of the job file that fio runs with the method `storage`.
 */
fio_jobs?: string, };

/**
 * State of the run as the host knows it.
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
 * Whether the figures may be used for what was requested.
 */
valid: boolean, 
/**
 * Why not.
 */
invalid_because: Array<Remark>, target: string, 
/**
 * A program emulated the machine: its latencies are meaningless as real-time figures.
 */
emulated: boolean, 
/**
 * The machine's clock counted the instructions it executed; `emulated` is true as well.
 */
virtual_time: boolean, 
/**
 * Ingredients of a machine in virtual time, see [`crate::manifest::Manifest::ingredients`].
 */
ingredients?: { [key in string]: string }, 
/**
 * For a completed run in virtual time.
 */
virtual_speed?: VirtualSpeed, command: Array<string>, tool_version: string, meter_version: string | null, started_unix_ns: number | null, 
/**
 * Set if another tool measured: `valid` then only means that nothing contradicts the figures.
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
 * The recorders during the measurement, see [`EffectiveSettings::tracing`]; `None` if unknown.
 */
tracing: string | null, environment: Environment | null, cpus: Array<CpuSummary>, 
/**
 * All CPUs together; for watched threads their timer wake-ups, or the others if no timer woke any.
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
 * Counts of the kernel over the whole run.
 */
counters?: Array<CounterSummary>, 
/**
 * Measured by the kernel itself; by name, then CPU.
 */
kernel_series: Array<KernelSeriesSummary>, 
/**
 * Recorded by a kernel latency tracer; longest first.
 */
latency_traces: Array<LatencyTrace>, losses: Array<Loss>, problems: Array<Problem>, 
/**
 * Missing and damaged parts of the archive.
 */
gaps: Array<Remark>, };

/**
 * One wake-up. All instants are CLOCK_MONOTONIC of the target, in ns.
 */
export type Sample = { 
/**
 * CPU on which the thread read the clock.
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
 * How many samples of the stack the times come from.
 */
export type SampleCounts = { 
/**
 * Time on the CPU between two samples: no figure is more exact.
 */
period_ns: number, 
/**
 * In the late cycle.
 */
late: number, 
/**
 * Before it.
 */
usual: number, 
/**
 * Ordinary runs, from one sleep of the thread to the next, in which these were taken.
 */
usual_runs: number, 
/**
 * The samples begin after the late cycle did: its times are lower bounds.
 */
begin_late?: boolean, };

/**
 * A request to keep the last seconds.
 */
export type SaveRequest = { by: RequestSource, 
/**
 * As it was given; it may be empty.
 */
reason: string, };

/**
 * One second of one thread, counted from the first due instant of the run.
 */
export type Second = { thread: number, 
/**
 * Index of the second, from 0. Seconds in which no wake-up was due are absent.
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
 * A kernel setting to change for the run and to restore afterwards.
 */
export type SettingChange = { 
/**
 * File below /proc/sys or /sys.
 */
path: string, value: string, };

export type Severity = "notice" | "degraded" | "invalid";

export type Silence = { place: SilentPlace, by: SilencedBy, 
/**
 * A timer of another CPU that was overdue meanwhile.
 */
overdue?: OverdueTimer | null, requests: Array<SilentRequest>, 
/**
 * Time that a CPU stood still elsewhere than in these requests.
 */
still_elsewhere_ns: number, 
/**
 * Where the late interrupt came in, if that shows that interrupts were enabled.
 */
came_in?: CameIn | null, };

/**
 * The holder of the CPU.
 */
export type SilencedBy = { "stolen": { host?: ForeignText | null, } } | { "host_or_firmware": { host: ForeignText, } } | "firmware_or_hardware" | "unknown";

export type SilentPlace = "all_cpus" | "not_delivered" | { "stood_still": { cpu: number, within: StoodStillIn, } };

export type SilentRequest = { request: ControllerRequest, ns: number, };

/**
 * Where the additional time of a late cycle was spent.
 */
export type SlowCode = { 
/**
 * The outermost function of which an ordinary run is not a part, including the functions that it called.
 */
outer: CodeTime, 
/**
 * A function called by it that took most of its additional time, including the functions that this one called. Absent if it is
 * `outer` itself.
 */
inner?: CodeTime | null, samples: SampleCounts, };

/**
 * The thread had the CPU and read the clock late.
 */
export type SlowReturn = "in_virtual_time" | { "unknown": { clocksource?: ForeignText | null, } };

/**
 * The interrupt that brought the wake-up was slow itself.
 */
export type SlowTimerInterrupt = { 
/**
 * The hypervisor to which setting a timer exits.
 */
host?: ForeignText | null, };

/**
 * Every phase took longer than usual, by these percentages.
 */
export type Slowdown = { least_percent: number, most_percent: number, };

/**
 * The same with two threads per core.
 */
export type SmtSlowdown = { slowdown: Slowdown, 
/**
 * The kernel's word for the state of SMT.
 */
smt: ForeignText, };

/**
 * The snapshot of one spike.
 */
export type Snapshot = { mode: SnapshotMode, 
/**
 * Instant the recorder was frozen or swapped.
 */
frozen_ns: number, 
/**
 * Duration of the swap itself.
 */
swap_ns: number, 
/**
 * Time in which no buffer recorded.
 */
blind_ns: number, coverage: Array<Coverage>, 
/**
 * Whether the stretch from due to seen lies inside the coverage of the sample's CPU.
 */
window_covered: boolean, trace_bytes: number, 
/**
 * Steal time of all CPUs since the previous snapshot in ns, from /proc/stat (10 ms resolution).
 */
steal_ns: number | null, 
/**
 * Newest event of the snapshot that the kernel took by itself at a maximum that it found: mode `onmax` only.
 */
put_aside_ns?: number | null, };

/**
 * How the trace around a spike is kept.
 */
export type SnapshotMode = "auto" | "trigger" | "onmax" | "flip" | "live" | "off";

export type SoftirqWork = { who: Holders, 
/**
 * Number of the softirq that took longest.
 */
softirq?: number | null, preempt_rt: boolean, };

/**
 * The largest spike in the [`BESIDE_NS`] before a line, of threads with a real-time policy if they had any: an ordinary
 * thread of the same program is later on most machines, and rarely the reason.
 */
export type SpikeBeside = { spike: number, 
/**
 * Name of the late thread; empty if it is unknown.
 */
name: string, latency_ns: number, 
/**
 * From the end of the late wake-up until the line was read, in ns.
 */
before_ns: number, };

/**
 * Why a sample got a snapshot.
 */
export type SpikeReason = "new_maximum" | "over_limit" | "control";

/**
 * A spike with its explanation.
 */
export type SpikeSummary = { latency_ns: number, 
/**
 * Whether it counts as a spike, see [`Run::is_late`]; the others are captured ordinary wake-ups.
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
 * Why there is no snapshot, if there is none.
 */
snapshot_missing: string | null, 
/**
 * Kind of the sample, if it is one of a watched thread.
 */
watched?: WatchedKind | null, 
/**
 * Late timer interrupts until it was seen, those shortly before it was due included, in order of time.
 */
late_interrupts?: Array<LateInterrupt>, 
/**
 * Kept on request: the worst wake-up of the stretch that was asked for.
 */
requested?: boolean, 
/**
 * Who asked, if it was kept on request; absent in archives of earlier versions.
 */
request?: SaveRequest, };

/**
 * How it is known.
 */
export type Stolen = { "observed": { host?: ForeignText | null, longest: CpuAbsence, 
/**
 * Longest first.
 */
others: Array<CpuAbsence>, } } | { "on_another_cpu": { host: ForeignText, who: Holders, absence: CpuAbsence, } } | { "counted": { host: ForeignText, who: Holders, counted_ns: number, } } | { "in_user_space": { host: ForeignText, who: Holders, } } | { "in_idle": { host: ForeignText, } } | { "leaving_idle": { host: ForeignText, cpu: number, } };

/**
 * The code in the middle of which a CPU stood still.
 */
export type StoodStillIn = { "request": ControllerRequest } | "switch" | "between_interrupt_and_softirqs" | { "interrupt": Holder };

/**
 * A signal or a debugger stopped the thread.
 */
export type Stopped = { by: StoppedBy, times: number, 
/**
 * The task that resumed it last; `None` if unknown.
 */
resumed_by?: TaskName | null, 
/**
 * The longest stop, as far as the record goes.
 */
longest_ns: number, 
/**
 * The longest stop began before the record.
 */
began_earlier: boolean, };

export type StoppedBy = { "task": TaskName } | "debugger" | "signal";

/**
 * A thread that stops CPUs.
 */
export type StoppedCpu = { who: Holders, 
/**
 * Further CPUs that were stopped meanwhile.
 */
also_on: Array<number>, };

/**
 * A thread.
 */
export type TaskName = { 
/**
 * From [`Self::NAMELESS_TIDS`] on it only distinguishes threads whose record has no thread ids.
 */
tid: number, 
/**
 * Empty if unknown.
 */
comm?: string, };

/**
 * The thread had page faults.
 */
export type ThreadFaults = { "before_the_clock": { tid: number, } } | { "in_its_work": { thread: TaskName, count: number, 
/**
 * It slept in some of them until a device had brought the page.
 */
waited_for_device: boolean, lengths: FaultLengths, } };

/**
 * Real-time threads had used up their part of a period.
 */
export type Throttled = { 
/**
 * The budget belongs to the control group of the thread.
 */
is_of_group: boolean, 
/**
 * The tasks that had the CPU; `None` if it was left idle.
 */
preferred?: Preferred | null, 
/**
 * Time that they had.
 */
preferred_ns: number, idle_ns: number, 
/**
 * The thread that used up the budget; `None` if the trace begins later.
 */
spender?: TaskName | null, budget?: RealTimeBudget | null, 
/**
 * A new period began, and the thread got the CPU at once.
 */
new_period: boolean, };

export type Tick = { 
/**
 * CPUs on which the kernel may stop the tick.
 */
nohz_full?: ForeignText | null, 
/**
 * The hypervisor that must have had a part of a tick that is too long.
 */
host?: ForeignText | null, };

export type TimerInStorm = { function: KernelName, times: number, };

/**
 * The kernel delayed a timer to combine it with others.
 */
export type TimerSlack = { tid: number, slack_ns: number, };

/**
 * One record of one CPU.
 */
export type TraceEvent = { 
/**
 * Relative to due.
 */
at_ns: number, cpu: number, 
/**
 * Bits of [`flag`].
 */
flags: number, 
/**
 * Preemption-disable depth.
 */
depth: number, 
/**
 * Thread that was running; 0 is idle.
 */
thread: TaskName, what: Happened, };

/**
 * The tracing part of [`RunSettings`].
 */
export type TraceSettings = { mode: SnapshotMode, 
/**
 * Size of the ring buffer per CPU and instance.
 */
buffer_kb_per_cpu: number, 
/**
 * Time kept before the due instant and after the seen instant.
 */
margin_before_ns: number, margin_after_ns: number, 
/**
 * New maxima below this get no snapshot.
 */
threshold_ns: number, 
/**
 * Snapshots kept; when full, a larger spike replaces the smallest kept one.
 */
snapshots_max: number, 
/**
 * Snapshots kept beside these, within the same bytes. `None` in runs of earlier versions and in short ones.
 */
worst_of_each?: WorstOfEach, 
/**
 * Limit for the total bytes of all kept snapshots.
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
 * Measure even if another tool is tracing.
 */
beside_others: boolean, 
/**
 * Kernel tracer that runs beside the events.
 */
tracer: TracerSettings | null, };

/**
 * A function after which the same CPU recorded nothing for a time.
 */
export type TracedFunction = { name: string, 
/**
 * Its caller; empty if the trace does not show it.
 */
caller: string, 
/**
 * Time until the next line of the same CPU, in whole microseconds.
 */
ns: number, };

/**
 * The thread that a latency tracer followed, or that ran in the recorded stretch.
 */
export type TracedTask = { name: string, tid: number, 
/**
 * The kernel's number: 0 other, 1 FIFO, 2 RR, 6 deadline.
 */
policy: number, 
/**
 * 1 to 99 for a real-time thread, else 0.
 */
priority: number, };

/**
 * A kernel tracer, by its name in `available_tracers`, and its filters.
 */
export type TracerSettings = { 
/**
 * `nop` for none, `function`, `function_graph`, `wakeup`, `wakeup_rt`, `wakeup_dl`, `irqsoff`, `preemptoff`, `preemptirqsoff`,
 * `hwlat`, `osnoise` or `timerlat`.
 */
name: string, 
/**
 * Functions to trace, as globs or `:mod:NAME`; all if empty.
 */
functions: Array<string>, 
/**
 * Functions to leave out, as globs.
 */
functions_not: Array<string>, 
/**
 * Threads to trace; all if empty.
 */
pids: Array<number>, 
/**
 * Also trace what those threads start.
 */
children: boolean, 
/**
 * The tracer does not record latencies up to this, in ns; 0: it records only new maxima.
 */
threshold_ns: number, 
/**
 * Record the stack that the timer interrupt of the measured thread interrupted.
 */
stack: boolean, };

/**
 * Code that the late interrupt broke into.
 */
export type UnmaskedCode = "user_space" | { "neutral": KernelName } | { "enabled_earlier": KernelName } | { "entry": KernelName };

/**
 * The interrupt vectors of x86 with their own events, and the inter-processor interrupts of other machines.
 */
export type Vector = "local_timer" | "reschedule" | "call_function" | "call_function_single" | "irq_work" | "thermal_apic" | "threshold_apic" | "deferred_error_apic" | "error_apic" | "spurious_apic" | "platform_ipi" | "ipi" | "unnamed";

/**
 * Duration of a whole run in virtual time, including the guest's boot.
 */
export type VirtualSpeed = { 
/**
 * By the guest's clock, in ns. It includes idle time, which was skipped, not waited for.
 */
guest_ns: number, 
/**
 * By the host's clock, in ns.
 */
host_ns: number, };

/**
 * The end of a wait.
 */
export type WaitEnd = { "thread": { 
/**
 * It ended the wait of the watched thread.
 */
woke: TaskName, 
/**
 * The thread at the end of a chain of waiting threads: `woke` itself, or a thread that `woke` waited for.
 */
awaited: TaskName, 
/**
 * Threads of the chain, without the watched one.
 */
threads: number, progress: AwaitedProgress, } } | { "other": WakeSource };

/**
 * A watched thread slept during its work.
 */
export type Waited = { until: WaitEnd, 
/**
 * The file that it wrote out meanwhile.
 */
written?: WrittenFile | null, };

/**
 * The waker of a thread, by the context of the wake-up.
 */
export type WakeSource = { "device": Interrupt } | "block_device" | "network" | "timer" | "unknown";

/**
 * The threads to watch. Exactly one of `pid`, `comm`, `group` and `real_time` is set.
 */
export type WatchSettings = { 
/**
 * A process, with its threads and everything it starts.
 */
pid: number | null, 
/**
 * Threads whose name matches this pattern (`*` and `?`), now or later.
 */
comm: string | null, 
/**
 * Threads of all processes of a control group, now or later.
 */
group: ProgramGroup | null, 
/**
 * Threads with a real-time or deadline policy, of any process, now or later.
 */
real_time: boolean, 
/**
 * The command that was started to be watched, word by word; empty if the watched program was already running.
 */
command: Array<string>, 
/**
 * Longer cycles are counted as over the limit, and are spikes.
 */
cycle_limit_ns: number | null, 
/**
 * Texts whose lines are counted, in the output of the command or in `log`.
 */
count: Array<string>, 
/**
 * The log whose lines are counted.
 */
log: LogSource | null, 
/**
 * Threads without a real-time or deadline policy count like the others.
 */
all_threads: boolean, 
/**
 * The stacks of the threads are sampled around late cycles.
 */
stacks: boolean, 
/**
 * Chains of the watched threads; the last stretch is kept when one misses its deadline.
 */
chains: Array<FollowedChain>, 
/**
 * Events that show the hand-overs of chains, and their stimuli and ends.
 */
chain_events: Array<ChainEvent>, 
/**
 * The watch stands for months, also while none of its threads exists.
 */
guard: GuardSettings | null, 
/**
 * The process is stopped. It is continued once everything is armed, and ended with the measurement.
 */
ours: boolean, };

/**
 * Kind of the samples of a series. The earlier it is declared, the better it shows how late a thread woke.
 */
export type WatchedKind = "timer" | "woken" | "cycle";

/**
 * One series of one watched thread so far; a later one replaces an earlier one.
 */
export type WatchedSeries = { 
/**
 * Number of the series.
 */
thread: number, kind: WatchedKind, tid: number, 
/**
 * Last known name of the thread.
 */
name: string, 
/**
 * Last policy that the kernel reported; `None` if the thread ended before it could be read.
 */
policy: Policy | null, priority: number, 
/**
 * Largest slack that the kernel was allowed for this thread's timers, in ns.
 */
slack_ns_max: number, 
/**
 * Timers that were set after they were due: cycles that overran.
 */
late_arms: number, 
/**
 * `None` if the kernel did not report them.
 */
page_faults: PageFaults | null, 
/**
 * The thread ended while it was watched.
 */
ended: boolean, };

/**
 * Why a task was not preempted.
 */
export type WhyBlocking = { "no_priority": { tid: number, } } | "chosen_again" | "not_asked" | "no_tick" | "not_in_kernel" | { "kernel_not_preemptible": { model: ForeignText, } } | { "section": { preempt_rt: boolean, } };

export type WhyLate = "functions" | "virtual_time" | { "section": MaskedSection } | "lock" | "masked_or_firmware" | { "masked_or_host_served": { host: ForeignText, } } | { "masked_or_host_delayed": { host: ForeignText, } } | "masked_or_outside";

/**
 * Threads that a task woke one after another, with interrupts masked all along.
 */
export type WokenThreads = { count: number, 
/**
 * They have the name of the task, and it or one of them ended right afterwards: a process that exits sends a signal to each of
 * its threads under one lock.
 */
ended: boolean, };

/**
 * A worker of the kernel's work queues.
 */
export type Worker = { named: NamedHolders, 
/**
 * It runs on this CPU alone, whatever the mask of work queues.
 */
is_bound: boolean, is_function_known: boolean, };

/**
 * Snapshots that each stretch of a long run keeps, however late the wake-ups of other stretches were.
 */
export type WorstOfEach = { 
/**
 * Length of a stretch. Stretches begin at its multiples on the wall clock, as the target had it at the start.
 */
stretch_ns: number, 
/**
 * Worst snapshots kept of each stretch: of wake-ups, of cycles, and of threads without a real-time policy.
 */
snapshots: number, };

/**
 * A file system by the kernel's number of its device.
 */
export type WrittenFile = { file_system: FileSystem, device: number, };

/** The archive's terms in words; the tables of the page use the same ones. */
import type { OwnerKind, PhaseName } from "./types/report";

/** Every owner kind, in the order legends list them. */
export const ownerKinds: Record<OwnerKind, string> = {
  nmi: "NMI",
  hardirq: "interrupt",
  softirq: "softirq",
  rt_task: "real-time task",
  task: "task",
  own: "measuring thread",
  tool: "other thread of this tool",
  idle: "idle",
  silence_this_cpu: "silence on this CPU",
  silence_all_cpus: "silence on all CPUs",
  steal: "steal",
  untraced: "untraced",
};

export const phases: Record<PhaseName, string> = {
  late_arm: "late arm",
  timer_delay: "timer interrupt delay",
  handler: "timer handler",
  wake_path: "wake path",
  scheduling_delay: "scheduling delay",
  return_to_user: "return to user",
  working: "at work",
  preempted: "preempted",
  waiting: "waiting",
  untraced: "untraced",
};

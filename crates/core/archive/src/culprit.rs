//! The culprits that an explanation can name, and the facts of each.
//!
//! [`culprits!`](crate::culprits) is the only list of them: `explain` takes its catalogue from it, `words` what it writes. To add one:
//! docs/how-to/adding-a-culprit.md.

mod budgets;
mod holder;
mod hypervisor;
mod interrupts;
mod interventions;
mod kernel_work;
mod known;
mod masked;
mod named;
mod names;
mod own;
mod own_timer;
mod processor;
mod scheduling;
mod silence;
mod timers;
mod waits;

pub use budgets::{FairServer, FairShare, Preferred, QuotaUsedUp, RealTimeBudget, Throttled};
pub use holder::{Holder, Holders};
pub use hypervisor::{AbsenceSign, CpuAbsence, ObservedSpan, Stolen};
pub use interrupts::{ForeignInterrupts, HeldBy, InterruptStorm, SoftirqWork, TimerInStorm};
pub use interventions::{ChangeTime, FreezeSign, Frozen, Migrated, PriorityChange, Stopped, StoppedBy};
pub use kernel_work::{Console, Worker};
pub(crate) use known::{all_known, if_known};
pub use masked::{FullCharge, LateInTask, MaskedSection, WhyLate, WokenThreads};
pub use named::NamedHolders;
pub use names::{ForeignText, KernelName, KernelPriority, TaskName};
pub use own::{FaultLengths, OwnTool, OwnWork, ThreadFaults};
pub use own_timer::{ClockStep, TimerSlack};
pub use processor::{IdleExit, SlowReturn, Slowdown, SmtSlowdown};
pub use scheduling::{AskedToYield, BlockingTask, Boosted, MoreUrgent, StoppedCpu, WhyBlocking};
pub use silence::{
    CameIn, ControllerRequest, OverdueTimer, Silence, SilencedBy, SilentPlace, SilentRequest, StoodStillIn,
    UnmaskedCode,
};
pub use timers::{LateArm, LockupWatchdog, OtherTimers, SlowTimerInterrupt, Tick};
pub use waits::{AwaitedProgress, PriorityInversion, WaitEnd, Waited, WakeSource, WrittenFile};

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// Calls a macro with every culprit: variant, identifier in archives, module, facts. In the order in which they may claim
/// stretches of a ledger, the more specific first.
#[macro_export]
macro_rules! culprits {
    ($callback:ident) => {
        $callback! {
            ThreadStopped "thread-stopped" thread_stopped Stopped;
            ThreadFrozen "thread-frozen" thread_frozen Frozen;
            ClockStep "clock-step" clock_step ClockStep;
            PriorityInversion "priority-inversion" priority_inversion PriorityInversion;
            PriorityChanged "priority-changed" priority_changed PriorityChange;
            PageFault "page-fault" page_fault ThreadFaults;
            Waiting "waiting" waiting Waited;
            TimerSlack "timer-slack" timer_slack TimerSlack;
            LateArm "late-arm" late_arm LateArm;
            OwnTool "own-tool" own_tool OwnTool;
            AnotherRun "another-run" another_run NamedHolders;
            Silence "silence" silence Silence;
            CfsQuota "cfs-quota" cfs_quota QuotaUsedUp;
            RtThrottling "rt-throttling" rt_throttling Throttled;
            FairServer "fair-server" fair_server FairShare;
            Nmi "nmi" nmi HeldBy;
            IrqStorm "irq-storm" irq_storm InterruptStorm;
            TlbShootdown "tlb-shootdown" tlb_shootdown NamedHolders;
            TextPatching "text-patching" text_patching NamedHolders;
            CacheFlush "cache-flush" cache_flush NamedHolders;
            Membarrier "membarrier" membarrier NamedHolders;
            Rcu "rcu" rcu NamedHolders;
            IrqWork "irq-work" irq_work NamedHolders;
            RescheduleIpi "reschedule-ipi" reschedule_ipi NamedHolders;
            Thermal "thermal" thermal NamedHolders;
            Network "network" network NamedHolders;
            Usb "usb" usb NamedHolders;
            Storage "storage" storage NamedHolders;
            SlowBus "slow-bus" slow_bus NamedHolders;
            Graphics "graphics" graphics NamedHolders;
            Acpi "acpi" acpi NamedHolders;
            EfiRuntime "efi-runtime" efi_runtime NamedHolders;
            FirmwareCall "firmware-call" firmware_call NamedHolders;
            Tick "tick" tick Tick;
            Watchdog "watchdog" watchdog LockupWatchdog;
            ClocksourceWatchdog "clocksource-watchdog" clocksource_watchdog NamedHolders;
            Timers "timers" timers OtherTimers;
            PreviousIrq "previous-irq" previous_irq ForeignInterrupts;
            Smt "smt" smt SmtSlowdown;
            MemoryContention "memory-contention" memory_contention Slowdown;
            TimerInterrupt "timer-interrupt" timer_interrupt SlowTimerInterrupt;
            Softirq "softirq" softirq SoftirqWork;
            StopMachine "stop-machine" stop_machine StoppedCpu;
            ThreadedIrq "threaded-irq" threaded_irq MoreUrgent;
            CpuFrequency "cpu-frequency" cpu_frequency NamedHolders;
            BoostedTask "boosted-task" boosted_task Boosted;
            OtherRtTask "other-rt-task" other_rt_task MoreUrgent;
            Migration "migration" migration Migrated;
            IdleExit "idle-exit" idle_exit IdleExit;
            Steal "steal" steal Stolen;
            Printk "printk" printk Console;
            IrqsOff "irqs-off" irqs_off LateInTask;
            SlabShrink "slab-shrink" slab_shrink NamedHolders;
            Reclaim "reclaim" reclaim NamedHolders;
            Compaction "compaction" compaction NamedHolders;
            Ksm "ksm" ksm NamedHolders;
            NumaBalancing "numa-balancing" numa_balancing NamedHolders;
            Vmstat "vmstat" vmstat NamedHolders;
            MemcgDrain "memcg-drain" memcg_drain NamedHolders;
            ModuleLoad "module-load" module_load NamedHolders;
            CpuHotplug "cpu-hotplug" cpu_hotplug NamedHolders;
            Workqueue "workqueue" workqueue Worker;
            BlockingTask "blocking-task" blocking_task BlockingTask;
            OwnWork "own-work" own_work OwnWork;
            SlowReturn "slow-return" slow_return SlowReturn;
        }
    };
}

macro_rules! define {
    ($($variant:ident $id:literal $module:ident $facts:ident;)*) => {
        /// A cause of a late sample.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "String"))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
        pub enum Culprit {
            $($variant,)*
            /// Of an older or a newer version.
            Other(String),
        }

        impl Culprit {
            /// Every culprit of this version.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Stable identifier, as it appears in archives.
            pub fn id(&self) -> &str {
                match self {
                    $(Self::$variant => $id,)*
                    Self::Other(id) => id,
                }
            }
        }

        impl From<&str> for Culprit {
            fn from(id: &str) -> Self {
                match id {
                    $($id => Self::$variant,)*
                    _ => Self::Other(id.to_owned()),
                }
            }
        }

        /// The facts about a culprit in one spike.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Facts {
            $(#[serde(rename = $id)] $variant($facts),)*
        }

        impl Facts {
            /// The culprit that has these facts.
            pub fn culprit(&self) -> Culprit {
                match self {
                    $(Self::$variant(_) => Culprit::$variant,)*
                }
            }
        }
    };
}

culprits!(define);

impl From<String> for Culprit {
    fn from(id: String) -> Self {
        Self::from(id.as_str())
    }
}

impl From<Culprit> for String {
    fn from(culprit: Culprit) -> Self {
        culprit.id().to_owned()
    }
}

impl fmt::Display for Culprit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.id())
    }
}

/// By identifier, so that lists do not depend on the version.
impl Ord for Culprit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id().cmp(other.id())
    }
}

impl PartialOrd for Culprit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;

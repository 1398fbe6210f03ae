//! Words about irq-storm: interrupt storm.

use super::{Advice, FindingWords};
use crate::holders::holder;
use crate::voice::Share;
use archive::culprit::{InterruptStorm, KernelName};

pub const ADVICE: Advice = Advice {
    title: "interrupt storm",
    confirm: "the rate in /proc/interrupts; /proc/irq/N/spurious counts unhandled interrupts",
    fix: "raise the coalescing of the interrupt, move the interrupt, or unplug the device; stop the profiler, or sample less often",
};

pub fn words(facts: &InterruptStorm, share: Share) -> FindingWords {
    match facts {
        InterruptStorm::Profiler { cpu, timer: KernelName(timer), samples, per_second, changes, deferred } => {
            let changed = match changes {
                0 => String::new(),
                1 => " and changed its events once".into(),
                times => format!(" and changed its events {times} times"),
            };
            let next = if *deferred { "; the kernel deferred the next timer interrupt because of them" } else { "" };
            FindingWords {
                sentence: format!(
                    "a profiler (perf record) took {samples} samples of CPU {cpu} by {timer}{changed} ({share}){next}"
                ),
                evidence: vec![format!("{samples} samples between due and seen, {per_second} per second")],
                confirm: "pgrep perf; /proc/sys/kernel/perf_event_max_sample_rate is the limit; the rate in /proc/interrupts".into(),
                fix: "stop `perf record`, or sample less often (-F); perf samples by a timer where the machine has no counters"
                    .into(),
            }
        }
        InterruptStorm::Line { who, entries, per_second, irq, timer } => {
            let what = timer
                .as_ref()
                .map_or_else(String::new, |timer| format!(", {} times to execute {}", timer.times, timer.function.0));
            let fix = match irq {
                Some(irq) => format!(
                    "raise the coalescing of the interrupt, move the interrupt (/proc/irq/{irq}/smp_affinity_list), or unplug the device; a device on a shared line may never clear its interrupt"
                ),
                None => "find the sender with ipi:ipi_send_cpu or timer:hrtimer_start and keep it off this CPU".into(),
            };
            FindingWords {
                sentence: format!("{} fired {entries} times{what} ({share})", holder(who)),
                evidence: vec![format!("{entries} entries between due and seen, {per_second} per second")],
                confirm: "watch the rate in /proc/interrupts; /proc/irq/*/spurious counts unhandled interrupts".into(),
                fix,
            }
        }
    }
}

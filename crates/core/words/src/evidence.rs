//! Evidence of a finding as lines.

use crate::figures::latency;
use crate::holders::task;
use crate::own_code;
use crate::trace_event::{self, relative};
use crate::voice::Voice;
use archive::culprit::KernelName;
use archive::evidence::{Evidence, FunctionTime, InferredFrom, Masking};
use archive::functions::{ChainSource, USER_SPACE};

/// Maximum number of callers in a sentence.
const CHAIN_SAID: usize = 4;

/// One piece of evidence.
pub fn line(evidence: &Evidence, voice: Voice) -> String {
    match evidence {
        Evidence::Event(event) => trace_event::line(event),
        Evidence::StealTime { ns } => {
            let steal = latency(i64::try_from(*ns).unwrap_or(i64::MAX));
            format!("steal time since the snapshot before: {steal} (in steps of 10 ms)")
        }
        Evidence::Deferral { entered_ns, executed_ns, deferred_ns } => format!(
            "the timer interrupt at {} executed timers for {} and the next one came {} after it: a kernel that finds timers due after \
             three rounds defers the next interrupt by as long as this one took",
            relative(*entered_ns),
            latency(*executed_ns),
            latency(*deferred_ns)
        ),
        Evidence::Inferred { thread, start_ns, end_ns, from } => {
            inferred(&task(thread), *from, &short(*start_ns), &short(*end_ns))
        }
        Evidence::Function(spent) => {
            let source = match spent.source {
                ChainSource::Entries => "from function entries",
                ChainSource::Graph => "from the function graph",
                ChainSource::Stack => "from a stack trace",
            };
            let chain: Vec<&str> = spent.chain.iter().map(|KernelName(name)| name.as_str()).collect();
            let time = spent.ns.map(|ns| format!(", {}", latency(ns))).unwrap_or_default();
            format!("functions, {source}: {}{time}", chain.join(" < "))
        }
        Evidence::SlowCode(slow) => own_code::samples(&slow.samples),
        Evidence::LongestWait(wait) => own_code::wait_stack(wait),
        Evidence::Masked { masking, ns, ns_max, first, last } => {
            let what = match masking {
                Masking::Interrupts => "interrupts were",
                Masking::Preemption => "preemption was",
            };
            let (ns, most) = (latency(*ns), latency(*ns_max));
            format!("{what} off in every record of {ns} ({most} at most), from `{}` to `{}`", first.0, last.0)
        }
        Evidence::Lock { ns, taker, by } => {
            format!("{} of it under the lock that `{}` took with `{}`", latency(*ns), taker.0, by.0)
        }
        Evidence::Ordinary { usual_ns, as_long, controls } => {
            let (samples, usually) = (voice.sample.many, latency(*usual_ns));
            format!("in ordinary {samples} this takes {usually}, and about as long in {as_long} of {controls}")
        }
    }
}

fn short(at_ns: i64) -> String {
    format!("{:+.1} µs", at_ns as f64 / 1e3)
}

/// Why a thread is considered to have had the CPU although no switch to it was recorded.
fn inferred(who: &str, from: InferredFrom, start: &str, end: &str) -> String {
    match from {
        InferredFrom::IdleGaveWay => format!(
            "inferred: the trace has no switch to {who}; at {start} the kernel had asked idle to yield (N) outside of any interrupt, no \
             other thread of that priority had become runnable here except the measuring thread, and the next record of the CPU, at {end}, \
             is of this thread"
        ),
        InferredFrom::OwnWasSeen => format!(
            "inferred: the trace has no switch to {who}, which had the CPU at {start}, and the next record of the CPU, at {end}, is of it"
        ),
        InferredFrom::PreemptionDisabled => format!(
            "inferred: the trace has no switch from {who}; an interrupt on top of it left it in a section with preemption disabled, \
             although the kernel had asked it to yield (N) to the measuring thread; the last record of that is at {start}, and the next \
             record of the CPU, at {end}, is of the measuring thread"
        ),
    }
}

/// The end of a sentence about time that was spent in a function. `innocent`: the context that had the CPU did not cause
/// the delay.
pub fn where_spent(spent: &FunctionTime, innocent: bool) -> String {
    let chain = innermost(&spent.chain);
    match spent.ns {
        Some(_) if innocent && !spent.last_entered => format!("; it was in {chain} then"),
        Some(ns) if spent.last_entered => format!("; for {} no function was entered after {chain}", latency(ns)),
        Some(ns) => format!("; {} were spent in {chain}", latency(ns)),
        None => format!("; a stack trace shows it in {chain}"),
    }
}

/// `shrink_dentry_list` < `prune_dcache_sb`, only the innermost functions.
fn innermost(chain: &[KernelName]) -> String {
    if chain.first().is_some_and(|KernelName(name)| name == USER_SPACE) {
        return USER_SPACE.to_owned();
    }
    let quoted: Vec<String> = chain.iter().take(CHAIN_SAID).map(|KernelName(name)| format!("`{name}`")).collect();
    quoted.join(" < ")
}

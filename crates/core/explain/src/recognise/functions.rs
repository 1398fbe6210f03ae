//! Evidence from the functions of a trace, if a function tracer or stack traces were recorded: the function in which an
//! owner of the ledger spent its time and its callers, and how long a CPU could not be interrupted or preempted.

mod calls;
mod locks;
mod longest;
mod masked;
mod path_tree;
mod per_thread;
mod running;

pub use longest::Longest;
use masked::{Masked, Masking};

use crate::account::ledger::Piece;
use crate::read::unwinding::{self, Role};
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;
use crate::replay::trace::{CpuActivity, Stack};
use archive::culprit::KernelName;
use archive::evidence::{Evidence, FunctionTime};
use archive::functions::{ChainSource, FunctionAccount, HeldInFunction, HeldLock, MaskedStretch};
use calls::Level;

/// Maximum number of owners with a call chain.
const OWNERS_MAX: usize = 4;
/// An owner below this percentage of the traced part of the latency gets no chain.
const OWNER_PERCENT_MIN: i64 = 5;
/// Maximum number of callers that are kept.
const CHAIN_MAX: usize = 16;
/// A CPU that records functions records one at least this often, unless it is not executed or computes without calls.
const PAUSE_NS_MAX: i64 = 100_000;

/// The account of a whole wake-up; `None` if the trace has neither functions nor stacks.
pub fn account(case: &Case) -> Option<FunctionAccount> {
    if !case.trace.cpus.iter().any(|activity| activity.has_functions) {
        return None;
    }
    let mut owners: Vec<(u32, Context, Vec<&Piece>)> = Vec::new();
    for piece in case.pieces {
        let Some(context) = held(piece).filter(|context| is_other_context(*context)) else { continue };
        match owners.iter_mut().find(|(cpu, known, _)| *cpu == piece.cpu && *known == context) {
            Some((_, _, pieces)) => pieces.push(piece),
            None => owners.push((piece.cpu, context, vec![piece])),
        }
    }
    let total = |pieces: &[&Piece]| pieces.iter().map(|piece| piece.ns()).sum::<i64>();
    owners.sort_by_key(|(_, _, pieces)| std::cmp::Reverse(total(pieces)));
    owners.truncate(OWNERS_MAX);
    let shown: Vec<&Piece> = case.pieces.iter().filter(|piece| piece.answer.context() != Context::Untraced).collect();
    let least_ns = total(&shown).saturating_mul(OWNER_PERCENT_MIN);
    owners.retain(|(_, _, pieces)| total(pieces).saturating_mul(100) >= least_ns);
    let held = owners.into_iter().filter_map(|(cpu, context, pieces)| {
        let FunctionTime { ns, chain, source, last_entered } = spent(case, &pieces)?;
        Some(HeldInFunction {
            cpu,
            kind: case.tool_threads.kind(context, case.names()),
            name: context.name(case.names()),
            owner_ns: total(&pieces),
            ns,
            chain: chain.into_iter().map(|KernelName(name)| name).collect(),
            source,
            last_entered,
        })
    });
    Some(FunctionAccount {
        lock: case.longest.lock().map(|held| HeldLock {
            late_ns: held.ns_between(case.trace.window.due_ns, case.trace.window.seen_ns),
            start_ns: held.start_ns - case.trace.window.due_ns,
            end_ns: held.end_ns - case.trace.window.due_ns,
            thread: case.names().task(held.tid),
            taker: held.taker.clone(),
            by: held.by.clone(),
            releaser: held.releaser.clone(),
        }),
        held: held.collect(),
        irqs_off: case.longest.masked(Masking::Interrupts).map(|masked| stretch(case, masked)),
        preempt_off: case.longest.masked(Masking::Preemption).map(|masked| stretch(case, masked)),
    })
}

/// The function of the pieces, according to the functions of the CPU that has most of their time.
pub fn spent(case: &Case, pieces: &[&Piece]) -> Option<FunctionTime> {
    let mut by_cpu: Vec<(u32, i64)> = Vec::new();
    for piece in pieces {
        match by_cpu.iter_mut().find(|(cpu, _)| *cpu == piece.cpu) {
            Some((_, ns)) => *ns += piece.ns(),
            None => by_cpu.push((piece.cpu, piece.ns())),
        }
    }
    let &(cpu, total_ns) = by_cpu.iter().max_by_key(|(_, ns)| *ns)?;
    let activity = case.trace.cpu(cpu).filter(|activity| activity.has_functions)?;
    let mut stretches: Vec<(i64, i64)> =
        pieces.iter().filter(|piece| piece.cpu == cpu).map(|piece| (piece.start_ns, piece.end_ns)).collect();
    stretches.sort_unstable();
    let all = |wanted: fn(Context) -> bool| pieces.iter().all(|piece| wanted(piece.answer.context()));
    let level = if all(Context::is_hardirq) {
        Level::Interrupt
    } else if all(|context| matches!(context, Context::Task { .. })) {
        Level::Thread
    } else {
        Level::Any
    };
    let followed = calls::most_of(activity, case.names(), &stretches, total_ns, level);
    // A stack trace is more reliable than an entry after which nothing was recorded.
    let doubtful = followed.as_ref().is_none_or(|most| most.last_entered);
    let stack = if doubtful && level != Level::Interrupt { stack_of(case, activity, &stretches) } else { None };
    let (ns, chain, source, last_entered) = match (stack, followed) {
        (Some(stack), _) => (None, stack, ChainSource::Stack, false),
        (None, Some(most)) => (Some(most.ns), most.chain, most.source, most.last_entered),
        (None, None) => return None,
    };
    // The code that an interrupt broke into did not call it.
    let outermost = chain.iter().rposition(|name| unwinding::is_interrupt_entry(name)).map_or(chain.len(), |at| at + 1);
    let chain: Vec<KernelName> = chain.into_iter().take(outermost.min(CHAIN_MAX)).map(KernelName).collect();
    (!chain.is_empty()).then_some(FunctionTime { ns, chain, source, last_entered })
}

/// The same for a finding, by indices of its pieces; silence has no function.
pub fn spent_by(case: &Case, indices: &[usize]) -> Option<FunctionTime> {
    let pieces: Vec<&Piece> = indices.iter().filter_map(|&index| case.pieces.get(index)).collect();
    let theirs: Vec<&Piece> =
        pieces.iter().copied().filter(|piece| held(piece).is_some_and(is_other_context)).collect();
    let ns = |pieces: &[&Piece]| pieces.iter().map(|piece| piece.ns()).sum::<i64>();
    // A finding that is mostly silence or idle has no function.
    if theirs.is_empty() || ns(&theirs) * 2 < ns(&pieces) { None } else { spent(case, &theirs) }
}

/// The thread's calls in a stack trace inside the longest of the stretches, or else from the interrupts before and
/// after it: one shows what it broke into, the other what had kept it waiting.
fn stack_of(case: &Case, activity: &CpuActivity, stretches: &[(i64, i64)]) -> Option<Vec<String>> {
    let &(start_ns, end_ns) = stretches.iter().max_by_key(|(start_ns, end_ns)| end_ns - start_ns)?;
    let running = activity.overlapping(start_ns, end_ns).iter().find_map(|interval| interval.context.tid());
    let (first_ns, last_ns) = (stretches.first()?.0, stretches.last()?.1);
    let before =
        activity.overlapping(i64::MIN, first_ns).iter().rev().take_while(|interval| interval.context.is_hardirq());
    let after = activity.overlapping(last_ns, i64::MAX).iter().take_while(|interval| interval.context.is_hardirq());
    let from_ns = before.last().map_or(first_ns, |interval| interval.start_ns);
    let to_ns = after.last().map_or(last_ns, |interval| interval.end_ns);
    let fits =
        |stack: &&Stack| stack.ts_ns >= from_ns && stack.ts_ns <= to_ns && running.is_none_or(|tid| tid == stack.tid);
    let inside = |stack: &&Stack| stack.ts_ns >= start_ns && stack.ts_ns <= end_ns;
    let mut fitting = activity.stacks.iter().filter(fits);
    let stack = fitting.clone().find(inside).or_else(|| fitting.next())?;
    let names: Vec<String> = stack.callers.iter().map(|&caller| case.names().function(caller)).collect();
    let thread = unwinding::thread_part(&names, |name| Role::of(name));
    (!thread.is_empty()).then(|| thread.to_vec())
}

fn is_other_context(context: Context) -> bool {
    !matches!(context, Context::Untraced | Context::Idle { .. } | Context::Nmi { .. })
}

/// Whether functions show that interrupts were masked for most of the pieces. A long pause between two records does not
/// prove it, except in virtual time: a hypervisor or firmware may have had the CPU in the middle of a short masked
/// section.
pub fn proves_masked(case: &Case, indices: &[usize]) -> bool {
    let Some(masked) = case.longest.masked(Masking::Interrupts) else { return false };
    let paused_ns: i64 = match case.in_virtual_time() {
        true => 0,
        false => pauses(case, masked).map(|(from_ns, to_ns)| shared_ns(case, indices, from_ns, to_ns)).sum(),
    };
    let shown_ns = shared_ns(case, indices, masked.start_ns, masked.end_ns) - paused_ns;
    shown_ns.saturating_mul(10) >= case.ns(indices).saturating_mul(8)
}

/// Stretches of the late CPU without any record, inside a masked one.
fn pauses<'a>(case: &'a Case, masked: &Masked) -> impl Iterator<Item = (i64, i64)> + 'a {
    let events = case.trace.cpu(case.cpu()).map_or(&[][..], |activity| &activity.events);
    let first = events.partition_point(|event| event.ts_ns < masked.start_ns);
    let last = events.partition_point(|event| event.ts_ns <= masked.end_ns);
    let inside = events.get(first..last).unwrap_or_default();
    let pairs = inside.windows(2).map(|pair| (pair[0].ts_ns, pair[1].ts_ns));
    pairs.filter(|(from_ns, to_ns)| to_ns - from_ns > PAUSE_NS_MAX)
}

/// The part of the pieces that is in a stretch of the late CPU.
fn shared_ns(case: &Case, indices: &[usize], start_ns: i64, end_ns: i64) -> i64 {
    let pieces = indices.iter().filter_map(|&index| case.pieces.get(index)).filter(|piece| piece.cpu == case.cpu());
    pieces.map(|piece| (piece.end_ns.min(end_ns) - piece.start_ns.max(start_ns)).max(0)).sum()
}

fn stretch(case: &Case, masked: &Masked) -> MaskedStretch {
    let due_ns = case.trace.window.due_ns;
    MaskedStretch {
        cpu: case.cpu(),
        start_ns: masked.start_ns - due_ns,
        end_ns: masked.end_ns - due_ns,
        ns_max: masked.ns_max,
        thread: case.names().task(masked.tid),
        first: masked.first.clone(),
        last: masked.last.clone(),
    }
}

/// The evidence that functions give for a finding.
pub fn evidence(case: &Case, indices: &[usize]) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = spent_by(case, indices).map(Evidence::Function).into_iter().collect();
    for masking in [Masking::Interrupts, Masking::Preemption] {
        let Some(masked) = case.longest.masked(masking) else { continue };
        if shared_ns(case, indices, masked.start_ns, masked.end_ns).saturating_mul(2) >= case.ns(indices) {
            evidence.push(Evidence::Masked {
                masking,
                ns: masked.ns(),
                ns_max: masked.ns_max,
                first: KernelName(masked.first.clone()),
                last: KernelName(masked.last.clone()),
            });
        }
    }
    if let Some(held) = case.longest.lock() {
        let pieces = indices.iter().filter_map(|&index| case.pieces.get(index)).filter(|piece| piece.cpu == case.cpu());
        let ns: i64 = pieces.map(|piece| held.ns_between(piece.start_ns, piece.end_ns)).sum();
        if ns.saturating_mul(2) >= case.ns(indices) {
            let (taker, by) = (KernelName(held.taker.clone()), KernelName(held.by.clone()));
            evidence.push(Evidence::Lock { ns, taker, by });
        }
    }
    evidence
}

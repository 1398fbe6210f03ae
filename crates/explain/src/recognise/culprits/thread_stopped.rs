//! The measuring thread was stopped by a signal or a debugger.

use super::about::{About, Proof};
use crate::read::event::{EventKind, state};
use crate::recognise::case::{Case, Claim};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "sched_switch shows the thread leaving the CPU stopped or traced, and not coming back until later",
    confirm: "look for SIGSTOP, a debugger, a frozen cgroup or a suspended shell job",
    fix: "do not stop the process during a measurement; such a sample says nothing about the kernel",
    reading: &["Control Group v2"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let tid = case.tool_threads.own_tid;
    let mut events = case.trace.tracepoints_by_time();
    events.extend(case.trace.cpus.iter().filter_map(|activity| activity.before.own_left));
    events.sort_by_key(|event| event.ts_ns);
    let stop = events.iter().find(|event| {
        matches!(event.what, EventKind::Switch { prev, prev_state, .. }
            if prev == tid && prev_state & (state::STOPPED | state::TRACED) != 0)
    })?;
    let go_on = events
        .iter()
        .find(|event| event.ts_ns > stop.ts_ns && matches!(event.what, EventKind::Switch { next, .. } if next == tid));
    let until_ns = go_on.map_or(i64::MAX, |event| event.ts_ns);
    let pieces = case.claim(|piece| piece.end_ns > stop.ts_ns && piece.start_ns < until_ns)?;
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("a signal or a debugger stopped the measuring thread ({})", case.share(&pieces)),
        events: [Some(stop), go_on].into_iter().flatten().copied().collect(),
        evidence: Vec::new(),
        confirm: "look for SIGSTOP, a debugger, a frozen cgroup or a suspended shell job".into(),
        fix: "do not stop the process during a measurement; this sample says nothing about the kernel".into(),
        pieces,
    })
}

//! The thread had page faults.

use super::about::{About, Proof};
use crate::cut::thread_states::ThreadState;
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim};
use crate::replay::page_faults::{self, Faults};
use archive::culprit::ThreadFaults;
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "exceptions:page_fault_user or page_fault_kernel of the thread itself between due and seen; in the work of a watched \
                 thread each lasts up to kmem:mm_page_alloc or rss_stat, where they were recorded",
    events: &["page_fault_user|page_fault_kernel|mm_page_alloc|rss_stat|function|sched_switch"],
    shows: "the thread's own faults; how long one takes has no event",
    reading: &["Unevictable LRU Infrastructure"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, ThreadFaults>> {
    let tid = case.tool_threads.own_tid;
    if case.input.spike.watched.is_some() {
        return in_its_work(case);
    }
    let fault = case.event(|event| event.tid == tid && matches!(event.what, EventKind::PageFault { .. }))?;
    let pieces = case.claim(|piece| {
        piece.phase == PhaseName::ReturnToUser && piece.end_ns > fault.ts_ns && case.kind(piece) == OwnerKind::Own
    })?;
    let facts = ThreadFaults::BeforeTheClock { tid };
    Some(Claim { events: vec![fault], ..Claim::new(pieces, Confidence::Likely, facts) })
}

fn in_its_work<'c>(case: &Case<'c>) -> Option<Claim<'c, ThreadFaults>> {
    let tid = case.tool_threads.own_tid;
    let pieces = case.claim(|piece| {
        case.state_span(piece).is_some_and(|span| match span.state {
            ThreadState::Faulting => case.kind(piece) == OwnerKind::Own,
            state => state == ThreadState::Fetching,
        })
    })?;
    let (first, last) = (case.pieces[*pieces.first()?].start_ns, case.pieces[*pieces.last()?].end_ns);
    let activity = case.trace.cpus.iter().flat_map(|activity| activity.events_between(first, last));
    let faults: Vec<_> = activity
        .filter(|event| event.tid == tid && matches!(event.what, EventKind::PageFault { .. }))
        .copied()
        .collect();
    let virtualisation = case.input.environment.and_then(|environment| environment.virtualisation.as_deref());
    let found = Faults::find(&case.trace.events_by_time(), tid, page_faults::apart_ns(virtualisation));
    let slept = pieces
        .iter()
        .any(|&index| case.state_span(&case.pieces[index]).is_some_and(|span| span.state == ThreadState::Fetching));
    let facts = ThreadFaults::InItsWork {
        thread: case.names().task_name(tid),
        count: faults.len(),
        waited_for_device: slept,
        lengths: found.lengths(first, last),
    };
    let events = faults.first().into_iter().chain(faults.last()).copied().collect();
    Some(Claim { events, ..Claim::new(pieces, Confidence::Likely, facts) })
}

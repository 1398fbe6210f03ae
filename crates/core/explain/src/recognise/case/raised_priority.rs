//! Evidence that a thread had raised its own priority before it kept the late one off its CPU.

use super::Case;
use crate::account::ledger::Piece;
use crate::replay::priorities::PrioChange;

impl Case<'_> {
    /// The priority that a thread gave itself before a piece: no event records that, and the next one shows it. The kernel did not
    /// ask the thread to yield when it woke the late one, so it had the priority already.
    pub fn raised_unseen(&self, tid: i32, piece: &Piece) -> Option<i32> {
        let spans = |change: &PrioChange| change.after_ns <= piece.start_ns && piece.end_ns <= change.by_ns;
        let change = self.trace.priorities.changes(tid).find(spans)?;
        let raised = change.inherited.is_none() && change.new_prio < change.old_prio && self.kept_off(piece);
        (raised && !self.is_asked_to_yield(tid, piece.cpu)).then_some(change.new_prio)
    }

    /// Whether the kernel asked a thread to yield to the late one. A request that comes in the second half of the wait, after events
    /// of the thread without one, has another reason, such as the end of the thread.
    fn is_asked_to_yield(&self, tid: i32, cpu: u32) -> bool {
        let (seen_ns, due_ns) = (self.trace.window.seen_ns, self.trace.window.due_ns);
        let woken_ns = self.anchors.waking.map_or(due_ns, |waking| waking.ts_ns.max(due_ns));
        let events = self.trace.cpu(cpu).map_or(&[][..], |cpu| cpu.events_between(woken_ns + 1, seen_ns));
        let mut of_thread = events.iter().filter(|event| event.tid == tid).peekable();
        let runs_on = of_thread.peek().is_some_and(|first| !first.needs_resched());
        let asked_ns = of_thread.find(|event| event.needs_resched()).map(|event| event.ts_ns);
        asked_ns.is_some_and(|ns| !runs_on || ns - woken_ns < seen_ns - ns)
    }
}

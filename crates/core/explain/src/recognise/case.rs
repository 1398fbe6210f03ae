//! Everything a culprit may look at: one wake-up with its ledger, the trace around it, and what is ordinary.

mod raised_priority;

use crate::SpikeInput;
use crate::account::interrupted_code::late_record;
use crate::account::ledger::{Answer, Piece};
use crate::account::steal_clock::StealClock;
use crate::account::steal_count;
use crate::account::vcpu_absences::{Charged, PlacedAbsence};
use crate::cut::anchors::Anchors;
use crate::cut::thread_states::{StateSpan, ThreadState};
use crate::read::event::{Event, EventKind};
use crate::read::named_event::named_event;
use crate::read::names::Names;
use crate::recognise::functions::Longest;
use crate::replay::context::{Context, ToolThreads};
use crate::replay::thread_life::{LifeSpan, LifeState};
use crate::replay::timeline::inferred::{Inference, Inferred};
use crate::replay::timer_deferral::Deferral;
use crate::replay::trace::Trace;
use archive::culprit::{Holder, Holders};
use archive::environment::VIRTUAL_TIME;
use archive::evidence::Evidence;
use archive::explanation::{Confidence, OwnerKind, PhaseName};
use archive::method::Stimulus;
use archive::spike::{Interrupted, LateInterrupt};

/// Stretches whose first and last events are shown as evidence.
const STRETCHES_SHOWN: usize = 3;
/// A finding below this part of the latency is not worth a sentence.
const SHARE_MIN_PERCENT: i64 = 5;
/// In a longer pause between two records of a CPU its hypervisor can have had it.
const PAUSE_NS_MAX: i64 = 100_000;
/// The slowest tick that kernels are built with.
const TICK_HZ_MIN: i64 = 100;
/// Part of a stretch that may lie in such pauses for the records to show that the CPU ran.
const UNSEEN_PERCENT_MAX: i64 = 30;

/// In a shorter pause an executed CPU can be silent.
const SHORT_PAUSE_NS_MAX: i64 = 10_000;
/// Part of a stretch that may lie in longer ones if hardly any of it can have been a hypervisor's.
const PAUSED_PERCENT_MAX: i64 = 20;

/// One wake-up with its account.
pub struct Case<'c> {
    pub input: &'c SpikeInput<'c>,
    pub trace: &'c Trace<'c>,
    pub tool_threads: &'c ToolThreads,
    pub anchors: &'c Anchors,
    /// The states of the thread, before due included.
    pub life: &'c [LifeSpan<'c>],
    /// State of a watched thread while the account is about its work.
    pub thread_states: &'c [StateSpan],
    pub pieces: &'c [Piece],
    /// When the host did not execute the machine.
    pub absences: &'c [PlacedAbsence],
    pub steal_clock: &'c StealClock,
    pub wake_interrupt: Option<WakeInterrupt>,
    pub longest: Longest<'c>,
    /// Pieces another culprit has claimed already.
    pub taken: Vec<bool>,
}

/// A culprit's finding: the pieces of the ledger it answers for, and its facts.
pub struct Claim<'c, F> {
    /// Indices into [`Case::pieces`].
    pub pieces: Vec<usize>,
    pub confidence: Confidence,
    pub facts: F,
    /// Events that show it, beyond those that begin and end the longest of the stretches.
    pub events: Vec<Event<'c>>,
    /// The evidence beyond events and facts.
    pub evidence: Vec<Evidence>,
}

impl<'c, F> Claim<'c, F> {
    /// A claim that rests on the events that begin and end its stretches.
    pub fn new(pieces: Vec<usize>, confidence: Confidence, facts: F) -> Self {
        Self { pieces, confidence, facts, events: Vec::new(), evidence: Vec::new() }
    }

    /// The same with other facts.
    pub fn map<G>(self, facts: impl FnOnce(F) -> G) -> Claim<'c, G> {
        let Self { pieces, confidence, facts: old, events, evidence } = self;
        Claim { pieces, confidence, facts: facts(old), events, evidence }
    }
}

impl<'c> Case<'c> {
    pub fn names(&self) -> &'c Names {
        &self.trace.names
    }

    pub fn latency_ns(&self) -> i64 {
        self.input.spike.sample.latency_ns
    }

    pub fn cpu(&self) -> u32 {
        self.input.spike.sample.cpu
    }

    /// Free pieces that `wanted` accepts; `None` when together they are too little to matter. Nobody in a guest answers
    /// for what its hypervisor did not execute.
    pub fn claim(&self, wanted: impl Fn(&Piece) -> bool) -> Option<Vec<usize>> {
        self.claim_any(|piece| !matches!(piece.answer, Answer::NotExecuted(_)) && wanted(piece))
    }

    /// The pieces that the host of a virtual machine did not execute; `None` when together they are too little to matter.
    pub fn claim_not_executed(&self) -> Option<Vec<usize>> {
        self.claim_any(|piece| matches!(piece.answer, Answer::NotExecuted(_)))
    }

    /// Free pieces that `wanted` accepts, not executed ones included: for culprits that keep the thread from running regardless of
    /// what the CPU does.
    pub fn claim_any(&self, wanted: impl Fn(&Piece) -> bool) -> Option<Vec<usize>> {
        let free = |index: &usize| !self.taken[*index] && wanted(&self.pieces[*index]);
        let claimed: Vec<usize> = (0..self.pieces.len()).filter(free).collect();
        let enough = self.ns(&claimed) * 100 >= self.latency_ns() * SHARE_MIN_PERCENT;
        (!claimed.is_empty() && enough).then_some(claimed)
    }

    pub fn ns(&self, pieces: &[usize]) -> i64 {
        pieces.iter().map(|&index| self.pieces[index].ns()).sum()
    }

    /// Kind of the owner of a piece; of a task by the priority that it has in this piece.
    pub fn kind(&self, piece: &Piece) -> OwnerKind {
        let kind = piece.answer.kind(self.tool_threads, self.names());
        let tid = piece.answer.context().tid();
        match (kind, tid.and_then(|tid| self.prio_in(tid, piece))) {
            (OwnerKind::Task | OwnerKind::RtTask, Some(..100)) => OwnerKind::RtTask,
            (OwnerKind::Task | OwnerKind::RtTask, Some(100..)) => OwnerKind::Task,
            _ => kind,
        }
    }

    /// The state that the thread is in as a piece begins.
    pub fn life_span(&self, piece: &Piece) -> Option<&'c LifeSpan<'c>> {
        self.life.iter().find(|span| span.contains(piece.start_ns))
    }

    /// Whether the thread sleeps without a timer on its own account: a watched one, or one that waits for a stimulus.
    pub fn sleeps_without_timer(&self) -> bool {
        self.input.spike.watched.is_some() || self.input.stimulus != Stimulus::Timer
    }

    /// State of a watched thread in a piece of its own work; `None` for all other pieces.
    pub fn state_span(&self, piece: &Piece) -> Option<&'c StateSpan> {
        let work = [PhaseName::LateArm, PhaseName::Working, PhaseName::Preempted, PhaseName::Waiting];
        let inside = |span: &&StateSpan| span.start_ns <= piece.start_ns && piece.start_ns < span.end_ns;
        work.contains(&piece.phase).then(|| self.thread_states.iter().find(inside)).flatten()
    }

    /// Whether the thread could run in this piece and was not given the CPU.
    pub fn kept_off(&self, piece: &Piece) -> bool {
        let on_the_way = piece.phase == PhaseName::LateArm && !self.previous_overran();
        matches!(piece.phase, PhaseName::SchedulingDelay | PhaseName::Preempted)
            || on_the_way && self.life_span(piece).is_some_and(|span| span.state == LifeState::Runnable)
            || self.state_span(piece).is_some_and(|span| span.state == ThreadState::Ready)
            || piece.phase == PhaseName::Untraced && self.is_kept_by_inference(piece)
    }

    /// Whether another task must have kept the CPU although the switch from it to the thread was not recorded.
    fn is_kept_by_inference(&self, piece: &Piece) -> bool {
        let inferred = self.trace.cpu(piece.cpu).map_or(&[][..], |activity| &activity.inferred);
        inferred.iter().any(|one| {
            one.from == Inference::PreemptionDisabled
                && (one.start_ns..one.end_ns).contains(&piece.start_ns)
                && piece.answer.context().tid() == Some(one.tid)
        })
    }

    /// Whether the wake-up before was seen only after this one was due.
    pub fn previous_overran(&self) -> bool {
        self.input.spike.previous_seen_ns.is_some_and(|seen_ns| seen_ns > self.input.spike.sample.due_ns)
    }

    /// Whether the thread was in time, and on the way to its timer another task had the CPU that did not ask for it: that
    /// one is to blame, not the late timer.
    pub fn is_held_up_by_another(&self, piece: &Piece) -> bool {
        let Some(context) = held(piece) else { return false };
        let outranked =
            self.kind(piece) == OwnerKind::RtTask && context.tid().is_some_and(|tid| self.outranks(tid, piece));
        let on_the_way = piece.phase == PhaseName::LateArm && self.input.spike.watched.is_none();
        on_the_way && !self.previous_overran() && (context.is_interrupting() || outranked)
    }

    /// Stretches that a task has by inference only and that the pieces have a part in; none where that part is too small to
    /// matter to them.
    pub fn inferred(&self, pieces: &[usize]) -> Vec<Inferred> {
        let mut found: Vec<Inferred> = Vec::new();
        let mut inferred_ns = 0;
        for &index in pieces {
            let piece = &self.pieces[index];
            let inferred = self.trace.cpu(piece.cpu).map_or(&[][..], |activity| &activity.inferred);
            for one in inferred.iter().filter(|one| piece.answer.context().tid() == Some(one.tid)) {
                let shared_ns = one.end_ns.min(piece.end_ns) - one.start_ns.max(piece.start_ns);
                if shared_ns > 0 {
                    inferred_ns += shared_ns;
                    found.push(*one);
                }
            }
        }
        found.sort_by_key(|one| one.start_ns);
        found.dedup();
        if inferred_ns * 100 >= self.ns(pieces) * SHARE_MIN_PERCENT { found } else { Vec::new() }
    }

    /// The largest owner among the pieces, by name, and how many further names there are.
    pub fn largest<N: PartialEq>(&self, pieces: &[usize], name: impl Fn(&Case, &Piece) -> N) -> Option<(N, usize)> {
        let mut sums: Vec<(N, i64)> = Vec::new();
        for &index in pieces {
            let piece = &self.pieces[index];
            let name = name(self, piece);
            match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, ns)) => *ns += piece.ns(),
                None => sums.push((name, piece.ns())),
            }
        }
        sums.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let others = sums.len().saturating_sub(1);
        sums.into_iter().next().map(|(name, _)| (name, others))
    }

    /// The holders of the CPU in the pieces. A task that executes two functions is one.
    pub fn holders(&self, pieces: &[usize]) -> Holders {
        let named = |context: Context| context.named(self.names());
        let largest = self.largest(pieces, |_, piece| named(piece.answer.context()));
        let alone = self.largest(pieces, |_, piece| named(piece.answer.context().holder()));
        Holders {
            largest: largest.map_or(Holder::Untraced, |(name, _)| name),
            others: alone.map_or(0, |(_, others)| u32::try_from(others).unwrap_or(u32::MAX)),
        }
    }

    /// An event as evidence.
    pub fn shown(&self, event: &Event) -> Evidence {
        Evidence::Event(named_event(event, self.input.spike.sample.due_ns, self.names()))
    }

    /// The first event between due and seen that `wanted` accepts.
    pub fn event(&self, wanted: impl Fn(&Event) -> bool) -> Option<Event<'c>> {
        let window = self.trace.window;
        let found = self.trace.cpus.iter().filter_map(|activity| {
            activity.events_between(window.due_ns, window.seen_ns).iter().find(|event| wanted(event)).copied()
        });
        found.min_by_key(|event| event.ts_ns)
    }

    /// Events of the piece's CPU that lie strictly inside it.
    pub fn events_inside(&self, piece: &Piece) -> &'c [Event<'c>] {
        self.trace.cpu(piece.cpu).map_or(&[], |activity| activity.events_between(piece.start_ns + 1, piece.end_ns - 1))
    }

    /// The events that begin and end the longest of the pieces.
    pub fn brackets(&self, pieces: &[usize]) -> Vec<Event<'c>> {
        let mut longest = pieces.to_vec();
        longest.sort_by_key(|&index| std::cmp::Reverse(self.pieces[index].ns()));
        longest.truncate(STRETCHES_SHOWN);
        let mut events = Vec::new();
        for index in longest {
            let piece = &self.pieces[index];
            let Some(activity) = self.trace.cpu(piece.cpu) else { continue };
            let before = activity.events.partition_point(|event| event.ts_ns <= piece.start_ns).checked_sub(1);
            let after = activity.events.partition_point(|event| event.ts_ns < piece.end_ns);
            match before.and_then(|index| activity.events.get(index)) {
                Some(event) => events.push(*event),
                None => events.extend(activity.before.events().max_by_key(|event| event.ts_ns)),
            }
            events.extend(activity.events.get(after));
        }
        events
    }

    /// The hypervisor that may have had the CPU; `None` when there is none, or the archive does not name one. One that only stops the guest's
    /// clock is none.
    pub fn virtualised(&self) -> Option<&str> {
        if self.in_virtual_time() {
            return None;
        }
        let name = self.input.environment?.virtualisation.as_deref()?;
        (!name.is_empty() && name != "none").then_some(name)
    }

    /// Whether the machine's clock counts its own instructions: neither hypervisor nor firmware can have had the CPU.
    pub fn in_virtual_time(&self) -> bool {
        self.trace.outside
            || self
                .input
                .environment
                .is_some_and(|environment| environment.virtualisation.as_deref() == Some(VIRTUAL_TIME))
    }

    /// Whether the kernel is known to charge tasks without what its hypervisor took.
    pub fn has_steal_clock(&self) -> bool {
        self.input.environment.and_then(|environment| environment.steal_clock) == Some(true)
    }

    /// Charge of the thread on the CPU from the first of the pieces to the last, where that is all of the time: the
    /// hypervisor did not preempt the CPU. It may have served an exit or a page fault of the guest.
    pub fn charged_in_full(&self, pieces: &[usize]) -> Option<Charged> {
        let (first, last) = (&self.pieces[*pieces.first()?], &self.pieces[*pieces.last()?]);
        self.steal_clock.charged_in_full(self.trace, first.cpu, first.start_ns, last.end_ns)
    }

    /// Whether the hypervisor itself counts no stolen time while a timer interrupt was late: it did not preempt the CPU.
    pub fn counts_no_steal(&self, pieces: &[usize]) -> bool {
        let counts_nothing = || {
            let (first, entry) = (&self.pieces[*pieces.first()?], self.wake_interrupt_entry()?);
            let activity = self.trace.cpu(entry.cpu).filter(|_| first.cpu == entry.cpu)?;
            Some(steal_count::counts_nothing(activity, first.start_ns, entry.ts_ns))
        };
        counts_nothing().unwrap_or(false)
    }

    /// Record of the interrupt that brought the wake-up, if that came late.
    pub fn late_record(&self) -> Option<&'c LateInterrupt> {
        let entry = self.wake_interrupt_entry()?;
        late_record(self.trace.cpu(entry.cpu)?, entry.ts_ns)
    }

    /// The function of the kernel that this interrupt broke into, where its record names one.
    pub fn interrupted_function(&self) -> Option<&'c str> {
        match &self.late_record()?.interrupted {
            Interrupted::Kernel { function, .. } => function.as_deref(),
            Interrupted::UserSpace => None,
        }
    }

    /// Whether the records of the CPU show that it ran for most of the pieces. Where no hypervisor can have had it, it did.
    pub fn is_seen_throughout(&self, pieces: &[usize]) -> bool {
        let unseen_ns: i64 = pieces.iter().map(|&index| self.pauses_ns(&self.pieces[index], PAUSE_NS_MAX)).sum();
        self.virtualised().is_none() || unseen_ns * 100 <= self.ns(pieces) * UNSEEN_PERCENT_MAX
    }

    /// Whether a CPU of a guest that had a task to run recorded not even its tick in one of the pieces: interrupts were masked, or
    /// the host had it. An emulator may deliver it late.
    pub fn lacks_a_tick(&self, pieces: &[usize]) -> bool {
        let environment = self.input.environment;
        let config = environment.map_or(&[][..], |environment| &environment.config);
        let hz =
            config.iter().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse::<i64>().ok()).filter(|hz| *hz > 0);
        let tick_ns = 1_000_000_000 / hz.unwrap_or(TICK_HZ_MIN);
        let stops = environment.and_then(|environment| environment.cpus_nohz_full.as_deref());
        let may_stop = stops.is_some_and(|cpus| !cpus.trim().is_empty());
        self.virtualised().is_some()
            && self.has_steal_clock()
            && !may_stop
            && pieces.iter().map(|&index| &self.pieces[index]).any(|piece| {
                let activity = self.trace.cpu(piece.cpu);
                let longer_ns = tick_ns + tick_ns / 10;
                activity
                    .is_some_and(|activity| activity.pauses(piece.start_ns, piece.end_ns, longer_ns).next().is_some())
            })
    }

    /// Whether the CPU recorded events in such short succession that it was executed: a hypervisor can have had hardly any of the
    /// pieces.
    pub fn is_recorded_closely(&self, pieces: &[usize]) -> bool {
        let paused_ns: i64 = pieces.iter().map(|&index| self.pauses_ns(&self.pieces[index], SHORT_PAUSE_NS_MAX)).sum();
        paused_ns * 100 <= self.ns(pieces) * PAUSED_PERCENT_MAX
    }

    /// Part of a piece that lies in pauses longer than this between two records of its CPU.
    fn pauses_ns(&self, piece: &Piece, longer_ns: i64) -> i64 {
        let Some(activity) = self.trace.cpu(piece.cpu) else { return piece.ns() };
        let pauses = activity.pauses(piece.start_ns, piece.end_ns, longer_ns);
        pauses.map(|(start_ns, end_ns)| end_ns.min(piece.end_ns) - start_ns.max(piece.start_ns)).sum()
    }

    /// Steal time of all CPUs since the snapshot before.
    pub fn steal_since_snapshot_ns(&self) -> Option<u64> {
        self.input.spike.snapshot.as_ref()?.steal_ns
    }

    /// Steal time as evidence.
    pub fn steal_time(&self) -> Option<Evidence> {
        self.steal_since_snapshot_ns().map(|ns| Evidence::StealTime { ns })
    }

    pub fn bare_metal(&self) -> bool {
        self.trace.outside
            || self.input.environment.is_some_and(|environment| environment.virtualisation.as_deref() == Some("none"))
    }

    pub fn preempt_rt(&self) -> Option<bool> {
        self.input.environment.and_then(|environment| environment.preempt_rt)
    }

    /// Whether the measuring thread is known to have no real-time priority.
    pub fn own_is_ordinary(&self) -> bool {
        self.tool_threads.own_prio.is_some_and(|prio| prio >= 100)
    }

    /// Whether a thread that has the CPU in a piece may run instead of the measuring thread by its priority alone.
    pub fn outranks(&self, tid: i32, piece: &Piece) -> bool {
        match (self.prio_in(tid, piece), self.own_prio_in(piece)) {
            (Some(theirs), Some(ours)) => theirs <= ours,
            _ => self.names().is_rt(tid),
        }
    }

    /// Kernel priority that the measuring thread has in most of a piece: it can change in the middle.
    pub fn own_prio_in(&self, piece: &Piece) -> Option<i32> {
        self.trace.priorities.at(self.tool_threads.own_tid, piece.middle_ns()).or(self.tool_threads.own_prio)
    }

    /// Kernel priority of a thread that has the CPU, in most of a piece: the kernel lends another one to the holder of a lock that an urgent thread waits for.
    pub fn prio_in(&self, tid: i32, piece: &Piece) -> Option<i32> {
        let seen = || self.trace.priorities.at(tid, piece.middle_ns()).or_else(|| self.names().prio(tid));
        self.raised_unseen(tid, piece).or_else(seen)
    }

    /// The entry of the interrupt that brought the wake-up.
    pub fn wake_interrupt_entry(&self) -> Option<Event<'c>> {
        let anchor = self.anchors.interrupt?;
        self.event(|event| event.cpu == anchor.cpu && event.ts_ns == anchor.ts_ns && event.is_interrupt_entry())
    }

    /// The stretch around a piece in which the kernel had deferred the timer interrupt that was to bring the wake-up: whatever had
    /// the CPU meanwhile is not to blame.
    pub fn deferral(&self, piece: &Piece) -> Option<&'c Deferral> {
        let deferrals = &self.trace.cpu(piece.cpu)?.deferrals;
        let around = |deferral: &&Deferral| deferral.contains(piece.start_ns, piece.end_ns);
        deferrals.iter().find(around).filter(|_| piece.phase == PhaseName::TimerDelay)
    }

    /// Whether the piece belongs to the interrupt that brought the wake-up, rather than to one nested in it or another.
    pub fn is_wake_interrupt(&self, piece: &Piece) -> bool {
        self.wake_interrupt.is_some_and(|wake| {
            piece.cpu == wake.cpu
                && piece.start_ns >= wake.start_ns
                && piece.start_ns < wake.end_ns
                && same_interrupt(piece.answer.context(), wake.context)
        })
    }
}

/// An interrupt from its entry to its exit.
#[derive(Debug, Clone, Copy)]
pub struct WakeInterrupt {
    cpu: u32,
    start_ns: i64,
    end_ns: i64,
    context: Context,
}

impl WakeInterrupt {
    /// The interrupt in which the timer's turn came.
    pub fn find(trace: &Trace, anchors: &Anchors) -> Option<Self> {
        let interrupt = anchors.interrupt?;
        let turn_ns = anchors.expired.or(anchors.woken)?.ts_ns;
        let activity = trace.cpu(interrupt.cpu)?;
        let around = activity.overlapping(interrupt.ts_ns, turn_ns.max(interrupt.ts_ns) + 1);
        let context = around.iter().map(|interval| interval.context).find(|context| context.is_hardirq())?;
        let exit = activity.events_between(turn_ns, i64::MAX).iter().find(|event| match (event.what, context) {
            (EventKind::VectorExit { vector: one }, Context::Vector { vector: other, .. }) => one == other,
            (EventKind::IrqExit { irq: one }, Context::Irq { irq: other, .. }) => one == other,
            _ => false,
        });
        let end_ns = exit.map_or(i64::MAX, |exit| exit.ts_ns);
        Some(Self { cpu: interrupt.cpu, start_ns: interrupt.ts_ns, end_ns, context })
    }
}

fn same_interrupt(one: Context, other: Context) -> bool {
    match (one, other) {
        (Context::Vector { vector: one, .. }, Context::Vector { vector: other, .. }) => one == other,
        (Context::Irq { irq: one, .. }, Context::Irq { irq: other, .. }) => one == other,
        _ => false,
    }
}

/// Whether the piece was held by a context (and not by silence) of this kind.
pub fn held(piece: &Piece) -> Option<Context> {
    match piece.answer {
        Answer::Held(context) => Some(context),
        _ => None,
    }
}

//! Divides the samples of a run at its recorded events, and names the causes that the events prove.

use crate::parts::{Part, Stage, by_thread};
use crate::phases::{Clip, Way, divide};
use crate::read::Recorded;
use crate::sleeps::{self, Sleep, Threads};
use crate::throttling::{InUse, submitted_later};
use archive::storage::{StorageCause, StorageDevice, StoragePhase, StorageRequest};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// How long before a gap events may be missing.
const NEAR_NS: i64 = 1_000_000_000;
/// A cause with less than this part of the latency is not named.
const LEAST_PART: i64 = 20;

/// The recorded events of a run, and how far they are followed.
pub struct RecordedRun<'a> {
    recorded: &'a Recorded,
    threads: Threads,
    parts: BTreeMap<i32, Vec<&'a Part>>,
    /// The first and last instant of what was followed of the trace.
    span: Option<(i64, i64)>,
    device: &'a StorageDevice,
    in_use: InUse,
    looks_left: Cell<u64>,
}

/// Stretches in which a thread slept for something else than the device.
#[derive(Debug, Default)]
pub struct Held {
    by_journal: Vec<(i64, i64)>,
    by_cgroup: Vec<(i64, i64)>,
}

impl<'a> RecordedRun<'a> {
    /// The parts of a run's requests, beside the sleeps of these threads.
    pub fn new(
        recorded: &'a Recorded,
        device: &'a StorageDevice,
        tids: &[i32],
        (parts, given_up_ns): (&'a [Part], Option<i64>),
        looks_max: u64,
    ) -> Self {
        let followed_until_ns = given_up_ns.map_or(i64::MAX, |given_up_ns| given_up_ns.saturating_sub(1));
        let completers: BTreeSet<i32> = parts.iter().filter_map(|part| part.completed_by).collect();
        Self {
            recorded,
            threads: sleeps::of(recorded, tids, &completers),
            parts: by_thread(parts),
            span: recorded
                .events
                .first()
                .zip(recorded.events.last())
                .map(|(first, last)| (first.at_ns, last.at_ns.min(followed_until_ns))),
            device,
            in_use: InUse::of(parts),
            looks_left: Cell::new(looks_max),
        }
    }
}

impl RecordedRun<'_> {
    /// Divides one sample and names what its events prove.
    pub fn request(&self, thread: u32, tid: Option<i32>, due_ns: i64, latency_ns: i64) -> StorageRequest {
        let until_ns = due_ns.checked_add(latency_ns.max(0));
        let whole = |phase| StorageRequest {
            thread,
            due_ns,
            latency_ns,
            phases: if latency_ns == 0 { Vec::new() } else { vec![(phase, latency_ns)] },
            causes: Vec::new(),
        };
        let (Some(tid), Some(until_ns)) = (tid, until_ns) else { return whole(StoragePhase::NotSplit) };
        if latency_ns <= 0 || !self.covers(due_ns, until_ns) {
            return whole(StoragePhase::NotSplit);
        }
        let sleeps = within(self.threads.sleeps.get(&tid).map_or(&[][..], Vec::as_slice), due_ns, until_ns);
        let mut parts: Vec<(&Part, Clip)> =
            self.submitted(tid, due_ns, until_ns).map(|part| (part, Clip::ALL)).collect();
        if parts.iter().any(|(part, _)| part.done_ns().is_none()) {
            return whole(StoragePhase::NotSplit);
        }
        let mut held = Held::default();
        let has_none = parts.is_empty();
        for sleep in sleeps {
            if has_none && !self.device.cgroup_limits.is_empty() {
                let may_look = |looks| self.may_look(looks);
                let later = submitted_later(&self.parts, &self.recorded.names, sleep, &may_look);
                if let Some((part, until_ns)) = later.zip(sleep.woken_ns) {
                    parts.push((part, Clip { from_ns: sleep.from_ns, until_ns }));
                    held.by_cgroup.push((sleep.from_ns, part.start_ns()));
                    continue;
                }
            }
            let (Some(waker), Some(woken_ns)) = (sleep.waker, sleep.woken_ns) else { continue };
            let clip = Clip { from_ns: sleep.from_ns, until_ns: woken_ns };
            let of_waker = self.submitted(waker, i64::MIN, woken_ns);
            if !self.may_look(of_waker.clone().count() as u64) {
                return whole(StoragePhase::NotSplit);
            }
            let while_asleep = of_waker.filter(|part| part.done_ns().is_some_and(|done_ns| done_ns > sleep.from_ns));
            let before = parts.len();
            parts.extend(while_asleep.map(|part| (part, clip)));
            let is_journal = self.recorded.names.get(&waker).is_some_and(|name| name.starts_with("jbd2/"));
            if is_journal && parts.len() > before {
                held.by_journal.push((sleep.from_ns, woken_ns));
            }
        }
        // Dividing looks at every part at each of its own instants and at those of the sleeps.
        let instants = 6 * parts.len() as u64 + 3 * sleeps.len() as u64;
        if !self.may_look(instants.saturating_mul(parts.len() as u64)) {
            return whole(StoragePhase::NotSplit);
        }
        let phases = divide(Way { from_ns: due_ns, until_ns, parts: &parts, sleeps });
        let mut request = StorageRequest { thread, due_ns, latency_ns, phases, causes: Vec::new() };
        request.causes = self.causes(tid, &request, &parts, sleeps, &held);
        request
    }

    /// Stretches of a thread that reach into a stretch; each list is ascending.
    fn of_stretch<'a>(
        &self,
        all: &'a BTreeMap<i32, Vec<(i64, i64)>>,
        tid: i32,
        (from_ns, until_ns): (i64, i64),
    ) -> &'a [(i64, i64)] {
        let all = all.get(&tid).map_or(&[][..], Vec::as_slice);
        let from = all.partition_point(|(_, end_ns)| *end_ns <= from_ns);
        let until = all.partition_point(|(start_ns, _)| *start_ns < until_ns);
        let found = &all[from.min(until)..until];
        if self.may_look(found.len() as u64) { found } else { &[] }
    }

    /// The layer that holds requests before the device has them: a scheduler, unless the driver gave some back.
    fn queue_cause(&self, parts: &[(&Part, Clip)]) -> StorageCause {
        let given_back = parts.iter().any(|(part, _)| part.requeued > 0);
        if !self.device.scheduler.is_empty() && !given_back { StorageCause::Scheduler } else { StorageCause::Queue }
    }

    fn may_look(&self, looks: u64) -> bool {
        let left = self.looks_left.get().checked_sub(looks);
        self.looks_left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Whether the trace has no gap in a stretch.
    fn covers(&self, from_ns: i64, until_ns: i64) -> bool {
        let gap = self.recorded.gaps.partition_point(|gap_ns| *gap_ns <= from_ns);
        // The instant of a gap is that of the first event after it: one soon after the stretch may reach into it.
        let is_whole = self.recorded.gaps.get(gap).is_none_or(|gap_ns| *gap_ns > until_ns.saturating_add(NEAR_NS));
        is_whole && self.span.is_some_and(|(first_ns, last_ns)| first_ns <= from_ns && until_ns <= last_ns)
    }

    /// The parts that a thread submitted in a stretch.
    fn submitted(&self, tid: i32, from_ns: i64, until_ns: i64) -> impl Iterator<Item = &Part> + Clone {
        let parts = self.parts.get(&tid).map_or(&[][..], Vec::as_slice);
        let from = parts.partition_point(|part| part.start_ns() < from_ns);
        let until = parts.partition_point(|part| part.start_ns() <= until_ns);
        // Old parts of a busy thread are done.
        let from = from.max(until.saturating_sub(4096));
        parts[from.min(until)..until].iter().copied()
    }

    /// When the thread that completed a part was runnable without a CPU, since the interrupt.
    fn completion_waits(&self, part: &Part) -> Vec<(i64, i64)> {
        let Some((tid, whole)) = part.completed_by.zip(part.interrupted_until_ns()) else { return Vec::new() };
        let (from_ns, until_ns) = whole;
        let sleeps = within(self.threads.sleeps.get(&tid).map_or(&[][..], Vec::as_slice), from_ns, until_ns);
        if !self.may_look(sleeps.len() as u64) {
            return Vec::new();
        }
        let runnable = sleeps.iter().filter_map(|sleep| Some((sleep.woken_ns?, sleep.until_ns)));
        let preempted = self.of_stretch(&self.threads.preempted, tid, whole).iter().copied();
        runnable.chain(preempted).map(|(since_ns, given_ns)| (since_ns.max(from_ns), given_ns.min(until_ns))).collect()
    }

    pub fn causes(
        &self,
        tid: i32,
        request: &StorageRequest,
        parts: &[(&Part, Clip)],
        sleeps: &[Sleep],
        held: &Held,
    ) -> Vec<(StorageCause, Option<i64>)> {
        let until_ns = request.due_ns.saturating_add(request.latency_ns);
        let inside = |stretches: &mut dyn Iterator<Item = (i64, i64)>| {
            covered_ns(stretches.map(|(from, to)| (from.max(request.due_ns), to.min(until_ns))))
        };
        let mut flushes = parts.iter().filter(|(part, _)| part.extent.is_flush).filter_map(|(part, clip)| {
            at_device_ns(part).map(|(from, to)| (from.max(clip.from_ns), to.min(clip.until_ns)))
        });
        let preempted = self.of_stretch(&self.threads.preempted, tid, (request.due_ns, until_ns)).iter().copied();
        let woken = sleeps.iter().filter_map(|sleep| Some((sleep.woken_ns?, sleep.until_ns)));
        let mut runnable = woken.chain(preempted);
        let reclaims = self.of_stretch(&self.threads.reclaims, tid, (request.due_ns, until_ns));
        let plugs = self.of_stretch(&self.threads.plugs, tid, (request.due_ns, until_ns));
        let own = || parts.iter().filter(|(_, clip)| *clip == Clip::ALL).map(|(part, _)| *part);
        // A plug delays what has a request and is not yet in a queue.
        let before_queue = own().filter_map(|part| Some((part.got_ns?, part.left_block_ns()?)));
        let plugged = overlap(&union(before_queue), plugs);
        let before_request = own().filter_map(|part| Some((part.start_ns(), part.got_ns?)));
        let asleep: Vec<(i64, i64)> = sleeps.iter().map(|sleep| (sleep.from_ns, sleep.until_ns)).collect();
        let without_request = overlap(&union(before_request), &asleep);
        let before_requests = |wanted: StorageCause| {
            let caused = move |from_ns: i64| self.in_use.cause_of_sleep(self.device, from_ns) == wanted;
            without_request.iter().copied().filter(move |(from_ns, _)| caused(*from_ns))
        };
        let mut throttled = sleeps.iter().filter(|sleep| sleep.throttled).map(|sleep| (sleep.from_ns, sleep.until_ns));
        let mut written_through = own().filter(|part| part.extent.is_fua).filter_map(at_device_ns);
        let completions = union(own().flat_map(|part| self.completion_waits(part)));
        let in_softirq =
            union(own().filter_map(|part| part.softirq_ns.zip(part.interrupted_until_ns()).map(|(_, whole)| whole)));
        // While its thread waits for a CPU, another cause has that time.
        let waiting = overlap(&in_softirq, &completions);
        let in_softirq_ns = inside(&mut in_softirq.into_iter()) - inside(&mut waiting.into_iter());
        let timed = [
            (StorageCause::JournalCommit, inside(&mut held.by_journal.iter().copied())),
            (StorageCause::CgroupLimit, inside(&mut held.by_cgroup.iter().copied())),
            (StorageCause::Flush, inside(&mut flushes)),
            (StorageCause::WakeUp, inside(&mut runnable)),
            (StorageCause::Reclaim, inside(&mut reclaims.iter().copied())),
            (StorageCause::Plug, inside(&mut plugged.into_iter())),
            (StorageCause::NoRequest, inside(&mut before_requests(StorageCause::NoRequest))),
            (StorageCause::AllInUse, inside(&mut before_requests(StorageCause::AllInUse))),
            (StorageCause::WritebackThrottling, inside(&mut before_requests(StorageCause::WritebackThrottling))),
            (StorageCause::DirtyThrottling, inside(&mut throttled)),
            (StorageCause::Fua, inside(&mut written_through)),
            (StorageCause::Softirq, in_softirq_ns),
            (StorageCause::CompletionWait, inside(&mut completions.into_iter())),
            (self.queue_cause(parts), request.ns(StoragePhase::RequestToDevice)),
        ];
        let large = timed.into_iter().filter(|(_, ns)| *ns > 0 && ns.saturating_mul(LEAST_PART) >= request.latency_ns);
        let mut causes: Vec<(StorageCause, Option<i64>)> = large.map(|(cause, ns)| (cause, Some(ns))).collect();
        let any = |is: &dyn Fn(&Part) -> bool| parts.iter().any(|(part, _)| is(part));
        let seen = [
            (StorageCause::Requeued, any(&|part| part.requeued > 0)),
            (StorageCause::Merged, any(&|part| part.merged)),
            (StorageCause::Split, any(&|part| part.split)),
        ];
        causes.extend(seen.into_iter().filter(|(_, seen)| *seen).map(|(cause, _)| (cause, None)));
        causes
    }
}

/// How long at least one of these stretches lasts; where they overlap, time counts once.
fn covered_ns(stretches: impl Iterator<Item = (i64, i64)>) -> i64 {
    union(stretches).iter().fold(0, |sum, (from_ns, to_ns)| sum.saturating_add(to_ns.saturating_sub(*from_ns)))
}

/// The same time in stretches that do not overlap, ascending.
fn union(stretches: impl Iterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
    let mut stretches: Vec<(i64, i64)> = stretches.filter(|(from_ns, to_ns)| from_ns < to_ns).collect();
    stretches.sort_unstable();
    stretches.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
    stretches
}

/// The intersection of two ascending lists of stretches; stretches of one list do not overlap.
fn overlap(left: &[(i64, i64)], right: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let (mut at_left, mut at_right) = (0, 0);
    let mut both = Vec::new();
    while let (Some(one), Some(other)) = (left.get(at_left), right.get(at_right)) {
        both.push((one.0.max(other.0), one.1.min(other.1)));
        match one.1 < other.1 {
            true => at_left += 1,
            false => at_right += 1,
        }
    }
    both.retain(|(from_ns, to_ns)| from_ns < to_ns);
    both
}

/// When the device last had a part.
fn at_device_ns(part: &Part) -> Option<(i64, i64)> {
    let at = part.stages.iter().rposition(|(_, stage)| *stage == Stage::Device)?;
    let (from_ns, _) = part.stages[at];
    Some((from_ns, part.stages.get(at + 1).map_or(from_ns, |(to_ns, _)| *to_ns)))
}

/// The sleeps that overlap a stretch.
fn within(sleeps: &[Sleep], from_ns: i64, until_ns: i64) -> &[Sleep] {
    let from = sleeps.partition_point(|sleep| sleep.until_ns <= from_ns);
    let until = sleeps.partition_point(|sleep| sleep.from_ns < until_ns);
    &sleeps[from.min(until)..until]
}

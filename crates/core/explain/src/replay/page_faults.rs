//! When a thread was in page faults, as far as the kernel records it.
//!
//! It records the start of a fault (`exceptions:page_fault_*`), and never its end. If enabled, it also records that the
//! thread got memory (`kmem:mm_page_alloc`, after the page was cleared) and that the memory was counted as its own
//! (`kmem:rss_stat`): the fault lasted at least until then, and not much longer. Without these notes, faults close to
//! each other are assumed to be contiguous, and a single one to take no time.

use crate::read::event::{Event, EventKind, flag};
use archive::culprit::FaultLengths;
use archive::environment::VIRTUAL_TIME;

/// Page faults without notes that are closer to each other than this form one run. In a guest each of them may also be
/// a fault of the hypervisor, which has to find the memory; an emulator of the processor takes longer still.
const APART_NS: i64 = 20_000;
const APART_GUEST_NS: i64 = 100_000;
const APART_EMULATED_NS: i64 = 300_000;
/// The time after the last note of a fault is at most this many times the usual time before it. A larger factor would
/// count work of the thread as a fault, if it touches little memory now and then.
const REST_TIMES: i64 = 2;

/// One page fault of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fault {
    begin_ns: i64,
    /// The last instant at which a note shows that the fault was still being handled.
    noted_ns: Option<i64>,
}

/// Page faults of a thread in a stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    faults: Vec<Fault>,
    apart_ns: i64,
    rest_ns: i64,
}

/// Maximum distance of page faults without notes that belong together, by the hypervisor in the environment.
pub fn apart_ns(virtualisation: Option<&str>) -> i64 {
    match virtualisation {
        None | Some("" | "none") => APART_NS,
        // QEMU without KVM reports this name; with KVM the guest sees KVM.
        Some("qemu" | VIRTUAL_TIME) => APART_EMULATED_NS,
        Some(_) => APART_GUEST_NS,
    }
}

impl Faults {
    /// Page faults of thread `tid` among events that ascend in time.
    pub fn find<'e, 'a: 'e>(events: impl IntoIterator<Item = &'e Event<'a>>, tid: i32, apart_ns: i64) -> Self {
        let mut faults: Vec<Fault> = Vec::new();
        let mut open = false;
        let mut has_page = false;
        for event in events.into_iter().filter(|event| event.tid == tid) {
            if matches!(event.what, EventKind::PageFault { .. }) {
                faults.push(Fault { begin_ns: event.ts_ns, noted_ns: None });
                (open, has_page) = (true, false);
                continue;
            }
            let Some(fault) = faults.last_mut().filter(|_| open) else { continue };
            // An interrupt allocates memory for others.
            if event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) != 0 {
                continue;
            }
            match event.what {
                EventKind::PageAllocated { movable } if !has_page => {
                    fault.noted_ns = Some(event.ts_ns);
                    // Before the page itself, it may need a table to map it.
                    has_page = movable;
                }
                EventKind::MemoryCounted { own: true } => {
                    fault.noted_ns = Some(event.ts_ns);
                    open = false;
                }
                // The thread has continued and calls the kernel.
                EventKind::HrtimerStart { .. } | EventKind::Marker | EventKind::FileSync { .. } => open = false,
                _ => {}
            }
        }
        let mut noted_ns: Vec<i64> =
            faults.iter().filter_map(|fault| Some(fault.noted_ns?.saturating_sub(fault.begin_ns))).collect();
        noted_ns.sort_unstable();
        let usual_ns = noted_ns.get(noted_ns.len() / 2).copied().unwrap_or(0);
        Self { faults, apart_ns, rest_ns: usual_ns.saturating_mul(REST_TIMES).min(APART_NS) }
    }

    /// Stretches of contiguous faults: ascending, none empty.
    pub fn runs(&self) -> Vec<(i64, i64)> {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (index, fault) in self.faults.iter().enumerate() {
            let next_ns = self.faults.get(index + 1).map(|next| next.begin_ns);
            let end_ns = match (fault.noted_ns, next_ns) {
                (Some(noted_ns), _) => noted_ns.saturating_add(self.rest_ns).min(next_ns.unwrap_or(i64::MAX)),
                (None, Some(next_ns)) if next_ns.saturating_sub(fault.begin_ns) <= self.apart_ns => next_ns,
                (None, _) => continue,
            };
            match runs.last_mut() {
                Some((_, last_ns)) if *last_ns >= fault.begin_ns => *last_ns = end_ns,
                _ => runs.push((fault.begin_ns, end_ns)),
            }
        }
        runs.retain(|(begin_ns, end_ns)| begin_ns < end_ns);
        runs
    }

    /// How the lengths of the faults between two instants were estimated.
    pub fn lengths(&self, from_ns: i64, to_ns: i64) -> FaultLengths {
        let inside: Vec<&Fault> =
            self.faults.iter().filter(|fault| (from_ns..=to_ns).contains(&fault.begin_ns)).collect();
        let noted = inside.iter().filter_map(|fault| Some(fault.noted_ns?.saturating_sub(fault.begin_ns)));
        match noted.clone().max() {
            None => FaultLengths::Apart { ns: self.apart_ns },
            Some(longest_ns) => {
                FaultLengths::Noted { faults: inside.len(), noted: noted.count(), rest_ns: self.rest_ns, longest_ns }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TID: i32 = 100;
    const FAULT: EventKind = EventKind::PageFault { user: true, address: 0 };
    const TABLE: EventKind = EventKind::PageAllocated { movable: false };
    const PAGE: EventKind = EventKind::PageAllocated { movable: true };
    const COUNTED: EventKind = EventKind::MemoryCounted { own: true };

    fn event(ts_ns: i64, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 1, tid: TID, flags: 0, depth: 0, what, id: 0, payload: &[] }
    }

    fn faults(events: &[(i64, EventKind)]) -> Faults {
        let events: Vec<Event> = events.iter().map(|&(ts_ns, what)| event(ts_ns, what)).collect();
        Faults::find(&events, TID, APART_NS)
    }

    #[test]
    fn a_fault_lasts_up_to_its_last_note_and_a_little_longer() {
        let touched =
            faults(&[(0, FAULT), (800, TABLE), (1_000, PAGE), (1_200, COUNTED), (2_000, FAULT), (3_000, PAGE)]);
        // Half of them take 1200 ns up to their last note.
        assert_eq!(touched.rest_ns, 2_400);
        assert_eq!(touched.runs(), [(0, 5_400)]);
    }

    #[test]
    fn one_long_fault_is_a_fault() {
        let long = faults(&[
            (0, FAULT),
            (1_000, COUNTED),
            (2_000, FAULT),
            (202_000, COUNTED),
            (203_000, FAULT),
            (204_000, COUNTED),
        ]);
        assert_eq!(long.runs(), [(0, 206_000)]);
    }

    #[test]
    fn work_between_few_faults_is_work() {
        let sparse: Vec<(i64, EventKind)> = (0..20)
            .flat_map(|n| [(n * 15_000, FAULT), (n * 15_000 + 500, PAGE), (n * 15_000 + 600, COUNTED)])
            .collect();
        let in_faults_ns: i64 = faults(&sparse).runs().iter().map(|(from_ns, to_ns)| to_ns - from_ns).sum();
        assert_eq!(in_faults_ns, 20 * 1_800, "of 300 µs");
    }

    #[test]
    fn memory_that_is_got_later_in_a_call_is_no_part_of_the_fault() {
        let arm = EventKind::HrtimerStart { timer: 1, function: 1, expires_ns: 0, soft_expires_ns: 0 };
        assert_eq!(faults(&[(0, FAULT), (1_000, COUNTED), (90_000, PAGE), (91_000, COUNTED)]).runs(), [(0, 3_000)]);
        assert_eq!(faults(&[(0, FAULT), (1_000, PAGE), (90_000, PAGE)]).runs(), [(0, 3_000)]);
        assert_eq!(faults(&[(0, FAULT), (1_000, PAGE), (50_000, arm), (90_000, COUNTED)]).runs(), [(0, 3_000)]);
    }

    #[test]
    fn an_interrupt_and_other_processes_get_memory_for_themselves() {
        let mut events = [event(0, FAULT), event(1_000, COUNTED), event(50_000, FAULT), event(90_000, COUNTED)];
        events[3].flags = flag::SOFTIRQ;
        assert_eq!(Faults::find(&events, TID, APART_NS).runs(), [(0, 3_000)]);
        events[3] = event(90_000, EventKind::MemoryCounted { own: false });
        assert_eq!(Faults::find(&events, TID, APART_NS).runs(), [(0, 3_000)]);
    }

    #[test]
    fn without_notes_only_faults_close_to_each_other_count() {
        let near = faults(&[(0, FAULT), (15_000, FAULT), (30_000, FAULT), (80_000, FAULT)]);
        assert_eq!(near.runs(), [(0, 30_000)]);
        assert_eq!(faults(&[(0, FAULT)]).runs(), []);
        assert_eq!(near.lengths(0, 80_000), FaultLengths::Apart { ns: 20_000 });
    }

    proptest! {
        #[test]
        fn runs_ascend_whatever_the_trace_says(
            events in prop::collection::vec((any::<i64>(), 0..6usize, 99..101i32, any::<u8>()), 0..40),
        ) {
            let whats = [FAULT, TABLE, PAGE, COUNTED, EventKind::Marker, EventKind::MemoryCounted { own: false }];
            let mut events: Vec<Event> = events
                .into_iter()
                .map(|(ts_ns, what, tid, flags)| Event { tid, flags, ..event(ts_ns, whats[what]) })
                .collect();
            events.sort_by_key(|event| event.ts_ns);
            let faults = Faults::find(&events, TID, APART_GUEST_NS);
            let runs = faults.runs();
            prop_assert!(runs.iter().all(|(begin_ns, end_ns)| begin_ns < end_ns));
            prop_assert!(runs.windows(2).all(|pair| pair[0].1 < pair[1].0));
            faults.lengths(i64::MIN, i64::MAX);
        }
    }
}

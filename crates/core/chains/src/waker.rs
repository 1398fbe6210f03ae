//! The waker of a thread, by the context in which the kernel recorded the wake-up.

use archive::culprit::WakeSource;
use explain::event::{Event, EventKind, flag};
use explain::names::Names;
use std::collections::HashMap;

/// Longer than any uptime: an expiry that far ahead belongs to a clock that counts from 1970.
const UPTIME_NS_MAX: i64 = 1 << 59;
/// Numbers of softirqs, as in `enum` of the kernel's `interrupt.h`.
pub const SOFTIRQ_TIMER: u32 = 1;
const SOFTIRQ_NET_TX: u32 = 2;
pub const SOFTIRQ_NET_RX: u32 = 3;
const SOFTIRQ_BLOCK: u32 = 4;
const SOFTIRQ_HRTIMER: u32 = 8;
const SOFTIRQS: usize = 10;

/// The waker of a thread. Instants in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    Thread(i32),
    /// A high-resolution timer. `due_ns`: the instant that it was set for, if the recording shows that.
    Timer {
        due_ns: Option<i64>,
        expired_ns: i64,
    },
    Interrupt {
        irq: i32,
        entry_ns: i64,
    },
    Softirq {
        vec: u32,
        entry_ns: i64,
        raised: Raised,
    },
    /// A thread of the kernel, in a work item.
    Work {
        tid: i32,
        queued: Queued,
    },
    Unknown,
}

/// The origin of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    pub by: Raised,
    pub cpu: u32,
    pub ts_ns: i64,
}

impl Queued {
    /// The queuer as the waker of the thread that executes the item.
    pub fn waker(self) -> Waker {
        match self.by {
            Raised::Thread(tid) => Waker::Thread(tid),
            Raised::Interrupt { irq, entry_ns } => Waker::Interrupt { irq, entry_ns },
            Raised::Unknown => Waker::Unknown,
        }
    }
}

/// The origin of a softirq or of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raised {
    Thread(i32),
    Interrupt { irq: i32, entry_ns: i64 },
    Unknown,
}

impl Waker {
    /// The thread that woke, itself or by a softirq that it raised.
    pub fn thread(self) -> Option<i32> {
        match self {
            Self::Thread(tid) | Self::Work { tid, .. } | Self::Softirq { raised: Raised::Thread(tid), .. } => Some(tid),
            _ => None,
        }
    }

    pub fn is_timer(self) -> bool {
        matches!(self, Self::Timer { .. } | Self::Softirq { vec: SOFTIRQ_TIMER | SOFTIRQ_HRTIMER, .. })
    }

    /// The same as a fact.
    pub fn source(self, names: &Names) -> WakeSource {
        match self {
            _ if self.is_timer() => WakeSource::Timer,
            Self::Interrupt { irq, .. } => WakeSource::Device(names.interrupt(irq)),
            Self::Softirq { vec: SOFTIRQ_NET_TX | SOFTIRQ_NET_RX, .. } => WakeSource::Network,
            Self::Softirq { vec: SOFTIRQ_BLOCK, .. } => WakeSource::BlockDevice,
            _ => WakeSource::Unknown,
        }
    }
}

/// The interrupt, softirq and timer that a CPU handles.
#[derive(Debug, Clone, Copy, Default)]
struct OnCpu {
    timer: Option<(Option<i64>, i64)>,
    irq: Option<(i32, i64)>,
    /// The interrupt whose handler ended last. The kernel wakes its thread after the record of that end.
    irq_before: Option<(i32, i64)>,
    softirq: Option<(u32, i64, Raised)>,
    raised: [Option<Raised>; SOFTIRQS],
}

/// Follows what each CPU handles, so that each wake-up has its waker.
#[derive(Debug, Default)]
pub struct Wakers {
    cpus: HashMap<u32, OnCpu>,
    /// Timers that are set, with the instants they are due.
    armed: HashMap<u64, i64>,
    /// Work items that are queued, by their address.
    queued: HashMap<u64, Queued>,
    /// The work items that threads execute.
    executed: HashMap<i32, Queued>,
    due_times_are_known: bool,
}

impl Wakers {
    /// `due_times_are_known`: due times and instants of events are in the same clock.
    pub fn new(due_times_are_known: bool) -> Self {
        Self { due_times_are_known, ..Self::default() }
    }

    pub fn feed(&mut self, event: &Event<'_>) {
        let ts_ns = event.ts_ns;
        let cpu = self.cpus.entry(event.cpu).or_default();
        match event.what {
            EventKind::HrtimerStart { timer, expires_ns, soft_expires_ns, .. } => {
                let due_ns = if soft_expires_ns > 0 { soft_expires_ns } else { expires_ns };
                self.armed.insert(timer, due_ns);
            }
            EventKind::HrtimerCancel { timer } => {
                self.armed.remove(&timer);
            }
            EventKind::HrtimerExpireEntry { timer, .. } => {
                let due_ns = self.armed.remove(&timer).filter(|due_ns| {
                    self.due_times_are_known && (1..UPTIME_NS_MAX).contains(due_ns) && *due_ns <= ts_ns
                });
                (cpu.timer, cpu.irq_before) = (Some((due_ns, ts_ns)), None);
            }
            EventKind::HrtimerExpireExit { .. } => cpu.timer = None,
            EventKind::IrqEntry { irq } => (cpu.irq, cpu.irq_before) = (Some((irq, ts_ns)), None),
            EventKind::IrqExit { .. } => (cpu.irq, cpu.irq_before) = (None, cpu.irq),
            EventKind::SoftirqRaise { vec } => {
                let raised = cpu.raiser(event);
                if let Some(slot) = cpu.raised.get_mut(vec as usize) {
                    *slot = Some(raised);
                }
            }
            EventKind::SoftirqEntry { vec } => {
                let raised = cpu.raised.get_mut(vec as usize).and_then(Option::take).unwrap_or(Raised::Unknown);
                (cpu.softirq, cpu.irq_before) = (Some((vec, ts_ns, raised)), None);
            }
            EventKind::SoftirqExit { .. } => cpu.softirq = None,
            EventKind::WorkQueued { work } => {
                let by = cpu.raiser(event);
                self.queued.insert(work, Queued { by, cpu: event.cpu, ts_ns });
            }
            EventKind::WorkStart { work, .. } => match self.queued.remove(&work) {
                Some(queued) => drop(self.executed.insert(event.tid, queued)),
                None => drop(self.executed.remove(&event.tid)),
            },
            EventKind::WorkEnd => {
                self.executed.remove(&event.tid);
            }
            // Interrupts do not switch; the end of this one was not recorded.
            EventKind::Switch { .. } => (cpu.timer, cpu.irq, cpu.irq_before, cpu.softirq) = (None, None, None, None),
            _ => {}
        }
    }

    /// Events of this CPU are missing.
    pub fn lose(&mut self, cpu: u32) {
        self.cpus.remove(&cpu);
        self.queued.clear();
        self.executed.clear();
    }

    /// The waker of a thread with this name, in a wake-up that this event records.
    pub fn of(&self, event: &Event<'_>, woken: &str) -> Waker {
        let cpu = self.cpus.get(&event.cpu).copied().unwrap_or_default();
        let irq_before = cpu.irq_before.filter(|_| event.flags & flag::HARDIRQ != 0);
        match (cpu.waker(event), irq_before) {
            (Waker::Thread(tid), _) => {
                self.executed.get(&tid).map_or(Waker::Thread(tid), |queued| Waker::Work { tid, queued: *queued })
            }
            (Waker::Unknown, Some((irq, entry_ns))) if is_thread_of(woken, irq) => Waker::Interrupt { irq, entry_ns },
            (waker, _) => waker,
        }
    }
}

/// Whether this is the name of the thread that handles an interrupt, `irq/25-virtio0`.
fn is_thread_of(comm: &str, irq: i32) -> bool {
    let number = comm.strip_prefix("irq/").and_then(|rest| rest.split('-').next());
    number.is_some_and(|number| number.parse() == Ok(irq))
}

impl OnCpu {
    fn waker(&self, event: &Event<'_>) -> Waker {
        let in_hardirq = event.flags & (flag::HARDIRQ | flag::NMI) != 0;
        let in_softirq = event.flags & flag::SOFTIRQ != 0;
        match (self.timer, self.irq, self.softirq) {
            (Some((due_ns, expired_ns)), ..) => Waker::Timer { due_ns, expired_ns },
            (None, Some((irq, entry_ns)), _) if in_hardirq => Waker::Interrupt { irq, entry_ns },
            (None, _, Some((vec, entry_ns, raised))) if in_softirq && !in_hardirq => {
                Waker::Softirq { vec, entry_ns, raised }
            }
            _ if in_hardirq || in_softirq || event.tid == 0 => Waker::Unknown,
            _ => Waker::Thread(event.tid),
        }
    }

    fn raiser(&self, event: &Event<'_>) -> Raised {
        match self.waker(event) {
            Waker::Thread(tid) | Waker::Work { tid, .. } => Raised::Thread(tid),
            Waker::Interrupt { irq, entry_ns } => Raised::Interrupt { irq, entry_ns },
            Waker::Softirq { raised, .. } => raised,
            Waker::Timer { .. } | Waker::Unknown => Raised::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ts_ns: i64, tid: i32, flags: u8, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 0, tid, flags, depth: 0, what, id: 0, payload: &[] }
    }

    fn wakers(events: &[Event<'static>]) -> Wakers {
        let mut wakers = Wakers::new(true);
        events.iter().for_each(|event| wakers.feed(event));
        wakers
    }

    const WAKING: EventKind = EventKind::Waking { tid: 9, prio: None, target_cpu: 0 };

    #[test]
    fn a_softirq_is_of_the_thread_that_raised_it() {
        let raise = event(1, 5, 0, EventKind::SoftirqRaise { vec: SOFTIRQ_NET_RX });
        let entry = event(2, 5, 0, EventKind::SoftirqEntry { vec: SOFTIRQ_NET_RX });
        let waker = wakers(&[raise, entry]).of(&event(3, 5, flag::SOFTIRQ, WAKING), "");
        assert_eq!(waker.thread(), Some(5));
        assert_eq!(waker.source(&Names::default()), WakeSource::Network);
    }

    #[test]
    fn a_softirq_of_an_interrupt_is_of_no_thread() {
        let events = [
            event(1, 5, 0, EventKind::IrqEntry { irq: 24 }),
            event(2, 5, flag::HARDIRQ, EventKind::SoftirqRaise { vec: SOFTIRQ_NET_RX }),
            event(3, 5, flag::HARDIRQ, EventKind::IrqExit { irq: 24 }),
            event(4, 5, 0, EventKind::SoftirqEntry { vec: SOFTIRQ_NET_RX }),
        ];
        let waker = wakers(&events).of(&event(5, 5, flag::SOFTIRQ, WAKING), "");
        let raised = Raised::Interrupt { irq: 24, entry_ns: 1 };
        assert_eq!(waker, Waker::Softirq { vec: SOFTIRQ_NET_RX, entry_ns: 4, raised });
        assert_eq!(waker.thread(), None);
    }

    #[test]
    fn an_interrupt_wakes_its_own_thread_after_its_handler() {
        let events = [
            event(1, 0, 0, EventKind::IrqEntry { irq: 25 }),
            event(2, 0, flag::HARDIRQ, EventKind::IrqExit { irq: 25 }),
        ];
        let waking = event(3, 0, flag::HARDIRQ, WAKING);
        let of = |woken: &str| wakers(&events).of(&waking, woken);
        assert_eq!(of("irq/25-virtio0-"), Waker::Interrupt { irq: 25, entry_ns: 1 });
        for other in ["irq/2-eth0", "irq/251-eth0", "irq/", "reader"] {
            assert_eq!(of(other), Waker::Unknown, "{other}");
        }
        let outside = event(3, 0, 0, WAKING);
        assert_eq!(wakers(&events).of(&outside, "irq/25-virtio0-"), Waker::Unknown, "idle wakes nobody");
        let switch = EventKind::Switch { prev: 0, prev_prio: None, prev_state: 0, next: 5, next_prio: None };
        for between in [switch, EventKind::SoftirqEntry { vec: 7 }] {
            let later = wakers(&[events[0], events[1], event(3, 0, 0, between)]);
            assert_eq!(later.of(&waking, "irq/25-virtio0-"), Waker::Unknown, "of another interrupt: {between:?}");
        }
    }

    #[test]
    fn a_timer_has_the_instant_that_it_was_set_for() {
        let start =
            |due_ns| EventKind::HrtimerStart { timer: 7, function: 1, expires_ns: due_ns, soft_expires_ns: due_ns };
        let expiry = event(60, 0, flag::HARDIRQ, EventKind::HrtimerExpireEntry { timer: 7, function: 1 });
        let waking = event(61, 0, flag::HARDIRQ, WAKING);
        let of = |due_ns| wakers(&[event(1, 5, 0, start(due_ns)), expiry]).of(&waking, "");
        assert_eq!(of(50), Waker::Timer { due_ns: Some(50), expired_ns: 60 });
        assert_eq!(of(1 << 60), Waker::Timer { due_ns: None, expired_ns: 60 }, "a clock that counts from 1970");
        let unrelated = Wakers::default();
        assert_eq!(unrelated.of(&waking, ""), Waker::Unknown);
    }

    #[test]
    fn a_work_item_is_of_the_thread_that_queued_it() {
        let events = [
            event(1, 5, 0, EventKind::WorkQueued { work: 0x40 }),
            event(2, 8, 0, EventKind::WorkStart { work: 0x40, function: 1 }),
        ];
        let queued = Queued { by: Raised::Thread(5), cpu: 0, ts_ns: 1 };
        assert_eq!(wakers(&events).of(&event(3, 8, 0, WAKING), ""), Waker::Work { tid: 8, queued });
        let ended = [events[0], events[1], event(3, 8, 0, EventKind::WorkEnd)];
        assert_eq!(wakers(&ended).of(&event(4, 8, 0, WAKING), ""), Waker::Thread(8));
    }

    #[test]
    fn idle_and_unknown_interrupts_wake_in_the_name_of_no_thread() {
        let none = wakers(&[]);
        assert_eq!(none.of(&event(1, 0, 0, WAKING), ""), Waker::Unknown);
        assert_eq!(none.of(&event(1, 5, flag::HARDIRQ, WAKING), ""), Waker::Unknown);
        assert_eq!(none.of(&event(1, 5, 0, WAKING), ""), Waker::Thread(5));
    }
}

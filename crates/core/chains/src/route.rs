//! Follows one wake-up of a stage back, through threads of the kernel, to the stage before it or to the stimulus.

use crate::declaration::Stimulus;
use crate::life::Wake;
use crate::recorded::Recorded;
use crate::waker::{Raised, SOFTIRQ_NET_RX, Waker};
use explain::names::Names;
use wakeups::pattern::Pattern;

/// More threads of the kernel do not stand between two stages.
const HOPS_MAX: usize = 8;
/// Names of the kernel's threads that carry work of others.
const CARRIERS: [&str; 5] = ["kworker/", "ksoftirqd/", "irq/", "ktimers/", "napi/"];

/// A wake-up on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The thread that was woken.
    pub tid: i32,
    pub wake: Wake,
}

/// The way from an origin to the wake-up of a stage: the first hop was caused by the origin, the last one is of the stage, and those in
/// between are of threads of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    hops: Vec<Hop>,
}

impl Route {
    /// Of a stage that was not woken.
    pub const NONE: Self = Self { hops: Vec::new() };

    /// In order of time.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The origin.
    pub fn origin(&self) -> Option<Waker> {
        self.hops.first().map(|hop| hop.wake.by)
    }

    /// The thread that made the first hop, and when.
    pub fn giver(&self) -> Option<(i32, i64)> {
        let first = self.hops.first()?;
        Some((first.wake.by.thread()?, first.wake.ts_ns))
    }

    /// When the stimulus occurred, if the route begins with it.
    pub fn stimulus_ns(&self, stimulus: &Stimulus, names: &Names) -> Option<i64> {
        let first_ns = self.hops.first()?.wake.ts_ns;
        let occurred_ns = match (stimulus, self.origin()?) {
            (Stimulus::Wakeup, _) => first_ns,
            (Stimulus::Timer, Waker::Timer { due_ns, expired_ns }) => due_ns.unwrap_or(expired_ns),
            (Stimulus::Timer, waker @ Waker::Softirq { entry_ns, .. }) if waker.is_timer() => entry_ns,
            (Stimulus::Interrupt(name), Waker::Interrupt { irq, entry_ns }) if is_named(name, irq, names) => entry_ns,
            (Stimulus::Interrupt(name), Waker::Softirq { raised: Raised::Interrupt { irq, entry_ns }, .. })
                if is_named(name, irq, names) =>
            {
                entry_ns
            }
            (Stimulus::Packet, Waker::Softirq { vec: SOFTIRQ_NET_RX, entry_ns, raised }) => match raised {
                Raised::Interrupt { entry_ns, .. } => entry_ns,
                Raised::Thread(_) | Raised::Unknown => entry_ns,
            },
            _ => return None,
        };
        Some(occurred_ns.min(first_ns))
    }
}

fn is_named(wanted: &str, irq: i32, names: &Names) -> bool {
    let name = names.interrupt(irq).name;
    let pattern = Pattern::of_any_length(wanted);
    wanted.parse() == Ok(irq) || name.is_some_and(|name| pattern.fits(name.0.as_bytes()))
}

pub fn is_carrier(names: &Names, tid: i32) -> bool {
    let comm = names.comm(tid);
    CARRIERS.iter().any(|carrier| comm.starts_with(carrier))
}

/// The route to a wake-up, as long as threads of the kernel carry it. `is_stage`: threads at which it ends.
pub fn route(recorded: &Recorded, tid: i32, wake: Wake, is_stage: impl Fn(i32) -> bool) -> Route {
    let mut hops = vec![Hop { tid, wake }];
    let mut at = wake;
    while hops.len() < HOPS_MAX {
        let Some(waker) = at.by.thread() else { break };
        if is_stage(waker) || !is_carrier(&recorded.names, waker) {
            break;
        }
        if hops.iter().any(|hop| hop.tid == waker) {
            break;
        }
        let earlier = match at.by {
            // It may have executed other items since it was woken.
            Waker::Work { queued, .. } => Wake { ts_ns: queued.ts_ns, cpu: queued.cpu, by: queued.waker() },
            _ => match recorded.threads.get(&waker).and_then(|life| life.woken_before(at.ts_ns)) {
                Some(woken) => *woken,
                None => break,
            },
        };
        hops.push(Hop { tid: waker, wake: earlier });
        at = earlier;
    }
    hops.reverse();
    Route { hops }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_found_by_its_name_or_its_number() {
        let mut names = Names::default();
        names.learn_irq(24, b"virtio0-input.0");
        for (wanted, fits) in
            [("24", true), ("virtio0*", true), ("virtio0-input.0", true), ("25", false), ("eth0", false)]
        {
            assert_eq!(is_named(wanted, 24, &names), fits, "{wanted}");
        }
    }

    #[test]
    fn a_stimulus_is_not_later_than_the_wake_up_that_it_caused() {
        let by = Waker::Timer { due_ns: Some(90), expired_ns: 95 };
        let route = Route { hops: vec![Hop { tid: 1, wake: Wake { ts_ns: 100, cpu: 0, by } }] };
        let names = Names::default();
        assert_eq!(route.stimulus_ns(&Stimulus::Timer, &names), Some(90));
        assert_eq!(route.stimulus_ns(&Stimulus::Wakeup, &names), Some(100));
        assert_eq!(route.stimulus_ns(&Stimulus::Packet, &names), None);
    }
}

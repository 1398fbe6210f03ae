//! Converts the request to threads on this machine: number, CPUs, intervals and priorities.

use super::cpu_list;
use super::error::Error;
use super::request::{Affinity, Mode, PolicyName, Request, Threads};
use super::thread::Job;
use meter::kernel::scheduling::ProcessCpus;
use rustix::thread::ClockId;

const THREADS_MAX: u32 = 10_000;

/// The threads, in order; `traced` is whether a snapshotter must recognise them.
///
/// # Errors
/// CPUs that do not exist, priorities and intervals out of range.
pub fn jobs(request: &Request, cpus: &ProcessCpus, traced: bool) -> Result<Vec<Job>, Error> {
    let chosen = match &request.affinity {
        Affinity::List(text) => cpu_list::parse(text, &cpus.bindable).map_err(Error::Affinity)?,
        _ => cpus.mask.clone(),
    };
    let count = match request.threads {
        Threads::OnePerCpu => (chosen.len() as u32).min(THREADS_MAX),
        Threads::Count(count) => count,
    };
    let mut priority = request.priority;
    if priority == 0 && matches!(request.policy, PolicyName::Fifo | PolicyName::Rr) {
        priority = i64::from(count) + 1;
    }
    let lowest = if request.priospread { priority - i64::from(count) + 1 } else { priority };
    if priority > 99 || (priority > 0 && lowest < 1) {
        return Err(Error::Priorities { count, highest: priority, lowest });
    }
    let job = |thread: u32| Job {
        thread,
        cpu: (request.affinity != Affinity::Free).then(|| chosen[thread as usize % chosen.len()]),
        interval_us: request.interval_us + request.distance_us * i64::from(thread),
        policy: request.policy,
        priority: if request.priospread { priority - i64::from(thread) } else { priority } as u8,
        mode: request.mode,
        clock: if request.realtime_clock && request.mode != Mode::System {
            ClockId::Realtime
        } else {
            ClockId::Monotonic
        },
        smi: request.smi,
        break_over: request.breaktrace,
        traced,
    };
    Ok((0..count).map(job).collect())
}

/// The smallest latency in ns that is over a limit in the unit of the output.
pub fn over_ns(limit: i64, nanoseconds: bool) -> i64 {
    if nanoseconds { limit + 1 } else { (limit + 1) * 1000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(change: impl FnOnce(&mut Request)) -> Result<Vec<Job>, Error> {
        let mut request = Request::default();
        change(&mut request);
        jobs(&request, &ProcessCpus { mask: vec![0, 2, 3], bindable: vec![0, 2, 3] }, false)
    }

    #[test]
    fn threads_are_pinned_only_when_asked() {
        let free = of(|request| request.threads = Threads::OnePerCpu).unwrap();
        assert_eq!(free.iter().map(|job| job.cpu).collect::<Vec<_>>(), [None, None, None]);
        let pinned = of(|request| {
            request.threads = Threads::Count(4);
            request.affinity = Affinity::Each;
        })
        .unwrap();
        assert_eq!(pinned.iter().map(|job| job.cpu.unwrap()).collect::<Vec<_>>(), [0, 2, 3, 0]);
        assert_eq!(pinned.iter().map(|job| job.interval_us).collect::<Vec<_>>(), [1000, 1500, 2000, 2500]);
        assert!(of(|request| request.affinity = Affinity::List("1".into())).unwrap_err().to_string().contains("0,2,3"));
    }

    #[test]
    fn priorities_spread_downwards_and_stay_real() {
        let spread = |priority| {
            of(|request| {
                request.threads = Threads::Count(3);
                (request.policy, request.priority, request.priospread) = (PolicyName::Fifo, priority, true);
            })
        };
        assert_eq!(spread(80).unwrap().iter().map(|job| job.priority).collect::<Vec<_>>(), [80, 79, 78]);
        assert!(spread(2).unwrap_err().to_string().contains("from 3 to 99"));
        let default = of(|request| request.policy = PolicyName::Rr).unwrap();
        assert_eq!(default[0].priority, 2);
    }

    #[test]
    fn over_means_over_in_whole_units() {
        assert_eq!((over_ns(100, false), over_ns(100, true)), (101_000, 101));
    }
}

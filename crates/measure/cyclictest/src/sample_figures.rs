//! Synthetic figures for the tests of the layouts.

use super::figures::{Figures, Line};
use super::request::{Mode, PolicyName};
use super::thread::{Effective, Job};
use archive::histogram::Histogram;
use archive::sample::Totals;
use archive::settings::Policy;
use rustix::thread::ClockId;

/// A thread of FIFO priority 80 with latencies from 1 to 9.
pub fn figures(thread: u32, buckets: &[u64], overflows: &[(i64, i64)], overflow_count: u64) -> Figures {
    let cycles = buckets.iter().sum::<u64>() + overflow_count;
    let totals = Totals {
        cycles,
        missed_periods: 2,
        latency_ns_min: Some(1_000),
        latency_ns_max: Some(9_500),
        latency_ns_sum: 4_500 * cycles as i64,
        ..Totals::default()
    };
    Figures {
        line: Line {
            thread,
            tid: 100 + thread as i32,
            priority: 80,
            interval_us: 1000,
            cycles,
            min: 1,
            act: 4,
            avg: 4,
            max: 9,
            smis: None,
        },
        job: Job {
            thread,
            cpu: Some(thread),
            interval_us: 1000,
            policy: PolicyName::Fifo,
            priority: 80,
            mode: Mode::Absolute,
            clock: ClockId::Monotonic,
            smi: false,
            break_over: None,
            traced: false,
        },
        effective: Effective {
            tid: 100 + thread as i32,
            cpus: vec![thread],
            policy: Policy::Fifo,
            priority: 80,
            timer_slack_ns: 0,
        },
        totals,
        sum: 4 * cycles as i64,
        buckets: buckets.to_vec(),
        overflow_count,
        overflows: overflows.to_vec(),
        spike_count: 0,
        spikes: Vec::new(),
        samples_dropped: 0,
        histogram_ns: Histogram { buckets: vec![(1000, cycles)] },
    }
}

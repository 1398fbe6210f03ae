//! One value of each figure per run, for comparisons of runs. Samples of two runs are never compared directly: those of
//! one run share everything that differs from run to run.

use archive::histogram::{Histogram, bucket_high_ns, bucket_low_ns};
use archive::load::CPU_TICKS;
use archive::message::RunPhase;
use archive::reader::Run;
use serde::{Deserialize, Serialize};

/// The work of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRate {
    pub name: String,
    pub unit: String,
    /// Units of progress per second between the start of the loads and the end of the measurement.
    pub per_second: f64,
}

impl LoadRate {
    /// Whether the load counts its work. A user's command does not; its processor time is used instead.
    pub fn counts_work(&self) -> bool {
        self.unit != CPU_TICKS
    }
}

/// The figures of one run over all its CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    pub cycles: u64,
    /// Quantiles of all periods in ns, interpolated inside their histogram bucket.
    pub p50_ns: f64,
    pub p99_ns: f64,
    /// Exact.
    pub max_ns: i64,
    pub loads: Vec<LoadRate>,
}

impl RunFigures {
    /// `None` if the run has no samples.
    pub fn of(run: &Run) -> Option<Self> {
        let mut all = Histogram::default();
        for thread in run.threads.values() {
            all.merge(&run.lateness(thread).known);
        }
        Some(Self {
            cycles: run.threads.values().fold(0, |sum, thread| sum.saturating_add(thread.totals.cycles)),
            p50_ns: quantile_ns(&all, 0.5)?,
            p99_ns: quantile_ns(&all, 0.99)?,
            max_ns: run.threads.values().filter_map(|thread| thread.totals.latency_ns_max).max()?,
            loads: load_rates(run),
        })
    }
}

/// How late the periods of all CPUs were, missed ones included: those that no wake-up explains as late as they were at
/// least.
pub fn all_periods(run: &Run) -> Histogram {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let interval_ns = settings.and_then(|settings| i64::try_from(settings.interval_ns).ok()).unwrap_or(0);
    let mut all = Histogram::default();
    run.threads.values().for_each(|thread| all.merge(&run.lateness(thread).at_least(interval_ns, &thread.totals)));
    all
}

/// The `q` quantile in ns, interpolated linearly inside its bucket; `None` if the histogram is empty or `q` is not in 0
/// ..= 1.
pub fn quantile_ns(histogram: &Histogram, q: f64) -> Option<f64> {
    let total = histogram.total();
    if total == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let wanted = q * total as f64;
    let mut below = 0u64;
    for (bucket, count) in &histogram.buckets {
        let within = (wanted - below as f64) / *count as f64;
        if within <= 1.0 {
            let (low, high) = (bucket_low_ns(*bucket as usize), bucket_high_ns(*bucket as usize));
            // A bucket of one value means that value, not the range up to the next.
            return Some(low as f64 + (high - low) as f64 * within.max(0.0));
        }
        below = below.saturating_add(*count);
    }
    let (last, _) = histogram.buckets.last()?;
    Some(bucket_high_ns(*last as usize) as f64)
}

pub(crate) fn load_rates(run: &Run) -> Vec<LoadRate> {
    let begin = |phase: RunPhase| run.phases.iter().find(|(name, _)| *name == phase).map(|(_, at)| *at);
    let end_ns = begin(RunPhase::Collect).or(run.ending.map(|(_, at)| at));
    let Some((start_ns, end_ns)) = begin(RunPhase::Load).or(begin(RunPhase::Measure)).zip(end_ns) else {
        return Vec::new();
    };
    let seconds = end_ns.saturating_sub(start_ns) as f64 / 1e9;
    let rate = |progress: u64| if seconds > 0.0 { progress as f64 / seconds } else { 0.0 };
    let loads = run.loads.iter().map(|load| LoadRate {
        name: load.name.clone(),
        unit: load.unit.clone(),
        per_second: rate(load.progress),
    });
    loads.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::bucket_of;
    use archive::message::LoadReport;
    use archive::reader::ThreadRun;
    use archive::sample::Totals;

    fn histogram(values: &[i64]) -> Histogram {
        let buckets = values.iter().map(|ns| (bucket_of(*ns).unwrap() as u32, 1)).collect();
        Histogram { buckets }.normalised()
    }

    #[test]
    fn quantiles_lie_inside_their_bucket() {
        let values = histogram(&[100, 200, 300, 400]);
        assert_eq!(quantile_ns(&values, 0.5), Some(200.0));
        assert_eq!(quantile_ns(&values, 0.51), Some(300.0));
        assert_eq!(quantile_ns(&values, 1.0), Some(400.0));
        let wide = Histogram { buckets: vec![(bucket_of(1 << 20).unwrap() as u32, 10)] };
        assert_eq!(quantile_ns(&wide, 0.5), Some((1 << 20) as f64 + 1023.0 / 2.0));
        assert_eq!(quantile_ns(&Histogram::default(), 0.5), None);
        assert_eq!(quantile_ns(&values, f64::NAN), None);
    }

    #[test]
    fn a_run_has_one_number_of_each_kind() {
        let mut run = Run::default();
        assert_eq!(RunFigures::of(&run), None);
        for (thread, values) in [(0, [100, 200]), (1, [300, 400])] {
            let totals = Totals { cycles: 2, latency_ns_max: Some(values[1]), ..Totals::default() };
            run.threads
                .insert(thread, ThreadRun { thread, totals, histogram: histogram(&values), ..ThreadRun::default() });
        }
        run.phases = vec![(RunPhase::Load, 0), (RunPhase::Measure, 1), (RunPhase::Collect, 2_000_000_000)];
        run.loads = vec![LoadReport {
            name: "messaging".into(),
            unit: "messages".into(),
            progress: 3000,
            alive: true,
            detail: String::new(),
        }];
        let figures = RunFigures::of(&run).unwrap();
        assert_eq!((figures.cycles, figures.p50_ns, figures.max_ns), (4, 200.0, 400));
        assert_eq!(figures.loads[0].per_second, 1500.0);
    }
}

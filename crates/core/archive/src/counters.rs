//! Counters of a target's kernel during a run: the figures of vmstat, mpstat and pidstat, about once a second.

use serde::{Deserialize, Serialize};

/// Interrupts that one CPU took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCount {
    pub cpu: u32,
    pub count: u64,
}

/// Softirqs of one kind on all CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedCount {
    /// The kernel's name: `TIMER`, `NET_RX`.
    pub name: String,
    pub count: u64,
}

/// Time in which tasks waited for a resource, in ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// `cpu`, `memory` or `io`.
    pub resource: String,
    /// At least one task waited.
    pub some_ns: u64,
    /// All non-idle tasks waited.
    pub full_ns: u64,
}

/// Counts between two readings, of the whole machine unless stated otherwise. Values that the kernel does not provide
/// are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterSecond {
    /// CLOCK_MONOTONIC of both readings, in ns.
    pub from_ns: i64,
    pub until_ns: i64,
    pub context_switches: Option<u64>,
    /// Of the measuring threads: switches by going to sleep, and preemptions.
    pub voluntary_switches: Option<u64>,
    pub forced_switches: Option<u64>,
    pub forks: Option<u64>,
    pub page_faults: Option<u64>,
    /// Faults that had to wait for a device.
    pub major_faults: Option<u64>,
    /// Time that the host of a virtual machine gave the CPUs to others, summed over all CPUs, in ns.
    pub steal_ns: Option<u64>,
    pub interrupts: Vec<CpuCount>,
    pub softirqs: Vec<NamedCount>,
    pub pressure: Vec<Pressure>,
    /// Time the meter spent on the second of the two readings, in ns.
    pub cost_ns: u64,
}

impl CounterSecond {
    pub fn seconds(&self) -> f64 {
        self.until_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Every figure with its name and unit, per second.
    pub fn figures(&self) -> Vec<CounterFigure> {
        let seconds = self.seconds();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let mut figures = Vec::new();
        let mut add = |name: String, unit: &str, value: Option<f64>| {
            figures.extend(value.map(|value| CounterFigure { name, unit: unit.into(), value }));
        };
        add("context switches".into(), "1/s", self.context_switches.map(per_second));
        add("voluntary switches of the measuring threads".into(), "1/s", self.voluntary_switches.map(per_second));
        add("forced switches of the measuring threads".into(), "1/s", self.forced_switches.map(per_second));
        add("forks".into(), "1/s", self.forks.map(per_second));
        add("page faults".into(), "1/s", self.page_faults.map(per_second));
        add("major page faults".into(), "1/s", self.major_faults.map(per_second));
        for entry in &self.interrupts {
            add(format!("interrupts of CPU {}", entry.cpu), "1/s", Some(per_second(entry.count)));
        }
        for entry in &self.softirqs {
            add(format!("softirqs {}", entry.name), "1/s", Some(per_second(entry.count)));
        }
        let share = |ns: u64| Some(per_second(ns) / 1e7);
        add("stolen time".into(), "% of a CPU", self.steal_ns.and_then(share));
        for entry in &self.pressure {
            add(format!("pressure on {} (some)", entry.resource), "%", share(entry.some_ns));
            add(format!("pressure on {} (full)", entry.resource), "%", share(entry.full_ns));
        }
        figures
    }
}

/// One figure of one second.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterFigure {
    pub name: String,
    pub unit: String,
    pub value: f64,
}

/// A figure over a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterSummary {
    pub name: String,
    /// `1/s`, `%`, or `% of a CPU`.
    pub unit: String,
    pub mean: f64,
    /// Largest value between two readings.
    pub max: f64,
}

/// Condenses the seconds of a run: the mean over time and the largest value of every figure, then the cost of the
/// readings.
pub fn condensed(seconds: &[CounterSecond]) -> Vec<CounterSummary> {
    let mut sums: Vec<(CounterSummary, f64)> = Vec::new();
    for second in seconds {
        let weight = second.seconds();
        let cost = CounterFigure { name: "reading counters".into(), unit: "% of a CPU".into(), value: second.cost() };
        for figure in second.figures().into_iter().chain(Some(cost)) {
            match sums.iter_mut().find(|(sum, _)| sum.name == figure.name) {
                Some((sum, time)) => {
                    sum.mean += figure.value * weight;
                    sum.max = sum.max.max(figure.value);
                    *time += weight;
                }
                None => {
                    let (name, unit, value) = (figure.name, figure.unit, figure.value);
                    sums.push((CounterSummary { name, unit, mean: value * weight, max: value }, weight));
                }
            }
        }
    }
    let mean = |(sum, time): (CounterSummary, f64)| CounterSummary { mean: sum.mean / time.max(1e-9), ..sum };
    sums.into_iter().map(mean).collect()
}

/// Joins every `neighbours` adjacent seconds into one by summing the values that all of them have.
pub fn joined(seconds: &[CounterSecond], neighbours: usize) -> Vec<CounterSecond> {
    seconds.chunks(neighbours.max(1)).filter_map(|chunk| chunk.iter().cloned().reduce(sum)).collect()
}

fn sum(one: CounterSecond, other: CounterSecond) -> CounterSecond {
    let both = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    let of_cpu = |entry: CpuCount| {
        let more = other.interrupts.iter().find(|more| more.cpu == entry.cpu)?.count;
        Some(CpuCount { count: entry.count.saturating_add(more), ..entry })
    };
    let of_kind = |entry: NamedCount| {
        let more = other.softirqs.iter().find(|more| more.name == entry.name)?.count;
        Some(NamedCount { count: entry.count.saturating_add(more), ..entry })
    };
    let of_resource = |entry: Pressure| {
        let more = other.pressure.iter().find(|more| more.resource == entry.resource)?;
        let some_ns = entry.some_ns.saturating_add(more.some_ns);
        Some(Pressure { some_ns, full_ns: entry.full_ns.saturating_add(more.full_ns), ..entry })
    };
    CounterSecond {
        from_ns: one.from_ns,
        until_ns: other.until_ns,
        context_switches: both(one.context_switches, other.context_switches),
        voluntary_switches: both(one.voluntary_switches, other.voluntary_switches),
        forced_switches: both(one.forced_switches, other.forced_switches),
        forks: both(one.forks, other.forks),
        page_faults: both(one.page_faults, other.page_faults),
        major_faults: both(one.major_faults, other.major_faults),
        steal_ns: both(one.steal_ns, other.steal_ns),
        interrupts: one.interrupts.into_iter().filter_map(of_cpu).collect(),
        softirqs: one.softirqs.into_iter().filter_map(of_kind).collect(),
        pressure: one.pressure.into_iter().filter_map(of_resource).collect(),
        cost_ns: one.cost_ns.saturating_add(other.cost_ns),
    }
}

impl CounterSecond {
    /// Share of a CPU that the readings took, in percent.
    fn cost(&self) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { self.cost_ns as f64 / 1e7 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(from: i64, until: i64, switches: Option<u64>) -> CounterSecond {
        let interrupts = vec![CpuCount { cpu: 0, count: 100 }];
        CounterSecond {
            from_ns: from * 1_000_000_000,
            until_ns: until * 1_000_000_000,
            context_switches: switches,
            interrupts,
            cost_ns: 1_000_000,
            ..CounterSecond::default()
        }
    }

    #[test]
    fn means_are_over_time_and_what_is_absent_counts_nowhere() {
        let figures = condensed(&[second(0, 1, Some(500)), second(1, 4, Some(300)), second(4, 5, None)]);
        let of = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
        assert_eq!((of("context switches").mean, of("context switches").max), (200.0, 500.0));
        assert_eq!((of("interrupts of CPU 0").mean, of("interrupts of CPU 0").max), (60.0, 100.0));
        assert!((of("reading counters").max - 0.1).abs() < 1e-9);
        assert!(figures.iter().all(|figure| figure.name != "page faults"));
        assert!(condensed(&[]).is_empty());
    }

    #[test]
    fn neighbours_join_to_one_stretch_with_the_same_rates() {
        let seconds = [second(0, 1, Some(500)), second(1, 2, Some(300)), second(2, 3, None)];
        let joined = joined(&seconds, 2);
        assert_eq!(joined.len(), 2);
        assert_eq!((joined[0].seconds(), joined[0].context_switches), (2.0, Some(800)));
        assert_eq!((joined[0].interrupts[0].count, joined[0].cost_ns), (200, 2_000_000));
        assert_eq!(joined[1], seconds[2]);
    }

    #[test]
    fn a_look_without_time_divides_by_nothing() {
        assert!(second(3, 3, Some(1)).figures().iter().all(|figure| figure.value == 0.0));
    }
}

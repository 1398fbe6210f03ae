//! Tables for spreadsheets and statistics programs: comma-separated, with a header line, times in ns. The names of
//! times in virtual time end in `_virtual_time`, to distinguish them from those of real machines.

use super::{ExportError, ExportFormat, ExportInput};
use archive::histogram::{bucket_high_ns, bucket_low_ns};
use archive::reader::Run;
use std::fmt::Write;
use std::io;

/// A table of one run.
#[derive(Debug)]
pub struct CommaSeparated {
    name: &'static str,
    about: &'static str,
    file_name: &'static str,
    /// The data that a run without a row did not keep.
    lacks: &'static str,
    table: fn(&Run) -> String,
}

pub const HISTOGRAM: CommaSeparated = CommaSeparated {
    name: "histogram-csv",
    about: "Every histogram bucket of every thread",
    file_name: "histogram.csv",
    lacks: "histogram",
    table: histogram,
};

pub const WORST: CommaSeparated = CommaSeparated {
    name: "worst-csv",
    about: "The worst samples that were kept",
    file_name: "worst.csv",
    lacks: "time of any sample",
    table: worst,
};

pub const SECONDS: CommaSeparated = CommaSeparated {
    name: "seconds-csv",
    about: "Maximum and counts of every second",
    file_name: "seconds.csv",
    lacks: "record of each second",
    table: seconds,
};

pub const COUNTERS: CommaSeparated = CommaSeparated {
    name: "counters-csv",
    about: "Counters of the kernel in every second: switches, interrupts, softirqs, faults, pressure",
    file_name: "counters.csv",
    lacks: "counts of the kernel",
    table: counters,
};

impl ExportFormat for CommaSeparated {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok(self.file_name.into())
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn io::Write + Send)) -> Result<(), ExportError> {
        let table = (self.table)(input.run());
        if table.lines().nth(1).is_none() && is_import(input.run()) {
            return Err(ExportError::NotInImport { format: self.name, lacks: self.lacks });
        }
        Ok(out.write_all(table.as_bytes())?)
    }
}

/// The header line.
fn names(names: &str, run: &Run) -> String {
    names_in(names, run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time))
}

fn names_in(names: &str, virtual_time: bool) -> String {
    let name = |name: &str| match virtual_time && name.contains("_ns") {
        true => format!("{name}_virtual_time"),
        false => name.to_owned(),
    };
    names.split(',').map(name).collect::<Vec<_>>().join(",") + "\n"
}

fn is_import(run: &Run) -> bool {
    run.manifest.as_ref().is_some_and(|manifest| manifest.imported.is_some())
}

/// Latencies of an import lie in buckets of the source, which are wider than those of the archive.
fn bucket_ends_ns(bucket: usize, step_ns: i64) -> (i64, i64) {
    let (low, high) = (bucket_low_ns(bucket), bucket_high_ns(bucket));
    // The source's bucket begins at a multiple of the step within the bucket of the archive.
    let begin = high - high.rem_euclid(step_ns);
    if step_ns > 1 && begin >= low { (begin, begin.saturating_add(step_ns - 1)) } else { (low, high) }
}

fn step_ns(run: &Run) -> i64 {
    let imported = run.manifest.as_ref().and_then(|manifest| manifest.imported.as_ref());
    imported.and_then(|imported| i64::try_from(imported.resolution_ns).ok()).unwrap_or(1).max(1)
}

/// `thread,cpu,low_ns,high_ns,count`: every non-empty bucket of every thread, both ends inclusive.
fn histogram(run: &Run) -> String {
    let step_ns = step_ns(run);
    let mut table = names("thread,cpu,low_ns,high_ns,count", run);
    for thread in run.threads.values() {
        for &(bucket, count) in &thread.histogram.buckets {
            let (low, high) = bucket_ends_ns(bucket as usize, step_ns);
            let _ = writeln!(table, "{},{},{low},{high},{count}", thread.thread, thread.cpu);
        }
    }
    table
}

/// `thread,cpu,cycle,due_ns,latency_ns`: the kept worst samples of every thread, in chronological order. `cpu` is where
/// the thread read the clock.
fn worst(run: &Run) -> String {
    let mut table = names("thread,cpu,cycle,due_ns,latency_ns", run);
    for thread in run.threads.values() {
        let mut worst = thread.worst.clone();
        worst.sort_by_key(|sample| (sample.due_ns, sample.cycle));
        for sample in worst {
            let (cpu, cycle, due_ns, latency_ns) = (sample.cpu, sample.cycle, sample.due_ns, sample.latency_ns);
            let _ = writeln!(table, "{},{cpu},{cycle},{due_ns},{latency_ns}", thread.thread);
        }
    }
    table
}

/// `thread,cpu,second,cycles,latency_ns_max,over_limit,missed_periods`: the record of every second of every thread.
fn seconds(run: &Run) -> String {
    let mut table = names("thread,cpu,second,cycles,latency_ns_max,over_limit,missed_periods", run);
    for thread in run.threads.values() {
        for second in &thread.seconds {
            let counts = [second.over_limit, second.missed_periods].map(|count| count.to_string()).join(",");
            let (index, cycles, max_ns) = (second.second, second.cycles, second.latency_ns_max);
            let _ = writeln!(table, "{},{},{index},{cycles},{max_ns},{counts}", thread.thread, thread.cpu);
        }
    }
    table
}

/// `from_ns,until_ns,figure,unit,value`: what the kernel counted between two instants of CLOCK_MONOTONIC, one line per
/// figure.
fn counters(run: &Run) -> String {
    let mut table = names("from_ns,until_ns,figure,unit,value", run);
    for second in &run.counters {
        for figure in second.figures() {
            // The names of softirqs are the kernel's choice.
            let name = figure.name.replace(['"', ',', '\n', '\r'], " ");
            let (from_ns, until_ns, unit) = (second.from_ns, second.until_ns, figure.unit);
            let _ = writeln!(table, "{from_ns},{until_ns},{name},{unit},{:.3}", figure.value);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn buckets_of_an_import_are_as_wide_as_those_of_its_source() {
        let bucket = |ns| archive::histogram::bucket_of(ns).unwrap();
        assert_eq!(super::bucket_ends_ns(bucket(5000), 1000), (5000, 5999));
        assert_eq!(super::bucket_ends_ns(bucket(399_000), 1000), (399_000, 399_999));
        assert_eq!(super::bucket_ends_ns(bucket(500), 1), (500, 500));
        let wide = bucket(8_000_000);
        assert!(super::bucket_ends_ns(wide, 1000).1 >= 8_000_999);
    }

    #[test]
    fn only_times_are_named_after_the_clock() {
        assert_eq!(super::names_in("cpu,low_ns,count", false), "cpu,low_ns,count\n");
        assert_eq!(super::names_in("cpu,latency_ns_max,count", true), "cpu,latency_ns_max_virtual_time,count\n");
    }
}

//! Splits a log into its runs: cyclictest marks neither end nor start of a run.
//!
//! A run ends where the next one prints what a run prints once, where a thread has another id, and where a count falls.

use super::cyclictest_lines::thread_line;
use super::lack::Lack;
use super::number_row::row;
use super::verbose_samples::sample;
use std::collections::{BTreeMap, BTreeSet};

/// The lines of one run so far.
#[derive(Debug, Default)]
struct SeenRun<'a> {
    /// Thread id and count of each thread's last `T:` line.
    threads: BTreeMap<u32, (u32, u64)>,
    /// Cycle of each thread's last sample.
    samples: BTreeMap<u32, u64>,
    row: Option<u64>,
    statistics: BTreeSet<&'a str>,
}

/// The texts of the runs in order; one, if the log shows no other.
///
/// # Errors
/// If runs wrote at once: the place of a line does not show its run.
pub fn runs(text: &str) -> Result<Vec<&str>, Lack> {
    let mut runs = Vec::new();
    let mut ended: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut seen = SeenRun::default();
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if seen.ends_before(line) {
            runs.push(&text[begin..at]);
            begin = at;
            ended.extend(seen.threads.iter().map(|(thread, (tid, cycles))| ((*thread, *tid), *cycles)));
            seen = SeenRun::default();
        }
        if continues(&ended, line) {
            return Err(Lack::RunsInterleaved);
        }
        seen.take(line);
        at += line.len();
    }
    // A run that was killed before its first result leaves a header.
    if runs.is_empty() || !seen.is_empty() {
        runs.push(&text[begin..]);
    }
    Ok(runs)
}

/// Whether the line continues a run that another one interrupted.
fn continues(ended: &BTreeMap<(u32, u32), u64>, line: &str) -> bool {
    thread_line(line)
        .and_then(|line| Some(line.tid > 0 && line.cycles > *ended.get(&(line.thread, line.tid))?))
        .unwrap_or(false)
}

/// The name of a line that a run prints once.
fn statistic(line: &str) -> Option<&str> {
    let name = line.strip_prefix('#')?.trim_start().split(':').next()?;
    let kind = name.rsplit(' ').next()?;
    ["Latencies", "Overflows", "Total"].contains(&kind).then_some(name)
}

impl<'a> SeenRun<'a> {
    fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.samples.is_empty() && self.row.is_none() && self.statistics.is_empty()
    }

    fn ends_before(&self, line: &str) -> bool {
        if line.starts_with("# /dev/cpu_dma_latency") {
            return !self.is_empty();
        }
        if line.trim_end() == "# Histogram" {
            return self.row.is_some() || !self.statistics.is_empty();
        }
        if let Some(name) = statistic(line) {
            return self.statistics.contains(name);
        }
        if let Some((thread, cycle, _)) = sample(line) {
            return self.samples.get(&thread).is_some_and(|last| cycle <= *last) || !self.statistics.is_empty();
        }
        if let Some(line) = thread_line(line) {
            return match self.threads.get(&line.thread) {
                Some((tid, cycles)) => (*tid > 0 && line.tid != *tid) || line.cycles < *cycles,
                None => !self.statistics.is_empty(),
            };
        }
        row(line).is_some_and(|row| self.row.is_some_and(|last| row[0] <= last) || !self.statistics.is_empty())
    }

    fn take(&mut self, line: &'a str) {
        if let Some(name) = statistic(line) {
            self.statistics.insert(name);
        } else if let Some((thread, cycle, _)) = sample(line) {
            self.samples.insert(thread, cycle);
        } else if let Some(line) = thread_line(line) {
            self.threads.insert(line.thread, (line.tid, line.cycles));
        } else if let Some(row) = row(line) {
            self.row = Some(row[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(tid: u32, cycles: u64) -> String {
        format!("T: 0 ({tid:5}) P:80 I:1000 C:{cycles:7} Min:      4 Act:   11 Avg:   11 Max:     846\n")
    }

    #[test]
    fn another_thread_id_or_a_count_that_falls_begins_a_run() {
        let log = [line(0, 0), line(70, 0), line(70, 500), line(71, 900), line(71, 300)].concat();
        let found = runs(&log).unwrap();
        assert_eq!(found.iter().map(|run| run.lines().count()).collect::<Vec<_>>(), [3, 1, 1]);
        assert_eq!(found.concat(), log);
    }

    #[test]
    fn runs_that_were_written_at_once_are_refused() {
        let log = [line(70, 500), line(71, 500), line(70, 501)].concat();
        assert_eq!(runs(&log), Err(Lack::RunsInterleaved));
    }

    #[test]
    fn headers_histograms_and_samples_begin_runs() {
        let histogram = "# Histogram\n000001 000002\n000003 000001\n# Total: 3\n# Min Latencies: 00001\n";
        let log = format!("# /dev/cpu_dma_latency set to 0us\n{}{histogram}", line(70, 3));
        assert_eq!(runs(&format!("{log}{log}")).unwrap(), [log.as_str(); 2]);
        assert_eq!(runs(&format!("{log}# /dev/cpu_dma_latency set to 0us\n")).unwrap(), [log.as_str()]);
        assert_eq!(runs(&format!("{histogram}{histogram}")).unwrap(), [histogram; 2]);
        let samples = "       0:       0:     109\n       0:       1:      86\n";
        assert_eq!(runs(&format!("{samples}{samples}")).unwrap(), [samples; 2]);
    }
}

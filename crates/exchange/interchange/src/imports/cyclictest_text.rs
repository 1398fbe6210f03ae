//! Text output of cyclictest: the histogram of -h, -H and --histfile, in both of its layouts, the samples of -v, or `T:`
//! lines alone; a log may hold several runs.
//!
//! Up to 2.6 every bucket has a row and a `# Total:` line follows; from 2.7 on rows without counts are left out. -H
//! adds a column with the sum of all threads. Neither the version nor the unit is in the text.

use super::cyclictest_lines::{ThreadLine, thread_line};
use super::lack::Lack;
use super::problem::Lost;
use super::source::{Mean, Source, SourceThread, Unit};
use super::{Head, Hints, ImportFormat, log_runs, number_row, verbose_samples};
use std::collections::BTreeMap;

/// Most overflow cycles listed in a loss; the rest is counted.
const CYCLES_NAMED: usize = 10;

#[derive(Debug)]
pub struct CyclictestText;

impl ImportFormat for CyclictestText {
    fn name(&self) -> &'static str {
        "cyclictest-text"
    }

    fn about(&self) -> &'static str {
        "Output of cyclictest: histograms of -h, -H, --histfile, samples of -v, or `T:` lines"
    }

    fn title(&self) -> &'static str {
        "text of cyclictest"
    }

    fn detects(&self, head: &Head<'_>) -> bool {
        const SIGNS: [&str; 4] = ["# Histogram", "# /dev/cpu_dma_latency", "# Min Latencies:", "# Max Latencies:"];
        let is_sign = |line: &str| {
            SIGNS.iter().any(|sign| line.starts_with(sign))
                || thread_line(line).is_some()
                || verbose_samples::sample(line).is_some()
        };
        !head.is_json() && !head.is_xml() && head.text.lines().any(is_sign)
    }

    fn read(&self, text: &str, hints: &Hints) -> Result<Vec<Source>, Lack> {
        log_runs::runs(text)?.into_iter().map(|run| read(run, hints)).collect()
    }
}

/// Parses the text of one run.
fn read(text: &str, hints: &Hints) -> Result<Source, Lack> {
    let mut source = Source::new(&CyclictestText, "cyclictest", Unit::Us);
    let lines = last_lines(text);
    set_unit(&mut source, &lines, hints.unit);
    let samples = verbose_samples::threads(text, &lines).map_err(|held| Lack::ThreadLines { held })?;
    let block = Block::of(text);
    if block.headed || !block.rows.is_empty() || block.statistics.contains_key(MIN) {
        source.threads = block.threads(&mut source.stated)?;
        source.histogram_end = block.end();
        if block.rows.is_empty() {
            source.lost(Lost::Distribution);
        }
        source.stated.push(block.layout().into());
    } else if !samples.is_empty() {
        source.threads = samples;
        state_lines(&lines, &mut source.stated);
    } else {
        source.threads = threads_of_lines(&lines)?;
        state_lines(&lines, &mut source.stated);
        source.lost(Lost::Distribution);
    }
    source.lost(Lost::VersionMachineAndTime);
    source.lost(Lost::CpuOfThreads);
    remarks(text, &mut source);
    Ok(source)
}

const MIN: &str = "Min Latencies";
const AVG: &str = "Avg Latencies";
const MAX: &str = "Max Latencies";
const OVERFLOWS: &str = "Histogram Overflows";

/// The histogram, line by line.
#[derive(Default)]
struct Block<'a> {
    headed: bool,
    rows: Vec<Vec<u64>>,
    total: Option<Vec<i128>>,
    /// Values of each `# name:` line.
    statistics: BTreeMap<&'a str, Vec<i128>>,
    overflow_cycles: BTreeMap<usize, &'a str>,
}

impl<'a> Block<'a> {
    fn of(text: &'a str) -> Self {
        let mut block = Self::default();
        for line in text.lines().map(str::trim_end) {
            let Some(comment) = line.strip_prefix('#') else {
                block.rows.extend(number_row::row(line));
                continue;
            };
            let comment = comment.trim_start();
            block.headed |= comment == "Histogram";
            let Some((name, values)) = comment.split_once(':') else { continue };
            let numbers = || values.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<i128>>>();
            if let Some(name) = [MIN, AVG, MAX, OVERFLOWS].into_iter().find(|known| *known == name) {
                let Some(numbers) = numbers() else { continue };
                block.statistics.insert(name, numbers);
            } else if name == "Total" {
                block.total = numbers();
            } else if let Some(thread) = name.strip_prefix("Thread ").and_then(|number| number.parse().ok()) {
                block.overflow_cycles.insert(thread, values);
            }
        }
        block
    }

    fn threads(&self, stated: &mut Vec<String>) -> Result<Vec<SourceThread>, Lack> {
        let line =
            |name: &'static str| self.statistics.get(name).filter(|values| !values.is_empty()).ok_or(Lack::Line(name));
        let (min, mean, max, beyond) = (line(MIN)?, line(AVG)?, line(MAX)?, line(OVERFLOWS)?);
        let count = min.len();
        // With -H and several threads a further column contains the maximum and the sum of all.
        let short = [mean, max, beyond].into_iter().any(|values| values.len() < count || values.len() > count + 1);
        if short {
            return Err(Lack::Columns);
        }
        self.check_rows(count)?;
        let mut threads = Vec::new();
        for thread in 0..count {
            let column = |row: &Vec<u64>| (row[1 + thread] > 0).then_some((row[0], row[1 + thread]));
            let beyond = u64::try_from(beyond[thread]).map_err(|_| Lack::NegativeOverflows)?;
            let buckets: BTreeMap<u64, u64> = self.rows.iter().filter_map(column).collect();
            let cycles = self.held(thread, &buckets)?.saturating_add(beyond);
            if cycles == 0 && max[thread] > 0 {
                return Err(Lack::CountMissing);
            }
            threads.push(SourceThread {
                buckets,
                cycles: Some(cycles),
                beyond: Some(beyond),
                beyond_detail: self.overflow_cycles.get(&thread).map_or(String::new(), |list| cycles_named(list)),
                min: Some(min[thread]),
                max: Some(max[thread]),
                mean: Some(Mean { value: mean[thread] as f64, decimals: Some(0) }),
                ..SourceThread::default()
            });
        }
        stated.push(format!("{} rows in the histogram", self.rows.len()));
        Ok(threads)
    }

    /// Wake-ups in the histogram: of the rows, or of their total where only the lines with `#` were kept.
    fn held(&self, thread: usize, buckets: &BTreeMap<u64, u64>) -> Result<u64, Lack> {
        if let (true, Some(total)) = (self.rows.is_empty(), &self.total) {
            let total = total.get(thread).and_then(|total| u64::try_from(*total).ok());
            return total.ok_or(Lack::RowsMissing { thread });
        }
        Ok(buckets.values().fold(0, |sum, count| sum.saturating_add(*count)))
    }

    /// Every row must have a column for each thread, and no row may be missing if there is a total to check.
    fn check_rows(&self, count: usize) -> Result<(), Lack> {
        for row in &self.rows {
            let columns = row.len() - 1;
            let sum = || row[1..=count].iter().fold(0u64, |sum, value| sum.saturating_add(*value));
            if columns < count || columns > count + 1 || (columns == count + 1 && row[columns] != sum()) {
                return Err(Lack::Row { row: row[0], threads: count });
            }
        }
        if !self.rows.windows(2).all(|pair| pair[0][0] < pair[1][0]) {
            return Err(Lack::RowOrder);
        }
        let Some(total) = self.total.as_ref().filter(|_| !self.rows.is_empty()) else { return Ok(()) };
        for thread in 0..count {
            let sum = self.rows.iter().fold(0i128, |sum, row| sum + i128::from(row[1 + thread]));
            if total.get(thread).is_none_or(|total| *total != sum) {
                return Err(Lack::RowsMissing { thread });
            }
        }
        Ok(())
    }

    /// If every bucket has a row, the histogram ends after the last.
    fn end(&self) -> Option<u64> {
        self.total.as_ref()?;
        self.rows.last().map(|row| row[0].saturating_add(1))
    }

    fn layout(&self) -> &'static str {
        if self.total.is_some() { "laid out as by rt-tests up to 2.6" } else { "laid out as by rt-tests from 2.7 on" }
    }
}

/// Formats ` 00616 00643 # 00024 others` for users.
fn cycles_named(list: &str) -> String {
    let (numbers, others) = list.split_once('#').unwrap_or((list, ""));
    let numbers: Vec<u64> = numbers.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let others: u64 = others.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
    if numbers.is_empty() {
        return String::new();
    }
    let named: Vec<String> = numbers.iter().take(CYCLES_NAMED).map(u64::to_string).collect();
    let more = others.saturating_add(numbers.len().saturating_sub(CYCLES_NAMED) as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("in cycles {}{more}", named.join(", "))
}

/// The last line of each thread: live output repeats them.
fn last_lines(text: &str) -> BTreeMap<u32, ThreadLine> {
    text.lines().filter_map(thread_line).map(|line| (line.thread, line)).collect()
}

/// The unit that the user gives, that a line shows, or µs. No thread is late by more than its interval on average.
fn set_unit(source: &mut Source, lines: &BTreeMap<u32, ThreadLine>, asked: Option<Unit>) {
    let shown = lines.values().find_map(|line| line.unit);
    let late =
        |line: &&ThreadLine| line.interval_us.is_some_and(|interval| interval > 0 && line.mean > interval.into());
    match (asked, shown, lines.values().find(late)) {
        (None, Some(unit), _) => {
            source.unit = unit;
            source.stated(format!("the width of `Act:` shows the unit {}", unit.symbol()));
        }
        (None, None, Some(line)) => {
            source.unit = Unit::Ns;
            let (mean, interval) = (line.mean, line.interval_us.unwrap_or_default());
            source.stated(format!("the unit is ns: no mean of {mean} µs fits an interval of {interval} µs"));
        }
        _ => source.assume_unit(asked),
    }
}

fn threads_of_lines(lines: &BTreeMap<u32, ThreadLine>) -> Result<Vec<SourceThread>, Lack> {
    if lines.is_empty() {
        return Err(Lack::NoResults);
    }
    if lines.keys().copied().ne(0..lines.len() as u32) {
        return Err(Lack::ThreadLines { held: lines.len() });
    }
    let thread = |line: &ThreadLine| SourceThread {
        cycles: Some(line.cycles),
        min: Some(line.min),
        max: Some(line.max),
        mean: Some(Mean { value: line.mean as f64, decimals: Some(0) }),
        ..SourceThread::default()
    };
    Ok(lines.values().map(thread).collect())
}

fn state_lines(lines: &BTreeMap<u32, ThreadLine>, stated: &mut Vec<String>) {
    for line in lines.values() {
        let priority = line.priority.map_or(String::new(), |priority| format!(", priority {priority}"));
        let interval = line.interval_us.map_or(String::new(), |interval| format!(", interval {interval} µs"));
        stated.push(format!("thread {}{priority}{interval}", line.thread));
    }
}

fn remarks(text: &str, source: &mut Source) {
    for line in text.lines() {
        let Some(comment) = line.trim().strip_prefix("# ") else { continue };
        if comment.starts_with("Break value:") {
            source.stated(format!("ended by -b: {comment}"));
        } else if ["/dev/cpu_dma_latency", "SMIs:"].iter().any(|start| comment.starts_with(start)) {
            source.stated(comment.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\t000000\t000000\n000001 000002\t000003\t000005\n\
        # Total: 000000002 000000003 000000005\n# Min Latencies: 00001 00001\n# Avg Latencies: 00001 00002\n\
        # Max Latencies: 00001 00009 00009\n# Histogram Overflows: 00000 00002 00002\n\
        # Histogram Overflow at cycle number:\n# Thread 0:\n# Thread 1: 00003 # 00001 others\n";

    #[test]
    fn the_sum_column_of_capital_h_is_no_thread() {
        let source = read(OLD, &Hints::default()).unwrap();
        assert_eq!(source.threads.len(), 2);
        assert_eq!(source.threads[1].cycles, Some(5));
        assert_eq!(source.threads[1].beyond_detail, "in cycles 3 and 1 more");
        assert_eq!(source.histogram_end, Some(2));
    }

    #[test]
    fn lines_below_a_histogram_are_enough_with_their_total() {
        let summary: String =
            OLD.lines().filter(|line| !line.starts_with('0')).map(|line| format!("{line}\n")).collect();
        let source = read(&summary, &Hints::default()).unwrap();
        assert_eq!((source.threads[1].cycles, source.threads[1].max), (Some(5), Some(9)));
        let without =
            summary.replace("# Total: 000000002 000000003 000000005\n", "").replace("00000 00002 00002", "0 0");
        assert_eq!(read(&without, &Hints::default()), Err(Lack::CountMissing));
    }

    #[test]
    fn several_runs_of_a_log_stay_apart() {
        let line = |tid: u32, cycles: u32, max: u32| {
            format!("T: 0 ({tid}) P:80 I:1000 C:{cycles:7} Min:      4 Act:   11 Avg:   11 Max:{max:8}\n")
        };
        let log = [line(70, 500, 9070), line(71, 300, 399)].concat();
        let sources = CyclictestText.read(&log, &Hints::default()).unwrap();
        assert_eq!(sources.iter().map(|source| source.threads[0].max).collect::<Vec<_>>(), [Some(9070), Some(399)]);
        let log = format!("{OLD}{OLD}");
        assert_eq!(CyclictestText.read(&log, &Hints::default()).unwrap().len(), 2);
    }

    #[test]
    fn a_mean_above_the_interval_is_in_ns() {
        let text = "T: 0 (70) P:80 I:1000 C: 500 Min: 4000 Act: 11 Avg: 11000 Max: 900000";
        assert_eq!(read(text, &Hints::default()).unwrap().unit, Unit::Ns);
        let hints = Hints { unit: Some(Unit::Us), ..Hints::default() };
        assert_eq!(read(text, &hints).unwrap().unit, Unit::Us);
        assert_eq!(read(&text.replace("11000", "110"), &Hints::default()).unwrap().unit, Unit::Us);
    }

    #[test]
    fn a_block_without_its_end_or_with_holes_is_refused() {
        let lacks = |text: &str| read(text, &Hints::default()).unwrap_err();
        assert!(lacks(&OLD[..OLD.find("# Min").unwrap()]) == Lack::Line(MIN));
        assert!(lacks(&OLD.replace("000001 000002\t000003\t000005\n", "")) == Lack::RowsMissing { thread: 0 });
        assert!(lacks(&OLD.replace("000003\t000005", "000003\t000006")) == Lack::Row { row: 1, threads: 2 });
        assert!(lacks("# /dev/cpu_dma_latency set to 0us\n") == Lack::NoResults);
    }
}

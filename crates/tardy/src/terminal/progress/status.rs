//! The contents of the status block on the terminal, as lines that fit it, and its one-line form for a log.

use super::histogram::{self, Octaves};
use crate::terminal::page::COLUMNS;
use crate::terminal::screen::{self, Size};
use crate::terminal::table::{Align, Table};
use archive::message::{LoadReport, RunPhase, ThreadProgress};
use archive::method::SampleWord;
use archive::settings::RunSettings;
use archive::spike::SpikeReason;
use runner::event::Event;
use runner::run::phase_title;
use std::collections::BTreeMap;
use std::time::Duration;
use words::figures::{count, counted, duration, latency};
use words::printable::printable;
use words::vocabulary::by;

/// Threads shown at once; if there are more, those with the largest maxima.
const THREADS_SHOWN: usize = 8;
const BAR_COLUMNS: usize = 24;
/// A narrower terminal shows the time without a bar.
const COLUMNS_WITH_BAR: usize = 72;
/// Width of the spinner and its space.
const MARGIN: usize = 2;
const HISTOGRAM_ROWS_MAX: usize = 12;
/// A lower terminal shows no histogram.
const HISTOGRAM_ROWS_MIN: usize = 4;
/// Rows of a terminal of unknown height.
const ROWS: usize = 24;

/// The known state of a run in progress.
#[derive(Debug, Default)]
pub struct Status {
    duration_ns: Option<u64>,
    limit_ns: Option<i64>,
    phase: Option<RunPhase>,
    threads: Vec<ThreadProgress>,
    snapshots: u32,
    spikes: u64,
    last_spike: Option<(u32, String)>,
    /// Number of the spike that was explained last, and its cause.
    cause: Option<(u32, String)>,
    loads: Vec<LoadReport>,
    losses: u64,
    notes: Vec<String>,
    explaining: Option<(usize, usize)>,
    virtual_time: bool,
    /// Words for a sample.
    word: SampleWord,
    /// Histograms by thread, and how long the measurement had lasted when the last one arrived.
    histograms: BTreeMap<u32, Octaves>,
    histograms_at: Duration,
    /// Samples over the limit by thread, as of the same instants.
    over_limit: BTreeMap<u32, u64>,
    size: Size,
}

impl Status {
    pub fn new(settings: &RunSettings) -> Self {
        let mut status = Self {
            duration_ns: settings.duration_ns,
            limit_ns: settings.limit_ns,
            word: settings.method.sample(),
            ..Self::default()
        };
        status.fit(screen::size_of_stderr());
        status
    }

    /// Fits the block to a terminal of this size.
    pub fn fit(&mut self, size: Option<Size>) {
        self.size = size.unwrap_or(Size { columns: COLUMNS, rows: ROWS });
    }

    /// Processes an event, `in_phase` after the start of the current phase.
    pub fn take(&mut self, event: &Event, in_phase: Duration) {
        match event {
            Event::Phase(phase) => self.phase = Some(*phase),
            Event::Progress { threads, snapshots } => {
                self.threads.clone_from(threads);
                self.snapshots = *snapshots;
            }
            Event::Totals { thread, histogram, over_limit, .. } => {
                self.over_limit.insert(*thread, *over_limit);
                self.histograms.insert(*thread, histogram::octaves(histogram));
                self.histograms_at = in_phase;
            }
            // An ordinary wake-up, kept for comparison.
            Event::Spike(spike) if spike.reason == SpikeReason::Control => {}
            Event::Spike(spike) => {
                self.spikes += 1;
                let (number, cpu) = (spike.number, spike.sample.cpu);
                let late = by(self.word, &latency(spike.sample.latency_ns));
                let text = format!("last spike #{number}: CPU {cpu}, {late}");
                self.last_spike = Some((number, text));
            }
            Event::Loads(loads) => self.loads.clone_from(loads),
            Event::Problem(problem) => self.notes.push(problem.text.clone()),
            Event::Loss(_) => self.losses += 1,
            Event::Stopping(reason) => self.notes.push(format!("stopping ({reason})")),
            Event::Begun { virtual_time, .. } => self.virtual_time = *virtual_time,
            Event::Greeted { .. }
            | Event::Seconds(_)
            | Event::Watched(_)
            | Event::Environment(_)
            | Event::Effective(_)
            | Event::FileBegun { .. }
            | Event::FileBytes { .. }
            | Event::FileComplete { .. }
            | Event::Line(_)
            | Event::Said { .. }
            | Event::Restored { .. }
            | Event::NotGivenBack(_)
            | Event::Archived { .. } => {}
        }
    }

    pub fn explaining(&mut self, done: usize, total: usize) {
        self.explaining = Some((done, total));
    }

    pub fn cause(&mut self, spike: u32, cause: &str) {
        self.cause = Some((spike, cause.to_owned()));
    }

    /// The newest spike, with its cause below it; until that is known, the newest known one.
    fn spike_lines(&self) -> Vec<String> {
        let Some((last, text)) = &self.last_spike else { return Vec::new() };
        let cause = self.cause.as_ref().map(|(spike, cause)| match spike == last {
            true => format!("  {cause}"),
            false => format!("  #{spike}: {cause}"),
        });
        [text.clone()].into_iter().chain(cause).collect()
    }

    /// The block, `in_phase` after the start of the current phase.
    pub fn lines(&self, in_phase: Duration) -> Vec<String> {
        if let Some((done, total)) = self.explaining {
            return vec![format!("explain   spike {} of {total}", done + 1)];
        }
        let mut lines = vec![self.headline(in_phase, self.size.columns >= COLUMNS_WITH_BAR)];
        if !self.threads.is_empty() {
            lines.extend(self.thread_lines());
        }
        lines.extend(self.limit_line());
        lines.extend(self.spike_lines());
        for load in &self.loads {
            let dead = if load.alive { "" } else { " (dead)" };
            lines.push(format!("load {}: {} {}{dead}", load.name, count(load.progress), load.unit));
        }
        if let Some(note) = self.notes.last() {
            lines.push(note.clone());
        }
        let rows = self.size.rows.saturating_sub(lines.len() + 2).min(HISTOGRAM_ROWS_MAX);
        lines.extend(self.histogram_lines(rows));
        lines.iter().map(|line| fitted(line, self.size.columns)).collect()
    }

    /// The state of the run in one line of a log.
    pub fn line(&self, in_phase: Duration) -> String {
        let mut line = self.headline(in_phase, false);
        if let Some(worst) = self.threads.iter().max_by_key(|thread| thread.latency_ns_max) {
            line.push_str(&format!("  max {} on CPU {}", latency(worst.latency_ns_max), worst.cpu));
        }
        if !self.notes.is_empty() {
            line.push_str(&format!("  {}", counted(self.notes.len() as u64, "note")));
        }
        printable(&line.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn headline(&self, in_phase: Duration, with_bar: bool) -> String {
        let phase = self.phase.map_or("start", phase_title);
        let elapsed_ns = i64::try_from(in_phase.as_nanos()).unwrap_or(i64::MAX);
        let mut line = format!("{phase:<8}");
        if self.virtual_time {
            // The host's clock does not show how much of it has passed.
            let total =
                self.duration_ns.and_then(|ns| i64::try_from(ns).ok()).map(|ns| format!("{} of ", duration(ns)));
            line.push_str(&format!("  {}virtual time", total.unwrap_or_default()));
        } else if self.phase == Some(RunPhase::Measure) {
            line.push_str(&format!("  {}", duration(elapsed_ns)));
            if let Some(total_ns) = self.duration_ns.and_then(|ns| i64::try_from(ns).ok()) {
                line.push_str(&format!(" of {}", duration(total_ns)));
                if with_bar {
                    line.push_str(&format!("  {}", bar(elapsed_ns, total_ns)));
                }
                line.push_str(&format!("  {} left", duration((total_ns - elapsed_ns).max(0))));
            }
        }
        if self.snapshots > 0 || self.spikes > 0 {
            line.push_str(&format!("  {}", counted(self.spikes.max(u64::from(self.snapshots)), "snapshot")));
        }
        if self.losses > 0 {
            line.push_str(&format!("  {}", counted(self.losses, "loss report")));
        }
        line
    }

    /// The samples over the limit so far.
    fn limit_line(&self) -> Option<String> {
        let limit = latency(self.limit_ns?);
        let over = self.over_limit.values().fold(0, |sum: u64, over| sum.saturating_add(*over));
        let known = !self.over_limit.is_empty() && self.phase == Some(RunPhase::Measure);
        known.then(|| format!("over the limit of {limit}: {} after {}", count(over), self.age_of_totals()))
    }

    fn age_of_totals(&self) -> String {
        duration(i64::try_from(self.histograms_at.as_nanos()).unwrap_or(i64::MAX))
    }

    /// All samples so far by their latency.
    fn histogram_lines(&self, rows: usize) -> Vec<String> {
        if self.phase != Some(RunPhase::Measure) || rows < HISTOGRAM_ROWS_MIN {
            return Vec::new();
        }
        let all = histogram::sum(self.histograms.values());
        let full = if screen::is_utf8() { '█' } else { '#' };
        let mut lines = histogram::lines(&all, self.size.columns.saturating_sub(MARGIN), rows, full);
        if !lines.is_empty() {
            lines.insert(0, format!("samples by latency after {}, log scales", self.age_of_totals()));
        }
        lines
    }

    fn thread_lines(&self) -> Vec<String> {
        let mut shown: Vec<&ThreadProgress> = self.threads.iter().collect();
        shown.sort_by_key(|thread| std::cmp::Reverse(thread.latency_ns_max));
        shown.truncate(THREADS_SHOWN);
        shown.sort_by_key(|thread| thread.thread);
        let mut table = Table::new(&[Align::Right; 5]);
        table.row(["  CPU", "now", "max", "cycles", "missed"]);
        for thread in &shown {
            table.row([
                thread.cpu.to_string(),
                if thread.cycles > 0 { latency(thread.latency_ns_last) } else { "-".into() },
                if thread.cycles > 0 { latency(thread.latency_ns_max) } else { "-".into() },
                count(thread.cycles),
                count(thread.missed_periods),
            ]);
        }
        let mut lines = table.lines();
        if self.threads.len() > shown.len() {
            lines.push(format!("  and {} more CPUs with smaller maxima", self.threads.len() - shown.len()));
        }
        lines
    }
}

fn bar(done_ns: i64, total_ns: i64) -> String {
    let share = (done_ns as f64 / total_ns.max(1) as f64).clamp(0.0, 1.0);
    let full = (share * BAR_COLUMNS as f64) as usize;
    let (done, left) = if screen::is_utf8() { ("█", "░") } else { ("#", ".") };
    format!("{}{}", done.repeat(full), left.repeat(BAR_COLUMNS - full))
}

fn fitted(line: &str, columns: usize) -> String {
    let safe = printable(line);
    let room = columns.max(2 * MARGIN) - MARGIN;
    if safe.chars().count() <= room {
        return safe;
    }
    safe.chars().take(room - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::Histogram;

    fn thread(cpu: u32) -> ThreadProgress {
        ThreadProgress {
            thread: cpu,
            cpu,
            cycles: 12_345,
            latency_ns_last: 3_100,
            latency_ns_max: 1_000 * i64::from(cpu + 1),
            missed_periods: 0,
        }
    }

    fn status_of_20_s() -> Status {
        Status::new(&RunSettings { duration_ns: Some(20_000_000_000), ..RunSettings::default() })
    }

    #[test]
    fn the_samples_over_the_limit_are_counted() {
        let mut status = Status { limit_ns: Some(100_000), ..status_of_20_s() };
        status.take(&Event::Phase(RunPhase::Measure), Duration::ZERO);
        assert_eq!(status.limit_line(), None, "no thread has sent its totals");
        for (thread, over_limit) in [(0, 3), (1, 4), (0, 5)] {
            let totals = Event::Totals { thread, cpu: 0, histogram: Histogram::default(), over_limit };
            status.take(&totals, Duration::from_secs(4));
        }
        let line = status.limit_line().unwrap();
        assert!(line.contains(" 100.0 µs: 9 ") && line.ends_with(" 4.0 s"), "{line}");
    }

    #[test]
    fn a_run_at_a_glance() {
        let mut status = status_of_20_s();
        status.take(&Event::Phase(RunPhase::Measure), Duration::ZERO);
        status.take(&Event::Progress { threads: vec![thread(0), thread(1)], snapshots: 2 }, Duration::ZERO);
        let headline = format!("measure   5.0 s of 20.0 s  {}  15.0 s left  2 snapshots", bar(5, 20));
        let expected = [
            headline.as_str(),
            "  CPU     now     max  cycles  missed",
            "    0  3.1 µs  1.0 µs  12 345       0",
            "    1  3.1 µs  2.0 µs  12 345       0",
        ];
        assert_eq!(status.lines(Duration::from_secs(5)), expected);
    }

    #[test]
    fn the_histogram_fits_the_terminal_as_it_is_now() {
        let mut status = status_of_20_s();
        status.take(&Event::Phase(RunPhase::Measure), Duration::ZERO);
        let histogram = Histogram { buckets: (0..20_000).step_by(50).map(|bucket| (bucket, 7)).collect() };
        status.take(
            &Event::Totals { thread: 0, cpu: 0, histogram: histogram.clone(), over_limit: 3 },
            Duration::from_secs(3),
        );
        status.take(&Event::Totals { thread: 1, cpu: 1, histogram, over_limit: 4 }, Duration::from_secs(3));
        for (columns, rows) in [(50, 30), (80, 24), (180, 50), (80, 10)] {
            status.fit(Some(Size { columns, rows }));
            let lines = status.lines(Duration::from_secs(5));
            assert!(lines.iter().any(|line| line.contains(" 3.0 s, log ")), "{lines:#?}");
            assert!(lines.len() < rows, "{rows}: {lines:#?}");
            let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns - MARGIN && !lines.concat().contains('…'), "{columns}: {lines:#?}");
        }
        status.fit(Some(Size { columns: 80, rows: 5 }));
        assert_eq!(status.lines(Duration::from_secs(5)).len(), 1, "there is room for the time alone");
    }

    #[test]
    fn the_newest_known_cause_stands_below_the_last_spike() {
        let mut status = Status::new(&RunSettings { duration_ns: None, ..RunSettings::default() });
        status.cause(2, "kworker/0:1 kept the CPU (certain)");
        status.last_spike = Some((2, "last spike #2: CPU 0, 1.0 ms late".into()));
        assert_eq!(status.spike_lines(), ["last spike #2: CPU 0, 1.0 ms late", "  kworker/0:1 kept the CPU (certain)"]);
        status.last_spike = Some((5, "last spike #5: CPU 0, 2.0 ms late".into()));
        assert_eq!(status.spike_lines()[1], "  #2: kworker/0:1 kept the CPU (certain)");
    }

    #[test]
    fn an_ordinary_wake_up_kept_for_comparison_is_no_spike() {
        let event = |number: u32, reason: &str| {
            let sample = serde_json::json!({"cpu": 0, "cycle": 1, "due_ns": 1, "latency_ns": 23_000});
            let spike = serde_json::json!({
                "number": number, "thread": 0, "tid": 1, "sample": sample, "reason": reason,
                "previous_seen_ns": null, "snapshot": null, "snapshot_missing": null,
            });
            Event::Spike(Box::new(serde_json::from_value(spike).unwrap()))
        };
        let mut status = Status::new(&RunSettings { duration_ns: None, ..RunSettings::default() });
        status.take(&event(1, "new_maximum"), Duration::ZERO);
        status.take(&event(2, "control"), Duration::ZERO);
        assert_eq!(status.spike_lines(), ["last spike #1: CPU 0, 23.0 µs late"]);
    }

    #[test]
    fn a_log_gets_one_line_without_a_picture() {
        let mut status = status_of_20_s();
        status.take(&Event::Phase(RunPhase::Measure), Duration::ZERO);
        status.take(&Event::Progress { threads: vec![thread(0), thread(1)], snapshots: 2 }, Duration::ZERO);
        assert_eq!(
            status.line(Duration::from_secs(5)),
            "measure 5.0 s of 20.0 s 15.0 s left 2 snapshots max 2.0 µs on CPU 1"
        );
    }

    #[test]
    fn virtual_time_is_named_from_the_first_line_on() {
        let mut status = status_of_20_s();
        status.take(&Event::Begun { directory: "runs/one".into(), virtual_time: true }, Duration::ZERO);
        let [line] = &status.lines(Duration::from_secs(5))[..] else { panic!("one line") };
        assert!(line.ends_with("virtual time"), "{line}");
    }

    #[test]
    fn the_block_fits_80_columns_and_escapes_names() {
        let mut status = Status::new(&RunSettings { duration_ns: None, ..RunSettings::default() });
        let load = LoadReport {
            name: "\x1b[2J".repeat(40),
            unit: "messages".into(),
            progress: 1,
            alive: false,
            detail: String::new(),
        };
        status.take(&Event::Loads(vec![load]), Duration::ZERO);
        status.take(&Event::Progress { threads: (0..64).map(thread).collect(), snapshots: 0 }, Duration::ZERO);
        let lines = status.lines(Duration::ZERO);
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS - MARGIN), "{lines:?}");
        assert!(!lines.concat().contains('\x1b'));
        assert!(lines.iter().any(|line| line.contains(" 56 more CPUs ")), "{lines:?}");
    }
}

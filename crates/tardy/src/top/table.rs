//! The table of threads as text: its columns, its order, and the figures above it.

use super::minute::MINUTE;
use super::threads::{Counts, Row};
use archive::policy::Policy;
use archive::watched::guard::EventKind;
use ratatui_core::text::Span;
use std::cmp::Reverse;
use std::time::Duration;
use words::figures::{count, duration, latency};
use words::guarding::{self, Miss, When};
use words::printable::printable;
use words::top::{Watched, WorstAccount, quantile_stretch};

const PROGRAM: &str = "tardy top";
const NAME_COLUMNS: usize = 15;
/// Least columns for a column of causes.
const CAUSE_COLUMNS_MIN: usize = 24;
/// The figure of a thread that has none.
const NO_FIGURE: &str = "-";

/// Order of the threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    Now,
    P99,
    #[default]
    Worst,
    Name,
}

impl Sort {
    pub fn next(self) -> Self {
        match self {
            Self::Now => Self::P99,
            Self::P99 => Self::Worst,
            Self::Worst => Self::Name,
            Self::Name => Self::Now,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::P99 => "p99",
            Self::Worst => "worst",
            Self::Name => "name",
        }
    }

    /// Sorts; the largest figure, or the first name, comes first.
    pub fn sort(self, rows: &mut [Row]) {
        match self {
            Self::Now => rows.sort_by_key(|row| (Reverse(row.now_ns), row.tid)),
            Self::P99 => rows.sort_by_key(|row| (Reverse(row.p99_ns), row.tid)),
            Self::Worst => rows.sort_by_key(|row| (Reverse(row.worst_ns), row.tid)),
            Self::Name => rows.sort_by(|one, other| (&one.name, one.tid).cmp(&(&other.name, other.tid))),
        }
    }
}

/// Everything that is shown at an instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    pub host: String,
    pub whom: String,
    pub elapsed: Duration,
    pub rows: Vec<Row>,
    pub left_out: usize,
    /// Of threads that are no longer in `rows`.
    pub forgotten: Counts,
    pub limit_ns: Option<i64>,
    /// Wake-ups below this are not traced.
    pub traced_from_ns: i64,
    pub cost_percent: Option<f64>,
    pub budget_percent: f64,
    pub shed: Vec<EventKind>,
    /// The newest problem of the watch.
    pub notice: Option<String>,
    pub state: &'static str,
}

impl Snapshot {
    /// Machine and threads, without the time.
    pub fn title(&self) -> String {
        format!("{PROGRAM}  {}: {}", printable(&self.host), printable(&self.whom))
    }

    pub fn time(&self) -> String {
        duration(i64::try_from(self.elapsed.as_secs()).unwrap_or(0) * 1_000_000_000)
    }

    /// Threads, samples, misses.
    pub fn figures(&self) -> String {
        let missed = self.limit_ns.map(|limit_ns| (self.missed(), limit_ns));
        let samples = self.forgotten.samples + self.rows.iter().map(|row| row.samples).sum::<u64>();
        let watched = Watched { threads: self.rows.len(), samples, missed, left_out: self.left_out };
        format!("{}; {}", watched.line(), quantile_stretch(self.elapsed >= MINUTE))
    }

    /// Samples over the limit.
    pub fn missed(&self) -> u64 {
        self.forgotten.missed + self.rows.iter().map(|row| row.missed).sum::<u64>()
    }

    pub fn cost(&self) -> String {
        guarding::cost(&self.shed, self.cost_percent, self.budget_percent)
    }

    /// The header of the table.
    pub fn header(&self, columns: usize) -> String {
        let cells = ["THREAD", "TID", "CPU", "POLICY", "NOW", "P99", "WORST", "OVER", "CAUSE OF THE WORST"];
        self.line(&cells.map(str::to_owned), columns)
    }

    /// The line of a thread.
    pub fn row(&self, row: &Row, columns: usize) -> String {
        let figure = |ns: Option<i64>| ns.map_or(NO_FIGURE.to_owned(), latency);
        let cells = [
            shown_name(row),
            row.tid.to_string(),
            row.cpu.map_or(NO_FIGURE.to_owned(), |cpu| cpu.to_string()),
            policy(row),
            if row.has_ended { "ended".to_owned() } else { figure(row.now_ns) },
            figure(row.p99_ns),
            figure(row.worst_ns),
            count(row.missed),
            printable(&self.cause(row)),
        ];
        self.line(&cells, columns)
    }

    fn line(&self, cells: &[String; 9], columns: usize) -> String {
        let [name, tid, cpu, policy, now, p99, worst, over, cause] = cells;
        let left = |text: &str, columns: usize| fitted(text, columns, false);
        let right = |text: &str, columns: usize| fitted(text, columns, true);
        let mut line = format!(
            "{} {} {} {} {} {} {}",
            left(name, NAME_COLUMNS),
            right(tid, 7),
            right(cpu, 3),
            left(policy, 8),
            right(now, 8),
            right(p99, 8),
            right(worst, 8)
        );
        if self.limit_ns.is_some() {
            line.push_str(&format!(" {}", right(over, 6)));
        }
        let free = columns.saturating_sub(Span::raw(line.as_str()).width() + 2);
        if free >= CAUSE_COLUMNS_MIN {
            line.push_str(&format!("  {}", left(cause, free)));
        }
        line.trim_end().to_owned()
    }

    /// The cause of the worst wake-up of a thread.
    pub fn cause(&self, row: &Row) -> String {
        let traced = row.traced.as_ref();
        let explained = traced.and_then(|traced| Some((traced, traced.explained.as_ref()?)));
        let account = match (row.worst_ns, explained, traced) {
            (None, ..) => WorstAccount::NoSample,
            (Some(worst_ns), Some((traced, explained)), _) => {
                let of_ns = Some(traced.latency_ns).filter(|ns| *ns < worst_ns);
                WorstAccount::Explained { cause: &explained.cause, of_ns }
            }
            (_, None, Some(_)) => WorstAccount::Waiting,
            (Some(worst_ns), None, None) if worst_ns < self.traced_from_ns => WorstAccount::Below(self.traced_from_ns),
            _ => WorstAccount::Untraced,
        };
        account.phrase()
    }

    /// The worst wake-up of a thread in a sentence.
    pub fn sentence(&self, row: &Row) -> String {
        let Some(latency_ns) = row.worst_ns else { return String::new() };
        let cause = self.cause(row);
        let traced = row.traced.as_ref().filter(|traced| traced.latency_ns >= latency_ns);
        let name = shown_name(row);
        match traced {
            Some(traced) => {
                let kind = None;
                let miss = Miss { thread: &name, kind, latency_ns, limit_ns: None, cpu: traced.cpu, cause: &cause };
                printable(&miss.line(When::Now))
            }
            None => printable(&format!("{name} woke {} late: {cause}", latency(latency_ns))),
        }
    }
}

fn shown_name(row: &Row) -> String {
    if row.name.is_empty() { NO_FIGURE.into() } else { printable(&row.name) }
}

fn policy(row: &Row) -> String {
    match row.policy {
        None => NO_FIGURE.into(),
        Some((policy @ (Policy::Fifo | Policy::Rr), priority)) => format!("{policy} {priority}"),
        Some((policy, _)) => policy.to_string(),
    }
}

/// A text in this number of columns, cut or filled.
pub fn fitted(text: &str, columns: usize, to_the_right: bool) -> String {
    let width = Span::raw(text).width();
    if width <= columns {
        let space = " ".repeat(columns - width);
        return if to_the_right { space + text } else { text.to_owned() + &space };
    }
    let mut cut = String::new();
    for letter in text.chars() {
        cut.push(letter);
        if Span::raw(cut.as_str()).width() >= columns {
            cut.pop();
            break;
        }
    }
    cut.push('…');
    fitted(&cut, columns.max(1), to_the_right)
}

#[cfg(test)]
pub mod tests {
    use super::super::threads::{Explained, Traced};
    use super::*;

    pub fn row(tid: i32, name: &str, worst_ns: i64) -> Row {
        Row {
            tid,
            name: name.into(),
            policy: Some((Policy::Fifo, 80)),
            cpu: Some(1),
            samples: 60_000,
            missed: 0,
            now_ns: Some(worst_ns / 20),
            p99_ns: Some(worst_ns / 10),
            worst_ns: Some(worst_ns),
            traced: None,
            has_ended: false,
        }
    }

    /// Threads in every state.
    pub fn snapshot() -> Snapshot {
        let account = |tid: i32, cause: &str| Explained {
            tid,
            spike: 7,
            cause: cause.into(),
            account: (1..=40).map(|line| format!("line {line} of the account")).collect(),
        };
        let traced = |tid: i32, latency_ns: i64, cause: Option<&str>| {
            let explained = cause.map(|cause| account(tid, cause));
            Some(Traced { spike: 7, latency_ns, cpu: 1, explained })
        };
        let hog = "hog (SCHED_FIFO 90) had the CPU for 780.0 µs, and robot waited for it (proven)";
        let rows = vec![
            Row { traced: traced(4711, 812_000, Some(hog)), missed: 3, ..row(4711, "robot", 812_000) },
            Row { traced: traced(12, 140_000, Some("softirq TIMER")), ..row(12, "irq/24-eth0", 300_000) },
            Row { traced: traced(13, 210_000, None), ..row(13, "rcuc/1", 210_000) },
            row(14, "migration/1", 9_500),
            Row { has_ended: true, now_ns: None, p99_ns: None, ..row(15, "short\u{1b}[2Jlived", 150_000) },
            Row { policy: None, cpu: None, samples: 0, now_ns: None, p99_ns: None, worst_ns: None, ..row(16, "", 0) },
            Row { policy: Some((Policy::Deadline, 0)), ..row(17, "漢字漢字漢字漢字漢", 55_000) },
        ];
        Snapshot {
            host: "arm".into(),
            whom: "every real-time thread".into(),
            elapsed: Duration::from_secs(123),
            rows,
            limit_ns: Some(200_000),
            traced_from_ns: 100_000,
            cost_percent: Some(0.614),
            budget_percent: 0.5,
            shed: vec![EventKind::Memory, EventKind::Charges],
            ..Snapshot::default()
        }
    }

    #[test]
    fn each_order_has_its_first_thread_and_leads_to_the_next() {
        let mut rows =
            vec![Row { now_ns: None, ..row(1, "b", 9) }, Row { now_ns: Some(7), p99_ns: Some(0), ..row(2, "a", 3) }];
        let mut sort = Sort::default();
        let mut first = Vec::new();
        for _ in 0..4 {
            sort.sort(&mut rows);
            first.push((sort.title(), rows[0].tid));
            sort = sort.next();
        }
        assert_eq!(first, [("worst", 1), ("name", 2), ("now", 2), ("p99", 1)]);
    }

    #[test]
    fn a_text_takes_its_columns_whatever_its_letters() {
        for (text, columns, expected) in
            [("robot", 7, "robot  "), ("robot", 5, "robot"), ("robots", 5, "robo…"), ("漢字漢字", 5, "漢字…")]
        {
            assert_eq!(fitted(text, columns, false), expected);
        }
        assert_eq!(fitted("漢漢漢", 4, true), " 漢…");
    }

    #[test]
    fn the_account_of_a_smaller_spike_is_not_that_of_the_worst() {
        let all = snapshot();
        let phrases: Vec<String> = all.rows.iter().map(|row| all.cause(row)).collect();
        assert_eq!(phrases[1], "not traced; of 140.0 µs: softirq TIMER");
        assert_eq!(
            phrases[2..],
            ["being explained", "below 100.0 µs: not traced", "not traced", "", "below 100.0 µs: not traced"]
        );
        assert!(!all.sentence(&all.rows[4]).contains('\u{1b}'));
    }
}

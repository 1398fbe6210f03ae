//! The text that `rtla timerlat hist` and `rtla osnoise hist` print: a column of counts for each CPU and kind of latency, and the
//! count, minimum, mean and maximum of each below them.

use super::lack::Lack;
use super::problem::{ImportProblem, Lost};
use super::source::{Mean, Series, Source, SourceThread, Unit};
use super::{Head, Hints, ImportFormat};
use archive::measured::Measured;
use archive::message::Severity;
use std::collections::BTreeMap;

const OSNOISE: &str = "rtla osnoise";
const TITLES: [(&str, &str); 2] =
    [("# RTLA timerlat histogram", "rtla timerlat"), ("# RTLA osnoise histogram", OSNOISE)];
/// A column is headed by its kind and its CPU: `Thr-003`.
const KINDS: [(&str, Kind); 4] =
    [("IRQ-", Kind::Interrupt), ("Thr-", Kind::Thread), ("Usr-", Kind::User), ("CPU-", Kind::Thread)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Interrupt,
    Thread,
    /// The return to user space, with -u.
    User,
}

#[derive(Debug)]
pub struct RtlaText;

impl ImportFormat for RtlaText {
    fn name(&self) -> &'static str {
        "rtla-text"
    }

    fn about(&self) -> &'static str {
        "Output of `rtla timerlat hist` and `rtla osnoise hist`"
    }

    fn title(&self) -> &'static str {
        "a histogram of rtla"
    }

    fn detects(&self, head: &Head<'_>) -> bool {
        head.text.lines().any(|line| tool_of(line).is_some())
    }

    fn separates_interrupts(&self) -> bool {
        true
    }

    fn read(&self, text: &str, hints: &Hints) -> Result<Vec<Source>, Lack> {
        let begins: Vec<usize> = begins(text);
        let ends = begins.iter().skip(1).copied().chain([text.len()]);
        let found: Result<Vec<Source>, Lack> =
            begins.iter().zip(ends).map(|(begin, end)| read(&text[*begin..end], hints.series)).collect();
        found.and_then(|sources| if sources.is_empty() { Err(Lack::NoResults) } else { Ok(sources) })
    }
}

/// A shell action of rtla may have printed before the title on its line.
fn tool_of(line: &str) -> Option<&'static str> {
    TITLES.iter().find(|(title, _)| line.trim_end().ends_with(title)).map(|(_, tool)| *tool)
}

/// Where each histogram of a log begins.
fn begins(text: &str) -> Vec<usize> {
    let mut at = 0;
    let mut begins = Vec::new();
    for line in text.split_inclusive('\n') {
        if tool_of(line).is_some() {
            begins.push(at);
        }
        at += line.len();
    }
    begins
}

/// The lines of one histogram.
#[derive(Debug, Default)]
struct Table<'a> {
    tool: &'static str,
    unit: Unit,
    length_s: Option<u64>,
    columns: Vec<(Kind, u32)>,
    rows: Vec<Vec<u64>>,
    /// `over:`, `count:`, `min:`, `avg:` and `max:`.
    figures: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Table<'a> {
    fn of(text: &'a str) -> Result<Self, Lack> {
        let mut table = Self::default();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            let mut words = line.split_whitespace();
            match words.next().unwrap_or_default() {
                "ALL:" => break,
                "Index" => table.columns = words.filter_map(column).collect(),
                name @ ("over:" | "count:" | "min:" | "avg:" | "max:") => {
                    table.figures.insert(name, words.collect());
                }
                "#" => table.take_remark(line),
                first if table.columns.is_empty() || !first.starts_with(|letter: char| letter.is_ascii_digit()) => {}
                _ => table.take_row(line).ok_or(Lack::NoRow { line: number })?,
            }
        }
        Ok(table)
    }

    fn take_remark(&mut self, line: &str) {
        self.tool = tool_of(line).unwrap_or(self.tool);
        if line.contains("nanoseconds") {
            self.unit = Unit::Ns;
        }
        self.length_s = line.strip_prefix("# Duration:").and_then(seconds).or(self.length_s);
    }

    fn take_row(&mut self, line: &str) -> Option<()> {
        let row: Vec<u64> = line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let ascends = self.rows.last().is_none_or(|last| last[0] < row[0]);
        (ascends && row.len() == self.columns.len() + 1).then(|| self.rows.push(row))
    }

    /// The number that every latency of a row is a multiple of: the width of a bucket, unless few rows were printed.
    fn width(&self) -> u64 {
        self.rows.iter().fold(0, |width, row| greatest_divisor(width, row[0])).max(1)
    }

    fn thread(&self, at: usize) -> Result<SourceThread, Lack> {
        let figure = |name: &'static str| self.figures.get(name).and_then(|words| words.get(at).copied());
        let whole = |name: &'static str| figure(name).and_then(|word| word.parse::<i128>().ok());
        let count = |name: &'static str| whole(name).and_then(|count| u64::try_from(count).ok());
        let cycles = count("count:").ok_or(Lack::FiguresMissing)?;
        let held = |row: &Vec<u64>| (row[at + 1] > 0).then_some((row[0], row[at + 1]));
        let decimals = |word: &str| word.split_once('.').map_or(0, |(_, digits)| digits.len() as u32);
        let mean = |word: &str| Some(Mean { value: word.parse().ok()?, decimals: Some(decimals(word)) });
        if cycles > 0 && whole("max:").is_none() {
            return Err(Lack::FiguresMissing);
        }
        Ok(SourceThread {
            cpu: Some(self.columns[at].1),
            buckets: self.rows.iter().filter_map(held).collect(),
            cycles: Some(cycles),
            beyond: count("over:"),
            min: whole("min:"),
            max: whole("max:"),
            mean: figure("avg:").and_then(mean),
            ..SourceThread::default()
        })
    }
}

fn column(word: &str) -> Option<(Kind, u32)> {
    KINDS.iter().find_map(|(prefix, kind)| Some((*kind, word.strip_prefix(prefix)?.parse().ok()?)))
}

/// `0 00:10:00`: days, hours, minutes and seconds.
fn seconds(text: &str) -> Option<u64> {
    let (days, time) = text.trim().split_once(' ')?;
    let parts: Vec<u64> = time.trim().split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let &[hours, minutes, seconds] = parts.as_slice() else { return None };
    let days: u64 = days.parse().ok()?;
    days.checked_mul(24)?
        .checked_add(hours)?
        .checked_mul(60)?
        .checked_add(minutes)?
        .checked_mul(60)?
        .checked_add(seconds)
}

fn greatest_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

fn read(text: &str, series: Series) -> Result<Source, Lack> {
    let table = Table::of(text)?;
    let asked = if series == Series::Irq { Kind::Interrupt } else { Kind::Thread };
    let of_kind = |kind: Kind| table.columns.iter().enumerate().filter(move |(_, column)| column.0 == kind);
    let mut source = Source::new(&RtlaText, table.tool, table.unit);
    source.threads = of_kind(asked).map(|(at, _)| table.thread(at)).collect::<Result<_, _>>()?;
    if source.threads.is_empty() {
        return Err(if asked == Kind::Interrupt { Lack::InterruptLatencies } else { Lack::NoThreads });
    }
    source.bucket_units = table.width();
    if source.bucket_units > 1 {
        source.stated(format!("each bucket is {} {} wide", source.bucket_units, source.unit.symbol()));
    }
    source.lasted_ns(table.length_s.and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1_000_000_000)));
    for (kind, words) in [
        (Kind::Interrupt, "interrupt latencies; --series irq imports those"),
        (Kind::Thread, "thread latencies; --series thread imports those"),
        (Kind::User, "latencies of the return to user space, which were left out"),
    ] {
        if kind != asked && of_kind(kind).next().is_some() {
            source.stated(format!("the file also holds {words}"));
        }
    }
    if asked == Kind::Interrupt {
        source.problem(Severity::Degraded, &ImportProblem::InterruptLatencies);
    }
    if table.tool == OSNOISE {
        source.measures(Measured::Interruptions);
    }
    source.lost(Lost::VersionMachineAndTime);
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: &str = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:02\n\
        Index   IRQ-001   Thr-001   Usr-001\n0          1000       944       134\n10            0        55       863\n\
        20            0         1         3\nover:         0         0         0\ncount:     1000      1000      1000\n\
        min:          0         3         4\navg:          1         7        10\nmax:          7        21        24\n\
        ALL:        IRQ       Thr       Usr\ncount:     1000      1000      1000\nmax:          7        21        24\n";

    #[test]
    fn columns_of_one_kind_become_the_threads_of_their_cpus() {
        let source = RtlaText.read(WIDE, &Hints::default()).unwrap().remove(0);
        assert_eq!(source.threads.len(), 1);
        let thread = &source.threads[0];
        assert_eq!(
            (thread.cpu, thread.cycles, thread.max, source.length_ns),
            (Some(1), Some(1000), Some(21), Some(2_000_000_000))
        );
        assert_eq!(thread.buckets, BTreeMap::from([(0, 944), (10, 55), (20, 1)]));
        assert_eq!(source.bucket_units, 10);
        let irq = read(WIDE, Series::Irq).unwrap();
        assert_eq!(irq.threads[0].max, Some(7));
    }

    #[test]
    fn two_histograms_in_a_log_stay_apart() {
        assert_eq!(RtlaText.read(&format!("{WIDE}{WIDE}"), &Hints::default()).unwrap().len(), 2);
    }

    #[test]
    fn a_histogram_without_its_end_is_refused() {
        let cut = &WIDE[..WIDE.find("over:").unwrap()];
        assert_eq!(RtlaText.read(cut, &Hints::default()), Err(Lack::FiguresMissing));
        assert_eq!(read(&WIDE.replace("20            0 ", "20 "), Series::Thread), Err(Lack::NoRow { line: 7 }));
    }
}

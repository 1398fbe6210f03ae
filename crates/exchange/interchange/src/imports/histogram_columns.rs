//! Rows of a latency and the count of each CPU: the data of latency plots, as OSADL's recipe extracts it from
//! cyclictest's output. Everything but the histogram was removed, including the overflows.

use super::lack::Lack;
use super::number_row::row;
use super::problem::Lost;
use super::source::{Source, SourceThread, Unit};
use super::{Head, Hints, ImportFormat};

/// Digits of a latency and of a count in a row of cyclictest.
const WIDTH: usize = 6;

#[derive(Debug)]
pub struct HistogramColumns;

impl ImportFormat for HistogramColumns {
    fn name(&self) -> &'static str {
        "histogram-columns"
    }

    fn about(&self) -> &'static str {
        "Rows of a latency and the count of each CPU, as latency plots are drawn from"
    }

    fn title(&self) -> &'static str {
        "columns of a histogram"
    }

    /// Two columns of numbers may be anything; cyclictest pads its own to [`WIDTH`] digits.
    fn detects(&self, head: &Head<'_>) -> bool {
        // The last row of the head may be truncated.
        let mut rows = head.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        !head.has_nul && rows.next().is_some_and(is_padded)
    }

    fn read(&self, text: &str, hints: &Hints) -> Result<Vec<Source>, Lack> {
        Ok(vec![read(text, hints)?])
    }
}

fn is_padded(line: &str) -> bool {
    row(line).is_some() && line.split_whitespace().all(|word| word.len() >= WIDTH)
}

/// Parses the text.
fn read(text: &str, hints: &Hints) -> Result<Source, Lack> {
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let row = row(line).ok_or(Lack::NoRow { line: number })?;
        if rows.last().is_some_and(|last| last.len() != row.len()) {
            return Err(Lack::RowColumns { line: number });
        }
        if rows.last().is_some_and(|last| last[0] >= row[0]) {
            return Err(Lack::RowsDescend { line: number });
        }
        rows.push(row);
    }
    let Some(first) = rows.first() else { return Err(Lack::NoRows) };
    let mut source = Source::new(&HistogramColumns, "an unnamed tool", Unit::Us);
    source.assume_unit(hints.unit);
    let mut columns = first.len() - 1;
    if sum_column(&rows) {
        columns -= 1;
        source.stated("the last column is the sum of the others, as -H prints it, and was left out");
    }
    source.stated(format!("each row was read as a latency and the counts of {columns} threads"));
    source.threads = (1..=columns).map(|column| thread(&rows, column)).collect();
    source.lost(Lost::ToolMachineAndTime);
    source.lost(Lost::CpuOfColumns);
    source.maximum_is_truncated();
    Ok(source)
}

fn sum_column(rows: &[Vec<u64>]) -> bool {
    let sums = |row: &Vec<u64>| {
        let (last, counts) = row[1..].split_last().unwrap_or((&0, &[]));
        counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count)) == *last
    };
    rows[0].len() > 2 && rows.iter().all(sums) && rows.iter().any(|row| row[1..].iter().any(|count| *count > 0))
}

fn thread(rows: &[Vec<u64>], column: usize) -> SourceThread {
    let counted = || rows.iter().filter(|row| row[column] > 0);
    SourceThread {
        buckets: counted().map(|row| (row[0], row[column])).collect(),
        min: counted().next().map(|row| i128::from(row[0])),
        max: counted().next_back().map(|row| i128::from(row[0])),
        ..SourceThread::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_threads_and_a_sum_none() {
        let source = read("000001 2\t3\n000004 0\t1\n", &Hints::default()).unwrap();
        assert_eq!(source.threads.len(), 2);
        assert_eq!((source.threads[0].max, source.threads[1].max), (Some(1), Some(4)));
        assert_eq!(read("1 2 3 5\n4 0 1 1\n", &Hints::default()).unwrap().threads.len(), 2);
    }

    #[test]
    fn other_tables_are_refused() {
        let lacks = |text: &str| read(text, &Hints::default()).unwrap_err();
        assert_eq!(lacks("1 2\n2 3 4\n"), Lack::RowColumns { line: 2 });
        assert_eq!(lacks("2 2\n1 3\n"), Lack::RowsDescend { line: 2 });
        assert_eq!(lacks("1 2\n2 x\n"), Lack::NoRow { line: 2 });
        assert_eq!(lacks("# nothing\n"), Lack::NoRows);
    }
}

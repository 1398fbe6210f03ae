//! Assigns stretches to columns.

/// Time cut into as many slices as there are columns.
#[derive(Debug, Clone, Copy)]
pub struct Slices {
    pub low_ns: i64,
    pub high_ns: i64,
    pub columns: usize,
}

impl Slices {
    /// The column of an instant; instants outside the window get the first or the last column.
    pub fn column(&self, at_ns: i64) -> usize {
        let width = (i128::from(self.high_ns) - i128::from(self.low_ns)).max(1);
        let at = (i128::from(at_ns) - i128::from(self.low_ns)).clamp(0, width - 1);
        (at * self.columns as i128 / width) as usize
    }

    fn start_ns(&self, column: usize) -> i64 {
        let width = i128::from(self.high_ns) - i128::from(self.low_ns);
        (i128::from(self.low_ns) + width * column as i128 / self.columns.max(1) as i128) as i64
    }
}

/// Adjacent columns that show the same; `what` is `None` where nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<T> {
    pub what: Option<T>,
    pub first: usize,
    /// Behind the last one.
    pub end: usize,
}

impl<T> Run<T> {
    pub fn columns(&self) -> usize {
        self.end - self.first
    }
}

/// Ascending stretches as runs of columns: a column shows the stretch that takes most of its time.
pub fn runs<T: Copy + PartialEq>(stretches: impl Iterator<Item = (i64, i64, T)>, slices: &Slices) -> Vec<Run<T>> {
    let mut most: Vec<(i64, Option<T>)> = vec![(0, None); slices.columns];
    for (start_ns, end_ns, what) in stretches.filter(|(start, end, _)| start < end) {
        if end_ns <= slices.low_ns || start_ns >= slices.high_ns {
            continue;
        }
        let (first, last) = (slices.column(start_ns), slices.column(end_ns - 1));
        for (column, slot) in most.iter_mut().enumerate().take(last + 1).skip(first) {
            let ns = end_ns.min(slices.start_ns(column + 1)).saturating_sub(start_ns.max(slices.start_ns(column)));
            if ns > slot.0 {
                *slot = (ns, Some(what));
            }
        }
    }
    let mut runs: Vec<Run<T>> = Vec::new();
    for (column, (_, what)) in most.into_iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.what == what => run.end = column + 1,
            _ => runs.push(Run { what, first: column, end: column + 1 }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICES: Slices = Slices { low_ns: -10, high_ns: 90, columns: 10 };

    #[test]
    fn a_column_shows_what_has_most_of_it() {
        let stretches = [(-10, 11, 'a'), (11, 14, 'b'), (14, 50, 'c'), (50, 51, 'd')];
        let found = runs(stretches.into_iter(), &SLICES);
        let shown: Vec<_> = found.iter().map(|run| (run.what, run.first, run.end)).collect();
        // `b` has less than half of its column, and `d` is all that is known of its column.
        assert_eq!(shown, [(Some('a'), 0, 2), (Some('c'), 2, 6), (Some('d'), 6, 7), (None, 7, 10)]);
    }

    #[test]
    fn no_instant_leads_outside() {
        assert_eq!([i64::MIN, -10, 0, 89, i64::MAX].map(|at| SLICES.column(at)), [0, 0, 1, 9, 9]);
        let whole = Slices { low_ns: i64::MIN, high_ns: i64::MAX, columns: 7 };
        let found = runs([(i64::MIN, i64::MAX, 'a')].into_iter(), &whole);
        assert_eq!(found, [Run { what: Some('a'), first: 0, end: 7 }]);
        let empty = Slices { low_ns: 0, high_ns: 0, columns: 3 };
        assert_eq!(runs([(0, 5, 'a')].into_iter(), &empty).len(), 1);
    }
}

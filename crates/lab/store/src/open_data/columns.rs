//! The tables of an export: the view of each, and its columns.

/// Type of a column, and whether it may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    TextOrNull,
    Count,
    CountOrNull,
    Real,
    /// 0 or 1 in the view.
    Flag,
    /// ns since 1970 in the view, a timestamp in UTC in the file.
    Time,
}

/// A table: every row is of a board and a month, which are in the names of its folders.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, Kind)],
    /// The rows of a partition, ordered; `$1` is the board and `$2` the month.
    pub select: &'static str,
    /// Partitions with their numbers of rows.
    pub count: &'static str,
}

macro_rules! table {
    ($name:literal, $view:literal, $time:literal, [$(($column:literal, $kind:ident)),+ $(,)?]) => {
        Table {
            name: $name,
            columns: &[$(($column, Kind::$kind)),+],
            select: concat!("SELECT ", $($column, ", ",)+ $time, " AS ordered_by FROM ", $view,
                            " WHERE board = $1 AND month = $2 ORDER BY ordered_by, 1"),
            count: concat!("SELECT board, month, COUNT(*) AS counted FROM ", $view,
                           " GROUP BY board, month ORDER BY board, month"),
        }
    };
}

impl Table {
    pub const ALL: [&'static Self; 4] = [&RUNS, &HISTOGRAMS, &CAUSES, &CHANGES];
}

pub static RUNS: Table = table!(
    "runs",
    "lab_v1_runs",
    "started_unix_ns",
    [
        ("digest", Text),
        ("id", Text),
        ("scenario", Text),
        ("load", Text),
        ("method", Text),
        ("kernel", Text),
        ("kernel_line", Text),
        ("preemption", Text),
        ("started_unix_ns", Time),
        ("measured_ns", Count),
        ("state", Text),
        ("valid", Flag),
        ("degraded", Flag),
        ("emulated", Flag),
        ("virtual_time", Flag),
        ("verdict", Text),
        ("standing", Text),
        ("samples", Count),
        ("latency_max_ns", CountOrNull),
        ("limit_ns", CountOrNull),
        ("over_limit", Count),
        ("missed", CountOrNull),
        ("spikes", Count),
        ("worst_cause", TextOrNull),
        ("p50_ns", CountOrNull),
        ("p99_ns", CountOrNull),
        ("p99_9_ns", CountOrNull),
        ("p99_99_ns", CountOrNull),
        ("p99_999_ns", CountOrNull),
        ("raw", Flag),
    ]
);

/// One row for each bucket of a run that has samples; the view has the run, the buckets are in its outline.
pub static HISTOGRAMS: Table = Table {
    name: "histograms",
    columns: &[("digest", Kind::Text), ("low_ns", Kind::Count), ("high_ns", Kind::Count), ("count", Kind::Count)],
    select: "SELECT v.digest, r.outline FROM lab_v1_runs v JOIN runs r ON r.digest = v.digest \
             WHERE v.board = $1 AND v.month = $2 ORDER BY v.started_unix_ns, v.digest",
    count: RUNS.count,
};

pub static CAUSES: Table = table!(
    "causes",
    "lab_v1_causes",
    "started_unix_ns",
    [
        ("digest", Text),
        ("started_unix_ns", Time),
        ("load", Text),
        ("method", Text),
        ("kernel", Text),
        ("kernel_line", Text),
        ("culprit", Text),
        ("spikes", Count),
        ("latency_max_ns", Count),
    ]
);

pub static CHANGES: Table = table!(
    "changes",
    "lab_v1_changes",
    "found_unix_ns",
    [
        ("change", Text),
        ("scenario", Text),
        ("load", Text),
        ("method", Text),
        ("figure", Text),
        ("before_digest", Text),
        ("after_digest", Text),
        ("kernel_before", TextOrNull),
        ("kernel_after", TextOrNull),
        ("level_before", Real),
        ("level_after", Real),
        ("p_value", Real),
        ("sentence", Text),
        ("triage", Text),
        ("found_unix_ns", Time),
    ]
);

impl Table {
    /// Name of a column in the file: what is ns in the view is a timestamp there.
    pub fn name_in_file(column: &str, kind: Kind) -> String {
        match kind {
            Kind::Time => column.replace("_unix_ns", "_at"),
            _ => column.to_owned(),
        }
    }
}

//! The mark that cyclictest writes to the trace when a latency exceeds its limit.

use ftrace::trace_dat::Record;

/// `hit latency threshold (2711 > 500)`, by the thread that measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub tid: i32,
    pub ts_ns: i64,
    /// In the unit of cyclictest: µs, or ns with -N.
    pub latency: i64,
    pub limit: i64,
}

impl Mark {
    pub fn of(text: &str, record: &Record<'_>) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [.., "hit", "latency", "threshold", latency, ">", limit] = words.as_slice() else { return None };
        let number = |word: &str| word.trim_matches(['(', ')']).parse().ok();
        Some(Self {
            tid: record.common_pid,
            ts_ns: i64::try_from(record.ts_ns).unwrap_or(i64::MAX),
            latency: number(latency)?,
            limit: number(limit)?,
        })
    }
}

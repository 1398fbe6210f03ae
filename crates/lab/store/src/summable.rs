//! Counts and times that add up over a million runs without an overflow.

/// A run with more samples, or a longer one, is counted as this much.
pub const SUMMABLE_MAX: i64 = 1 << 42;

/// A count or a time as sums take it.
pub fn summable(count: i64) -> i64 {
    count.clamp(0, SUMMABLE_MAX)
}

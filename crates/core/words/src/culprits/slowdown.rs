//! Words about phases that took longer than usual.

use archive::culprit::Slowdown;

/// `every phase took 1.5 to 2.3 times its usual time`.
pub fn slowdown(slower: &Slowdown) -> String {
    let times = |percent: i64| percent as f64 / 100.0;
    format!(
        "every phase took {:.1} to {:.1} times its usual time",
        times(slower.least_percent),
        times(slower.most_percent)
    )
}

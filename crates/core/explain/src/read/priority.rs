//! Kernel priorities in the user's terms.

/// A priority in the kernel's scale: below 100 is real-time, lower is more urgent.
pub fn priority_words(prio: Option<i32>) -> String {
    match prio {
        Some(prio @ 1..=98) => format!("real-time priority {}", 99 - prio),
        Some(0) => "real-time priority 99 or a stop request".into(),
        Some(..0) => "a deadline".into(),
        Some(100..) => "no real-time priority".into(),
        Some(prio) => format!("kernel priority {prio}"),
        None => "an unknown priority".into(),
    }
}

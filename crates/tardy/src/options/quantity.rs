//! Quantities of the command line: times within bounds, lists of CPUs.

use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use thiserror::Error;
pub use words::time::{TimeError, time_ns};

const CPUS_MAX: u32 = 1 << 16;
/// Intervals that the meter supports.
const INTERVALS_NS: std::ops::RangeInclusive<u64> = 1_000..=3_600_000_000_000;

/// Reason why a quantity is refused, and the expected form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    #[error(transparent)]
    Time(#[from] TimeError),
    #[error("it must be greater than zero")]
    Nothing,
    #[error("no wake-ups can be measured at such an interval; choose one from 1us to 1h")]
    Interval,
    #[error("it takes whole microseconds up to 35 min, like 0 or 20us")]
    NotMicroseconds,
    #[error("`{0}` is not a CPU or range of CPUs; write a list like 0-1,3")]
    Cpus(String),
    #[error("real-time priorities are 1 to 99")]
    Priority,
    #[error("`{text}` must be a whole number{bounds}")]
    Number { text: String, bounds: String },
    #[error("write it like 95 or 99.9")]
    Percentage,
    #[error("it is from 50 to 99.9999")]
    Confidence,
}

/// A time as [`time_ns`] reads it, in the longest unit up to a second that divides it.
pub fn time(ns: u64) -> String {
    let divides = |(_, unit_ns): &(&str, u64)| ns.is_multiple_of(*unit_ns);
    match [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)].into_iter().find(divides) {
        _ if ns == 0 => "0".into(),
        Some((unit, unit_ns)) => format!("{}{unit}", ns / unit_ns),
        None => format!("{ns}ns"),
    }
}

/// A time that must not be zero, in ns.
///
/// # Errors
/// As [`time_ns`].
pub fn positive_time_ns(text: &str) -> Result<u64, QuantityError> {
    match time_ns(text)? {
        0 => Err(QuantityError::Nothing),
        ns => Ok(ns),
    }
}

/// A time that the kernel accepts in whole microseconds of 31 bits, in ns.
///
/// # Errors
/// As [`time_ns`], and for a fraction of a microsecond.
pub fn whole_microseconds_ns(text: &str) -> Result<u64, QuantityError> {
    match time_ns(text)? {
        ns if ns.is_multiple_of(1000) && i32::try_from(ns / 1000).is_ok() => Ok(ns),
        _ => Err(QuantityError::NotMicroseconds),
    }
}

/// An interval between wake-ups that can be measured, in ns.
///
/// # Errors
/// As [`time_ns`], and for intervals that the meter does not support.
pub fn interval_ns(text: &str) -> Result<u64, QuantityError> {
    match positive_time_ns(text)? {
        ns if INTERVALS_NS.contains(&ns) => Ok(ns),
        _ => Err(QuantityError::Interval),
    }
}

/// A priority of the real-time policies.
///
/// # Errors
/// If the number is not such a priority.
pub fn real_time_priority(text: &str) -> Result<u8, QuantityError> {
    text.parse().ok().filter(|priority| (1..=99).contains(priority)).ok_or(QuantityError::Priority)
}

/// A parser of whole numbers within these bounds and those of the type.
pub fn whole<T: TryFrom<u64>>(
    bounds: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, QuantityError> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| QuantityError::Number {
            text: text.into(),
            bounds: match (bounds.start_bound(), bounds.end_bound()) {
                (Bound::Included(least), Bound::Included(most)) => format!(" from {least} to {most}"),
                (Bound::Included(least), _) => format!(", {least} or more"),
                _ => " within the bounds of its option".into(),
            },
        })
    }
}

/// CPUs in the kernel's format: `0-1,3`.
pub fn cpu_ranges(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let written =
        |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(written).collect::<Vec<_>>().join(",")
}

/// A number of percent, at least 0.
///
/// # Errors
/// Describes the expected form.
pub fn percentage(text: &str) -> Result<f64, QuantityError> {
    let number = text.trim().trim_end_matches('%').trim_end().parse().ok();
    number.filter(|percent| (0.0..f64::INFINITY).contains(percent)).ok_or(QuantityError::Percentage)
}

/// A latency in ns.
///
/// # Errors
/// As [`time_ns`].
pub fn latency_ns(text: &str) -> Result<i64, QuantityError> {
    Ok(time_ns(text)? as i64)
}

/// CPUs in the kernel's format: `0-1,3`. Ascending, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl FromStr for CpuList {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let mut list = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |word: &str| word.trim().parse::<u32>().ok().filter(|cpu| *cpu < CPUS_MAX);
            match (number(first), number(last)) {
                (Some(first), Some(last))
                    if first <= last && list.len() + ((last - first) as usize) < CPUS_MAX as usize =>
                {
                    list.extend(first..=last);
                }
                _ => return Err(QuantityError::Cpus(part.into())),
            }
        }
        list.sort_unstable();
        list.dedup();
        Ok(Self(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        for text in ["0", "1ns", "1500us", "1ms", "500ms", "60s", "1001ns"] {
            assert_eq!(time(time_ns(text).unwrap()), text);
        }
    }

    #[test]
    fn numbers_have_bounds() {
        let why = |result: Result<u32, QuantityError>| result.unwrap_err().to_string();
        assert_eq!(whole::<u32>(8..)("8"), Ok(8));
        for text in ["7", "-1", "x", "4294967296", "1.5", ""] {
            let why = why(whole::<u32>(8..)(text));
            assert!(why.starts_with(&format!("`{text}` ")) && why.contains(" 8 "), "{why}");
        }
        let why = why(whole::<u32>(1..=9)("10"));
        assert!(why.starts_with("`10` ") && why.ends_with(" 1 to 9"), "{why}");
    }

    #[test]
    fn times_out_of_bounds_are_refused() {
        assert!(positive_time_ns("0").is_err());
        assert!(["1ns", "999ns", "100h", "0"].iter().all(|text| interval_ns(text).is_err()));
        assert_eq!(["1us", "1h"].map(|text| interval_ns(text).unwrap()), [1_000, 3_600_000_000_000]);
    }

    #[test]
    fn lists_of_cpus() {
        let cpus = |text: &str| text.parse().map(|CpuList(cpus)| cpus);
        assert_eq!(cpus("0-1,3").unwrap(), [0, 1, 3]);
        assert_eq!(cpus("3,1,1-2").unwrap(), [1, 2, 3]);
        assert_eq!(["0-1,3", "7", "0-98"].map(|text| cpu_ranges(&cpus(text).unwrap())), ["0-1,3", "7", "0-98"]);
        for text in ["", "a", "2-1", "1,,2", "0-99999999", "1-"] {
            assert!(cpus(text).is_err(), "{text}");
        }
        assert!(cpus(&"0-65535,".repeat(1000)).is_err());
    }
}

//! Quantities of the command line: times within bounds, lists of CPUs.

use thiserror::Error;
pub use words::time::{TimeError, time_ns};

const CPUS_MAX: u32 = 1 << 16;
/// Intervals that the meter supports.
const INTERVALS_NS: std::ops::RangeInclusive<u64> = 1_000..=3_600_000_000_000;

/// What is wrong with a quantity, and the expected form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    #[error(transparent)]
    Time(#[from] TimeError),
    #[error("it must be longer than nothing")]
    Nothing,
    #[error("no wake-ups can be measured at such an interval; choose one from 1us to 1h")]
    Interval,
    #[error("it takes whole microseconds up to 35 min, like 0 or 20us")]
    NotMicroseconds,
    #[error("`{0}` is no CPU or range of CPUs; write a list like 0-1,3")]
    Cpus(String),
    #[error("real-time priorities are 1 to 99")]
    Priority,
    #[error("write it like 95 or 99.9")]
    Percentage,
    #[error("it is from 50 to 99.9999")]
    Confidence,
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

/// A latency in ns.
///
/// # Errors
/// As [`time_ns`].
pub fn latency_ns(text: &str) -> Result<i64, QuantityError> {
    Ok(time_ns(text)? as i64)
}

/// A list of CPUs in the kernel's format: `0-1,3`. Ascending, without duplicates.
///
/// # Errors
/// What is wrong, and the expected form.
pub fn cpus(text: &str) -> Result<Vec<u32>, QuantityError> {
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
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_out_of_bounds_are_refused() {
        assert!(positive_time_ns("0").is_err());
        assert!(["1ns", "999ns", "100h", "0"].iter().all(|text| interval_ns(text).is_err()));
        assert_eq!(["1us", "1h"].map(|text| interval_ns(text).unwrap()), [1_000, 3_600_000_000_000]);
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpus("0-1,3").unwrap(), [0, 1, 3]);
        assert_eq!(cpus("3,1,1-2").unwrap(), [1, 2, 3]);
        assert_eq!(["0-1,3", "7", "0-98"].map(|text| cpu_ranges(&cpus(text).unwrap())), ["0-1,3", "7", "0-98"]);
        for text in ["", "a", "2-1", "1,,2", "0-99999999", "1-"] {
            assert!(cpus(text).is_err(), "{text}");
        }
        assert!(cpus(&"0-65535,".repeat(1000)).is_err());
    }
}

//! Times with a unit, as people write them. One parser for every option, plan and limit.

use thiserror::Error;

/// Units of time and their length in ns, as typed.
const UNITS: [(&str, u64); 10] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// A refused time, and the expected form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    #[error("a time is a number with its unit, like 100us, 1.5ms, 20s or 2h")]
    NoTime,
    #[error("`{0}` has no unit, and tools disagree about what a bare number means; write {0}us, {0}ms or {0}s")]
    NoUnit(String),
    #[error("`{0}` is not a unit of time; use ns, us, ms, s, min, h or d")]
    Unit(String),
    #[error("`{0}` is not a whole number of nanoseconds below 292 years")]
    Inexact(String),
}

/// A time with its unit, in ns: `100us`, `1.5ms`, `2h`.
///
/// # Errors
/// The mistake, and the expected form.
pub fn time_ns(text: &str) -> Result<u64, TimeError> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(TimeError::NoTime);
    }
    if unit.is_empty() {
        if number.bytes().all(|digit| digit == b'0' || digit == b'.') {
            return Ok(0);
        }
        return Err(TimeError::NoUnit(text.into()));
    }
    let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(TimeError::Unit(unit.into()));
    };
    exact(whole, fraction, *unit_ns).ok_or_else(|| TimeError::Inexact(text.into()))
}

fn exact(whole: &str, fraction: &str, unit_ns: u64) -> Option<u64> {
    let fraction = fraction.trim_end_matches('0');
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = digits.checked_mul(u128::from(unit_ns))?;
    let ns = u64::try_from(product / scale).ok()?;
    (product % scale == 0 && i64::try_from(ns).is_ok()).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_units() {
        let typed = ["100us", "1ms", "1.5ms", "2h", "20s", "90 s", "3µs", "0.001us", "0", "1d", ".5s"];
        let meant = [
            100_000,
            1_000_000,
            1_500_000,
            7_200_000_000_000,
            20_000_000_000,
            90_000_000_000,
            3_000,
            1,
            0,
            86_400_000_000_000,
            500_000_000,
        ];
        assert_eq!(typed.map(|text| time_ns(text).unwrap()), meant);
    }

    #[test]
    fn bare_numbers_are_refused_with_the_reason() {
        let message = time_ns("100").unwrap_err().to_string();
        assert!(message.contains("no unit") && message.contains("100us"), "{message}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "us", "1.2.3s", "-1us", "1 parsec", "0.1ns", "99999999999999999999h", "1e3us", "١s"] {
            assert!(time_ns(text).is_err(), "{text}");
        }
    }
}

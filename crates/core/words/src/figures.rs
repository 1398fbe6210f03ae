//! Formats figures: latencies, durations, counts, sizes.

use crate::amounts::time;

/// A latency in a suitable unit: `847 ns`, `153.2 µs`, `12.35 ms`, `1.20 s`.
pub fn latency(ns: i64) -> String {
    time(ns as f64)
}

/// A latency in µs to the nanosecond, without its unit: `153.214`. Columns of it can be compared and added by eye.
pub fn microseconds(ns: i64) -> String {
    let (sign, size) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

/// A latency in µs with one decimal, without its unit; `-` if there is none.
pub fn microseconds_rough(ns: Option<i64>) -> String {
    ns.map_or("-".into(), |ns| format!("{:.1}", ns as f64 / 1e3))
}

/// A duration for planning: `350 ms`, `20.0 s`, `5 min 3 s`, `2 h`, `3 d 4 h`.
pub fn duration(ns: i64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0 => format!("{} ms", ns / 1_000_000),
        1..100 => format!("{:.1} s", ns as f64 / 1e9),
        100..7200 => whole_and_part((seconds / 60, "min"), (seconds % 60, "s")),
        7200..172_800 => whole_and_part((seconds / 3600, "h"), (seconds % 3600 / 60, "min")),
        _ => whole_and_part((seconds / 86_400, "d"), (seconds % 86_400 / 3600, "h")),
    }
}

fn whole_and_part((whole, unit): (i64, &str), (part, smaller): (i64, &str)) -> String {
    if part == 0 { format!("{whole} {unit}") } else { format!("{whole} {unit} {part} {smaller}") }
}

/// A duration that a user set, without a zero at its end: `24 h`, `10 min`, `90 s`.
pub fn set_duration(ns: i64) -> String {
    duration(ns).replace(".0 s", " s")
}

/// A count with grouped digits: `12 345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with the name of what is counted, in the plural unless it is one.
pub fn counted(number: u64, word: &str) -> String {
    let plural = match number {
        1 => "",
        _ if word.ends_with("ch") || word.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{} {word}{plural}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_take_the_unit_that_suits() {
        let shown = [847, 153_214, -2_000, 12_345_678, 1_204_000_000].map(latency);
        assert_eq!(shown, ["847 ns", "153.2 µs", "-2.0 µs", "12.35 ms", "1.20 s"]);
    }

    #[test]
    fn microseconds_lose_no_nanosecond() {
        assert_eq!([153_214, 7, -1_002].map(microseconds), ["153.214", "0.007", "-1.002"]);
        assert_eq!(microseconds(i64::MIN), "-9223372036854775.808");
    }

    #[test]
    fn durations_and_counts() {
        let shown = [350_000_000, 20_000_000_000, 303_000_000_000, 7_500_000_000_000].map(duration);
        assert_eq!(shown, ["350 ms", "20.0 s", "5 min 3 s", "2 h 5 min"]);
        let set = [86_400_000_000_000, 600_000_000_000, 90_000_000_000, 7_500_000_000_000].map(set_duration);
        assert_eq!(set, ["24 h", "10 min", "90 s", "2 h 5 min"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1 000", "1 234 567"]);
        assert_eq!([counted(1, "spike"), counted(2, "stretch")], ["1 spike", "2 stretches"]);
    }
}

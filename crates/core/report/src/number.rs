//! Formats numbers and instants: microseconds, thin grouping, UTC.

/// Narrow no-break space between groups of three digits and before a unit.
pub const THIN: char = '\u{202f}';

/// Digits in groups of three.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as microseconds with all three decimals, without unit.
pub fn micros(ns: i64) -> String {
    let sign = if ns < 0 { "\u{2212}" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", grouped(ns / 1000), ns % 1000)
}

/// Nanoseconds as microseconds with unit.
pub fn micros_unit(ns: i64) -> String {
    format!("{}{THIN}µs", micros(ns))
}

/// A latency on an axis: the shortest exact decimal in a suitable unit.
pub fn axis_time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size >= 1e9 => (ns / 1e9, "s"),
        size if size >= 1e6 => (ns / 1e6, "ms"),
        size if size >= 1e3 => (ns / 1e3, "µs"),
        0.0 => return "0".into(),
        _ => (ns, "ns"),
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.').replace('-', "\u{2212}");
    format!("{text}{THIN}{unit}")
}

/// A count on an axis: `1`, `10`, `1 000`, `1e6` from a million on.
pub fn axis_count(count: f64) -> String {
    if count >= 1e6 { format!("1e{}", count.log10().round()) } else { grouped(count.round() as u64) }
}

/// A share of a whole in percent with one decimal; a whole of zero has no share.
pub fn percent(part: i64, whole: i64) -> String {
    if whole == 0 {
        return "\u{2013}".into();
    }
    format!("{:.1}{THIN}%", part as f64 * 100.0 / whole as f64).replace('-', "\u{2212}")
}

/// A duration in one or two suitable units.
pub fn duration(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        s if s < 0.001 => micros_unit(ns),
        s if s < 1.0 => format!("{:.0}{THIN}ms", s * 1e3),
        s if s < 120.0 => format!("{}{THIN}s", format!("{s:.1}").trim_end_matches(".0")),
        s if s < 7200.0 => format!("{:.0}{THIN}min {:.0}{THIN}s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0}{THIN}h {:.0}{THIN}min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micros_keep_every_nanosecond() {
        assert_eq!(micros(0), "0.000");
        assert_eq!(micros(-1_005), "\u{2212}1.005");
        assert_eq!(micros(12_345_678), "12\u{202f}345.678");
        assert_eq!(micros(i64::MIN), "\u{2212}9\u{202f}223\u{202f}372\u{202f}036\u{202f}854\u{202f}775.808");
    }

    #[test]
    fn axis_labels_are_short() {
        assert_eq!(axis_time(0.0), "0");
        assert_eq!(axis_time(500.0), "500\u{202f}ns");
        assert_eq!(axis_time(2_500.0), "2.5\u{202f}µs");
        assert_eq!(axis_time(-1e6), "\u{2212}1\u{202f}ms");
        assert_eq!(axis_count(1000.0), "1\u{202f}000");
        assert_eq!(axis_count(1e7), "1e7");
    }

    #[test]
    fn durations_suit_their_size() {
        assert_eq!(duration(20_000_000_000), "20\u{202f}s");
        assert_eq!(duration(3_725_000_000_000), "62\u{202f}min 5\u{202f}s");
        assert_eq!(duration(90_000_000_000_000), "25\u{202f}h 0\u{202f}min");
    }
}

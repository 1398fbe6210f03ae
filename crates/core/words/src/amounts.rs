//! Formats amounts inside sentences: latencies, durations, shares and changes.

/// A time in a suitable unit: `847 ns`, `153.2 µs`, `12.35 ms`, `1.20 s`.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        // Each unit ends where rounding would print a thousand.
        size if size < 999.5 => format!("{ns:.0} ns"),
        size if size < 999_950.0 => format!("{:.1} µs", ns / 1e3),
        size if size < 999_995_000.0 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

/// A number to three digits: `0.0123`, `4.56`, `789`, `12 300`.
pub fn rough(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 {
        return "0".into();
    }
    if size >= 999.5 {
        let scale = 10f64.powi(size.log10().floor() as i32 - 2);
        return thousands(&format!("{:.0}", (number / scale).round() * scale));
    }
    let decimals = (2 - size.log10().floor() as i32).clamp(0, 12);
    let text = format!("{number:.*}", decimals as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn thousands(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digit.is_ascii_digit() && (digits.len() - at).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A duration given in hours: `20 s`, `15 min`, `3 h`, `4.17 days`, `3 years`.
pub fn hours(hours: f64) -> String {
    let seconds = hours * 3600.0;
    match seconds {
        s if s < 0.95 => format!("{} s", rough(s)),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{} h", format!("{:.1}", s / 3600.0).trim_end_matches(".0")),
        s if s < 730.0 * 86_400.0 => format!("{} days", rough(s / 86_400.0)),
        s => format!("{} years", rough(s / 31_557_600.0)),
    }
}

/// A remaining duration to three digits, rounded up.
pub fn hours_more(more: f64) -> String {
    let seconds = more * 3600.0;
    let (unit, name) = match seconds {
        s if s < 99.5 => (1.0, "s"),
        s if s < 5400.0 => (60.0, "min"),
        s if s < 172_800.0 => (3600.0, "h"),
        s if s < 730.0 * 86_400.0 => (86_400.0, "days"),
        _ => (31_557_600.0, "years"),
    };
    let amount = seconds / unit;
    let whole = unit < 3600.0 || amount <= 0.0;
    let scale = if whole { 1.0 } else { 10f64.powi(2 - amount.log10().floor() as i32).max(1.0) };
    // A floating-point error above a whole number must not round up.
    let up = (amount * scale * (1.0 - 1e-12)).ceil() / scale;
    format!("{} {name}", rough(up))
}

/// A ratio as a change: `+8.7 %`.
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 0.05 { "±0 %".into() } else { format!("{percent:+.1} %") }
}

/// A share as a percentage without trailing zeros: `95 %`, `99.9 %`, `96.875 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A p-value: `p = 0.0059`, `p < 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 1e-4 { "p < 0.0001".into() } else { format!("p = {}", rough(p)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!([847.0, 153_214.0, -2e6, 1.2e9].map(time), ["847 ns", "153.2 µs", "-2.00 ms", "1.20 s"]);
        assert_eq!([999.9999, 999_990.0, 999_999_999.0].map(time), ["1.0 µs", "1.00 ms", "1.00 s"]);
        assert_eq!(
            [0.0, 0.0123, 4.56, 789.4, 12_345.0, -12_345.0, -345_000.0].map(rough),
            ["0", "0.0123", "4.56", "789", "12 300", "-12 300", "-345 000"]
        );
        assert_eq!([0.005, 0.25, 3.0, 100.0, 26_280.0].map(hours), ["18 s", "15 min", "3 h", "4.17 days", "3 years"]);
        assert_eq!(
            [2.95, 3.0, 71.9001, 71.9, 0.026, 0.0].map(hours_more),
            ["2.95 h", "3 h", "3 days", "3 days", "94 s", "0 s"]
        );
        assert_eq!([4.7439 * 24.0, 4.74 * 24.0].map(hours_more), ["4.75 days", "4.74 days"]);
        assert_eq!([1.087, 0.5, 1.0001].map(change), ["+8.7 %", "-50.0 %", "±0 %"]);
        assert_eq!([0.95, 0.96875, 0.5].map(percent), ["95 %", "96.875 %", "50 %"]);
        assert_eq!([6.0 / 1024.0, 1e-6].map(p_value), ["p = 0.00586", "p < 0.0001"]);
    }
}

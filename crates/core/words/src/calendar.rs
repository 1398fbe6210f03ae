//! Instants of the wall clock as people read them, in UTC.

use jiff::Timestamp;

/// Day and time of day, `2026-11-21` and `21:30:05`.
pub fn civil(unix_s: u64) -> (String, String) {
    let (day, time) = day_and_time(i64::try_from(unix_s).unwrap_or(i64::MAX));
    (day.to_string(), time.to_string())
}

/// An instant in ns since 1970 as `2026-01-02 03:04:05 UTC`.
pub fn utc(unix_ns: i64) -> String {
    let (day, time) = day_and_time(unix_ns.div_euclid(1_000_000_000));
    format!("{day} {time} UTC")
}

/// The day of an instant in ns since 1970, `2026-01-02`, in UTC.
pub fn date(unix_ns: i64) -> String {
    day_and_time(unix_ns.div_euclid(1_000_000_000)).0.to_string()
}

/// An instant beyond the calendar's years is its last or first one.
fn day_and_time(unix_s: i64) -> (jiff::fmt::strtime::Display<'static>, jiff::fmt::strtime::Display<'static>) {
    let beyond = if unix_s < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let instant = Timestamp::from_second(unix_s).unwrap_or(beyond);
    (instant.strftime("%Y-%m-%d"), instant.strftime("%H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        let days = [951_782_400, 951_868_800, 4_107_542_400, 1_709_164_800].map(|unix_s| civil(unix_s).0);
        assert_eq!(days, ["2000-02-29", "2000-03-01", "2100-03-01", "2024-02-29"]);
        assert_eq!(civil(u64::MAX).0, "9999-12-30");
    }

    #[test]
    fn instants_before_1970_are_instants() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(1_767_323_045_999_999_999), "2026-01-02 03:04:05 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
        assert_eq!((date(0).as_str(), date(-1).as_str()), ("1970-01-01", "1969-12-31"));
    }
}

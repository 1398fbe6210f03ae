//! Instants of the wall clock as people read them, in UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

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

/// An instant in UTC as people write it, in ns since 1970: `2026-11-29T06:00`, with seconds, without a time, or with `Z`.
pub fn unix_ns(text: &str) -> Option<i64> {
    let text = text.trim();
    let instant = match text.parse::<Timestamp>() {
        Ok(instant) => instant,
        Err(_) => text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
    };
    i64::try_from(instant.as_nanosecond()).ok()
}

/// The time of day of an instant in ns since 1970, `03:04:05`, in UTC.
pub fn time_of_day(unix_ns: i64) -> String {
    day_and_time(unix_ns.div_euclid(1_000_000_000)).1.to_string()
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
    fn instants_are_read_as_they_are_written() {
        let six = 1_795_932_000_000_000_000;
        for text in ["2026-11-29T06:00", "2026-11-29 06:00:00", "2026-11-29T06:00:00Z", "2026-11-29T07:00+01:00"] {
            assert_eq!(unix_ns(text), Some(six), "{text}");
        }
        assert_eq!(unix_ns("2026-11-29"), Some(six - 6 * 3_600_000_000_000));
        assert_eq!(utc(six), "2026-11-29 06:00:00 UTC");
        for text in ["", "8h", "06:00", "2026-13-01", "99999-01-01T00:00Z"] {
            assert_eq!(unix_ns(text), None, "{text}");
        }
    }

    #[test]
    fn instants_before_1970_are_instants() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(1_767_323_045_999_999_999), "2026-01-02 03:04:05 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
        assert_eq!((date(0).as_str(), date(-1).as_str()), ("1970-01-01", "1969-12-31"));
    }
}

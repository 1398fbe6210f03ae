//! Parses time stamps with a time zone: of RFC 2822, as in rt-tests files, and of ISO 8601.

use jiff::fmt::rfc2822::DateTimeParser;

/// A weekday that does not match its date is ignored.
static PARSER: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// `Sat, 21 Nov 2026 19:11:31 +0000` in ns since 1970; `None` if the text is not such a time stamp.
pub fn unix_ns_of_rfc2822(text: &str) -> Option<i64> {
    let instant = PARSER.parse_timestamp(text.trim()).ok()?;
    i64::try_from(instant.as_nanosecond()).ok().filter(|ns| *ns >= 0)
}

/// `2026-11-21T19:11:31+00:00` in ns since 1970.
pub fn unix_ns_of_iso_8601(text: &str) -> Option<i64> {
    let instant: jiff::Timestamp = text.trim().parse().ok()?;
    i64::try_from(instant.as_nanosecond()).ok().filter(|ns| *ns >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_count_from_1970_in_utc() {
        let seconds = |text| unix_ns_of_rfc2822(text).map(|ns| ns / 1_000_000_000);
        assert_eq!(seconds("Sat, 21 Nov 2026 21:30:05 +0000"), Some(1_795_296_605));
        assert_eq!(seconds("Sat, 21 Nov 2026 22:30:05 +0100"), Some(1_795_296_605));
        assert_eq!(seconds("Tue, 29 Feb 2000 00:00:00 -0130"), Some(951_782_400 + 5400));
        for text in
            ["", "yesterday", "Sat, 21 Nov 2026 21:30:05", "Sat, 40 Nov 2026 21:30:05 +0000", "1 Nov 2026 1:2 +0000"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}

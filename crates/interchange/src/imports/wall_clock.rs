//! Parses time stamps of RFC 2822, as in rt-tests files.

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Sat, 21 Nov 2026 19:11:31 +0000` in ns since 1970; `None` if the text is not such a time stamp.
pub fn unix_ns_of_rfc2822(text: &str) -> Option<i64> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let words: Vec<&str> = text.split_whitespace().collect();
    let [day, month, year, time, zone] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let clock: Vec<i64> = time.split(':').map(|part| number(part, 0..=60)).collect::<Option<_>>()?;
    let [hour, minute, second] = clock[..] else { return None };
    let in_range = hour < 24 && minute < 60;
    let days = days_since_1970(number(year, 1970..=2261)?, month, number(day, 1..=31)?);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - zone_s(zone)?;
    in_range.then(|| seconds.checked_mul(1_000_000_000)).flatten()
}

fn number(text: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    text.parse().ok().filter(|value| range.contains(value))
}

fn zone_s(zone: &str) -> Option<i64> {
    if zone == "GMT" || zone == "UTC" {
        return Some(0);
    }
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(zone.get(1..3)?, 0..=14)?, number(zone.get(3..)?, 0..=59)?);
    Some(sign * (hours * 3600 + minutes * 60))
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Counted in eras of 400 years from 1 March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
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

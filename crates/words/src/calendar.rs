//! Formats instants of the wall clock.

/// Day and time of day in UTC, `2026-11-21` and `21:30:05`.
pub fn civil(unix_s: u64) -> (String, String) {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Counted in eras of 400 years from 1 March 0000, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (
        format!("{year:04}-{month:02}-{day:02}"),
        format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        let days = [951_782_400, 951_868_800, 4_107_542_400, 1_709_164_800].map(|unix_s| civil(unix_s).0);
        assert_eq!(days, ["2000-02-29", "2000-03-01", "2100-03-01", "2024-02-29"]);
    }
}

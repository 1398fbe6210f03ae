//! The `T:` lines of cyclictest and related tools: totals of one thread so far.

use super::source::Unit;

/// One `T:` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadLine {
    pub thread: u32,
    /// 0 until the thread has started.
    pub tid: u32,
    pub priority: Option<i64>,
    pub interval_us: Option<i64>,
    pub cycles: u64,
    pub min: i128,
    pub mean: i128,
    pub max: i128,
    /// The unit that the width of `Act:` shows.
    pub unit: Option<Unit>,
}

/// Parses a line, including cursor movements before it; `None` if it is incomplete.
pub fn thread_line(line: &str) -> Option<ThreadLine> {
    let line = line.rsplit('\u{1b}').next()?;
    let line = line.get(line.find("T:")?..)?;
    // The rest of a cursor movement is short: `[2A`.
    let (thread, rest) = line.strip_prefix("T:")?.split_once('(')?;
    let (tid, rest) = rest.split_once(')')?;
    let field = |name: &str| {
        let after = &rest[rest.find(name)? + name.len()..];
        after.split_whitespace().next()?.parse::<i128>().ok()
    };
    Some(ThreadLine {
        thread: thread.trim().parse().ok()?,
        tid: tid.trim().parse().ok()?,
        priority: field("P:").and_then(|value| i64::try_from(value).ok()),
        interval_us: field("I:").and_then(|value| i64::try_from(value).ok()),
        cycles: field("C:").and_then(|value| u64::try_from(value).ok())?,
        min: field("Min:")?,
        mean: field("Avg:")?,
        max: field("Max:")?,
        unit: unit_of_width(&rest[rest.find("Act:")? + "Act:".len()..]),
    })
}

/// The tools print the last latency with a width of 5 in µs and of 8 in ns; a longer number fills its column.
fn unit_of_width(column: &str) -> Option<Unit> {
    let digits = column.trim_start_matches(' ');
    let length = digits.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
    let width = column.len() - digits.len() + length;
    match (width, width > length) {
        (5, _) | (6 | 7, false) => Some(Unit::Us),
        (8, true) => Some(Unit::Ns),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_and_live_lines_are_read() {
        let quiet =
            thread_line("T: 1 (17643) P:80 I:1500 C:   2000 Min:      4 Act:   11 Avg:   11 Max:     846").unwrap();
        let expected = ThreadLine {
            thread: 1,
            tid: 17643,
            priority: Some(80),
            interval_us: Some(1500),
            cycles: 2000,
            min: 4,
            mean: 11,
            max: 846,
            unit: Some(Unit::Us),
        };
        assert_eq!(quiet, expected);
        let live = "\u{1b}[4AT: 1 (17643) P:80 I:1500 C:   2000 Min:      4 Act:   11 Avg:   11 Max:     846  ";
        assert_eq!(thread_line(live), Some(quiet));
    }

    #[test]
    fn the_width_of_the_last_latency_shows_the_unit() {
        let unit = |column: &str| {
            let line = format!("T: 0 ( 3467) P:80 I:200 C:    500 Min:  11918 Act:{column} Avg:   13449 Max:   21142");
            thread_line(&line).unwrap().unit
        };
        assert_eq!(["   13", "12345", "1234567"].map(unit), [Some(Unit::Us); 3]);
        assert_eq!(["   13061", " 1306100"].map(unit), [Some(Unit::Ns); 2]);
        // Reformatted, or full to the width of ns: either unit.
        assert_eq!([" 13", "13061000"].map(unit), [None; 2]);
    }

    #[test]
    fn a_line_cut_short_is_none() {
        let line = "T: 1 (17643) P:80 I:1500 C:   2000 Min:      4 Act:   11 Avg:   11 Max:     846";
        for cut in 0..line.len() - 3 {
            assert_eq!(thread_line(&line[..cut]), None, "{}", &line[..cut]);
        }
        assert_eq!(thread_line("A: T: is the unit (of temperature)"), None);
    }
}

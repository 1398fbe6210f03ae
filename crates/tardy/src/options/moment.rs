//! A moment of a run on the command line: an instant, or a time before the end of the run.

use words::calendar;
use words::time::time_ns;

/// A moment as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// This long before the end of the run, or before now if it goes on.
    BeforeTheEnd(u64),
    /// In ns since 1970.
    At(i64),
}

impl Moment {
    /// The instant in ns since 1970, in a run with this end.
    pub fn unix_ns(self, end_unix_ns: i64) -> i64 {
        match self {
            Self::BeforeTheEnd(ns) => end_unix_ns.saturating_sub_unsigned(ns),
            Self::At(unix_ns) => unix_ns,
        }
    }
}

/// Parses a moment.
///
/// # Errors
/// Describes the expected forms.
pub fn moment(text: &str) -> Result<Moment, String> {
    if let Some(unix_ns) = calendar::unix_ns(text) {
        return Ok(Moment::At(unix_ns));
    }
    let refused =
        || "write a time before the end of the run, like 8h, or an instant in UTC, like 2026-11-29T06:00".into();
    time_ns(text).map(Moment::BeforeTheEnd).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_instants_are_moments() {
        assert_eq!(moment("8h"), Ok(Moment::BeforeTheEnd(28_800_000_000_000)));
        assert_eq!(moment("2026-11-29T06:00"), Ok(Moment::At(1_795_932_000_000_000_000)));
        assert_eq!(moment("8h").unwrap().unix_ns(28_800_000_000_005), 5);
        for text in ["yesterday", "06:00", "-8h", ""] {
            assert!(moment(text).unwrap_err().contains("2026-11-29T06:00"), "{text}");
        }
    }
}

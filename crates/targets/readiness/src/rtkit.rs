//! The options of rtkit-daemon that limit what it grants.

use super::machine::quoted;
use super::unknown::Unknown;

/// The limits of rtkit, with the defaults from its help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rtkit {
    pub priority_max: u64,
    /// Largest RLIMIT_RTTIME of a program that gets a priority, in µs.
    pub time_us_max: u64,
    pub canary: Option<Canary>,
}

/// The watchdog that notices when normal tasks starve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canary {
    pub patience_ms: u64,
    pub refusal_s: u64,
}

impl Rtkit {
    /// Reads `--option=value` and `--option value`.
    pub fn of(arguments: &[String]) -> Result<Self, Unknown> {
        let number = |option: &str, usual: u64| {
            let mut words = arguments.iter().enumerate();
            let value = words.find_map(|(at, word)| match word.strip_prefix(option)? {
                "" => arguments.get(at + 1).map(String::as_str),
                rest => rest.strip_prefix('='),
            });
            value.map_or(Ok(usual), |text| {
                text.parse().map_err(|_| Unknown(format!("{option} of rtkit-daemon is not a number: {}", quoted(text))))
            })
        };
        let canary = match arguments.iter().any(|word| word == "--no-canary") {
            true => None,
            false => Some(Canary {
                patience_ms: number("--canary-watchdog-msec", 10_000)?,
                refusal_s: number("--canary-refuse-sec", 300)?,
            }),
        };
        Ok(Self {
            priority_max: number("--max-realtime-priority", 20)?,
            time_us_max: number("--rttime-usec-max", 200_000)?,
            canary,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Rtkit, Unknown> {
        Rtkit::of(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_replace_the_defaults() {
        let canary = Some(Canary { patience_ms: 10_000, refusal_s: 300 });
        assert_eq!(read("").unwrap(), Rtkit { priority_max: 20, time_us_max: 200_000, canary });
        let both = "--max-realtime-priority 89 --rttime-usec-max=900000 --no-canary";
        assert_eq!(read(both).unwrap(), Rtkit { priority_max: 89, time_us_max: 900_000, canary: None });
        assert!(read("--max-realtime-priority=much").is_err());
        assert_eq!(read("--max-realtime-priority").unwrap().priority_max, 20);
    }
}

//! Parses command lines like getopt_long(3): bundles, attached values, abbreviations, options after operands.

use super::options::{Id, OptionRow, Takes, by_letter, by_name};

/// One option as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub id: Id,
    pub value: Option<String>,
    /// As written, for messages.
    pub spelt: String,
}

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    pub options: Vec<Given>,
    /// Words that belong to no option.
    pub operands: Vec<String>,
}

/// An error in an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("unknown option {0}; `cyclictest --help` lists all")]
    Unknown(String),
    #[error("--{name} may be {}; write one of them out", candidates.join(" or "))]
    Ambiguous { name: String, candidates: Vec<String> },
    #[error("{0} takes no value")]
    UnwantedValue(String),
    #[error("{option} needs a value: {argument}")]
    MissingValue { option: String, argument: &'static str },
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// The first option that is unknown, ambiguous or lacks its value.
pub fn parse(words: &[String]) -> Result<Parsed, OptionError> {
    let mut parsed = Parsed::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word == "--" {
            parsed.operands.extend_from_slice(&words[at..]);
            break;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, attached) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let row = one_row(name)?;
            if attached.is_some() && row.takes == Takes::Nothing {
                return Err(OptionError::UnwantedValue(format!("--{}", row.long)));
            }
            let spelt = format!("--{}", row.long);
            let value = value_of(row, attached, words, &mut at, &spelt)?;
            parsed.options.push(Given { id: row.id, value, spelt });
        } else if word.len() > 1 && word.starts_with('-') {
            bundle(&word[1..], words, &mut at, &mut parsed)?;
        } else {
            parsed.operands.push(word.clone());
        }
    }
    Ok(parsed)
}

fn one_row(name: &str) -> Result<&'static OptionRow, OptionError> {
    let rows = by_name(name);
    match rows[..] {
        [row] => Ok(row),
        [] => Err(OptionError::Unknown(format!("--{name}"))),
        _ => {
            let candidates = rows.iter().map(|row| format!("--{}", row.long)).collect();
            Err(OptionError::Ambiguous { name: name.into(), candidates })
        }
    }
}

/// Letters after one dash; the first one that takes a value takes the rest.
fn bundle(letters: &str, words: &[String], at: &mut usize, parsed: &mut Parsed) -> Result<(), OptionError> {
    for (position, letter) in letters.char_indices() {
        let spelt = format!("-{letter}");
        let row = u8::try_from(letter).ok().and_then(by_letter);
        let row = row.ok_or_else(|| OptionError::Unknown(spelt.clone()))?;
        if row.takes == Takes::Nothing {
            parsed.options.push(Given { id: row.id, value: None, spelt });
            continue;
        }
        let rest = &letters[position + letter.len_utf8()..];
        let attached = (!rest.is_empty()).then(|| rest.to_owned());
        let value = value_of(row, attached, words, at, &spelt)?;
        parsed.options.push(Given { id: row.id, value, spelt });
        break;
    }
    Ok(())
}

fn value_of(
    row: &OptionRow,
    attached: Option<String>,
    words: &[String],
    at: &mut usize,
    spelt: &str,
) -> Result<Option<String>, OptionError> {
    if attached.is_some() || row.takes == Takes::Nothing {
        return Ok(attached);
    }
    let next = words.get(*at);
    let takes = |next: &&String| match row.takes {
        Takes::Value => true,
        Takes::PerhapsNumber => next.starts_with(|c: char| c.is_ascii_digit()),
        _ => next.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '!' | '+')) || next.as_str() == "all",
    };
    match next.filter(takes) {
        Some(value) => {
            *at += 1;
            Ok(Some(value.clone()))
        }
        None if row.takes == Takes::Value => {
            Err(OptionError::MissingValue { option: spelt.into(), argument: row.argument })
        }
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Parsed, OptionError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn pairs(line: &str) -> Vec<(Id, Option<String>)> {
        parsed(line).unwrap().options.into_iter().map(|given| (given.id, given.value)).collect()
    }

    fn value(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn letters_come_in_bundles() {
        let expected = vec![(Id::Smp, None), (Id::Priority, value("90"))];
        assert_eq!(pairs("-Sp90"), expected);
        assert_eq!(pairs("-Sp 90"), expected);
        assert_eq!(pairs("-mnq"), [(Id::Mlockall, None), (pairs("-n")[0].0, None), (Id::Quiet, None)].to_vec());
    }

    #[test]
    fn values_that_may_be_missing_are_taken_when_they_look_like_one() {
        assert_eq!(pairs("-t 2"), [(Id::Threads, value("2"))]);
        assert_eq!(pairs("-t2"), [(Id::Threads, value("2"))]);
        assert_eq!(pairs("-t -q"), [(Id::Threads, None), (Id::Quiet, None)]);
        assert_eq!(pairs("--threads=3"), [(Id::Threads, value("3"))]);
        assert_eq!(pairs("-a 0-1 -t"), [(Id::Affinity, value("0-1")), (Id::Threads, None)]);
        assert_eq!(pairs("-a !0"), [(Id::Affinity, value("!0"))]);
        assert_eq!(pairs("-a all"), [(Id::Affinity, value("all"))]);
        assert_eq!(pairs("-at"), [(Id::Affinity, value("t"))]);
        assert_eq!(parsed("-a x").unwrap().operands, ["x"]);
        assert_eq!(pairs("--secaligned 100"), [(Id::Secaligned, value("100"))]);
    }

    #[test]
    fn long_options_may_be_cut_short() {
        assert_eq!(pairs("--inter=200 --dur 3600s"), [(Id::Interval, value("200")), (Id::Duration, value("3600s"))]);
        assert!(parsed("--prio 3").unwrap_err().to_string().contains("--priority or --priospread"));
    }

    #[test]
    fn operands_may_stand_anywhere_and_two_dashes_end_the_options() {
        let parsed = parsed("one -q two -- -l 3").unwrap();
        assert_eq!(parsed.operands, ["one", "two", "-l", "3"]);
        assert_eq!(parsed.options.len(), 1);
    }

    #[test]
    fn a_wrong_option_is_named() {
        let unknown = |option: &str| OptionError::Unknown(option.into());
        assert_eq!(parsed("-Z").unwrap_err(), unknown("-Z"));
        assert_eq!(parsed("-qä").unwrap_err(), unknown("-ä"));
        assert_eq!(parsed("--foo=1").unwrap_err(), unknown("--foo"));
        assert!(parsed("-l").unwrap_err().to_string().contains("-l needs a value"));
        assert_eq!(parsed("--quiet=3").unwrap_err(), OptionError::UnwantedValue("--quiet".into()));
        // A value may start with a dash.
        assert_eq!(pairs("-i -5"), [(Id::Interval, value("-5"))]);
    }
}

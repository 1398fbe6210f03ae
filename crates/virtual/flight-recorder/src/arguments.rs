//! Arguments of the plugin from QEMU: `-plugin FILE,out=PREFIX,at=3,at=17,blocks=2097152` or `-plugin
//! FILE,out=PREFIX,stop=90210`.

use std::fmt;
use std::path::PathBuf;

/// Default number of blocks to remember: 16 MB, and several milliseconds of a busy guest.
const BLOCKS_DEFAULT: usize = 1 << 21;
const BLOCKS_MAX: usize = 1 << 28;

#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Records are named `PREFIX.NUMBER`, by the number of their marker.
    pub prefix: PathBuf,
    /// Markers at which to write a record, counted from 0 in the order of execution.
    pub at: Vec<u64>,
    /// Number of blocks to remember.
    pub blocks: usize,
    /// Stop the machine when it has executed this many blocks, and create the file `PREFIX.stopped`.
    pub stop: Option<u64>,
}

/// An error in the arguments, and the correct form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    NoNumber { name: String, value: String },
    Blocks(u64),
    Unknown(String),
    NoPrefix,
    NoMarker,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber { name, value } => write!(out, "{name}={value}: {value:?} is not a number"),
            Self::Blocks(count) => write!(out, "blocks={count}: choose 1 to {BLOCKS_MAX}"),
            Self::Unknown(word) => {
                write!(out, "there is no argument {word:?}; write out=PREFIX, at=NUMBER, stop=NUMBER or blocks=NUMBER")
            }
            Self::NoPrefix => out.write_str("out=PREFIX says where records are written; it is missing"),
            Self::NoMarker => out.write_str("at=NUMBER says at which wake-up a record is written; it is missing"),
        }
    }
}

impl Arguments {
    /// # Errors
    /// [`ArgumentError`].
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, ArgumentError> {
        let (mut prefix, mut at, mut blocks, mut stop) = (None, Vec::new(), BLOCKS_DEFAULT, None);
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let no_number = |_| ArgumentError::NoNumber { name: name.into(), value: value.into() };
            let number = || value.parse::<u64>().map_err(no_number);
            match name {
                "out" if !value.is_empty() => prefix = Some(PathBuf::from(value)),
                "at" => at.push(number()?),
                "stop" => stop = Some(number()?),
                "blocks" => {
                    let count = number()?;
                    blocks = usize::try_from(count)
                        .ok()
                        .filter(|count| (1..=BLOCKS_MAX).contains(count))
                        .ok_or(ArgumentError::Blocks(count))?;
                }
                _ => return Err(ArgumentError::Unknown(word.into())),
            }
        }
        at.sort_unstable();
        at.dedup();
        let prefix = prefix.ok_or(ArgumentError::NoPrefix)?;
        if at.is_empty() && stop.is_none() {
            return Err(ArgumentError::NoMarker);
        }
        Ok(Self { prefix, at, blocks, stop })
    }

    /// The path of a marker's record.
    pub fn path(&self, marker: u64) -> PathBuf {
        self.beside(&marker.to_string())
    }

    /// The file that shows that the machine has stopped.
    pub fn stopped(&self) -> PathBuf {
        self.beside("stopped")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.prefix.clone().into_os_string();
        name.push(format!(".{ending}"));
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, ArgumentError> {
        Arguments::parse(line.split(',').filter(|word| !word.is_empty()))
    }

    #[test]
    fn markers_are_sorted_and_named_once() {
        let arguments = parsed("at=17,out=/tmp/flight,at=3,at=17,blocks=4096").unwrap();
        assert_eq!((arguments.at.as_slice(), arguments.blocks), (&[3, 17][..], 4096));
        assert_eq!(arguments.path(17), PathBuf::from("/tmp/flight.17"));
        assert_eq!(parsed("out=x,at=0").unwrap().blocks, BLOCKS_DEFAULT);
    }

    #[test]
    fn a_machine_that_is_to_stop_needs_no_record() {
        let arguments = parsed("out=x,stop=90210").unwrap();
        assert_eq!((arguments.at.len(), arguments.stop), (0, Some(90210)));
        assert_eq!(arguments.stopped(), PathBuf::from("x.stopped"));
        let soon = ArgumentError::NoNumber { name: "stop".into(), value: "soon".into() };
        assert_eq!(parsed("out=x,stop=soon").err(), Some(soon));
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (line, word) in [
            ("", "out="),
            ("out=x", "at="),
            ("at=1", "out="),
            ("out=x,at=one", "one"),
            ("out=x,at=1,blocks=0", "blocks"),
            ("out=x,at=1,speed=9", "speed"),
            ("out=,at=1", "out"),
        ] {
            assert!(parsed(line).is_err_and(|why| why.to_string().contains(word)), "{line}");
        }
    }
}

//! The number of the last entry that the receiver of an output acknowledged, in a file of the ring.

use anyhow::Context;
use archive::atomic_file::write_atomically;
use archive::directory::make_directories;
use std::fs;
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "delivered";

/// The file of one output.
pub struct Acknowledged {
    path: PathBuf,
    number: u64,
}

impl Acknowledged {
    /// Reads it. An output that is new begins behind `last`, the last entry of the log; so does one whose log was removed.
    ///
    /// # Errors
    /// If the file cannot be written, or holds no number.
    pub fn open(ring: &Path, output: &str, last: u64) -> anyhow::Result<Self> {
        make_directories(&ring.join(DIRECTORY))?;
        let path = ring.join(DIRECTORY).join(output);
        let mut acknowledged = Self { number: last, path };
        match fs::read_to_string(&acknowledged.path) {
            Ok(text) => {
                let shown = acknowledged.path.display();
                let number = text.trim().parse::<u64>();
                let number =
                    number.with_context(|| format!("{shown} holds no number; remove it to begin with new accounts"))?;
                acknowledged.number = number;
                if number > last {
                    acknowledged.advance(last)?;
                }
            }
            Err(_) => acknowledged.advance(last)?,
        }
        Ok(acknowledged)
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn advance(&mut self, number: u64) -> anyhow::Result<()> {
        self.number = number;
        Ok(write_atomically(&self.path, format!("{number}\n").as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_output_begins_behind_the_log_and_an_old_one_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let open = |last| Acknowledged::open(folder.path(), "mqtt", last);
        assert_eq!(open(7).unwrap().number(), 7);
        assert_eq!(open(9).unwrap().number(), 7, "two wait");
        open(9).unwrap().advance(8).unwrap();
        assert_eq!(open(9).unwrap().number(), 8);
        assert_eq!(open(3).unwrap().number(), 3, "the log began again");
        assert_eq!(open(9).unwrap().number(), 3, "six wait");
        fs::write(folder.path().join("delivered/mqtt"), "x").unwrap();
        assert!(open(9).is_err());
    }
}

//! Archives of the sessions before the last one: they are removed, or a few stay and the oldest goes first.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Sessions that stay before the last one if the user keeps the measurement.
const EARLIER_KEPT_MAX: usize = 3;

/// Archives of earlier sessions that stay, oldest first.
#[derive(Debug, Default)]
pub struct Earlier(VecDeque<PathBuf>);

impl Earlier {
    /// Keeps or removes the archive of a session that ended, and those that it replaces.
    pub fn end(&mut self, archive: PathBuf, keeps: bool) {
        if keeps {
            self.0.push_back(archive);
        } else {
            remove(&archive);
        }
        while self.0.len() > EARLIER_KEPT_MAX {
            self.0.pop_front().iter().for_each(|oldest| remove(oldest));
        }
    }

    pub fn remove_all(&mut self) {
        self.0.drain(..).for_each(|archive| remove(&archive));
    }
}

pub fn remove(archive: &Path) {
    if let Err(error) = fs::remove_dir_all(archive) {
        let shown = words::printable::printable(&archive.display().to_string());
        complain!("tardy desk: failed to remove {shown}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_sessions_are_few_and_the_oldest_goes_first() {
        let place = tempfile::tempdir().unwrap();
        let mut earlier = Earlier::default();
        for number in 0..6 {
            let archive = place.path().join(number.to_string());
            fs::create_dir(&archive).unwrap();
            earlier.end(archive, number != 0);
        }
        let left = || {
            let mut names: Vec<_> =
                fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(left(), ["3", "4", "5"]);
        earlier.remove_all();
        assert!(left().is_empty());
    }
}

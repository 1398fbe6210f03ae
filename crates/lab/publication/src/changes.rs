//! Changes of a publication, with their counts and the changed names, for the user who publishes.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Names that are listed of one kind; more are counted.
const LISTED_MAX: usize = 10_000;

/// The treatment of the values of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Values that got a pseudonym.
    pub replaced: u64,
    /// Values that were emptied, or left out.
    pub removed: u64,
    /// The original names that got a pseudonym.
    pub names: BTreeSet<String>,
}

/// The changes of a publication, by the kind of value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Changes {
    pub kinds: BTreeMap<&'static str, Change>,
}

impl Changes {
    pub(crate) fn replaced(&mut self, kind: &'static str, name: &str) {
        let change = self.kinds.entry(kind).or_default();
        change.replaced += 1;
        if change.names.len() < LISTED_MAX {
            change.names.insert(name.to_owned());
        }
    }

    pub(crate) fn removed(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            self.kinds.entry(kind).or_default().removed += count;
        }
    }
}

//! The real meter, for verbs that are tested on this machine itself.

use prerequisites::Prerequisite::{Prepared, Root};
use prerequisites::met;
use std::path::{Path, PathBuf};

/// The selected meter, or else the one next to `tardy`; `None` if there is none or the test does not run as root.
pub fn real_meter() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_tardy")).with_file_name("tardy-meter");
    let named = std::env::var_os("TARDY_METER").map(PathBuf::from);
    let found = named.into_iter().chain([beside]).find(|path| path.is_file());
    met(&[Root, Prepared("a tardy-meter beside tardy (cargo build -p tardy-meter)", found.is_some())])
        .then_some(found)?
}

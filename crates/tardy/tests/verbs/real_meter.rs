//! The real meter, for verbs that are tried on this machine itself.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The meter that was named, or else the one beside `tardy`; `None` where there is none or we are not root, after saying so.
pub fn real_meter() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_tardy")).with_file_name("tardy-meter");
    let named = std::env::var_os("TARDY_METER").map(PathBuf::from);
    let Some(meter) = named.into_iter().chain([beside]).find(|path| path.is_file()) else {
        eprintln!("skipped: there is no tardy-meter beside tardy; cargo build -p tardy-meter makes it");
        return None;
    };
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !root {
        eprintln!("skipped: only root may trace and change settings");
        return None;
    }
    Some(meter)
}

//! A baseline in virtual time: its file, and the changes since it was written.

pub mod drift;
pub mod file;

use super::seed_runs::{all_seed_runs, open_all};
use crate::exit::Exit;
use std::path::{Path, PathBuf};

/// Judges existing runs by a baseline file: `tardy judge --baseline`.
pub fn judge(file: &Path, names: &[PathBuf], json: bool) -> anyhow::Result<Exit> {
    let baseline = file::read(file)?;
    let runs = open_all(names)?;
    drift::show(&baseline, file, &all_seed_runs(&runs), None, json)
}

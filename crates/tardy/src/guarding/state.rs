//! The file by which `tardy guard --save` finds the running guard.

use archive::atomic_file::write_atomically;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

const FILE: &str = "state.json";

/// The process of a guard. A number alone could belong to another process by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardState {
    pub pid: i32,
    /// Start of the process in the kernel's ticks since boot.
    started_ticks: u64,
}

impl GuardState {
    /// This process.
    pub fn own() -> Self {
        let pid = std::process::id().cast_signed();
        Self { pid, started_ticks: started_ticks(pid).unwrap_or(0) }
    }

    /// # Errors
    /// If the file system refuses.
    pub fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string(self)?;
        Ok(write_atomically(&directory.join(FILE), text.as_bytes())?)
    }

    /// The guard that runs with this directory; `None` if none does.
    pub fn running(directory: &Path) -> Option<Self> {
        let state: Self = serde_json::from_str(&fs::read_to_string(directory.join(FILE)).ok()?).ok()?;
        (started_ticks(state.pid) == Some(state.started_ticks)).then_some(state)
    }

    /// Removes the file of a guard that ends.
    pub fn remove(directory: &Path) {
        let _ = fs::remove_file(directory.join(FILE));
    }

    /// Asks it to save the last seconds.
    ///
    /// # Errors
    /// If this user may not.
    pub fn ask_to_save(&self) -> rustix::io::Result<()> {
        Pid::from_raw(self.pid).map_or(Ok(()), |pid| kill_process(pid, Signal::USR1))
    }
}

fn started_ticks(pid: i32) -> Option<u64> {
    /// Position of the start behind the name.
    const START: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(START)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_found_while_it_runs_and_no_other_process_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(GuardState::running(folder.path()), None);
        let own = GuardState::own();
        own.write(folder.path()).unwrap();
        assert_eq!(GuardState::running(folder.path()), Some(own.clone()));
        GuardState { started_ticks: own.started_ticks + 1, ..own }.write(folder.path()).unwrap();
        assert_eq!(GuardState::running(folder.path()), None);
    }
}

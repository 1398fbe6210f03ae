//! `--deepest-idle-state`: disables deeper idle states of the measured CPUs for the run, journalled.

use super::error::Error;
use meter::journal::Journal;
use std::path::Path;

/// Disables every state of the CPUs deeper than `deepest`; -1 disables all.
///
/// # Errors
/// There are no idle states, or this process lacks the privilege to change them.
pub fn limit(cpus: &[u32], deepest: i32, journal: &mut Journal) -> Result<(), Error> {
    for cpu in cpus {
        let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        if !Path::new(&directory).is_dir() {
            return Err(Error::NoIdleStates { cpu: *cpu, directory });
        }
        for state in (deepest + 1).max(0).. {
            let path = format!("{directory}/state{state}/disable");
            if !Path::new(&path).exists() {
                break;
            }
            journal.change_setting(Path::new(&path), "1").map_err(|error| Error::IdleState(error.to_string()))?;
        }
    }
    Ok(())
}

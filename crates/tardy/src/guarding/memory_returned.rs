//! Settings with which glibc returns memory to the kernel: explaining a miss takes some MB, and quiet months may follow.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// glibc reads them only when a program starts. Without them it keeps what a thread once used, and raises the limits as it goes.
const SETTINGS: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// Starts this process again with the settings, unless it has any of them. Where that fails it only needs more memory.
pub fn start_again() {
    let is_set = |(name, _): &(&str, &str)| env::var_os(name).is_some();
    if !cfg!(target_env = "gnu") || SETTINGS.iter().any(is_set) {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut words = env::args_os();
    let name = words.next().unwrap_or_else(|| program.clone().into());
    // Returns only if it failed.
    let _ = Command::new(program).arg0(name).args(words).envs(SETTINGS).exec();
}

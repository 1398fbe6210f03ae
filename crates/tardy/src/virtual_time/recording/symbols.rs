//! Addresses of the functions of a guest's kernel, determined once per kernel and cached.
//!
//! A boot that reports them has another trajectory, so it is a separate boot.

use super::again::Again;
use crate::measuring::signals::Signals;
use machines::Target;
use machines::qemu::kernel;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Lines in the format of /proc/kallsyms.
pub fn of(again: &Again, meter: &Path, signals: &Signals) -> anyhow::Result<String> {
    let mut target = again.target(meter)?;
    target.prepare()?;
    // A different meter does not move the functions of the kernel.
    let ingredients = target.ingredients().into_iter().filter(|(name, _)| name != "meter");
    let identity = ingredients.fold(Sha256::new(), |sum, (name, value)| {
        sum.chain_update(name).chain_update([0]).chain_update(value).chain_update([0])
    });
    let identity = identity.finalize();
    let name: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = kernel::cache()?.join("symbols");
    let path = folder.join(name);
    if let Ok(known) = fs::read_to_string(&path) {
        return Ok(known);
    }
    let symbols = target.symbols(signals.requests())?;
    // Written under a temporary name and renamed: two processes may do this at once. Without the file, the next one
    // determines the addresses again.
    let partial = folder.join(format!("{}.partial", std::process::id()));
    let _ = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&partial, &symbols))
        .and_then(|()| fs::rename(&partial, &path));
    Ok(symbols)
}

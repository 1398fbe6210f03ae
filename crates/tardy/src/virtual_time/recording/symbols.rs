//! Where the functions of a guest's kernel are, asked once of each kernel and kept.
//!
//! A boot that tells them is another trajectory, so it is one of its own.

use super::again::Again;
use crate::measuring::signals::Signals;
use machines::Target;
use machines::qemu::kernel;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Lines as in /proc/kallsyms.
pub fn of(again: &Again, meter: &Path, signals: &Signals) -> anyhow::Result<String> {
    let mut target = again.target(meter)?;
    target.prepare()?;
    // Another meter moves no function of the kernel's.
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
    // Written beside and renamed: two of this may run at once. Without the file the next one asks again.
    let partial = folder.join(format!("{}.partial", std::process::id()));
    let _ = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&partial, &symbols))
        .and_then(|()| fs::rename(&partial, &path));
    Ok(symbols)
}

//! The measurement so far as a publication: without names, signed, one file.

use super::archives::{COPY, hidden};
use crate::lab::publication_key;
use account::{Account, ExplanationSource};
use anyhow::Context;
use archive::reader::Run;
use publication::{KernelFunctions, anonymous_run, package};
use std::fs;
use std::path::Path;

/// Worst wake-ups whose accounts are published: each takes a while to make.
const SPIKES_MAX: usize = 40;

/// The bytes of the file.
///
/// # Errors
/// If the key is missing and none can be made, or the archive cannot be read.
pub fn share(archive: &Path) -> anyhow::Result<Vec<u8>> {
    let key = publication_key::find(None, false, false)?.context("the key to sign with is missing")?;
    // A run that goes on is not published; its copy is a run that was cut off here.
    let copy = Copy::of(archive)?;
    let mut run = Run::open(&copy.0)?;
    run.spikes.sort_by_key(|spike| std::cmp::Reverse(spike.sample.latency_ns));
    run.spikes.truncate(SPIKES_MAX);
    let account = Account::of(run, ExplanationSource::Traces);
    let mut functions = KernelFunctions::default();
    functions.add(account.run());
    let anonymous = anonymous_run(account.run(), account.explanations(), &key.pseudonyms(), &[], &functions)?;
    let mut bytes = Vec::new();
    package::write(vec![anonymous], env!("CARGO_PKG_VERSION"), &key, &mut bytes)?;
    Ok(bytes)
}

/// A copy of an archive, which is removed when this is dropped.
struct Copy(std::path::PathBuf);

impl Copy {
    fn of(archive: &Path) -> anyhow::Result<Self> {
        // One at a time.
        let copy = Self(hidden(archive, COPY));
        let _ = fs::remove_dir_all(&copy.0);
        copy_all(archive, &copy.0).with_context(|| format!("failed to copy {}", archive.display()))?;
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, into) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_all(&entry.path(), &into)?;
        } else if kind.is_file() {
            // A trace that a worse one just replaced is gone.
            match fs::copy(entry.path(), into) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

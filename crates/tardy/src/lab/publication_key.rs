//! The key that signs a publication: the user's, or one that is made on first use.

use crate::exit::UsageError;
use publication::openssh::{KeyError, PrivateKey};
use std::path::{Path, PathBuf};
use words::printable::printable;

const FILE: &str = "tardy/publication-key";

/// Where the key is; `None` without a home directory and an option.
pub fn path(asked: Option<&Path>) -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || named("XDG_CONFIG_HOME").or_else(|| Some(named("HOME")?.join(".config")));
    asked.map(Path::to_owned).or_else(|| Some(home()?.join(FILE)))
}

/// The key to sign with. A dry run makes none, and needs none.
///
/// # Errors
/// If there is none and none is to be made, or it cannot be used.
pub fn find(asked: Option<&Path>, new: bool, dry_run: bool) -> anyhow::Result<Option<PrivateKey>> {
    let Some(path) = path(asked) else {
        return Err(UsageError("there is no home directory for a key; name one with --key".into()).into());
    };
    let make = new || asked.is_none() && !path.exists();
    if make && dry_run {
        return Ok(None);
    }
    if !make {
        return PrivateKey::read(&path).map(Some).map_err(refused);
    }
    let key = PrivateKey::create(&path).map_err(refused)?;
    let shown = printable(&path.display().to_string());
    complain!("tardy: made the key {shown}; keep it: the same names get the same pseudonyms with it alone");
    Ok(Some(key))
}

fn refused(error: KeyError) -> anyhow::Error {
    match error {
        KeyError::Read { .. } | KeyError::Write { .. } => error.into(),
        wrong => UsageError(wrong.to_string()).into(),
    }
}

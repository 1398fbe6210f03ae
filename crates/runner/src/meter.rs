//! Finds the meter binary that is to run on a target.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// File name of the meter.
pub const METER_NAME: &str = "tardy-meter";
/// Environment variable that names a meter outright.
pub const METER_VARIABLE: &str = "TARDY_METER";

/// Why there is no meter to run.
#[derive(Debug, Error)]
pub enum MeterError {
    #[error("failed to find {METER_NAME}: {METER_VARIABLE} names {path}, {why}; correct it or unset it")]
    Named { path: PathBuf, why: &'static str },
    #[error(
        "failed to find {METER_NAME}: it is neither {} nor in PATH; `make build` makes it, or name one with \
         {METER_VARIABLE}",
        beside.as_ref().map_or("beside this program".to_owned(), |path| path.display().to_string())
    )]
    Missing { beside: Option<PathBuf> },
}

/// Where a meter may be, in the order of preference.
#[derive(Debug, Clone, Default)]
pub struct MeterPlaces {
    /// Value of [`METER_VARIABLE`].
    pub named: Option<OsString>,
    /// The running program.
    pub executable: Option<PathBuf>,
    /// Value of `PATH`.
    pub search_path: Option<OsString>,
}

impl MeterPlaces {
    /// The places of this process.
    pub fn of_process() -> Self {
        Self {
            named: env::var_os(METER_VARIABLE).filter(|value| !value.is_empty()),
            executable: env::current_exe().ok(),
            search_path: env::var_os("PATH"),
        }
    }

    /// The first executable meter.
    ///
    /// # Errors
    /// [`MeterError`], naming what to do.
    pub fn find(&self) -> Result<PathBuf, MeterError> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            return match unfit(&path) {
                None => Ok(path),
                Some(why) => Err(MeterError::Named { path, why }),
            };
        }
        let beside = self.executable.as_deref().and_then(Path::parent).map(|folder| folder.join(METER_NAME));
        let in_path = self.search_path.iter().flat_map(env::split_paths).map(|folder| folder.join(METER_NAME));
        let found = beside.iter().cloned().chain(in_path).find(|path| unfit(path).is_none());
        found.ok_or(MeterError::Missing { beside })
    }
}

fn unfit(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Err(_) => Some("which does not exist or may not be looked at"),
        Ok(found) if !found.is_file() => Some("which is not a file"),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => Some("which is not executable"),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executable(folder: &Path) -> PathBuf {
        let path = folder.join(METER_NAME);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_named_one_wins_and_is_never_replaced() {
        let (beside, named) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        executable(beside.path());
        let wanted = executable(named.path());
        let mut places = MeterPlaces {
            named: Some(wanted.clone().into()),
            executable: Some(beside.path().join("tardy")),
            search_path: None,
        };
        assert_eq!(places.find().unwrap(), wanted);
        places.named = Some(named.path().join("absent").into());
        assert!(places.find().unwrap_err().to_string().contains("absent"));
    }

    #[test]
    fn beside_the_program_comes_before_the_path() {
        let (beside, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let in_path = executable(other.path());
        let places = MeterPlaces {
            named: None,
            executable: Some(beside.path().join("tardy")),
            search_path: Some(other.path().into()),
        };
        assert_eq!(places.find().unwrap(), in_path);
        let first = executable(beside.path());
        assert_eq!(places.find().unwrap(), first);
        fs::set_permissions(&first, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(places.find().unwrap(), in_path);
    }

    #[test]
    fn a_missing_meter_names_the_mend() {
        let message = MeterPlaces::default().find().unwrap_err().to_string();
        assert!(message.contains("make build") && message.contains(METER_VARIABLE), "{message}");
    }
}

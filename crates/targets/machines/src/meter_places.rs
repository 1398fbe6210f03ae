//! Finds the meter binary for a target.
//!
//! The meter for the host's architecture is beside `tardy`; the others are in a directory beside it, each named after
//! its architecture. Where they are not, `tardy` unpacks the one that it carries. A copy that `tardy setup` gave capabilities to
//! takes the place of the meter that it is a copy of.

use crate::architecture::Architecture;
pub use crate::carried_meters::METER_NAME;
use crate::carried_meters::{CarriedMeters, UnpackError};
use archive::setup::METER_PATH;
use rustix::fs::{Access, access};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Directory beside the meter with the meters for other architectures.
pub const METERS_DIRECTORY: &str = "meters";
/// Environment variable with the path of a meter.
pub const METER_VARIABLE: &str = "TARDY_METER";

/// Why there is no meter to run.
#[derive(Debug, Error)]
pub enum MeterError {
    #[error("failed to find {METER_NAME}: {METER_VARIABLE} names {path}, {why}; correct it or unset it")]
    Named { path: PathBuf, why: &'static str },
    #[error(
        "failed to find {METER_NAME}: it is neither {} nor in PATH; `make build` builds it, or name one with \
         {METER_VARIABLE}",
        beside.as_ref().map_or("beside this program".to_owned(), |path| path.display().to_string())
    )]
    Missing { beside: Option<PathBuf> },
    #[error(
        "failed to find {METER_NAME} for {architecture}: there is no {}; `make meters` builds it, or name one with \
         {METER_VARIABLE}",
        wanted.display()
    )]
    Foreign { architecture: Architecture, wanted: PathBuf },
    #[error("failed to unpack {METER_NAME} for {architecture} from this program: {source}")]
    Carried { architecture: Architecture, source: UnpackError },
}

/// Where to look for a meter, in order of preference.
#[derive(Debug, Clone, Default)]
pub struct MeterPlaces {
    /// Value of [`METER_VARIABLE`].
    pub named: Option<OsString>,
    /// The running program.
    pub executable: Option<PathBuf>,
    /// Value of `PATH`.
    pub search_path: Option<OsString>,
    /// Meters in the running program. They are preferred to one in `PATH`, which may have another version.
    pub carried: CarriedMeters,
    /// The copy with capabilities, if this user needs it and may execute it.
    pub set_up: Option<PathBuf>,
}

impl MeterPlaces {
    /// The places of this process.
    pub fn of_process() -> Self {
        Self {
            named: env::var_os(METER_VARIABLE).filter(|value| !value.is_empty()),
            executable: env::current_exe().ok(),
            search_path: env::var_os("PATH"),
            carried: CarriedMeters::of_process(),
            set_up: executable_copy(),
        }
    }

    /// The first executable meter.
    ///
    /// # Errors
    /// [`MeterError`], which states what to do.
    pub fn find(&self) -> Result<PathBuf, MeterError> {
        let found = self.find_original()?;
        // A copy of another version does not understand this program.
        let copy = self.set_up.as_ref().filter(|copy| self.named.is_none() && is_same(copy, &found));
        Ok(copy.cloned().unwrap_or(found))
    }

    fn find_original(&self) -> Result<PathBuf, MeterError> {
        if let Some(named) = &self.named {
            let path = PathBuf::from(named);
            return match unfit(&path) {
                None => Ok(path),
                Some(why) => Err(MeterError::Named { path, why }),
            };
        }
        let beside = self.executable.as_deref().and_then(Path::parent).map(|folder| folder.join(METER_NAME));
        if let Some(path) = beside.iter().find(|path| unfit(path).is_none()) {
            return Ok(path.clone());
        }
        if let Some(carried) = Architecture::of_host().and_then(|host| self.unpacked(host)) {
            return carried;
        }
        let mut in_path = self.search_path.iter().flat_map(env::split_paths).map(|folder| folder.join(METER_NAME));
        in_path.find(|path| unfit(path).is_none()).ok_or(MeterError::Missing { beside })
    }

    fn unpacked(&self, architecture: Architecture) -> Option<Result<PathBuf, MeterError>> {
        let found = self.carried.unpack(architecture)?;
        Some(found.map_err(|source| MeterError::Carried { architecture, source }))
    }

    /// The first executable meter for targets of this architecture.
    ///
    /// # Errors
    /// [`MeterError`], which states what to do.
    pub fn find_for(&self, architecture: Architecture) -> Result<PathBuf, MeterError> {
        if Architecture::of_host() == Some(architecture) {
            return self.find();
        }
        let named = self.named.as_deref().map(Path::new);
        if let Some(path) = named.filter(|path| built_for(path) == Some(architecture)) {
            return Ok(path.to_owned());
        }
        let in_folder = |folder: PathBuf| folder.join(METERS_DIRECTORY).join(format!("{METER_NAME}-{architecture}"));
        let beside = [named, self.executable.as_deref()].into_iter().flatten().filter_map(Path::parent);
        let beside: Vec<PathBuf> = beside.map(|folder| in_folder(folder.to_owned())).collect();
        if let Some(path) = beside.iter().find(|path| unfit(path).is_none()) {
            return Ok(path.clone());
        }
        if let Some(carried) = self.unpacked(architecture) {
            return carried;
        }
        let in_path: Vec<PathBuf> = self.search_path.iter().flat_map(env::split_paths).map(in_folder).collect();
        let found = in_path.iter().find(|path| unfit(path).is_none()).cloned();
        let wanted = beside.into_iter().chain(in_path).next().unwrap_or_else(|| in_folder(PathBuf::new()));
        found.ok_or(MeterError::Foreign { architecture, wanted })
    }
}

fn executable_copy() -> Option<PathBuf> {
    let copy = PathBuf::from(METER_PATH);
    (!rustix::process::geteuid().is_root() && access(&copy, Access::EXEC_OK).is_ok()).then_some(copy)
}

fn is_same(left: &Path, right: &Path) -> bool {
    let bytes = |path: &Path| fs::metadata(path).map(|found| found.len()).ok();
    let text = |path: &Path| fs::read(path).ok();
    bytes(left) == bytes(right) && text(left).is_some_and(|left| text(right) == Some(left))
}

fn built_for(path: &Path) -> Option<Architecture> {
    let mut beginning = [0; 64];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut beginning)).ok()?;
    Architecture::of_program(&beginning)
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
    use crate::carried_meters::tests::{BYTES, carrying};

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
            ..MeterPlaces::default()
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
            ..MeterPlaces::default()
        };
        assert_eq!(places.find().unwrap(), in_path);
        let first = executable(beside.path());
        assert_eq!(places.find().unwrap(), first);
        fs::set_permissions(&first, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(places.find().unwrap(), in_path);
    }

    #[test]
    fn the_meter_of_another_architecture_has_its_name() {
        let foreign = *Architecture::ALL.iter().find(|found| Architecture::of_host() != Some(**found)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut places = MeterPlaces { executable: Some(folder.path().join("tardy")), ..MeterPlaces::default() };
        let message = places.find_for(foreign).unwrap_err().to_string();
        assert!(message.contains("make meters") && message.contains(folder.path().to_str().unwrap()), "{message}");
        let meters = folder.path().join(METERS_DIRECTORY);
        fs::create_dir(&meters).unwrap();
        let wanted = meters.join(format!("{METER_NAME}-{foreign}"));
        fs::rename(executable(folder.path()), &wanted).unwrap();
        assert_eq!(places.find_for(foreign).unwrap(), wanted);
        // A meter named by the variable is used if its architecture matches, and locates the others.
        let this = env::current_exe().unwrap();
        places = MeterPlaces { named: Some(executable(folder.path()).into()), ..MeterPlaces::default() };
        assert_eq!(places.find_for(foreign).unwrap(), wanted);
        places.named = Some(this.clone().into());
        assert_eq!(places.find_for(Architecture::of_host().unwrap()).unwrap(), this);
        assert_ne!(places.find_for(foreign).ok(), Some(this));
    }

    #[test]
    fn a_carried_meter_comes_after_a_file_beside_and_before_the_path() {
        let host = Architecture::of_host().unwrap();
        let foreign = *Architecture::ALL.iter().find(|found| **found != host).unwrap();
        for architecture in [host, foreign] {
            let name = |folder: &Path| match architecture == host {
                true => folder.join(METER_NAME),
                false => folder.join(METERS_DIRECTORY).join(format!("{METER_NAME}-{architecture}")),
            };
            let [cache, beside, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
            let place = |folder: &Path| {
                fs::create_dir_all(name(folder).parent().unwrap()).unwrap();
                fs::rename(executable(folder), name(folder)).unwrap();
                name(folder)
            };
            let in_path = place(other.path());
            let mut places = MeterPlaces {
                executable: Some(beside.path().join("tardy")),
                search_path: Some(other.path().into()),
                ..MeterPlaces::default()
            };
            assert_eq!(places.find_for(architecture).unwrap(), in_path);
            places.carried = carrying(architecture, cache.path());
            let unpacked = places.find_for(architecture).unwrap();
            assert!(unpacked.starts_with(cache.path().canonicalize().unwrap()), "{}", unpacked.display());
            assert_eq!(fs::read(unpacked).unwrap(), BYTES);
            let wanted = place(beside.path());
            assert_eq!(places.find_for(architecture).unwrap(), wanted);
            let named = tempfile::tempdir().unwrap();
            let wanted = place(named.path());
            places.named = Some(named.path().join(METER_NAME).into());
            assert_eq!(places.find_for(architecture).unwrap(), wanted);
        }
    }

    #[test]
    fn a_copy_with_capabilities_replaces_the_same_meter_alone() {
        let [beside, privileged] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (found, copy) = (executable(beside.path()), executable(privileged.path()));
        let executable = Some(beside.path().join("tardy"));
        let places = MeterPlaces { executable, set_up: Some(copy.clone()), ..MeterPlaces::default() };
        assert_eq!(places.find().unwrap(), copy);
        fs::write(&copy, "#!/bin/ls\n").unwrap();
        assert_eq!(places.find().unwrap(), found, "a copy of another version");
        fs::remove_file(&copy).unwrap();
        assert_eq!(places.find().unwrap(), found);
    }

    #[test]
    fn a_missing_meter_names_the_fix() {
        let message = MeterPlaces::default().find().unwrap_err().to_string();
        assert!(message.contains("make build") && message.contains(METER_VARIABLE), "{message}");
    }
}

//! The meters that this program carries, compressed, so that one file is the whole installation.
//!
//! They are unpacked to a file in the user's cache, because the kernel names a process after its file, and because
//! other programs, such as QEMU and SSH, read it.

use crate::architecture::Architecture;
use sha2::{Digest, Sha256};
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A meter in this program.
#[derive(Debug, Clone, Copy)]
pub struct CarriedMeter {
    /// Its [`Architecture::name`].
    architecture: &'static str,
    /// Size when unpacked.
    bytes: usize,
    /// In zlib's format.
    compressed: &'static [u8],
}

/// File name of the meter.
pub const METER_NAME: &str = "tardy-meter";
/// Empty unless `TARDY_CARRIED_METERS` named a directory of meters during the build.
const CARRIED: &[CarriedMeter] = include!(concat!(env!("OUT_DIR"), "/carried_meters.rs"));

/// Why a carried meter could not be unpacked.
#[derive(Debug, Error)]
pub enum UnpackError {
    #[error("there is no directory for it: set HOME, or XDG_CACHE_HOME to a directory")]
    NoCache,
    #[error(
        "{} could be changed by another user: set XDG_CACHE_HOME to a directory below ones that only you and root can \
         change", .0.display()
    )]
    Exposed(PathBuf),
    #[error("{}: {source}; set XDG_CACHE_HOME to a writable directory", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("it is damaged: install tardy again")]
    Damaged,
}

/// The meters that a program carries, and where it unpacks them.
#[derive(Debug, Clone, Default)]
pub struct CarriedMeters {
    meters: &'static [CarriedMeter],
    cache: Option<PathBuf>,
}

impl CarriedMeters {
    /// The meters in this program.
    pub fn of_process() -> Self {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        Self { meters: CARRIED, cache: cache.map(|cache| cache.join("tardy/meters")) }
    }

    /// The file with the meter for this architecture, unpacked if necessary; `None` if none is carried.
    pub fn unpack(&self, architecture: Architecture) -> Option<Result<PathBuf, UnpackError>> {
        let meter = self.meters.iter().find(|meter| meter.architecture == architecture.name())?;
        Some(self.unpacked(meter))
    }

    fn unpacked(&self, meter: &CarriedMeter) -> Result<PathBuf, UnpackError> {
        let cache = self.cache.as_deref().ok_or(UnpackError::NoCache)?;
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(meter.compressed, meter.bytes)
            .map_err(|_| UnpackError::Damaged)?;
        // Versions that are used in turn do not replace each other's file, which may be running.
        let digest: String = Sha256::digest(&bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = cache.join(digest);
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| UnpackError::Io { path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(fail(&folder))?;
        let folder = folder.canonicalize().map_err(fail(&folder))?;
        if let Some(exposed) = folder.ancestors().find(|folder| is_exposed(folder)) {
            return Err(UnpackError::Exposed(exposed.to_owned()));
        }
        let path = folder.join(METER_NAME);
        if !is_complete(&path, &bytes) {
            replace(&path, &bytes).map_err(fail(&path))?;
        }
        Ok(path)
    }
}

/// Whether a user other than this one and root can replace files in the directory.
fn is_exposed(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(folder).is_ok_and(|found| {
        let foreign = found.uid() != own && found.uid() != 0;
        let (sticky, writable_by_all) = (found.mode() & 0o1000 != 0, found.mode() & 0o002 != 0);
        foreign || (writable_by_all && !sticky)
    })
}

fn is_complete(path: &Path, bytes: &[u8]) -> bool {
    let executable = fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o100 != 0);
    executable && fs::read(path).is_ok_and(|found| found == bytes)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let write = || {
        let _ = fs::remove_file(&partial);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&partial)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&partial, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const BYTES: &[u8] = b"\x7fELF and what follows";

    /// One meter with [`BYTES`], unpacked below this directory.
    pub fn carrying(architecture: Architecture, cache: &Path) -> CarriedMeters {
        let compressed = miniz_oxide::deflate::compress_to_vec_zlib(BYTES, 6).leak();
        let meter = CarriedMeter { architecture: architecture.name(), bytes: BYTES.len(), compressed };
        CarriedMeters { meters: vec![meter].leak(), cache: Some(cache.to_owned()) }
    }

    #[test]
    fn a_carried_meter_is_unpacked_once_and_repaired() {
        let cache = tempfile::tempdir().unwrap();
        let meters = carrying(Architecture::Armhf, &cache.path().join("new/meters"));
        assert!(meters.unpack(Architecture::Arm64).is_none());
        let path = meters.unpack(Architecture::Armhf).unwrap().unwrap();
        assert_eq!(path.file_name().unwrap(), METER_NAME);
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
        let inode = fs::metadata(&path).unwrap().ino();
        assert_eq!(meters.unpack(Architecture::Armhf).unwrap().unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        fs::write(&path, "changed").unwrap();
        meters.unpack(Architecture::Armhf).unwrap().unwrap();
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_others_can_change_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let meters = carrying(Architecture::Armhf, &cache.path().join("meters"));
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(meters.unpack(Architecture::Armhf), Some(Err(UnpackError::Exposed(_)))));
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(matches!(meters.unpack(Architecture::Armhf), Some(Ok(_))));
    }

    #[test]
    fn damaged_meters_and_missing_directories_are_errors() {
        let cache = tempfile::tempdir().unwrap();
        let mut meters = carrying(Architecture::Armhf, cache.path());
        meters.meters = vec![CarriedMeter { compressed: &meters.meters[0].compressed[..8], ..meters.meters[0] }].leak();
        assert!(matches!(meters.unpack(Architecture::Armhf), Some(Err(UnpackError::Damaged))));
        let nowhere = CarriedMeters { cache: None, ..carrying(Architecture::Armhf, cache.path()) };
        assert!(matches!(nowhere.unpack(Architecture::Armhf), Some(Err(UnpackError::NoCache))));
        let file = cache.path().join("file");
        fs::write(&file, "").unwrap();
        let blocked = carrying(Architecture::Armhf, &file);
        assert!(matches!(blocked.unpack(Architecture::Armhf), Some(Err(UnpackError::Io { .. }))));
    }
}

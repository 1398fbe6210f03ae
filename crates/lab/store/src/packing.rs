//! An archive to send to the store of another host.

use crate::digest::{Contents, recorded_file};
use crate::error::StoreError;
use crate::form::Form;
use crate::pruning::{CONTENTS_FILE, PrunedContents};
use crate::refused::{Refused, check_finished};
use archive::directory::ArchiveDirectory;
use archive::packed::{PackedError, PackedFile, PackedWriter, packed_bytes};
use archive::reader::ArchiveState;
use std::io::Write;
use std::path::Path;

/// A finished archive, with its address.
#[derive(Debug)]
pub struct PackedArchive {
    archive: ArchiveDirectory,
    contents: Contents,
}

impl PackedArchive {
    /// Reads every recorded file of an archive.
    ///
    /// # Errors
    /// If there is none, if its run goes on, and if its raw traces were removed; those of the disk.
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let state = ArchiveState::of(path)?;
        if state.goes_on {
            return Err(Refused::GoesOn.into());
        }
        check_finished(&state)?;
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let contents = Contents::of(&archive).map_err(StoreError::io(path))?;
        match PrunedContents::read(&archive, &contents).map_err(StoreError::io(path))? {
            Some(pruned) if pruned.contents != contents => Err(Refused::Pruned.into()),
            _ => Ok(Self { archive, contents }),
        }
    }

    /// An archive in the form in which an object store has it: whole, or as it is after its raw traces were removed.
    pub(crate) fn for_objects(path: &Path) -> Result<(Form, Self), StoreError> {
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let contents = Contents::of(&archive).map_err(StoreError::io(path))?;
        match PrunedContents::read(&archive, &contents).map_err(StoreError::io(path))? {
            Some(pruned) if pruned.contents != contents => Ok((Form::Pruned, Self::without_raw(path)?)),
            _ => Ok((Form::Whole, Self { archive, contents })),
        }
    }

    /// An archive without its raw traces, with the list of what it contained.
    pub(crate) fn without_raw(path: &Path) -> Result<Self, StoreError> {
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let mut contents = Contents::of(&archive).map_err(StoreError::io(path))?;
        contents.files.retain(|file| !file.name.contains('/'));
        contents.files.push(recorded_file(&archive, CONTENTS_FILE.to_owned()).map_err(StoreError::io(path))?);
        contents.files.sort();
        Ok(Self { archive, contents })
    }

    /// Its address: SHA-256 in hexadecimal.
    pub fn digest(&self) -> String {
        self.contents.digest()
    }

    /// Length of its stream.
    pub fn bytes(&self) -> u64 {
        packed_bytes(self.contents.files.iter().map(|file| file.bytes))
    }

    /// Writes its stream, as [`archive::packed`] describes it.
    ///
    /// # Errors
    /// If a file changed since the archive was read; those of reading and writing.
    pub fn write(&self, sink: impl Write) -> Result<(), PackedError> {
        let mut writer = PackedWriter::new(sink);
        for file in &self.contents.files {
            let packed = PackedFile { name: file.name.clone(), bytes: file.bytes };
            writer.file(&packed, self.archive.file(&file.name)?)?;
        }
        writer.end().map(drop)
    }
}

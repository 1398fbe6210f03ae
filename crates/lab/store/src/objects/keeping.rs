//! Keeps what a store acknowledges in its object store, and fetches archives that this host does not have. The directory of archives is
//! then a copy: what is removed from it is fetched when it is needed.

use super::Objects;
use crate::Store;
use crate::artefacts::kept_location;
use crate::error::StoreError;
use crate::form::Form;
use crate::holds::Hold;
use crate::packing::PackedArchive;
use crate::receiving::Sender;
use archive::packed::PackedLimits;
use archive::reader::ArchiveState;
use std::io;
use std::path::{Path, PathBuf};

/// Of an archive that is fetched: more than any run has.
const LIMITS: PackedLimits = PackedLimits { files_max: 100_000, bytes_max: 64 << 30 };

impl Store {
    /// Puts an archive of this host into the object store, unless it is there or there is none. An object of another length is
    /// replaced: nothing of this program left it.
    pub(crate) async fn send_to_objects(&self, digest: &str, archive: &Path) -> Result<(), StoreError> {
        let Some(objects) = &self.objects else { return Ok(()) };
        let path = archive.to_owned();
        let (form, packed) = tokio::task::spawn_blocking(move || PackedArchive::for_objects(&path)).await??;
        let there = objects.bytes(form, digest).await?;
        // Raw traces may be there that this host has no more, or were removed there and not here.
        let other = if form == Form::Whole { Form::Pruned } else { Form::Whole };
        let is_there = there == Some(packed.bytes()) || objects.bytes(other, digest).await?.is_some();
        if is_there { Ok(()) } else { objects.send(form, digest, packed).await }
    }

    /// Replaces an archive whose raw traces are about to be removed.
    pub(crate) async fn prune_objects(&self, digest: &str, archive: &Path, hold: &Hold) -> Result<(), StoreError> {
        let Some(objects) = &self.objects else { return Ok(()) };
        let path = archive.to_owned();
        let packed = tokio::task::spawn_blocking(move || PackedArchive::without_raw(&path)).await??;
        objects.send(Form::Pruned, digest, packed).await?;
        if !hold.still().await? {
            return Err(StoreError::Held(digest.to_owned()));
        }
        objects.remove(Form::Whole, digest).await
    }

    /// Whether the archive of a row can be opened, here or after it was fetched.
    pub(crate) async fn is_kept(&self, digest: &str, location: &str) -> Result<bool, StoreError> {
        if opens(self.artefacts.path(location)).await? {
            return Ok(true);
        }
        match &self.objects {
            Some(objects) => Ok(objects.form(digest).await?.is_some()),
            None => Ok(false),
        }
    }

    /// The archive of a row on this host; fetches it if need be. A path that does not exist, if no one has it.
    pub(crate) async fn here(&self, digest: &str, location: &str) -> Result<PathBuf, StoreError> {
        let path = self.artefacts.path(location);
        let Some(objects) = &self.objects else { return Ok(path) };
        let kept = self.artefacts.path(&kept_location(digest));
        for path in [&path, &kept] {
            if opens(path.clone()).await? {
                return Ok(path.clone());
            }
        }
        match self.fetched(objects, digest).await? {
            Some(fetched) => Ok(fetched),
            None => Ok(path),
        }
    }

    /// An archive of the object store, in the directory.
    pub(crate) async fn fetched(&self, objects: &Objects, digest: &str) -> Result<Option<PathBuf>, StoreError> {
        for form in [Form::Whole, Form::Pruned] {
            let Some(source) = objects.fetch(form, digest).await? else { continue };
            let (store, of) = (self.clone(), digest.to_owned());
            let taken =
                tokio::task::spawn_blocking(move || store.taken(&of, source, LIMITS, Sender::ObjectStore(form)))
                    .await?;
            return taken.map(|(path, _)| Some(path));
        }
        Ok(None)
    }
}

async fn opens(path: PathBuf) -> Result<bool, StoreError> {
    Ok(tokio::task::spawn_blocking(move || ArchiveState::of(&path).is_ok()).await?)
}

impl Objects {
    /// A failure to read what it has, as one of the store.
    pub(super) fn unreadable(&self, because: &str) -> StoreError {
        let source = object_store::Error::Generic { store: "S3", source: io::Error::other(because.to_owned()).into() };
        StoreError::Objects { store: self.address.to_string(), source }
    }
}

//! Takes an archive from a stream that is not trusted.
//!
//! Arriving files are written to a hidden directory, which nothing reads. It becomes an archive of the store when it is whole, can
//! be read, and has exactly the contents that its address names; then it is ingested like any other. Only recorded files are
//! taken: the address says nothing about others, and pins and lists of removed files are the store's own.

use crate::Store;
use crate::artefacts::{kept_location, put_in_place, sync_names};
use crate::digest::{Contents, PIECE_BYTES, Sum, is_address, is_recorded};
use crate::error::StoreError;
use crate::form::Form;
use crate::ingest::{Ingested, Kept, Outcome};
use crate::pruning::{CONTENTS_FILE, PrunedContents};
use crate::refused::{Refused, check_finished};
use archive::budget::StoredBudget;
use archive::directory::{ArchiveDirectory, make_directories};
use archive::layout::MANIFEST;
use archive::packed::{PackedLimits, PackedReader};
use archive::reader::ArchiveState;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Folder of arriving archives, below the directory of archives.
const ARRIVING: &str = ".receiving";
/// An upload takes hours at most. What is older is of a process that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Who sends an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// It sends whole archives, each within the budget of its run.
    Client,
    /// It has what a store of this lab took.
    ObjectStore(Form),
}

impl Sender {
    fn sends_pruned(self) -> bool {
        self == Self::ObjectStore(Form::Pruned)
    }
}

impl Store {
    /// The archive with this address, if the store has it: it need not be sent.
    ///
    /// # Errors
    /// [`Refused::Address`], and those of the database.
    pub async fn acknowledged(&self, digest: &str) -> Result<Option<Ingested>, StoreError> {
        check_address(digest)?;
        self.still_kept(self.known(digest).await?).await
    }

    /// The archive of a row, unless it is gone.
    async fn still_kept(&self, known: Option<Ingested>) -> Result<Option<Ingested>, StoreError> {
        let Some(known) = known else { return Ok(None) };
        Ok(self.is_kept(&known.digest, &known.location).await?.then_some(known))
    }

    /// Takes an archive with this address from a stream as [`archive::packed`] describes it. It is acknowledged when this
    /// returns: its files and its rows are on the disk. An archive that the store has is not read; receiving it again after
    /// an error or a crash is safe.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if it is not that archive, or not whole; otherwise those of the disk and of the database.
    pub async fn receive(
        &self,
        digest: &str,
        source: impl Read + Send + 'static,
        limits: PackedLimits,
    ) -> Result<Ingested, StoreError> {
        check_address(digest)?;
        let known = self.known(digest).await?;
        let has_row = known.is_some();
        if let Some(known) = self.still_kept(known).await? {
            return Ok(known);
        }
        let (store, of) = (self.clone(), digest.to_owned());
        let taken = tokio::task::spawn_blocking(move || -> Result<(Kept, bool), StoreError> {
            let (path, arrived) = store.taken(&of, source, limits, Sender::Client)?;
            let put = arrived.is_some();
            let kept = match arrived {
                // It was summed as it arrived.
                Some(contents) => Kept::whole(kept_location(&of), &contents),
                None => store.kept(&path)?,
            };
            Ok((kept, put))
        });
        let (kept, put) = taken.await??;
        let ingested = self.index(kept, false).await?;
        // A server that follows the directory may have added it first.
        let outcome = if put && !has_row { Outcome::Added } else { ingested.outcome };
        Ok(Ingested { outcome, ..ingested })
    }

    /// Removes the files of uploads whose process was killed more than a day ago.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn remove_abandoned_uploads(&self) -> Result<(), StoreError> {
        let arriving = self.artefacts.path(ARRIVING);
        let entries = match fs::read_dir(&arriving) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(StoreError::io(&arriving))?,
        };
        for entry in entries.flatten() {
            let modified = entry.metadata().and_then(|of| of.modified());
            let age = modified.map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
            if age.is_ok_and(|age| age > ABANDONED) {
                // Another server of the same directory may remove it as well.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    /// Where the archive is kept, once it is, and what it contains if this call put it there.
    pub(crate) fn taken(
        &self,
        digest: &str,
        source: impl Read,
        limits: PackedLimits,
        sender: Sender,
    ) -> Result<(PathBuf, Option<Contents>), StoreError> {
        self.remove_abandoned_uploads()?;
        let kept = self.artefacts.path(&kept_location(digest));
        if is_whole(&kept, digest) {
            return Ok((kept, None));
        }
        let arriving = self.new_arriving(digest)?;
        let made = received(digest, source, limits, sender, &arriving)
            .and_then(|contents| Ok(self.put(&arriving, &kept, digest)?.then_some(contents)));
        if made.is_err() {
            let _ = fs::remove_dir_all(&arriving);
        }
        made.map(|arrived| (kept, arrived))
    }

    fn put(&self, arriving: &Path, kept: &Path, digest: &str) -> Result<bool, StoreError> {
        make_directories(kept.parent().unwrap_or(kept)).map_err(StoreError::io(kept))?;
        if kept.is_dir() && !is_whole(kept, digest) {
            // Something damaged it since it was kept.
            let damaged = self.new_arriving(digest)?;
            fs::rename(kept, &damaged).map_err(StoreError::io(kept))?;
            fs::remove_dir_all(&damaged).map_err(StoreError::io(damaged))?;
        }
        put_in_place(arriving, kept).map_err(StoreError::io(kept))
    }

    /// A new, empty directory that nothing reads.
    fn new_arriving(&self, digest: &str) -> Result<PathBuf, StoreError> {
        static UPLOADS: AtomicU64 = AtomicU64::new(0);
        let folder = self.artefacts.path(ARRIVING);
        make_directories(&folder).map_err(StoreError::io(&folder))?;
        loop {
            let number = UPLOADS.fetch_add(1, Ordering::Relaxed);
            // A process of another host that shares the directory may have the same number.
            let path = folder.join(format!("{digest}-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|()| path.clone()).map_err(StoreError::io(path)),
            }
        }
    }
}

/// Checks that a text is a SHA-256 in hexadecimal.
fn check_address(digest: &str) -> Result<(), Refused> {
    if is_address(digest) { Ok(()) } else { Err(Refused::Address(digest.to_owned())) }
}

/// Whether a directory has the archive with this address, with or without its raw traces.
fn is_whole(kept: &Path, digest: &str) -> bool {
    let found = || -> io::Result<String> {
        let archive = ArchiveDirectory::open(kept)?;
        let contents = Contents::of(&archive)?;
        let pruned = PrunedContents::read(&archive, &contents)?;
        Ok(pruned.map_or(contents, |pruned| pruned.contents).digest())
    };
    found().is_ok_and(|found| found == digest)
}

/// Writes the archive into an empty directory, on the disk, if it is the one with this address, and returns what it contains.
fn received(
    digest: &str,
    source: impl Read,
    limits: PackedLimits,
    sender: Sender,
    arriving: &Path,
) -> Result<Contents, StoreError> {
    let archive = ArchiveDirectory::open(arriving).map_err(StoreError::io(arriving))?;
    let contents = unpacked(source, limits, sender, &archive)?;
    let found = contents.digest();
    if found != digest && !(sender.sends_pruned() && is_whole(arriving, digest)) {
        return Err(Refused::OtherContents { found }.into());
    }
    check_finished(&ArchiveState::of(arriving).map_err(|_| Refused::Unreadable)?)?;
    // A list of what it contained is beside these.
    let names = contents.files.iter().map(|file| file.name.as_str());
    sync_names(&archive, names).map_err(StoreError::io(arriving))?;
    Ok(contents)
}

fn unpacked(
    source: impl Read,
    limits: PackedLimits,
    sender: Sender,
    into: &ArchiveDirectory,
) -> Result<Contents, StoreError> {
    let mut reader = PackedReader::new(source, limits);
    let (mut contents, mut buffer) = (Contents::default(), vec![0; PIECE_BYTES]);
    let mut charges = (sender == Sender::Client).then(Charges::default);
    while let Some(file) = reader.next_file().map_err(Refused::Stream)? {
        let name = file.name;
        let is_list = sender.sends_pruned() && name == CONTENTS_FILE;
        if !is_recorded(&name) && !is_list {
            return Err(Refused::NotRecorded(name).into());
        }
        if let Some(charges) = &mut charges {
            charges.charge(&name, file.bytes)?;
        }
        let failed = || StoreError::io(into.path().join(&name));
        let mut written = into.create(&name).map_err(failed())?;
        let mut sum = Sum::default();
        loop {
            match reader.read_piece(&mut buffer).map_err(Refused::Stream)? {
                0 => break,
                count => {
                    written.write_all(&buffer[..count]).map_err(failed())?;
                    sum.add(&buffer[..count]);
                }
            }
        }
        written.sync_all().map_err(failed())?;
        if let Some(charges) = &mut charges
            && name == MANIFEST
        {
            charges.read_manifest(into)?;
        }
        if !is_list {
            contents.files.push(sum.of(name));
        }
    }
    Ok(contents)
}

/// Charges the files of an upload to the budget of its run, before they are read.
#[derive(Debug, Default)]
struct Charges {
    /// Files before the manifest, which the order of names puts there.
    before: Vec<(String, u64)>,
    /// `None` without settings: of an import, or before the manifest.
    budget: Option<StoredBudget>,
    has_manifest: bool,
}

impl Charges {
    fn charge(&mut self, name: &str, bytes: u64) -> Result<(), Refused> {
        if let Some(budget) = &mut self.budget {
            let charged = budget.charge(name, bytes);
            return charged.map_err(|excess| Refused::MoreThanItsRun { name: name.to_owned(), excess });
        }
        if self.has_manifest {
            return Ok(());
        }
        if name > MANIFEST {
            return Err(Refused::Unreadable);
        }
        self.before.push((name.to_owned(), bytes));
        Ok(())
    }

    /// The manifest is written: its settings bound what comes before and after it.
    fn read_manifest(&mut self, archive: &ArchiveDirectory) -> Result<(), Refused> {
        let manifest = ArchiveState::of(archive.path()).ok().and_then(|state| state.manifest);
        self.has_manifest = true;
        self.budget = manifest.ok_or(Refused::Unreadable).map(|manifest| StoredBudget::of(&manifest))?;
        let before = std::mem::take(&mut self.before);
        before.iter().try_for_each(|(name, bytes)| self.charge(name, *bytes))
    }
}

//! Writes an archive directory during a run, so that a crash at any instant leaves one that can be opened.
//!
//! `manifest.json` is replaced atomically at the start and at the end; `stream.tardy` only grows; files of spikes are
//! written under a temporary name and renamed once their end is announced. Names come from numbers, never from the
//! target.

mod held;
mod seconds;

use crate::audit::DESCRIPTION_BYTES_MAX;
use crate::damage::Damage;
use crate::directory::{ArchiveDirectory, make_directories};
use crate::frame::{Decoder, Encoder, Item};
use crate::layout::FileKind;
use crate::layout::{
    FLIGHT_BYTES_MAX, MANIFEST, MANIFEST_BYTES_MAX, SAMPLES_BYTES_MAX, STREAM, TRACE_BYTES_MAX, TRACER_BYTES_MAX,
    file_path,
};
use crate::manifest::{Manifest, RunState};
use crate::message::{Loss, LossKind, Message};
use crate::problem::{Problem, Severity};
use crate::recorded_pages::PAGES_BYTES_MAX;
use crate::stacks::STACKS_BYTES_MAX;
use crate::storage;
use crate::write_error::WriteError;
use held::Held;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use seconds::WaitingSeconds;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const RESERVE: &str = "reserve.partial";
/// Bytes at the start of the stream in which messages of the host are searched.
const FRONT_BYTES_MAX: u64 = 64 << 20;

struct OpenFile {
    kind: FileKind,
    partial: PathBuf,
    file: File,
    stored: Stretches,
}

/// Stretches of a file that arrived.
#[derive(Debug, Default)]
struct Stretches {
    /// End by start; they neither touch nor overlap.
    ends: BTreeMap<u64, u64>,
}

impl Stretches {
    fn end(&self) -> u64 {
        self.ends.last_key_value().map_or(0, |(_, end)| *end)
    }

    /// Number of received bytes, each counted once.
    fn bytes(&self) -> u64 {
        self.ends.iter().map(|(start, end)| end - start).sum()
    }

    /// Adds a stretch and merges it with those it touches.
    fn add(&mut self, mut start: u64, mut end: u64) {
        while let Some((&before, &before_end)) = self.ends.range(..=end).next_back()
            && before_end >= start
        {
            (start, end) = (start.min(before), end.max(before_end));
            self.ends.remove(&before);
        }
        if end > start {
            self.ends.insert(start, end);
        }
    }
}

/// Most bytes that a target may send for a file of this kind.
fn bytes_max(kind: FileKind) -> u64 {
    match kind {
        FileKind::SpikeTrace { .. } => TRACE_BYTES_MAX,
        FileKind::FlightRecord { .. } => FLIGHT_BYTES_MAX,
        FileKind::SpikeStacks { .. } => STACKS_BYTES_MAX,
        FileKind::Samples { .. } => SAMPLES_BYTES_MAX,
        FileKind::LatencyTrace { .. } => TRACER_BYTES_MAX,
        FileKind::AuditPages { .. } | FileKind::AuditCalls | FileKind::StoragePages { .. } => PAGES_BYTES_MAX,
        FileKind::AuditDescription => DESCRIPTION_BYTES_MAX,
        FileKind::StorageDescription | FileKind::FioResult => storage::DESCRIPTION_BYTES_MAX,
    }
}

/// Space reserved so that totals and the last manifest fit even on a full disk.
const RESERVE_BYTES: usize = 512 << 10;
/// Largest gap in a file, in bytes; a stretch beyond it is not part of the file.
const GAP_BYTES_MAX: u64 = 64 << 20;
/// Most stretches of a file with gaps between them. A line that loses more is unusable.
const STRETCHES_MAX: usize = 10_000;
const CLAIMS_MAX: u32 = 100;
const CLAIM_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// The archive being written.
pub struct RunWriter {
    directory: PathBuf,
    inside: ArchiveDirectory,
    reserved: bool,
    /// Complete files, to be synced at the end.
    finished: BTreeSet<PathBuf>,
    manifest: Manifest,
    stream: File,
    /// Bytes appended to the stream.
    stream_bytes: u64,
    encoder: Encoder,
    open: HashMap<u32, OpenFile>,
    held: Held,
    seconds: WaitingSeconds,
    dropped: BTreeSet<u32>,
}

impl RunWriter {
    /// Makes the directory and its first manifest, or nothing. Of several that want the same directory, one gets it.
    ///
    /// # Errors
    /// [`WriteError::Exists`] if the directory is not empty, [`WriteError::Io`] otherwise.
    pub fn create(directory: impl Into<PathBuf>, manifest: Manifest) -> Result<Self, WriteError> {
        let directory = directory.into();
        let occupied = fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            return Err(WriteError::Exists(directory));
        }
        make_directories(&directory).map_err(|source| WriteError::Io { path: directory.clone(), source })?;
        let inside = opened(&directory)?;
        inside.create_first(STREAM).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists(directory.clone()),
            _ => WriteError::Io { path: directory.join(STREAM), source },
        })?;
        Self::begin(directory.clone(), inside, manifest).inspect_err(|_| {
            for begun in [MANIFEST, RESERVE, STREAM] {
                let _ = fs::remove_file(directory.join(begun));
            }
            let _ = fs::remove_dir(&directory);
        })
    }

    fn begin(directory: PathBuf, inside: ArchiveDirectory, manifest: Manifest) -> Result<Self, WriteError> {
        write_manifest(&inside, &manifest)?;
        let fail = |name: &str| {
            let path = directory.join(name);
            move |source| WriteError::Io { path, source }
        };
        let reserved = inside.create(RESERVE).and_then(|mut file| file.write_all(&vec![0; RESERVE_BYTES]));
        reserved.map_err(fail(RESERVE))?;
        let stream = inside.file_to_append(STREAM).map_err(fail(STREAM))?;
        claim(&stream);
        Ok(Self {
            directory,
            inside,
            reserved: true,
            finished: BTreeSet::new(),
            seconds: WaitingSeconds::of(&manifest),
            manifest,
            stream,
            stream_bytes: 0,
            encoder: Encoder::default(),
            open: HashMap::new(),
            held: Held::default(),
            dropped: BTreeSet::new(),
        })
    }

    /// Opens an archive whose stream was cut, to write it again from the meter's first message on. Earlier messages of
    /// the host are kept; everything else is removed.
    ///
    /// # Errors
    /// [`WriteError::Io`], also for a manifest that cannot be parsed.
    pub fn begin_again(directory: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let directory = directory.into();
        let inside = opened(&directory)?;
        let manifest = read_manifest(&inside)?;
        let manifest = Manifest { state: RunState::Running, problem: None, ended_unix_ns: None, ..manifest };
        let fail = |source| WriteError::Io { path: directory.join(STREAM), source };
        let mut encoder = Encoder::default();
        let mut said = Vec::new();
        // The host sends little before the meter's first message.
        let mut front = Vec::new();
        if let Ok(stream) = inside.file(STREAM) {
            stream.take(FRONT_BYTES_MAX).read_to_end(&mut front).map_err(fail)?;
        }
        for item in Decoder::default().push(&front) {
            match item {
                Item::Message(Message::Hello { .. }) => break,
                Item::Message(message) => said.extend(encoder.message(&message)),
                _ => {}
            }
        }
        inside.replace(STREAM, &said).map_err(fail)?;
        // A link in their place is itself removed, not followed.
        for old in ["spikes", "samples", "tracer"] {
            let _ = fs::remove_dir_all(directory.join(old));
        }
        for old in ["explanations.json", RESERVE] {
            let _ = inside.remove(old);
        }
        write_manifest(&inside, &manifest)?;
        let stream = inside.file_to_append(STREAM).map_err(fail)?;
        claim(&stream);
        let (open, dropped, finished) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let held = Held::default();
        let stream_bytes = 0;
        Ok(Self {
            directory,
            inside,
            reserved: false,
            finished,
            seconds: WaitingSeconds::of(&manifest),
            manifest,
            stream,
            stream_bytes,
            encoder,
            open,
            held,
            dropped,
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bytes that this writer appended to the stream.
    pub fn stream_bytes(&self) -> u64 {
        self.stream_bytes
    }

    /// Releases the space reserved for the end: after a failed write, essential data can be stored again.
    pub fn release_reserve(&mut self) {
        if std::mem::take(&mut self.reserved) {
            let _ = self.inside.remove(RESERVE);
        }
    }

    /// Stores one item of the meter's stream. Damage on the line is stored as a loss.
    ///
    /// # Errors
    /// [`WriteError::Io`]; the archive stays readable.
    pub fn store(&mut self, item: &Item) -> Result<(), WriteError> {
        let kept = self.held.keeps(item);
        if self.held.is_full() {
            self.write_held()?;
        }
        match item {
            Item::Chunk { .. } if kept => Ok(()),
            Item::Chunk { file, offset, data } => self.store_chunk(*file, *offset, data),
            Item::Message(message) => {
                if !kept {
                    self.follow(message)?;
                }
                match message {
                    Message::Progress { .. } => Ok(()),
                    Message::Seconds(seconds) if self.seconds.packs() => {
                        let packed = self.seconds.add(seconds);
                        packed.iter().try_for_each(|message| self.append(message))
                    }
                    Message::End { .. } => {
                        self.write_seconds()?;
                        self.append(message)
                    }
                    _ => self.append(message),
                }
            }
            Item::Garbage { bytes } => {
                self.append_loss(LossKind::LineBytes, bytes.len() as u64, "not part of any frame")
            }
            Item::FramesLost { count } => {
                self.append_loss(LossKind::Frames, u64::from(*count), "their numbers are missing")
            }
            Item::Unknown { why } => self.append_loss(LossKind::Messages, 1, why),
        }
    }

    /// From now on the files of spikes stay in memory, or no longer. The stream is always written at once.
    ///
    /// # Errors
    /// [`WriteError::Io`] of those that are written now.
    pub fn hold_files(&mut self, hold: bool) -> Result<(), WriteError> {
        self.held.on = hold;
        if hold { Ok(()) } else { self.write_held() }
    }

    fn write_seconds(&mut self) -> Result<(), WriteError> {
        self.seconds.take().map_or(Ok(()), |message| self.append(&message))
    }

    fn write_held(&mut self) -> Result<(), WriteError> {
        self.held.take().iter().try_for_each(|item| match item {
            Item::Chunk { file, offset, data } => self.store_chunk(*file, *offset, data),
            Item::Message(message) => self.follow(message),
            _ => Ok(()),
        })
    }

    fn append_loss(&mut self, kind: LossKind, count: u64, detail: &str) -> Result<(), WriteError> {
        self.append(&Message::Loss(Loss { kind, count, detail: detail.into() }))
    }

    /// Appends a message of the host.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn append(&mut self, message: &Message) -> Result<(), WriteError> {
        let frame = self.encoder.message(message);
        self.stream_bytes += frame.len() as u64;
        self.stream.write_all(&frame).map_err(|source| WriteError::Io { path: self.directory.join(STREAM), source })
    }

    /// Adds a file of the host to the run's directory.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let put = self.inside.replace(name, bytes);
        put.map_err(|source| WriteError::Io { path: self.directory.join(name), source })
    }

    fn follow(&mut self, message: &Message) -> Result<(), WriteError> {
        match message {
            Message::FileBegin { file, kind } => self.begin_file(*file, *kind),
            Message::FileEnd { file, bytes } => self.end_file(*file, *bytes),
            Message::SpikeDropped { number, .. } => {
                self.held.forget_spike(*number);
                self.open.retain(|_, open| open.kind.spike() != Some(*number));
                self.dropped.insert(*number);
                self.finished.retain(|path| !path.starts_with(format!("spikes/{number:04}")));
                let _ = fs::remove_dir_all(self.directory.join(format!("spikes/{number:04}")));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin_file(&mut self, file: u32, kind: FileKind) -> Result<(), WriteError> {
        let partial = file_path(kind).with_extension("partial");
        let fail = |source| WriteError::Io { path: self.directory.join(&partial), source };
        let handle = self.inside.create(&partial).map_err(fail)?;
        self.open.insert(file, OpenFile { kind, partial, file: handle, stored: Stretches::default() });
        Ok(())
    }

    fn store_chunk(&mut self, file: u32, offset: u64, data: &[u8]) -> Result<(), WriteError> {
        let Some(open) = self.open.get_mut(&file) else {
            return self.append_loss(LossKind::FileBytes, data.len() as u64, "of a file whose beginning was lost");
        };
        let end = offset.checked_add(data.len() as u64).filter(|end| *end <= bytes_max(open.kind));
        let near = offset <= open.stored.end().saturating_add(GAP_BYTES_MAX);
        let Some(end) = end.filter(|_| near && open.stored.ends.len() < STRETCHES_MAX) else {
            let detail = format!("beyond what {} can hold", file_path(open.kind).display());
            return self.append_loss(LossKind::FileBytes, data.len() as u64, &detail);
        };
        let written = open.file.write_all_at(data, offset);
        written.map_err(|source| WriteError::Io { path: self.directory.join(&open.partial), source })?;
        open.stored.add(offset, end);
        Ok(())
    }

    fn end_file(&mut self, file: u32, bytes: u64) -> Result<(), WriteError> {
        let Some(open) = self.open.remove(&file) else {
            return self.append_loss(LossKind::Files, 1, "its beginning was lost");
        };
        let stored = open.stored.bytes();
        if stored < bytes {
            let detail = format!("of {}", file_path(open.kind).display());
            self.append_loss(LossKind::FileBytes, bytes - stored, &detail)?;
        }
        let name = file_path(open.kind);
        let renamed = self.inside.rename(&open.partial, &name);
        renamed.map_err(|source| WriteError::Io { path: self.directory.join(&name), source })?;
        self.finished.insert(name);
        Ok(())
    }

    /// Syncs everything to disk, and after it the last manifest: one that says complete is true even after a power
    /// failure.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn finish(
        mut self,
        state: RunState,
        problem: Option<Problem>,
        ended_unix_ns: i64,
    ) -> Result<PathBuf, WriteError> {
        self.close(state, problem, Some(ended_unix_ns))?;
        Ok(self.directory.clone())
    }

    fn close(
        &mut self,
        state: RunState,
        problem: Option<Problem>,
        ended_unix_ns: Option<i64>,
    ) -> Result<(), WriteError> {
        self.release_reserve();
        // What cannot be written is cut short, which readers see.
        let _ = self.write_held();
        let _ = self.write_seconds();
        let unfinished: Vec<FileKind> = self.open.values().map(|open| open.kind).collect();
        for kind in unfinished {
            let _ = self.append_loss(LossKind::Files, 1, &format!("{} was cut short", file_path(kind).display()));
        }
        self.manifest.state = state;
        self.manifest.problem = problem;
        self.manifest.ended_unix_ns = ended_unix_ns;
        self.sync()?;
        let sync_names = || {
            let fail = |source| WriteError::Io { path: self.directory.clone(), source };
            self.inside.sync_names().map_err(fail)
        };
        // Before the manifest has its name, so that no manifest is there without what it speaks of.
        sync_names()?;
        write_manifest(&self.inside, &self.manifest)?;
        sync_names()
    }

    fn sync(&self) -> Result<(), WriteError> {
        let fail = |name: &Path| {
            let path = self.directory.join(name);
            move |source| WriteError::Io { path, source }
        };
        self.stream.sync_all().map_err(fail(Path::new(STREAM)))?;
        for open in self.open.values() {
            open.file.sync_all().map_err(fail(&open.partial))?;
        }
        self.finished.iter().try_for_each(|name| self.inside.sync(name).map_err(fail(name)))?;
        let folders: BTreeSet<&Path> = self.finished.iter().filter_map(|name| name.parent()?.parent()).collect();
        let folders = folders.into_iter().filter(|folder| !folder.as_os_str().is_empty());
        folders.into_iter().try_for_each(|folder| self.inside.sync_folder(folder).map_err(fail(folder)))
    }
}

/// After a panic of the writing program the archive is closed as failed.
impl Drop for RunWriter {
    fn drop(&mut self) {
        if thread::panicking() {
            let problem = Problem::new(Severity::Invalid, &Damage::WriterPanicked);
            let _ = self.close(RunState::Failed, Some(problem), None);
        }
    }
}

/// Ends an archive whose writer is gone and which will receive nothing more.
///
/// # Errors
/// [`WriteError::Io`], also for a manifest that cannot be parsed.
pub fn give_up(directory: &Path, problem: Problem, ended_unix_ns: i64) -> Result<(), WriteError> {
    let inside = opened(directory)?;
    let manifest = read_manifest(&inside)?;
    let (state, problem) = (RunState::Failed, Some(problem));
    write_manifest(&inside, &Manifest { state, problem, ended_unix_ns: Some(ended_unix_ns), ..manifest })
}

/// Shows readers that the stream is being written, until this process ends in any way. On a file system without locks
/// readers cannot see it.
fn claim(stream: &File) {
    for _ in 0..CLAIMS_MAX {
        // A reader that checks holds the lock for an instant.
        if flock(stream, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
            return;
        }
        thread::sleep(CLAIM_AGAIN_AFTER);
    }
}

fn opened(directory: &Path) -> Result<ArchiveDirectory, WriteError> {
    ArchiveDirectory::open(directory).map_err(|source| WriteError::Io { path: directory.to_owned(), source })
}

fn read_manifest(inside: &ArchiveDirectory) -> Result<Manifest, WriteError> {
    let read = inside.read(MANIFEST, MANIFEST_BYTES_MAX);
    let read = read.and_then(|bytes| Ok(serde_json::from_slice::<Manifest>(&bytes)?));
    read.map_err(|source| WriteError::Io { path: inside.path().join(MANIFEST), source })
}

fn write_manifest(inside: &ArchiveDirectory, manifest: &Manifest) -> Result<(), WriteError> {
    let text = serde_json::to_string_pretty(manifest).expect("a manifest has only string keys");
    let written = inside.replace(MANIFEST, text.as_bytes());
    written.map_err(|source| WriteError::Io { path: inside.path().join(MANIFEST), source })
}

#[cfg(test)]
mod tests;

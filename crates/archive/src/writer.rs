//! Writes an archive directory while the run goes on, so that a crash at any instant leaves one that opens.
//!
//! `manifest.json` is replaced atomically at the start and at the end; `stream.tardy` only grows; files of spikes are
//! written beside their final name and renamed when their end was announced. Names come from numbers, never from the
//! target.

use crate::atomic_file::write_atomically;
use crate::frame::{Decoder, Encoder, Item};
use crate::manifest::{Manifest, RunState};
use crate::message::{FileKind, Loss, LossKind, Message};
use crate::problem::Problem;
use crate::write_error::WriteError;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Path of a file inside an archive.
pub fn file_path(kind: FileKind) -> PathBuf {
    match kind {
        FileKind::SpikeTrace { spike } => PathBuf::from(format!("spikes/{spike:04}/trace.dat")),
        FileKind::FlightRecord { spike } => PathBuf::from(format!("spikes/{spike:04}/flight.bin")),
        FileKind::Samples { thread } => PathBuf::from(format!("samples/{thread}.bin")),
        FileKind::LatencyTrace { number } => PathBuf::from(format!("tracer/{number:04}.txt")),
    }
}

struct OpenFile {
    kind: FileKind,
    partial: PathBuf,
    file: File,
    written: u64,
}

/// Room kept so that totals and the last manifest still fit when the disk runs full.
const RESERVE_BYTES: usize = 512 << 10;
const CLAIMS_MAX: u32 = 100;
const CLAIM_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// The archive being written.
pub struct RunWriter {
    directory: PathBuf,
    reserve: Option<PathBuf>,
    manifest: Manifest,
    stream: File,
    encoder: Encoder,
    open: HashMap<u32, OpenFile>,
    dropped: BTreeSet<u32>,
}

impl RunWriter {
    /// Makes the directory and its first manifest, or nothing.
    ///
    /// # Errors
    /// [`WriteError::Exists`] when the directory holds something, [`WriteError::Io`] otherwise.
    pub fn create(directory: impl Into<PathBuf>, manifest: Manifest) -> Result<Self, WriteError> {
        let directory = directory.into();
        let occupied = fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            return Err(WriteError::Exists(directory));
        }
        fs::create_dir_all(&directory).map_err(|source| WriteError::Io { path: directory.clone(), source })?;
        Self::begin(directory.clone(), manifest).inspect_err(|_| {
            for begun in ["manifest.json", "reserve.partial", "stream.tardy"] {
                let _ = fs::remove_file(directory.join(begun));
            }
            let _ = fs::remove_dir(&directory);
        })
    }

    fn begin(directory: PathBuf, manifest: Manifest) -> Result<Self, WriteError> {
        write_manifest(&directory, &manifest)?;
        let reserve = directory.join("reserve.partial");
        fs::write(&reserve, vec![0; RESERVE_BYTES])
            .map_err(|source| WriteError::Io { path: reserve.clone(), source })?;
        let path = directory.join("stream.tardy");
        let stream = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(&path)
            .map_err(|source| WriteError::Io { path, source })?;
        claim(&stream);
        Ok(Self {
            directory,
            reserve: Some(reserve),
            manifest,
            stream,
            encoder: Encoder::default(),
            open: HashMap::new(),
            dropped: BTreeSet::new(),
        })
    }

    /// Opens an archive whose stream was cut, to write it again from the meter's first word on. What the host said before
    /// that is kept; everything else goes.
    ///
    /// # Errors
    /// [`WriteError::Io`], also for a manifest that cannot be understood.
    pub fn begin_again(directory: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let directory = directory.into();
        let manifest = read_manifest(&directory)?;
        let manifest = Manifest { state: RunState::Running, problem: None, ended_unix_ns: None, ..manifest };
        let path = directory.join("stream.tardy");
        let mut encoder = Encoder::default();
        let mut said = Vec::new();
        for item in Decoder::default().push(&fs::read(&path).unwrap_or_default()) {
            match item {
                Item::Message(Message::Hello { .. }) => break,
                Item::Message(message) => said.extend(encoder.message(&message)),
                _ => {}
            }
        }
        write_atomically(&path, &said)?;
        for old in ["spikes", "samples", "tracer"] {
            let _ = fs::remove_dir_all(directory.join(old));
        }
        for old in ["explanations.json", "reserve.partial"] {
            let _ = fs::remove_file(directory.join(old));
        }
        write_manifest(&directory, &manifest)?;
        let stream = OpenOptions::new().append(true).open(&path).map_err(|source| WriteError::Io { path, source })?;
        claim(&stream);
        let (open, dropped) = (HashMap::new(), BTreeSet::new());
        Ok(Self { directory, reserve: None, manifest, stream, encoder, open, dropped })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Gives up the room kept for the end: after a write failed, what must not be lost can be stored again.
    pub fn release_reserve(&mut self) {
        if let Some(reserve) = self.reserve.take() {
            let _ = fs::remove_file(reserve);
        }
    }

    /// Stores one item of the meter's stream. Damage on the line is stored as a loss.
    ///
    /// # Errors
    /// [`WriteError::Io`]; the archive stays readable.
    pub fn store(&mut self, item: &Item) -> Result<(), WriteError> {
        match item {
            Item::Chunk { file, offset, data } => self.store_chunk(*file, *offset, data),
            Item::Message(message) => {
                self.follow(message)?;
                match message {
                    Message::Progress { .. } => Ok(()),
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

    fn append_loss(&mut self, kind: LossKind, count: u64, detail: &str) -> Result<(), WriteError> {
        self.append(&Message::Loss(Loss { kind, count, detail: detail.into() }))
    }

    /// Appends a message of the host's own.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn append(&mut self, message: &Message) -> Result<(), WriteError> {
        let frame = self.encoder.message(message);
        self.stream
            .write_all(&frame)
            .map_err(|source| WriteError::Io { path: self.directory.join("stream.tardy"), source })
    }

    fn follow(&mut self, message: &Message) -> Result<(), WriteError> {
        match message {
            Message::FileBegin { file, kind } => self.begin_file(*file, *kind),
            Message::FileEnd { file, bytes } => self.end_file(*file, *bytes),
            Message::SpikeDropped { number, .. } => {
                self.dropped.insert(*number);
                let _ = fs::remove_dir_all(self.directory.join(format!("spikes/{number:04}")));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin_file(&mut self, file: u32, kind: FileKind) -> Result<(), WriteError> {
        let partial = self.directory.join(file_path(kind)).with_extension("partial");
        let fail = |source| WriteError::Io { path: partial.clone(), source };
        if let Some(parent) = partial.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        let handle = File::create(&partial).map_err(fail)?;
        self.open.insert(file, OpenFile { kind, partial, file: handle, written: 0 });
        Ok(())
    }

    fn store_chunk(&mut self, file: u32, offset: u64, data: &[u8]) -> Result<(), WriteError> {
        let Some(open) = self.open.get_mut(&file) else {
            return self.append_loss(LossKind::FileBytes, data.len() as u64, "of a file whose beginning was lost");
        };
        let written = open.file.seek(SeekFrom::Start(offset)).and_then(|_| open.file.write_all(data));
        written.map_err(|source| WriteError::Io { path: open.partial.clone(), source })?;
        open.written += data.len() as u64;
        Ok(())
    }

    fn end_file(&mut self, file: u32, bytes: u64) -> Result<(), WriteError> {
        let Some(open) = self.open.remove(&file) else {
            return self.append_loss(LossKind::Files, 1, "its beginning was lost");
        };
        if open.written < bytes {
            let detail = format!("of {}", file_path(open.kind).display());
            self.append_loss(LossKind::FileBytes, bytes - open.written, &detail)?;
        }
        let name = self.directory.join(file_path(open.kind));
        fs::rename(&open.partial, &name).map_err(|source| WriteError::Io { path: name, source })
    }

    /// Writes the last manifest and makes everything durable.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn finish(
        mut self,
        state: RunState,
        problem: Option<Problem>,
        ended_unix_ns: i64,
    ) -> Result<PathBuf, WriteError> {
        self.release_reserve();
        let unfinished: Vec<FileKind> = self.open.values().map(|open| open.kind).collect();
        for kind in unfinished {
            let _ = self.append_loss(LossKind::Files, 1, &format!("{} was cut short", file_path(kind).display()));
        }
        self.manifest.state = state;
        self.manifest.problem = problem;
        self.manifest.ended_unix_ns = Some(ended_unix_ns);
        let _ = self.stream.sync_all();
        write_manifest(&self.directory, &self.manifest)?;
        Ok(self.directory)
    }
}

/// Ends an archive whose writer is gone, and of which nothing more can come.
///
/// # Errors
/// [`WriteError::Io`], also for a manifest that cannot be understood.
pub fn give_up(directory: &Path, problem: Problem, ended_unix_ns: i64) -> Result<(), WriteError> {
    let manifest = read_manifest(directory)?;
    let (state, problem) = (RunState::Failed, Some(problem));
    write_manifest(directory, &Manifest { state, problem, ended_unix_ns: Some(ended_unix_ns), ..manifest })
}

/// Lets readers see that the stream is being written, until this process ends, however it does. Where a file system has
/// no locks they cannot see it.
fn claim(stream: &File) {
    for _ in 0..CLAIMS_MAX {
        // A reader that looks has it for an instant.
        let Err(TryLockError::WouldBlock) = stream.try_lock() else { return };
        thread::sleep(CLAIM_AGAIN_AFTER);
    }
}

fn read_manifest(directory: &Path) -> Result<Manifest, WriteError> {
    let path = directory.join("manifest.json");
    let read = fs::read(&path).and_then(|bytes| Ok(serde_json::from_slice::<Manifest>(&bytes)?));
    read.map_err(|source| WriteError::Io { path, source })
}

fn write_manifest(directory: &Path, manifest: &Manifest) -> Result<(), WriteError> {
    let text = serde_json::to_string_pretty(manifest).expect("a manifest has only string keys");
    write_atomically(&directory.join("manifest.json"), text.as_bytes())
}

//! The state of a desk: made by several threads, shown by the server.

use super::Asked;
use archive::facts::Applied;
use server::desk::{DeskState, Stage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use words::printable::printable;

/// State that the threads of a desk share.
pub struct Shared {
    pub meter: PathBuf,
    pub priority: u8,
    state: Mutex<Arc<DeskState>>,
    archive: Mutex<Option<PathBuf>>,
    /// Address of the server.
    pub address: Mutex<String>,
    /// Changed settings, with their values before, by the fingerprint of their finding. The lock is held while the machine changes.
    pub changes: Mutex<BTreeMap<String, Vec<Applied>>>,
    over: AtomicBool,
}

impl Shared {
    pub fn of(asked: &Asked, meter: &Path) -> Self {
        let state = DeskState {
            host: printable(&asked.target.host_name()),
            priority: asked.priority,
            keeps: asked.keeps,
            ..DeskState::default()
        };
        Self {
            meter: meter.to_owned(),
            priority: asked.priority,
            state: Mutex::new(Arc::new(state)),
            archive: Mutex::default(),
            address: Mutex::default(),
            changes: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    pub fn update(&self, change: impl FnOnce(&mut DeskState)) {
        change(Arc::make_mut(&mut locked(&self.state)));
    }

    pub fn set_stage(&self, stage: Stage) {
        self.update(|state| state.stage = stage);
    }

    /// The archive that is being written from now on.
    pub fn begin(&self, archive: PathBuf) {
        self.update(|state| state.archive = printable(&archive.display().to_string()));
        *locked(&self.archive) = Some(archive);
    }

    pub fn archive(&self) -> Option<PathBuf> {
        locked(&self.archive).clone()
    }

    pub fn serve_at(&self, address: &str) {
        address.clone_into(&mut locked(&self.address));
    }

    /// The newest state.
    pub fn newest(&self) -> Arc<DeskState> {
        Arc::clone(&locked(&self.state))
    }

    pub fn keeps(&self) -> bool {
        locked(&self.state).keeps
    }

    /// Changed settings that nobody undid.
    pub fn changed(&self) -> usize {
        locked(&self.changes).values().map(Vec::len).sum()
    }

    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }
}

/// The page's address for one browser.
pub fn link(address: &str, secret: &str) -> String {
    format!("{address}/enter/{secret}")
}

pub fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

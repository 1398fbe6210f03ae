//! The state of a desk: made by several threads, shown by the server.

use super::Asked;
use super::archives::Own;
use super::changes::Changes;
use super::earlier::Earlier;
use server::desk::{DeskState, Stage};
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
    /// Changed settings. The lock is held while the machine changes.
    pub changes: Mutex<Changes>,
    own: Mutex<Option<Own>>,
    earlier: Mutex<Earlier>,
    /// Held while a copy of the archive exists.
    pub sharing: Mutex<()>,
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
            own: Mutex::default(),
            earlier: Mutex::default(),
            sharing: Mutex::default(),
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

    /// The mark of the archive of this desk.
    pub fn own(&self, own: Own) {
        *locked(&self.own) = Some(own);
    }

    /// A session ended and the next one has its own archive; a copy that is being made of it comes first.
    pub fn end_session(&self, archive: PathBuf) {
        let _alone = locked(&self.sharing);
        locked(&self.earlier).end(archive, self.keeps());
    }

    /// Removes what was kept of earlier sessions.
    pub fn remove_earlier(&self) {
        locked(&self.earlier).remove_all();
    }

    pub fn keep(&self, keeps: bool) {
        self.update(|state| state.keeps = keeps);
        if let Some(own) = &mut *locked(&self.own) {
            own.keep(keeps);
        }
    }

    /// The archive is as the user wants it.
    pub fn release(&self) {
        drop(locked(&self.own).take());
    }

    pub fn keeps(&self) -> bool {
        locked(&self.state).keeps
    }

    /// Changed settings that nobody undid.
    pub fn changed(&self) -> usize {
        locked(&self.changes).count()
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

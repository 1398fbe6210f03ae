//! The sessions of a desk that stays open: an archive ends before it is large, and the next one begins at once.

use super::Asked;
use super::archives::Own;
use super::state::{Shared, locked};
use crate::archives::new_below;
use archive::layout::STREAM;
use machines::stop::StopRequests;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Messages of a session, beside its traces: every look at the page's figures reads all of them.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// Requests to end the current session.
#[derive(Clone, Default)]
pub struct SessionStop(Arc<Mutex<StopRequests>>);

impl SessionStop {
    /// Requests for a session that begins now.
    pub fn begin(&self) -> StopRequests {
        let stop = StopRequests::default();
        *locked(&self.0) = stop.clone();
        stop
    }

    pub fn request(&self) {
        locked(&self.0).request();
    }
}

/// One session: its archive, and when it is full.
pub struct Session {
    pub archive: PathBuf,
    pub id: String,
    begun: Instant,
    time: Duration,
    is_full: bool,
}

impl Session {
    /// Makes the archive of a session that begins now, with the desk's mark on it.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn begin(asked: &Asked, directory: &Path, shared: &Shared) -> anyhow::Result<(Self, Own)> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (archive, id) = new_below(directory, since_1970.as_secs(), &asked.target.host_name())?;
        let own = Own::mark(&archive, shared.keeps())?;
        let time = Duration::from_nanos(asked.session_ns);
        Ok((Self { archive, id, begun: Instant::now(), time, is_full: false }, own))
    }

    /// Whether the session became full since the last look.
    pub fn becomes_full(&mut self) -> bool {
        if !self.is_full && (self.begun.elapsed() >= self.time || stream_bytes(&self.archive) >= STREAM_BYTES_MAX) {
            self.is_full = true;
            return true;
        }
        false
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

fn stream_bytes(archive: &Path) -> u64 {
    fs::metadata(archive.join(STREAM)).map_or(0, |file| file.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(archive: &Path, time: Duration) -> Session {
        Session { archive: archive.to_owned(), id: "one".into(), begun: Instant::now(), time, is_full: false }
    }

    #[test]
    fn a_session_is_full_by_time_or_by_size_once() {
        let place = tempfile::tempdir().unwrap();
        let mut short = session(place.path(), Duration::ZERO);
        assert!(short.becomes_full() && !short.becomes_full() && short.is_full());
        let mut large = session(place.path(), Duration::from_secs(3600));
        assert!(!large.becomes_full());
        let stream = fs::File::create(place.path().join(STREAM)).unwrap();
        stream.set_len(STREAM_BYTES_MAX).unwrap();
        assert!(large.becomes_full());
    }
}

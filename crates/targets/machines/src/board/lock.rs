//! The lock of one board on this host: a second run gets the holder's name, or waits.

use super::error::{Holder, LockError};
use super::hex;
use crate::stop::StopRequests;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval between attempts of a waiting run.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
const SECRET_BYTES: usize = 32;

/// Held until it is dropped, or its process ends.
#[derive(Debug)]
pub struct BoardLock {
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")]
    file: File,
    token: String,
}

impl BoardLock {
    /// A secret that no holder of this board's lock under another name, on another host, or as another user has. The
    /// same lock always gives the same token, so a session on the board with this token is one whose connection was
    /// lost.
    pub fn token(&self) -> &str {
        &self.token
    }
}

/// The directory of this user's locks; `None` without a home directory. A directory shared by all users is unsafe for
/// them.
fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("tardy/boards"))
}

/// Creates the directory of the locks if necessary, and checks that it belongs to this user alone.
fn make(directory: &Path) -> Result<(), LockError> {
    let fail = |source: io::Error| LockError::Directory { directory: directory.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(fail)?;
    // Its parent `tardy` must be safe as well: its owner could replace this directory.
    for path in [Some(directory), directory.parent()].into_iter().flatten() {
        let found = fs::symlink_metadata(path).map_err(fail)?;
        if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o022 != 0 {
            return Err(LockError::Shared { directory: directory.to_owned() });
        }
    }
    Ok(())
}

/// Opens a file of the directory, creating it if necessary; does not follow links.
fn file_in(directory: &Path, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(directory.join(name))?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Acquires the lock of a board; `wait` is how long another program may take to release it.
///
/// # Errors
/// The holder, or why the lock could not be acquired.
pub fn take(board: &str, wait: Duration, stop: &StopRequests) -> Result<BoardLock, LockError> {
    take_in(&directory().ok_or(LockError::NoPlace)?, board, wait, stop)
}

fn take_in(directory: &Path, board: &str, wait: Duration, stop: &StopRequests) -> Result<BoardLock, LockError> {
    let fail = |source: io::Error| LockError::Directory { directory: directory.to_owned(), source };
    make(directory)?;
    let mut file = file_in(directory, &file_name(board)).map_err(fail)?;
    let secret = secret(directory).map_err(fail)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(fail(error)),
            Err(TryLockError::WouldBlock) if begun.elapsed() < wait && stop.count() == 0 => thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder may not have written its name yet; the message is then shorter.
                let _ = (&mut file).take(1000).read_to_string(&mut holder);
                return Err(LockError::Held(holder_of(&holder)));
            }
        }
    }
    let written = file.set_len(0).and_then(|()| write!(file, "{} {}", std::process::id(), unix_s()));
    written.map_err(fail)?;
    let token = hex(&Sha256::digest([&secret, board.as_bytes()].concat())[..8]);
    Ok(BoardLock { file, token })
}

/// The secret that distinguishes these locks from those of other directories; created once, by the first process.
fn secret(directory: &Path) -> io::Result<Vec<u8>> {
    let mut file = file_in(directory, "secret")?;
    file.lock()?;
    let mut bytes = Vec::new();
    (&mut file).take(SECRET_BYTES as u64).read_to_end(&mut bytes)?;
    // New, or truncated by a full disk.
    if bytes.len() < SECRET_BYTES {
        bytes.resize(SECRET_BYTES, 0);
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        file.write_all_at(&bytes, 0)?;
    }
    Ok(bytes)
}

/// A unique one-word name for each board.
fn file_name(board: &str) -> String {
    let plain: String = board.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let sum = Sha256::digest(board.as_bytes());
    format!("{:.40}-{:02x}{:02x}{:02x}{:02x}.lock", plain, sum[0], sum[1], sum[2], sum[3])
}

fn holder_of(holder: &str) -> Holder {
    let mut words = holder.split(' ').map(str::parse::<u64>);
    match (words.next(), words.next()) {
        (Some(Ok(pid)), Some(Ok(since))) => Holder::Process { pid, seconds: unix_s().saturating_sub(since) },
        _ => Holder::SomeProcess,
    }
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_second_learns_who_has_it_and_gets_it_when_the_first_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let stop = StopRequests::default();
        let locks = folder.path().join("boards");
        let take = |board: &str, wait| take_in(&locks, board, wait, &stop);
        let first = take("root@pi", Duration::ZERO).unwrap();
        let token = first.token().to_owned();
        let refusal = take("root@pi", Duration::ZERO).unwrap_err().to_string();
        assert!(refusal.contains(&std::process::id().to_string()) && refusal.contains("--wait"), "{refusal}");
        let other = take("root@pi:2222", Duration::ZERO).expect("another board is another lock");
        assert_ne!(other.token(), token);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| take("root@pi", Duration::from_secs(60)).is_ok());
            drop(first);
            assert!(waiting.join().unwrap());
        });
        assert_eq!(take("root@pi", Duration::ZERO).unwrap().token(), token, "the same person again");
        let elsewhere = tempfile::tempdir().unwrap();
        assert_ne!(take_in(&elsewhere.path().join("boards"), "root@pi", Duration::ZERO, &stop).unwrap().token(), token);
    }

    #[test]
    fn a_planted_link_or_a_shared_directory_is_no_place_for_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let stop = StopRequests::default();
        let take = |directory: &Path| take_in(directory, "a", Duration::ZERO, &stop);
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in [file_name("a"), "secret".into()] {
            let locks = folder.path().join(format!("locks-of-{name}"));
            DirBuilder::new().mode(0o700).create(&locks).unwrap();
            symlink(&victim, locks.join(name)).unwrap();
            assert!(take(&locks).is_err());
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        let (shared, link) = (folder.path().join("shared"), folder.path().join("link"));
        DirBuilder::new().mode(0o700).create(&shared).unwrap();
        symlink(&shared, &link).unwrap();
        assert!(matches!(take(&link), Err(LockError::Shared { .. })));
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(take(&shared), Err(LockError::Shared { .. })));
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(take(&shared).is_ok());
    }

    #[test]
    fn a_request_to_stop_ends_the_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let stop = StopRequests::default();
        let locks = folder.path().join("boards");
        let _first = take_in(&locks, "a", Duration::ZERO, &stop).unwrap();
        stop.request();
        assert!(take_in(&locks, "a", Duration::from_secs(60), &stop).is_err());
    }
}

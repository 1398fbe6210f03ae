//! Transfers a state between QEMU and a file: through a socket, so that no shell and no path is involved.

use super::STATES_BYTES_MAX;
use super::error::StateError;
use super::monitor::Monitor;
use serde_json::json;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Either direction takes seconds at most.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Effectively unlimited: nothing else happens meanwhile.
const BYTES_PER_SECOND: u64 = 1 << 40;

/// Writes the state of a running machine to `file`, while it is paused. It continues afterwards in any case.
///
/// # Errors
/// [`StateError`]; the file then does not contain a state.
pub fn save(monitor: &mut Monitor, socket: &Path, file: &mut File) -> Result<(), StateError> {
    let listener = UnixListener::bind(socket)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|source| StateError::NoSocket { socket: socket.to_owned(), source })?;
    monitor.execute("stop", json!({}))?;
    let saved = copy_out(monitor, &listener, socket, file);
    monitor.execute("cont", json!({}))?;
    saved
}

fn copy_out(monitor: &mut Monitor, listener: &UnixListener, socket: &Path, file: &mut File) -> Result<(), StateError> {
    monitor.execute("migrate-set-parameters", json!({ "max-bandwidth": BYTES_PER_SECOND }))?;
    monitor.execute("migrate", json!({ "uri": format!("unix:{}", socket.display()) }))?;
    let mut stream = accept(listener).map_err(StateError::NotBrought)?;
    let copied = io::copy(&mut Read::by_ref(&mut stream).take(STATES_BYTES_MAX + 1), file);
    let bytes = copied.map_err(StateError::NotWritten)?;
    if bytes > STATES_BYTES_MAX {
        return Err(StateError::TooLarge);
    }
    await_status(|| {
        let state = monitor.execute("query-migrate", json!({}))?;
        match state["status"].as_str() {
            Some("completed") => Ok(true),
            Some("failed" | "cancelled") => Err(StateError::GivenUp(state["error-desc"].as_str().map(str::to_owned))),
            _ => Ok(false),
        }
    })
}

fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
    let begun = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(LIMIT))?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < LIMIT => {}
            Err(error) => return Err(error),
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Loads a state into a QEMU that was started with `-incoming defer`, and starts the machine.
///
/// # Errors
/// [`StateError`].
pub fn load(monitor: &mut Monitor, socket: &Path, file: &mut File) -> Result<(), StateError> {
    monitor.execute("migrate-incoming", json!({ "uri": format!("unix:{}", socket.display()) }))?;
    copy_in(socket, file).map_err(StateError::NotRead)?;
    await_status(|| Ok(monitor.execute("query-status", json!({}))?["status"] != "inmigrate"))?;
    monitor.execute("cont", json!({}))?;
    Ok(())
}

fn copy_in(socket: &Path, file: &mut File) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_write_timeout(Some(LIMIT))?;
    io::copy(file, &mut stream)?;
    stream.flush()?;
    stream.shutdown(Shutdown::Write)
}

fn await_status(mut reached: impl FnMut() -> Result<bool, StateError>) -> Result<(), StateError> {
    let begun = Instant::now();
    while !reached()? {
        if begun.elapsed() >= LIMIT {
            return Err(StateError::TooLong { limit: LIMIT });
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

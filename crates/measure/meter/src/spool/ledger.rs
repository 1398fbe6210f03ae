//! The state files of a spool.

use crate::journal::Header;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory of the spool in the session's directory on this machine.
pub fn directory(place: &Path) -> PathBuf {
    place.join("spool")
}

/// Named pipe for commands to the spooler.
pub fn control(spool: &Path) -> PathBuf {
    spool.join("control")
}

/// Records the run and the process that keeps it, `number.start.boot`.
///
/// # Errors
/// Errors of the file system.
pub fn write_owner(spool: &Path, run: &str) -> io::Result<()> {
    let own = Header::of_this_process();
    fs::write(spool.join("run"), run)?;
    fs::write(spool.join("pid"), format!("{}.{}.{}", own.pid, own.started_ticks, own.boot_id))
}

/// Whether the process that keeps it is still running.
pub fn is_kept(spool: &Path) -> bool {
    let text = fs::read_to_string(spool.join("pid")).unwrap_or_default();
    let mut fields = text.trim().splitn(3, '.');
    let own = Header::of_this_process();
    let mut header = || {
        let (pid, started) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Header { pid, started_ticks: started, boot_id: fields.next()?.into(), ..own.clone() })
    };
    header().is_some_and(|header| header.boot_id == own.boot_id && header.alive())
}

/// Records the meter's exit, `code N` or `signal N`, and the number of bytes; the last diagnostics follow.
///
/// # Errors
/// Errors of the file system.
pub fn write_end(spool: &Path, how: &str, bytes: u64, words: &[String]) -> io::Result<()> {
    let partial = spool.join("end.partial");
    let mut text = format!("{how} bytes {bytes}\n");
    words.iter().for_each(|word| text.push_str(&format!("{word}\n")));
    fs::write(&partial, text)?;
    fs::rename(partial, spool.join("end"))
}

/// The exit of the meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// In the host's format: `code 0`, `signal 9`, or `gone` if the spooler died before recording it.
    pub how: String,
    pub bytes: u64,
    pub words: Vec<String>,
}

/// The end, if there is one. A spooler that died without recording it has left only the written bytes.
pub fn end(spool: &Path, written: impl Fn() -> u64) -> Option<End> {
    // Checked first: a spooler may record the end and exit in between.
    let kept = is_kept(spool);
    let Ok(text) = fs::read_to_string(spool.join("end")) else {
        return (!kept).then(|| End { how: "gone".into(), bytes: written(), words: Vec::new() });
    };
    let mut lines = text.lines();
    let (how, bytes) = lines.next()?.split_once(" bytes ")?;
    Some(End { how: how.into(), bytes: bytes.parse().ok()?, words: lines.map(str::to_owned).collect() })
}

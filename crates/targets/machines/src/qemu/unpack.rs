//! Decompresses modules and kernels with the system's programs.

use super::file_error::FileError;
use super::kernel_error::{KernelError, UnpackError};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// The program that decompresses bytes with this prefix; `None` if the compression is unknown.
fn program(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        _ => None,
    }
}

/// Contents of a file, decompressed if necessary.
///
/// # Errors
/// [`KernelError::File`] and [`KernelError::Unpack`].
pub fn file(path: &Path) -> Result<Vec<u8>, KernelError> {
    let bytes = fs::read(path).map_err(FileError::reading(path))?;
    if program(&bytes).is_none() {
        return Ok(bytes);
    }
    stream(bytes).map_err(|source| KernelError::Unpack { path: path.to_owned(), source })
}

/// Decompresses one stream.
///
/// # Errors
/// [`UnpackError`].
pub fn stream(bytes: Vec<u8>) -> Result<Vec<u8>, UnpackError> {
    let program = program(&bytes).ok_or(UnpackError::UnknownCompression)?;
    let cut = |source| UnpackError::Cut { program, source };
    let mut child = Command::new(program)
        .args(["-d", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| UnpackError::NotStarted { program, source })?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // A separate writer thread, because both pipes are smaller than a kernel. A write error is already visible in the
    // output.
    let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&bytes)));
    let mut unpacked = Vec::new();
    let read = stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut unpacked));
    let status = child.wait().map_err(cut)?;
    let _ = writer.join();
    read.map_err(cut)?;
    if status.success() { Ok(unpacked) } else { Err(UnpackError::Refused { program, status }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_comes_back_and_a_plain_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "some text\n".repeat(100_000)).unwrap();
        assert!(Command::new("gzip").arg("-k").arg(&plain).status().unwrap().success());
        assert_eq!(file(&folder.path().join("plain.gz")).unwrap(), fs::read(&plain).unwrap());
        assert_eq!(file(&plain).unwrap().len(), 1_000_000);
    }

    #[test]
    fn a_damaged_stream_is_an_error() {
        assert!(stream(vec![0x1f, 0x8b, 1, 2, 3]).is_err());
        assert!(matches!(stream(vec![1, 2, 3]), Err(UnpackError::UnknownCompression)));
    }
}

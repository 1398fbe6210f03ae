//! Reads whole sub-buffers from `trace_pipe_raw` and `snapshot_raw`, without blocking.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::TracefsError;
use super::error::Action;
use crate::header::PageLayout;

/// Reading consumes: each page is returned once.
#[derive(Debug)]
pub struct RawPages {
    file: File,
    path: PathBuf,
    layout: PageLayout,
}

impl RawPages {
    pub(super) fn open(path: PathBuf, layout: PageLayout) -> Result<RawPages, TracefsError> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        let file = file.map_err(|source| TracefsError::from_io(Action::Open, &path, source))?;
        Ok(RawPages { file, path, layout })
    }

    pub fn layout(&self) -> PageLayout {
        self.layout
    }

    /// Appends one sub-buffer to `pages` and returns its size in bytes, always that of a whole page; 0 if there is
    /// nothing to read now. The page may be partially filled: its `commit` contains the valid length.
    pub fn read_into(&mut self, pages: &mut Vec<u8>) -> Result<usize, TracefsError> {
        let start = pages.len();
        pages.resize(start + self.layout.page_size, 0);
        let mut filled = start;
        // The kernel returns the rest of a page only after its start, so a short read is continued.
        while filled < pages.len() {
            match self.file.read(&mut pages[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(source) => {
                    pages.truncate(start);
                    return Err(TracefsError::from_io(Action::Read, &self.path, source));
                }
            }
        }
        // The missing part of a page stays zero, so that pages keep their positions.
        if filled == start {
            pages.truncate(start);
        }
        Ok(pages.len() - start)
    }

    /// Appends sub-buffers until there is nothing more to read or `bytes_max` would be exceeded; returns the number of
    /// bytes. If a buffer is written faster than it is read, only `bytes_max` ends this.
    pub fn drain_into(&mut self, pages: &mut Vec<u8>, bytes_max: usize) -> Result<usize, TracefsError> {
        let mut total = 0;
        while total + self.layout.page_size <= bytes_max {
            match self.read_into(pages)? {
                0 => break,
                count => total += count,
            }
        }
        Ok(total)
    }
}

/// For `poll`.
impl AsFd for RawPages {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

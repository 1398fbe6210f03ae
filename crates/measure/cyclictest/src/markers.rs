//! The open trace markers of the measuring threads. A trace instance cannot be removed while one is open, and a thread
//! that sleeps for minutes cannot close its own.

use meter::kernel::descriptors;
use std::fs::File;
use std::sync::Arc;

/// The open markers.
#[derive(Debug, Default)]
pub struct Markers(Vec<Arc<File>>);

impl Markers {
    /// Registers a marker and returns it for a thread.
    pub fn keep(&mut self, marker: File) -> Arc<File> {
        let marker = Arc::new(marker);
        self.0.push(marker.clone());
        marker
    }
}

impl Drop for Markers {
    /// Redirects every marker to /dev/null, even while a thread still holds it.
    fn drop(&mut self) {
        let Ok(null) = File::options().write(true).open("/dev/null") else { return };
        for marker in &self.0 {
            let _ = descriptors::redirect(marker, &null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_released_marker_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("marker");
        let mut markers = Markers::default();
        let marker = markers.keep(File::create(&path).unwrap());
        (&*marker).write_all(b"before").unwrap();
        drop(markers);
        (&*marker).write_all(b"after").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
    }
}

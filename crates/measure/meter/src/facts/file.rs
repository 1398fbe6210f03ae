//! Reads one file as a fact.

use archive::facts::{FILE_BYTES_MAX, Fact};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Reads a file below a root; never blocks on anything but a regular file.
pub fn read(root: &Path, path: &str) -> Fact {
    let place = root.join(path.trim_start_matches('/'));
    match std::fs::metadata(&place) {
        Ok(found) if !found.is_file() => return Fact::Refused("it is not a plain file".into()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Fact::Absent,
        Err(error) => return Fact::Refused(error.to_string()),
        Ok(_) => {}
    }
    let mut bytes = Vec::with_capacity(FILE_BYTES_MAX as usize + 1);
    let opened = File::open(&place).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    match opened {
        Ok(count) if count as u64 > FILE_BYTES_MAX => Fact::Refused(format!("it has more than {FILE_BYTES_MAX} bytes")),
        Ok(_) => Fact::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Fact::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_text_or_absent_or_refused() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("short"), "a\n").unwrap();
        std::fs::write(root.path().join("full"), vec![b'x'; FILE_BYTES_MAX as usize]).unwrap();
        std::fs::write(root.path().join("long"), vec![b'x'; FILE_BYTES_MAX as usize + 1]).unwrap();
        std::fs::create_dir(root.path().join("folder")).unwrap();
        assert_eq!(read(root.path(), "/short"), Fact::Text("a\n".into()));
        assert!(matches!(read(root.path(), "/full"), Fact::Text(_)));
        assert!(matches!(read(root.path(), "/long"), Fact::Refused(_)));
        assert!(matches!(read(root.path(), "/folder"), Fact::Refused(_)));
        assert_eq!(read(root.path(), "/none"), Fact::Absent);
        assert!(matches!(read(root.path(), "/short/below"), Fact::Refused(_) | Fact::Absent));
    }
}

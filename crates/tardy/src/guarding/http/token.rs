//! The token of the server: a file for its owner alone, made if it is missing.

use server::access::new_secret;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const BYTES_MAX: u64 = 4096;
/// A shorter one can be guessed.
const BYTES_MIN: usize = 16;
const OTHERS: u32 = 0o077;

/// The token in a file.
///
/// # Errors
/// If others can read the file, it holds no token, or it cannot be made.
pub fn read_or_make(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("failed to make the token in {shown}: {error}");
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(mut file) => {
            let token = new_secret().map_err(failed)?;
            writeln!(file, "{token}").and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(token)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(failed(error)),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("failed to read the token in {shown}: {error}");
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || found.mode() & OTHERS != 0 {
        return Err(format!("others can use the token in {shown}; run: chmod 600 {shown}"));
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    if token.len() < BYTES_MIN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{shown} holds no token of {BYTES_MIN} letters or more; remove it to get a new one"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_made_for_its_owner_alone_and_one_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let made = read_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(made.len() >= BYTES_MIN && read_or_make(&path).unwrap() == made);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(read_or_make(&path).unwrap_err().contains("chmod 600"));
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short\n").unwrap();
        assert!(read_or_make(&path).unwrap_err().contains("remove it"));
    }
}

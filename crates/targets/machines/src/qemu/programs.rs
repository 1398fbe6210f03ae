//! Programs of the user in a guest: files of the initial file system, and the list of what the guest starts.

use super::error::PrepareError;
use super::initramfs::SentFile;
use protocol::guest::{GuestProgram, PROGRAMS_DIRECTORY, PROGRAMS_LIST};
use std::path::{Path, PathBuf};

/// The files for these programs, each `PATH [ARGUMENT...]`.
///
/// # Errors
/// If a program cannot be read.
pub fn to_send(programs: &[String]) -> Result<Vec<SentFile>, PrepareError> {
    let directory = Path::new("/").join(PROGRAMS_DIRECTORY);
    let (mut files, mut list) = (Vec::new(), Vec::new());
    for (number, program) in programs.iter().enumerate() {
        let mut words = program.split_ascii_whitespace();
        let path = PathBuf::from(words.next().unwrap_or_default());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Two programs may have one name, and a process has the name of its file.
        let file = format!("{number}/{name}");
        let sent = SentFile::read(&path, &directory.join(&file));
        let sent = sent.map_err(|source| PrepareError::StartProgram { path, source })?;
        files.push(SentFile { executable: true, ..sent });
        list.push(GuestProgram { file, arguments: words.map(str::to_owned).collect() });
    }
    if !list.is_empty() {
        let data = serde_json::to_vec(&list).expect("a program has only strings");
        files.push(SentFile { path: directory.join(PROGRAMS_LIST), executable: false, data });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_program_has_its_own_file_and_its_arguments_in_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let hog = folder.path().join("hog");
        fs::write(&hog, "ELF").unwrap();
        let hog = hog.display();
        let files = to_send(&[format!("{hog} 0 20"), hog.to_string()]).unwrap();
        let paths: Vec<_> = files.iter().map(|file| (file.path.to_str().unwrap(), file.executable)).collect();
        assert_eq!(paths, [("/programs/0/hog", true), ("/programs/1/hog", true), ("/programs/list.json", false)]);
        let list: Vec<GuestProgram> = serde_json::from_slice(&files[2].data).unwrap();
        assert_eq!(list[0], GuestProgram { file: "0/hog".into(), arguments: vec!["0".into(), "20".into()] });
        assert!(to_send(&[]).unwrap().is_empty());
        let missing = to_send(&["/nowhere/hog 1".to_owned()]).unwrap_err().to_string();
        assert!(missing.contains("/nowhere/hog:") && missing.contains("start_programs"), "{missing}");
    }
}

//! Streams of archives, beside the program `tar`.

use archive::packed::{PackedFile, PackedLimits, PackedReader, PackedWriter};
use prerequisites::require;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const FILES: [(&str, &str); 3] = [("manifest.json", "{}"), ("spikes/0001/trace.dat", "trace"), ("stream.tardy", "")];

#[test]
fn tar_reads_what_is_written() {
    require!(Program("tar"));
    let mut writer = PackedWriter::new(Vec::new());
    for (name, text) in FILES {
        writer.file(&PackedFile { name: name.into(), bytes: text.len() as u64 }, text.as_bytes()).unwrap();
    }
    let stream = writer.end().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    let mut tar = tar.args(["-x", "-C"]).arg(folder.path()).stdin(Stdio::piped()).spawn().unwrap();
    tar.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(tar.wait().unwrap().success());
    for (name, text) in FILES {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), text);
    }
}

#[test]
fn what_tar_writes_is_read() {
    require!(Program("tar"));
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let written = |words: &[&str]| {
        let packed =
            Command::new("tar").args(words).arg("-C").arg(folder.path()).args(FILES.map(|(name, _)| name)).output();
        packed.unwrap().stdout
    };
    let names = |stream: &[u8]| {
        let mut reader = PackedReader::new(stream, PackedLimits { files_max: 9, bytes_max: 99 });
        let mut found = Vec::new();
        while let Some(file) = reader.next_file()? {
            found.push((file.name, file.bytes));
        }
        Ok::<_, archive::packed::PackedError>(found)
    };
    let expected = FILES.map(|(name, text)| (name.to_owned(), text.len() as u64));
    assert_eq!(names(&written(&["--format=ustar", "-c"])).unwrap(), expected);
    let refused = names(&written(&["--format=gnu", "-c"])).unwrap_err();
    assert!(refused.to_string().contains("--format=ustar"), "{refused}");
    // Directories are no files.
    let packed =
        Command::new("tar").args(["--format=ustar", "-c", "-C"]).arg(folder.path()).arg(Path::new(".")).output();
    assert!(names(&packed.unwrap().stdout).is_err());
}

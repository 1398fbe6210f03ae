//! Malicious archives, against every verb that reads one: each ends in a clear error or a clean result, in bounded time
//! and memory, writes nothing outside the archive and sends only text to the terminal.

mod audits;
mod crowds;
mod samples;

use archive::frame::{Decoder, Encoder, Item};
use archive::message::Message;
use fixtures::repository::copy;
use fixtures::repository::repository_path;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SECONDS_MAX: u64 = if cfg!(debug_assertions) { 20 } else { 10 };
/// Limit of address space, which exceeds memory.
const KILOBYTES_MAX: u64 = 512 << 10;
/// A malicious target name: a formula, a path, markup, an escape sequence, a direction override, lines.
const NAME: &str = "=cmd|' /C calc'!A0../../x<script>alert(1)</script>\u{1b}]0;t\u{7}\u{1b}[2J\u{9b}\u{202e}x\r\n| y";

/// Formats that read different files of an archive.
const READERS: [&str; 4] = ["perfetto", "trace-dat", "parquet", "junit"];

/// Every format of `tardy export`, from its own list, so that a new one is not forgotten.
static FORMATS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let ended = Command::new(env!("CARGO_BIN_EXE_tardy")).args(["export", "--help"]).output().unwrap();
    let help: &str = String::from_utf8(ended.stdout).unwrap().leak();
    let listed = help.split("--format <FORMAT>\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let names = listed.into_iter().flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("- "));
    let formats: Vec<&str> = names.filter_map(|line| line.split(':').next()).collect();
    assert!(formats.len() > 15, "{help}");
    formats
});

/// A working directory, with the archive `here/run` and an archive outside that must not be touched.
struct Place {
    folder: TempDir,
    outside: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), outside: tempfile::tempdir().unwrap() };
        let corpus = repository_path("corpus/archives/v1");
        copy(&corpus, &place.run());
        // Two traces are as hostile as five, and are read in half the time.
        for number in ["0012", "0013", "0014"] {
            fs::remove_dir_all(place.run().join("spikes").join(number)).unwrap();
        }
        fs::write(place.victim(), "precious").unwrap();
        place
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("here/run")
    }

    fn victim(&self) -> PathBuf {
        self.outside.path().join("victim")
    }

    /// Every file of the archive, by its path in it.
    fn files(&self) -> BTreeSet<PathBuf> {
        fn below(directory: &Path, base: &Path, found: &mut BTreeSet<PathBuf>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => below(&entry.path(), base, found),
                    false => _ = found.insert(entry.path().strip_prefix(base).unwrap().to_owned()),
                }
            }
        }
        let mut found = BTreeSet::new();
        below(&self.run(), &self.run(), &mut found);
        found
    }

    /// Runs `tardy` under limits; returns what it printed.
    fn tardy(&self, words: &[&str]) -> String {
        let started = Instant::now();
        let limits = format!("ulimit -v {KILOBYTES_MAX}; ulimit -t {SECONDS_MAX}; ulimit -c 0; exec \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limits, "sh", env!("CARGO_BIN_EXE_tardy")])
            .args(words)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path().join("home"))
            .env("TARDY_METER", "/bin/true")
            .stdin(Stdio::null())
            .stdout(File::create(self.folder.path().join("stdout")).unwrap())
            .stderr(File::create(self.folder.path().join("stderr")).unwrap())
            .spawn()
            .unwrap();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > Duration::from_secs(6 * SECONDS_MAX) {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{words:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let read = |name: &str| String::from_utf8_lossy(&fs::read(self.folder.path().join(name)).unwrap()).into_owned();
        let printed = read("stdout") + &read("stderr");
        assert!(matches!(status.code(), Some(0..=4)), "{words:?} ended with {status}: {printed:.2000}");
        let control = |letter: char| letter.is_control() && !"\n\t".contains(letter) || letter == '\u{202e}';
        // A document has its own escapes, and is read by a program.
        if let Some(at) = printed.find(control) {
            let near: String = printed[..at].chars().rev().take(80).collect();
            panic!(
                "{words:?} printed {:?} behind {:?}",
                printed[at..].chars().next(),
                near.chars().rev().collect::<String>()
            );
        }
        printed
    }

    /// Runs every verb that reads an archive, and exports it in these formats.
    fn every_verb(&self, formats: &[&str]) {
        for words in [
            "list here",
            "list here --json",
            "explain here/run",
            "explain here/run --json",
            "report here/run",
            "compare here/run here/run",
            "explain --diff here/run here/run",
            "lab history here",
            "target collect here/run",
            "audit --archive here/run",
        ] {
            self.tardy(&words.split(' ').collect::<Vec<_>>());
        }
        self.tardy(&["judge", "here/run", "--limit", "latency < 1us"]);
        for format in formats {
            self.tardy(&["export", "here/run", "--format", format]);
        }
    }

    fn assert_nothing_outside_changed(&self) {
        assert_eq!(fs::read_to_string(self.victim()).unwrap(), "precious");
        assert_eq!(fs::read_dir(self.outside.path()).unwrap().count(), 1);
        let names: BTreeSet<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| !["stdout", "stderr", "home"].contains(&name.as_str()))
            .collect();
        assert_eq!(names, BTreeSet::from(["here".to_owned()]));
        let runs: Vec<_> = fs::read_dir(self.folder.path().join("here")).unwrap().collect();
        assert_eq!(runs.len(), 1);
    }

    /// Replaces every string that a target put into the stream by [`NAME`], where the message stays valid.
    fn name_everything(&self) {
        let stream = fs::read(self.run().join("stream.tardy")).unwrap();
        let mut encoder = Encoder::default();
        let mut hostile = Vec::new();
        for item in Decoder::default().push(&stream) {
            hostile.extend(match item {
                Item::Message(message) => encoder.message(&named(&message)),
                Item::Chunk { file, offset, data } => encoder.chunk(file, offset, &data),
                _ => Vec::new(),
            });
        }
        fs::write(self.run().join("stream.tardy"), hostile).unwrap();
        let path = self.run().join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for key in ["id", "target", "tool_version"] {
            manifest[key] = NAME.into();
        }
        manifest["command"] = vec![NAME; 3].into();
        fs::write(path, manifest.to_string()).unwrap();
    }
}

/// The message with as many strings replaced as possible.
fn named(message: &Message) -> Message {
    let mut value = serde_json::to_value(message).unwrap();
    let mut number = 0;
    loop {
        let mut changed = value.clone();
        let mut left = number;
        if !replace(&mut changed, &mut left) {
            return serde_json::from_value(value).unwrap();
        }
        number += 1;
        if serde_json::from_value::<Message>(changed.clone()).is_ok() {
            value = changed;
        }
    }
}

/// Replaces the string with this number; `false` if there are no more.
fn replace(value: &mut Value, number: &mut usize) -> bool {
    match value {
        Value::String(text) if *number == 0 => {
            *text = NAME.into();
            true
        }
        Value::String(_) => {
            *number -= 1;
            false
        }
        Value::Array(list) => list.iter_mut().any(|one| replace(one, number)),
        Value::Object(map) => map.values_mut().any(|one| replace(one, number)),
        _ => false,
    }
}

#[test]
fn links_in_the_place_of_results_are_replaced_and_never_followed() {
    let place = Place::new();
    let before = place.files();
    place.every_verb(&FORMATS);
    let made: Vec<PathBuf> = place.files().difference(&before).cloned().collect();
    assert!(made.len() > 15, "{made:?}");
    for name in made.iter().chain([&PathBuf::from("explanations.json")]) {
        let path = place.run().join(name);
        fs::remove_file(&path).unwrap();
        symlink(place.victim(), &path).unwrap();
        symlink(place.victim(), place.run().join(format!("{}.partial", name.display()))).unwrap();
    }
    symlink(place.victim(), place.run().join("line.partial")).unwrap();
    place.every_verb(&FORMATS);
    place.assert_nothing_outside_changed();
    for name in made {
        assert!(fs::symlink_metadata(place.run().join(&name)).unwrap().is_file(), "{}", name.display());
    }
}

#[test]
fn links_in_the_place_of_sources_are_not_read() {
    let place = Place::new();
    fs::write(place.victim(), "precious").unwrap();
    for name in ["spikes", "samples"] {
        fs::remove_dir_all(place.run().join(name)).unwrap();
        symlink(place.outside.path(), place.run().join(name)).unwrap();
    }
    place.every_verb(&READERS);
    for name in ["manifest.json", "stream.tardy"] {
        fs::remove_file(place.run().join(name)).unwrap();
        symlink(place.victim(), place.run().join(name)).unwrap();
    }
    place.every_verb(&READERS);
    place.assert_nothing_outside_changed();
}

/// Replaces these files, or all except these, with something else.
fn in_place_of(place: &Place, core: bool, put: impl Fn(&Path)) {
    for name in place.files() {
        let is_core = ["manifest.json", "stream.tardy"].iter().any(|core| name.as_path() == Path::new(core));
        if is_core == core {
            fs::remove_file(place.run().join(&name)).unwrap();
            put(&place.run().join(name));
        }
    }
}

#[test]
fn pipes_and_devices_are_no_files_of_an_archive() {
    let pipe = |path: &Path| mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let device = |path: &Path| symlink("/dev/zero", path).unwrap();
    for core in [false, true] {
        let place = Place::new();
        let puts: [&dyn Fn(&Path); 2] = [&pipe, &device];
        let number = Cell::new(0);
        in_place_of(&place, core, |path| puts[number.replace(number.get() + 1) % 2](path));
        pipe(&place.run().join("line.partial"));
        place.every_verb(&READERS);
        place.assert_nothing_outside_changed();
    }
}

#[test]
fn files_that_are_said_to_be_huge_cost_neither_memory_nor_time() {
    for core in [false, true] {
        let place = Place::new();
        in_place_of(&place, core, |path| File::create(path).unwrap().set_len(1 << 40).unwrap());
        place.every_verb(&READERS);
        place.assert_nothing_outside_changed();
    }
}

#[test]
fn a_stream_of_a_million_false_headers_is_listed() {
    let place = Place::new();
    // Like the first one of the stream, but declaring 4 MiB.
    let stream = fs::read(place.run().join("stream.tardy")).unwrap();
    let header = [&stream[..8], &(4u32 << 20).to_le_bytes()].concat();
    fs::write(place.run().join("stream.tardy"), header.repeat(1_000_000)).unwrap();
    let started = Instant::now();
    place.tardy(&["list", "here"]);
    println!("`tardy list` of a million false headers: {:?}", started.elapsed());
}

#[test]
fn lengths_and_numbers_of_a_stream_are_not_believed() {
    let place = Place::new();
    let mut stream = fs::read(place.run().join("stream.tardy")).unwrap();
    let header = [&[0xf7, b'T', 0xd1, b'Y', 1, 1, 0, 0][..], &(4_u32 << 20).to_le_bytes()].concat();
    stream.extend(header.repeat(300_000));
    fs::write(place.run().join("stream.tardy"), stream).unwrap();
    place.every_verb(&READERS);
    place.assert_nothing_outside_changed();
}

#[test]
fn text_of_a_target_stays_text_in_every_verb_and_format() {
    let place = Place::new();
    let before = place.files();
    place.name_everything();
    place.every_verb(&FORMATS);
    for format in ["tap", "ktap", "lava", "lava-result", "markdown", "prometheus", "kcidb", "fuego", "worst-csv"] {
        place.tardy(&["export", "here/run", "--format", format, "-o", "-"]);
    }
    place.assert_nothing_outside_changed();
    for name in place.files().difference(&before) {
        let bytes = fs::read(place.run().join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let ending = name.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if ["html", "md", "svg", "xml"].contains(&ending) {
            assert!(!text.contains("<script>alert"), "{}", name.display());
        }
        if !["html", "pftrace", "dat", "parquet"].contains(&ending) {
            let control = text.chars().find(|letter| letter.is_control() && !"\n\t\r".contains(*letter));
            assert_eq!(control, None, "{}", name.display());
        }
        if ending == "csv" {
            let formula = text.split(['\n', ',']).find(|cell| cell.starts_with(['=', '+', '@']));
            assert_eq!(formula, None, "{}", name.display());
        }
    }
}

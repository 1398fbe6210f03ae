//! `tardy import` on the files of `corpus/imports/`: sound, cut and foreign ones.

mod goldens;
mod refusals;
mod verbs;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The fixtures that can be imported, as paths below `corpus/imports/`.
const SOUND: [&str; 23] = [
    "columns/osadl.txt",
    "cyclictest-2.10/histofall-one-thread.txt",
    "cyclictest-2.10/histogram.json",
    "cyclictest-2.10/histogram.txt",
    "cyclictest-2.10/plain.json",
    "cyclictest-2.4/histfile.txt",
    "cyclictest-2.4/histofall.txt",
    "cyclictest-2.4/histogram.json",
    "cyclictest-2.4/histogram.txt",
    "cyclictest-2.4/live.txt",
    "cyclictest-2.4/nanoseconds.json",
    "cyclictest-2.4/nanoseconds.txt",
    "cyclictest-2.4/plain.json",
    "cyclictest-2.4/plain.txt",
    "jitterdebugger/results.json",
    "jitterdebugger-samples/results.json",
    "rt-tests-2.4/oslat.json",
    "rt-tests-2.4/pmqtest.json",
    "rt-tests-2.4/ptsematest.json",
    "rt-tests-2.4/signaltest.json",
    "rteval/cyclictest.xml",
    "rteval/ended-by-break.xml",
    "rteval/timerlat.xml",
];
/// Two distributions in each file.
const RTLA: [&str; 2] = ["rtla/timerlat.json", "rtla/osnoise.json"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/imports")
}

/// A directory to import in, and the command.
struct Bench {
    directory: tempfile::TempDir,
}

struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }
}

impl Bench {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Ended {
        let output =
            Command::new(env!("CARGO_BIN_EXE_tardy")).args(words).current_dir(self.directory.path()).output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Names in the directory, hidden ones included.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn fixture(name: &str) -> String {
    corpus().join(name).to_str().unwrap().to_owned()
}

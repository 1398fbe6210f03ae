//! A skipped test: printed when it runs, and recorded for the count at the end.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Path of the file that collects the skipped tests of a run, one per line.
const RECORD: &str = "TARDY_SKIPPED_TESTS";

#[derive(Debug)]
pub(crate) struct Skipped {
    test: String,
    reason: String,
}

impl Skipped {
    /// The test that runs on this thread.
    pub fn here(lacking: &str) -> Self {
        // Both runners name the thread after the test; cargo-nextest also sets the variable.
        let named = std::env::var("NEXTEST_TEST_NAME").ok();
        let thread = || std::thread::current().name().unwrap_or("a test").to_owned();
        Self { test: named.unwrap_or_else(thread), reason: format!("needs {lacking}") }
    }

    pub fn print_and_record(&self) {
        eprintln!("skipped: {}", self.reason);
        if let Some(record) = std::env::var_os(RECORD) {
            self.record(Path::new(&record));
        }
    }

    /// A single write, so that lines of concurrent tests are not mixed.
    fn record(&self, path: &Path) {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let line = format!("{}\t{}\n", self.test, self.reason);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("failed to record a skipped test in {}: {error}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skipped_test_is_a_line() {
        let path = std::env::temp_dir().join(format!("tardy-skipped-{}", std::process::id()));
        Skipped { test: "one".into(), reason: "needs root".into() }.record(&path);
        Skipped { test: "two".into(), reason: "needs gdb".into() }.record(&path);
        let recorded = std::fs::read_to_string(&path).expect("a record");
        std::fs::remove_file(&path).expect("it can be removed");
        assert_eq!(recorded, "one\tneeds root\ntwo\tneeds gdb\n");
    }
}

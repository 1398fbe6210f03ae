//! Files that cannot be imported: one line that says what the file looks like and what is missing, and nothing left
//! behind.

use crate::{RTLA, SOUND, fixture};
use fixtures::fake_meter::Bench;
use fixtures::repository::repository_path;
use std::fs;

/// Fixtures without latencies, with a word of the error.
pub const REFUSED: [(&str, &str); 2] =
    [("rt-tests-2.4/pi_stress.json", "inversions"), ("rteval/without-statistics.xml", "beyond its histogram")];

fn assert_refused(bench: &Bench, words: &[&str], why: &str) {
    let before = bench.names();
    let ended = bench.run(words);
    assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
    assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{words:?}: {}", ended.stderr);
    assert!(ended.stderr.starts_with("tardy: failed to ") && ended.stderr.contains(why), "{words:?}: {}", ended.stderr);
    assert_eq!(bench.names(), before, "{words:?} left something behind");
}

#[test]
fn files_without_latencies_are_refused_by_name() {
    for (name, why) in REFUSED {
        assert_refused(&Bench::new(), &["import", &fixture(name), "--out", "run"], why);
    }
}

#[test]
fn foreign_files_are_refused_for_what_they_look_like() {
    let files: [(&[u8], &str); 10] = [
        (b"", "an empty file"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary data"),
        (b"<html><body>404</body></html>", "a web page"),
        (b"<testsuite tests=\"1\"/>", "XML of another program"),
        (b"{\"name\": \"x\"}", "JSON of another program"),
        (b"policy: fifo: loadavg: 1.0\n", "text that begins with `policy: fifo: loadavg: 1.0`"),
        (
            b"21 30000\n22 1\n",
            "rows of numbers; if a row is a latency and the count of each CPU, import it with --format",
        ),
        (b"{\"cpu\": {}, \"count\": 0}", "it holds no threads"),
        (b"# /dev/cpu_dma_latency set to 0us\n", "neither a histogram block nor whole `T:` lines"),
        (b"\x1b[31mred\x07\n", "\\u{1b}[31mred\\u{7}"),
    ];
    for (bytes, why) in files {
        let bench = Bench::new();
        fs::write(bench.path("file"), bytes).unwrap();
        assert_refused(&bench, &["import", "file"], why);
    }
}

#[test]
fn paths_that_are_no_files_are_refused() {
    let bench = Bench::new();
    fs::create_dir(bench.path("directory")).unwrap();
    assert_refused(&bench, &["import", "absent.json"], "there is no such file");
    assert_refused(&bench, &["import", "directory"], "it is a directory");
}

#[test]
fn a_format_that_is_asked_for_is_not_guessed() {
    let file = fixture("rteval/cyclictest.xml");
    assert_refused(
        &Bench::new(),
        &["import", &file, "--format", "rt-tests-json"],
        "it cannot be read as JSON of rt-tests: it is not valid JSON",
    );
    for name in ["cyclictest-2.4/histogram.json", "cyclictest-2.4/plain.txt", "rteval/cyclictest.xml"] {
        assert_refused(&Bench::new(), &["import", &fixture(name), "--series", "irq"], "without --series irq");
    }
}

#[test]
fn one_unreadable_file_among_several_stops_them_all() {
    let bench = Bench::new();
    let (sound, refused) = (fixture("cyclictest-2.4/plain.json"), fixture("rt-tests-2.4/pi_stress.json"));
    assert_refused(&bench, &["import", &sound, &refused, "--out", "runs"], "no file was imported");
}

#[test]
fn an_archive_that_is_there_stays_as_it_is() {
    let bench = Bench::new();
    fs::create_dir(bench.path("taken")).unwrap();
    fs::write(bench.path("taken/notes"), "mine").unwrap();
    fs::write(bench.path("file"), "mine").unwrap();
    let sound = fixture("cyclictest-2.4/plain.json");
    assert_refused(&bench, &["import", &sound, "--out", "taken"], "exists already");
    assert_refused(&bench, &["import", &sound, "--out", "file"], "exists already");
    assert_eq!(fs::read_dir(bench.path("taken")).unwrap().count(), 1);
    let ended = bench.run(&["import", &sound, "--out", "file/run"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("--out"), "{}", ended.stderr);
}

/// A file cut anywhere is either rejected, or its archive is complete and lacks only the last line.
#[test]
fn a_file_cut_anywhere_is_refused_or_whole() {
    for name in SOUND.iter().chain(&RTLA) {
        let bytes = fs::read(repository_path("corpus/imports").join(name)).unwrap();
        let mut refused = 0;
        for part in 0..12 {
            let bench = Bench::new();
            fs::write(bench.path("file"), &bytes[..bytes.len() * part / 12]).unwrap();
            let ended = bench.run(&["import", "file", "--json", "--out", "run"]);
            match ended.code {
                Some(0) => {
                    let summary = &ended.json()["imports"][0]["summary"];
                    assert_eq!(summary["state"], "complete");
                    assert_eq!(summary["gaps"], serde_json::json!([]), "{name} cut to {part}/12");
                }
                Some(2) => {
                    refused += 1;
                    assert_eq!(ended.stderr.lines().count(), 1, "{name}: {}", ended.stderr);
                    assert_eq!(bench.names(), ["file"], "{name} cut to {part}/12 left something behind");
                }
                code => panic!("{name} cut to {part}/12 ended with {code:?}: {}", ended.stderr),
            }
        }
        let lines = name.ends_with("live.txt") || ["columns", "logs"].iter().any(|folder| name.starts_with(folder));
        assert!(lines || refused >= 6, "{name}: only {refused} of 12 cuts were refused");
    }
}

//! All output with a figure of virtual time says "virtual time": every presenter, with an archive that has a late
//! wake-up.

use crate::virtual_archives::{bench, make, make_seeds};
use fixtures::fake_meter::Bench;
use interchange::exports::FORMATS;
use std::fs;

/// As a word, a key or a name: `VIRTUAL TIME`, `virtual_time`, `virtual-time`. A key must not say that it is not.
pub fn says_it(text: &str) -> bool {
    let text = text.to_lowercase().replace(['_', '-'], " ");
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    plain.contains("virtual time") && !plain.contains("\"virtual time\":false")
}

/// A bench with the seeds `a/` and `b/` of two kernels, and the single runs `one` and `idle`.
fn archived() -> Bench {
    let bench = bench();
    make_seeds(&bench, "old", 1..=3, "a", &["--load", "dentry"]);
    make_seeds(&bench, "new", 1..=3, "b", &["--load", "dentry"]);
    make(&bench, "old", 1, "one", &["--load", "dentry"]);
    make(&bench, "old", 1, "idle", &[]);
    bench
}

#[test]
fn every_page_and_document_says_virtual_time() {
    let bench = archived();
    let verbs: [&[&str]; 10] = [
        &["explain", "one"],
        &["explain", "--diff", "one", "idle"],
        &["compare", "a", "b"],
        &["compare", "one", "one"],
        &["judge", "one"],
        &["judge", "one", "--limit", "latency < 1ms"],
        &["judge", "one", "--horizon", "10s"],
        &["lab", "history", "a"],
        &["list", "a"],
        &["report", "one", "-o", "again.html", "--png", "pictures"],
    ];
    for words in verbs {
        for json in [false, true] {
            let ended = bench.run(&[words, if json { &["--json"] } else { &[] }].concat());
            assert!(matches!(ended.code, Some(0 | 3 | 4)), "{words:?}: {:?} {}", ended.code, ended.stderr);
            // A report prints only the name of its file; its contents are checked below.
            if words[0] != "report" {
                assert!(says_it(&ended.stdout), "{words:?}, json {json}:\n{}", ended.stdout);
            }
        }
    }
}

#[test]
fn every_format_of_export_says_virtual_time() {
    let bench = archived();
    // A trace.dat is the kernel's record of one spike; it has no place for text, and no figure. Maps and shares of storage latency are of other methods.
    for format in FORMATS.iter().filter(|format| !matches!(format.name(), "trace-dat" | "map-svg" | "storage-svg")) {
        let limit: &[&str] = if format.is_judged() { &["--limit", "latency < 1ms"] } else { &[] };
        let format = format.name();
        let words = [&["export", "one", "--format", format, "-o", "exported"], limit].concat();
        let ended = bench.run(&words);
        assert_eq!(ended.code, Some(0), "{format}: {}", ended.stderr);
        let exported = fs::read(bench.path("exported")).unwrap();
        assert!(says_it(&String::from_utf8_lossy(&exported)), "{format}:\n{}", String::from_utf8_lossy(&exported));
    }
}

#[test]
fn report_and_pictures_say_virtual_time() {
    let bench = archived();
    assert_eq!(bench.run(&["report", "one", "-o", "page.html"]).code, Some(0));
    let html = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(html.contains("data-note=\"virtual-time\""), "{html}");
    let summary = bench.run(&["run", "--every-sample", "--out", "hardware", "--quiet"]);
    assert!(!says_it(&summary.stdout), "what is measured in real time does not: {}", summary.stdout);
}

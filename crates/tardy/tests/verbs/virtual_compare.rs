//! `tardy compare` and `tardy judge --baseline` on archives in virtual time.

use crate::virtual_archives::{bench, make, make_seeds};
use std::fs;

const LOADED: [&str; 2] = ["--load", "dentry"];

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn one_system_is_identical_and_a_defect_is_code_1() {
    let bench = bench();
    make(&bench, "old", 1, "a", &LOADED);
    make(&bench, "old", 1, "b", &LOADED);
    let same = bench.run(&["compare", "a", "b"]);
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    assert!(same.stdout.starts_with("VIRTUAL TIME"), "{}", same.stdout);
    assert!(words(&same.stdout).contains("Identical: ") && same.stdout.contains("1 seed "), "{}", same.stdout);
    let samples = bench.path("b/samples/0.bin");
    let mut bytes = fs::read(&samples).unwrap();
    bytes[16 * 7 + 8] ^= 1;
    fs::write(samples, bytes).unwrap();
    let parted = bench.run(&["compare", "a", "b"]);
    assert_eq!(parted.code, Some(1));
    assert!(words(&parted.stdout).contains("seed 1 sample 7 "), "{}", parted.stdout);
}

#[test]
fn two_kernels_are_paired_by_their_seeds() {
    let bench = bench();
    make_seeds(&bench, "old", 1..=8, "a", &LOADED);
    make_seeds(&bench, "new", 1..=9, "b", &LOADED);
    make(&bench, "old", 1, "a/idle-0001", &[]);
    make(&bench, "new", 1, "b/idle-0001", &[]);
    let ended = bench.run(&["compare", "a", "b"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said = words(&ended.stdout);
    for expected in [
        "wake-up path +400 ns",
        "p99 is 400 ns longer in virtual time",
        "8 of 8 seeds",
        "only one side has seed 9; left out",
        "only among those",
        "ingredient: A kernel: sha256:old; B kernel: sha256:new",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    // The first line is the warning about the clock.
    assert!(ended.stdout.lines().skip(1).all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let document = bench.run(&["compare", "a", "b", "--json"]).json();
    assert_eq!((&document["virtual_time"], &document["loaded"]["idle"]), (&true.into(), &false.into()));
    assert_eq!(bench.run(&["compare", "a", "b"]).stdout, ended.stdout, "the answer is always the same");
}

#[test]
fn what_cannot_be_paired_is_refused() {
    let bench = bench();
    make(&bench, "old", 1, "a", &LOADED);
    make(&bench, "new", 2, "b", &LOADED);
    fs::write(bench.path("kernel"), "old").unwrap();
    let hardware = bench.run(&["run", "--seed", "1", "--every-sample", "--out", "c", "--quiet"]);
    assert_eq!(hardware.code, Some(0), "{}", hardware.stderr);
    for (line, expected) in [
        (&["compare", "a", "b"][..], "no seed in common"),
        (&["compare", "a", "c"], "executed instructions"),
        (&["compare", "c", "c", "--record", "1"], "--record makes runs in virtual time again"),
        (&["compare", "--a", "", "--b", ""], "not a target in virtual time"),
        (&["compare", "--a", ""], "--b"),
        (&["judge", "a", "b"], "only with --baseline"),
        (&["judge", "--baseline", "none.toml", "a"], "none.toml"),
        (&["virtual", "baseline", "write", "x.toml", "--target", "local"], "not a target in virtual time"),
    ] {
        let ended = bench.run(line);
        assert_eq!(ended.code, Some(2), "{line:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{line:?}: {}", ended.stderr);
    }
}

#[test]
fn runs_are_judged_by_a_baseline() {
    let bench = bench();
    make_seeds(&bench, "old", 1..=2, "a", &LOADED);
    make_seeds(&bench, "new", 1..=2, "b", &LOADED);
    let baseline = "baseline_version = 1\nvirtual_time = true\nkernel = \"6.1\"\ntarget = \"exact\"\n\
                    tolerance_percent = 5.0\nidle_tolerance_ns = 20\noptions = [\"--load\", \"dentry\"]\nloaded = [\n  \
                    { seed = 1, samples = 1000, p50_ns = 3249, p99_ns = 3494, max_ns = 3499 },\n  \
                    { seed = 2, samples = 1000, p50_ns = 3249, p99_ns = 3494, max_ns = 3499 },\n]\n";
    fs::write(bench.path("baseline.toml"), baseline).unwrap();
    let same = bench.run(&["judge", "--baseline", "baseline.toml", "a"]);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    assert!(words(&same.stdout).contains(" baseline.toml"), "{}", same.stdout);
    let moved = bench.run(&["judge", "--baseline", "baseline.toml", "b"]);
    assert_eq!(moved.code, Some(1));
    let expected = "loaded max moved from 3499 to 3899 ns of virtual time (+400 ns, +11.4 %), beyond 5 %";
    assert!(words(&moved.stdout).contains(expected), "{}", moved.stdout);
    let one = bench.run(&["judge", "--baseline", "baseline.toml", "a/seed-0001", "--json"]);
    assert_eq!((one.code, &one.json()["drift"]["fails"]), (Some(1), &true.into()));
    fs::write(bench.path("baseline.toml"), baseline.replace("p99_ns", "p99_us")).unwrap();
    let refused = bench.run(&["judge", "--baseline", "baseline.toml", "a"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("p99_us"), "{}", refused.stderr);
}

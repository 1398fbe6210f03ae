//! `tardy virtual replay` and `tardy virtual record` stopped at each stage that has an emulator: none is left behind,
//! and the archive is unchanged.

use crate::emulator::{RECORDED, emulators, laboratory, program, tardy};
use fixtures::fake_meter::{Bench, Ended};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// Marks of the stages: the run that is recorded, the boot that lists functions, the run that is to be stopped.
const STAGES: [&str; 3] = [",at=", "\"symbols\":true", ",stop="];

fn run(bench: &Bench, words: &[&str]) -> Ended {
    Ended::of(tardy(bench, words).output().unwrap())
}

/// The archive `one`, with the record of a wake-up if requested.
fn archived(recorded: bool) -> Bench {
    let bench = laboratory();
    let measured = run(&bench, &["run", "--target", "old", "--duration", "1s", "--out", "one", "--quiet"]);
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    if recorded {
        let ended =
            run(&bench, &["virtual", "record", "one", "--cycle", &RECORDED.to_string(), "--controls", "0", "-q"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    bench
}

fn is_there(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).join("exe").read_link().is_ok()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Begins a verb, sends it a signal when an emulator hangs at a stage, and returns how the verb ended.
fn stopped(bench: &Bench, words: &[&str], stage: &str, signal: &str) -> Ended {
    let before = emulators(bench).len();
    fs::write(bench.path("hang"), stage).unwrap();
    let child = tardy(bench, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let emulator = until("no emulator came to that stage", || {
        emulators(bench).split_off(before).into_iter().find(|(_, asked)| asked.contains(stage))
    });
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    until("the emulator is left behind", || (!is_there(emulator.0)).then_some(()));
    fs::remove_file(bench.path("hang")).unwrap();
    ended
}

/// Directories left behind by emulators that have ended.
fn scratch_of(bench: &Bench) -> BTreeSet<String> {
    let words = emulators(bench).into_iter().flat_map(|(_, asked)| {
        let paths = asked.split("mem-path=").skip(1).filter_map(|rest| Some(rest.split_once(",size")?.0.to_owned()));
        paths.collect::<Vec<_>>()
    });
    words.filter(|path| Path::new(path).exists()).collect()
}

#[test]
fn stopped_at_any_stage_it_leaves_no_emulator_behind() {
    for signal in ["-INT", "-TERM"] {
        for (verb, stages, recorded) in
            [("record", &STAGES[..2], false), ("replay", &STAGES[..2], false), ("replay", &STAGES[2..], true)]
        {
            let bench = archived(recorded);
            for stage in stages {
                let cycle = RECORDED.to_string();
                let _ = fs::remove_dir_all(bench.path("cache").join("tardy/kernels/symbols"));
                let ended = stopped(&bench, &["virtual", verb, "one", "--cycle", &cycle], stage, signal);
                assert_eq!(ended.code, Some(3), "{verb} {stage} {signal}: {}{}", ended.stdout, ended.stderr);
                assert!(ended.stderr.contains("stopped on request"), "{verb} {stage} {signal}: {}", ended.stderr);
                assert!(!bench.path("one/.again").exists(), "{verb} {stage} {signal}");
                assert_eq!(scratch_of(&bench), BTreeSet::new(), "{verb} {stage} {signal}");
            }
            let record = bench.path("one/spikes/0001/flight.bin");
            assert_eq!(record.exists(), recorded, "{verb}: the archive is as it was");
        }
    }
}

#[test]
fn a_killed_verb_takes_its_emulator_along_and_the_next_one_tidies_up() {
    let bench = archived(false);
    let cycle = RECORDED.to_string();
    stopped(&bench, &["virtual", "record", "one", "--cycle", &cycle], STAGES[0], "-KILL");
    assert!(bench.path("one/.again").exists() && !scratch_of(&bench).is_empty(), "nobody was left to tidy up");
    let ended = run(&bench, &["virtual", "record", "one", "--cycle", &cycle, "-q"]);
    assert_eq!(ended.code, Some(3), "only one wake-up has a record here: {}", ended.stdout);
    let ended = run(&bench, &["virtual", "record", "one", "--cycle", &cycle, "--controls", "0", "-q"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!bench.path("one/.again").exists());
    assert_eq!(scratch_of(&bench), BTreeSet::new());
}

#[test]
fn without_gdb_it_says_so_before_anything_runs() {
    let bench = archived(true);
    let before = emulators(&bench).len();
    fs::create_dir(bench.path("empty")).unwrap();
    let words = ["virtual", "replay", "one", "--gdb"];
    let ended = Ended::of(tardy(&bench, &words).env("PATH", bench.path("empty")).output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stderr.contains("`apt install gdb`") && ended.stderr.contains("--listen"), "{}", ended.stderr);
    assert_eq!(emulators(&bench).len(), before);
}

#[test]
fn a_directory_too_deep_for_a_socket_is_reported_before_anything_runs() {
    let bench = archived(true);
    let before = emulators(&bench).len();
    let deep = bench.path(&"d".repeat(100));
    fs::create_dir(&deep).unwrap();
    let ended = Ended::of(tardy(&bench, &["virtual", "replay", "one"]).env("TMPDIR", &deep).output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stderr.contains("TMPDIR"), "{}", ended.stderr);
    assert_eq!(emulators(&bench).len(), before);
}

#[test]
fn an_emulator_that_ends_early_is_reported_with_its_words() {
    let bench = archived(true);
    program(&bench.path("qemu"), "#!/bin/sh\necho 'qemu: ENOMEM' >&2\nexit 1\n");
    let ended = run(&bench, &["virtual", "replay", "one"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stderr.contains("qemu: ENOMEM"), "{}", ended.stderr);
}

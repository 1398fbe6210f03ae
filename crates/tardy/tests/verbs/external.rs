//! Programs on PATH as verbs, and names that verbs had before.

use fixtures::fake_meter::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A bench with the program `tardy-NAME`, a shell script, in its folder `bin`.
fn bench_with(name: &str, script: &str) -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("bin")).unwrap();
    let path = bench.path(&format!("bin/tardy-{name}"));
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    bench
}

/// `tardy` with the bench's `bin` first on PATH.
fn tardy(bench: &Bench, words: &[&str]) -> Command {
    let mut command = bench.tardy(words);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bench.path("bin").display()));
    command
}

fn ended(mut command: Command) -> Ended {
    Ended::of(command.output().unwrap())
}

#[test]
fn an_unknown_verb_runs_the_program_of_that_name() {
    let bench = bench_with("plot", "echo \"$TARDY|$OF_THE_USER|$#|$1|$2|$3\"; exit 42");
    let mut command = tardy(&bench, &["plot", "--help", "a b", "--json"]);
    command.env("OF_THE_USER", "kept");
    let ended = ended(command);
    let expected = format!("{}|kept|3|--help|a b|--json\n", env!("CARGO_BIN_EXE_tardy"));
    assert_eq!((ended.stdout, ended.stderr, ended.code), (expected, String::new(), Some(42)));
}

#[test]
fn verbs_and_former_names_are_never_replaced() {
    for name in ["list", "observe", "meter"] {
        let bench = bench_with(name, "echo replaced");
        assert!(!ended(tardy(&bench, &[name, "--help"])).stdout.contains("replaced"), "{name}");
    }
}

#[test]
fn relative_entries_of_path_are_ignored() {
    let bench = bench_with("plot", "echo found");
    let mut command = bench.tardy(&["plot"]);
    command.env("PATH", "bin:");
    let ended = ended(command);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
}

#[test]
fn programs_on_path_are_listed_beside_the_verbs() {
    let bench = bench_with("plot", "");
    let listed = ended(tardy(&bench, &["list", "verbs", "--json"])).json();
    let of = |list: &str| listed[list].as_array().unwrap().iter().map(|verb| verb["name"].clone()).collect::<Vec<_>>();
    assert!(of("external").contains(&"plot".into()));
    for verb in ["run", "list", "list verbs", "experiment", "target restore", "virtual repeat"] {
        assert!(of("verbs").contains(&verb.into()), "{verb}");
    }
    assert!(!of("verbs").contains(&"virtual".into()), "it does nothing by itself");
    assert!(ended(tardy(&bench, &["list", "verbs"])).stdout.contains("bin/tardy-plot"));
}

#[test]
fn a_word_that_is_no_verb_is_wrong_usage_with_the_nearest_verb() {
    let ended = Bench::new().run(&["wach", "--json"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("`tardy watch`"), "{}", ended.stderr);
    assert_eq!(ended.json()["error"]["code"], "usage.command-line");
}

#[test]
fn a_program_that_does_not_start_is_an_error_with_its_path() {
    let bench = bench_with("plot", "");
    fs::write(bench.path("bin/tardy-plot"), "#!/no/such/interpreter\n").unwrap();
    let ended = ended(tardy(&bench, &["plot"]));
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("bin/tardy-plot"), "{}", ended.stderr);
}

#[test]
fn a_former_name_does_the_same_and_names_the_new_one_on_standard_error() {
    for (former, now) in [
        (&["load", "list", "--json"][..], &["list", "loads", "--json"][..]),
        (&["restore", "--json"], &["target", "restore", "--json"]),
        (&["restore", "--target", "nowhere"], &["target", "restore", "nowhere"]),
        (&["plan", "check", "absent.toml"], &["lab", "plan", "check", "absent.toml"]),
        (&["virtual", "verify", "nowhere"], &["virtual", "repeat", "nowhere"]),
        (&["bisect", "--step", "--nonsense"], &["experiment", "bisect", "--step", "--nonsense"]),
    ] {
        let bench = Bench::new();
        let (was, is) = (bench.run(former), bench.run(now));
        assert_eq!((&was.stdout, was.code), (&is.stdout, is.code), "{former:?}");
        let note = was.stderr.strip_suffix(&is.stderr).unwrap_or_else(|| panic!("{former:?}: {}", was.stderr));
        assert_eq!(note.lines().count(), 1, "{former:?}: {note}");
        assert!(note.contains(&format!("`tardy {} {}`", now[0], now[1])), "{former:?}: {note}");
    }
}

//! `git bisect run` with one step of `tardy experiment bisect`, as in docs/how-to/bisecting.md: a repository in which one commit
//! makes the kernel later. The emulator is a script.

use crate::emulator::{emulators, laboratory, tardy};
use fixtures::fake_meter::{Bench, Ended};
use prerequisites::require;
use std::fs;
use std::process::Command;

/// Commits, including the good end and the bad end.
const COMMITS: usize = 9;
const FIRST_BAD: usize = 6;
/// In the middle, so that git tries it first.
const DOES_NOT_BUILD: usize = 4;
const ADD: &str = "tardy target add mine --kernel ../vmlinux --virtual-time --here --force --append \"$(cat built)\"";

/// A command in the repository `tree` that finds `tardy` and the emulator by their names.
fn in_tree(bench: &Bench, words: &[&str]) -> Ended {
    let program = tardy(bench, &[]);
    let tardy_is_in = std::path::Path::new(program.get_program()).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = [bench.path(""), tardy_is_in.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(bench.path("tree"));
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", std::env::join_paths(places).unwrap());
    // Neither the user's configuration nor an enclosing repository.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("GIT_DIR");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A tester").env(format!("GIT_{role}_EMAIL"), "tester@example.org");
    }
    Ended::of(command.output().unwrap())
}

fn git(bench: &Bench, words: &[&str]) -> String {
    let ended = in_tree(bench, &[&["git"], words].concat());
    assert_eq!(ended.code, Some(0), "{words:?}: {}{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// The repository, between whose ends git searches; returns its commits.
fn repository() -> (Bench, Vec<String>) {
    let bench = laboratory();
    fs::copy(bench.path("qemu"), bench.path("qemu-system-x86_64")).unwrap();
    fs::create_dir(bench.path("tree")).unwrap();
    git(&bench, &["init", "--quiet"]);
    let commit = |at: usize| {
        // The emulator uses the last word.
        let kernel = if at < FIRST_BAD { "old" } else { "new" };
        fs::write(bench.path("tree/cmdline"), format!("note={at} {kernel}\n")).unwrap();
        fs::write(bench.path("tree/build"), if at == DOES_NOT_BUILD { "exit 2\n" } else { "cp cmdline built\n" })
            .unwrap();
        git(&bench, &["add", "cmdline", "build"]);
        git(&bench, &["commit", "--quiet", "-m", &format!("change {at}")]);
        git(&bench, &["rev-parse", "HEAD"]).trim().to_owned()
    };
    let commits: Vec<String> = (0..COMMITS).map(commit).collect();
    git(&bench, &["bisect", "start", &commits[COMMITS - 1], &commits[0]]);
    (bench, commits)
}

fn bisect_run(bench: &Bench, step: &str) -> Ended {
    in_tree(bench, &["git", "bisect", "run", "sh", "-c", &format!("sh build || exit 125; {ADD} || exit 125; {step}")])
}

#[test]
fn git_finds_the_commit_and_goes_round_one_that_does_not_build() {
    require!(Program("git"));
    let (bench, commits) = repository();
    let step = "tardy experiment bisect --step --limit 'latency < 3600ns' --seeds 2 -- --target mine --duration 1s --load dentry";
    let ended = bisect_run(&bench, step);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let found = format!("{} is the first bad commit", commits[FIRST_BAD]);
    assert!(ended.stdout.contains(&found), "{found}: {}{}", ended.stdout, ended.stderr);
    let skipped = git(&bench, &["bisect", "log"]);
    assert!(skipped.contains(&format!("git bisect skip {}", commits[DOES_NOT_BUILD])), "{skipped}");
    // A bad commit shows for its first seed, a good one for none of two.
    let steps = |verdict: &str| ended.stdout.matches(&format!("{verdict} (virtual time): ")).count();
    assert!(steps("good") > 0 && steps("BAD") > 0, "{}", ended.stdout);
    assert_eq!(emulators(&bench).len(), 2 * steps("good") + steps("BAD"), "{}", ended.stdout);
    let left = git(&bench, &["status", "--porcelain"]);
    assert_eq!(left.lines().collect::<Vec<_>>(), ["?? built", "?? targets/"], "nothing of a step stays in the tree");
}

#[test]
fn git_stops_where_a_step_says_nothing_of_the_commit() {
    require!(Program("git"));
    let (bench, commits) = repository();
    for step in [
        "tardy experiment bisect --step -- --target mine",
        "tardy experiment bisect --step --limit 'latency < 1ms' -- --target absent",
    ] {
        let ended = bisect_run(&bench, step);
        assert_ne!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let said = ended.stdout + &ended.stderr;
        assert!(said.contains("128") && !said.contains("is the first bad commit"), "{said}");
        let log = git(&bench, &["bisect", "log"]);
        // A commit that does not build is skipped; one that cannot be measured is neither good nor bad.
        let reported = |word: &str| log.lines().filter(|line| line.starts_with(&format!("git bisect {word}"))).count();
        assert_eq!((reported("good"), reported("bad")), (0, 0), "{log}");
        assert_eq!(emulators(&bench).len(), 0);
        git(&bench, &["bisect", "start", &commits[COMMITS - 1], &commits[0]]);
    }
}

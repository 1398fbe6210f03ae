//! The tutorial, followed on this machine: each command in order, with the documented exit code and output.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use fixtures::repository::repository_path;
use prerequisites::{Machine, require};
use std::path::PathBuf;
use std::process::Command;

/// A command of the tutorial, and the promise in the comment after its block.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    codes: Vec<i32>,
    phrase: String,
}

/// `<!-- exits with 0 or 1, prints "PHRASE" -->`
fn promise(line: &str) -> Option<(Vec<i32>, String)> {
    let inside = line.strip_prefix("<!-- exits with ")?.strip_suffix("\" -->")?;
    let (codes, phrase) = inside.split_once(", prints \"")?;
    let codes = codes.split(" or ").map(|code| code.parse().ok()).collect::<Option<_>>()?;
    Some((codes, phrase.to_owned()))
}

/// Every command after a prompt must be followed by its promise.
fn steps(document: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut waiting: Option<String> = None;
    for line in document.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            assert_eq!(waiting, None, "a command without a promise");
            waiting = Some(command.to_owned());
        } else if let Some((codes, phrase)) = promise(line) {
            let command = waiting.take().expect("a promise without a command");
            steps.push(Step { command, codes, phrase });
        }
    }
    assert_eq!(waiting, None, "a command without a promise");
    steps
}

#[test]
fn tutorial_keeps_its_promises() {
    require!(Root, Tracefs);
    let Some(meter) = real_meter() else { return };
    let path = repository_path("docs/tutorial/first-spike.md");
    let steps = steps(&std::fs::read_to_string(path).unwrap());
    assert!(steps.len() >= 5, "{steps:?}");

    let folder = tempfile::tempdir().unwrap();
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_tardy"));
    let search = format!("{}:{}", programs.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let _machine = Machine::alone();
    for step in steps {
        let mut shell = Command::new("sh");
        shell.args(["-c", &step.command]).current_dir(folder.path()).env("PATH", &search);
        shell.env("TARDY_METER", &meter).env("TARDY_STATE_DIR", folder.path().join("state"));
        let ended = Ended::of(shell.output().unwrap());
        let said = format!("{}\n{}{}", step.command, ended.stdout, ended.stderr);
        assert!(ended.code.is_some_and(|code| step.codes.contains(&code)), "{:?}: {said}", ended.code);
        assert!(said.contains(&step.phrase), "no {:?} in: {said}", step.phrase);
    }
}

#[test]
fn a_step_has_a_command_and_a_promise() {
    let document = "```console\n$ tardy check\n```\n\n<!-- exits with 0 or 1, prints \"severe\" -->\n";
    let expected = Step { command: "tardy check".into(), codes: vec![0, 1], phrase: "severe".into() };
    assert_eq!(steps(document), [expected]);
}

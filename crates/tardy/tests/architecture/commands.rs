//! The targets of the Makefile, as `make` alone lists them.

use crate::repository::{root, text};
use std::process::{Command, Output};

fn make(arguments: &[&str]) -> Output {
    let mut command = Command::new("make");
    // The test itself may be run by make.
    for inherited in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"] {
        command.env_remove(inherited);
    }
    command.args(arguments).current_dir(root()).output().expect("make runs")
}

fn listed() -> Vec<String> {
    let help = String::from_utf8(make(&["-s"]).stdout).unwrap();
    let names: Vec<String> = help
        .lines()
        .filter_map(|line| Some(line.trim_start().strip_prefix("make ")?.split(' ').next()?.into()))
        .collect();
    assert!(names.iter().any(|name| name == "demo"), "{help}");
    names
}

#[test]
fn every_target_that_make_lists_exists_and_finds_its_scripts() {
    for name in listed() {
        let plan = make(&["-n", &name]);
        assert!(plan.status.success(), "make {name}: {}", String::from_utf8_lossy(&plan.stderr));
    }
    for line in text("Makefile").lines().filter_map(|line| line.strip_prefix('\t')) {
        let program = line.trim_start_matches(['@', '-']).split(' ').next().unwrap_or_default();
        let built = program.starts_with("target/");
        let ours = program.contains('/') && !program.contains('$') && !program.starts_with('/') && !built;
        assert!(!ours || root().join(program).is_file(), "the Makefile runs {program}, which is not there");
    }
}

#[test]
fn the_documents_name_only_targets_that_exist() {
    let listed = listed();
    for document in ["README.md", "CONTRIBUTING.md"] {
        let text = text(document);
        let named = text.split("`make ").skip(1).filter_map(|rest| rest.split(['`', ' ']).next());
        for name in named {
            assert!(listed.iter().any(|target| target == name), "{document} names `make {name}`");
        }
    }
}

//! Every plan and target file of the documents, and the plans of `plans/`: each is checked, and each step that this machine can
//! measure runs, shortened.

use crate::desk::Desk;
use crate::examples::found::{TomlFile, toml_files};
use fixtures::repository::repository_path;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Kinds of machines and loads that a shortened plan leaves out, because this machine or a test lacks them.
const LEFT_OUT: [&str; 3] = ["targets", "kernels", "limits"];

/// The plans of the documents and of `plans/`, with the place of each.
fn plans() -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(repository_path("plans")).unwrap().flatten().map(|entry| entry.path());
    let files = files.map(|path| (path.clone(), fs::read_to_string(&path).unwrap()));
    files.chain(toml_files(TomlFile::Plan)).collect()
}

fn place(desk: &Desk, name: &str, text: &str) {
    fs::write(desk.path(name), text).unwrap();
}

#[test]
fn every_plan_of_the_documents_is_sound() {
    let desk = Desk::without_a_meter();
    let plans = plans();
    assert!(plans.len() >= 10, "{plans:?}");
    for (page, text) in plans {
        place(&desk, "plan.toml", &text);
        for verb in ["check", "show"] {
            let ended = desk.shell(&format!("tardy lab plan {verb} plan.toml"));
            assert_eq!(ended.code, Some(0), "{}: {text}{}", page.display(), ended.shown());
        }
    }
}

#[test]
fn every_file_of_chains_in_the_documents_is_one() {
    let files = toml_files(TomlFile::Chains);
    assert!(!files.is_empty());
    for (page, text) in files {
        let read = chains::declaration::ChainFile::parse(&text);
        assert!(read.is_ok(), "{}: {text}{read:?}", page.display());
    }
}

#[test]
fn every_target_file_of_the_documents_is_one() {
    let desk = Desk::without_a_meter();
    let files = toml_files(TomlFile::Target);
    assert!(!files.is_empty());
    for (page, text) in files {
        assert_eq!(desk.shell("tardy target add board --ssh root@192.0.2.1").code, Some(0));
        let path = Path::new("config/tardy/targets/board.toml");
        let added = fs::read_to_string(desk.path(path.to_str().unwrap())).unwrap();
        fs::write(desk.path(path.to_str().unwrap()), format!("{added}\n{text}")).unwrap();
        let ended = desk.shell("tardy target show board");
        assert_eq!(ended.code, Some(0), "{}: {}", page.display(), ended.shown());
        for key in text.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key) {
            assert!(ended.stdout.contains(&format!("{key} = ")), "{key} is not in {}", ended.stdout);
        }
    }
}

/// The plan on this machine alone, a second a step, without limits that a second cannot show.
fn shortened(text: &str) -> String {
    let mut plan: Table = text.parse().unwrap();
    plan.retain(|key, _| !LEFT_OUT.contains(&key));
    plan.insert("repetitions".into(), Value::Integer(1));
    let measurement = plan.entry("measurement").or_insert_with(|| Value::Table(Table::new())).as_table_mut().unwrap();
    measurement.remove("cycles");
    measurement.insert("duration".into(), Value::String("1s".into()));
    let trace = plan.entry("trace").or_insert_with(|| Value::Table(Table::new())).as_table_mut().unwrap();
    trace.insert("beside_others".into(), Value::Boolean(true));
    // Few kernels have every tracer.
    trace.retain(|key, _| !["tracer", "tracer_threshold", "functions", "functions_not"].contains(&key));
    plan.to_string().replace("make -j", "true -j")
}

fn has_second_machine(text: &str) -> bool {
    let plan: Table = text.parse().unwrap();
    plan.get("measurement").is_some_and(|measurement| measurement.get("stimulus").is_some())
}

#[test]
fn plans_of_the_documents_run() {
    let Some(desk) = Desk::new() else { return };
    // A wire to a second machine is in verbs/roles_live.rs.
    for (page, text) in plans().into_iter().filter(|(_, text)| !has_second_machine(text)) {
        let text = shortened(&text);
        place(&desk, "plan.toml", &text);
        let ended = desk.shell("tardy run plan.toml --json --out measured");
        assert_eq!(ended.code, Some(0), "{}: {text}{}", page.display(), ended.shown());
        let steps = desk.shell("tardy lab plan show plan.toml --json").json()["steps"].as_array().unwrap().len();
        let archives =
            fs::read_dir(desk.path("measured")).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
        assert_eq!(archives, steps, "{}: {}", page.display(), ended.shown());
        fs::remove_dir_all(desk.path("measured")).unwrap();
    }
}

//! `tardy desk` on this machine: a planted program comes first on its page, settings change and change back, and nothing is left.

mod at_desk;
mod planted;

use at_desk::{AtDesk, PATIENCE, rows};
use planted::{Planted, compiled};
use std::fs;
use std::process::Command;

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Trace instances of a meter: their names begin with its number.
fn instances_of(meters: &[String]) -> Vec<String> {
    let names = fs::read_dir(INSTANCES).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| meters.iter().any(|meter| name.starts_with(&format!("tardy-{meter}-")))).collect()
}

#[test]
fn a_planted_hog_comes_first_and_nothing_is_left() {
    prerequisites::require!(Root, Tracefs, Program("cc"));
    let _alone = planted::alone();
    let mut desk = AtDesk::open(&[]);
    let program = compiled(desk.place.path(), "hog");
    desk.wait_for_figures();
    let hog = Planted::start(Command::new(program).args(["0", "20000", "300000"]));
    desk.wait_for_first("hog", &["other-rt-task"]);
    // Shorter stretches of it may come first than the one that a use does not bear.
    let is_late = |page: &str, of: &str| {
        rows(page, "data-use").iter().any(|row| row["data-use"] == of && row["data-standing"] == "too-late")
    };
    let page = desk.wait(PATIENCE, "the verdicts", |page| is_late(page, "audio-256") && is_late(page, "frames-144"));
    let spike = rows(&page, "data-spike")[0]["data-spike"].to_owned();
    let account = desk.ask("GET", &format!("/desk/spikes/{spike}"));
    assert!(
        account.starts_with("HTTP/1.1 200") && account.contains(&format!("id=\"spike-{spike}\"")),
        "{spike}: {account}"
    );
    assert!(desk.ask("GET", "/desk/spikes/4000000000").starts_with("HTTP/1.1 404"));
    drop(hog);
    let meters = desk.children();
    assert_eq!(desk.archives().len(), 1);
    assert!(!instances_of(&meters).is_empty(), "{meters:?}");
    assert_eq!(desk.end(), Some(0));
    assert_eq!((desk.archives().len(), instances_of(&meters)), (0, Vec::new()), "archives and trace instances");
}

#[test]
fn a_fair_server_that_interrupts_real_time_work_comes_first() {
    prerequisites::require!(Root, Tracefs, Program("chrt"), Program("taskset"));
    const SPIN: [&str; 3] = ["sh", "-c", "while :; do :; done"];
    let _alone = planted::alone();
    let desk = AtDesk::open(&[]);
    desk.wait_for_figures();
    let on_cpu = |words: &[&str]| Planted::start(Command::new("taskset").args(["-c", "0"]).args(words).args(SPIN));
    // An ordinary program that a less urgent one of real time starves: the kernel lets it run nevertheless.
    let _ordinary = on_cpu(&[]);
    let _greedy = on_cpu(&["chrt", "-f", "50"]);
    desk.wait_for_first("the fair server", &["fair-server"]);
}

#[test]
fn a_program_that_has_too_little_memory_comes_first() {
    prerequisites::require!(Root, Tracefs, Program("taskset"), Program("cc"));
    let _alone = planted::alone();
    let group = planted::MemoryGroup::of(48 << 20);
    prerequisites::require!(Kernel("control groups that limit memory", group.is_some()));
    let group = group.unwrap();
    let desk = AtDesk::open(&[]);
    let program = compiled(desk.place.path(), "memory_hog");
    desk.wait_for_figures();
    let file = desk.place.path().join("memory");
    let _hog = group.start(Command::new("taskset").args(["-c", "0"]).arg(program).arg("256").arg(file));
    desk.wait_for_first("memory_hog", &["blocking-task", "reclaim", "irqs-off"]);
}

#[test]
fn a_desk_that_stays_open_begins_new_archives_and_few_of_them_stay() {
    prerequisites::require!(Root, Tracefs);
    let _alone = planted::alone();
    let mut desk = AtDesk::open(&["--session", "2s", "--keep"]);
    let page = desk.wait(PATIENCE, "six sessions", |page| rows(page, "data-earlier").len() >= 6);
    assert!(rows(&page, "data-earlier").iter().all(|row| row["data-earlier"] != "0"));
    // Three, the one that goes on, and one that ends.
    let kept = desk.archives().len();
    assert!((3..=5).contains(&kept), "{kept} archives");
    assert!(desk.ask("POST", "/desk/discard").starts_with("HTTP/1.1 303"));
    assert_eq!(desk.end(), Some(0));
    assert_eq!(desk.archives().len(), 0);
}

#[test]
fn a_kept_measurement_stays_and_its_shared_file_names_nothing() {
    prerequisites::require!(Root, Tracefs);
    let mut desk = AtDesk::open(&["--limit", "1us"]);
    desk.wait(PATIENCE, "an account", |page| !rows(page, "data-culprit").is_empty());
    let shared = desk.ask_for_bytes("POST", "/desk/share");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let named = format!("-{}", host.trim());
    assert!(shared.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&shared[..shared.len().min(2000)]));
    assert!(String::from_utf8_lossy(&shared).contains("publication.json"));
    assert!(!String::from_utf8_lossy(&shared).contains(&named), "the name of the host");
    assert!(desk.ask("POST", "/desk/keep").starts_with("HTTP/1.1 303"));
    assert_eq!(desk.end(), Some(0));
    let [kept] = &desk.archives()[..] else { panic!("{:?}", desk.archives()) };
    assert!(kept.join("explanations.json").is_file());
}

#[test]
fn a_setting_is_changed_and_changed_back_while_the_measurement_goes_on() {
    const SETTING: &str = "/proc/sys/vm/compact_unevictable_allowed";
    let before = fs::read_to_string(SETTING).unwrap_or_default();
    let is_default = before.trim() == "1";
    prerequisites::require!(Root, Tracefs, Prepared("the value 1 of vm.compact_unevictable_allowed", is_default));
    let mut desk = AtDesk::open(&[]);
    let button = |page: &str, what: &str| {
        let forms = page.split("action=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let place = |form: &String| form.ends_with(what);
        let at = page.find(SETTING).or_else(|| page.find("changed</span>"))?;
        let behind = &page[at..];
        forms.filter(place).find(|form| behind.contains(form.as_str()))
    };
    let page = desk.wait(PATIENCE, "the finding", |page| button(page, "/apply").is_some() && page.contains(SETTING));
    let apply = button(&page, "/apply").unwrap();
    assert!(desk.ask("POST", &apply).starts_with("HTTP/1.1 303"));
    assert_eq!(fs::read_to_string(SETTING).unwrap().trim(), "0");
    assert!(desk.ask("POST", &apply).starts_with("HTTP/1.1 303"), "a second click");
    let undo = apply.replace("/apply", "/undo");
    assert!(desk.page().contains(&undo), "the change stays on the page");
    assert!(desk.ask("POST", &undo).starts_with("HTTP/1.1 303"));
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
    assert!(!desk.page().contains(&undo));
    // The terminal is closed.
    assert_eq!(desk.end_by(rustix::process::Signal::HUP), Some(0));
    assert_eq!(desk.archives().len(), 0);
}

#[test]
fn the_entry_of_the_menu_is_valid_and_starts_the_desk() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/desktop/tardy-desk.desktop");
    let text = fs::read_to_string(path).unwrap();
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap();
    assert_eq!(
        (text.lines().next(), value("Type"), value("Terminal")),
        (Some("[Desktop Entry]"), "Application", "true")
    );
    let words: Vec<&str> = value("Exec").split(' ').collect();
    assert_eq!(words, ["tardy", "desk", "--open"]);
    let help = Command::new(env!("CARGO_BIN_EXE_tardy")).args(["desk", "--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--open"));
    if let Ok(checked) = Command::new("desktop-file-validate").arg(path).output() {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}

#[test]
fn other_machines_are_not_served() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(["desk", "--listen", "0.0.0.0:0", "--directory"]).arg(place.path());
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

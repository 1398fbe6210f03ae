//! A machine in virtual time is reproducible to the nanosecond, and all output about it says that it is virtual time.

use super::lab::Lab;
use archive::manifest::RunState;
use serde_json::Value;

const SHORT: [&str; 2] = ["--duration", "500ms"];

fn lab() -> Lab {
    Lab::with("debian:6.1-rt", &["--virtual-time"])
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn an_idle_and_a_loaded_guest_repeat_to_the_nanosecond() {
    let verified = lab().tardy(&["virtual", "repeat", "vm", "--runs", "2", "-D", "500ms", "--json"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let reported: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(reported["deterministic"], true);
    let sums: Vec<&Value> = reported["series"].as_array().unwrap().iter().map(|series| &series["sha256"]).collect();
    assert!(sums.iter().all(|sums| sums[0] == sums[1] && sums[0].as_str().unwrap().len() == 64), "{reported}");
    assert_ne!(sums[0], sums[1], "a load changes what happens");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn another_seed_is_another_trajectory_and_the_worst_is_named() {
    let lab = lab();
    let words = ["run", "--target", "vm", "--seeds", "2", "--limit", "1us", "--out", "seeds", "--json"];
    let ended = lab.tardy(&[&words[..], &SHORT].concat()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    let reported: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let seeds = reported["seeds"].as_array().unwrap();
    assert_eq!((seeds[0]["seed"].as_u64(), seeds[1]["seed"].as_u64()), (Some(1), Some(2)));
    assert_ne!(seeds[0]["sha256"], seeds[1]["sha256"]);
    let worst = seeds.iter().max_by_key(|seed| seed["max_ns"].as_i64()).unwrap();
    assert_eq!(reported["worst_seed"], worst["seed"]);
    let run = archive::reader::Run::open(lab.path("seeds/seed-0001")).unwrap();
    assert!(run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time && manifest.emulated));
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn every_figure_says_virtual_time_and_stopping_ends_the_guest() {
    let lab = lab();
    let (run, said) = lab.measured("run", &[&SHORT[..], &["--more"]].concat());
    assert!(said.starts_with("VIRTUAL TIME"), "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("guest seconds a second"), "{said}");
    let table = lab.tardy(&["export", "run", "--format", "worst-csv", "-o", "-"]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.starts_with("thread,cpu,cycle,due_ns_virtual_time,latency_ns_virtual_time\n"), "{table}");
    let html = lab.tardy(&["report", "run", "-o", "report.html"]).output().unwrap();
    assert!(html.status.success());
    assert!(super::lab::text(&lab.path("report.html")).contains("data-note=\"virtual-time\""));
    assert!(run.threads[&0].totals.cycles > 300);

    std::fs::remove_dir_all(lab.path("run")).unwrap();
    let (child, qemu) = lab.measuring(&["--duration", "1000s", "--quiet"]);
    super::lab::kill("-INT", child.id() as i32);
    child.wait_with_output().unwrap();
    super::lab::assert_gone(qemu);
    assert_eq!(lab.archive().manifest.unwrap().state, RunState::Interrupted);
}

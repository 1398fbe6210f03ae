//! `tardy desk` over virtual machines, each with one planted cause: that cause comes first in the ranking within a minute.

#[path = "../desk/at_desk.rs"]
mod at_desk;

use super::lab::{KERNEL, Lab, text};
use super::virtual_compare::{PARAMETERS, build};
use at_desk::AtDesk;
use std::fs;
use std::path::Path;

/// A kernel with a fair server whose tasks cannot be preempted in the kernel, as on most desktops.
const DESKTOP_KERNEL: &str = "debian:6.12";

/// Adds lines to the target file of the lab's machine.
fn describe(lab: &Lab, lines: &str) {
    let file = lab.path("targets/vm.toml");
    // Before its own lines: none of these is of a table.
    fs::write(&file, format!("{lines}\n{}", text(&file))).unwrap();
}

fn list(key: &str, values: &[String]) -> String {
    format!("{key} = {values:?}\n")
}

fn module(path: &Path) -> String {
    list("load_modules", &[path.display().to_string()])
}

/// Measures with the desk until one of these culprits comes first, with this name. An emulated machine is slow: below the limit are
/// wake-ups that are late without a planted cause, and their traces would take the time of the others.
fn comes_first(lab: &Lab, limit: &str, is_it: impl Fn(&str) -> bool, culprits: &[&str]) -> String {
    let options = ["--target", "vm", "--limit", limit];
    let mut desk = AtDesk::start(lab.tardy(&[]), tempfile::tempdir().unwrap(), &options);
    desk.wait_for_figures();
    let page = desk.wait_for_first_of(&format!("one of {culprits:?}"), is_it, culprits);
    assert_eq!(desk.end(), Some(0));
    assert_eq!(desk.archives().len(), 0);
    page
}

#[test]
#[ignore = "boots virtual machines: make e2e-desk"]
fn a_storm_of_interrupts_of_usb_comes_first() {
    let lab = Lab::with(KERNEL, &[]);
    let storm = ["section=line", "period_us=20000", "length_us=10000"].map(|one| format!("{PARAMETERS}/{one}"));
    describe(&lab, &format!("{}{}", module(&build(&lab)), list("settings", &storm)));
    comes_first(&lab, "2ms", |who| who.ends_with("xhci_hcd:tardy_inject"), &["irq-storm", "usb"]);
}

#[test]
#[ignore = "boots virtual machines: make e2e-desk"]
fn a_timer_of_a_module_comes_first() {
    let lab = Lab::with(KERNEL, &[]);
    let storm = ["section=timer", "period_us=20000", "length_us=10000"].map(|one| format!("{PARAMETERS}/{one}"));
    describe(&lab, &format!("{}{}", module(&build(&lab)), list("settings", &storm)));
    comes_first(&lab, "2ms", |who| who == "timer tardy_inject_timer", &["timers"]);
}

#[test]
#[ignore = "boots virtual machines: make e2e-desk"]
fn a_program_of_real_time_comes_first() {
    let lab = Lab::with(KERNEL, &[]);
    let hog = format!("{} 0 20000 100000", lab.program("hog").display());
    describe(&lab, &list("start_programs", &[hog]));
    comes_first(&lab, "5ms", |who| who == "hog", &["other-rt-task"]);
}

#[test]
#[ignore = "boots virtual machines: make e2e-desk"]
fn a_program_that_swaps_comes_first() {
    // A disk in memory of 1 GB, without interrupts of its own.
    const DISK: &str = "null_blk.memory_backed=1 null_blk.nr_devices=1 null_blk.gb=1 null_blk.irqmode=0";
    let lab = Lab::with(DESKTOP_KERNEL, &["--load-module", "null_blk", "--append", DISK]);
    let hog = format!("{} 0 128 32", lab.program("swap_hog").display());
    describe(&lab, &list("start_programs", &[hog]));
    comes_first(&lab, "1ms", |who| who == "swap_hog", &["blocking-task", "reclaim", "irqs-off"]);
}

#[test]
#[ignore = "boots virtual machines: make e2e-desk"]
fn an_idle_state_that_is_left_late_comes_first() {
    let lab = Lab::with(KERNEL, &["--append", "tardy_idle.exit_us=800"]);
    let idle = build(&lab).with_file_name("tardy_idle.ko");
    describe(&lab, &module(&idle));
    comes_first(&lab, "200us", |_| true, &["idle-exit"]);
}

#[test]
#[ignore = "boots virtual machines: make e2e-desk"]
fn an_unusual_fair_server_comes_first_and_its_setting_is_named() {
    const SERVER: &str = "/sys/kernel/debug/sched/fair_server/cpu0";
    // Its daemon would be the ordinary program that runs, and be named itself.
    let lab = Lab::with(DESKTOP_KERNEL, &["--append", "transparent_hugepage=never"]);
    let starve = format!("{} 0", lab.program("starve").display());
    // The kernel refuses a runtime above the period.
    let settings = ["period=200000000", "runtime=60000000"].map(|one| format!("{SERVER}/{one}"));
    describe(&lab, &format!("{}{}", list("settings", &settings), list("start_programs", &[starve])));
    let page = comes_first(&lab, "5ms", |_| true, &["fair-server"]);
    assert!(page.contains(&format!("{SERVER}/period")) && page.contains(&format!("{SERVER}/runtime")), "{page}");
}

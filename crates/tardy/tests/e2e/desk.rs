//! `tardy desk` over a virtual machine in which a module takes the CPU in an interrupt: the function of the module comes first.

#[path = "../desk/at_desk.rs"]
mod at_desk;

use super::lab::{KERNEL, Lab};
use super::virtual_compare::{PARAMETERS, build};
use at_desk::AtDesk;
use std::fs;

/// Half of the time, in pieces that each miss several wake-ups.
const STORM: [&str; 3] = ["section=timer", "period_us=20000", "length_us=10000"];

#[test]
#[ignore = "boots virtual machines; run `make e2e-compare`"]
fn a_storm_of_a_module_comes_first_within_a_minute() {
    let lab = Lab::with(KERNEL, &["--accel", "auto"]);
    let file = lab.path("targets/vm.toml");
    let module = build(&lab);
    let settings: Vec<String> = STORM.iter().map(|setting| format!("{PARAMETERS}/{setting}")).collect();
    let described = fs::read_to_string(&file).unwrap();
    let added = format!("load_modules = [{:?}]\nsettings = {settings:?}\n", module.display().to_string());
    fs::write(&file, format!("{added}{described}")).unwrap();
    let mut desk = AtDesk::start(lab.tardy(&[]), tempfile::tempdir().unwrap(), &["--target", "vm"]);
    desk.wait_for_figures();
    desk.wait_for_first("timer tardy_inject_timer", &["timers"]);
    assert_eq!(desk.end(), Some(0));
    assert_eq!(desk.archives().len(), 0);
}

//! The backend with the test program itself as a fake QEMU.

use super::fake_machine::{FAKE_STATE, Stage, be_guest};
use super::*;
use crate::{Exit, Output};
use std::os::unix::fs::PermissionsExt;

fn measure() -> Command {
    Command { program: "/meter".into(), arguments: vec!["measure".into()] }
}

fn started(stage: &Stage) -> (QemuTarget, Box<dyn RunningCommand>) {
    let mut target = stage.target(stage.machine());
    target.prepare().unwrap();
    let running = target.start(&measure()).unwrap();
    (target, running)
}

fn refused(stage: &Stage, machine: VirtualMachine) -> String {
    let mut target = stage.target(machine);
    target.prepare().unwrap();
    target.start(&measure()).err().expect("it did not boot").to_string()
}

fn everything(running: &mut dyn RunningCommand) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        match running.read(Duration::from_secs(60)) {
            Output::Bytes(bytes) => all.extend(bytes),
            Output::Quiet => panic!("nothing for a minute"),
            Output::Closed => return all,
        }
    }
}

#[test]
fn a_command_gets_its_input_and_gives_output_code_and_complaints() {
    let stage = Stage::new("serves");
    let (mut target, mut running) = started(&stage);
    running.write(b"fail\n").unwrap();
    assert_eq!(everything(running.as_mut()), b"measure got fail\n".repeat(10_000));
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(7)));
    assert_eq!(running.diagnostics(), ["a complaint"]);
    assert_eq!(target.booted().unwrap().kernel_release, "6.1-fake");
    assert_eq!(target.name(), "vm (emulated)");
    assert!(String::from_utf8(target.console()).unwrap().contains("hello"));
    drop(running);
    let scratch = target.scratch.as_ref().unwrap().0.clone();
    target.close().unwrap();
    stage.assert_nothing_is_left();
    assert!(!scratch.exists());
}

#[test]
fn commands_and_files_share_a_machine_until_a_command_fails() {
    let stage = Stage::new("serves");
    let (mut target, mut running) = started(&stage);
    let boots = || fs::read_to_string(stage.path("boots")).unwrap().lines().count();
    running.write(b"one\nleft over").unwrap();
    assert_eq!(everything(running.as_mut()).len(), 10_000 * "measure got one\n".len());
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));

    fs::write(stage.path("program"), "contents").unwrap();
    fs::set_permissions(stage.path("program"), fs::Permissions::from_mode(0o755)).unwrap();
    target.send_file(&stage.path("program"), Path::new("/opt/program")).unwrap();
    target.fetch_file(Path::new("/opt/program"), &stage.path("back")).unwrap();
    let back = fs::read_to_string(stage.path("back")).unwrap();
    assert!(back.starts_with("contents ") && back.ends_with(" run"), "{back}");
    let why = target.fetch_file(Path::new("/absent"), &stage.path("back")).unwrap_err().to_string();
    assert!(why.contains(" /absent"), "{why}");
    for path in ["relative", "/a/../b", "/init"] {
        assert!(target.send_file(&stage.path("program"), Path::new(path)).is_err(), "{path}");
        assert!(target.fetch_file(Path::new(path), &stage.path("back")).is_err(), "{path}");
    }

    let mut second = target.start(&measure()).unwrap();
    second.write(b"fail\n").unwrap();
    assert_eq!(everything(second.as_mut()), b"measure got fail\n".repeat(10_000));
    assert_eq!(second.wait(Duration::from_secs(60)), Some(Exit::Code(7)));
    assert_eq!(boots(), 1);
    assert!(
        target.fetch_file(Path::new("/opt/program"), &stage.path("back")).is_err(),
        "it cannot be trusted any more"
    );
    let third = target.start(&measure()).unwrap();
    assert_eq!(boots(), 2);
    // Dropping a running command ends its machine.
    drop((running, second, third));
    assert!(target.fetch_file(Path::new("/opt/program"), &stage.path("back")).is_err());
    drop(target);
    stage.assert_nothing_is_left();
}

#[test]
fn a_boot_writes_the_settings_of_the_file_before_the_first_command() {
    let stage = Stage::new("serves");
    let mut target = stage.target(VirtualMachine { settings: vec!["/proc/irq/9/smp=0-1=x".into()], ..stage.machine() });
    target.prepare().unwrap();
    let mut running = target.start(&measure()).unwrap();
    running.write(b"one\n").unwrap();
    assert_eq!(everything(running.as_mut()).len(), 10_000 * "measure got one\n".len());
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    target.fetch_file(Path::new("/proc/irq/9/smp"), &stage.path("back")).unwrap();
    assert_eq!(fs::read_to_string(stage.path("back")).unwrap(), "0-1=x");
    drop((running, target));
    stage.assert_nothing_is_left();
}

#[test]
fn a_kvm_that_is_there_and_hangs_costs_only_time() {
    let stage = Stage::new("hangs-with-kvm");
    fs::write(stage.path("kvm"), "").unwrap();
    let machine = VirtualMachine { accel: AcceleratorChoice::Auto, boot_seconds: 3, ..stage.machine() };
    let mut target = stage.target(machine);
    target.kvm = stage.path("kvm");
    target.prepare().unwrap();
    assert_eq!(target.name(), "vm (emulated)");
    stage.assert_nothing_is_left();
}

#[test]
fn a_kvm_that_works_is_used_and_said_to_be_no_hardware() {
    let stage = Stage::new("serves");
    fs::write(stage.path("kvm"), "").unwrap();
    let mut target = stage.target(VirtualMachine { accel: AcceleratorChoice::Auto, ..stage.machine() });
    target.kvm = stage.path("kvm");
    target.prepare().unwrap();
    assert_eq!(target.name(), "vm (virtual)");
    assert!(!target.caveat().unwrap().is_emulated());
    stage.assert_nothing_is_left();
}

#[test]
fn a_machine_that_hangs_while_booting_is_killed_and_quoted() {
    let stage = Stage::new("hangs");
    let why = refused(&stage, VirtualMachine { boot_seconds: 2, ..stage.machine() });
    assert!(why.contains(" 2 s") && why.contains("hello"), "{why}");
    stage.assert_nothing_is_left();
}

#[test]
fn a_qemu_that_refuses_is_quoted() {
    let stage = Stage::new("refuses");
    let why = refused(&stage, stage.machine());
    assert!(why.contains("QEMU ended") && why.contains("invalid accelerator"), "{why}");
}

#[test]
fn a_guest_that_cannot_go_on_says_why() {
    let stage = Stage::new("fails");
    assert!(refused(&stage, stage.machine()).contains("no virtio_console"));
    stage.assert_nothing_is_left();
}

#[test]
fn a_missing_qemu_names_its_package() {
    let stage = Stage::new("serves");
    let machine = VirtualMachine { qemu: Some("qemu-system-absent".into()), ..stage.machine() };
    let why = stage.target(machine).prepare().unwrap_err().to_string();
    assert!(why.contains("qemu-system-x86"), "{why}");
}

#[test]
fn a_meter_that_needs_libraries_is_refused() {
    let stage = Stage::new("serves");
    fs::copy("/bin/sh", stage.path("meter")).unwrap();
    assert!(stage.target(stage.machine()).prepare().unwrap_err().to_string().contains("make build"));
}

/// Starts a machine, drops it, and returns whether it was restored and what was reported.
fn restored(stage: &Stage) -> (bool, String) {
    let mut target = stage.target(VirtualMachine { saved_state: true, ..stage.machine() });
    target.prepare().unwrap();
    let mut running = target.start(&measure()).unwrap();
    running.write(b"one\n").unwrap();
    assert_eq!(everything(running.as_mut()).len(), 10_000 * "measure got one\n".len());
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    drop(running);
    let notices = target.notices().iter().map(|notice| format!("[{}] {}", notice.code, notice.text)).collect();
    let booted = target.booted().unwrap();
    assert_eq!(booted.kernel_release, "6.1-fake");
    (booted.restored, notices)
}

fn only_state(stage: &Stage) -> PathBuf {
    let states: Vec<_> = fs::read_dir(stage.path("states")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(states.len(), 1, "{states:?}");
    states[0].clone()
}

#[test]
fn a_machine_goes_on_from_where_it_was_saved_and_says_so() {
    let stage = Stage::new("serves");
    assert_eq!(restored(&stage), (false, String::new()));
    assert_eq!(fs::read(only_state(&stage)).unwrap(), FAKE_STATE);
    let (was, notices) = restored(&stage);
    assert!(was && notices.contains("[machine.restored]"), "{notices}");
    // Another meter means another machine.
    fs::write(stage.path("meter"), "a newer one").unwrap();
    assert_eq!(restored(&stage), (false, String::new()));
    stage.assert_nothing_is_left();
}

#[test]
fn a_state_that_does_not_load_costs_a_boot_and_is_replaced() {
    let stage = Stage::new("serves");
    restored(&stage);
    let state = only_state(&stage);
    fs::write(&state, "damaged").unwrap();
    let (was, notices) = restored(&stage);
    assert!(!was && notices.contains("[machine.state-not-loaded]") && notices.contains("bad state"), "{notices}");
    assert_eq!(only_state(&stage), state);
    assert!(restored(&stage).0);
    stage.assert_nothing_is_left();
}

#[test]
fn a_machine_that_cannot_be_saved_runs_all_the_same() {
    let stage = Stage::new("cannot-be-saved");
    let (was, notices) = restored(&stage);
    assert!(!was && notices.contains("[machine.state-not-saved]") && notices.contains("blocked"), "{notices}");
    assert_eq!(fs::read_dir(stage.path("states")).unwrap().count(), 0);
}

#[test]
fn a_request_to_stop_ends_a_boot() {
    let stage = Stage::new("hangs");
    stage.stop.request();
    let mut target = stage.target(stage.machine());
    target.prepare().unwrap();
    assert!(matches!(target.start(&measure()).err(), Some(TargetError::Stopped { .. })));
    stage.assert_nothing_is_left();
}

/// Not a test: the other end of the tests above.
#[test]
#[ignore = "the tests above start it"]
fn the_fake_machine() {
    be_guest();
}

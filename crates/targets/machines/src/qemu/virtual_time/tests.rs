//! The backend with a shell script as a fake QEMU.

use super::fake_qemu::Stage;
use super::*;
use crate::{Exit, Output};
use archive::settings::RunSettings;
use std::fs;
use std::time::Duration;

fn measure() -> Command {
    Command { program: "/meter".into(), arguments: vec!["measure".into()] }
}

#[test]
fn the_guest_gets_its_request_before_it_boots_and_its_stream_comes_whole() {
    let stage = Stage::with("send first 0; sleep 0.2; send ' second' 5; echo hello >$console");
    let mut target = stage.target();
    target.prepare().unwrap();
    let mut running = target.start(&measure()).unwrap();
    running.write(serde_json::to_string(&RunSettings::default()).unwrap().as_bytes()).unwrap();
    assert_eq!(running.read(Duration::ZERO), Output::Closed, "nothing runs before the settings are complete");
    running.write(b"\n").unwrap();
    let mut output = Vec::new();
    while let Output::Bytes(bytes) = running.read(Duration::from_secs(60)) {
        output.extend(bytes);
    }
    assert_eq!(output, b"first second");
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    assert_eq!(target.console(), b"hello\n");
    let initramfs = fs::read(target.scratch.as_ref().unwrap().0.join("initramfs")).unwrap();
    let text = String::from_utf8_lossy(&initramfs);
    assert!(text.contains("\"hostname\":\"virtual-time\",\"start_ns\":5000000000"), "the plan is in the file system");
    assert!(target.caveat().unwrap().is_virtual_time());
}

#[test]
fn nothing_but_measuring_is_done_there() {
    let stage = Stage::with("");
    let mut target = stage.target();
    target.prepare().unwrap();
    let version = Command { arguments: vec!["--version".into()], ..measure() };
    assert!(target.start(&version).is_err());
    assert!(target.fetch_file(Path::new("/x"), &stage.path("x")).is_err());
}

#[test]
fn a_file_that_is_sent_is_in_the_guest_and_changes_what_it_is_made_of() {
    let stage = Stage::with(
        r#"while [ $# -gt 0 ]; do [ "$1" = -initrd ] && cp "$2" "$(dirname "$0")/seen"; shift; done; send x 0"#,
    );
    fs::write(stage.path("program"), "what a program does").unwrap();
    let mut target = stage.target();
    target.prepare().unwrap();
    let before = target.ingredients();
    for path in ["relative", "/tardy-meter", "/a/../b"] {
        assert!(target.send_file(&stage.path("program"), Path::new(path)).is_err(), "{path}");
    }
    target.send_file(&stage.path("program"), Path::new("/program")).unwrap();
    let more: Vec<String> = target.ingredients().into_keys().filter(|name| !before.contains_key(name)).collect();
    assert_eq!(more, ["file /program"]);
    let mut running = target.start(&measure()).unwrap();
    running.write(format!("{}\n", serde_json::to_string(&RunSettings::default()).unwrap()).as_bytes()).unwrap();
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    let seen = fs::read(stage.path("seen")).unwrap();
    assert!(seen.windows(19).any(|bytes| bytes == b"what a program does"));
}

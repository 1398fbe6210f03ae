//! `tardy target` and `tardy run --target`, as far as they need no virtual machine.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A directory with a file that is accepted as a kernel; target files stay inside.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let mut kernel = b"\x7fELF\x02\x01".to_vec();
        kernel.resize(64, 0);
        kernel[18] = 62;
        fs::write(desk.path("vmlinux"), kernel).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Code, standard output and standard error.
    fn tardy(&self, words: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.0.path()).env("XDG_CONFIG_HOME", self.path("configuration"));
        command.env("XDG_CACHE_HOME", self.path("cache")).env("TARDY_METER", env!("CARGO_BIN_EXE_tardy"));
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    fn adds(&self, words: &[&str]) -> (i32, String, String) {
        self.tardy(&[&["target", "add", "vm", "--kernel", "vmlinux"], words].concat())
    }
}

#[test]
fn a_target_is_added_listed_shown_and_removed() {
    let desk = Desk::new();
    let (code, _, said) = desk.adds(&["--cpus", "4", "--qemu-arg=-seed", "--qemu-arg", "1", "--append", "isolcpus=3"]);
    assert_eq!((code, said.as_str()), (0, ""));
    let file = desk.path("configuration/tardy/targets/vm.toml");
    assert!(file.is_file());

    let (_, shown, _) = desk.tardy(&["target", "show", "vm", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["cpus"], 4);
    assert_eq!(shown["qemu_arguments"], serde_json::json!(["-seed", "1"]));
    assert_eq!(shown["kernel_arguments"], "isolcpus=3");
    assert_eq!(shown["kernel"], desk.path("vmlinux").to_str().unwrap(), "a path holds from anywhere");
    let (_, listed, _) = desk.tardy(&["target", "list"]);
    assert!(listed.contains("local") && listed.contains(file.to_str().unwrap()), "{listed}");

    let (code, removed, _) = desk.tardy(&["target", "remove", "vm", "--json"]);
    assert_eq!((code, &serde_json::from_str::<Value>(&removed).unwrap()["target"]), (0, &"vm".into()));
    assert!(!file.exists());
    assert_eq!(desk.tardy(&["target", "show", "vm"]).0, 2);
}

#[test]
fn a_kernel_at_a_path_says_what_it_is_for() {
    let desk = Desk::new();
    let mut image = vec![0; 64];
    image[0x38..0x3c].copy_from_slice(b"ARM\x64");
    fs::write(desk.path("Image"), image).unwrap();
    assert_eq!(desk.tardy(&["target", "add", "arm", "--kernel", "Image"]).0, 0);
    let (_, shown, _) = desk.tardy(&["target", "show", "arm"]);
    assert!(shown.contains("architecture = \"arm64\""), "{shown}");
    let (code, _, said) = desk.tardy(&["run", "--target", "arm", "--out", "run"]);
    assert!(code == 3 && said.contains("make meters"), "{said}");
}

#[test]
fn a_target_that_is_there_is_replaced_only_by_force() {
    let desk = Desk::new();
    assert_eq!(desk.adds(&["--here"]).0, 0);
    assert!(desk.path("targets/vm.toml").is_file());
    let (code, _, said) = desk.adds(&["--here", "--memory", "512"]);
    assert!(code == 2 && said.contains("--force"), "{said}");
    assert_eq!(desk.adds(&["--here", "--memory", "512", "--force"]).0, 0);
    assert!(fs::read_to_string(desk.path("targets/vm.toml")).unwrap().contains("memory_mb = 512"));
}

#[test]
fn what_cannot_be_a_target_is_refused_with_the_fix() {
    let desk = Desk::new();
    let (code, _, said) = desk.tardy(&["target", "add", "local", "--kernel", "vmlinux"]);
    assert!(code == 2 && said.contains("this machine"), "{said}");
    let (code, _, said) = desk.tardy(&["target", "add", "vm", "--kernel", "debian:latest"]);
    assert!(code == 2 && said.contains("debian:6.1"), "{said}");
    let (code, _, said) = desk.tardy(&["target", "add", "vm", "--kernel", "absent"]);
    assert!(code == 3 && said.contains("absent"), "{said}");
    assert_eq!(desk.adds(&["--cpus", "0"]).0, 2);
    let (code, _, said) = desk.adds(&["--arch", "arm64"]);
    assert!(code == 3 && said.contains(" x86_64,") && said.contains(" arm64"), "{said}");
    assert!(!desk.path("configuration").exists(), "nothing was written");
}

#[test]
fn a_run_on_a_target_that_is_not_there_leaves_nothing() {
    let desk = Desk::new();
    let (code, _, said) = desk.tardy(&["run", "--target", "vm", "--out", "run"]);
    assert!(code == 2 && said.contains("tardy target add vm"), "{said}");
    assert!(!desk.path("run").exists());
    fs::create_dir(desk.path("targets")).unwrap();
    fs::write(desk.path("targets/vm.toml"), "backend = \"qemu\"\nkernal = 1\n").unwrap();
    let (code, _, said) = desk.tardy(&["run", "--target", "vm", "--out", "run"]);
    assert!(code == 2 && said.contains("vm.toml") && said.contains("kernal"), "{said}");
}

//! A machine whose only connection is a UART, to which its kernel writes at every level while results go through it.

use crate::lab::{KERNEL, Lab};
use archive::manifest::RunState;
use archive::reader::Run;
use machines::KnownTarget;
use machines::qemu::kernel;
use machines::target_file::TargetFiles;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(180);

/// The first program there: a login on the second UART, a kernel message there every 20 ms, and the listing of /tmp on
/// the first.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev; mount -t tmpfs none /tmp
dmesg -n 8
hostname bare
(while :; do number=$((number + 1)); echo "noise $number: the kernel speaks on the console" > /dev/kmsg; usleep 20000; done) &
(while :; do echo "in tmp: [$(ls /tmp | tr '\n' ' ')]" > /dev/ttyS0; sleep 1; done) &
while :; do getty -L 115200 ttyS1 vt100; done
"#;

/// Output of `openssl passwd -6 -salt tardytardy secret`.
const SECRET: &str =
    "$6$tardytardy$jT5pX4UsIWSu4Q6uDwxRD6T9HS8bEol/cwNtPy.tv0US2fTGmREM61bF0fbM2hj9lfpA0MLjB4zEHPWvHNxcO.";

/// The machine, and the directory of its files.
struct Machine {
    qemu: Child,
    console: std::path::PathBuf,
}

fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// An archive with BusyBox and [`INIT`].
fn initial_files(folder: &Path) -> std::path::PathBuf {
    let tree = folder.join("tree");
    for name in ["bin", "dev", "proc", "sys", "tmp", "etc", "root"] {
        fs::create_dir_all(tree.join(name)).unwrap();
    }
    fs::copy(said("sh", &["-c", "command -v busybox"]), tree.join("bin/busybox")).unwrap();
    symlink("busybox", tree.join("bin/sh")).unwrap();
    fs::write(tree.join("init"), INIT).unwrap();
    fs::set_permissions(tree.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(tree.join("etc/passwd"), format!("root:{SECRET}:0:0:root:/root:/bin/sh\n")).unwrap();
    let archive = folder.join("bare.cpio");
    let mut pack = Command::new("busybox")
        .args(["cpio", "-o", "-H", "newc"])
        .current_dir(&tree)
        .stdin(Stdio::piped())
        .stdout(fs::File::create(&archive).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let names = said("sh", &["-c", &format!("cd '{}' && find .", tree.display())]);
    pack.stdin.take().unwrap().write_all(names.as_bytes()).unwrap();
    assert!(pack.wait().unwrap().success());
    archive
}

impl Machine {
    fn boot(lab: &Lab) -> Self {
        let files = TargetFiles { here: lab.path("targets"), own: None };
        let machine = KnownTarget::find_in(&files, "vm").unwrap().virtual_machine().unwrap().clone();
        let kernel = kernel::find(&machine, &kernel::cache().unwrap()).unwrap().image;
        let initial = initial_files(&lab.path("."));
        let console = lab.path("first-uart");
        let qemu = Command::new("qemu-system-x86_64")
            .args([
                "-accel",
                "tcg",
                "-M",
                "q35",
                "-cpu",
                "max",
                "-smp",
                "2",
                "-m",
                "512",
                "-nodefaults",
                "-display",
                "none",
            ])
            .args(["-no-reboot", "-kernel"])
            .arg(kernel)
            .arg("-initrd")
            .arg(initial)
            .args(["-append", "console=ttyS1,115200 panic=-1 ignore_loglevel"])
            .arg("-serial")
            .arg(format!("file:{}", console.display()))
            .arg("-serial")
            .arg(format!("unix:{},server=on,wait=off", lab.path("uart").display()))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let machine = Self { qemu, console };
        machine.await_words("in tmp: []");
        machine
    }

    fn await_words(&self, words: &str) {
        let begun = Instant::now();
        while !String::from_utf8_lossy(&fs::read(&self.console).unwrap_or_default()).contains(words) {
            assert!(begun.elapsed() < PATIENCE, "it never said {words:?}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Asserts that /tmp of the machine is clean, as it reports from now on.
    fn assert_clean(&self) {
        let before = fs::metadata(&self.console).unwrap().len() as usize;
        let begun = Instant::now();
        loop {
            let said = fs::read(&self.console).unwrap();
            let new = String::from_utf8_lossy(&said[before..]).into_owned();
            if new.contains("in tmp: []") {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "something was left there: {new}");
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

fn assert_complete(lab: &Lab) -> Run {
    let run = lab.archive();
    assert!(run.gaps.is_empty() && run.losses.is_empty(), "{:?} {:?}", run.gaps, run.losses);
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    assert!(run.threads.values().all(|thread| thread.totals.cycles > 0));
    let console = fs::read_to_string(lab.path("run/console.log")).unwrap();
    assert!(console.contains("the kernel speaks on the console"), "{console}");
    run
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_run_over_a_uart_is_whole_although_the_kernel_speaks_on_it() {
    let lab = Lab::with(KERNEL, &[]);
    let machine = Machine::boot(&lab);
    let line = format!("unix:{}", lab.path("uart").display());
    let add = ["target", "add", "bare", "--here", "--serial", &line, "--password-command", "echo secret"];
    assert!(lab.tardy(&[&add[..], &["--keep-meter"]].concat()).status().unwrap().success());
    let run = ["run", "--target", "bare", "-D", "5s", "--every-sample", "--out", "run"];
    let ended = lab.tardy(&run).output().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{said}{complained}");
    let run = assert_complete(&lab);
    assert!(run.environment.as_ref().unwrap().kernel_release.contains("-rt-"), "{:?}", run.environment);
    let damage = run.problems.iter().find(|problem| problem.code == "machine.console-damaged");
    assert!(damage.is_some(), "{:?}", run.problems);
    assert!(complained.contains("sending the meter"), "{complained}");

    // After its host dies, the run continues alone; the next host skips what the first left on the line, and fetches
    // everything.
    fs::remove_dir_all(lab.path("run")).unwrap();
    let words = ["run", "--target", "bare", "-D", "5s", "--every-sample", "--trace", "off", "--out", "run"];
    let mut host = lab.tardy(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !lab.path("run/samples/0.partial").is_file() {
        assert!(begun.elapsed() < PATIENCE, "it never measured");
        thread::sleep(Duration::from_millis(100));
    }
    host.kill().unwrap();
    host.wait().unwrap();
    let collected = lab.tardy(&["target", "collect", "run"]).output().unwrap();
    assert!(collected.status.success(), "{}", String::from_utf8_lossy(&collected.stderr));
    let run = assert_complete(&lab);
    assert!(run.problems.iter().any(|problem| problem.text.contains("fetched later")), "{:?}", run.problems);

    // Files kept there are removed with the option that kept them.
    assert!(lab.tardy(&[&add[..], &["--force"]].concat()).status().unwrap().success());
    let verified = lab.tardy(&["target", "verify", "bare"]).output().unwrap();
    let complained = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && !complained.contains("sending"), "{complained}");
    machine.assert_clean();
}

//! However a run with the real-time clock ends, the kernel survives it, and the clock is as it was. On PREEMPT_RT a reader that
//! switches the interrupt off at its real-time priority, or is the last one to close the device, takes the only CPU for ever.

use crate::lab::Lab;
use archive::method::Method;
use archive::settings::RunSettings;
use machines::KnownTarget;
use machines::meter_places::MeterPlaces;
use machines::qemu::kernel;
use machines::target_file::TargetFiles;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(400);

/// Each way to end, several times: the reader is hit at another point of its cycle each time. `state` waits until no process
/// of the meter is left.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev; mount -t tmpfs none /tmp
mkfifo /tmp/line
state() {
  while pidof tardy-meter exe > /dev/null; do usleep 50000; done
  echo "state [$(grep -i periodic /proc/driver/rtc | tr -d '\t\n')]"
}
state
for round in 1 2 3 4 5; do
  for way in INT TERM KILL line keeper stopped; do
    tardy-meter measure < /tmp/line > /tmp/out 2> /tmp/err &
    meter=$!
    exec 3> /tmp/line
    cat /settings >&3
    count=0
    until grep -q 'enabled.*yes' /proc/driver/rtc; do
      usleep 50000; count=$((count + 1))
      [ $count = 1200 ] && { echo "never measured: $(cat /tmp/err)"; tr -c ' -~' ' ' < /tmp/out | tail -c 600; poweroff -f; }
    done
    usleep 3${round}1234
    case $way in
      line) exec 3>&- ;;
      keeper) for process in $(grep -l keep-rtc /proc/[0-9]*/cmdline); do process=${process%/cmdline}; kill -KILL ${process#/proc/}; done
        usleep 50000; kill -INT $meter ;;
      stopped) kill -STOP $meter; usleep 20000; kill -CONT $meter; kill -KILL $meter ;;
      *) kill -$way $meter ;;
    esac
    wait $meter 2> /dev/null
    exec 3>&-
    echo "survived $way $round"
    state
  done
done
echo "all survived"
poweroff -f
"#;

/// A reader that protects itself and one that does not, each several times.
const UNPROTECTED: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev
for round in 1 2 3 4 5; do reader protected && echo "protected $round"; done
for round in 1 2 3 4 5; do reader && echo "unprotected $round"; done
poweroff -f
"#;

/// An archive with BusyBox, the meter, its settings, the reader and an init.
fn initial_files(lab: &Lab, meter: &Path, init: &str) -> PathBuf {
    let tree = lab.path("tree");
    for name in ["bin", "dev", "proc", "sys", "tmp"] {
        fs::create_dir_all(tree.join(name)).unwrap();
    }
    let busybox = Command::new("sh").args(["-c", "command -v busybox"]).output().unwrap();
    fs::copy(String::from_utf8(busybox.stdout).unwrap().trim(), tree.join("bin/busybox")).unwrap();
    fs::copy(meter, tree.join("bin/tardy-meter")).unwrap();
    symlink("busybox", tree.join("bin/sh")).unwrap();
    let settings =
        RunSettings { duration_ns: None, settle_ns: 0, method: Method::Rtc.into(), ..RunSettings::default() };
    let mut line = serde_json::to_string(&settings).unwrap();
    line.push('\n');
    fs::write(tree.join("settings"), line).unwrap();
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/rtc_reader.c");
    let compiled = Command::new("cc").args(["-O1", "-static", "-o"]).arg(tree.join("bin/reader")).arg(reader).status();
    assert!(compiled.unwrap().success());
    fs::write(tree.join("init"), init).unwrap();
    fs::set_permissions(tree.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    let archive = lab.path("initial.cpio");
    let packed = Command::new("sh")
        .args(["-c", "find . | busybox cpio -o -H newc > ../initial.cpio 2> /dev/null"])
        .current_dir(&tree)
        .status()
        .unwrap();
    assert!(packed.success());
    archive
}

/// A QEMU that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Output of a machine until it is off, at most for so long.
fn console_of(kernel: &str, init: &str, patience: Duration) -> String {
    let lab = Lab::with(kernel, &[]);
    let files = TargetFiles { here: lab.path("targets"), own: None };
    let machine = KnownTarget::find_in(&files, "vm").unwrap().virtual_machine().unwrap().clone();
    let image = kernel::find(&machine, &kernel::cache().unwrap()).unwrap().image;
    let meter = MeterPlaces::of_process().find_for(machine.architecture).unwrap();
    let initial = initial_files(&lab, &meter, init);
    let console = lab.path("console");
    let words =
        ["-accel", "tcg", "-M", "q35", "-cpu", "max", "-smp", "1", "-m", "512", "-nodefaults", "-display", "none"];
    let qemu = Command::new("qemu-system-x86_64")
        .args(words)
        .args([
            "-no-reboot",
            "-append",
            "console=ttyS0 quiet panic=-1 tsc=reliable clocksource=tsc no_timer_check",
            "-kernel",
        ])
        .arg(image)
        .arg("-initrd")
        .arg(initial)
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut qemu = Running(qemu);
    let begun = Instant::now();
    while qemu.0.try_wait().unwrap().is_none() && begun.elapsed() < patience {
        thread::sleep(Duration::from_millis(200));
    }
    String::from_utf8_lossy(&fs::read(console).unwrap()).into_owned()
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn no_way_to_end_hangs_the_kernel_or_leaves_the_interrupt_on() {
    for kernel in ["debian:6.1-rt", "debian:6.1"] {
        let console = console_of(kernel, INIT, PATIENCE);
        assert!(console.contains("all survived"), "{kernel} hangs, or never measured:\n{console}");
        let mut states = console.lines().filter_map(|line| line.trim().strip_prefix("state "));
        let before = states.next().unwrap();
        let after: Vec<&str> = states.collect();
        assert_eq!(after.len(), 30, "{kernel}: {console}");
        assert!(after.iter().all(|state| *state == before), "{kernel}: {before} became {after:?}");
    }
}

/// The hang is there on this kernel and this machine: the test above would see it.
#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn a_reader_without_the_protection_hangs_preempt_rt() {
    let patience = Duration::from_secs(60);
    let real_time = console_of("debian:6.1-rt", UNPROTECTED, patience);
    let has = |console: &str, line: &str| console.lines().any(|other| other.trim() == line);
    assert!(has(&real_time, "protected 5") && !has(&real_time, "unprotected 5"), "{real_time}");
    let stock = console_of("debian:6.1", UNPROTECTED, patience);
    assert!(has(&stock, "unprotected 5"), "{stock}");
}

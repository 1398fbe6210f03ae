//! `tardy guard` on a machine that is reset in the middle of a miss: the guard after the boot accounts for it, by the events in memory that
//! the reset kept.

use crate::lab::{Lab, text};
use machines::KnownTarget;
use machines::qemu::kernel;
use machines::target_file::TargetFiles;
use prerequisites::Prerequisite::Program;
use prerequisites::met;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const KERNEL: &str = "debian:6.12-rt";
const MODULES: [&str; 3] = ["virtio_blk", "crc32c_generic", "ext4"];
/// With 512 MB the firmware writes over a part of the reserved memory.
const MEMORY_MB: &str = "1024";
const KEPT: &str = "reserve_mem=20M:4096:tardy trace_instance=tardy-kept^traceoff@tardy";
const PATIENCE: Duration = Duration::from_secs(400);
/// The machine is in the middle of the miss by then.
const STUCK_FOR: Duration = Duration::from_secs(4);
const DISK_BYTES: u64 = 64 << 20;

/// The first process. At the first boot QEMU resets the machine, at the second the kernel does, at the third it ends.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /disk /root
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root TARDY_METER=/tardy-meter TARDY_STATE_DIR=/disk/state
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tracefs trace /sys/kernel/tracing
for module in /modules/*.ko; do insmod $module; done
mount -t ext4 /dev/vda /disk
boot=$(($(cat /disk/boots 2>/dev/null || echo 0) + 1)); echo $boot > /disk/boots; sync
taskset 2 /stuck 1 /tmp/go &
/tardy guard --comm stuck-arm --limit 50ms --directory /disk/guard > /tmp/lines 2>&1 &
until grep -q "a recorded event costs" /tmp/lines; do sleep 1; kill -0 $! || break; done
cat /tmp/lines
if [ $boot = 3 ]; then
  sleep 2; sync; echo "ENDED"; poweroff -f
fi
sleep 5; sync; touch /tmp/go; echo "STUCK $boot"
[ $boot = 2 ] && { sleep 3; echo b > /proc/sysrq-trigger; }
sleep 1000
"#;

/// The machine, which ends with the test.
struct Guest {
    qemu: Child,
    console: PathBuf,
}

impl Guest {
    fn wait_for(&mut self, words: &str) {
        let begun = Instant::now();
        while !fs::read_to_string(&self.console).is_ok_and(|said| said.contains(words)) {
            let console = || fs::read_to_string(&self.console).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "{words} never came: {}", console());
            assert!(self.qemu.try_wait().unwrap().is_none(), "QEMU ended before {words}: {}", console());
            sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// Copies a program and the libraries that it loads.
fn copied(program: &Path, root: &Path) {
    fs::copy(program, root.join(program.file_name().unwrap())).unwrap();
    let listed = Command::new("ldd").arg(program).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(&library[1..]);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(library, place).unwrap();
    }
}

/// The file system that the kernel unpacks at boot.
fn initramfs(lab: &Lab, modules: Vec<(String, Vec<u8>)>) -> PathBuf {
    let root = lab.path("root");
    for folder in ["bin", "modules"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    fs::copy(lab.program("stuck"), root.join("stuck")).unwrap();
    for (number, (name, bytes)) in modules.into_iter().enumerate() {
        fs::write(root.join(format!("modules/{number:02}-{name}.ko")), bytes).unwrap();
    }
    let meter = machines::meter_places::MeterPlaces::of_process().find().unwrap();
    copied(&meter, &root);
    let tardy = lab.path("tardy");
    // With its debug information it would not fit the memory.
    let stripped = Command::new("strip").arg("-o").arg(&tardy).arg(env!("CARGO_BIN_EXE_tardy")).status();
    assert!(stripped.unwrap().success());
    copied(&tardy, &root);
    fs::write(root.join("init"), INIT).unwrap();
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    let packed = "find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > ../initrd";
    assert!(Command::new("sh").args(["-c", packed]).current_dir(root).status().unwrap().success());
    lab.path("initrd")
}

fn disk(lab: &Lab) -> PathBuf {
    let disk = lab.path("disk");
    fs::File::create(&disk).unwrap().set_len(DISK_BYTES).unwrap();
    assert!(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4"]).arg(&disk).status().unwrap().success());
    disk
}

fn boot(lab: &Lab) -> Guest {
    let files = TargetFiles { here: lab.path("targets"), own: None };
    let machine = KnownTarget::find_in(&files, "vm").unwrap().virtual_machine().unwrap().clone();
    let cache = kernel::cache().unwrap();
    let found = kernel::find(&machine, &cache).unwrap();
    let modules = found.modules.into_iter().chain(kernel::own_modules(&machine, &cache).unwrap());
    let mut seen = std::collections::BTreeSet::new();
    let modules = modules.filter(|(name, _)| seen.insert(name.clone())).collect();
    let (initrd, disk, console) = (initramfs(lab, modules), disk(lab), lab.path("console"));
    let append = format!(
        "console=ttyS0 quiet panic=-1 tsc=reliable clocksource=tsc no_timer_check sysctl.kernel.sysrq=1 {KEPT}"
    );
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-nodefaults", "-display", "none"]);
    qemu.args(["-smp", "2", "-m", MEMORY_MB, "-kernel"]).arg(found.image).arg("-initrd").arg(initrd);
    qemu.args(["-append", &append, "-monitor", "unix:monitor,server=on,wait=off"]);
    qemu.args(["-drive", &format!("file={},if=virtio,format=raw,cache=writeback", disk.display())]);
    qemu.args(["-serial", &format!("file:{}", console.display())]).current_dir(lab.path("")).stdin(Stdio::null());
    Guest { qemu: qemu.spawn().unwrap(), console }
}

/// Asserts that an entry has the account of the miss: who was late, and who had the CPU.
fn assert_accounted(entry: &Value) {
    assert_eq!((&entry["thread"], &entry["unfinished"]), (&"stuck-arm".into(), &true.into()), "{entry}");
    assert!(entry["account"]["latency_ns"].as_i64() > Some(50_000_000), "{entry}");
    let findings = entry["account"]["findings"].as_array().cloned().unwrap_or_default();
    let first = findings.first().map(ToString::to_string).unwrap_or_default();
    assert!(first.contains("\"other-rt-task\"") && first.contains("stuck-hog"), "{entry}");
    assert!(entry["uptime_ns"].as_i64() > Some(1_000_000_000) && entry["silent_ns"].is_number(), "{entry}");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_miss_in_whose_middle_the_machine_was_reset_is_accounted_for_after_the_boot() {
    if !met(&[Program("mke2fs"), Program("debugfs"), Program("strip"), Program("busybox")]) {
        return;
    }
    let modules: Vec<&str> = MODULES.iter().flat_map(|name| ["--load-module", name]).collect();
    let lab = Lab::with(KERNEL, &modules);
    let mut guest = boot(&lab);
    guest.wait_for("STUCK 1");
    sleep(STUCK_FOR);
    let mut monitor = UnixStream::connect(lab.path("monitor")).unwrap();
    monitor.write_all(b"system_reset\n").unwrap();
    guest.wait_for("ENDED");
    let _ = guest.qemu.wait();

    let printed =
        Command::new("debugfs").args(["-R", "cat guard/accounts.jsonl"]).arg(lab.path("disk")).output().unwrap();
    let log = String::from_utf8_lossy(&printed.stdout).into_owned();
    let entries: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let kinds: Vec<&str> = entries.iter().filter_map(|entry| entry["kind"].as_str()).collect();
    let resets: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "reset").collect();
    assert_eq!(resets.len(), 2, "{kinds:?}: {}", text(&lab.path("console")));
    assert!(!kinds.contains(&"killed"), "{kinds:?}");
    resets.into_iter().for_each(assert_accounted);
}

//! `tardy run --method storage` on the disk of this machine: each request is accounted for, in the summary as in the export.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Prerequisite::{Kernel, Program, Root, Tracefs};
use prerequisites::met;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn tardy(folder: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).current_dir(folder.path()).env("TARDY_STATE_DIR", folder.path().join("state"));
    if let Some(meter) = real_meter() {
        command.env("TARDY_METER", meter);
    }
    command.output().unwrap()
}

#[test]
fn the_phases_of_a_request_add_up_to_its_latency() {
    let folder = tempfile::tempdir().unwrap();
    // File systems without a device have major number 0.
    let on_a_device = rustix::fs::major(rustix::fs::stat(folder.path()).unwrap().st_dev) != 0;
    let device = Kernel("a block device below the temporary directory", on_a_device);
    if real_meter().is_none() || !met(&[Tracefs, device]) {
        return;
    }
    let settings = ["--cpus", "0", "-D", "1s", "--settle", "100ms", "--json", "--beside-others", "--out", "run"];
    let ended = Ended::of(tardy(&folder, &[&["run", "--method", "storage"], &settings[..]].concat()));
    let summary = ended.json();
    assert_eq!(summary["valid"], true, "{}", ended.stderr);
    let account = &summary["storage"];
    let requests = account["requests"].as_u64().unwrap();
    assert!(requests > 0 && account["split"].as_u64() > Some(requests / 2), "{account}");
    let worst = account["worst"].as_array().unwrap();
    assert!(!worst.is_empty(), "{account}");
    for request in worst {
        let phases = request["phases"].as_array().unwrap();
        let sum: i64 = phases.iter().filter_map(|phase| phase[1].as_i64()).sum();
        assert_eq!(Some(sum), request["latency_ns"].as_i64(), "{request}");
    }
    let picture = Ended::of(tardy(&folder, &["export", "run", "--format", "storage-svg", "-o", "-"])).stdout;
    let document = roxmltree::Document::parse(&picture).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"run") && texts.contains(&"device") && texts.contains(&"software"), "{texts:?}");
    assert!(tardy(&folder, &["export", "run", "--format", "json", "-o", "run.json"]).status.success());
    let exported: Value = serde_json::from_slice(&std::fs::read(folder.path().join("run.json")).unwrap()).unwrap();
    assert_eq!(&exported["summary"]["storage"], account);
}

/// 10 000 requests to a file or device, nearly all divided.
fn measure_ten_thousand(folder: &TempDir, place: &str) {
    use archive::reader::Run;
    use archive::storage::{description, pages};
    use storage::{CpuPages, Samples, requests_of};
    let method = format!("storage:pace=back-to-back,size_mb=8,{place}");
    let settings = ["--cpus", "0", "-l", "10000", "--settle", "100ms", "--policy", "other", "--beside-others"];
    let words = [&["run", "--method", method.as_str(), "--out", "run", "--json"], &settings[..]].concat();
    let ended = Ended::of(tardy(folder, &words));
    assert_eq!(ended.json()["valid"], true, "{}", ended.stderr);
    let run = Run::open(folder.path().join("run")).unwrap();
    let description = description(&run.directory).unwrap();
    let pages = pages(&run.directory, &description).unwrap();
    let cpus: Vec<CpuPages<'_>> = pages.iter().map(|(cpu, pages)| CpuPages { cpu: *cpu, pages }).collect();
    let bytes = archive::samples_file::bytes(&run.directory, 0).unwrap();
    let samples = archive::samples_file::records(&bytes).map(|sample| (sample.due_ns, sample.latency_ns)).collect();
    let requests = requests_of(&description, &cpus, &[Samples { thread: 0, samples }]);
    assert_eq!(requests.len(), 10_000);
    for request in &requests {
        let sum_ns: i64 = request.phases.iter().map(|(_, ns)| ns).sum();
        assert_eq!(sum_ns, request.latency_ns, "{request:?}");
    }
    let divided = requests.iter().filter(|request| request.is_split()).count();
    assert!(divided > 9_000, "{divided}");
}

#[test]
fn the_phases_of_ten_thousand_requests_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let on_a_device = rustix::fs::major(rustix::fs::stat(folder.path()).unwrap().st_dev) != 0;
    if real_meter().is_none() || !met(&[Tracefs, Kernel("a block device below the temporary directory", on_a_device)]) {
        return;
    }
    measure_ten_thousand(&folder, &format!("directory={}", folder.path().display()));
}

/// A loop device on a file, which is gone again at the end.
struct Looped(String);

impl Looped {
    fn on(file: &Path) -> Self {
        std::fs::write(file, vec![0; 16 << 20]).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Looped {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn the_phases_of_ten_thousand_requests_to_a_loop_device_add_up() {
    let loops = Kernel("loop devices", Path::new("/dev/loop-control").exists());
    if real_meter().is_none() || !met(&[Root, Tracefs, Program("losetup"), loops]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let looped = Looped::on(&folder.path().join("contents"));
    measure_ten_thousand(&folder, &format!("device={}", looped.0));
}

fn cycles_of_threads(summary: &Value) -> Vec<u64> {
    let threads = summary["cpus"].as_array().unwrap();
    threads.iter().map(|thread| thread["cycles"].as_u64().unwrap()).collect()
}

/// Requests that fio counted, by thread.
fn requests_of_fio(folder: &TempDir, run: &str) -> Vec<u64> {
    let reported = std::fs::read(folder.path().join(run).join("storage/fio.json")).unwrap();
    let from = reported.iter().position(|byte| *byte == b'{').unwrap();
    let mut all = serde_json::Deserializer::from_slice(&reported[from..]).into_iter::<Value>();
    let all = all.next().unwrap().unwrap();
    let of = |job: &Value| ["read", "write"].iter().filter_map(|way| job[way]["total_ios"].as_u64()).sum();
    all["jobs"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn each_thread_of_fio_has_its_samples() {
    if real_meter().is_none() || !met(&[Program("fio")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().display();
    let method =
        format!("storage:engine=fio,threads=3,pace=back-to-back,mode=buffered,size_mb=3,directory={directory}");
    let settings = ["--cpus", "0", "-D", "1s", "--settle", "0", "--json", "--beside-others", "--trace", "off"];
    let words = [&["run", "--method", method.as_str(), "--out", "short"], &settings[..]].concat();
    let ended = Ended::of(tardy(&folder, &words));
    let summary = ended.json();
    assert_eq!(summary["valid"], true, "{}", ended.stderr);
    let cycles = cycles_of_threads(&summary);
    assert!(cycles.len() == 3 && cycles.iter().all(|cycles| *cycles > 100), "{summary}");
    let made = requests_of_fio(&folder, "short");
    // Those before the first instant of the run and after its last do not count; a log that lacks some would be a loss.
    assert!(cycles.iter().zip(&made).all(|(cycles, made)| cycles <= made), "{cycles:?} of {made:?}");
    assert_eq!(summary["losses"], serde_json::json!([]));

    let jobs = folder.path().join("jobs.fio");
    let text =
        format!("[global]\nrw=randwrite\nsize=1m\nfilename={directory}/data\n[a]\nnumjobs=2\n[b]\nrw=read\nbs=64k\n");
    std::fs::write(&jobs, text).unwrap();
    let words = [&["run", "--fio", jobs.to_str().unwrap(), "--out", "jobs"], &settings[..]].concat();
    let ended = Ended::of(tardy(&folder, &words));
    let summary = ended.json();
    assert_eq!(summary["valid"], true, "{}", ended.stderr);
    let cycles = cycles_of_threads(&summary);
    assert!(cycles.len() == 3 && cycles.iter().all(|cycles| *cycles > 10), "{summary}");

    std::fs::write(&jobs, "[a]\nioengine=nonsense\n").unwrap();
    let words = [&["run", "--fio", jobs.to_str().unwrap(), "--out", "failed"], &settings[..]].concat();
    let failed = tardy(&folder, &words);
    assert_eq!(failed.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("nonsense"), "{failed:?}");
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("tardy-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn bios_of_fio_are_divided_in_place_of_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    let on_a_device = rustix::fs::major(rustix::fs::stat(folder.path()).unwrap().st_dev) != 0;
    let device = Kernel("a block device below the temporary directory", on_a_device);
    if real_meter().is_none() || !met(&[Program("fio"), Tracefs, device]) {
        return;
    }
    let settings = ["--cpus", "0", "-D", "1s", "--settle", "100ms", "--json", "--beside-others", "--policy", "other"];
    let directory = folder.path().display().to_string();
    let jobs = folder.path().join("jobs.fio");
    std::fs::write(
        &jobs,
        format!("[a]\nrw=randread\nsize=4m\ndirect=1\nioengine=libaio\niodepth=4\ndirectory={directory}\n"),
    )
    .unwrap();
    let method = format!("storage:engine=fio,pace=back-to-back,size_mb=8,directory={directory}");
    for (out, words) in [("options", ["--method", method.as_str()]), ("jobs", ["--fio", jobs.to_str().unwrap()])] {
        let ended = Ended::of(tardy(&folder, &[&["run", "--out", out], &words[..], &settings].concat()));
        let summary = ended.json();
        assert_eq!(summary["valid"], true, "{}", ended.stderr);
        let account = &summary["storage"];
        let (bios, requests) = (account["requests"].as_u64().unwrap(), account["fio"]["requests"].as_u64().unwrap());
        // One bio for each request, but for those at the beginning and end of the run.
        assert!(requests > 50 && bios.abs_diff(requests) * 10 < requests, "{account}");
        for bio in account["worst"].as_array().unwrap() {
            let sum: i64 = bio["phases"].as_array().unwrap().iter().filter_map(|phase| phase[1].as_i64()).sum();
            assert_eq!(Some(sum), bio["latency_ns"].as_i64(), "{bio}");
        }
        let mean_ns = account["fio"]["latency_ns_mean"].as_i64().unwrap();
        let outside_ns = account["fio"]["outside_ns_mean"].as_i64();
        assert!(outside_ns.is_none_or(|outside_ns| outside_ns < mean_ns), "{account}");
    }
}

/// A cgroup whose processes may write 200 times a second to a device, and its file of processes.
struct Slow(PathBuf);

impl Slow {
    /// `None` where this kernel has no such limits, or version 2 is mounted without them.
    fn new(device: &str) -> Option<Self> {
        let directory =
            |below: &str| Path::new("/sys/fs/cgroup").join(below).join(format!("tardy-{}", std::process::id()));
        let kinds = [
            (directory("blkio"), "blkio.throttle.write_iops_device", format!("{device} 200")),
            (directory(""), "io.max", format!("{device} wiops=200")),
        ];
        kinds.into_iter().find_map(|(directory, file, limit)| {
            std::fs::create_dir(&directory).ok()?;
            let slow = Self(directory);
            let is_limited = slow.0.join(file).is_file() && std::fs::write(slow.0.join(file), limit).is_ok();
            is_limited.then_some(slow)
        })
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn time_in_which_a_limit_of_the_cgroup_holds_a_write_back_is_software_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let number = rustix::fs::stat(folder.path()).unwrap().st_dev;
    let device = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    // The limit is one of a whole device.
    let is_disk = Path::new("/sys/dev/block").join(&device).join("queue").is_dir();
    let Some(meter) = real_meter().filter(|_| met(&[Tracefs, Kernel("a disk below the temporary directory", is_disk)]))
    else {
        return;
    };
    let slow = Slow::new(&device);
    if !met(&[Kernel("limits of cgroups for block devices", slow.is_some())]) {
        return;
    }
    let slow = slow.unwrap();
    let method = format!("storage:op=write,pace=back-to-back,size_mb=8,directory={}", folder.path().display());
    let line = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", slow.0.display());
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &line,
        "sh",
        env!("CARGO_BIN_EXE_tardy"),
        "run",
        "--method",
        &method,
        "--out",
        "run",
        "--json",
    ]);
    command.args(["--cpus", "0", "-D", "2s", "--settle", "100ms", "--policy", "other", "--beside-others"]);
    command.current_dir(folder.path()).env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    let ended = Ended::of(command.output().unwrap());
    let summary = ended.json();
    assert_eq!(summary["valid"], true, "{}", ended.stderr);
    let account = &summary["storage"];
    assert!(account["device"]["cgroup_limits"].as_str().unwrap().ends_with(": wiops=200"), "{account}");
    assert!(account["software_permille"].as_u64() > Some(800), "{account}");
    let of = |list: &Value, name: &str| {
        let found = list.as_array().unwrap().iter().find(|one| one[0] == name).cloned();
        found.and_then(|one| one[1].as_i64())
    };
    // On a disk that others use, the worst one of all may have waited for them.
    let worst = account["worst"].as_array().unwrap();
    let held = worst.iter().filter_map(|one| Some((one, of(&one["causes"], "cgroup_limit")?)));
    let held: Vec<(&Value, i64)> = held.collect();
    assert!(held.iter().any(|(_, held_ns)| *held_ns > 1_000_000), "{worst:?}");
    for (request, held_ns) in held {
        assert!(Some(held_ns) <= of(&request["phases"], "without_request"), "{request}");
    }
}

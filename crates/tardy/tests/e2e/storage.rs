//! The way of block requests in machines whose devices answer after a known time, and with a known disturbance of the software.

mod planted;
mod stacked;

use crate::lab::Lab;
use archive::reader::Run;
use archive::storage::{StorageAccount, StorageCause, StoragePhase, StorageRequest, description, pages};
use archive::summary::RunSummary;
use storage::{CpuPages, Samples};

const ANSWER_NS: i64 = 5_000_000;
/// A drive of QEMU without contents that answers each request at once.
const DRIVE: &[&str] = &[
    "--load-module",
    "virtio_blk",
    "--qemu-arg=-blockdev",
    "--qemu-arg=driver=null-co,node-name=slow,size=67108864,latency-ns=0",
    "--qemu-arg=-device",
    "--qemu-arg=virtio-blk-pci,drive=slow",
];
/// The same, which answers each request after [`ANSWER_NS`].
const SLOW_DRIVE: &[&str] = &[
    "--load-module",
    "virtio_blk",
    "--qemu-arg=-blockdev",
    "--qemu-arg=driver=null-co,node-name=slow,size=67108864,latency-ns=5000000",
    "--qemu-arg=-device",
    "--qemu-arg=virtio-blk-pci,drive=slow",
];
/// A driver of the guest that completes each request from a timer after [`ANSWER_NS`].
const SLOW_DRIVER: &[&str] = &[
    "--load-module",
    "null_blk",
    "--append",
    "null_blk.irqmode=2 null_blk.completion_nsec=5000000 null_blk.gb=1 null_blk.nr_devices=1",
];

/// Results of a run.
struct Measured {
    account: StorageAccount,
    requests: Vec<StorageRequest>,
}

impl Measured {
    /// The shortest time of a request at the device.
    fn shortest_ns(&self) -> i64 {
        let of_device = self.requests.iter().map(|request| request.ns(StoragePhase::Device)).filter(|ns| *ns > 0);
        of_device.min().unwrap_or(0)
    }

    /// Median of a phase.
    fn median_ns(&self, phase: StoragePhase) -> i64 {
        self.account.phases.iter().find(|one| one.phase == phase).map_or(0, |one| one.median_ns)
    }
}

/// Results of a run, printed. The phases of every request must add up.
fn described(name: &str, run: &Run) -> Measured {
    let description = description(&run.directory).unwrap();
    let pages = pages(&run.directory, &description).unwrap();
    let cpus: Vec<CpuPages<'_>> = pages.iter().map(|(cpu, pages)| CpuPages { cpu: *cpu, pages }).collect();
    let of_thread = |thread: &u32| {
        let bytes = archive::samples_file::bytes(&run.directory, *thread).unwrap();
        let samples = archive::samples_file::records(&bytes).map(|sample| (sample.due_ns, sample.latency_ns));
        Samples { thread: *thread, samples: samples.collect() }
    };
    let samples: Vec<Samples> = run.threads.keys().map(of_thread).collect();
    let requests = storage::requests_of(&description, &cpus, &samples);
    for request in &requests {
        let sum_ns: i64 = request.phases.iter().map(|(_, ns)| ns).sum();
        assert_eq!(sum_ns, request.latency_ns, "{request:?}");
    }
    let account = storage::account_of(&description, &cpus, &samples);
    let measured = Measured { account, requests };
    println!(
        "{name}: {} requests, {} divided, device {:.3} ms, shortest {:.3} ms, software {:?} permille",
        measured.account.requests,
        measured.account.split,
        measured.median_ns(StoragePhase::Device) as f64 / 1e6,
        measured.shortest_ns() as f64 / 1e6,
        measured.account.software_permille
    );
    assert!(
        measured.account.requests >= 200 && measured.account.split * 10 >= measured.account.requests * 9,
        "{:?}",
        measured.account
    );
    measured
}

fn measured(kernel: &str, machine: &[&str], method: &str, more: &[&str]) -> Measured {
    let lab = Lab::with(kernel, &[&["--cpus", "1"], machine].concat());
    let words = [&["--method", method, "--interval", "20ms", "--duration", "5s"], more].concat();
    let (run, _) = lab.measured_in_front("run", &words);
    assert!(RunSummary::of(&run, &[]).valid, "{kernel} {method}");
    described(&format!("{kernel} {method}"), &run)
}

/// Within a twentieth, and most of the time.
fn assert_device_has(planted_ns: i64, device_ns: i64, account: &StorageAccount) {
    assert!((device_ns - planted_ns).abs() * 20 <= planted_ns, "{device_ns}: {account:?}");
    assert!(account.software_permille < Some(300), "{account:?}");
}

/// The way to an emulated drive and back is part of its time: a drive that answers at once shows how much. A busy host executes
/// the drive's timer late, and that of a driver in an emulated machine, so the shortest times are compared.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_drive_that_answers_5_ms_later_has_5_ms_more_in_the_phase_device() {
    for kernel in ["debian:6.1", "debian:6.1-rt"] {
        let method = "storage:device=/dev/vda,size_mb=32";
        let at_once = measured(kernel, DRIVE, method, &[]);
        let later = measured(kernel, SLOW_DRIVE, method, &[]);
        assert_device_has(ANSWER_NS, later.shortest_ns() - at_once.shortest_ns(), &later.account);
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_driver_that_completes_after_5_ms_has_5_ms_in_the_phase_device() {
    for kernel in ["debian:6.1", "debian:6.1-rt"] {
        let measured = measured(kernel, SLOW_DRIVER, "storage:device=/dev/nullb0,size_mb=32", &[]);
        assert_device_has(ANSWER_NS, measured.shortest_ns(), &measured.account);
    }
}

/// Eight ordinary threads on one CPU need it for longer than the device needs for a request.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_thread_that_waits_for_its_cpu_has_the_time_in_software() {
    let fast = ["--load-module", "null_blk", "--append", "null_blk.irqmode=2 null_blk.completion_nsec=100000"];
    let method = |threads| format!("storage:device=/dev/nullb0,size_mb=32,pace=back-to-back,threads={threads}");
    let alone = measured("debian:6.1", &fast, &method(1), &["--policy", "other"]).account;
    let crowded = measured("debian:6.1", &fast, &method(8), &["--policy", "other"]).account;
    assert!(
        crowded.software_permille > Some(600) && crowded.software_permille > alone.software_permille,
        "{crowded:?}"
    );
    let runnable = crowded.worst.iter().filter(|request| {
        let causes = request.causes.iter();
        causes.into_iter().any(|(cause, ns)| *cause == StorageCause::WakeUp && ns.unwrap_or(0) * 2 > request.latency_ns)
    });
    assert!(runnable.count() * 2 > crowded.worst.len(), "{:?}", crowded.worst);
}

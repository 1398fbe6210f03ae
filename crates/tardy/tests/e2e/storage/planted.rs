//! Delays of the hypervisor and of the guest's software that are known beforehand.

use super::stacked::{KERNELS, measured, paced};
use super::{DRIVE, median_ns};
use archive::settings::RunSettings;
use archive::storage::{StorageCause, StoragePhase};

/// QEMU lets 20 requests a second through.
const THROTTLED_DRIVE: &[&str] = &[
    "--load-module",
    "virtio_blk",
    "--qemu-arg=-drive",
    "--qemu-arg=if=none,id=slow,driver=null-co,size=67108864,throttling.iops-total=20",
    "--qemu-arg=-device",
    "--qemu-arg=virtio-blk-pci,drive=slow",
];

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_drive_that_is_throttled_to_20_requests_a_second_has_50_ms_in_the_phase_device() {
    for kernel in KERNELS {
        let settings = RunSettings { duration_ns: Some(11_000_000_000), ..paced() };
        let method = "storage:device=/dev/vda,size_mb=32,pace=back-to-back";
        let (account, _) = measured(kernel, 1, &[THROTTLED_DRIVE], &[], method, settings);
        let median = median_ns(&account, StoragePhase::Device);
        assert!((median - 50_000_000).abs() * 20 <= 50_000_000, "{median}: {account:?}");
    }
}

/// With threaded interrupts a thread of priority 50 completes the requests. The one that measures is on another CPU.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn an_urgent_thread_on_the_cpu_of_the_completion_is_named() {
    let one_queue = ["--qemu-arg=-device", "--qemu-arg=virtio-blk-pci,drive=slow,num-queues=1"];
    let elsewhere = ["--append", "isolcpus=managed_irq,1"];
    let drive = [&DRIVE[..4], &one_queue, &elsewhere].concat();
    let settings = RunSettings { cpus: Some(vec![1]), ..paced() };
    let method = "storage:device=/dev/vda,size_mb=32";
    let hog = "/block_devices beside /hog 0 6000 20000";
    let (account, _) = measured("debian:6.1-rt", 2, &[&drive], &[hog], method, settings);
    let waited = account.worst.iter().filter(|request| {
        let cause = request.causes.iter().find(|(cause, _)| *cause == StorageCause::CompletionWait);
        cause.and_then(|(_, ns)| *ns).is_some_and(|ns| ns * 2 > request.latency_ns)
    });
    assert!(waited.count() * 2 > account.worst.len(), "{:?}", account.worst);
}

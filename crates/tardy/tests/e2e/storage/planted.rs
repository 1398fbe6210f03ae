//! Delays of the hypervisor and of the guest's software that are known beforehand.

use super::stacked::{KERNELS, measured, paced};
use super::{SLOW_DRIVE, assert_device_has};
use archive::settings::RunSettings;
use archive::storage::{StorageCause, StoragePhase, StorageRequest};

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
        let measured = measured(kernel, 1, &[THROTTLED_DRIVE], &[], method, settings);
        assert_device_has(50_000_000, measured.median_ns(StoragePhase::Device), &measured.account);
    }
}

/// With threaded interrupts a thread of priority 50 completes the requests. The drive answers while the urgent one has the CPU.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn an_urgent_thread_on_the_cpu_of_the_completion_is_named() {
    let settings = RunSettings { interval_ns: 13_000_000, ..paced() };
    let method = "storage:device=/dev/vda,size_mb=32";
    let hog = "/block_devices beside /hog 0 6000 20000";
    let measured = measured("debian:6.1-rt", 1, &[SLOW_DRIVE], &[hog], method, settings);
    let waits_ns = |request: &StorageRequest| {
        let cause = request.causes.iter().find(|(cause, _)| *cause == StorageCause::CompletionWait);
        cause.and_then(|(_, ns)| *ns).unwrap_or(0)
    };
    let is_held = |request: &&StorageRequest| request.ns(StoragePhase::InterruptToCompletion) > 2_000_000;
    let held: Vec<&StorageRequest> = measured.requests.iter().filter(is_held).collect();
    let named =
        held.iter().filter(|request| waits_ns(request) * 10 > request.ns(StoragePhase::InterruptToCompletion) * 9);
    let named = named.count();
    println!("{named} of {} held completions named", held.len());
    assert!(held.len() >= 20 && named * 10 >= held.len() * 8, "{held:?}");
}

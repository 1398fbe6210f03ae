//! Devices on top of others: a device mapper that delays, and a loop device.

use super::{DRIVE, Measured, assert_device_has, described};
use crate::lab::{Lab, put_machine_in_front};
use crate::prepared::Prepared;
use archive::method::MethodRequest;
use archive::settings::{Policy, RunSettings};
use archive::storage::{StorageCause, StoragePhase};

pub const KERNELS: [&str; 2] = ["debian:6.1", "debian:6.1-rt"];
const DELAYING: &[&str] = &["--load-module", "dm_delay"];
const LOOPING: &[&str] = &["--load-module", "loop"];
/// A tick of Debian's kernels.
const TICK_NS: i64 = 4_000_000;

/// Requests every 20 ms for 5 s.
pub fn paced() -> RunSettings {
    RunSettings { interval_ns: 20_000_000, duration_ns: Some(5_000_000_000), ..RunSettings::default() }
}

/// 10 000 requests without a pause, by an ordinary thread.
pub fn ten_thousand() -> RunSettings {
    RunSettings { duration_ns: None, cycles: Some(10_000), policy: Policy::Other, ..RunSettings::default() }
}

/// A measurement with requests to a device that these commands make of others.
pub fn measured(
    kernel: &str,
    cpus: u32,
    machine: &[&[&str]],
    commands: &[&str],
    method: &str,
    settings: RunSettings,
) -> Measured {
    let count = cpus.to_string();
    let lab = Lab::with(kernel, &[&["--cpus", &count], &machine.concat()[..]].concat());
    let mut target = Prepared::new(lab.machine());
    for name in ["block_devices", "hog"] {
        target.programs.push((lab.program(name), format!("/{name}")));
    }
    target.commands = commands.iter().map(|words| words.split(' ').map(String::from).collect()).collect();
    std::thread::scope(|scope| {
        // A machine with as many CPUs as its host would leave it nothing.
        if cpus == 1 {
            scope.spawn(|| put_machine_in_front(std::process::id() as i32));
        }
        let settings = RunSettings { method: MethodRequest::parse(method).unwrap(), ..settings };
        target.measure(settings, lab.path("run"));
    });
    described(&format!("{kernel} {commands:?} {method}"), &lab.archive())
}

fn delayed(kernel: &str, delays: &str, method: &str, settings: RunSettings) -> Measured {
    let delay = format!("/block_devices delay /dev/vda {delays}");
    measured(kernel, 1, &[DRIVE, DELAYING], &[&delay], method, settings)
}

/// dm-delay counts ticks, the kernel's timers round up to one more, and the first has begun: of 5 ms they make from 8 to 12 ms,
/// of 100 ms from 100 to 104 ms.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_delay_of_the_device_mapper_is_time_of_the_device() {
    let method = "storage:device=/dev/dm-0,size_mb=32";
    for kernel in KERNELS {
        let short = delayed(kernel, "5 5 5", method, paced());
        let median_ns = short.median_ns(StoragePhase::Device);
        assert!(short.shortest_ns() >= 2 * TICK_NS && median_ns < 4 * TICK_NS, "{median_ns}: {:?}", short.account);
        let settings = RunSettings { interval_ns: 121_000_000, duration_ns: Some(26_000_000_000), ..paced() };
        let long = delayed(kernel, "100 100 100", method, settings);
        assert_device_has(100_000_000, long.median_ns(StoragePhase::Device), &long.account);
    }
}

/// 47 ms are 12 ticks, and the kernel makes from 48 to 52 ms of them.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_flush_that_takes_50_ms_is_named() {
    let settings = RunSettings { interval_ns: 100_000_000, duration_ns: Some(21_000_000_000), ..paced() };
    let method = "storage:device=/dev/dm-0,overwrite,op=write,mode=fsync,size_mb=32";
    let account = delayed("debian:6.1", "0 0 47", method, settings).account;
    assert!(account.flushes >= account.requests, "{account:?}");
    for request in &account.worst {
        let flush = request.causes.iter().find(|(cause, _)| *cause == StorageCause::Flush);
        let ns = flush.and_then(|(_, ns)| *ns).unwrap_or(0);
        assert!((12 * TICK_NS..request.latency_ns).contains(&ns) && ns * 4 > request.latency_ns * 3, "{request:?}");
    }
}

/// Requests to the drive below belong to a thread of the kernel, and count as the loop device's time.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn what_the_drive_below_a_loop_device_takes_is_time_of_the_loop_device() {
    let looped = |kernel: &str, answer_ns: i64| {
        let device = format!("--qemu-arg=driver=null-co,node-name=slow,size=67108864,latency-ns={answer_ns}");
        let drive: Vec<&str> =
            DRIVE.iter().map(|word| if word.contains("latency-ns") { device.as_str() } else { word }).collect();
        let commands = ["/block_devices loop /dev/vda"];
        let settings =
            RunSettings { interval_ns: 30_000_000, duration_ns: Some(8_000_000_000), ..RunSettings::default() };
        measured(kernel, 1, &[&drive, LOOPING], &commands, "storage:device=/dev/loop0,size_mb=32", settings)
    };
    for kernel in KERNELS {
        let (at_once, later) = (looped(kernel, 0), looped(kernel, 20_000_000));
        assert_device_has(20_000_000, later.shortest_ns() - at_once.shortest_ns(), &later.account);
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn phases_add_up_in_ten_thousand_requests_to_each_kind_of_device() {
    let back_to_back = |device: &str| format!("storage:device=/dev/{device},size_mb=32,pace=back-to-back");
    let null: &[&str] =
        &["--load-module", "null_blk", "--append", "null_blk.irqmode=2 null_blk.completion_nsec=100000"];
    for kernel in KERNELS {
        let of = |machine: &[&[&str]], commands: &[&str], device: &str| {
            measured(kernel, 2, machine, commands, &back_to_back(device), ten_thousand()).account
        };
        let accounts = [
            of(&[null], &[], "nullb0"),
            of(&[DRIVE], &[], "vda"),
            of(&[DRIVE, LOOPING], &["/block_devices loop /dev/vda"], "loop0"),
            of(&[DRIVE, DELAYING], &["/block_devices delay /dev/vda 0 0 0"], "dm-0"),
        ];
        for account in accounts {
            assert!(account.requests >= 10_000 && account.split * 100 >= account.requests * 99, "{account:?}");
        }
    }
}

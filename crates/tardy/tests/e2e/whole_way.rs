//! From a loaded kernel to an explained spike.

use crate::lab::{KERNEL, Lab, assert_ledgers_add_up};
use archive::environment::Environment;
use archive::settings::SnapshotMode;
use archive::spike::SpikeReason;

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn spikes_of_a_loaded_kernel_are_caught_and_accounted_for() {
    let kernel = KERNEL;
    let lab = Lab::with(kernel, &[]);
    let (run, said) = lab.measured("run", &["--duration", "5s", "--load", "dentry"]);
    assert!(said.starts_with("EMULATED MACHINE"), "{kernel}: {said}");
    let manifest = run.manifest.as_ref().unwrap();
    assert!(manifest.emulated, "{kernel}");
    let environment: &Environment = run.environment.as_ref().unwrap();
    let series = kernel.trim_start_matches("debian:");
    assert!(environment.kernel_release.starts_with(series.trim_end_matches("-rt")), "{kernel}: {environment:?}");
    assert_eq!(environment.preempt_rt, Some(series.ends_with("-rt")), "{kernel}");
    assert_eq!(environment.hostname, "vm", "{kernel}");
    assert_eq!(environment.virtualisation.as_deref(), Some("qemu"), "{kernel}");
    assert_eq!(run.effective.as_ref().unwrap().snapshot_mode, SnapshotMode::Trigger, "{kernel}");
    assert!(run.loads.iter().all(|load| load.alive && load.progress > 0), "{kernel}: {:?}", run.loads);

    let spikes = || run.spikes.iter().filter(|spike| spike.reason != SpikeReason::Control);
    let covered = spikes().filter(|spike| spike.snapshot.as_ref().is_some_and(|snapshot| snapshot.window_covered));
    assert!(covered.count() > 0, "{kernel}: no snapshot covers its spike");
    assert_ledgers_add_up(&run);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_limit_is_never_judged_on_an_emulated_machine() {
    let lab = Lab::with(KERNEL, &[]);
    let ended = lab.run(&["--duration", "1s", "--limit", "10s"]);
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stdout));
}

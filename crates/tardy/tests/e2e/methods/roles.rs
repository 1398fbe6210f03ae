//! A plan that starts a target and a logger, two virtual machines with a serial line between them.

use super::{SAMPLES_LEAST, losses};
use crate::lab::Lab;
use archive::loss::LossKind;
use archive::manifest::RunState;
use archive::reader::Run;
use archive::summary::RunSummary;
use std::fs;

/// The target answers through four threads, 5 ms late; the logger gives a stimulus each 20 ms.
const PLAN: &str = "\
targets = [\"vm\"]
[measurement]
method = \"serial:port=/dev/ttyS1,hops=4,delay_us=5000\"
stimulus = \"logger:port=/dev/ttyS1\"
duration = \"22s\"
interval = \"20ms\"
";
const DELAY_NS: i64 = 5_000_000;

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn one_plan_measures_a_target_with_a_logger() {
    let machine = |serial: &[String]| {
        let own = ["--kernel", "debian:6.1-rt", "--accel", "tcg", "--cpus", "1"].map(String::from);
        own.into_iter().chain(serial.iter().map(|word| format!("--qemu-arg={word}"))).collect::<Vec<_>>()
    };
    let lab =
        Lab::of_words(|lab| machine(&["-serial".into(), format!("unix:{}/uart,server=on,wait=off", lab.display())]));
    let socket = format!("socket,id=wire,path={},reconnect=1", lab.path("uart").display());
    let logger = machine(&["-chardev".into(), socket, "-serial".into(), "chardev:wire".into()]);
    let words: Vec<&str> =
        ["target", "add", "logger", "--here"].into_iter().chain(logger.iter().map(String::as_str)).collect();
    assert!(lab.tardy(&words).status().unwrap().success());
    fs::write(lab.path("p.toml"), PLAN).unwrap();
    let ended = lab.tardy(&["run", "p.toml", "--out", "round", "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    let opened = |name: &str| {
        let run = Run::open(lab.path(name)).unwrap();
        assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete, "{name}: {said}");
        let summary = RunSummary::of(&run, &[]);
        assert!(summary.valid, "{name}: {:?}", summary.invalid_because);
        (run, summary)
    };
    let (_, target) = opened("round/01-vm-no-load");
    let (run, logger) = opened("round/01-vm-no-load/stimulus");
    let (answered, sent) = (target.cpus[0].cycles, logger.cpus[0].cycles);
    println!(
        "{sent} round trips, median {:?} ns; {answered} answers, median {:?} ns",
        logger.all_cpus.p50, target.all_cpus.p50
    );
    assert!(sent + losses(&run, LossKind::Answers) >= SAMPLES_LEAST / 2 && answered >= sent, "{said}");
    // What an emulated UART loses is counted; each stimulus is a sample, missed or lost.
    assert!(losses(&run, LossKind::Answers) * 100 <= sent, "{said}");
    assert!(target.all_cpus.p50 < logger.all_cpus.p50, "the residence is a part of the round trip");
    assert!(target.all_cpus.min.is_some_and(|least| least >= DELAY_NS) && logger.all_cpus.min >= target.all_cpus.min);
    let shown = &target.roles[0];
    assert!(!shown.same_clock, "each machine has its own clock");
    assert_eq!(
        (shown.target.as_str(), shown.samples, shown.latency_ns.p50),
        ("logger (emulated)", sent, logger.all_cpus.p50)
    );
}
